/* run_samples.c - `run_samples m.om bound`: runs a bundle of one native partition on the sample inputs that it
 * carries, and compares with the sample outputs, which another ISA level or CPU wrote. Prints the ISA level and the
 * largest error relative to the largest element of an output; fails beyond `bound`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ascend_rt.h"

typedef struct samples {
    const asc_sample *items;
    uint64_t count;
    const asc_edge *edges;
    const uint32_t *indices;
    const uint8_t *bytes;
} samples;

static void *fail(const char *text) {
    fprintf(stderr, "run_samples: %s\n", text);
    exit(2);
}

static const asc_sample *of_edge(const samples *s, uint32_t edge) {
    for (uint64_t i = 0; i < s->count; i++)
        if (s->items[i].edge == edge) return &s->items[i];
    return fail("the bundle has no sample of an input or output");
}

static double error_of(const asc_tensor *given, const void *got, const void *wanted, uint64_t bytes) {
    double worst = 0, largest = 0;
    if (given->dtype != ASC_FLOAT32) return memcmp(got, wanted, bytes) ? INFINITY : 0;
    for (uint64_t i = 0; i < bytes / sizeof(float); i++) {
        double a = ((const float *)got)[i], b = ((const float *)wanted)[i];
        if (isnan(a) != isnan(b)) return INFINITY;
        worst = fabs(a - b) > worst ? fabs(a - b) : worst;
        largest = fabs(b) > largest ? fabs(b) : largest;
    }
    return largest > 0 ? worst / largest : worst;
}

int main(int argc, char **argv) {
    asc_options options = {.struct_bytes = sizeof options};
    asc_status status;
    asc_model *model;
    asc_bound *bound;
    if (argc != 3) fail("usage: run_samples m.om bound");
    if (asc_model_open(argv[1], &options, &model, &status) != ASC_OK) fail(status.text);
    uint64_t n_partitions, ignored;
    const asc_partition *p = asc_model_section(model, ASC_SEC_PARTITIONS, &n_partitions);
    samples s = {.edges = asc_model_section(model, ASC_SEC_EDGES, &ignored)};
    s.items = asc_model_section(model, ASC_SEC_SAMPLES, &s.count);
    s.indices = asc_model_section(model, ASC_SEC_INDICES, &ignored);
    s.bytes = asc_model_part(model, ASC_PART_SAMPLES, &ignored);
    if (n_partitions != 1) fail("the bundle has several partitions");

    asc_tensor inputs[16] = {0};
    const void *in[16];
    void *out[16];
    if (p->n_inputs > 16 || p->n_outputs > 16) fail("too many inputs or outputs");
    for (uint32_t i = 0; i < p->n_inputs; i++) {
        const asc_sample *sample = of_edge(&s, s.indices[p->first_input + 2 * i]);
        inputs[i].dtype = s.edges[sample->edge].dtype;
        inputs[i].rank = (int32_t)sample->rank;
        memcpy(inputs[i].dims, sample->dims, sample->rank * sizeof *sample->dims);
        in[i] = s.bytes + sample->offset;
    }
    if (asc_bind(model, 0, inputs, p->n_inputs, &bound, &status) != ASC_OK) fail(status.text);
    const asc_tensor *outputs;
    uint32_t n = asc_bound_outputs(bound, &outputs);
    for (uint32_t i = 0; i < n; i++) {
        const asc_sample *sample = of_edge(&s, s.indices[p->first_output + 2 * i]);
        out[i] = aligned_alloc(64, (sample->bytes + 64) / 64 * 64);
        if (!out[i]) fail("no memory");
    }
    if (asc_execute(bound, in, out, NULL, &status) != ASC_OK) fail(status.text);
    double worst = 0;
    for (uint32_t i = 0; i < n; i++) {
        const asc_sample *sample = of_edge(&s, s.indices[p->first_output + 2 * i]);
        double error = error_of(&outputs[i], out[i], s.bytes + sample->offset, sample->bytes);
        worst = error > worst ? error : worst;
        free(out[i]);
    }
    printf("%s: %s %.1e\n", argv[1], asc_isa_name(asc_isa_current()), worst);
    asc_bound_release(bound);
    asc_model_release(model);
    return worst <= atof(argv[2]) ? 0 : 1;
}
