/* formula_abi.h - what every library generated from a formula exports: asc_get_custom_op (ascend_rt.h), and
 * MindSpore's aot function with its InferShape.
 *
 * Generated code includes this text last. Before it stand infer, workspace, compute and `described`, and
 *   N_IN, N_OUT, N_GIVEN    operands of the operator, and inputs that a call of the aot function gives
 *   given_slot, given_rank  per given input its position among all, and its rank
 *   aot_types               per given input, then per output, MindSpore's name of its element type
 *   AOT_NAME                the aot function's symbol
 */
#include <stdlib.h>

ASC_API const asc_custom_op *asc_get_custom_op(uint32_t version, const char *op_type);
const asc_custom_op *asc_get_custom_op(uint32_t version, const char *op_type) {
    return version >= 2 && strcmp(op_type, described.op_type) == 0 ? &described : NULL;
}

static int same_type(const char *given, const char *name) {
    if (strcmp(given, name) == 0) return 1;
    return (strcmp(name, "float32") == 0 && strcmp(given, "float") == 0) ||
           (strcmp(name, "int32") == 0 && strcmp(given, "int") == 0);
}

static int aot_describe(asc_custom_call *call, asc_tensor *in, int *ndims, int64_t **shapes) {
    for (int k = 0; k < N_GIVEN; k++) {
        asc_tensor *t = &in[given_slot[k]];
        if (ndims[k] != given_rank[k]) return 1;
        t->dtype = given_type[k];
        t->rank = ndims[k];
        for (int d = 0; d < ndims[k]; d++) t->dims[d] = shapes[k][d];
    }
    return infer(call);
}

static int aot_outputs(asc_tensor *out, void **params, int *ndims, int64_t **shapes) {
    for (int o = 0; o < N_OUT; o++) {
        if (ndims[N_GIVEN + o] != out[o].rank) return 1;
        for (int d = 0; d < out[o].rank; d++)
            if (shapes[N_GIVEN + o][d] != out[o].dims[d]) return 1;
        out[o].data = params[N_GIVEN + o];
    }
    return 0;
}

/* Inputs, then outputs. 0: done; 1: another number of operands; 2: other types; 3: other shapes; 4: no memory. */
ASC_API int aot_call(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream,
                     void *extra) __asm__(AOT_NAME);
int aot_call(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra) {
    asc_tensor in[N_IN + 1] = {0}, out[N_OUT] = {0};
    asc_custom_call call = {.in = in, .out = out, .n_in = N_IN, .n_out = N_OUT, .threads = 1};
    (void)stream, (void)extra;
    if (nparam != N_GIVEN + N_OUT) return 1;
    for (int i = 0; i < nparam; i++)
        if (!same_type(dtypes[i], aot_types[i])) return 2;
    if (aot_describe(&call, in, ndims, shapes) || aot_outputs(out, params, ndims, shapes)) return 3;
    for (int k = 0; k < N_GIVEN; k++) in[given_slot[k]].data = params[k];
    call.workspace_bytes = workspace(&call);
    if (call.workspace_bytes && posix_memalign(&call.workspace, 64, call.workspace_bytes) != 0) return 4;
    int failed = compute(&call);
    free(call.workspace);
    return failed ? 3 : 0;
}

/* In C++ a std::vector<int64_t>, which is returned through memory of the caller's: three pointers. Empty when the
 * shapes don't fit. */
typedef struct vector_of_int64 {
    int64_t *first, *last, *end;
} vector_of_int64;
ASC_API vector_of_int64 aot_infer(int *ndims, int64_t **shapes, void *extra) __asm__(AOT_NAME "InferShape");
vector_of_int64 aot_infer(int *ndims, int64_t **shapes, void *extra) {
    asc_tensor in[N_IN + 1] = {0}, out[N_OUT] = {0};
    asc_custom_call call = {.in = in, .out = out, .n_in = N_IN, .n_out = N_OUT};
    vector_of_int64 v = {0};
    (void)extra;
    if (aot_describe(&call, in, ndims, shapes) != 0 || !out[0].rank) return v;
    v.first = malloc((size_t)out[0].rank * sizeof *v.first);
    if (!v.first) return v;
    for (int d = 0; d < out[0].rank; d++) v.first[d] = out[0].dims[d];
    v.last = v.end = v.first + out[0].rank;
    return v;
}
