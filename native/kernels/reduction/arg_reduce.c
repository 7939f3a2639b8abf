/* argmax, argmin: the index of the largest or smallest element along an axis.
 *   x (float32, float64, int32, int64) -> int64, the axis kept with length 1 or dropped
 * ints: asc_arg_reduce_params. NaN wins, as in numpy. */
#include <math.h>

#include "asc_plan.h"
#include "axis_split.h"
#include "chunks.h"
#include "simd.h"

typedef struct arg_job {
    asc_axis_split split;
    int64_t last, strips, items, per_chunk; /* an item: up to LANES neighbouring lines */
    int smallest;
} arg_job;
ASC_KERNEL_NOTE(argmax, arg_job)
ASC_KERNEL_NOTE(argmin, arg_job)

#define LANES 16

static int32_t prepare(asc_call *call, int smallest) {
    asc_axis_split split;
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_arg_reduce_params),
                "argmax takes two ints: axis and select last");
    ASC_REQUIRE(call, asc_split_axes(&call->in[0], ASC_INTS_AS(asc_arg_reduce_params, call)->axis, 1, &split),
                "argmax: the axis is outside the rank");
    ASC_REQUIRE(call, split.n > 0 || split.outer * split.inner == 0, "argmax: the axis is empty");
    ASC_REQUIRE(call, asc_numel(&call->out[0]) == split.outer * split.inner, "argmax: the output's shape is wrong");
    arg_job *job = call->note;
    *job = (arg_job){.split = split, .last = ASC_INTS_AS(asc_arg_reduce_params, call)->last != 0, .smallest = smallest};
    if (asc_numel(&call->in[0]) == 0) return ASC_OK; /* no items */
    job->strips = asc_ceil_div(split.inner, LANES);
    job->items = split.outer * job->strips;
    job->per_chunk = asc_chunk_items(call, job->items, asc_numel(&call->in[0]) / job->items * 8);
    return ASC_OK;
}

int32_t ASC_FN(argmax_prepare)(asc_call *call) {
    return prepare(call, 0);
}
int32_t ASC_FN(argmin_prepare)(asc_call *call) {
    return prepare(call, 1);
}

/* Whether v takes the place of best. */
#define TAKES(v, best) (smallest ? (v < best || (last && v == best)) : (v > best || (last && v == best)))
#define TAKES_FLOAT(v, best) (best != best ? last && v != v : v != v || TAKES(v, best))

#define ARG_LINES(name, type, takes)                                                                                   \
    static void name(const type *x, int64_t n, int64_t step, int64_t lanes, int64_t last, int smallest, int64_t *at) { \
        type best[LANES];                                                                                              \
        for (int64_t j = 0; j < lanes; j++) best[j] = x[j], at[j] = 0;                                                 \
        for (int64_t i = 1; i < n; i++)                                                                                \
            for (int64_t j = 0; j < lanes; j++) {                                                                      \
                type v = x[i * step + j];                                                                              \
                int take = takes(v, best[j]);                                                                          \
                best[j] = take ? v : best[j];                                                                          \
                at[j] = take ? i : at[j];                                                                              \
            }                                                                                                          \
    }
ARG_LINES(lines_f32, float, TAKES_FLOAT)
ARG_LINES(lines_f64, double, TAKES_FLOAT)
ARG_LINES(lines_i32, int32_t, TAKES)
ARG_LINES(lines_i64, int64_t, TAKES)

