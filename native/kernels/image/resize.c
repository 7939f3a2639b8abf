/* resize: one axis of a float32 tensor resampled; resize_nearest: of elements of any type, picked.
 *   x [outer.., n, inner..], scales, regions (both may be absent) -> y [outer.., m, inner..]
 * ints:   asc_resize_params;  floats: asc_resize_floats
 * Numbers and operands as in resize_taps.h. A resize of several axes is one call for each. */
#include <string.h>

#include "axis_split.h"
#include "chunks.h"
#include "resize_taps.h"
#include "shuffle.h"
#include "simd_gather.h"

typedef struct resize_job {
    resize_axis axis;
    asc_axis_split split;
    const int32_t *at; /* element k*m + i: tap k of output i */
    const float *weights;
    int twice;                      /* rows of four-byte elements, each of them repeated once */
    int64_t size, items, per_chunk; /* an item: a row of m when inner is 1, else one slab of inner */
} resize_job;

/* For profiles alone: runs find it themselves, since scales may be an operand. */
ASC_KERNEL_NOTE(resize, asc_axis_split)
ASC_KERNEL_NOTE(resize_nearest, asc_axis_split)

static int64_t axis_of(const asc_call *call) {
    return ASC_INTS_AS(asc_resize_params, call)->axis;
}

static int32_t prepare(asc_call *call, int nearest) {
    const asc_tensor *x = &call->in[0], *y = &call->out[0];
    resize_axis axis;
    int32_t code = ASC_FN(resize_read)(call, &axis, 0);
    if (code != ASC_OK) return code;
    ASC_REQUIRE(call, x->dtype == y->dtype && x->rank == y->rank, "resize: type or rank differ");
    for (int i = 0; i < x->rank; i++)
        ASC_REQUIRE(call, i == axis_of(call) || x->dims[i] == y->dims[i], "resize: another axis changes too");
    ASC_REQUIRE(call, nearest == (axis.mode == ASC_RESIZE_NEAREST), "resize: the mode is another kernel's");
    ASC_REQUIRE(call, !nearest || axis.coordinate != ASC_COORDINATE_TF_CROP_AND_RESIZE || x->dtype == ASC_FLOAT32,
                "resize: only float32 is extrapolated");
    ASC_REQUIRE(call, (0x116 >> asc_dtype_bytes(x->dtype)) & 1, "resize: elements have 1, 2, 4 or 8 bytes");
    int64_t entries;
    ASC_REQUIRE(call, asc_mul_ok(axis.m, axis.taps, &entries) && entries <= INT64_MAX / 16, "resize: too many taps");
    call->workspace_bytes = (uint64_t)entries * (nearest ? 4 : 8);
    asc_split_axes(x, axis_of(call), 1, call->note);
    return ASC_OK;
}

int32_t ASC_FN(resize_prepare)(asc_call *call) {
    return prepare(call, 0);
}
int32_t ASC_FN(resize_nearest_prepare)(asc_call *call) {
    return prepare(call, 1);
}

/* y = sum of weights[k] * x[at[k]] over slabs of `inner`; taps are m apart. */
static void blend_slab(const resize_job *job, const float *x, int64_t i, float *y) {
    int64_t inner = job->split.inner, m = job->axis.m, j = 0;
    if (job->at[i] < 0) {
        for (; j < inner; j++) y[j] = job->axis.extrapolation;
        return;
    }
    for (; j + ASC_VF <= inner; j += ASC_VF) {
        vf sum = vf_load(x + job->at[i] * inner + j) * job->weights[i];
        for (int64_t k = i + m; k < job->axis.taps * m; k += m)
            sum = vf_fma(vf_load(x + job->at[k] * inner + j), vf_set(job->weights[k]), sum);
        vf_store(y + j, sum);
    }
    for (; j < inner; j++) {
        float sum = x[job->at[i] * inner + j] * job->weights[i];
        for (int64_t k = i + m; k < job->axis.taps * m; k += m) sum += x[job->at[k] * inner + j] * job->weights[k];
        y[j] = sum;
    }
}

/* A whole row along the axis, whose elements are neighbours. */
static void blend_row(const resize_job *job, const float *x, float *y) {
    int64_t m = job->axis.m, i = 0;
    int outside = job->axis.coordinate == ASC_COORDINATE_TF_CROP_AND_RESIZE; /* some at[] may be -1 */
    for (; !outside && i + ASC_VF <= m; i += ASC_VF) {
        vf sum = vf_gather(x, job->at + i) * vf_load(job->weights + i);
        for (int64_t k = i + m; k < job->axis.taps * m; k += m)
            sum = vf_fma(vf_gather(x, job->at + k), vf_load(job->weights + k), sum);
        vf_store(y + i, sum);
    }
    for (; i < m; i++) blend_slab(job, x, i, y + i);
}

static void blend_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const resize_job *job = arg;
    int64_t inner = job->split.inner, m = job->axis.m, slab = job->axis.n * inner;
    const float *x = call->in[0].data;
    float *y = call->out[0].data;
    int64_t end = (chunk + 1) * job->per_chunk < job->items ? (chunk + 1) * job->per_chunk : job->items;
    for (int64_t i = chunk * job->per_chunk; i < end; i++) {
        if (inner == 1)
            blend_row(job, x + i * slab, y + i * m);
        else
            blend_slab(job, x + i / m * slab, i % m, y + i * inner);
    }
}

#define PICK_ROW(name, type)                                                       \
    static void name(const void *x, const int32_t *at, int64_t m, void *y) {       \
        for (int64_t i = 0; i < m; i++) ((type *)y)[i] = ((const type *)x)[at[i]]; \
    }
