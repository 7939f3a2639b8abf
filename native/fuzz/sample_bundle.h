#ifndef ASC_FUZZ_SAMPLE_BUNDLE_H
#define ASC_FUZZ_SAMPLE_BUNDLE_H

#include <stdint.h>

/* A bundle with something in every section and partition; the caller frees it. */
uint8_t *sample_bundle(uint64_t *size);

#endif
