/* deform_columns: for each place of a deformable convolution, what its taps read where the offsets move them.
 *   x [N, C, H, W], offset [N, G*kh*kw*2, OH, OW], mask [N, G*kh*kw, OH, OW] (absent: 1)
 *   -> columns [N, C*kh*kw, OH*OW]
 * ints: asc_deform_columns_params. Outside the image there is 0. */
#include "asc_plan.h"
#include "chunks.h"
#include "image/bilinear.h"

#define LARGEST (1 << 24) /* of positions, which are float32 */

typedef struct deform_job {
    int64_t channels, height, width, kh, kw, sh, sw, dh, dw, ph, pw, oh, ow, groups;
} deform_job;
ASC_KERNEL_NOTE(deform_columns, deform_job)

static int is_within(int64_t n, int64_t least) {
    return n >= least && n <= LARGEST;
}

static int32_t read_job(const asc_call *call, deform_job *job) {
    const asc_tensor *x = &call->in[0], *offset = &call->in[1], *y = &call->out[0];
    const asc_deform_columns_params *p = ASC_INTS_AS(asc_deform_columns_params, call);
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_deform_columns_params), "deform_columns takes eleven ints");
    ASC_REQUIRE(call, x->rank == 4 && offset->rank == 4 && y->rank == 3, "deform_columns: the ranks don't fit");
    int fits = is_within(p->kernel_height, 1) && is_within(p->kernel_width, 1) && is_within(p->groups, 1);
    fits = fits && is_within(p->stride_height, 1) && is_within(p->stride_width, 1);
    fits = fits && is_within(p->dilation_height, 1) && is_within(p->dilation_width, 1);
    fits = fits && is_within(p->pad_height, 0) && is_within(p->pad_width, 0);
    ASC_REQUIRE(call, fits && is_within(p->height, 0) && is_within(p->width, 0),
                "deform_columns: an argument is out of range");
    *job = (deform_job){.channels = x->dims[1], .height = x->dims[2], .width = x->dims[3], .groups = p->groups};
    job->kh = p->kernel_height, job->kw = p->kernel_width, job->sh = p->stride_height, job->sw = p->stride_width;
    job->dh = p->dilation_height, job->dw = p->dilation_width, job->ph = p->pad_height, job->pw = p->pad_width;
    job->oh = p->height, job->ow = p->width;
    ASC_REQUIRE(call, job->height <= LARGEST && job->width <= LARGEST, "deform_columns: the image is too large");
    int64_t taps = job->kh * job->kw, rows, moved, places = job->oh * job->ow;
    ASC_REQUIRE(call, job->channels % job->groups == 0, "deform_columns: the groups don't divide the channels");
    ASC_REQUIRE(call, asc_mul_ok(job->channels, taps, &rows) && asc_mul_ok(job->groups * 2, taps, &moved),
                "deform_columns: the kernel is too large");
    ASC_REQUIRE(call, y->dims[0] == x->dims[0] && y->dims[1] == rows && y->dims[2] == places,
                "deform_columns: the output's dims are wrong");
    ASC_REQUIRE(call,
                offset->dims[0] == x->dims[0] && offset->dims[1] == moved && offset->dims[2] == job->oh &&
                    offset->dims[3] == job->ow,
                "deform_columns: the offsets' dims are wrong");
    if (asc_has_input(call, 2)) {
        const asc_tensor *mask = &call->in[2];
        ASC_REQUIRE(call,
                    mask->rank == 4 && mask->dims[0] == x->dims[0] && 2 * mask->dims[1] == moved &&
                        mask->dims[2] == job->oh && mask->dims[3] == job->ow,
                    "deform_columns: the mask's dims are wrong");
    }
    return ASC_OK;
}

int32_t ASC_FN(deform_columns_prepare)(asc_call *call) {
    return read_job(call, call->note);
}

/* One tap of one group of channels of one image: a row of columns for each of its channels. */
static void deform_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const deform_job *job = arg;
    int64_t taps = job->kh * job->kw, places = job->oh * job->ow, area = job->height * job->width;
    int64_t tap = chunk % taps, group = chunk / taps % job->groups, n = chunk / taps / job->groups;
    int64_t each = job->channels / job->groups, row = (n * job->groups + group) * taps + tap;
    const float *offset = (const float *)call->in[1].data + 2 * row * places;
    const float *mask = asc_has_input(call, 2) ? (const float *)call->in[2].data : NULL;
    const float *x = (const float *)call->in[0].data + (n * job->channels + group * each) * area;
    float *y = (float *)call->out[0].data + ((n * job->channels + group * each) * taps + tap) * places;
    for (int64_t p = 0; p < places; p++) {
        float from_y = (float)(p / job->ow * job->sh - job->ph + tap / job->kw * job->dh) + offset[p];
        float from_x = (float)(p % job->ow * job->sw - job->pw + tap % job->kw * job->dw) + offset[places + p];
        int inside = from_y > -1 && from_y < (float)job->height && from_x > -1 && from_x < (float)job->width;
        bilinear b = inside ? bilinear_around(from_y, from_x, job->height, job->width) : (bilinear){0};
        float scale = mask ? mask[row * places + p] : 1;
        for (int64_t c = 0; c < each; c++)
            y[c * taps * places + p] = inside ? scale * bilinear_read(&b, x + c * area) : 0;
    }
}

int32_t ASC_FN(deform_columns_run)(const asc_call *call) {
    const deform_job *job = call->note;
    if (asc_numel(&call->out[0]) == 0) return ASC_OK;
    asc_parallel(call, call->in[0].dims[0] * job->groups * job->kh * job->kw, deform_chunk, call->note);
    return ASC_OK;
}
