/* softmax, log_softmax, logsumexp over a run of neighbouring axes of a float32 tensor.
 * ints: asc_softmax_params
 *   softmax      exp(x - max) / sum(exp(x - max))
 *   log_softmax  (x - max) - log(sum(exp(x - max)))
 *   logsumexp    max + log(sum(exp(x - max))), the axes kept with length 1 or dropped
 * A slice that holds NaN, +Inf, or nothing but -Inf becomes NaN, as in numpy;
 * its logsumexp is NaN, +Inf or -Inf. */
#include <math.h>

#include "asc_plan.h"
#include "axis_split.h"
#include "chunks.h"
#include "exp_below.h"
#include "reduction/row_sums.h"

typedef struct softmax_job {
    asc_axis_split split;
    int64_t items, per_chunk; /* an item: a row, or ASC_VF neighbouring columns */
    enum { SOFTMAX, LOG_SOFTMAX, LOGSUMEXP } mode;
} softmax_job;
ASC_KERNEL_NOTE(softmax, softmax_job)
ASC_KERNEL_NOTE(log_softmax, softmax_job)
ASC_KERNEL_NOTE(logsumexp, softmax_job)

/* No items where there is nothing to write. */
static void note(asc_call *call, const asc_axis_split *split, int mode) {
    softmax_job *job = call->note;
    *job = (softmax_job){.split = *split, .mode = mode};
    if (asc_numel(&call->out[0]) == 0) return;
    job->items = split->outer * asc_ceil_div(split->inner, ASC_VF);
    job->per_chunk = asc_chunk_items(call, job->items, asc_numel(&call->in[0]) / job->items * 16);
}

static int split_of(const asc_call *call, asc_axis_split *split) {
    const asc_softmax_params *p = ASC_INTS_AS(asc_softmax_params, call);
    return asc_split_axes(&call->in[0], p->axis, p->axes, split);
}

static int32_t check(asc_call *call, int mode) {
    asc_axis_split split;
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_softmax_params),
                "softmax takes two ints: first axis and number of axes");
    ASC_REQUIRE(call, split_of(call, &split), "softmax: the axes are outside the rank");
    ASC_REQUIRE(call, asc_same_dims(&call->in[0], &call->out[0]), "softmax: shapes differ");
    note(call, &split, mode);
    return ASC_OK;
}

int32_t ASC_FN(softmax_prepare)(asc_call *call) {
    return check(call, SOFTMAX);
}

int32_t ASC_FN(log_softmax_prepare)(asc_call *call) {
    return check(call, LOG_SOFTMAX);
}

static float row_max(const float *x, int64_t n) {
    vf low = vf_set(-INFINITY), m0 = low, m1 = low, m2 = low, m3 = low;
    int64_t i = 0;
    for (; i + 4 * ASC_VF <= n; i += 4 * ASC_VF) {
        m0 = vf_max(vf_load(x + i), m0);
        m1 = vf_max(vf_load(x + i + ASC_VF), m1);
        m2 = vf_max(vf_load(x + i + 2 * ASC_VF), m2);
        m3 = vf_max(vf_load(x + i + 3 * ASC_VF), m3);
    }
    for (; i + ASC_VF <= n; i += ASC_VF) m0 = vf_max(vf_load(x + i), m0);
    if (i < n) m1 = vf_max(vf_load_tail(x + i, n - i, -INFINITY), m1);
    return vf_maximum(vf_max(vf_max(m0, m1), vf_max(m2, m3)));
}

/* exp(x - max) where max is the largest or another; `below` is constant */
static inline vf term(vf x, vf max, int below) {
    return below ? vf_exp_below(x - max) : vf_exp(x - max);
}

/* Sum of exp(x - max); the terms go to y unless it is NULL. Loads stand before stores, so that the compiler
 * may take the steps of the four chains side by side. Behind it, `next` is fetched: the row that comes next. */
