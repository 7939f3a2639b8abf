/* The operands and arguments of attention (attention.c), checked. */
#include "attention.h"

enum { Q, K, V, MASK };
static int is_flag(int64_t value) {
    return value == 0 || value == 1;
}

int32_t ASC_FN(attention_operand)(const asc_call *call, const asc_tensor *t, int64_t strides[4]) {
    ASC_REQUIRE(call, t->rank == 4 && t->layout == ASC_LAYOUT_PLAIN, "attention: Q, K, V and mask have four axes");
    for (int i = 0; i < 4; i++) strides[i] = t->dims[i] == 1 ? 0 : t->strides[i];
    if (t->dims[3] == 1) strides[3] = 1;
    return ASC_OK;
}

static int32_t read_mask(const asc_call *call, attention *p) {
    if (!asc_has_input(call, MASK)) return ASC_OK;
    int32_t code = ASC_FN(attention_operand)(call, &call->in[MASK], p->mask_strides);
    if (code) return code;
    const int64_t *dims = call->in[MASK].dims, full[4] = {p->batch, p->heads, p->queries, p->keys};
    for (int i = 0; i < 4; i++) {
        ASC_REQUIRE(call, dims[i] == 1 || dims[i] == full[i], "attention: the mask does not broadcast to the scores");
        if (dims[i] == 1) p->mask_strides[i] = 0;
    }
    return ASC_OK;
}

static int32_t read_arguments(const asc_call *call, attention *p) {
    ASC_REQUIRE(
        call, call->n_ints == ASC_MEMBERS(asc_attention_params) && call->n_floats == ASC_MEMBERS(asc_attention_floats),
        "attention takes five ints and one float");
    const asc_attention_params *given = ASC_INTS_AS(asc_attention_params, call);
    ASC_REQUIRE(call, is_flag(given->heads_last), "attention: heads_last is 0 or 1");
    ASC_REQUIRE(call, given->nan_to_zero >= 0 && given->nan_to_zero <= ASC_ATTENTION_NAN_MASKED_ZERO,
                "attention: nan_to_zero is 0, 1 or 2");
    ASC_REQUIRE(call, is_flag(given->causal), "attention: causal is 0 or 1");
    ASC_REQUIRE(call, given->offset == 0 || (given->offset > 0 && given->causal), "attention: the offset is wrong");
    ASC_REQUIRE(call, is_flag(given->narrow), "attention: narrow is 0 or 1");
    *p = (attention){.nan_to_zero = (int)given->nan_to_zero, .narrow = given->narrow != 0};
    p->scale = (float)ASC_FLOATS_AS(asc_attention_floats, call)->scale;
    p->offset = given->causal ? given->offset : INT64_MAX;
    return ASC_OK;
}

static int32_t read_output(const asc_call *call, attention *p) {
    const asc_tensor *y = &call->out[0];
    int last = ASC_INTS_AS(asc_attention_params, call)->heads_last != 0;
    ASC_REQUIRE(call,
                y->rank == 4 && y->layout == ASC_LAYOUT_PLAIN && y->dims[0] == p->batch &&
                    y->dims[last ? 2 : 1] == p->heads && y->dims[last ? 1 : 2] == p->queries && y->dims[3] == p->width,
                "attention: the output's shape is wrong");
    p->y_narrow = y->dtype == ASC_BFLOAT16;
    p->y_strides[0] = p->heads * p->queries * p->width;
    p->y_strides[1] = last ? p->width : p->queries * p->width;
    p->y_strides[2] = last ? p->heads * p->width : p->width;
    return ASC_OK;
}

int32_t ASC_FN(attention_read)(const asc_call *call, attention *p) {
    int32_t code = read_arguments(call, p);
    if (code) return code;
    if ((code = ASC_FN(attention_operand)(call, &call->in[Q], p->q_strides))) return code;
    if ((code = ASC_FN(attention_operand)(call, &call->in[K], p->k_strides))) return code;
    if ((code = ASC_FN(attention_operand)(call, &call->in[V], p->v_strides))) return code;
    const int64_t *q = call->in[Q].dims, *k = call->in[K].dims, *v = call->in[V].dims;
    ASC_REQUIRE(call, k[0] == q[0] && v[0] == q[0], "attention: the batches differ");
    ASC_REQUIRE(call, k[1] == v[1] && (k[1] ? q[1] % k[1] == 0 : q[1] == 0),
                "attention: the heads of Q are no multiple of those of K and V");
    ASC_REQUIRE(call, k[2] == v[2], "attention: K and V differ in length");
    ASC_REQUIRE(call, q[3] == k[3], "attention: Q and K differ in their last axis");
    p->batch = q[0];
    p->heads = q[1];
    p->kv_heads = k[1];
    p->queries = q[2];
    p->keys = k[2];
    p->depth = q[3];
    p->width = v[3];
    if ((code = read_mask(call, p))) return code;
    return read_output(call, p);
}

void ASC_FN(attention_point)(const asc_call *call, attention *p) {
    p->q = call->in[Q].data;
    p->k = call->in[K].data;
    p->v = call->in[V].data;
    p->mask = asc_has_input(call, MASK) ? call->in[MASK].data : NULL;
    p->y = call->out[0].data;
}
