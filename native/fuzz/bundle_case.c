#include "bundle_case.h"

#include <stdlib.h>
#include <string.h>

#include "dims.h"
#include "model.h"

#define MAX_ELEMENTS (1 << 20) /* of one value: larger shapes are bound, but not executed */
#define MAX_MEMORY (1 << 26)
#define SYMBOL_SIZE 3 /* tried for every free dimension, within its range */

static void count_code(case_counts *counts, int32_t code) {
    if (code > 0 && code < CASE_CODES) counts->codes[code]++;
}

/* Everything a bundle tool shows. */
static uint64_t read_all(const asc_model *m) {
    const asc_plan *p = &m->plan;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < asc_plan_n_values(p); i++) sum += strlen(asc_model_string(m, asc_plan_values(p)[i].name));
    for (uint32_t i = 0; i < asc_plan_n_insns(p); i++) sum += strlen(asc_model_string(m, asc_plan_insns(p)[i].op_type));
    for (uint32_t i = 0; i < asc_plan_n_edges(p); i++) sum += strlen(asc_model_string(m, asc_plan_edges(p)[i].name));
    for (uint32_t i = 0; i < asc_plan_n_metas(p); i++) sum += strlen(asc_model_string(m, asc_plan_metas(p)[i].value));
    for (uint32_t i = 0; i < asc_plan_n_partitions(p); i++) {
        const asc_partition *part = &asc_plan_partitions(p)[i];
        sum += strlen(asc_model_string(m, part->reason));
        const uint8_t *host = asc_model_part(m, ASC_PART_HOST, NULL);
        if (part->host_bytes) sum += host[part->host_offset + part->host_bytes - 1];
    }
    const uint8_t *samples = asc_model_part(m, ASC_PART_SAMPLES, NULL);
    for (uint32_t i = 0; i < asc_plan_n_samples(p); i++) {
        const asc_sample *s = &asc_plan_samples(p)[i];
        if (s->bytes) sum += samples[s->offset + s->bytes - 1];
    }
    return sum;
}

/* Dims of a partition's inputs with every symbol at SYMBOL_SIZE; 0 when one has none. */
static int declared_inputs(const asc_model *m, const asc_partition *p, asc_tensor *inputs) {
    const asc_plan *plan = &m->plan;
    asc_dims dims;
    if (asc_dims_make(&dims, plan, NULL) != ASC_OK) return 0;
    for (uint32_t i = 0; i < asc_plan_n_symbols(plan); i++) {
        const asc_symbol *s = &asc_plan_symbols(plan)[i];
        dims.symbol_known[i] = 1;
        dims.symbols[i] = s->min > SYMBOL_SIZE ? s->min : s->max < SYMBOL_SIZE ? s->max : SYMBOL_SIZE;
    }
    asc_dims_evaluate(&dims, plan);
    int ok = 1;
    for (uint32_t i = 0; i < p->n_inputs && ok; i++) {
        const asc_value *v = &asc_plan_values(plan)[asc_plan_indices(plan)[p->first_input + 2 * i + 1]];
        inputs[i] = (asc_tensor){.dtype = v->dtype, .rank = v->rank};
        for (uint32_t d = 0; d < v->rank && ok; d++)
            ok = asc_dims_take(&dims, asc_plan_indices(plan)[v->first_dim + d], "", "", &inputs[i].dims[d], NULL) ==
                 ASC_OK;
    }
    asc_dims_free(&dims);
    return ok;
}

static int64_t elements(const asc_tensor *t) {
    int64_t n = 1;
    for (int32_t d = 0; d < t->rank; d++)
        if (!asc_mul_ok(n, t->dims[d], &n)) return INT64_MAX;
    return n;
}

/* An estimate of what a run costs: over all instructions, the product of the two largest operands. INT64_MAX
 * when a value is larger than any run needs. */
