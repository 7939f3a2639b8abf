#include <stdatomic.h>
#include <string.h>

#include "plugin.h"

/* Readers may be on any thread, so a table is published whole: one of two buffers, switched by pointer.
 * Installing happens once per interpreter, before sessions exist. */
static asc_ep_callbacks tables[2];
static _Atomic(const asc_ep_callbacks *) current;

void asc_ep_install(const asc_ep_callbacks *callbacks) {
    asc_ep_callbacks *spare = atomic_load(&current) == &tables[0] ? &tables[1] : &tables[0];
    size_t bytes = callbacks->struct_bytes < sizeof *spare ? callbacks->struct_bytes : sizeof *spare;
    memset(spare, 0, sizeof *spare);
    memcpy(spare, callbacks, bytes);
    atomic_store(&current, spare);
}

void asc_ep_detach(void) {
    atomic_store(&current, NULL);
}

const asc_ep_callbacks *plugin_callbacks(void) {
    return atomic_load(&current);
}
