/* asc_kernel_binary.h - a kernel of a binary that ascendc_fatbin_library makes: a shared library with one of these for
 * each kernel, named asc_kernel_binary_<kernel>. What libascendcl needs to launch it over arguments of a program. */
#ifndef ASC_KERNEL_BINARY_H
#define ASC_KERNEL_BINARY_H

#include <stdint.h>

#define ASC_KERNEL_BINARY_VERSION 1u
#define ASC_KERNEL_BINARY_SYMBOL "asc_kernel_binary_"

typedef struct asc_kernel_binary {
    uint32_t version;
    uint32_t n_arguments;
    const char *name;
    const uint32_t *bytes;  /* of each argument that is no pointer; 0 for pointers */
    const uint32_t *aligns; /* as a structure of the arguments has them */
    /* arguments: the address that a pointer gets, or where the value lies. tell: is given each fault and advice. */
    void (*launch)(uint32_t blocks, void *const *arguments, void (*tell)(void *to, int32_t advice, const char *line),
                   void *to);
} asc_kernel_binary;

#endif
