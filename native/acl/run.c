/* run.c - binds and runs the partitions of a model, one after another. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

size_t asc_tensor_bytes(const asc_tensor *t) {
    size_t bytes = asc_dtype_bytes(t->dtype);
    for (int32_t i = 0; i < t->rank; i++)
        if (__builtin_mul_overflow(bytes, (size_t)t->dims[i], &bytes)) return SIZE_MAX;
    return bytes;
}

static const uint32_t *indices_of(const asc_om *om) {
    uint64_t ignored;
    return asc_model_section(om->model, ASC_SEC_INDICES, &ignored);
}

static const asc_partition *partition_of(const asc_om *om, uint32_t i) {
    uint64_t ignored;
    return (const asc_partition *)asc_model_section(om->model, ASC_SEC_PARTITIONS, &ignored) + om->partitions[i];
}

static void set_inputs(const asc_om *om, const int64_t *sizes, const asc_tensor *inputs, asc_tensor *edges) {
    for (uint32_t i = 0; i < om->n_inputs; i++) {
        const asc_io *io = &om->inputs[i];
        if (io->edge == ASC_NONE) continue;
        asc_tensor *t = &edges[io->edge];
        *t = (asc_tensor){.dtype = io->dtype, .rank = io->rank};
        if (inputs) {
            t->rank = inputs[i].rank;
            memcpy(t->dims, inputs[i].dims, sizeof t->dims);
            continue;
        }
        for (int32_t d = 0; d < io->rank; d++)
            t->dims[d] = io->symbols[d] == ASC_NONE ? io->dims[d] : sizes[io->symbols[d]];
    }
}

static aclError bind_one(asc_om *om, uint32_t i, asc_chain *chain) {
    const asc_partition *p = partition_of(om, i);
    const uint32_t *indices = indices_of(om);
    asc_status status;
    asc_tensor *inputs = calloc(p->n_inputs + 1, sizeof *inputs);
    if (!inputs) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    for (uint32_t k = 0; k < p->n_inputs; k++) inputs[k] = chain->edges[indices[p->first_input + 2 * k]];
    int32_t code = asc_bind(om->model, om->partitions[i], inputs, p->n_inputs, &chain->bounds[i], &status);
    free(inputs);
    if (code != ASC_OK) return asc_runtime_fail(code, &status, "the model can't run with these shapes");
    const asc_tensor *outputs;
    uint32_t n = asc_bound_outputs(chain->bounds[i], &outputs);
    for (uint32_t k = 0; k < n; k++) {
        asc_tensor *t = &chain->edges[indices[p->first_output + 2 * k]];
        *t = outputs[k];
        t->data = NULL;
    }
    chain->work_bytes += asc_bound_arena_bytes(chain->bounds[i]);
    return ACL_SUCCESS;
}

aclError asc_chain_bind(asc_om *om, const int64_t *sizes, const asc_tensor *inputs, asc_chain **made) {
    uint64_t n_edges;
    asc_model_section(om->model, ASC_SEC_EDGES, &n_edges);
    asc_chain *chain = calloc(1, sizeof *chain);
    if (chain) {
        chain->edges = calloc(n_edges + 1, sizeof *chain->edges);
        chain->bounds = calloc(om->n_partitions + 1, sizeof *chain->bounds);
    }
    if (!chain || !chain->edges || !chain->bounds) {
        if (chain) asc_chain_free(om, chain);
        return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    }
    set_inputs(om, sizes, inputs, chain->edges);
    aclError code = ACL_SUCCESS;
    for (uint32_t i = 0; code == ACL_SUCCESS && i < om->n_partitions; i++) code = bind_one(om, i, chain);
    if (code != ACL_SUCCESS) {
        asc_chain_free(om, chain);
        return code;
    }
    *made = chain;
    return ACL_SUCCESS;
}

void asc_chain_free(const asc_om *om, asc_chain *chain) {
    for (uint32_t i = 0; chain->bounds && i < om->n_partitions; i++)
        if (chain->bounds[i]) asc_bound_release(chain->bounds[i]);
    free(chain->bounds);
    free(chain->edges);
    free(chain);
}

/* ---- running ---------------------------------------------------------------------------------------- */

