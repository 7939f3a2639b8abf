/* grid_sample: images read at the places that a grid names. Formulas: the ONNX page of GridSample.
 *   x [N, C, spatial..], grid [N, out.., r] (the last axis first, in [-1, 1]) -> y [N, C, out..]; r = 2 or 3
 * ints: asc_grid_sample_params
 * Taps outside a zero border read nothing. A coordinate that isn't finite gives NaN where it would weigh taps without
 * being brought inside before, as in PyTorch: by cubics, and linearly between the zeros around images; elsewhere NaN
 * reads where the least would. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "asc_plan.h"
#include "chunks.h"
#include "simd.h"

#define BLOCK 64 /* places whose taps are found before the channels are walked; a multiple of ASC_VF */
#define MOST_TAPS 64
#define MOST_WIDE 4
#define CUBIC_A -0.75f

typedef struct grid_job {
    int64_t mode, padding, align;
    int spatial, wide; /* axes; taps along each */
    int64_t dims[3], area, places, channels, blocks;
    int taps;
} grid_job;
ASC_KERNEL_NOTE(grid_sample, grid_job)

/* The taps of a block: tap k of place i reads at[k][i], -1 for nothing, and weighs weight[k][i]. */
typedef struct block_taps {
    int32_t at[MOST_TAPS][BLOCK];
    float weight[MOST_TAPS][BLOCK];
} block_taps;

static int32_t read_job(const asc_call *call, grid_job *job) {
    const asc_tensor *x = &call->in[0], *grid = &call->in[1], *y = &call->out[0];
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_grid_sample_params),
                "grid_sample takes three ints: mode, padding, align_corners");
    ASC_REQUIRE(call, x->rank == 4 || x->rank == 5, "grid_sample: images have two or three axes");
    ASC_REQUIRE(call, grid->rank == x->rank && y->rank == x->rank, "grid_sample: the ranks differ");
    const asc_grid_sample_params *p = ASC_INTS_AS(asc_grid_sample_params, call);
    *job = (grid_job){.mode = p->mode, .padding = p->padding, .align = p->align_corners != 0};
    ASC_REQUIRE(call, job->mode >= 0 && job->mode <= ASC_GRID_CUBIC, "grid_sample: the mode is unknown");
    ASC_REQUIRE(call, job->padding >= 0 && job->padding <= ASC_GRID_PADDING_REFLECTION,
                "grid_sample: the padding is unknown");
    job->spatial = x->rank - 2;
    job->wide = job->mode == ASC_GRID_LINEAR ? 2 : job->mode == ASC_GRID_NEAREST ? 1 : MOST_WIDE;
    job->taps = 1;
    for (int i = 0; i < job->spatial; i++) {
        job->dims[i] = x->dims[2 + i];
        job->taps *= job->wide;
        ASC_REQUIRE(call, y->dims[2 + i] == grid->dims[1 + i], "grid_sample: the output's dims are not the grid's");
        ASC_REQUIRE(call, job->dims[i] > 0 || asc_numel(y) == 0, "grid_sample: an image is empty");
    }
    ASC_REQUIRE(call, grid->dims[x->rank - 1] == job->spatial, "grid_sample: the grid has not a number for each axis");
    ASC_REQUIRE(call, x->dims[0] == grid->dims[0] && x->dims[0] == y->dims[0] && x->dims[1] == y->dims[1],
                "grid_sample: batch or channels differ");
    job->area = asc_count(x, 2, x->rank);
    job->places = asc_count(y, 2, y->rank);
    job->channels = x->dims[1];
    job->blocks = asc_ceil_div(job->places, BLOCK);
    ASC_REQUIRE(call, job->area <= INT32_MAX, "grid_sample: an image is too large");
    return ASC_OK;
}

int32_t ASC_FN(grid_sample_prepare)(asc_call *call) {
    return read_job(call, call->note);
}

/* Mirrors at both ends of [low, high] until it lies inside. */
static float reflected(float at, float low, float high) {
    float range = high - low;
    if (!(range > 0) || !isfinite(at)) return low;
    float over = fmodf(fabsf(at - low), 2 * range);
    return low + (over > range ? 2 * range - over : over);
}

/* The coordinate in elements, brought inside as the padding says. */
static float coordinate(const grid_job *job, float g, int64_t n) {
    float length = (float)n, at = job->align ? (g + 1) / 2 * (length - 1) : ((g + 1) * length - 1) / 2;
    float last = length - 1, margin = MOST_WIDE; /* farther out the taps read the same */
    if (job->mode == ASC_GRID_NEAREST) at = rintf(at);
    if (job->padding == ASC_GRID_PADDING_REFLECTION) {
        float low = job->align ? 0 : -0.5f, high = job->align ? last : last + 0.5f;
        if (!(at >= low && at <= high)) at = reflected(at, low, high);
        margin = 1; /* half an element past the ends */
    }
    return at > -margin ? at < last + margin ? at : last + margin : -margin;
}

static int32_t mirrored(int64_t at, int64_t n, int64_t align) {
    int64_t period = align ? 2 * (n - 1) : 2 * n;
    if (period == 0) return 0;
    at %= period;
    if (at < 0) at += period;
    return (int32_t)(at < n ? at : period - at - (align ? 0 : 1));
}

