/* formula_rank.h - the k best elements along an axis, and where the best is: part of code generated from formulas
 * that rank. It stands after formula_code.h.
 *
 * Best first; of equal elements the lower index; -0 equals 0; NaN counts as larger than anything, except that
 * argmin takes NaN too. The selection is that of native/kernels/sorting/topk.c: the best of each lane of every group
 * of vectors bound the k-th best element from below, so only what reaches that bound is offered to a heap of k,
 * whatever the order of the data.
 */
#ifndef ASC_KERNELS_FORMULA_RANK_H
#define ASC_KERNELS_FORMULA_RANK_H

#define GROUP 16 /* vectors of a group */
#define BINS 4   /* vectors that group g falls into as g % BINS, for a first bound */

typedef struct rank_entry {
    int64_t key, index;
} rank_entry;

/* Line `i` of the operand: element e is at x + (i / inner * n * inner + i % inner + e * inner) elements. */
typedef struct rank_job {
    const asc_custom_call *call;
    const void *x;
    S *values; /* NULL: only indices */
    int64_t *indices;
    int64_t n, inner, items, k, largest, per_chunk, scratch_bytes;
    int is_s;      /* the operand is of S */
    uint64_t base; /* of the scratch memory in the workspace */
    const S *(*line)(const void *x, int64_t first, int64_t step, int64_t n, S *room);
} rank_job;

/* ---- lines as rows of S ---------------------------------------------------------------------- */

#define RANK_LINE(kind)                                                                                          \
    FN const S *rank_##kind(const void *x, int64_t first, int64_t step, int64_t n, S *room) {                    \
        const e_##kind *p = (const e_##kind *)x + first;                                                         \
        V v;                                                                                                     \
        int64_t i = 0;                                                                                           \
        if (step == 1) {                                                                                         \
            if (RANK_IS_S(kind)) return (const S *)(const void *)p;                                              \
            for (; i + LANES <= n; i += LANES) v = load_##kind(p + i, LANES, 1), memcpy(room + i, &v, sizeof v); \
        }                                                                                                        \
        for (; i < n; i++) v = splat_##kind(p + i * step), room[i] = v[0];                                       \
        return room;                                                                                             \
    }
#if ASC_WIDE
#define RANK_IS_S(kind) (#kind[0] == 'f' && #kind[1] == '6')
#else
#define RANK_IS_S(kind) (#kind[0] == 'f' && #kind[1] == '3')
#endif
RANK_LINE(f32)
RANK_LINE(f64)
RANK_LINE(f16)
RANK_LINE(bf16)
RANK_LINE(i8)
RANK_LINE(u8)
RANK_LINE(i16)
RANK_LINE(u16)
RANK_LINE(i32)
RANK_LINE(u32)
RANK_LINE(i64)
RANK_LINE(u64)

/* ---- keys: integers in the order of the numbers ---------------------------------------------- */

#if ASC_WIDE
typedef int64_t rank_bits;
#define RANK_SIGN INT64_MIN
#define RANK_LAST INT64_MAX
#else
typedef int32_t rank_bits;
#define RANK_SIGN INT32_MIN
#define RANK_LAST INT32_MAX
#endif

FN int64_t rank_key(S x) {
    rank_bits bits;
    x += (S)0; /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof bits);
    return x != x ? RANK_LAST : bits ^ ((bits >> (sizeof bits * 8 - 1)) & RANK_LAST);
}
FN S rank_value(int64_t key) {
    rank_bits bits = (rank_bits)key;
    S x;
    bits ^= (bits >> (sizeof bits * 8 - 1)) & RANK_LAST;
    memcpy(&x, &bits, sizeof x);
    return x;
}
FN int any_lane(M m) {
#if ASC_WIDE
    LANE found = 0;
    for (int i = 0; i < LANES; i++) found |= m[i];
    return found != 0;
#else
    return vi_any(m);
#endif
}
/* The largest or, the signs flipped, the smallest are looked for. */
FN V rank_load(const S *p, M flip) {
    V v;
    memcpy(&v, p, sizeof v);
    return (V)((M)v ^ flip);
}

/* ---- the k best, as a heap whose root is the worst -------------------------------------------- */

typedef struct rank_best {
    rank_entry *heap;
    int64_t held, k;
} rank_best;