/* Addresses of all edges: those of the caller, and memory for what lies between partitions. */
static aclError place_edges(asc_om *om, const asc_chain *chain, const void *const *in, void *const *out, void **at,
                            void **between) {
    size_t total = 0;
    for (uint32_t i = 0; i < om->n_inputs; i++)
        if (om->inputs[i].edge != ASC_NONE) at[om->inputs[i].edge] = (void *)(uintptr_t)in[i];
    for (uint32_t i = 0; i < om->n_outputs; i++)
        if (!at[om->outputs[i].edge]) at[om->outputs[i].edge] = out[i];
    for (int pass = 0; pass < 2; pass++) {
        size_t used = 0;
        for (uint32_t i = 0; i < om->n_partitions; i++) {
            const asc_partition *p = partition_of(om, i);
            for (uint32_t k = 0; k < p->n_outputs; k++) {
                uint32_t edge = indices_of(om)[p->first_output + 2 * k];
                if (at[edge]) continue;
                if (pass) at[edge] = (char *)*between + used;
                used += (asc_tensor_bytes(&chain->edges[edge]) + ASC_ALIGN) / ASC_ALIGN * ASC_ALIGN;
            }
        }
        if (pass || !used) break;
        total = used;
        if (posix_memalign(between, ASC_ALIGN, total) != 0)
            return asc_acl_fail((aclError)ACL_ERROR_GE_MEMORY_ALLOCATION, "this machine has no %zu bytes left", total);
    }
    return ACL_SUCCESS;
}

static aclError run_one(asc_om *om, asc_bound *bound, const asc_partition *p, void *const *at) {
    const void *in_few[32];
    void *out_few[32];
    const uint32_t *indices = indices_of(om);
    bool few = p->n_inputs <= 32 && p->n_outputs <= 32;
    const void **in = few ? in_few : malloc((p->n_inputs + 1) * sizeof *in);
    void **out = few ? out_few : malloc((p->n_outputs + 1) * sizeof *out);
    asc_status status = {0};
    int32_t code = ASC_E_MEMORY;
    if (in && out) {
        for (uint32_t k = 0; k < p->n_inputs; k++) in[k] = at[indices[p->first_input + 2 * k]];
        for (uint32_t k = 0; k < p->n_outputs; k++) out[k] = at[indices[p->first_output + 2 * k]];
        code = asc_execute(bound, in, out, NULL, &status);
    }
    if (!few) {
        free(in);
        free(out);
    }
    return code == ASC_OK ? ACL_SUCCESS : asc_runtime_fail(code, &status, "the model failed");
}

aclError asc_chain_run(asc_om *om, const asc_chain *chain, const void *const *in, void *const *out) {
    uint64_t n_edges;
    asc_model_section(om->model, ASC_SEC_EDGES, &n_edges);
    void *few[64] = {0}, *between = NULL;
    void **at = n_edges <= 64 ? few : calloc(n_edges, sizeof *at);
    if (!at) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    aclError code = place_edges(om, chain, in, out, at, &between);
    for (uint32_t i = 0; code == ACL_SUCCESS && i < om->n_partitions; i++)
        code = run_one(om, chain->bounds[i], partition_of(om, i), at);
    /* An input that is an output too, or an output named twice, is copied. */
    for (uint32_t i = 0; code == ACL_SUCCESS && i < om->n_outputs; i++)
        if (at[om->outputs[i].edge] != out[i])
            memcpy(out[i], at[om->outputs[i].edge], asc_tensor_bytes(&chain->edges[om->outputs[i].edge]));
    free(between);
    if (at != few) free(at);
    return code;
}
