/* cumsum, cumprod: running sums and products along an axis; float32, float64, int32, int64 (integers wrap).
 *   in, optional axis (int64, one element) -> out
 * ints: asc_cumsum_params. Taken in the order of the axis, one element after the other. */
#include "asc_plan.h"
#include "chunks.h"
#include "indexing.h"

static const asc_cumsum_params *params_of(const asc_call *call) {
    return ASC_INTS_AS(asc_cumsum_params, call);
}

int32_t ASC_FN(cumsum_prepare)(asc_call *call) {
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_cumsum_params),
                "cumsum takes three ints: axis, exclusive, reverse");
    ASC_REQUIRE(call, params_of(call)->axis >= 0 && params_of(call)->axis < call->in[0].rank,
                "cumsum: the axis is outside the rank");
    ASC_REQUIRE(call, !asc_has_input(call, 1) || asc_numel(&call->in[1]) == 1, "cumsum: the axis is not one element");
    ASC_REQUIRE(call, call->in[0].dtype == call->out[0].dtype, "cumsum: types differ");
    ASC_REQUIRE(call, asc_same_dims(&call->in[0], &call->out[0]), "cumsum: shapes differ");
    return ASC_OK;
}

int32_t ASC_FN(cumprod_prepare)(asc_call *call) {
    return ASC_FN(cumsum_prepare)(call);
}

typedef struct cumsum_job {
    int64_t n, inner, lanes, strips, items, per_chunk; /* an item: `lanes` neighbours of the inner axes */
    int product;
} cumsum_job;

#define LANES 64

#define RUNNING(name, type, wide, start, op)                                                              \
    static void name(const type *x, type *y, int64_t n, int64_t step, int64_t lanes, int64_t exclusive) { \
        wide so_far[LANES];                                                                               \
        for (int64_t j = 0; j < LANES; j++) so_far[j] = start;                                            \
        for (int64_t i = 0; i < n; i++, x += step, y += step) {                                           \
            for (int64_t j = 0; j < lanes; j++) {                                                         \
                wide next = so_far[j] op(wide) x[j];                                                      \
                y[j] = (type)(exclusive ? so_far[j] : next);                                              \
                so_far[j] = next;                                                                         \
            }                                                                                             \
        }                                                                                                 \
    }
RUNNING(sums_f32, float, float, 0, +)
RUNNING(sums_f64, double, double, 0, +)
RUNNING(sums_i32, int32_t, uint32_t, 0, +)
RUNNING(sums_i64, int64_t, uint64_t, 0, +)
RUNNING(products_f32, float, float, 1, *)
RUNNING(products_f64, double, double, 1, *)
RUNNING(products_i32, int32_t, uint32_t, 1, *)
RUNNING(products_i64, int64_t, uint64_t, 1, *)

static void cumsum_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const cumsum_job *job = arg;
    int64_t exclusive = params_of(call)->exclusive != 0, reverse = params_of(call)->reverse != 0;
    int64_t end = (chunk + 1) * job->per_chunk < job->items ? (chunk + 1) * job->per_chunk : job->items;
    for (int64_t i = chunk * job->per_chunk; i < end; i++) {
        int64_t lane = i % job->strips * job->lanes, lanes = job->inner - lane;
        if (lanes > job->lanes) lanes = job->lanes;
        int64_t at = i / job->strips * job->n * job->inner + lane, step = job->inner;
        if (reverse) {
            at += (job->n - 1) * step;
            step = -step;
        }
        const void *x = call->in[0].data;
        void *y = call->out[0].data;
        if (call->in[0].dtype == ASC_FLOAT32)
            (job->product ? products_f32 : sums_f32)((const float *)x + at, (float *)y + at, job->n, step, lanes,
                                                     exclusive);
        else if (call->in[0].dtype == ASC_FLOAT64)
            (job->product ? products_f64 : sums_f64)((const double *)x + at, (double *)y + at, job->n, step, lanes,
                                                     exclusive);
        else if (call->in[0].dtype == ASC_INT32)
            (job->product ? products_i32 : sums_i32)((const int32_t *)x + at, (int32_t *)y + at, job->n, step, lanes,
                                                     exclusive);
        else
            (job->product ? products_i64 : sums_i64)((const int64_t *)x + at, (int64_t *)y + at, job->n, step, lanes,
                                                     exclusive);
    }
}

static int32_t run(const asc_call *call, int product) {
    const asc_tensor *in = &call->in[0];
    int64_t axis = params_of(call)->axis;
    if (asc_numel(in) == 0) return ASC_OK;
    if (asc_has_input(call, 1)) {
        int64_t given = axis = asc_index_at(&call->in[1], 0);
        if (!asc_wrap_index(&axis, in->rank)) return asc_fail_index(call, given, in->rank);
    }
    cumsum_job job = {
        .n = in->dims[axis], .inner = asc_count(in, (int)axis + 1, in->rank), .lanes = LANES, .product = product};
    job.strips = asc_ceil_div(job.inner, LANES);
    job.items = asc_count(in, 0, (int)axis) * job.strips;
    job.per_chunk = asc_chunk_items(call, job.items, asc_numel(in) / job.items * 8);
    asc_parallel(call, asc_ceil_div(job.items, job.per_chunk), cumsum_chunk, &job);
    return ASC_OK;
}

int32_t ASC_FN(cumsum_run)(const asc_call *call) {
    return run(call, 0);
}
int32_t ASC_FN(cumprod_run)(const asc_call *call) {
    return run(call, 1);
}
