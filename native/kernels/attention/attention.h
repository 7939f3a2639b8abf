/* attention.h - softmax(scale Q K^T + mask) V as the files attention*.c share it.
 *
 * Queries are the lanes: scores lie as [keys][ATTENTION_LANES], so the softmax runs down columns without
 * one horizontal step, and a column block of scores is at once the packed left operand of the product
 * with V. */
#ifndef ASC_KERNELS_ATTENTION_H
#define ASC_KERNELS_ATTENTION_H

#include "asc_plan.h"
#include "matmul/gemm_tile.h"

#define ATTENTION_LANES GEMM_PANEL /* queries of a block */
#define ATTENTION_VECTORS (ATTENTION_LANES / ASC_VF)
#define ATTENTION_KEYS 128                /* keys whose scores are held together, in L1; a multiple of GEMM_PANEL */
#define ATTENTION_OVERLAPS (ASC_VF == 16) /* whether the registers hold a product and exponentials */
#define ATTENTION_TILE_KEYS 12            /* keys of a product that leaves room for them */
#define ATTENTION_FEW 4                   /* up to so many queries, scores are dot products, row by row */

/* A key whose mask is at or below this has weight 0 beside one that is not masked: it need not be computed. */
#define ATTENTION_MASKED (-1e30f)

/* Keys, or values, of all positions: past ones, then new ones; `present` [batch, kv_heads, keys, depth or width] is
 * where they are put together. */
typedef struct attention_appended {
    const float *past, *new;
    int64_t past_strides[4], new_strides[4]; /* batch, head, position, element: 1 */
    float *present;
} attention_appended;

typedef struct attention_cache {
    attention_appended k, v;
    int64_t past;    /* positions */
    int past_caches; /* present is stored past the caches */
} attention_cache;

typedef struct attention {
    int64_t batch, heads, kv_heads, queries, keys, depth, width; /* depth: of Q and K; width: of V and Y */
    const float *q, *k, *v, *mask;                               /* mask NULL: none */
    void *y; /* float32, or where y_narrow, bfloat16: rounded as it is stored */
    int y_narrow;
    int64_t q_strides[4], k_strides[4], v_strides[4]; /* batch, head, position, element */
    int64_t mask_strides[4];                          /* batch, head, query, key */
    int64_t y_strides[3];                             /* batch, head, query */
    float scale;
    int64_t offset; /* query i sees the keys [0, i + offset]; INT64_MAX: all */
    int nan_to_zero;
    int narrow;                   /* products of bfloat16 pairs (vnni2.h): along depth, then along keys */
    const attention_cache *cache; /* few queries: K and V are read, and moved, from where they are; NULL: not */
    float *transposed;            /* [1 or batch][block][keys][ATTENTION_LANES] of a mask that heads share, or NULL */
    uint8_t *kinds;               /* [1 or batch][block][attention_kinds] of it */
} attention;

/* K and V of a head as the register tiles read them; NULL: as they lie. */
typedef struct attention_packed {
    float *k; /* [keys][attention_lines(depth)] */
    float *v; /* [panel][attention_lines(keys)][GEMM_PANEL] */
} attention_packed;

/* What scores and masks are multiplied by: a weight is 2^score, but where `narrow`, e^score. */
static inline float attention_unit(const attention *p) {
    return p->narrow ? 1.0f : 0x1.715476p+0f; /* log2(e) */
}

/* A finite mask stays finite. */
static inline vf attention_mask_in_unit(const attention *p, vf mask) {
    vf scaled = vf_max(vf_set(-0x1.fffffep127f), vf_min(vf_set(0x1.fffffep127f), mask * attention_unit(p)));
    return vf_select(vf_abs(mask) == __builtin_inff(), mask, scaled);
}

/* The softmax of a block so far: the largest score of each query when `shift` was chosen, which is subtracted from its
 * scores, and the sum of its weights. Starts with max -Inf and zeros. `product`: the largest of the scores that were
 * multiplied last. */
