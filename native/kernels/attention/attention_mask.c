/* Masks of blocks of queries: transposed to lie as scores do unless one is for all queries, and searched for keys that
 * no query sees, and for those that all see as they are. */
#include <math.h>

#include "attention.h"
#include "chunks.h"
#include "matmul/gemm_pack.h"

#define LANES ATTENTION_LANES

/* What a panel's masks are, lane by lane of keys. */
typedef struct findings {
    vi seen, differs; /* somewhere not masked, or NaN; somewhere not 0 */
    int64_t seeing;   /* queries with a key that is not masked, each a bit */
} findings;

/* The masks of one query for the keys of a panel. */
static void look_at(const float *mask, int64_t step, int64_t keys, int64_t lane, findings *f) {
    vi sees = {0};
    for (int64_t i = 0; i < keys; i += ASC_VF) {
        vf x = (vf){0};
        int64_t some = asc_least(ASC_VF, keys - i);
        if (step == 1 && some == ASC_VF)
            x = vf_load(mask + i);
        else
            for (int64_t j = 0; j < ASC_VF; j++) x[j] = mask[(i + asc_least(j, some - 1)) * step];
        f->seen |= ~(x <= ATTENTION_MASKED);
        f->differs |= x != 0;
        sees |= x > ATTENTION_MASKED;
    }
    f->seeing |= (int64_t)vi_any(sees) << lane;
}

static uint8_t kind_of(const findings *f) {
    return !vi_any(f->seen) ? MASK_HIDES : vi_any(f->differs) ? MASK_ADDS : MASK_IS_ZERO;
}

void ASC_FN(attention_mask_kinds)(const attention *p, const float *mask, uint8_t *kinds) {
    int64_t panels = attention_panels(p->keys), step = p->mask_strides[3], seeing = 0;
    for (int64_t i = 0; i < panels; i++) {
        findings f = {.seeing = seeing};
        look_at(mask + i * GEMM_PANEL * step, step, asc_least(GEMM_PANEL, p->keys - i * GEMM_PANEL), 0, &f);
        kinds[i] = kind_of(&f);
        seeing = f.seeing;
    }
    kinds[panels] = seeing != 0;
}

static void transpose_panel(const attention *p, const float *mask, int64_t lanes, int64_t keys, float *out) {
    ASC_FN(gemm_interleave)(mask, p->mask_strides[2], p->mask_strides[3], lanes, keys, LANES, out);
    for (int64_t i = 0; !p->narrow && i < keys * LANES; i += ASC_VF)
        vf_store(out + i, attention_mask_in_unit(p, vf_load(out + i)));
    for (int64_t i = 0; lanes < LANES && i < keys; i++)
        for (int64_t j = lanes; j < LANES; j++) out[i * LANES + j] = -INFINITY;
}

void ASC_FN(attention_transpose_mask)(const attention *p, int64_t batch, int64_t head, int64_t block, float *out,
                                      uint8_t *kinds) {
    const int64_t *strides = p->mask_strides;
    const float *mask = p->mask + batch * strides[0] + head * strides[1] + block * LANES * strides[2];
    int64_t lanes = asc_least(LANES, p->queries - block * LANES), panels = attention_panels(p->keys), seeing = 0;
    for (int64_t i = 0; i < panels; i++) {
        findings f = {.seeing = seeing};
        const float *from = mask + i * GEMM_PANEL * strides[3];
        for (int64_t lane = 0; lane < lanes; lane++)
            look_at(from + lane * strides[2], strides[3], asc_least(GEMM_PANEL, p->keys - i * GEMM_PANEL), lane, &f);
        kinds[i] = kind_of(&f);
        seeing = f.seeing;
    }
    kinds[panels] = seeing == ((int64_t)1 << lanes) - 1;
    int skips = attention_may_skip(p, kinds);
    for (int64_t i = 0, key = 0; i < panels; i++, key += GEMM_PANEL)
        if (kinds[i] == MASK_ADDS || (kinds[i] == MASK_HIDES && !skips))
            transpose_panel(p, mask + key * strides[3], lanes, asc_least(GEMM_PANEL, p->keys - key), out + key * LANES);
}
