/* Running a compiled partition as one of onnxruntime's nodes. No Python, no lock, and no allocation
 * beyond what onnxruntime does for the outputs, unless a node has more than FEW operands. */
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

enum { FEW = 32 };

typedef struct compute {
    ort_compute_info base;
    asc_model *model;
    uint32_t partition;
    int32_t on_session_threads;
    uint32_t n_inputs;
    uint32_t n_outputs;
    const uint32_t *input_map;
    const uint32_t *output_map;
    uint32_t maps[];
} compute;

/* One call's operands; on the stack when there are few. */
typedef struct operands {
    asc_tensor *in;
    const void **in_data;
    void **out_data;
} operands;

static ort_status *describe(const ort_value *value, asc_tensor *out) {
    int32_t dtype;
    const int64_t *dims = NULL;
    int64_t copy[ASC_MAX_RANK];
    size_t rank;
    if (ort.version >= 24) {
        TRY(ort_tensor_view(value, &dtype, &dims, &rank));
    } else {
        ort_shape_info *shape;
        TRY(ort_tensor_shape(value, &shape));
        ort_status *status = ort_get_dtype(shape, &dtype);
        if (!status) status = ort_get_rank(shape, &rank);
        if (!status && rank <= ASC_MAX_RANK) status = ort_get_dims(shape, copy, rank);
        ort_release_shape(shape);
        TRY(status);
        dims = copy;
    }
    if (rank > ASC_MAX_RANK) return fail(ORT_INVALID_ARGUMENT, "an input has more than 8 dimensions", NULL);
    memset(out, 0, sizeof *out);
    out->dtype = dtype;
    out->rank = (int32_t)rank;
    int64_t stride = 1;
    for (size_t i = rank; i-- > 0;) {
        out->dims[i] = dims[i];
        out->strides[i] = stride;
        stride *= dims[i];
    }
    return NULL;
}

/* onnxruntime packs elements of less than a byte; here each has one. */
static int is_packed(int32_t dtype) {
    return dtype == ASC_UINT4 || dtype == ASC_INT4 || dtype == ASC_UINT2 || dtype == ASC_INT2;
}

static ort_status *read_inputs(const compute *self, const ort_kernel_context *context, const operands *o) {
    for (uint32_t i = 0; i < self->n_inputs; i++) {
        const ort_value *value = NULL;
        void *data = NULL;
        TRY(ort_context_input(context, self->input_map[i], &value));
        if (!value) return fail(ORT_INVALID_ARGUMENT, "an input is missing", NULL);
        TRY(describe(value, &o->in[i]));
        if (o->in[i].dtype == ASC_STRING) return fail(ORT_INVALID_ARGUMENT, "an input holds strings", NULL);
        if (is_packed(o->in[i].dtype))
            return fail(ORT_INVALID_ARGUMENT, "an input has elements of less than a byte", NULL);
        TRY(ort_tensor_data((ort_value *)(uintptr_t)value, &data)); /* onnxruntime's only accessor; we just read */
        o->in[i].data = data;
        o->in_data[i] = data;
    }
    return NULL;
}

static ort_status *make_outputs(const compute *self, const asc_bound *bound, ort_kernel_context *context,
                                const operands *o) {
    const asc_tensor *shapes;
    if (asc_bound_outputs(bound, &shapes) != self->n_outputs)
        return fail(ORT_FAIL, "the bundle's partition has other outputs than its node", NULL);
    for (uint32_t i = 0; i < self->n_outputs; i++) {
        ort_value *value = NULL;
        if (is_packed(shapes[i].dtype))
            return fail(ORT_INVALID_ARGUMENT, "an output has elements of less than a byte", NULL);
        TRY(ort_context_output(context, self->output_map[i], shapes[i].dims, (size_t)shapes[i].rank, &value));
        if (!value) return fail(ORT_FAIL, "onnxruntime made no output", NULL);
        TRY(ort_tensor_data(value, &o->out_data[i]));
    }
    return NULL;
}

/* Whether the inputs have the ranks and the fixed dims that the graph declares of these values. onnxruntime itself
 * holds a model's inputs to them, but not those of a Loop's body. */
static int are_as_declared(const compute *self, const asc_tensor *inputs) {
    uint64_t n;
    const asc_partition *p =
        (const asc_partition *)asc_model_section(self->model, ASC_SEC_PARTITIONS, &n) + self->partition;
    const uint32_t *indices = asc_model_section(self->model, ASC_SEC_INDICES, &n);
    const asc_edge *edges = asc_model_section(self->model, ASC_SEC_EDGES, &n);
    const asc_dim *dims = asc_model_section(self->model, ASC_SEC_DIMS, &n);
    for (uint32_t i = 0; i < self->n_inputs; i++) {
        const asc_edge *edge = &edges[indices[p->first_input + 2 * i]];
        if (inputs[i].rank != edge->rank) return 0;
        for (int32_t d = 0; d < inputs[i].rank; d++) {
            const asc_dim *dim = &dims[indices[edge->first_dim + (uint32_t)d]];
            if (dim->op == ASC_DIM_CONST && dim->value != inputs[i].dims[d]) return 0;
        }
    }
    return 1;
}

/* On the threads of the session: its own workers spin while it runs, and would hold the CPUs that others need. */
static void parallel_for(void *context, size_t n, asc_work_fn work, void *arg) {
    ort_status *status = ort_parallel_for(context, work, n, 0, arg);
    if (status) ort_release_status(status); /* what hasn't run, the caller runs */
}

