/* reduce: folds any set of axes of a float32, float64, int32 or int64 tensor.
 *   in, optional axes (int64) -> out
 * ints: asc_reduce_params; the output keeps the axes with length 1, or drops them. With the operand axes:
 *   asc_reduce_given_params; none given then means all, or with noop none, and a shape other than the
 *   output's is an error of the run.
 *   l2 and log of sum are for floats only; integers wrap, and their mean is cut off at the point.
 * Nothing to fold gives 0 (prod: 1, max: the lowest value, min: the highest); the mean is NaN, and
 * refused for integers. NaN wins max and min.
 *
 * Neighbouring axes that share a fate are one axis. The last reduced axis is folded in blocks, and the
 * blocks in order, so the bits of an output depend on its own elements alone. The rounding error of a sum grows with
 * 2 ASC_SUM_PART and the number of blocks, not with the number of elements. */
#include <limits.h>
#include <math.h>

#include "asc_plan.h"
#include "chunks.h"
#include "indexing.h"
#include "row_sums.h"
#include "shuffle.h"
#include "simd.h"

#define REDUCE_BLOCK 1024 /* elements of one block */
#define STRIP 8           /* vectors of neighbouring outputs that are folded together */
#define SHORT_ROW 32      /* elements of rows that are folded a lane each */

/* Axes of one fate, without the innermost of either: lengths and strides, outermost first. */
typedef struct axis_list {
    int count;
    int64_t dims[ASC_MAX_RANK], strides[ASC_MAX_RANK];
} axis_list;

typedef struct reduce_job {
    int64_t op, count;        /* elements folded into one output */
    int64_t n;                /* length of the last reduced axis */
    int64_t columns;          /* elements of the kept axis inside it; 1 when it is innermost */
    int64_t outer_reduced;    /* of the axes in `reduced` */
    int64_t outputs;          /* of the axes in `kept` */
    int64_t items, per_chunk; /* an item: some columns of an output */
    axis_list kept, reduced;
} reduce_job;
ASC_KERNEL_NOTE(reduce, reduce_job)

/* Whether each row has a lane of its own. */
static int takes_lanes(const reduce_job *job) {
    return job->columns == 1 && job->outer_reduced == 1 && job->n <= SHORT_ROW;
}

static int64_t list_offset(const axis_list *list, int64_t index) {
    int64_t offset = 0;
    for (int i = list->count - 1; i >= 0; i--) {
        offset += index % list->dims[i] * list->strides[i];
        index /= list->dims[i];
    }
    return offset;
}
static int64_t kept_offset(const reduce_job *job, int64_t index) {
    return list_offset(&job->kept, index);
}
static int64_t reduced_offset(const reduce_job *job, int64_t index) {
    return list_offset(&job->reduced, index);
}

/* ---- types ----------------------------------------------------------------------------------- */

static float finish_f32(float total, const reduce_job *job) {
    if (job->op == ASC_REDUCE_MEAN) return total / (float)job->count;
    if (job->op == ASC_REDUCE_L2) return sqrtf(total);
    if (job->op == ASC_REDUCE_LOGSUM) return logf(total);
    return total;
}
static double finish_f64(double total, const reduce_job *job) {
    if (job->op == ASC_REDUCE_MEAN) return total / (double)job->count;
    if (job->op == ASC_REDUCE_L2) return sqrt(total);
    if (job->op == ASC_REDUCE_LOGSUM) return log(total);
    return total;
}
static int32_t finish_i32(int32_t total, const reduce_job *job) {
    return job->op == ASC_REDUCE_MEAN ? (int32_t)(total / job->count) : total;
}
static int64_t finish_i64(int64_t total, const reduce_job *job) {
    return job->op == ASC_REDUCE_MEAN ? total / job->count : total;
}

/* Integers wrap: their sums and products are those of unsigned lanes. */
typedef uint32_t vu32 __attribute__((vector_size(sizeof(vi))));
typedef uint64_t vu64 __attribute__((vector_size(sizeof(vl))));

static inline vd fold_max_f64(vd a, vd v) {
    return vd_select((v > a) | (v != v), v, a);
}
static inline vd fold_min_f64(vd a, vd v) {
    return vd_select((v < a) | (v != v), v, a);
}

#define T float
#define V vf
#define LANES ASC_VF
#define LANE_NUMBERS vi_iota()
#define NAME(x) x##_f32
#define LOWEST -INFINITY
#define HIGHEST INFINITY
#define ABS(v) vf_abs(v)
#define ADD(a, v) (a + v)
#define MUL(a, v) (a * v)
#define FOLD_MAX(a, v) vf_greater(v, a)
#define FOLD_MIN(a, v) vf_less(v, a)
#include "reduce_type.h"