typedef struct attention_softmax {
    vf max[ATTENTION_VECTORS], shift[ATTENTION_VECTORS], total[ATTENTION_VECTORS], product[ATTENTION_VECTORS];
} attention_softmax;

/* What is to be prefetched: rows of neighbouring floats. Fetched a few rows at a time, because a core that waits for
 * many lines at once waits with all that it does. */
typedef struct attention_stream {
    const float *row;
    int64_t step, rows, floats;
} attention_stream;

typedef struct attention_streams {
    attention_stream of[4];
    int count, current;
    int64_t rows; /* of all */
} attention_streams;

static inline void attention_stream_add(attention_streams *s, attention_stream more) {
    if (more.rows > 0) s->of[s->count++] = more;
    s->rows += more.rows;
}

static inline void attention_fetch(attention_streams *s, int64_t rows) {
    while (rows > 0 && s->current < s->count) {
        attention_stream *of = &s->of[s->current];
        int64_t some = rows < of->rows ? rows : of->rows, floats = of->floats;
        const float *row = of->row;
        for (int64_t i = 0; i < some; i++, row += of->step)
            for (int64_t j = 0; j < floats; j += 16) __builtin_prefetch(row + j, 0, 2);
        of->row = row;
        rows -= some;
        if (!(of->rows -= some)) s->current++;
    }
}

/* Checks and reads what shapes decide; points nowhere yet. */
int32_t ASC_FN(attention_read)(const asc_call *call, attention *p);
/* The pointers: in prepare, of what is only there in a run, any but NULL. */
void ASC_FN(attention_point)(const asc_call *call, attention *p);
/* A tensor of four axes; strides of axes of 1 are 0, but for the last. */
int32_t ASC_FN(attention_operand)(const asc_call *call, const asc_tensor *t, int64_t strides[4]);

typedef struct attention_note {
    attention problem; /* whose pointers are prepare's */
    int64_t few;       /* queries; then only scratch_floats counts */
    int64_t by_head, pack_k, pack_v;
    int64_t transpose_once; /* the mask */
    int64_t scratch_floats, packed_k_floats, packed_v_floats;
} attention_note;

int32_t ASC_FN(attention_prepare)(asc_call *call);
/* A prepared call, `p` being a copy of its problem that points to its operands. */
int32_t ASC_FN(attention_execute)(const asc_call *call, attention *p);
void ASC_FN(attention_schedule)(const asc_call *call, char *text, size_t room);
/* Whether prepare has chosen attention_few. */
int ASC_FN(attention_takes_few)(const asc_call *call);

/* Keys that query `i` sees, apart from the mask; those before it see no more. */
static inline int64_t attention_reach(const attention *p, int64_t i) {
    return p->keys - i - 1 <= p->offset ? p->keys : i + 1 + p->offset;
}

/* Whether the mask differs between queries, so that it must be transposed. */
static inline int attention_transposes_mask(const attention *p) {
    return p->mask && p->mask_strides[2];
}

/* Lines of a packed operand with so many products: as many, or one for each pair. */
static inline int64_t attention_lines(const attention *p, int64_t products) {
    return p->narrow ? products / 2 + products % 2 : products;
}

/* What a row of sums is multiplied by; -1: the row is to be filled with zeros. */
static inline float attention_factor(const attention *p, float total) {
    if (!p->keys || (p->nan_to_zero == ASC_ATTENTION_NAN_TO_ZERO && !(total > 0))) return -1;
    if (p->nan_to_zero == ASC_ATTENTION_NAN_MASKED_ZERO && total == 0) return -1;
    return 1.0f / total;
}

static inline int64_t attention_panels(int64_t n) {
    return n / GEMM_PANEL + (n % GEMM_PANEL != 0);
}

/* A few queries of one key/value head, that is of heads / kv_heads heads, against all keys. */
void ASC_FN(attention_few)(const attention *p, int64_t batch, int64_t kv_head, float *scores);
/* Floats of `scores`, for all queries that share a key/value head. 0 on overflow. */
int64_t ASC_FN(attention_few_floats)(const attention *p);

