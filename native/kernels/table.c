/* Expands table.inc into this ISA level's rows. */
#include "isa.h"

#define ASC_KERNEL(op, types, flags, name)      \
    int32_t ASC_FN(name##_prepare)(asc_call *); \
    int32_t ASC_FN(name##_run)(const asc_call *);
#include "table.inc"
#undef ASC_KERNEL

#define ASC_KERNEL(op, types, flags, name) {op, types, flags, ASC_FN(name##_prepare), ASC_FN(name##_run)},
static const asc_kernel rows[] = {
#include "table.inc"
};

const asc_kernel *ASC_FN(asc_kernels)(uint32_t *count) {
    *count = sizeof rows / sizeof rows[0];
    return rows;
}