static inline float row_exp(const float *x, float *y, int64_t n, vf max, int below, const float *next) {
    vf s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    int64_t i = 0;
    for (; i + 4 * ASC_VF <= n; i += 4 * ASC_VF) {
        vf e0 = term(vf_load(x + i), max, below), e1 = term(vf_load(x + i + ASC_VF), max, below);
        vf e2 = term(vf_load(x + i + 2 * ASC_VF), max, below);
        vf e3 = term(vf_load(x + i + 3 * ASC_VF), max, below);
        for (int line = 0; line < 4 * ASC_VF; line += 16) __builtin_prefetch(next + i + line);
        if (y) {
            vf_store(y + i, e0);
            vf_store(y + i + ASC_VF, e1);
            vf_store(y + i + 2 * ASC_VF, e2);
            vf_store(y + i + 3 * ASC_VF, e3);
        }
        s0 += e0, s1 += e1, s2 += e2, s3 += e3;
    }
    for (; i < n; i += ASC_VF) {
        int64_t lanes = n - i;
        vf e = term(lanes < ASC_VF ? vf_load_tail(x + i, lanes, -INFINITY) : vf_load(x + i), max, below);
        if (y && lanes < ASC_VF) vf_store_tail(y + i, e, lanes);
        if (y && lanes >= ASC_VF) vf_store(y + i, e);
        s0 += e;
    }
    return vf_sum((s0 + s1) + (s2 + s3));
}

/* y = v scale, or (v - max) - scale when log. */
static inline vf finish(vf v, vf max, vf scale, int log) {
    return log ? (v - max) - scale : v * scale;
}

static inline void finish_row(const float *from, float *y, int64_t n, vf max, vf scale, int log) {
    int64_t i = 0;
    for (; i + 4 * ASC_VF <= n; i += 4 * ASC_VF) {
        vf a = vf_load(from + i), b = vf_load(from + i + ASC_VF);
        vf c = vf_load(from + i + 2 * ASC_VF), d = vf_load(from + i + 3 * ASC_VF);
        vf_store(y + i, finish(a, max, scale, log));
        vf_store(y + i + ASC_VF, finish(b, max, scale, log));
        vf_store(y + i + 2 * ASC_VF, finish(c, max, scale, log));
        vf_store(y + i + 3 * ASC_VF, finish(d, max, scale, log));
    }
    for (; i + ASC_VF <= n; i += ASC_VF) vf_store(y + i, finish(vf_load(from + i), max, scale, log));
    if (i < n) vf_store_tail(y + i, finish(vf_load_tail(from + i, n - i, 0.0f), max, scale, log), n - i);
}

#define BLOCK_ROWS 16 /* at most, of rows that each step is done for before the next step */

static inline int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Neighbouring rows, as many at a time as a first-level cache holds. The maxima of the next block are found before
 * this block is finished, so that no step waits for the fold before it. y may be x: what is written has been read. */
static inline __attribute__((always_inline)) void softmax_rows(const float *x, float *y, int64_t rows, int64_t n,
                                                               int log) {
    float max[2][BLOCK_ROWS], sum[BLOCK_ROWS];
    int64_t block = smaller(n < 2048 ? 4096 / (n + 1) : 1, BLOCK_ROWS), side = 0;
    for (int64_t i = 0; i < smaller(block, rows); i++) max[0][i] = row_max(x + i * n, n);
    for (int64_t r = 0; r < rows; r += block, side ^= 1, x += block * n, y += block * n) {
        int64_t count = smaller(block, rows - r), next = smaller(block, rows - r - block);
        for (int64_t i = 0; i < count; i++) {
            const float *row = x + i * n;
            const float *fetched = i < next ? row + block * n : row;
            sum[i] = row_exp(row, log ? NULL : y + i * n, n, vf_set(max[side][i]), 1, fetched);
        }
        for (int64_t i = 0; i < next; i++) max[side ^ 1][i] = row_max(x + (block + i) * n, n);
        for (int64_t i = 0; i < count; i++) {
            vf scale = log ? vf_log(vf_set(sum[i])) : vf_set(1.0f / sum[i]);
            finish_row((log ? x : y) + i * n, y + i * n, n, vf_set(max[side][i]), scale, log);
        }
    }
}

