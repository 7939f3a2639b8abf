/* loaded.c - see loaded.h. */
#include "loaded.h"

#include <dlfcn.h>
#include <string.h>

bool asc_load_library(const char *file, const asc_loaded_name *names, size_t count) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(library, names[i].name);
        if (!address) {
            dlclose(library);
            return false;
        }
        memcpy(names[i].place, &address, sizeof address);
    }
    return true; /* it stays open */
}
