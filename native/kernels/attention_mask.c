/* Masks of blocks of queries: turned to lie as scores do, and searched for keys that no query sees, and for those that
 * all see as they are. */
#include <math.h>

#include "attention.h"
#include "gemm_pack.h"

#define LANES ATTENTION_LANES
#define VECTORS (LANES / ASC_VF)

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

typedef struct columns {
    vf v[VECTORS];
} columns;

/* Turns a panel of keys; what it is, and the largest mask of each query. */
static int turn_panel(const float *mask, const int64_t *strides, int64_t lanes, int64_t keys, float *out,
                      columns *largest) {
    ASC_FN(gemm_interleave)(mask, strides[2], strides[3], lanes, keys, LANES, out);
    vi seen = {0}, differs = {0};
    for (int64_t i = 0; i < keys; i++) {
        for (int64_t j = lanes; j < LANES; j++) out[i * LANES + j] = -INFINITY;
        for (int v = 0; v < VECTORS; v++) {
            vf x = vf_load(out + i * LANES + v * ASC_VF);
            seen |= ~(x <= ATTENTION_MASKED); /* NaN is seen */
            differs |= (x != 0) & (vi_iota() + v * ASC_VF < (int32_t)lanes);
            largest->v[v] = vf_max(x, largest->v[v]);
        }
    }
    return !vi_any(seen) ? MASK_HIDES : vi_any(differs) ? MASK_ADDS : MASK_IS_ZERO;
}

void ASC_FN(attention_turn_mask)(const attention *p, int64_t batch, int64_t head, int64_t block, float *out,
                                 uint8_t *kinds) {
    const int64_t *strides = p->mask_strides;
    const float *mask = p->mask + batch * strides[0] + head * strides[1] + block * LANES * strides[2];
    int64_t lanes = least(LANES, p->queries - block * LANES);
    columns largest;
    for (int v = 0; v < VECTORS; v++) largest.v[v] = vf_set(-INFINITY);
    for (int64_t key = 0; key < p->keys; key += GEMM_PANEL)
        *kinds++ = (uint8_t)turn_panel(mask + key * strides[3], strides, lanes, least(GEMM_PANEL, p->keys - key),
                                       out + key * LANES, &largest);
    *kinds = 1;
    for (int64_t i = 0; i < lanes; i++)
        if (!(largest.v[i / ASC_VF][i % ASC_VF] > ATTENTION_MASKED)) *kinds = 0;
}
