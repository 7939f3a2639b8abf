/* Entry for libFuzzer and for drivers like it: any bytes, as they are and with their digest stamped. */
#include <stdlib.h>
#include <string.h>

#include "bundle_case.h"
#include "mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
