/* Expands table.inc into this ISA level's rows. */
#include "isa.h"

#define ASC_KERNEL(op, types, flags, name)      \
    int32_t ASC_FN(name##_prepare)(asc_call *); \
    int32_t ASC_FN(name##_run)(const asc_call *);
#define ASC_KERNEL_NOTED(op, types, flags, name) \
    ASC_KERNEL(op, types, flags, name)           \
    extern const uint32_t ASC_FN(name##_note_bytes);
#include "table.inc"
#undef ASC_KERNEL
#undef ASC_KERNEL_NOTED

#define ASC_KERNEL(op, types, flags, name) {op, types, flags, ASC_FN(name##_prepare), ASC_FN(name##_run), NULL},
#define ASC_KERNEL_NOTED(op, types, flags, name) \
    {op, types, flags, ASC_FN(name##_prepare), ASC_FN(name##_run), &ASC_FN(name##_note_bytes)},
static const asc_kernel rows[] = {
#include "table.inc"
};

const asc_kernel *ASC_FN(asc_kernels)(uint32_t *count) {
    *count = sizeof rows / sizeof rows[0];
    return rows;
}
