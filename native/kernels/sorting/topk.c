/* topk: the k largest (or smallest) elements along an axis, best first, and where they were.
 *   x (float32, float64, int32, int64) -> values like x, indices int64, both with k along the axis
 * ints: asc_topk_params. Of equal elements the lower index comes first; -0 equals 0; NaN counts as
 * larger than anything.
 *
 * The k best are kept in a heap whose root is the worst of them. A float32 line is read twice: first
 * for the best of every group of GROUP elements a lane, whose k-th best bounds the k-th best element from
 * below; then only groups that reach the bound, and the root, are offered to the heap. At most k - 1 lanes
 * of groups exceed the bound, so no order of the data is slow. A first bound, so that few lanes are offered to
 * find that one, is the k-th best of what a few BINS of vectors hold of all groups. Few elements are ranked instead
 * (topk_rank.h): in most lines little more than k reach what two vectors of bins promise. */
#include <math.h>

#include "asc_plan.h"
#include "axis_split.h"
#include "chunks.h"
#include "topk_rank.h"

typedef struct entry {
    int64_t key, index;
} entry;

typedef struct topk_job {
    asc_axis_split split;
    int64_t k, largest;
    int64_t scratch_bytes, items, per_chunk;
} topk_job;
ASC_KERNEL_NOTE(topk, topk_job)

#define GROUP TOPK_GROUP
#define BINS 4 /* vectors that group g falls into as g % BINS */

#define KEY_INFINITY 0x7f800000 /* the key of infinity */

/* ---- keys ------------------------------------------------------------------------------------ */

static inline int64_t key_f32(float x) {
    int32_t bits;
    x += 0.0f; /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof bits);
    return x != x ? INT32_MAX : bits ^ ((bits >> 31) & INT32_MAX);
}
static inline int64_t key_f64(double x) {
    int64_t bits;
    x += 0.0;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? INT64_MAX : bits ^ ((bits >> 63) & INT64_MAX);
}
static inline int64_t key_i32(int32_t x) {
    return x;
}
static inline int64_t key_i64(int64_t x) {
    return x;
}

/* Smaller is better: the order is reversed. */
static inline int64_t directed(int64_t key, int64_t largest) {
    return largest ? key : ~key;
}

static int64_t key_at(const void *line, int32_t dtype, int64_t i, int64_t largest) {
    if (dtype == ASC_FLOAT32) return directed(key_f32(((const float *)line)[i]), largest);
    if (dtype == ASC_FLOAT64) return directed(key_f64(((const double *)line)[i]), largest);
    if (dtype == ASC_INT32) return directed(key_i32(((const int32_t *)line)[i]), largest);
    return directed(key_i64(((const int64_t *)line)[i]), largest);
}

/* ---- the k best, as a heap whose root is the worst ------------------------------------------- */

static inline int worse(entry a, entry b) {
    return a.key < b.key || (a.key == b.key && a.index > b.index);
}

