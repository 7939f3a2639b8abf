/* col2im: columns of blocks added up where the blocks lie in an image.
 *   x [N, C * product of blocks, L], block [axes] int64 (absent: that of the ints) -> y [N, C, image..]
 * ints: an asc_col2im_axis for each of the image's axes; L counts the places of a block. */
#include <string.h>

#include "asc_plan.h"
#include "chunks.h"

#define AXES (ASC_MAX_RANK - 2)
#define LARGEST INT32_MAX

typedef struct col2im_job {
    int axes;
    int64_t image[AXES], block[AXES], dilation[AXES], stride[AXES], before[AXES], places[AXES];
    int64_t taps, count, area; /* elements of a block; places of a block; elements of an image */
} col2im_job;

static int is_within(int64_t n, int64_t least) {
    return n >= least && n <= LARGEST;
}

/* `block` NULL: that of the ints. Whether x holds what the block asks for is checked by fits(). */
static int32_t read_job(const asc_call *call, const int64_t *block, col2im_job *job) {
    const asc_tensor *x = &call->in[0], *y = &call->out[0];
    *job = (col2im_job){.axes = y->rank - 2, .taps = 1, .count = 1, .area = asc_count(y, 2, y->rank)};
    ASC_REQUIRE(call, x->rank == 3 && y->rank >= 3, "col2im: the ranks don't fit");
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_col2im_axis) * job->axes,
                "col2im takes five ints for each axis of the image");
    for (int i = 0; i < job->axes; i++) {
        asc_col2im_axis v = ASC_INTS_AS(asc_col2im_axis, call)[i];
        if (block) v.block = block[i];
        int fits = is_within(v.block, 1) && is_within(v.dilation, 1) && is_within(v.stride, 1);
        ASC_REQUIRE(call, fits && is_within(v.before, 0) && is_within(v.after, 0),
                    "col2im: an argument is out of range");
        job->image[i] = y->dims[2 + i];
        job->block[i] = v.block, job->dilation[i] = v.dilation, job->stride[i] = v.stride, job->before[i] = v.before;
        ASC_REQUIRE(call, job->image[i] <= LARGEST, "col2im: the image is too large");
        int64_t room = job->image[i] + v.before + v.after - (v.dilation * (v.block - 1) + 1);
        job->places[i] = room < 0 ? 0 : room / v.stride + 1;
        ASC_REQUIRE(call, asc_mul_ok(job->taps, job->block[i], &job->taps), "col2im: the block is too large");
        ASC_REQUIRE(call, asc_mul_ok(job->count, job->places[i], &job->count), "col2im: too many places");
    }
    return ASC_OK;
}

static int32_t fits(const asc_call *call, const col2im_job *job) {
    const asc_tensor *x = &call->in[0], *y = &call->out[0];
    int64_t rows;
    if (!asc_mul_ok(y->dims[1], job->taps, &rows) || x->dims[1] != rows || x->dims[0] != y->dims[0])
        return asc_fail(call->status, asc_has_input(call, 1) ? ASC_E_DECLARED : ASC_E_SHAPE,
                        "col2im: batch or channels don't fit");
    ASC_REQUIRE(call, x->dims[2] == job->count, "col2im: not as many columns as places");
    return ASC_OK;
}

static int has_block(const asc_call *call) {
    return asc_has_input(call, 1);
}

int32_t ASC_FN(col2im_prepare)(asc_call *call) {
    col2im_job job;
    int32_t code = read_job(call, NULL, &job);
    if (code != ASC_OK || !has_block(call)) return code != ASC_OK ? code : fits(call, &job);
    ASC_REQUIRE(call, asc_numel(&call->in[1]) == job.axes, "col2im: not one block length for each axis");
    return ASC_OK;
}

/* One tap of all blocks into the image; the last axis is a loop, the others an odometer. */
static void add_tap(const col2im_job *job, const float *x, const int64_t *tap, float *y) {
    int last = job->axes - 1;
    int64_t place[AXES] = {0}, lines = job->places[last] ? job->count / job->places[last] : 0;
    for (int64_t line = 0; line < lines; line++, x += job->places[last]) {
        int64_t offset = 0, inside = 1;
        for (int i = 0; i < last; i++) {
            int64_t at = place[i] * job->stride[i] + tap[i] * job->dilation[i] - job->before[i];
            inside &= at >= 0 && at < job->image[i];
            offset = (offset + (inside ? at : 0)) * job->image[i + 1];
        }
        for (int64_t p = 0; inside && p < job->places[last]; p++) {
            int64_t at = p * job->stride[last] + tap[last] * job->dilation[last] - job->before[last];
            if (at >= 0 && at < job->image[last]) y[offset + at] += x[p];
        }
        for (int i = last - 1; i >= 0 && ++place[i] == job->places[i]; i--) place[i] = 0;
    }
}

static void col2im_chunk(const asc_call *call, int64_t plane, int32_t worker, void *arg) {
    (void)worker;
    const col2im_job *job = arg;
    float *y = (float *)call->out[0].data + plane * job->area;
    const float *x = (const float *)call->in[0].data + plane * job->taps * job->count;
    memset(y, 0, (size_t)job->area * sizeof *y);
    int64_t tap[AXES] = {0};
    for (int64_t k = 0; k < job->taps && job->count; k++, x += job->count) {
        add_tap(job, x, tap, y);
        for (int i = job->axes - 1; i >= 0 && ++tap[i] == job->block[i]; i--) tap[i] = 0;
    }
}

int32_t ASC_FN(col2im_run)(const asc_call *call) {
    col2im_job job;
    int32_t code = read_job(call, has_block(call) ? call->in[1].data : NULL, &job);
    if (code == ASC_OK) code = fits(call, &job);
    if (code != ASC_OK || asc_numel(&call->out[0]) == 0) return code;
    asc_parallel(call, call->out[0].dims[0] * call->out[0].dims[1], col2im_chunk, &job);
    return ASC_OK;
}
