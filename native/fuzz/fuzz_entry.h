/* fuzz_entry.h - what a fuzz target is, by libFuzzer's names: native/fuzz/drive.c runs it with gcc, clang's
 * -fsanitize=fuzzer without that file. */
#ifndef ASC_FUZZ_ENTRY_H
#define ASC_FUZZ_ENTRY_H

#include <stddef.h>
#include <stdint.h>

/* Tries one input; what is wrong ends the process. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Optional: changes an input in place so that it stays well-formed, in at most `room` bytes; its new size. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) __attribute__((weak));

#endif