/* One run of a partition. What onnxruntime refuses is returned; `result` says what the library did. */
static ort_status *run_partition(const compute *self, asc_model *model, uint32_t partition, ort_kernel_context *context,
                                 const operands *o, asc_status *result) {
    asc_bound *bound = NULL;
    ort_status *status = NULL;
    if (self->on_session_threads) asc_lend_threads(parallel_for, context);
    if (asc_bind(model, partition, o->in, self->n_inputs, &bound, result) == ASC_OK) {
        status = make_outputs(self, bound, context, o);
        if (!status) asc_execute(bound, o->in_data, o->out_data, NULL, result);
    }
    asc_lend_threads(NULL, NULL);
    asc_bound_release(bound);
    return status;
}

/* Whether what failed so may be the fault of what the model declares. */
static int may_be_declared(const compute *self, const asc_status *result) {
    return result->code == ASC_E_DECLARED || (result->code == ASC_E_SHAPE && asc_model_apart(self->model));
}

/* The partition made without names and declarations, after `why` was the end of this one. onnxruntime keeps the outputs
 * that it made for that one, and refuses others of other dims. */
static ort_status *run_stand_in(const compute *self, uint32_t partition, ort_kernel_context *context, const operands *o,
                                const asc_status *why) {
    asc_status result = {.code = ASC_OK, .node = -1};
    ort_status *status = run_partition(self, asc_model_apart(self->model), partition, context, o, &result);
    if (status) {
        ort_release_status(status);
        return fail_provider(why);
    }
    if (result.code == ASC_OK) {
        asc_model_say_apart(self->model, why);
        return NULL;
    }
    return are_as_declared(self, o->in) ? fail_status(&result, NULL) : fail_provider(&result);
}

static ort_status *run_with(const compute *self, ort_kernel_context *context, const operands *o) {
    asc_status result; /* its texts are long, and hardly ever written */
    result.code = ASC_OK, result.node = -1;
    result.node_name[0] = result.text[0] = 0;
    TRY(read_inputs(self, context, o));
    TRY(run_partition(self, self->model, self->partition, context, o, &result));
    if (result.code == ASC_OK) return NULL;
    int declared = may_be_declared(self, &result);
    uint32_t other = declared ? asc_model_stand_in(self->model, self->partition) : ASC_NONE;
    if (other != ASC_NONE) return run_stand_in(self, other, context, o, &result);
    return declared || !are_as_declared(self, o->in) ? fail_provider(&result) : fail_status(&result, NULL);
}

static ort_status *run(ort_compute_info *info, void *state, ort_kernel_context *context) {
    const compute *self = (const compute *)info;
    (void)state;
    if (self->n_inputs <= FEW && self->n_outputs <= FEW) {
        asc_tensor in[FEW];
        const void *in_data[FEW];
        void *out_data[FEW];
        return run_with(self, context, &(operands){in, in_data, out_data});
    }
    operands o = {malloc((self->n_inputs + 1) * sizeof *o.in), malloc((self->n_inputs + 1) * sizeof *o.in_data),
                  malloc((self->n_outputs + 1) * sizeof *o.out_data)};
    ort_status *status = o.in && o.in_data && o.out_data ? run_with(self, context, &o) : fail_memory();
    free(o.in);
    free(o.in_data);
    free(o.out_data);
    return status;
}

static ort_status *create_state(ort_compute_info *info, ort_compute_context *context, void **state) {
    (void)context;
    *state = info; /* plans keep nothing between runs */
    return NULL;
}

static void release_state(ort_compute_info *info, void *state) {
    (void)info, (void)state;
}

static ort_status *check_counts(asc_model *model, uint32_t partition, const operand_map *map) {
    uint64_t n = 0;
    const asc_partition *partitions = asc_model_section(model, ASC_SEC_PARTITIONS, &n);
    if (partition >= n) return fail(ORT_FAIL, "the bundle has no such partition", NULL);
    const asc_partition *p = &partitions[partition];
    if (p->kind == ASC_PARTITION_FALLBACK)
        return fail(ORT_FAIL, "E40010 the node names a fallback partition, which only its owner may use: ",
                    asc_model_string(model, p->name));
    if (p->kind != ASC_PARTITION_NATIVE)
        return fail(ORT_FAIL, "E40010 the node names a host partition, which is no work of this provider: ",
                    asc_model_string(model, p->name));
    if (p->n_inputs != map->n_inputs || p->n_outputs != map->n_outputs)
        return fail(ORT_FAIL, "the node has other inputs or outputs than partition ", asc_model_string(model, p->name));
    return NULL;
}

ort_status *compute_create(asc_model *model, const asc_ep *ep, uint32_t partition, const operand_map *map,
                           ort_compute_info **out) {
    ort_status *status = check_counts(model, partition, map);
    compute *self =
        status ? NULL : calloc(1, sizeof *self + ((size_t)map->n_inputs + map->n_outputs) * sizeof(uint32_t));
    if (!self) {
        asc_model_release(model);
        return status ? status : fail_memory();
    }
    self->base = (ort_compute_info){ort.version, create_state, run, release_state};
    self->model = model;
    self->partition = partition;
    self->on_session_threads = ep->options.on_session_threads;
    self->n_inputs = map->n_inputs;
    self->n_outputs = map->n_outputs;
    for (uint32_t i = 0; i < map->n_inputs; i++) self->maps[i] = map->inputs[i];
    for (uint32_t i = 0; i < map->n_outputs; i++) self->maps[map->n_inputs + i] = map->outputs[i];
    self->input_map = self->maps;
    self->output_map = self->maps + map->n_inputs;
    *out = &self->base;
    return NULL;
}

void compute_release(ort_compute_info *info) {
    compute *self = (compute *)info;
    asc_model_release(self->model);
    free(self);
}
