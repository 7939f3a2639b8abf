/* loaded.h - libraries that are opened when they are first needed, so that programs without pictures run where they
 * aren't installed. */
#ifndef ASC_ACL_LOADED_H
#define ASC_ACL_LOADED_H

#include <stdbool.h>
#include <stddef.h>

/* A function of a library by its name, and where its address goes. */
typedef struct asc_loaded_name {
    const char *name;
    void *place; /* a pointer to a function */
} asc_loaded_name;

/* Opens the library and finds all; false when it, or one of them, isn't there. */
bool asc_load_library(const char *file, const asc_loaded_name *names, size_t count);

#endif
