/* Expands table.inc into this ISA level's rows. */
#include "isa.h"

#define ASC_KERNEL(op, types, flags, name)      \
    int32_t ASC_FN(name##_prepare)(asc_call *); \
    int32_t ASC_FN(name##_run)(const asc_call *);
#define ASC_KERNEL_NOTED(op, types, flags, name) \
    ASC_KERNEL(op, types, flags, name)           \
    extern const uint32_t ASC_FN(name##_note_bytes);
#define ASC_KERNEL_FORMS(op, types, flags, name) \
    ASC_KERNEL_NOTED(op, types, flags, name)     \
    void ASC_FN(name##_schedule)(const asc_call *, char *, size_t);
#include "table.inc"
#undef ASC_KERNEL
#undef ASC_KERNEL_NOTED
#undef ASC_KERNEL_FORMS

#define ASC_ROW(op, types, flags, name, note, schedule) \
    {op, types, flags, ASC_FN(name##_prepare), ASC_FN(name##_run), note, schedule},
#define ASC_KERNEL(op, types, flags, name) ASC_ROW(op, types, flags, name, NULL, NULL)
#define ASC_KERNEL_NOTED(op, types, flags, name) ASC_ROW(op, types, flags, name, &ASC_FN(name##_note_bytes), NULL)
#define ASC_KERNEL_FORMS(op, types, flags, name) \
    ASC_ROW(op, types, flags, name, &ASC_FN(name##_note_bytes), ASC_FN(name##_schedule))
static const asc_kernel rows[] = {
#include "table.inc"
};

const asc_kernel *ASC_FN(asc_kernels)(uint32_t *count) {
    *count = sizeof rows / sizeof rows[0];
    return rows;
}