static void sift(entry *heap, int64_t at, int64_t n) {
    entry moving = heap[at];
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= n) break;
        if (child + 1 < n && worse(heap[child + 1], heap[child])) child++;
        if (!worse(heap[child], moving)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

typedef struct best_k {
    entry *heap;
    int64_t held, k;
} best_k;

/* Offers come in the order of their indices, so an equal key is no better than the root. */
static inline void offer(best_k *best, int64_t key, int64_t index) {
    if (best->held == best->k) {
        if (key <= best->heap[0].key) return;
        best->heap[0] = (entry){key, index};
        sift(best->heap, 0, best->k);
        return;
    }
    best->heap[best->held++] = (entry){key, index};
    if (best->held == best->k)
        for (int64_t i = best->k / 2 - 1; i >= 0; i--) sift(best->heap, i, best->k);
}

static void sort_best_first(best_k *best) {
    for (int64_t n = best->k - 1; n > 0; n--) {
        entry worst = best->heap[0];
        best->heap[0] = best->heap[n];
        best->heap[n] = worst;
        sift(best->heap, 0, n);
    }
}

/* ---- one line -------------------------------------------------------------------------------- */

/* Any type, any data: every element is offered. */
static void offer_all(best_k *best, const void *line, int32_t dtype, int64_t n, int64_t largest) {
    best->held = 0;
    for (int64_t i = 0; i < n; i++) offer(best, key_at(line, dtype, i, largest), i);
}

/* lanes[g]: the best of each lane of group g; bins: that of groups which share one. Returns whether the groups
 * hold NaN. */
static int best_of_groups(const float *x, int64_t groups, vi flip, float *lanes, vf bins[BINS]) {
    vi nan = {0};
    for (int b = 0; b < BINS; b++) bins[b] = vf_set(-INFINITY);
    for (int64_t g = 0; g < groups; g++, x += GROUP * ASC_VF) {
        vf best[2], zero[2];
        for (int i = 0; i < GROUP; i++) {
            vf v = topk_load(x + i * ASC_VF, flip);
            best[i % 2] = i < 2 ? v : vf_max(v, best[i % 2]);
            zero[i % 2] = vf_fma(v, (vf){0}, i < 2 ? (vf){0} : zero[i % 2]); /* NaN when any is NaN or infinite */
        }
        zero[0] += zero[1];
        if (vi_any(zero[0] != zero[0]))
            for (int i = 0; i < GROUP; i++) nan |= vf_load(x + i * ASC_VF) != vf_load(x + i * ASC_VF);
        vf all = vf_max(best[0], best[1]);
        vf_store(lanes + g * ASC_VF, all);
        bins[g % BINS] = vf_max(all, bins[g % BINS]);
    }
    return vi_any(nan);
}

/* Offers the lanes of one vector that reach the bound. */
static inline void offer_vector(best_k *best, vf v, vf bound, int64_t index) {
    vi reach = v >= bound;
    if (!vi_any(reach)) return;
    float lanes[ASC_VF];
    vf_store(lanes, v);
    for (uint32_t bits = topk_bits(reach); bits; bits &= bits - 1) {
        int i = __builtin_ctz(bits);
        offer(best, key_f32(lanes[i]), index + i);
    }
}

static float value_of(int64_t key) {
    int32_t bits = (int32_t)key ^ (((int32_t)key >> 31) & INT32_MAX);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* What an element must reach to be worth offering: with k held, more than the root. */
static inline vf root_of(const best_k *best, vf bound) {
    if (best->held < best->k) return bound;
    int64_t above = best->heap[0].key + 1;
    return vf_set(value_of(above > KEY_INFINITY ? KEY_INFINITY : above));
}

/* The k best of a line that was searched by groups, best first, when few elements reach what the bins promise: then
 * 1. */
static int rank_f32(best_k *best, const float *x, int64_t n, vi flip, const float *lanes, const vf bins[BINS]) {
    int64_t groups = n / (GROUP * ASC_VF), index[ASC_VF];
    topk_candidates found = {.n = 0};
    vf bound = vf_set(topk_bound(vf_max(bins[0], bins[1]), vf_max(bins[2], bins[3]), best->k));
    for (int64_t g = 0; g < groups; g++)
        if (vi_any(vf_load(lanes + g * ASC_VF) >= bound) &&
            !topk_collect_group(&found, x, flip, bound, g * GROUP * ASC_VF))
            return 0;
    for (int64_t i = groups * GROUP * ASC_VF; i < n; i += ASC_VF) {
        vf rest = n - i < ASC_VF ? vf_load_tail(x + i, n - i, flip[0] ? INFINITY : -INFINITY) : vf_load(x + i);
        rest = (vf)((vi)rest ^ flip);
        uint32_t bits = topk_bits(rest >= bound) & (uint32_t)(n - i < ASC_VF ? (1u << (n - i)) - 1 : ~0u);
        if (bits && !topk_collect(&found, rest, bits, i)) return 0;
    }
    topk_rank(&found, best->k, index);
    for (int64_t i = 0; i < best->k; i++) best->heap[i].index = index[i];
    return 1;
}

enum { UNDONE, HEAPED, RANKED };

/* UNDONE: a line that holds NaN is left to offer_all. */
static int select_f32(best_k *best, const float *x, int64_t n, int64_t largest, float *lanes) {
    vi flip = largest ? (vi){0} : vi_set(INT32_MIN);
    int64_t groups = n / (GROUP * ASC_VF), rest = groups * GROUP * ASC_VF;
    vf bins[BINS];
    if (best_of_groups(x, groups, flip, lanes, bins)) return UNDONE;
    for (int64_t i = rest; i < n; i++)
        if (x[i] != x[i]) return UNDONE;
    if (groups >= BINS && best->k <= ASC_VF && rank_f32(best, x, n, flip, lanes, bins)) return RANKED;
    vf bound = vf_set(-INFINITY);
    if (groups >= BINS && best->k <= BINS * ASC_VF) {
        for (int b = 0; b < BINS; b++) offer_vector(best, bins[b], root_of(best, bound), 0);
        bound = vf_set(value_of(best->heap[0].key));
        best->held = 0;
    }
    if (groups * ASC_VF >= best->k) {
        for (int64_t g = 0; g < groups; g++) offer_vector(best, vf_load(lanes + g * ASC_VF), root_of(best, bound), 0);
        bound = vf_set(value_of(best->heap[0].key));
        best->held = 0;
    }
    for (int64_t g = 0; g < groups; g++) {
        vf reach = root_of(best, bound);
        if (!vi_any(vf_load(lanes + g * ASC_VF) >= reach)) continue;
        for (int64_t i = g * GROUP * ASC_VF; i < (g + 1) * GROUP * ASC_VF; i += ASC_VF)
            offer_vector(best, topk_load(x + i, flip), reach, i);
    }
    for (int64_t i = rest; i < n; i++) offer(best, key_f32(largest ? x[i] : -x[i]), i);
    return HEAPED;
}

static void select_line(const void *line, int32_t dtype, const topk_job *job, float *lanes, entry *heap) {
    best_k kept = {heap, 0, job->k};
    int done = dtype == ASC_FLOAT32 ? select_f32(&kept, line, job->split.n, job->largest, lanes) : UNDONE;
    if (done == RANKED) return;
    if (done == UNDONE) offer_all(&kept, line, dtype, job->split.n, job->largest);
    sort_best_first(&kept);
}

static void topk_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const topk_job *job = arg;
    const asc_tensor *x = &call->in[0];
    int64_t n = job->split.n, inner = job->split.inner, k = job->k, size = (int64_t)asc_dtype_bytes(x->dtype);
    char *scratch = (char *)call->workspace + worker * job->scratch_bytes;
    entry *heap = (entry *)scratch;
    char *copy = (char *)(heap + k);
    float *lanes = (float *)(copy + n * size);
    int64_t *indices = call->out[1].data;
    int64_t end = (chunk + 1) * job->per_chunk < job->items ? (chunk + 1) * job->per_chunk : job->items;
    for (int64_t item = chunk * job->per_chunk; item < end; item++) {
        int64_t outer = item / inner, column = item % inner;
        const char *line = (const char *)x->data + (outer * n * inner + column) * size;
        if (inner > 1) {
            for (int64_t i = 0; i < n; i++) memcpy(copy + i * size, line + i * inner * size, (size_t)size);
            line = copy;
        }
        select_line(line, x->dtype, job, lanes, heap);
        for (int64_t i = 0; i < k; i++) {
            int64_t to = (outer * k + i) * inner + column;
            indices[to] = heap[i].index;
            memcpy((char *)call->out[0].data + to * size, line + heap[i].index * size, (size_t)size);
        }
    }
}

int32_t ASC_FN(topk_prepare)(asc_call *call) {
    const asc_tensor *x = &call->in[0], *values = &call->out[0], *indices = &call->out[1];
    asc_axis_split split;
    const asc_topk_params *p = ASC_INTS_AS(asc_topk_params, call);
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_topk_params), "topk takes three ints: axis, k, largest");
    ASC_REQUIRE(call, asc_split_axes(x, p->axis, 1, &split), "topk: the axis is outside the rank");
    int64_t axis = p->axis, k = p->k;
    if (k < 0 || k > split.n)
        return asc_failn(call->status, ASC_E_SHAPE, "topk: k is %, the axis has % elements", 2,
                         (int64_t[]){k, split.n});
    ASC_REQUIRE(call, values->dtype == x->dtype && asc_same_dims(values, indices) && values->rank == x->rank,
                "topk: the outputs don't fit each other or the input");
    for (int i = 0; i < x->rank; i++)
        ASC_REQUIRE(call, values->dims[i] == (i == axis ? k : x->dims[i]), "topk: the output's dims are wrong");
    int64_t bytes, total;
    ASC_REQUIRE(call,
                asc_mul_ok(k, (int64_t)sizeof(entry), &bytes) && asc_mul_ok(split.n, 12, &total) &&
                    asc_add_ok(bytes, total, &bytes) && asc_add_ok(bytes, 2 * ASC_ALIGN, &bytes) &&
                    asc_mul_ok(bytes, call->threads, &total),
                "topk: the axis is too long");
    topk_job *job = call->note;
    *job = (topk_job){.k = k, .largest = p->largest != 0, .split = split};
    job->scratch_bytes = bytes / ASC_ALIGN * ASC_ALIGN;
    job->items = k ? split.outer * split.inner : 0;
    if (job->items) job->per_chunk = asc_chunk_items(call, job->items, split.n * 4);
    call->workspace_bytes = (uint64_t)total;
    return ASC_OK;
}

int32_t ASC_FN(topk_run)(const asc_call *call) {
    const topk_job *job = call->note;
    if (job->items) asc_parallel(call, asc_ceil_div(job->items, job->per_chunk), topk_chunk, call->note);
    return ASC_OK;
}

void ASC_FN(topk_schedule)(const asc_call *call, char *text, size_t room) {
    const topk_job *job = call->note;
    if (job->items)
        asc_say_chunks(call, job->split.inner > 1 ? "copied_lines" : "lines", asc_ceil_div(job->items, job->per_chunk),
                       text, room);
    else
        asc_format(text, room, ASC_NO_SCHEDULE);
}
