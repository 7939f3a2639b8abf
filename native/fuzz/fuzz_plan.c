/* Fuzz entry: any bytes as the PLAN partition of an otherwise well-formed bundle, the sample's. What is shorter than a
 * plan's header stands for the sample's own plan, so that a corpus needs no copy of it. */
#include <stdlib.h>
#include <string.h>

#include "bundle.h"
#include "bundle_builder.h"
#include "bundle_case.h"
#include "fuzz_entry.h"
#include "mutate.h"
#include "sample_bundle.h"

/* The partitions of the sample, and its file, which they point into. */
static struct sample {
    uint8_t *file;
    uint64_t size;
    bb_bytes plan, host, native, weights;
} sample;

static bb_bytes part_of(const asc_frame *frame, uint32_t type) {
    const asc_part *part = asc_frame_part(frame, type);
    return part ? (bb_bytes){sample.file + part->offset, part->size} : (bb_bytes){0};
}

static void prepare(void) {
    asc_frame frame;
    if (sample.file) return;
    sample.file = sample_bundle(&sample.size);
    if (asc_frame_parse(&frame, sample.file, sample.size, NULL) != ASC_OK) abort();
    sample.plan = part_of(&frame, ASC_PART_PLAN);
    sample.host = part_of(&frame, ASC_PART_HOST);
    sample.native = part_of(&frame, ASC_PART_NATIVE);
    sample.weights = part_of(&frame, ASC_PART_WEIGHTS);
}

static bb_bytes with_plan(const uint8_t *data, size_t size) {
    bb_bytes plan = {(uint8_t *)data, size};
    prepare();
    if (size < sizeof(asc_plan_header)) plan = sample.plan;
    return bb_file(plan, sample.host, sample.native, (bb_bytes){0}, sample.weights);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    case_counts counts = {.max_work = 1 << 24};
    bb_bytes file = with_plan(data, size);
    bundle_case(file.at, file.size, &counts);
    free(file.at);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {
    asc_frame frame;
    random_state r = {seed};
    prepare();
    if (size < sizeof(asc_plan_header) && sample.plan.size <= room)
        memcpy(data, sample.plan.at, size = sample.plan.size);
    bb_bytes file = with_plan(data, size);
    mutate_bundle(file.at, file.size, &r);
    const asc_part *plan =
        asc_frame_parse(&frame, file.at, file.size, NULL) == ASC_OK ? asc_frame_part(&frame, ASC_PART_PLAN) : NULL;
    if (plan && plan->size == size) memcpy(data, file.at + plan->offset, size);
    free(file.at);
    return size;
}
