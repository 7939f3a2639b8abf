/* roi_align: regions of images cut into cells, each the mean or maximum of samples between the elements.
 *   x [N, C, H, W], rois [R, 4] (x1, y1, x2, y2), images [R] int64 -> y [R, C, cells high, cells wide]
 * ints: asc_roi_align_params  floats: asc_roi_align_floats
 * Formula: the ONNX page of RoiAlign. An image number outside [0, N), or a region that asks for more than
 * MOST_SAMPLES along a cell, fails with ASC_E_RUN. */
#include "asc_plan.h"
#include "bilinear.h"
#include "chunks.h"
#include "indexing.h"
#include "simd_gather.h"

#define MOST_SAMPLES 4096
#define TAPS 64           /* a multiple of ASC_VF */
#define LARGEST (1 << 24) /* of an image's sides, which are float32 positions */

typedef struct roi_job {
    int64_t channels, height, width, high, wide, samples;
    int maximum, half_pixel;
    float scale;
} roi_job;
ASC_KERNEL_NOTE(roi_align, roi_job)

typedef struct region {
    float top, left, cell_high, cell_wide;
    int64_t samples_high, samples_wide;
} region;

static int32_t read_job(const asc_call *call, roi_job *job) {
    const asc_tensor *x = &call->in[0], *rois = &call->in[1], *images = &call->in[2], *y = &call->out[0];
    const asc_roi_align_params *p = ASC_INTS_AS(asc_roi_align_params, call);
    double scale = ASC_FLOATS_AS(asc_roi_align_floats, call)->scale;
    ASC_REQUIRE(
        call, call->n_ints == ASC_MEMBERS(asc_roi_align_params) && call->n_floats == ASC_MEMBERS(asc_roi_align_floats),
        "roi_align takes three ints and a float");
    ASC_REQUIRE(call, x->rank == 4 && y->rank == 4, "roi_align: the ranks don't fit");
    ASC_REQUIRE(call, rois->rank == 2 && rois->dims[1] == 4, "roi_align: regions are four numbers each");
    ASC_REQUIRE(call, images->rank == 1 && images->dims[0] == rois->dims[0] && y->dims[0] == rois->dims[0],
                "roi_align: not one image and one output for each region");
    ASC_REQUIRE(call, y->dims[1] == x->dims[1], "roi_align: the channels differ");
    ASC_REQUIRE(call, x->dims[2] <= LARGEST && x->dims[3] <= LARGEST, "roi_align: the images are too large");
    ASC_REQUIRE(call, x->dims[2] * x->dims[3] > 0 || asc_numel(y) == 0, "roi_align: the images are empty");
    ASC_REQUIRE(call, x->dims[2] * x->dims[3] <= INT32_MAX, "roi_align: the images are too large");
    ASC_REQUIRE(call, p->samples >= 0 && p->samples <= MOST_SAMPLES, "roi_align: the samples are out of range");
    ASC_REQUIRE(call, isfinite(scale), "roi_align: the scale is not finite");
    *job = (roi_job){.channels = x->dims[1],
                     .height = x->dims[2],
                     .width = x->dims[3],
                     .high = y->dims[2],
                     .wide = y->dims[3],
                     .samples = p->samples,
                     .maximum = p->mode != ASC_ROI_AVG,
                     .half_pixel = p->half_pixel != 0,
                     .scale = (float)scale};
    return ASC_OK;
}

int32_t ASC_FN(roi_align_prepare)(asc_call *call) {
    return read_job(call, call->note);
}

static region region_of(const roi_job *job, const float *roi) {
    float shift = job->half_pixel ? 0.5f : 0, least = job->half_pixel ? 0 : 1;
    float left = roi[0] * job->scale - shift, top = roi[1] * job->scale - shift;
    float wide = roi[2] * job->scale - shift - left, high = roi[3] * job->scale - shift - top;
    if (!job->half_pixel) {
        wide = wide > least ? wide : least;
        high = high > least ? high : least;
    }
    region r = {.top = top, .left = left, .cell_high = high / (float)job->high, .cell_wide = wide / (float)job->wide};
    float many_high = ceilf(r.cell_high), many_wide = ceilf(r.cell_wide);
    r.samples_high = job->samples ? job->samples : many_high <= MOST_SAMPLES ? (int64_t)fmaxf(many_high, 0) : -1;
    r.samples_wide = job->samples ? job->samples : many_wide <= MOST_SAMPLES ? (int64_t)fmaxf(many_wide, 0) : -1;
    return r;
}