static int64_t work_of(const asc_bound *b) {
    const asc_partition *p = asc_bound_partition(b);
    for (uint32_t v = 0; v < p->n_values; v++) {
        asc_tensor shape;
        asc_bound_value(b, v, &shape, NULL, NULL, NULL, NULL);
        if (elements(&shape) > MAX_ELEMENTS) return INT64_MAX;
    }
    int64_t work = 0;
    for (uint32_t i = 0; i < b->n_insns; i++) {
        int64_t largest = 1, second = 1;
        for (int32_t k = 0; k < b->calls[i].n_in + b->calls[i].n_out; k++) {
            int64_t n = elements(&b->calls[i].in[k]); /* outputs follow inputs */
            second = n > largest ? largest : n > second ? n : second;
            largest = n > largest ? n : largest;
        }
        work += largest * second;
    }
    return work;
}

/* 0, 1, 0, 1, ... in the lowest byte of every element: indices that most tables have, and tiny floats; 0, 1, 2
 * in types of one byte, so that there are bools that are neither 0 nor 1. */
static void *filled(const asc_boundary *boundary) {
    uint8_t *data = calloc(boundary->bytes, 1);
    for (uint64_t i = 0; data && i < boundary->bytes; i += boundary->align)
        data[i] = (uint8_t)(i / boundary->align % (boundary->align == 1 ? 3 : 2));
    return data;
}

static void execute(asc_bound *b, case_counts *counts) {
    asc_status status;
    uint32_t n = b->n_inputs + b->n_outputs;
    void **buffers = calloc(n + 1, sizeof *buffers);
    int ok = buffers != NULL;
    for (uint32_t i = 0; i < n && ok; i++) {
        buffers[i] = i < b->n_inputs ? filled(&b->boundary[i]) : malloc(b->boundary[i].bytes);
        ok = buffers[i] != NULL;
    }
    if (ok) {
        int32_t code = asc_execute(b, (const void *const *)buffers, buffers + b->n_inputs, NULL, &status);
        counts->executed += code == ASC_OK;
        count_code(counts, code);
    }
    for (uint32_t i = 0; i < n && buffers; i++) free(buffers[i]);
    free(buffers);
}

static void run_partition(asc_model *m, uint32_t index, case_counts *counts) {
    const asc_partition *p = &asc_plan_partitions(&m->plan)[index];
    asc_tensor *inputs = calloc(p->n_inputs + 1, sizeof *inputs);
    asc_bound *bound = NULL;
    asc_status status;
    if (inputs && (p->kind == ASC_PARTITION_HOST || declared_inputs(m, p, inputs))) {
        int32_t code = asc_bind(m, index, inputs, p->n_inputs, &bound, &status);
        counts->bound += code == ASC_OK;
        count_code(counts, code);
        int64_t work = code == ASC_OK ? work_of(bound) : INT64_MAX;
        if (work < INT64_MAX && (!counts->max_work || work <= counts->max_work)) {
            if (work > counts->largest_work) counts->largest_work = work;
            execute(bound, counts);
        }
        asc_bound_release(bound);
    }
    free(inputs);
}

int bundle_case(const uint8_t *bytes, uint64_t size, case_counts *counts) {
    asc_options o = {.struct_bytes = sizeof o, .flags = ASC_OPEN_NO_NATIVE, .num_threads = 1, .max_memory = MAX_MEMORY};
    asc_status status;
    asc_model *m;
    int32_t code = asc_model_from_memory(bytes, size, &o, &m, &status);
    counts->cases++;
    count_code(counts, code);
    if (code != ASC_OK) return 0;
    counts->opened++;
    counts->codes[ASC_OK] += read_all(m) != UINT64_MAX;
    for (uint32_t i = 0; i < asc_plan_n_partitions(&m->plan); i++) run_partition(m, i, counts);
    asc_model *apart = asc_model_apart(m);
    for (uint32_t i = 0; apart && i < asc_plan_n_partitions(&apart->plan); i++) run_partition(apart, i, counts);
    asc_model_release(m);
    return 1;
}