#define LEAST_SHORT 4 /* rows from which it pays to give each a lane */

/* Rows of up to ASC_VF elements, each in a lane of its own; with the bits of softmax_rows, so sums are folded as vf_sum
 * folds them. y may be x. */
static void softmax_short_rows(const float *x, float *y, int64_t rows, int64_t n, int log) {
    _Alignas(64) float lanes[ASC_VF][ASC_VF] = {{0}}; /* of element j of row i: [j][i] */
    vf e[ASC_VF], sum[ASC_VF];
    for (int64_t r = 0; r < rows; r += ASC_VF, x += ASC_VF * n, y += ASC_VF * n) {
        int64_t count = smaller(ASC_VF, rows - r);
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < n; j++) lanes[j][i] = x[i * n + j];
        vf max = vf_set(-INFINITY);
        for (int64_t j = 0; j < n; j++) max = vf_max(vf_load(lanes[j]), max);
        for (int64_t j = 0; j < n; j++) sum[j] = e[j] = term(vf_load(lanes[j]), max, 1);
        for (int64_t half = ASC_VF / 2; half; half /= 2)
            for (int64_t j = 0; j < half && j + half < n; j++) sum[j] += sum[j + half];
        vf scale = log ? vf_log(sum[0]) : vf_set(1.0f) / sum[0];
        for (int64_t j = 0; j < n; j++) vf_store(lanes[j], finish(log ? vf_load(lanes[j]) : e[j], max, scale, log));
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < n; j++) y[i * n + j] = lanes[j][i];
    }
}

static inline vf column_load(const float *p, int64_t lanes) {
    return lanes < ASC_VF ? vf_load_tail(p, lanes, 0.0f) : vf_load(p);
}
static inline void column_store(float *p, vf v, int64_t lanes) {
    if (lanes < ASC_VF)
        vf_store_tail(p, v, lanes);
    else
        vf_store(p, v);
}

/* The sum of exp(x - shift) down neighbouring columns, in blocks of parts. The terms go to y unless it is NULL. */
static inline __attribute__((always_inline)) vf columns_exp(const float *x, float *y, int64_t n, int64_t step,
                                                            int64_t lanes, vf shift, int below) {
    vf sum = {0}, block = {0}, part = {0};
    for (int64_t i = 0; i < n; i++) {
        vf e = term(column_load(x + i * step, lanes), shift, below);
        if (y) column_store(y + i * step, e, lanes);
        part += e;
        if ((i + 1) % ASC_SUM_PART == 0) block += part, part = (vf){0};
        if ((i + 1) % ASC_SUM_BLOCK == 0) sum += block, block = (vf){0};
    }
    return sum + (block + part);
}

/* Up to ASC_VF neighbouring columns, `step` elements between their rows. */
static void softmax_columns(const float *x, float *y, int64_t n, int64_t step, int64_t lanes, int log) {
    vf max = vf_set(-INFINITY);
    for (int64_t i = 0; i < n; i++) max = vf_max(column_load(x + i * step, lanes), max);
    vf sum = columns_exp(x, log ? NULL : y, n, step, lanes, max, 1);
    vf scale = vf_set(1.0f) / sum, shift = vf_log(sum);
    for (int64_t i = 0; i < n; i++) {
        vf v = column_load((log ? x : y) + i * step, lanes);
        column_store(y + i * step, log ? (v - max) - shift : v * scale, lanes);
    }
}

/* ---- logsumexp ------------------------------------------------------------------------------- */

int32_t ASC_FN(logsumexp_prepare)(asc_call *call) {
    asc_axis_split split;
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_softmax_params),
                "logsumexp takes two ints: first axis and number of axes");
    ASC_REQUIRE(call, split_of(call, &split), "logsumexp: the axes are outside the rank");
    ASC_REQUIRE(call, asc_numel(&call->out[0]) == split.outer * split.inner, "logsumexp: the output's shape is wrong");
    note(call, &split, LOGSUMEXP);
    return ASC_OK;
}