static inline int rank_worse(rank_entry a, rank_entry b) {
    return a.key < b.key || (a.key == b.key && a.index > b.index);
}
static void rank_sift(rank_entry *heap, int64_t at, int64_t n) {
    rank_entry moving = heap[at];
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= n) break;
        if (child + 1 < n && rank_worse(heap[child + 1], heap[child])) child++;
        if (!rank_worse(heap[child], moving)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}
/* Offers come in the order of their indices, so an equal key is no better than the root. */
static inline void rank_offer(rank_best *best, int64_t key, int64_t index) {
    if (best->held == best->k) {
        if (key <= best->heap[0].key) return;
        best->heap[0] = (rank_entry){key, index};
        rank_sift(best->heap, 0, best->k);
        return;
    }
    best->heap[best->held++] = (rank_entry){key, index};
    if (best->held == best->k)
        for (int64_t i = best->k / 2 - 1; i >= 0; i--) rank_sift(best->heap, i, best->k);
}
static void rank_sort(rank_best *best) {
    for (int64_t n = best->k - 1; n > 0; n--) {
        rank_entry worst = best->heap[0];
        best->heap[0] = best->heap[n];
        best->heap[n] = worst;
        rank_sift(best->heap, 0, n);
    }
}

/* ---- one line --------------------------------------------------------------------------------- */

/* lanes[g]: the best of each lane of group g; bins: that of groups which share one. Returns whether the groups
 * hold NaN. */
static int rank_groups(const S *x, int64_t groups, M flip, S *lanes, V bins[BINS]) {
    M nan = {0};
    for (int b = 0; b < BINS; b++) bins[b] = v_set((S)-INFINITY);
    for (int64_t g = 0; g < groups; g++, x += GROUP * LANES) {
        V best = rank_load(x, flip);
        nan |= best != best;
        for (int i = 1; i < GROUP; i++) {
            V v = rank_load(x + i * LANES, flip);
            nan |= v != v;
            best = lanes_greater(v, best);
        }
        memcpy(lanes + g * LANES, &best, sizeof best);
        bins[g % BINS] = lanes_greater(best, bins[g % BINS]);
    }
    return any_lane(nan);
}
/* Offers the lanes of one vector that reach the bound. */
static inline void rank_offer_vector(rank_best *best, V v, V bound, int64_t index) {
    M reach = v >= bound;
    if (!any_lane(reach)) return;
    for (int i = 0; i < LANES; i++)
        if (reach[i]) rank_offer(best, rank_key(v[i]), index + i);
}
/* What an element must reach to be worth offering: with k held, more than the root. */
static inline V rank_reach(const rank_best *best, V bound) {
    if (best->held < best->k) return bound;
    int64_t above = best->heap[0].key + 1, infinity = rank_key((S)INFINITY);
    return v_set(rank_value(above > infinity ? infinity : above));
}
/* Whether done: a line that holds NaN is left to rank_all. */
static int rank_select(rank_best *best, const S *x, int64_t n, int64_t largest, S *lanes) {
    M flip = largest ? (M){0} : (M){0} + (LANE)RANK_SIGN;
    int64_t groups = n / (GROUP * LANES), rest = groups * GROUP * LANES;
    V bound = v_set((S)-INFINITY);
    V bins[BINS];
    if (rank_groups(x, groups, flip, lanes, bins)) return 0;
    for (int64_t i = rest; i < n; i++)
        if (x[i] != x[i]) return 0;
    if (groups >= BINS && best->k <= BINS * LANES) {
        for (int b = 0; b < BINS; b++) rank_offer_vector(best, bins[b], rank_reach(best, bound), 0);
        bound = v_set(rank_value(best->heap[0].key));
        best->held = 0;
    }
    if (groups * LANES >= best->k) {
        for (int64_t g = 0; g < groups; g++)
            rank_offer_vector(best, rank_load(lanes + g * LANES, (M){0}), rank_reach(best, bound), 0);
        bound = v_set(rank_value(best->heap[0].key));
        best->held = 0;
    }
    for (int64_t g = 0; g < groups; g++) {
        V reach = rank_reach(best, bound);
        if (!any_lane(rank_load(lanes + g * LANES, (M){0}) >= reach)) continue;
        for (int64_t i = g * GROUP * LANES; i < (g + 1) * GROUP * LANES; i += LANES)
            rank_offer_vector(best, rank_load(x + i, flip), reach, i);
    }
    for (int64_t i = rest; i < n; i++) rank_offer(best, rank_key(largest ? x[i] : -x[i]), i);
    return 1;
}
static void rank_all(rank_best *best, const S *x, int64_t n, int64_t largest) {
    best->held = 0;
    for (int64_t i = 0; i < n; i++) rank_offer(best, largest ? rank_key(x[i]) : ~rank_key(x[i]), i);
}
/* The first of the best elements; NaN is best. */
static int64_t rank_first(const S *x, int64_t n, int64_t largest) {
    M flip = largest ? (M){0} : (M){0} + (LANE)RANK_SIGN, nan = {0};
    V best = v_set((S)-INFINITY);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        V v = rank_load(x + i, flip);
        nan |= v != v;
        best = lanes_greater(v, best);
    }
    S extreme = (S)-INFINITY;
    int seen = any_lane(nan);
    for (int l = 0; l < LANES; l++) extreme = best[l] > extreme ? best[l] : extreme;
    for (; i < n; i++) {
        S v = largest ? x[i] : -x[i];
        seen |= v != v;
        extreme = v > extreme ? v : extreme;
    }
    if (seen)
        for (i = 0; x[i] == x[i];) i++;
    else
        for (i = 0; (largest ? x[i] : -x[i]) != extreme;) i++;
    return i;
}

