/* isa.h - every file of this folder is compiled once per ISA level, with ASC_ISA set to the level's
 * name; ASC_FN gives a symbol that is the level's own. Only rows in table.inc are visible outside. */
#ifndef ASC_KERNELS_ISA_H
#define ASC_KERNELS_ISA_H

#include "kernel.h"

#define ASC_PASTE_(a, b) a##_##b
#define ASC_PASTE(a, b) ASC_PASTE_(a, b)
#define ASC_FN(name) ASC_PASTE(name, ASC_ISA)

/* What a kernel's prepare tells its run: the type of asc_call.note. */
#define ASC_KERNEL_NOTE(name, struct_name)           \
    extern const uint32_t ASC_FN(name##_note_bytes); \
    const uint32_t ASC_FN(name##_note_bytes) = sizeof(struct_name);

#if defined(__AVX512F__)
#define ASC_VF 16 /* floats in a vector */
#elif defined(__AVX2__)
#define ASC_VF 8
#else
#define ASC_VF 4
#endif

#endif
