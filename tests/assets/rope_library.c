/* A custom operator as a shared library: rotary position embedding for `--custom_op=RoPE:./rope.so`.
 *
 *     cc -O2 -shared -fPIC -I<folder of ascend_rt.h> rope_library.c -o rope.so
 *
 * Inputs: x [..., S, D], cos and sin [P, D/2], all float32; optional position_ids int64 [S] or [B, S]
 * (without it, row s of x is at position s). Attribute `interleaved` (int, default 0): pairs are
 * (2i, 2i+1) instead of (i, i + D/2). Output: like x.
 *
 * A library exports one function, asc_get_custom_op, that gives the operators it has. Every function
 * returns 0 for success; otherwise it has written one sentence into call->error.
 */
#include <string.h>

#include "ascend_rt.h"

static int32_t fail(const asc_custom_call *call, const char *text) {
    if (call->error_bytes) {
        strncpy(call->error, text, call->error_bytes - 1);
        call->error[call->error_bytes - 1] = 0;
    }
    return 1;
}

static const asc_tensor *positions_of(const asc_custom_call *call) {
    return call->n_in > 3 && call->in[3].dtype != ASC_UNDEFINED ? &call->in[3] : NULL;
}

static int64_t int_attr(const asc_custom_call *call, const char *name, int64_t missing) {
    for (uint32_t i = 0; i < call->n_attrs; i++)
        if (call->attrs[i].kind == ASC_ATTR_INTS && call->attrs[i].count == 1 && !strcmp(call->attrs[i].name, name))
            return call->attrs[i].ints[0];
    return missing;
}

/* Shapes and types: everything compute relies on is checked here, and the output is like x. */
static int32_t infer(asc_custom_call *call) {
    const asc_tensor *x = &call->in[0];
    for (int i = 0; i < 3; i++)
        if (call->in[i].dtype != ASC_FLOAT32) return fail(call, "x, cos and sin must be float32");
    if (x->rank < 2 || x->dims[x->rank - 1] % 2) return fail(call, "x must be [..., S, D] with an even D");
    for (int i = 1; i < 3; i++) {
        const asc_tensor *table = &call->in[i];
        if (table->rank != 2 || table->dims[1] != x->dims[x->rank - 1] / 2 || table->dims[0] != call->in[1].dims[0])
            return fail(call, "cos and sin must be [P, D/2]");
    }
    const asc_tensor *positions = positions_of(call);
    if (positions) {
        int32_t rank = positions->rank;
        if (positions->dtype != ASC_INT64 || rank < 1 || rank > 2 ||
            positions->dims[rank - 1] != x->dims[x->rank - 2] || (rank == 2 && positions->dims[0] != x->dims[0]))
            return fail(call, "position_ids must be int64 [S] or [B, S]");
    } else if (x->dims[x->rank - 2] > call->in[1].dims[0]) {
        return fail(call, "x has more rows than cos and sin");
    }
    call->out[0] = *x;
    call->out[0].data = NULL;
    return 0;
}

static int32_t compute(const asc_custom_call *call) {
    const asc_tensor *x = &call->in[0];
    const asc_tensor *positions = positions_of(call);
    const float *cosines = call->in[1].data, *sines = call->in[2].data;
    int64_t length = x->dims[x->rank - 2], width = x->dims[x->rank - 1], half = width / 2;
    int64_t table_rows = call->in[1].dims[0], rows = 1;
    for (int32_t d = 0; d + 1 < x->rank; d++) rows *= x->dims[d];
    int64_t rows_per_batch = x->dims[0] ? rows / x->dims[0] : 0;
    int64_t interleaved = int_attr(call, "interleaved", 0);
    for (int64_t row = 0; row < rows; row++) {
        int64_t s = row % length, position = s;
        if (positions) {
            const int64_t *ids = positions->data;
            position = positions->rank == 1 ? ids[s] : ids[row / rows_per_batch * length + s];
        }
        if (position < 0 || position >= table_rows) return fail(call, "a position is outside cos and sin");
        const float *in = (const float *)x->data + row * width;
        float *out = (float *)call->out[0].data + row * width;
        for (int64_t i = 0; i < half; i++) {
            int64_t first = interleaved ? 2 * i : i, second = interleaved ? 2 * i + 1 : i + half;
            float c = cosines[position * half + i], s_ = sines[position * half + i];
            float a = in[first], b = in[second];
            out[first] = a * c - b * s_;
            out[second] = b * c + a * s_;
        }
    }
    return 0;
}

static const asc_custom_op rope = {
    .version = ASC_CUSTOM_OP_VERSION,
    .struct_bytes = sizeof(asc_custom_op),
    .op_type = "RoPE",
    .min_inputs = 3,
    .max_inputs = 4,
    .n_outputs = 1,
    .infer = infer,
    .compute = compute,
};

__attribute__((visibility("default"))) const asc_custom_op *asc_get_custom_op(uint32_t version, const char *op_type);

const asc_custom_op *asc_get_custom_op(uint32_t version, const char *op_type) {
    return version == ASC_CUSTOM_OP_VERSION && !strcmp(op_type, rope.op_type) ? &rope : NULL;
}
