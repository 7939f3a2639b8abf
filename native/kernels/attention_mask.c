/* Masks of blocks of queries: turned to lie as scores do, and searched for keys that no query sees. */
#include <math.h>

#include "attention.h"
#include "gemm_pack.h"

#define LANES ATTENTION_LANES
#define VECTORS (LANES / ASC_VF)

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

void ASC_FN(attention_turn_mask)(const attention *p, int64_t batch, int64_t head, int64_t block, float *out) {
    const int64_t *strides = p->mask_strides;
    const float *mask = p->mask + batch * strides[0] + head * strides[1] + block * LANES * strides[2];
    int64_t lanes = least(LANES, p->queries - block * LANES);
    ASC_FN(gemm_interleave)(mask, strides[2], strides[3], lanes, p->keys, LANES, out);
    for (int64_t i = 0; lanes < LANES && i < p->keys; i++)
        for (int64_t j = lanes; j < LANES; j++) out[i * LANES + j] = -INFINITY;
}

/* Largest mask of a panel of keys, for each query. */
static void panel_mask(const float *turned, int64_t key, int64_t keys, vf max[VECTORS]) {
    for (int v = 0; v < VECTORS; v++) max[v] = vf_set(-INFINITY);
    for (int64_t i = key; i < least(key + GEMM_PANEL, keys); i++)
        for (int v = 0; v < VECTORS; v++) max[v] = vf_max(vf_load(turned + i * LANES + v * ASC_VF), max[v]);
}

int ASC_FN(attention_every_query_sees)(const float *turned, int64_t keys, int64_t lanes) {
    vf max[VECTORS], panel[VECTORS];
    for (int v = 0; v < VECTORS; v++) max[v] = vf_set(-INFINITY);
    for (int64_t key = 0; key < keys; key += GEMM_PANEL) {
        panel_mask(turned, key, keys, panel);
        for (int v = 0; v < VECTORS; v++) max[v] = vf_max(panel[v], max[v]);
    }
    for (int64_t i = 0; i < lanes; i++)
        if (!(max[i / ASC_VF][i % ASC_VF] > ATTENTION_MASKED)) return 0;
    return 1;
}

int ASC_FN(attention_is_hidden)(const float *turned, int64_t key, int64_t keys) {
    vf max[VECTORS];
    panel_mask(turned, key, keys, max);
    vi seen = {0};
    for (int v = 0; v < VECTORS; v++) seen |= ~(max[v] <= ATTENTION_MASKED); /* NaN is seen */
    return !vi_any(seen);
}