/* The element of an axis that a tap reads; -1 for nothing. */
static int32_t element(const grid_job *job, int64_t at, int64_t n) {
    if (at >= 0 && at < n) return (int32_t)at;
    if (job->padding == ASC_GRID_PADDING_ZEROS) return -1;
    if (job->padding == ASC_GRID_PADDING_BORDER) return (int32_t)(at < 0 ? 0 : n - 1);
    return mirrored(at, n, job->align);
}

static float cubic_weight(float distance) {
    float d = fabsf(distance), a = CUBIC_A;
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

/* Taps along one axis. */
static void axis_taps(const grid_job *job, float g, int64_t n, int32_t *at, float *weight) {
    bool zeros = job->padding == ASC_GRID_PADDING_ZEROS && job->spatial == 2;
    bool weighs = job->mode == ASC_GRID_CUBIC || (job->mode == ASC_GRID_LINEAR && zeros);
    if (weighs && !isfinite(g)) {
        for (int k = 0; k < job->wide; k++) at[k] = -1, weight[k] = NAN;
        return;
    }
    float from = coordinate(job, g, n), whole = floorf(from), t = from - whole;
    int64_t first = (int64_t)whole;
    if (job->mode == ASC_GRID_NEAREST) {
        at[0] = element(job, (int64_t)rintf(from), n);
        weight[0] = 1;
        return;
    }
    if (job->mode == ASC_GRID_CUBIC) first--;
    for (int k = 0; k < job->wide; k++) {
        at[k] = element(job, first + k, n);
        weight[k] = job->mode == ASC_GRID_CUBIC ? cubic_weight((float)(k - 1) - t) : k ? t : 1 - t;
    }
}

/* The taps of place i: every combination of those along the axes. */
static void place_taps(const grid_job *job, const float *grid, int i, block_taps *taps) {
    int32_t at[3][MOST_WIDE];
    float weight[3][MOST_WIDE];
    for (int axis = 0; axis < job->spatial; axis++)
        axis_taps(job, grid[job->spatial - 1 - axis], job->dims[axis], at[axis], weight[axis]);
    for (int k = 0; k < job->taps; k++) {
        int64_t offset = 0;
        float w = 1;
        for (int axis = 0, rest = k; axis < job->spatial; axis++, rest /= job->wide) {
            int32_t place = at[axis][rest % job->wide];
            int64_t step = 1;
            for (int inner = axis + 1; inner < job->spatial; inner++) step *= job->dims[inner];
            offset = place < 0 || offset < 0 ? -1 : offset + place * step;
            w *= weight[axis][rest % job->wide];
        }
        taps->at[k][i] = (int32_t)offset;
        taps->weight[k][i] = w;
    }
}

/* ASC_VF places from i on, of one channel. */
static vf read_places(const block_taps *taps, int count, const float *x, int i) {
    vf sum = {0};
    for (int k = 0; k < count; k++) {
        const int32_t *at = taps->at[k] + i;
#if defined(__AVX512F__)
        __m512i places = _mm512_loadu_si512(at);
        __mmask16 inside = _mm512_cmpge_epi32_mask(places, _mm512_setzero_si512());
        vf v = (vf)_mm512_mask_i32gather_ps(_mm512_setzero_ps(), inside, places, x, 4);
#else
        vf v;
        for (int j = 0; j < ASC_VF; j++) v[j] = at[j] >= 0 ? x[at[j]] : 0;
#endif
        sum = vf_fma(v, vf_load(taps->weight[k] + i), sum);
    }
    return sum;
}

static void grid_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const grid_job *job = arg;
    int64_t n = chunk / job->blocks, from = chunk % job->blocks * BLOCK;
    int count = (int)(job->places - from < BLOCK ? job->places - from : BLOCK);
    const float *grid = (const float *)call->in[1].data + (n * job->places + from) * job->spatial;
    const float *x = (const float *)call->in[0].data + n * job->channels * job->area;
    float *y = (float *)call->out[0].data + n * job->channels * job->places + from;
    block_taps taps;
    for (int i = 0; i < count; i++) place_taps(job, grid + i * job->spatial, i, &taps);
    for (int k = 0; k < job->taps; k++)
        for (int i = count; i < BLOCK; i++) taps.at[k][i] = -1, taps.weight[k][i] = 0;
    for (int64_t c = 0; c < job->channels; c++, x += job->area, y += job->places) {
        int i = 0;
        for (; i + ASC_VF <= count; i += ASC_VF) vf_store(y + i, read_places(&taps, job->taps, x, i));
        if (i < count) vf_store_tail(y + i, read_places(&taps, job->taps, x, i), count - i);
    }
}

int32_t ASC_FN(grid_sample_run)(const asc_call *call) {
    const grid_job *job = call->note;
    if (asc_numel(&call->out[0]) == 0) return ASC_OK;
    asc_parallel(call, call->in[0].dims[0] * job->blocks, grid_chunk, call->note);
    return ASC_OK;
}