/* A contiguous row without NaN: its extreme first, then where that is. Returns -1 when there is NaN. */
static int64_t row_f32(const float *x, int64_t n, int64_t last, int smallest) {
    vi flip = smallest ? vi_set(INT32_MIN) : (vi){0}, nan = {0};
    vf best = vf_set(-INFINITY);
    int64_t i = 0;
    for (; i + ASC_VF <= n; i += ASC_VF) {
        vf v = (vf)((vi)vf_load(x + i) ^ flip);
        nan |= v != v;
        best = vf_max(v, best);
    }
    float extreme = vf_maximum(best), seen = vf_sum((vf)(nan & 0x3f800000));
    for (; i < n; i++) {
        float v = smallest ? -x[i] : x[i];
        seen += v != v;
        if (v > extreme) extreme = v;
    }
    if (seen != 0) return -1;
    if (smallest) extreme = -extreme;
    if (last)
        for (i = n - 1; x[i] != extreme;) i--;
    else
        for (i = 0; x[i] != extreme;) i++;
    return i;
}

/* The same of a row of few elements, such as classes, whose order no branch predictor knows. */
static int64_t short_row_f32(const float *x, int64_t n, int64_t last, int smallest) {
    float best = smallest ? -x[0] : x[0];
    int64_t at = 0, nan = x[0] != x[0];
    for (int64_t i = 1; i < n; i++) {
        float v = smallest ? -x[i] : x[i];
        int64_t takes = (v > best) | (last & (v == best));
        nan |= v != v;
        at ^= (at ^ i) & -takes;
        best = v > best ? v : best;
    }
    return nan ? -1 : at;
}

static int is_short(const arg_job *job) {
    return job->split.inner == 1 && job->split.n < ASC_VF;
}

static void arg_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const arg_job *job = arg;
    int64_t n = job->split.n, inner = job->split.inner;
    int64_t end = (chunk + 1) * job->per_chunk < job->items ? (chunk + 1) * job->per_chunk : job->items;
    for (int64_t i = chunk * job->per_chunk; i < end; i++) {
        int64_t column = i % job->strips * LANES, outer = i / job->strips, from = outer * n * inner + column;
        int64_t lanes = inner - column < LANES ? inner - column : LANES;
        int64_t *at = (int64_t *)call->out[0].data + outer * inner + column;
        const void *x = call->in[0].data;
        if (call->in[0].dtype == ASC_FLOAT32) {
            int64_t found = -1;
            if (is_short(job))
                found = short_row_f32((const float *)x + from, n, job->last, job->smallest);
            else if (inner == 1)
                found = row_f32((const float *)x + from, n, job->last, job->smallest);
            if (found >= 0)
                *at = found;
            else
                lines_f32((const float *)x + from, n, inner, lanes, job->last, job->smallest, at);
        } else if (call->in[0].dtype == ASC_FLOAT64) {
            lines_f64((const double *)x + from, n, inner, lanes, job->last, job->smallest, at);
        } else if (call->in[0].dtype == ASC_INT32) {
            lines_i32((const int32_t *)x + from, n, inner, lanes, job->last, job->smallest, at);
        } else {
            lines_i64((const int64_t *)x + from, n, inner, lanes, job->last, job->smallest, at);
        }
    }
}

static int32_t run(const asc_call *call) {
    const arg_job *job = call->note;
    if (job->items) asc_parallel(call, asc_ceil_div(job->items, job->per_chunk), arg_chunk, call->note);
    return ASC_OK;
}

int32_t ASC_FN(argmax_run)(const asc_call *call) {
    return run(call);
}
int32_t ASC_FN(argmin_run)(const asc_call *call) {
    return run(call);
}

static void schedule(const asc_call *call, char *text, size_t room) {
    const arg_job *job = call->note;
    int floats = call->in[0].dtype == ASC_FLOAT32;
    if (!job->items)
        asc_format(text, room, ASC_NO_SCHEDULE);
    else
        asc_say_chunks(call,
                       floats && is_short(job)           ? "short_rows"
                       : floats && job->split.inner == 1 ? "rows"
                                                         : "lines",
                       asc_ceil_div(job->items, job->per_chunk), text, room);
}

void ASC_FN(argmax_schedule)(const asc_call *call, char *text, size_t room) {
    schedule(call, text, room);
}
void ASC_FN(argmin_schedule)(const asc_call *call, char *text, size_t room) {
    schedule(call, text, room);
}