/* LANES neighbouring lines at once, of fewer than 2^31 elements. */
static void rank_first_strip(const S *x, int64_t n, int64_t step, int64_t largest, int64_t *indices) {
    M flip = largest ? (M){0} : (M){0} + (LANE)RANK_SIGN, at = {0};
    V best = rank_load(x, flip);
    for (int64_t i = 1; i < n; i++) {
        V v = rank_load(x + i * step, flip);
        M take = ((v > best) | (v != v)) & (best == best);
        best = v_select(take, v, best);
        at = (take & ((M){0} + (LANE)i)) | (~take & at);
    }
    for (int l = 0; l < LANES; l++) indices[l] = at[l];
}

/* ---- all lines -------------------------------------------------------------------------------- */

static void rank_line(const rank_job *j, int64_t item, S *room, S *lanes, rank_entry *heap) {
    int64_t column = item % j->inner, outer = item / j->inner;
    const S *x = j->line(j->x, outer * j->n * j->inner + column, j->inner, j->n, room);
    if (!j->values) {
        j->indices[item] = rank_first(x, j->n, j->largest);
        return;
    }
    rank_best best = {heap, 0, j->k};
    if (!rank_select(&best, x, j->n, j->largest, lanes)) rank_all(&best, x, j->n, j->largest);
    rank_sort(&best);
    for (int64_t i = 0; i < j->k; i++) {
        int64_t to = (outer * j->k + i) * j->inner + column;
        j->indices[to] = heap[i].index;
        j->values[to] = x[heap[i].index];
    }
}
static void rank_chunk(void *arg, int64_t chunk) {
    const rank_job *j = arg;
    char *scratch = (char *)j->call->workspace + j->base + chunk * j->scratch_bytes;
    rank_entry *heap = (rank_entry *)scratch;
    S *room = (S *)(heap + j->k), *lanes = room + j->n;
    int64_t last = smaller((chunk + 1) * j->per_chunk, j->items);
    int direct = !j->values && j->inner >= LANES && j->n < INT32_MAX && j->is_s;
    for (int64_t item = chunk * j->per_chunk; item < last; item++) {
        int64_t column = item % j->inner;
        if (direct && column + LANES <= j->inner && item + LANES <= last) {
            const S *x = (const S *)j->x + item / j->inner * j->n * j->inner + column;
            rank_first_strip(x, j->n, j->inner, j->largest, j->indices + item);
            item += LANES - 1;
        } else {
            rank_line(j, item, room, lanes, heap);
        }
    }
}
/* Sizes a job; the bytes of workspace that it needs. */
static uint64_t plan_rank(rank_job *j) {
    j->per_chunk = items_per_chunk(j->call, j->items, j->n * 4 / LANES + 1);
    int64_t line = j->n + j->n / GROUP + LANES;
    j->scratch_bytes = (j->k * (int64_t)sizeof(rank_entry) + line * (int64_t)sizeof(S)) / 64 * 64 + 64;
    return j->base + (uint64_t)(ceil_div(j->items, j->per_chunk) * j->scratch_bytes);
}

#endif
