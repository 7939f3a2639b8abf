/* Shape inference of declared operators: onnxruntime's view of a node in, the compiler's answer out. */
#include <stdatomic.h>
#include <stdlib.h>

#include "plugin.h"

/* What one call allocates. */
typedef struct inference {
    asc_ep_shape *shapes; /* inputs, then outputs */
    asc_attr *attrs;
    void **values; /* the attributes' memory */
    uint32_t n_attrs;
} inference;

static ort_status *read_shape(const ort_shape_info *from, asc_ep_shape *to) {
    size_t rank;
    const char *names[ASC_MAX_RANK];
    TRY(ort_get_dtype(from, &to->dtype));
    TRY(ort_get_rank(from, &rank));
    if (rank > ASC_MAX_RANK || (ort.version >= 24 && !ort_has_shape(from))) return NULL;
    TRY(ort_get_dims(from, to->dims, rank));
    TRY(ort_get_symbols(from, names, rank));
    to->rank = (int32_t)rank;
    for (size_t i = 0; i < rank; i++)
        if (names[i]) text_add(to->symbols[i], ASC_EP_SYMBOL_BYTES, names[i]);
    return NULL;
}

static ort_status *read_input(const ort_infer_context *context, size_t index, asc_ep_shape *to) {
    ort_shape_info *shape = NULL; /* stays the context's */
    ort_status *status = ort_infer_input(context, index, &shape);
    if (!status) return shape ? read_shape(shape, to) : NULL;
    ort_release_status(status); /* an absent optional input */
    return NULL;
}

/* Floats become doubles in place of their own copy. */
static int widen(asc_attr *attr, void **value, size_t size) {
    const float *from = *value;
    attr->count = (int32_t)(size / sizeof *from);
    double *wide = malloc((size_t)attr->count * sizeof *wide + 1);
    if (!wide) return 0;
    for (int32_t i = 0; i < attr->count; i++) wide[i] = (double)from[i];
    free(*value);
    *value = wide;
    attr->floats = wide;
    return 1;
}

static ort_status *read_attr(const ort_attr *from, const char *name, asc_attr *attr, void **value) {
    int32_t kind;
    size_t size;
    TRY(ort_attr_kind(from, &kind));
    if (kind < ORT_ATTR_INT || kind > ORT_ATTR_STRING) return NULL; /* no shape depends on the others */
    TRY(attr_bytes(from, kind, value, &size));
    attr->name = name;
    if (kind == ORT_ATTR_STRING) {
        attr->kind = ASC_ATTR_STRING;
        attr->string = *value;
    } else if (kind == ORT_ATTR_INT || kind == ORT_ATTR_INTS) {
        attr->kind = ASC_ATTR_INTS;
        attr->count = (int32_t)(size / sizeof *attr->ints);
        attr->ints = *value;
    } else {
        attr->kind = ASC_ATTR_FLOATS;
        if (!widen(attr, value, size)) return fail_memory();
    }
    return NULL;
}

static ort_status *read_attrs(const ort_infer_context *context, char *const *names, uint32_t n, inference *work) {
    for (uint32_t i = 0; i < n; i++) {
        const ort_attr *attr = NULL;
        ort_status *status = ort_infer_attr(context, names[i], &attr);
        if (status) { /* the node doesn't carry it */
            ort_release_status(status);
            continue;
        }
        uint32_t at = work->n_attrs;
        if (attr) TRY(read_attr(attr, names[i], &work->attrs[at], &work->values[at]));
        if (work->attrs[at].name) work->n_attrs++;
    }
    return NULL;
}

/* onnxruntime wants a number or a name for every dim; an unknown one gets a name nothing else has. */
static void name_unknown_dims(asc_ep_shape *shape) {
    static _Atomic int64_t counter;
    for (int32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] >= 0 || shape->symbols[i][0]) continue;
        text_add(shape->symbols[i], ASC_EP_SYMBOL_BYTES, "ascend_unknown_");
        text_add_number(shape->symbols[i], ASC_EP_SYMBOL_BYTES, atomic_fetch_add(&counter, 1));
    }
}

static ort_status *set_output(ort_infer_context *context, uint32_t index, asc_ep_shape *from) {
    if (from->dtype == ASC_UNDEFINED || from->rank < 0 || from->rank > ASC_MAX_RANK) return NULL;
    const char *names[ASC_MAX_RANK];
    size_t rank = (size_t)from->rank;
    ort_shape_info *shape = NULL;
    name_unknown_dims(from);
    for (size_t i = 0; i < rank; i++) names[i] = from->dims[i] >= 0 ? "" : from->symbols[i];
    TRY(ort_create_shape(&shape));
    ort_status *status = ort_set_dtype(shape, from->dtype);
    if (!status) status = ort_set_dims(shape, from->dims, rank);
    if (!status) status = ort_set_symbols(shape, names, rank);
    if (!status) status = ort_infer_output(context, index, shape);
    ort_release_shape(shape);
    return status;
}

static ort_status *infer_with(const asc_ep_callbacks *callbacks, ort_infer_context *context, asc_ep_inference *call,
                              inference *work) {
    asc_status result = {.code = ASC_OK, .node = -1};
    call->in = work->shapes;
    call->out = work->shapes + call->n_in;
    call->attrs = work->attrs;
    call->n_attrs = work->n_attrs;
    if (callbacks->infer(call, &result) != ASC_OK) return fail_status(&result, "shape inference");
    for (uint32_t i = 0; i < call->n_out; i++) TRY(set_output(context, i, &call->out[i]));
    return NULL;
}

ort_status *infer_declared(uint32_t number, uint32_t n_out, char *const *attrs, uint32_t n_attrs,
                           ort_infer_context *context) {
    const asc_ep_callbacks *callbacks = plugin_callbacks();
    size_t n_in;
    if (!callbacks || !callbacks->infer) return NULL;
    TRY(ort_infer_num_inputs(context, &n_in));
    inference work = {calloc(n_in + n_out + 1, sizeof *work.shapes), calloc(n_attrs + 1, sizeof *work.attrs),
                      calloc(n_attrs + 1, sizeof *work.values), 0};
    asc_ep_inference call = {.declaration = number, .n_in = (uint32_t)n_in, .n_out = n_out};
    ort_status *status = work.shapes && work.attrs && work.values ? NULL : fail_memory();
    for (size_t i = 0; !status && i < n_in + n_out; i++) work.shapes[i].rank = -1;
    for (size_t i = 0; !status && i < n_in; i++) status = read_input(context, i, &work.shapes[i]);
    if (!status) status = read_attrs(context, attrs, n_attrs, &work);
    if (!status) status = infer_with(callbacks, context, &call, &work);
    for (uint32_t i = 0; work.values && i < n_attrs; i++) free(work.values[i]);
    free(work.shapes);
    free(work.attrs);
    free(work.values);
    return status;
}
