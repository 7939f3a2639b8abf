/* rope: rotary position embedding of float32.
 *   x [B, P, Q, D], cos and sin [Bc, T, R or R/2], positions? [Bp, S] (int32, int64) -> y like x
 * ints: asc_rope_params; R is `rotary`, and `interleaved` is 0, 1 or 2:
 *   Bc, Bp are 1 or B; S = length of the sequence axis. Without positions T = S and step s uses row s;
 *   with them it uses row positions[b, s], which must lie in [0, T) and Bc is 1.
 *   x may have strides, but for its last axis; the other inputs are contiguous.
 * 0, halves: y[j] = x[j] cos[j] - x[j + R/2] sin[j];  y[j + R/2] = x[j + R/2] cos[j'] + x[j] sin[j']
 * 1, interleaved: the same for pairs (2j, 2j + 1)
 * 2, regrouped: pairs (2j, 2j + 1) of x, written as halves; y isn't x (the row rope_regrouped)
 *   j' = j when the tables have R/2 columns; with R columns each element has its own cos and sin.
 * Source: Su et al., RoFormer, 2021. */
#include <string.h>

#include "asc_plan.h"
#include "chunks.h"
#include "indexing.h"
#include "shuffle.h"
#include "simd.h"

/* What prepare finds out; a run takes a copy, and points it at its operands. */
typedef struct rope_job {
    const float *x, *cos, *sin;
    float *y;
    int64_t batch, p, q, d, rotary, columns, table, per_batch; /* per_batch: elements of a batch's table, or 0 */
    int64_t seq_axis, interleaved;
    int64_t heads; /* of one position that are rotated together: 1 or 2 */
    const asc_tensor *positions;
    int64_t position_step;    /* positions of one batch entry, or 0 */
    int64_t items, per_chunk; /* an item: `heads` rows of x */
} rope_job;
ASC_KERNEL_NOTE(rope, rope_job)

/* Whether heads are neighbours in memory: then an item's next is the next head of its position. */
static int is_transposed(const asc_call *call, const rope_job *job) {
    const int64_t *strides = call->in[0].strides;
    return strides[1] < strides[2] && job->p > 1 && job->q > 1;
}

static int32_t describe(const asc_call *call, rope_job *job) {
    const asc_tensor *x = &call->in[0], *cos = &call->in[1], *sin = &call->in[2];
    const asc_tensor *positions = asc_has_input(call, 3) ? &call->in[3] : NULL;
    const asc_rope_params *given = ASC_INTS_AS(asc_rope_params, call);
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_rope_params),
                "rope takes three ints: sequence axis, rotary dim, interleaved");
    ASC_REQUIRE(call, x->rank == 4 && asc_same_dims(x, &call->out[0]), "rope: x and y are not alike, of rank 4");
    ASC_REQUIRE(call, asc_contiguous(x) || x->strides[3] == 1 || x->dims[3] == 1,
                "rope: the last axis of x has a stride");
    for (int i = 1; i < call->n_in; i++)
        ASC_REQUIRE(call, call->in[i].dtype == ASC_UNDEFINED || asc_contiguous(&call->in[i]),
                    "rope: a table or the positions have strides");
    ASC_REQUIRE(call, given->sequence_axis == 1 || given->sequence_axis == 2,
                "rope: the sequence axis is neither 1 nor 2");
    int64_t batch = x->dims[0], length = x->dims[given->sequence_axis], rotary = given->rotary;
    ASC_REQUIRE(call, rotary >= 2 && rotary % 2 == 0 && rotary <= x->dims[3], "rope: the rotary dim doesn't fit");
    ASC_REQUIRE(call, given->interleaved >= 0 && given->interleaved <= ASC_ROPE_REGROUPED,
                "rope: interleaved is not 0, 1 or 2");
    ASC_REQUIRE(call, cos->rank == 3 && asc_same_dims(cos, sin), "rope: cos and sin are not alike, of rank 3");
    ASC_REQUIRE(call, cos->dims[2] == rotary || cos->dims[2] == rotary / 2, "rope: the tables have a wrong width");
    ASC_REQUIRE(call, cos->dims[0] == 1 || cos->dims[0] == batch, "rope: the tables have a wrong batch");
    if (positions) {
        ASC_REQUIRE(call, cos->dims[0] == 1, "rope: positions need one table for all batch entries");
        ASC_REQUIRE(call, positions->rank == 2 && positions->dims[1] == length, "rope: not one position for each step");
        ASC_REQUIRE(call, positions->dims[0] == 1 || positions->dims[0] == batch, "rope: positions have a wrong batch");
    } else {
        ASC_REQUIRE(call, cos->dims[1] == length, "rope: the tables are not as long as the sequence");
    }
    *job = (rope_job){.batch = batch};
    job->p = x->dims[1], job->q = x->dims[2], job->d = x->dims[3];
    job->rotary = rotary, job->columns = cos->dims[2], job->table = cos->dims[1];
    job->per_batch = cos->dims[0] == 1 ? 0 : cos->dims[1] * cos->dims[2];
    job->seq_axis = given->sequence_axis, job->interleaved = given->interleaved;
    job->heads = job->interleaved == ASC_ROPE_HALVES && job->seq_axis == 2 && !is_transposed(call, job) ? 2 : 1;
    job->position_step = positions && positions->dims[0] != 1 ? length : 0;
    job->items = batch * asc_ceil_div(job->p, job->heads) * job->q;
    job->per_chunk = asc_chunk_items(call, job->items, job->heads * asc_least(job->d, 1 << 30) * 16);
    return ASC_OK;
}