#define T double
#define V vd
#define LANES ASC_VD
#define LANE_NUMBERS vl_iota()
#define NAME(x) x##_f64
#define LOWEST -INFINITY
#define HIGHEST INFINITY
#define ABS(v) vd_abs(v)
#define ADD(a, v) (a + v)
#define MUL(a, v) (a * v)
#define FOLD_MAX(a, v) fold_max_f64(a, v)
#define FOLD_MIN(a, v) fold_min_f64(a, v)
#include "reduce_type.h"

#define T int32_t
#define V vi
#define LANES ASC_VF
#define LANE_NUMBERS vi_iota()
#define NAME(x) x##_i32
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#define ABS(v) ((vi)((vu32)(v ^ (v >> 31)) - (vu32)(v >> 31)))
#define ADD(a, v) ((vi)((vu32)a + (vu32)v))
#define MUL(a, v) ((vi)((vu32)a * (vu32)v))
#define FOLD_MAX(a, v) ((v & (v > a)) | (a & ~(v > a)))
#define FOLD_MIN(a, v) ((v & (v < a)) | (a & ~(v < a)))
#include "reduce_type.h"

#define T int64_t
#define V vl
#define LANES ASC_VD
#define LANE_NUMBERS vl_iota()
#define NAME(x) x##_i64
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#define ABS(v) ((vl)((vu64)(v ^ (v >> 63)) - (vu64)(v >> 63)))
#define ADD(a, v) ((vl)((vu64)a + (vu64)v))
#define MUL(a, v) ((vl)((vu64)a * (vu64)v))
#define FOLD_MAX(a, v) ((v & (v > a)) | (a & ~(v > a)))
#define FOLD_MIN(a, v) ((v & (v < a)) | (a & ~(v < a)))
#include "reduce_type.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

static const asc_reduce_params *params_of(const asc_call *call) {
    return ASC_INTS_AS(asc_reduce_params, call);
}

static int32_t read_axes(const asc_call *call, int *reduced) {
    const asc_tensor *x = &call->in[0];
    if (asc_has_input(call, 1)) {
        int32_t code = asc_read_axes(call, &call->in[1], x->rank, reduced, ASC_OK);
        int all = asc_numel(&call->in[1]) == 0 && !ASC_INTS_AS(asc_reduce_given_params, call)->noop;
        for (int i = 0; i < x->rank; i++) reduced[i] = all || reduced[i] >= 0;
        return code;
    }
    for (int i = 0; i < x->rank; i++) reduced[i] = 0;
    int64_t previous = -1;
    const int64_t *axes = params_of(call)->axes;
    for (int i = 0; i < call->n_ints - ASC_MEMBERS(asc_reduce_params); i++) {
        ASC_REQUIRE(call, axes[i] > previous && axes[i] < x->rank,
                    "reduce: the axes are not ascending axes of the input");
        previous = axes[i];
        reduced[previous] = 1;
    }
    return ASC_OK;
}

static int32_t check_output(const asc_call *call, const int *reduced) {
    const asc_tensor *x = &call->in[0], *y = &call->out[0];
    int count = 0, at = 0;
    for (int i = 0; i < x->rank; i++) count += reduced[i];
    int dropped = y->rank == x->rank - count;
    int32_t wrong = asc_has_input(call, 1) ? ASC_E_DECLARED : ASC_E_SHAPE;
    if (!dropped && y->rank != x->rank) return asc_fail(call->status, wrong, "reduce: the output's rank is wrong");
    for (int i = 0; i < x->rank; i++) {
        if (reduced[i] && dropped) continue;
        if (y->dims[at++] != (reduced[i] ? 1 : x->dims[i]))
            return asc_fail(call->status, wrong, "reduce: the output's dims are wrong");
    }
    return ASC_OK;
}

static int floats(const asc_call *call) {
    return call->in[0].dtype == ASC_FLOAT32 || call->in[0].dtype == ASC_FLOAT64;
}

/* The axes as read, against the shapes and what the op can do. */
static int32_t check_axes(const asc_call *call, const int *reduced) {
    int32_t code = check_output(call, reduced);
    if (code != ASC_OK || floats(call)) return code;
    for (int i = 0; i < call->in[0].rank; i++)
        ASC_REQUIRE(call, params_of(call)->op != ASC_REDUCE_MEAN || !reduced[i] || call->in[0].dims[i] > 0,
                    "reduce: the mean of no integers");
    return ASC_OK;
}

/* Merges neighbours of one fate; returns how many axes are left. */
static int merge_axes(const asc_tensor *x, const int *reduced, int64_t *dims, int *fate) {
    int n = 0;
    for (int i = 0; i < x->rank; i++) {
        if (x->dims[i] == 1) continue;
        if (n && fate[n - 1] == reduced[i]) {
            dims[n - 1] *= x->dims[i];
        } else {
            dims[n] = x->dims[i];
            fate[n++] = reduced[i];
        }
    }
    return n;
}