/* A coordinate brought onto the axis; less than 0 when it lies a whole element or more outside. */
static float onto(float at, int64_t n) {
    if (!(at >= -1 && at <= (float)n)) return -1;
    float last = (float)(n - 1);
    return at < 0 ? 0 : at < last ? at : last;
}

/* The neighbours of some samples of a cell, four each; those that don't count weigh 0 and are element 0. */
typedef struct sample_taps {
    int count;
    int32_t at[TAPS];
    float weight[TAPS];
} sample_taps;

static void add_sample(const roi_job *job, float y_at, float x_at, sample_taps *taps) {
    y_at = onto(y_at, job->height);
    x_at = onto(x_at, job->width);
    bilinear around = {0};
    if (y_at >= 0 && x_at >= 0) around = bilinear_around(y_at, x_at, job->height, job->width);
    for (int k = 0; k < 4; k++) {
        taps->at[taps->count] = (int32_t)around.at[k];
        taps->weight[taps->count++] = around.weight[k];
    }
}

/* Adds the taps to what a cell has of one channel. Of a maximum ONNX takes not the samples but the largest of
 * their weighted neighbours. */
static float fold_taps(const sample_taps *taps, const float *x, int maximum, float so_far) {
    vf sum = vf_set(maximum ? -INFINITY : 0);
    for (int k = 0; k < taps->count; k += ASC_VF) {
        vf w = vf_load(taps->weight + k), product = vf_select(w != 0, w * vf_gather(x, taps->at + k), (vf){0});
        if (maximum)
            sum = k + ASC_VF <= taps->count ? vf_greater(product, sum)
                                            : vf_select(vi_iota() < taps->count - k, vf_greater(product, sum), sum);
        else
            sum += product;
    }
    if (!maximum) return so_far + vf_sum(sum);
    for (int i = 0; i < ASC_VF; i++) so_far = sum[i] <= so_far ? so_far : sum[i];
    return so_far;
}

/* One cell of all channels: cells of a region are neighbours, channels high * wide apart. */
static void fill_cell(const roi_job *job, const region *r, const float *x, int64_t i, int64_t j, float *y) {
    int64_t area = job->height * job->width, step = job->high * job->wide, count = r->samples_high * r->samples_wide;
    sample_taps taps = {0};
    for (int64_t c = 0; c < job->channels; c++) y[c * step] = job->maximum && count ? -INFINITY : 0;
    for (int64_t s = 0; s < count; s++) {
        float down = ((float)(s / r->samples_wide) + 0.5f) * r->cell_high / (float)r->samples_high;
        float right = ((float)(s % r->samples_wide) + 0.5f) * r->cell_wide / (float)r->samples_wide;
        add_sample(job, r->top + (float)i * r->cell_high + down, r->left + (float)j * r->cell_wide + right, &taps);
        if (taps.count < TAPS && s + 1 < count) continue;
        for (int64_t c = 0; c < job->channels; c++)
            y[c * step] = fold_taps(&taps, x + c * area, job->maximum, y[c * step]);
        taps = (sample_taps){0};
    }
    for (int64_t c = 0; c < job->channels && !job->maximum && count; c++) y[c * step] /= (float)count;
}

static void roi_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const roi_job *job = arg;
    int64_t n = chunk / job->high, i = chunk % job->high, image = asc_index_at(&call->in[2], n);
    region r = region_of(job, (const float *)call->in[1].data + 4 * n);
    const float *x = (const float *)call->in[0].data + image * job->channels * job->height * job->width;
    float *y = (float *)call->out[0].data + n * job->channels * job->high * job->wide + i * job->wide;
    for (int64_t j = 0; j < job->wide; j++) fill_cell(job, &r, x, i, j, y + j);
}

int32_t ASC_FN(roi_align_run)(const asc_call *call) {
    const roi_job *job = call->note;
    if (asc_numel(&call->out[0]) == 0) return ASC_OK;
    for (int64_t n = 0; n < call->in[1].dims[0]; n++) {
        int64_t image = asc_index_at(&call->in[2], n);
        if (image < 0 || image >= call->in[0].dims[0]) return asc_fail_index(call, image, call->in[0].dims[0]);
        region r = region_of(job, (const float *)call->in[1].data + 4 * n);
        if (r.samples_high < 0 || r.samples_wide < 0)
            return asc_failn(call->status, ASC_E_RUN, "region % asks for more than % samples along a cell", 2,
                             (int64_t[]){n, MOST_SAMPLES});
    }
    asc_parallel(call, call->in[1].dims[0] * job->high, roi_chunk, call->note);
    return ASC_OK;
}
