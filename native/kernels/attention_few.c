/* Few queries, as in decoding: every row of K and V is read once for all queries that share it. */
#include <math.h>

#include "attention.h"
#include "vmath.h"

int64_t ASC_FN(attention_few_floats)(const attention *p) {
    int64_t rows, floats;
    if (!asc_mul_ok(p->heads / p->kv_heads, p->queries, &rows) || !asc_mul_ok(rows, p->keys + 16, &floats)) return 0;
    return floats < INT64_MAX / 64 ? (floats + 15) / 16 * 16 + 16 : 0;
}

static float dot(const float *a, const float *b, int64_t n) {
    vf sum = {0}, other = {0};
    int64_t i = 0;
    for (; i + 2 * ASC_VF <= n; i += 2 * ASC_VF) {
        sum = vf_fma(vf_load(a + i), vf_load(b + i), sum);
        other = vf_fma(vf_load(a + i + ASC_VF), vf_load(b + i + ASC_VF), other);
    }
    if (i + ASC_VF <= n) {
        sum = vf_fma(vf_load(a + i), vf_load(b + i), sum);
        i += ASC_VF;
    }
    if (i < n) other = vf_fma(vf_load_tail(a + i, n - i, 0), vf_load_tail(b + i, n - i, 0), other);
    return vf_sum(sum + other);
}

/* Scores to weights that still lack the division by the sum they return. */
static float exponentials(float *scores, int64_t n, const float *mask, int64_t step) {
    vf max = vf_set(-INFINITY), sum = {0};
    if (mask)
        for (int64_t i = 0; i < n; i++) scores[i] += mask[i * step];
    int64_t i = 0;
    for (; i + ASC_VF <= n; i += ASC_VF) max = vf_max(vf_load(scores + i), max);
    if (i < n) max = vf_max(vf_load_tail(scores + i, n - i, -INFINITY), max);
    max = vf_set(vf_maximum(max));
    if (max[0] == -INFINITY) max = (vf){0}; /* weights of 0, which have no sum */
    for (i = 0; i < n; i += ASC_VF) {
        int64_t lanes = n - i;
        vf e = vf_exp((lanes < ASC_VF ? vf_load_tail(scores + i, lanes, -INFINITY) : vf_load(scores + i)) - max);
        if (lanes < ASC_VF) {
            e = vf_select(vi_iota() < (int32_t)lanes, e, (vf){0}); /* of a NaN too */
            vf_store_tail(scores + i, e, lanes);
        } else {
            vf_store(scores + i, e);
        }
        sum += e;
    }
    return vf_sum(sum);
}

/* y = sum of weights[i] * v[i] times factor */
static void mix(const float *weights, const float *v, int64_t step, int64_t keys, int64_t width, float factor,
                float *y) {
    int64_t j = 0;
    for (; j + 4 * ASC_VF <= width; j += 4 * ASC_VF) {
        vf sum[4] = {{0}, {0}, {0}, {0}};
        for (int64_t i = 0; i < keys; i++)
            for (int u = 0; u < 4; u++)
                sum[u] = vf_fma(vf_set(weights[i]), vf_load(v + i * step + j + u * ASC_VF), sum[u]);
        for (int u = 0; u < 4; u++) vf_store(y + j + u * ASC_VF, sum[u] * factor);
    }
    for (; j < width; j += ASC_VF) {
        int64_t lanes = width - j;
        vf sum = {0};
        for (int64_t i = 0; i < keys; i++) {
            const float *from = v + i * step + j;
            sum = vf_fma(vf_set(weights[i]), lanes < ASC_VF ? vf_load_tail(from, lanes, 0) : vf_load(from), sum);
        }
        if (lanes < ASC_VF)
            vf_store_tail(y + j, sum * factor, lanes);
        else
            vf_store(y + j, sum * factor);
    }
}

void ASC_FN(attention_few)(const attention *p, int64_t batch, int64_t kv_head, float *scores) {
    int64_t group = p->heads / p->kv_heads, rows = group * p->queries, room = (p->keys + 15) / 16 * 16;
    const float *k = p->k + batch * p->k_strides[0] + kv_head * p->k_strides[1];
    const float *v = p->v + batch * p->v_strides[0] + kv_head * p->v_strides[1];
    const float *q = p->q + batch * p->q_strides[0] + kv_head * group * p->q_strides[1];
    for (int64_t i = 0; i < attention_reach(p, p->queries - 1); i++)
        for (int64_t r = 0; r < rows; r++) {
            const float *row = q + r / p->queries * p->q_strides[1] + r % p->queries * p->q_strides[2];
            scores[r * room + i] = p->scale * dot(row, k + i * p->k_strides[2], p->depth);
        }
    for (int64_t r = 0; r < rows; r++) {
        int64_t head = kv_head * group + r / p->queries, query = r % p->queries, keys = attention_reach(p, query);
        const float *mask = NULL;
        if (p->mask)
            mask = p->mask + batch * p->mask_strides[0] + head * p->mask_strides[1] + query * p->mask_strides[2];
        float sum = exponentials(scores + r * room, keys, mask, p->mask_strides[3]);
        float *y = p->y + batch * p->y_strides[0] + head * p->y_strides[1] + query * p->y_strides[2];
        float factor = attention_factor(p, sum);
        if (factor < 0)
            memset(y, 0, (size_t)p->width * sizeof *y);
        else
            mix(scores + r * room, v, p->v_strides[2], keys, p->width, factor, y);
    }
}
