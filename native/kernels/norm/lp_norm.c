/* lp_norm: x divided by the p-norm along an axis of float32; zero where the norm is zero.
 * ints: asc_lp_norm_params */
#include <math.h>

#include "asc_plan.h"
#include "axis_split.h"
#include "chunks.h"
#include "simd.h"

typedef struct lp_job {
    asc_axis_split split;
    int64_t order, items, per_chunk;
} lp_job;
ASC_KERNEL_NOTE(lp_norm, lp_job)

int32_t ASC_FN(lp_norm_prepare)(asc_call *call) {
    lp_job *job = call->note;
    const asc_lp_norm_params *p = ASC_INTS_AS(asc_lp_norm_params, call);
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_lp_norm_params), "lp_norm takes two ints: axis and p");
    ASC_REQUIRE(call, asc_split_axes(&call->in[0], p->axis, 1, &job->split), "lp_norm: the axis is outside the rank");
    ASC_REQUIRE(call, p->order == 1 || p->order == 2, "lp_norm: p is neither 1 nor 2");
    ASC_REQUIRE(call, asc_same_dims(&call->in[0], &call->out[0]), "lp_norm: shapes differ");
    job->order = p->order;
    job->items = asc_numel(&call->in[0]) ? job->split.outer * job->split.inner : 0;
    job->per_chunk = asc_chunk_items(call, job->items, asc_least(job->split.n, 1 << 30) * 16);
    return ASC_OK;
}

/* One line of n elements, `step` apart: the sum in float64, so that its order hardly matters. */
static void normalise_line(const float *x, float *y, int64_t n, int64_t step, int64_t order) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = x[i * step];
        sum += order == 1 ? fabs(v) : v * v;
    }
    double norm = order == 1 ? sum : sqrt(sum);
    for (int64_t i = 0; i < n; i++) y[i * step] = norm == 0 ? 0.0f : (float)(x[i * step] / norm);
}

static void lp_norm_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const lp_job *job = arg;
    int64_t end = (chunk + 1) * job->per_chunk < job->items ? (chunk + 1) * job->per_chunk : job->items;
    for (int64_t i = chunk * job->per_chunk; i < end; i++) {
        int64_t at = i / job->split.inner * job->split.n * job->split.inner + i % job->split.inner;
        normalise_line((const float *)call->in[0].data + at, (float *)call->out[0].data + at, job->split.n,
                       job->split.inner, job->order);
    }
}

int32_t ASC_FN(lp_norm_run)(const asc_call *call) {
    const lp_job *job = call->note;
    asc_parallel(call, asc_ceil_div(job->items, job->per_chunk), lp_norm_chunk, call->note);
    return ASC_OK;
}