int32_t ASC_FN(rope_prepare)(asc_call *call) {
    return describe(call, call->note);
}

/* A product that is rounded before it is added, where GCC would fuse now this one of two and now the other, and code
 * for vectors and for single elements would differ. */
#if defined(__aarch64__)
#define ROUNDED(x)                    \
    __extension__({                   \
        __typeof__(x) product_ = (x); \
        __asm__("" : "+w"(product_)); \
        product_;                     \
    })
#else
#define ROUNDED(x) (x)
#endif

/* The last elements of both halves, from j on. */
static void rotate_halves_end(const float *x, float *y, const float *cos, const float *sin, int64_t half,
                              int64_t second, int64_t j) {
    int64_t n = half - j;
    vf a = vf_load_tail(x + j, n, 0), b = vf_load_tail(x + j + half, n, 0);
    vf c = vf_load_tail(cos + j, n, 0), s = vf_load_tail(sin + j, n, 0);
    vf c2 = vf_load_tail(cos + j + second, n, 0), s2 = vf_load_tail(sin + j + second, n, 0);
    vf_store_tail(y + j, a * c - ROUNDED(b * s), n);
    vf_store_tail(y + j + half, b * c2 + ROUNDED(a * s2), n);
}

static void rotate_halves(const float *x, float *y, const float *cos, const float *sin, int64_t half, int64_t second) {
    int64_t j = 0;
    for (; j + ASC_VF <= half; j += ASC_VF) {
        vf a = vf_load(x + j), b = vf_load(x + j + half);
        vf_store(y + j, a * vf_load(cos + j) - ROUNDED(b * vf_load(sin + j)));
        vf_store(y + j + half, b * vf_load(cos + j + second) + ROUNDED(a * vf_load(sin + j + second)));
    }
    if (j < half) rotate_halves_end(x, y, cos, sin, half, second, j);
}

/* The same for two rows. The tables are half of what is loaded for one: they come from L2, and where they don't begin
 * at a line of the cache, two lines at a time. All loads come before the stores, since rows of two heads lie at the
 * same place of a page. */
static void rotate_halves_twice(const float *x, const float *x2, float *y, float *y2, const float *cos,
                                const float *sin, int64_t half, int64_t second) {
    int64_t whole = half - half % ASC_VF;
    for (int64_t j = 0; j < whole; j += ASC_VF) {
        vf a = vf_load(x + j), b = vf_load(x + j + half), a2 = vf_load(x2 + j), b2 = vf_load(x2 + j + half);
        vf c = vf_load(cos + j), s = vf_load(sin + j), cb = vf_load(cos + j + second), sb = vf_load(sin + j + second);
        vf_store(y + j, a * c - ROUNDED(b * s));
        vf_store(y + j + half, b * cb + ROUNDED(a * sb));
        vf_store(y2 + j, a2 * c - ROUNDED(b2 * s));
        vf_store(y2 + j + half, b2 * cb + ROUNDED(a2 * sb));
    }
    if (whole < half) {
        rotate_halves_end(x, y, cos, sin, half, second, whole);
        rotate_halves_end(x2, y2, cos, sin, half, second, whole);
    }
}

/* Pairs of x times their tables: swapped gives the partner, the sign its half of the rotation. */
static inline vf rotate_pairs_vector(vf x, vf cos, vf sin) {
    vi even = (vi_iota() & 1) == 0;
    vf signed_sin = (vf)((vi)sin ^ (even & INT32_MIN));
    return x * cos + ROUNDED(asc_shuffle(x, vi_iota() ^ 1) * signed_sin);
}

static void rotate_pairs(const float *x, float *y, const float *cos, const float *sin, int64_t half, int own_columns) {
    vi low = vi_iota() >> 1, high = low + ASC_VF / 2;
    int64_t j = 0;
    for (; j + ASC_VF <= half; j += ASC_VF) {
        vf a = vf_load(x + 2 * j), b = vf_load(x + 2 * j + ASC_VF);
        if (own_columns) {
            vf_store(y + 2 * j, rotate_pairs_vector(a, vf_load(cos + 2 * j), vf_load(sin + 2 * j)));
            vf_store(y + 2 * j + ASC_VF,
                     rotate_pairs_vector(b, vf_load(cos + 2 * j + ASC_VF), vf_load(sin + 2 * j + ASC_VF)));
        } else {
            vf c = vf_load(cos + j), s = vf_load(sin + j);
            vf_store(y + 2 * j, rotate_pairs_vector(a, asc_shuffle(c, low), asc_shuffle(s, low)));
            vf_store(y + 2 * j + ASC_VF, rotate_pairs_vector(b, asc_shuffle(c, high), asc_shuffle(s, high)));
        }
    }
    for (; j < half; j++) {
        float a = x[2 * j], b = x[2 * j + 1];
        int64_t first = own_columns ? 2 * j : j, second = own_columns ? 2 * j + 1 : j;
        y[2 * j] = a * cos[first] - ROUNDED(b * sin[first]);
        y[2 * j + 1] = b * cos[second] + ROUNDED(a * sin[second]);
    }
}