/* Scores of keys that have not become weights yet. */
typedef struct attention_pending {
    attention_softmax *softmax;
    float *scores;
    int64_t keys;
} attention_pending;

/* scores[i][j] = the sum over `lines` of k[i * k_step + line] q[line][j] for so many keys and at least `lanes` queries;
 * q and scores are ATTENTION_LANES wide, and where `narrow`, k and q hold pairs. The largest scores go to the softmax
 * of `pending`. What is pending becomes weights in place, as attention_weights does; where ATTENTION_OVERLAPS, for up
 * to ATTENTION_TILE_KEYS keys of float32, meanwhile. Behind each tile, some rows of `streams` are fetched. */
void ASC_FN(attention_scores)(int narrow, const float *k, int64_t k_step, int64_t keys, int64_t lines, const float *q,
                              int64_t lanes, float *scores, const attention_pending *pending,
                              attention_streams *streams, int64_t fetched_rows);

/* What a mask does to a panel of keys: it is to be added, or adds 0 for all queries, or masks it for all. */
enum { MASK_ADDS, MASK_IS_ZERO, MASK_HIDES };

/* Kinds of a block's mask: of each panel of keys, and at the end whether each query has a key that is not masked: then
 * masked keys have weight 0. */
static inline int64_t attention_kinds(const attention *p) {
    return attention_panels(p->keys) + 1;
}

/* Whether panels that a mask hides are left out. Not where all keys of a query are masked, or come after it: that needs
 * their scores. */
static inline int attention_may_skip(const attention *p, const uint8_t *kinds) {
    return p->offset >= p->keys && kinds[attention_kinds(p) - 1];
}

/* The mask of a block of queries as [keys][ATTENTION_LANES] in the scores' unit, and its kinds; lanes without a query
 * are masked. Panels that nobody adds are not written. */
void ASC_FN(attention_transpose_mask)(const attention *p, int64_t batch, int64_t head, int64_t block, float *out,
                                      uint8_t *kinds);

/* The kinds of a mask that is the same for all queries of a head. */
void ASC_FN(attention_mask_kinds)(const attention *p, const float *mask, uint8_t *kinds);

/* By how much a score may exceed what is subtracted from it in float32, in units of log 2. In bfloat16 nothing may: the
 * largest weight is to be 1, which is not rounded. */
#define ATTENTION_SLACK 12.0f

/* Whether what was multiplied last asks for another shift. */
static inline int attention_rises(const attention_softmax *s, int narrow, int64_t lanes) {
    vi rises = ~(s->product[0] <= s->max[0] + (narrow ? 0 : ATTENTION_SLACK));
    for (int v = 1; v < ATTENTION_VECTORS && v * ASC_VF < lanes; v++)
        rises |= ~(s->product[v] <= s->max[v] + (narrow ? 0 : ATTENTION_SLACK));
    return vi_any(rises);
}

/* Chooses what is subtracted from more scores, and whether `factors` rescale what is summed so far. scores NULL: they
 * are as they were multiplied. */
int ASC_FN(attention_shift)(attention_softmax *s, int narrow, const float *scores, int64_t keys, int64_t lanes,
                            float *factors);
/* Scores to weights in place, or where `narrow`, to weights of every two keys as pairs. A score of +Inf gives NaN. */
void ASC_FN(attention_weights)(attention_softmax *s, int narrow, float *scores, int64_t keys, int64_t lanes);
/* Weights by the factor of each query. */
void ASC_FN(attention_rescale)(float *weights, int64_t keys, const float *factors);

/* Queries [block * ATTENTION_LANES, ...) of one head against all keys. `next` is read after it. */
void ASC_FN(attention_block)(const attention *p, int64_t batch, int64_t head, int64_t block,
                             const attention_packed *packed, const attention_streams *next, float *scratch);
int64_t ASC_FN(attention_block_floats)(const attention *p);

#endif