PICK_ROW(pick_1, uint8_t)
PICK_ROW(pick_2, uint16_t)
PICK_ROW(pick_8, uint64_t)

static void pick_4(const float *x, const int32_t *at, int64_t m, float *y) {
    int64_t i = 0;
    for (; i + ASC_VF <= m; i += ASC_VF) vf_store(y + i, vf_gather(x, at + i));
    for (; i < m; i++) memcpy(y + i, x + at[i], 4);
}

/* Every element twice. */
static void pick_twice(const float *x, int64_t n, float *y) {
    int64_t i = 0;
    vi low = vi_iota() / 2, high = low + ASC_VF / 2;
    for (; i + ASC_VF <= n; i += ASC_VF) {
        vf v = vf_load(x + i);
        vf_store(y + 2 * i, asc_shuffle(v, low));
        vf_store(y + 2 * i + ASC_VF, asc_shuffle(v, high));
    }
    for (; i < n; i++) memcpy(y + 2 * i, x + i, 4), memcpy(y + 2 * i + 1, x + i, 4);
}

/* Whether output i is element i / 2 everywhere. */
static int doubles(const resize_axis *axis, const int32_t *at) {
    if (axis->m != 2 * axis->n) return 0;
    int64_t same = 0;
    for (int64_t i = 0; i < axis->m; i++) same += at[i] == i / 2;
    return same == axis->m;
}

static void pick_row(const resize_job *job, const char *x, char *y) {
    if (job->size == 1)
        pick_1(x, job->at, job->axis.m, y);
    else if (job->size == 2)
        pick_2(x, job->at, job->axis.m, y);
    else if (job->twice)
        pick_twice((const float *)x, job->axis.n, (float *)y);
    else if (job->size == 4)
        pick_4((const float *)x, job->at, job->axis.m, (float *)y);
    else
        pick_8(x, job->at, job->axis.m, y);
}

static void pick_slab(const resize_job *job, const char *x, int64_t i, char *y) {
    int64_t bytes = job->split.inner * job->size;
    if (job->at[i] >= 0)
        memcpy(y, x + job->at[i] * bytes, (size_t)bytes);
    else
        for (int64_t j = 0; j < job->split.inner; j++) ((float *)y)[j] = job->axis.extrapolation;
}

static void pick_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const resize_job *job = arg;
    int64_t bytes = job->split.inner * job->size, m = job->axis.m, slab = job->axis.n * bytes;
    const char *x = call->in[0].data;
    char *y = call->out[0].data;
    int whole = job->split.inner == 1 && job->axis.coordinate != ASC_COORDINATE_TF_CROP_AND_RESIZE;
    int64_t end = (chunk + 1) * job->per_chunk < job->items ? (chunk + 1) * job->per_chunk : job->items;
    for (int64_t i = chunk * job->per_chunk; i < end; i++) {
        if (whole) {
            pick_row(job, x + i * slab, y + i * m * bytes);
            continue;
        }
        int64_t rows = job->split.inner == 1 ? m : 1, from = i * rows;
        for (int64_t j = from; j < from + rows; j++) pick_slab(job, x + j / m * slab, j % m, y + j * bytes);
    }
}

static int32_t run(const asc_call *call, asc_chunk_fn fn) {
    resize_job job = {.at = call->workspace, .size = (int64_t)asc_dtype_bytes(call->in[0].dtype)};
    int32_t code = ASC_FN(resize_read)(call, &job.axis, 1);
    if (code != ASC_OK || asc_numel(&call->out[0]) == 0) return code;
    asc_split_axes(&call->in[0], axis_of(call), 1, &job.split);
    int64_t entries = job.axis.m * job.axis.taps;
    if ((uint64_t)entries * (job.axis.mode == ASC_RESIZE_NEAREST ? 4 : 8) > call->workspace_bytes)
        return asc_fail(call->status, ASC_E_DECLARED, "resize: a scale needs more taps than the lengths do");
    int64_t whole_rows = job.split.inner == 1;
    float *weights = job.axis.mode == ASC_RESIZE_NEAREST ? NULL : (float *)call->workspace + entries;
    job.weights = weights;
    ASC_FN(resize_taps)(&job.axis, call->workspace, weights);
    job.twice = !weights && job.size == 4 && doubles(&job.axis, job.at);
    job.items = whole_rows ? job.split.outer : job.split.outer * job.axis.m;
    job.per_chunk =
        asc_chunk_items(call, job.items, job.axis.taps * 4 * (whole_rows ? 2 * job.axis.m : job.split.inner));
    asc_parallel(call, asc_ceil_div(job.items, job.per_chunk), fn, &job);
    return ASC_OK;
}

int32_t ASC_FN(resize_run)(const asc_call *call) {
    return run(call, blend_chunk);
}
int32_t ASC_FN(resize_nearest_run)(const asc_call *call) {
    return run(call, pick_chunk);
}

static void schedule(const asc_call *call, char *text, size_t room) {
    const asc_axis_split *split = call->note;
    const int64_t *dims = call->out[0].dims;
    int64_t m = dims[axis_of(call)];
    if (asc_numel(&call->out[0]) == 0)
        asc_format(text, room, ASC_NO_SCHEDULE);
    else
        asc_format(text, room, "%s items=%ld elements=%ld", split->inner == 1 ? "rows" : "slabs",
                   split->inner == 1 ? split->outer : split->outer * m, split->inner == 1 ? m : split->inner);
}

void ASC_FN(resize_schedule)(const asc_call *call, char *text, size_t room) {
    schedule(call, text, room);
}
void ASC_FN(resize_nearest_schedule)(const asc_call *call, char *text, size_t room) {
    schedule(call, text, room);
}