/* Pairs of x into halves of y. */
static void regroup_pairs(const float *x, float *y, const float *cos, const float *sin, int64_t half, int64_t second) {
    vi even = vi_iota() * 2, odd = even + 1;
    int64_t j = 0;
    for (; j + ASC_VF <= half; j += ASC_VF) {
        vf low = vf_load(x + 2 * j), high = vf_load(x + 2 * j + ASC_VF);
        vf a = asc_shuffle2(low, high, even), b = asc_shuffle2(low, high, odd);
        vf_store(y + j, a * vf_load(cos + j) - ROUNDED(b * vf_load(sin + j)));
        vf_store(y + j + half, b * vf_load(cos + j + second) + ROUNDED(a * vf_load(sin + j + second)));
    }
    for (; j < half; j++) {
        float a = x[2 * j], b = x[2 * j + 1];
        y[j] = a * cos[j] - ROUNDED(b * sin[j]);
        y[j + half] = b * cos[j + second] + ROUNDED(a * sin[j + second]);
    }
}

static void rope_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const rope_job *job = arg;
    int64_t half = job->rotary / 2, rest = job->d - job->rotary;
    int own_columns = job->columns == job->rotary;
    int64_t end = (chunk + 1) * job->per_chunk < job->items ? (chunk + 1) * job->per_chunk : job->items;
    const int64_t *strides = call->in[0].strides;
    /* As x lies: where heads are neighbours in memory, all of a position, and then the next position. */
    int transposed = is_transposed(call, job); /* as x lies: all heads of a position, and then the next position */
    int64_t groups = asc_ceil_div(job->p, job->heads);
    int64_t inner_count = transposed ? groups : job->q, outer_count = transposed ? job->q : groups;
    int64_t i = chunk * job->per_chunk, inner = i % inner_count, outer = i / inner_count % outer_count;
    int64_t b = i / (groups * job->q), second = own_columns ? half : 0;
    for (; i < end; i++) {
        int64_t p = (transposed ? inner : outer) * job->heads, q = transposed ? outer : inner;
        int64_t step = job->seq_axis == 2 ? q : p;
        if (job->positions) step = asc_index_at(job->positions, b * job->position_step + step);
        const float *cos = job->cos + b * job->per_batch + step * job->columns;
        const float *sin = job->sin + b * job->per_batch + step * job->columns;
        const float *x = job->x + b * strides[0] + p * strides[1] + q * strides[2];
        float *y = job->y + ((b * job->p + p) * job->q + q) * job->d;
        int two = job->heads == 2 && p + 1 < job->p;
        if (two)
            rotate_halves_twice(x, x + strides[1], y, y + job->q * job->d, cos, sin, half, second);
        else if (job->interleaved == ASC_ROPE_REGROUPED)
            regroup_pairs(x, y, cos, sin, half, second);
        else if (job->interleaved)
            rotate_pairs(x, y, cos, sin, half, own_columns);
        else
            rotate_halves(x, y, cos, sin, half, second);
        for (int k = 0; rest && x != y && k <= two; k++)
            memcpy(y + k * job->q * job->d + job->rotary, x + k * strides[1] + job->rotary, (size_t)rest * sizeof *x);
        if (++inner < inner_count) continue;
        inner = 0;
        if (++outer < outer_count) continue;
        outer = 0;
        b++;
    }
}

int32_t ASC_FN(rope_run)(const asc_call *call) {
    rope_job job = *(const rope_job *)call->note;
    job.x = call->in[0].data;
    job.cos = call->in[1].data;
    job.sin = call->in[2].data;
    job.y = call->out[0].data;
    job.positions = asc_has_input(call, 3) ? &call->in[3] : NULL;
    int64_t count = job.positions ? asc_numel(job.positions) : 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t position = asc_index_at(job.positions, i);
        if (position < 0 || position >= job.table)
            return asc_failn(call->status, ASC_E_RUN, "rope: position % is outside the tables' % rows", 2,
                             (int64_t[]){position, job.table});
    }
    asc_parallel(call, asc_ceil_div(job.items, job.per_chunk), rope_chunk, &job);
    return ASC_OK;
}

void ASC_FN(rope_schedule)(const asc_call *call, char *text, size_t room) {
    const rope_job *job = call->note;
    const char *form = job->heads == 2                          ? "pairs_of_heads"
                       : job->interleaved == ASC_ROPE_REGROUPED ? "regrouped"
                       : job->interleaved                       ? "pairs"
                                                                : "halves";
    asc_say_chunks(call, form, job->items ? asc_ceil_div(job->items, job->per_chunk) : 0, text, room);
}
