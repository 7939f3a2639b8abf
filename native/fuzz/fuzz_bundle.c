/* Fuzz entry: any bytes as a bundle, as they are and with their digest stamped. */
#include <stdlib.h>
#include <string.h>

#include "bundle_case.h"
#include "fuzz_entry.h"
#include "mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    case_counts counts = {.max_work = 1 << 24};
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) return 0;
    memcpy(copy, data, size);
    if (!bundle_case(copy, size, &counts) && size > 0) {
        stamp_bundle(copy, size);
        bundle_case(copy, size, &counts);
    }
    free(copy);
    return 0;
}

/* Changes of the fields of a bundle, which keep it well-formed enough to be read on. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {
    (void)room;
    random_state r = {seed};
    mutate_bundle(data, size, &r);
    return size;
}