static void describe(const asc_call *call, const int *reduced, reduce_job *job) {
    int64_t dims[ASC_MAX_RANK], stride = 1;
    int fate[ASC_MAX_RANK], n = merge_axes(&call->in[0], reduced, dims, fate), last = n - 1;
    job->n = job->columns = job->outer_reduced = job->outputs = job->count = 1;
    if (last >= 0 && !fate[last]) {
        job->columns = dims[last--];
        stride = job->columns;
    }
    if (last >= 0) {
        job->n = job->count = dims[last];
        stride *= dims[last--];
    }
    for (; last >= 0; last--) {
        axis_list *list = fate[last] ? &job->reduced : &job->kept;
        list->dims[list->count] = dims[last];
        list->strides[list->count++] = stride;
        *(fate[last] ? &job->outer_reduced : &job->outputs) *= dims[last];
        stride *= dims[last];
    }
    job->count *= job->outer_reduced;
}

/* describe() meets the innermost axis first; offsets want it last. */
static void reverse(axis_list *list) {
    for (int i = 0, j = list->count - 1; i < j; i++, j--) {
        int64_t dim = list->dims[i], stride = list->strides[i];
        list->dims[i] = list->dims[j], list->strides[i] = list->strides[j];
        list->dims[j] = dim, list->strides[j] = stride;
    }
}

/* What is to be done; no items where there is nothing to write. */
static void find_job(const asc_call *call, const int *reduced, reduce_job *job) {
    *job = (reduce_job){.op = params_of(call)->op};
    if (asc_numel(&call->out[0]) == 0) return;
    describe(call, reduced, job);
    reverse(&job->kept);
    reverse(&job->reduced);
    int32_t dtype = call->in[0].dtype;
    int64_t lanes = dtype == ASC_INT64 || dtype == ASC_FLOAT64 ? ASC_VD : ASC_VF;
    job->items = job->outputs * asc_ceil_div(job->columns, STRIP * lanes);
    job->per_chunk =
        asc_chunk_items(call, job->items, asc_least(job->count, 1 << 30) * 4 * asc_least(job->columns, STRIP * lanes));
}

int32_t ASC_FN(reduce_prepare)(asc_call *call) {
    int reduced[ASC_MAX_RANK];
    ASC_REQUIRE(call, call->n_ints >= ASC_MEMBERS(asc_reduce_params), "reduce takes its op and axes");
    int64_t op = params_of(call)->op;
    ASC_REQUIRE(call, op >= 0 && op < ASC_REDUCE_COUNT, "reduce: no such op");
    ASC_REQUIRE(call, floats(call) || (op != ASC_REDUCE_L2 && op != ASC_REDUCE_LOGSUM), "reduce: this op takes floats");
    if (asc_has_input(call, 1)) {
        ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_reduce_given_params),
                    "reduce: with axes as an operand it takes its op and noop");
        return ASC_OK;
    }
    int32_t code = read_axes(call, reduced);
    if (code == ASC_OK) code = check_axes(call, reduced);
    if (code == ASC_OK) find_job(call, reduced, call->note);
    return code;
}

int32_t ASC_FN(reduce_run)(const asc_call *call) {
    reduce_job job = *(const reduce_job *)call->note;
    if (asc_has_input(call, 1)) { /* which says what the axes are */
        int reduced[ASC_MAX_RANK];
        int32_t code = read_axes(call, reduced);
        if (code == ASC_OK) code = check_axes(call, reduced);
        if (code != ASC_OK) return code;
        find_job(call, reduced, &job);
    }
    if (job.items == 0) return ASC_OK;
    int32_t dtype = call->in[0].dtype;
    asc_chunk_fn fn = dtype == ASC_FLOAT32   ? reduce_chunk_f32
                      : dtype == ASC_FLOAT64 ? reduce_chunk_f64
                      : dtype == ASC_INT32   ? reduce_chunk_i32
                                             : reduce_chunk_i64;
    asc_parallel(call, asc_ceil_div(job.items, job.per_chunk), fn, &job);
    return ASC_OK;
}

void ASC_FN(reduce_schedule)(const asc_call *call, char *text, size_t room) {
    const reduce_job *job = call->note;
    if (asc_has_input(call, 1))
        asc_format(text, room, "by_axes_of_the_run");
    else if (job->items == 0)
        asc_format(text, room, ASC_NO_SCHEDULE);
    else
        asc_say_chunks(call,
                       takes_lanes(job)    ? "row_a_lane"
                       : job->columns == 1 ? "rows"
                                           : "columns",
                       asc_ceil_div(job->items, job->per_chunk), text, room);
}