/* What to subtract: the maximum, unless subtracting it would make NaN of an infinity. */
static inline vf finite_shift(vf max) {
    return vf_select(vf_abs(max) == INFINITY, (vf){0}, max);
}

static float logsumexp_row(const float *x, int64_t n) {
    vf shift = finite_shift(vf_set(row_max(x, n)));
    return (shift + vf_log(vf_set(row_exp(x, NULL, n, shift, 0, x))))[0];
}

static void logsumexp_columns(const float *x, float *y, int64_t n, int64_t step, int64_t lanes) {
    vf max = vf_set(-INFINITY);
    for (int64_t i = 0; i < n; i++) max = vf_max(column_load(x + i * step, lanes), max);
    vf shift = finite_shift(max);
    column_store(y, shift + vf_log(columns_exp(x, NULL, n, step, lanes, shift, 0)), lanes);
}

/* ---- items ----------------------------------------------------------------------------------- */

/* Whether so many rows of a chunk lie in lanes. */
static int takes_lanes(const softmax_job *job, int64_t rows) {
    return job->split.inner == 1 && job->mode != LOGSUMEXP && job->split.n <= ASC_VF && rows >= LEAST_SHORT;
}

static void softmax_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const softmax_job *job = arg;
    const float *x = call->in[0].data;
    float *y = call->out[0].data;
    int64_t n = job->split.n, inner = job->split.inner, strips = asc_ceil_div(inner, ASC_VF);
    int64_t end = (chunk + 1) * job->per_chunk < job->items ? (chunk + 1) * job->per_chunk : job->items;
    int64_t first = chunk * job->per_chunk;
    if (takes_lanes(job, end - first))
        softmax_short_rows(x + first * n, y + first * n, end - first, n, job->mode == LOG_SOFTMAX);
    else if (inner == 1 && job->mode == SOFTMAX)
        softmax_rows(x + first * n, y + first * n, end - first, n, 0);
    else if (inner == 1 && job->mode == LOG_SOFTMAX)
        softmax_rows(x + first * n, y + first * n, end - first, n, 1);
    for (int64_t i = first; i < end && (inner > 1 || job->mode == LOGSUMEXP); i++) {
        int64_t column = i % strips * ASC_VF, at = i / strips * n * inner + column;
        int64_t lanes = inner - column < ASC_VF ? inner - column : ASC_VF;
        if (job->mode == LOGSUMEXP && inner == 1)
            y[i] = logsumexp_row(x + i * n, n);
        else if (job->mode == LOGSUMEXP)
            logsumexp_columns(x + at, y + i / strips * inner + column, n, inner, lanes);
        else
            softmax_columns(x + at, y + at, n, inner, lanes, job->mode == LOG_SOFTMAX);
    }
}

static int32_t run(const asc_call *call) {
    const softmax_job *job = call->note;
    if (job->items) asc_parallel(call, asc_ceil_div(job->items, job->per_chunk), softmax_chunk, call->note);
    return ASC_OK;
}

int32_t ASC_FN(softmax_run)(const asc_call *call) {
    return run(call);
}
int32_t ASC_FN(log_softmax_run)(const asc_call *call) {
    return run(call);
}
int32_t ASC_FN(logsumexp_run)(const asc_call *call) {
    return run(call);
}

static void schedule(const asc_call *call, char *text, size_t room) {
    const softmax_job *job = call->note;
    if (!job->items) {
        asc_format(text, room, ASC_NO_SCHEDULE);
        return;
    }
    const char *form = takes_lanes(job, asc_least(job->items, job->per_chunk)) ? "row_a_lane"
                       : job->split.inner == 1                                 ? "rows"
                                                                               : "columns";
    asc_say_chunks(call, form, asc_ceil_div(job->items, job->per_chunk), text, room);
}

void ASC_FN(softmax_schedule)(const asc_call *call, char *text, size_t room) {
    schedule(call, text, room);
}
void ASC_FN(log_softmax_schedule)(const asc_call *call, char *text, size_t room) {
    schedule(call, text, room);
}
void ASC_FN(logsumexp_schedule)(const asc_call *call, char *text, size_t room) {
    schedule(call, text, room);
}
