/* group_norm_last: as group_norm (norm_channels.c) of images with channels last, which it reads and writes in the order
 * of their memory: blocks of positions, whichever groups they belong to.
 *
 * in:     x [N, spatial.., C], float32 or bfloat16; scale [C], bias [C]
 * out:    y likewise
 * ints:   asc_group_norm_params;  floats: asc_norm_floats
 *
 * Each block gives a mean and a sum of squares about it for each group, which are merged in float64 as Chan, Golub and
 * LeVeque do (Algorithms for computing the sample variance, 1983). Blocks don't depend on the number of threads. */
#include <math.h>

#include "asc_plan.h"
#include "bfloat16.h"
#include "chunks.h"

#define BLOCK 8192 /* elements of a block, which stays near while it is read twice */
#define AT_ONCE 4  /* vectors of channels whose sums are made at once */

typedef struct moments {
    float mean, squares; /* about the mean */
} moments;

typedef struct last_note {
    int64_t images, positions, channels, groups;
    int64_t block, blocks; /* positions of a block, and blocks of an image */
    int64_t per_chunk, rows, row;
    float epsilon;
} last_note;
ASC_KERNEL_NOTE(group_norm_last, last_note)

int32_t ASC_FN(group_norm_last_prepare)(asc_call *call) {
    const asc_tensor *x = &call->in[0];
    last_note *note = call->note;
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_group_norm_params),
                "group_norm_last takes one int: the number of groups");
    ASC_REQUIRE(call, call->n_floats == ASC_MEMBERS(asc_norm_floats), "group_norm_last takes one float: epsilon");
    ASC_REQUIRE(call, x->rank >= 2 && asc_same_dims(x, &call->out[0]), "group_norm_last: the shapes differ");
    int64_t groups = ASC_INTS_AS(asc_group_norm_params, call)->groups, channels = x->dims[x->rank - 1];
    for (int i = 1; i < 3; i++)
        ASC_REQUIRE(call, call->in[i].rank == 1 && call->in[i].dims[0] == channels,
                    "group_norm_last: a parameter is not one for each channel");
    ASC_REQUIRE(call, channels == 0 || (groups > 0 && channels % groups == 0),
                "group_norm_last: the channels are no multiple of the groups");
    *note = (last_note){.channels = channels, .groups = groups};
    if (asc_numel(x) == 0) return ASC_OK;
    note->epsilon = (float)ASC_FLOATS_AS(asc_norm_floats, call)->epsilon;
    note->images = x->dims[0];
    note->positions = asc_count(x, 1, x->rank - 1);
    note->block = asc_most(BLOCK / channels, 1);
    note->blocks = asc_ceil_div(note->positions, note->block);
    note->per_chunk =
        asc_chunk_items(call, note->images * note->blocks, asc_least(note->block * channels, 1 << 30) * 4);
    note->row = asc_ceil_div(channels, 16) * 16;
    int64_t bytes, own;
    int fits = asc_mul_ok(note->images * note->blocks, groups * (int64_t)sizeof(moments), &bytes) &&
               bytes < INT64_MAX - 64 && asc_mul_ok(note->row * 2 * (int64_t)sizeof(float), call->threads, &own);
    ASC_REQUIRE(call, fits && asc_add_ok((bytes + 63) / 64 * 64, own, &bytes), "group_norm_last: too many groups");
    note->rows = (bytes - own) / (int64_t)sizeof(float);
    call->workspace_bytes = (uint64_t)bytes;
    return ASC_OK;
}

/* Positions of a block of an image, in elements of the whole. */
typedef struct block {
    const void *x;
    void *y;
    int64_t at, count; /* its first element, and its positions */
} block;

static block block_of(const asc_call *call, int64_t index) {
    const last_note *j = call->note;
    int64_t from = index % j->blocks * j->block;
    block b = {.x = call->in[0].data, .y = call->out[0].data, .count = asc_least(j->block, j->positions - from)};
    b.at = (index / j->blocks * j->positions + from) * j->channels;
    return b;
}

static float *row_of(const asc_call *call, int32_t worker) {
    const last_note *j = call->note;
    return (float *)call->workspace + j->rows + 2 * worker * j->row;
}

static moments *moments_of(const asc_call *call, int64_t index) {
    return (moments *)call->workspace + index * ((const last_note *)call->note)->groups;
}

/* Of `vectors` vectors of channels from `c` on: the sums over positions, of elements, or with `means` of the squares of
 * what they differ from these. `lanes`: of the last vector, if there is a tail. */
static inline __attribute__((always_inline)) void fold(const block *b, int64_t channels, int64_t c, const float *means,
                                                       float *sums, const int vectors, const int narrow, const int tail,
                                                       int64_t lanes) {
    vf sum[AT_ONCE] = {{0}}, mean[AT_ONCE] = {{0}};
    for (int v = 0; v < vectors && means; v++)
        mean[v] = tail ? vf_load_tail(means + c, lanes, 0) : vf_load(means + c + v * ASC_VF);
    for (int64_t p = 0; p < b->count; p++)
        for (int v = 0; v < vectors; v++) {
            vf x = image_load(b->x, b->at + p * channels + c + v * ASC_VF, narrow, tail, lanes);
            if (means) x = (x - mean[v]) * (x - mean[v]);
            sum[v] += x;
        }
    for (int v = 0; v < vectors; v++)
        if (tail)
            vf_store_tail(sums + c, sum[v], lanes);
        else
            vf_store(sums + c + v * ASC_VF, sum[v]);
}

static inline __attribute__((always_inline)) void fold_all(const block *b, int64_t n, const float *means, float *sums,
                                                           const int narrow) {
    int64_t c = 0;
    for (; c + AT_ONCE * ASC_VF <= n; c += AT_ONCE * ASC_VF) fold(b, n, c, means, sums, AT_ONCE, narrow, 0, 0);
    for (; c + ASC_VF <= n; c += ASC_VF) fold(b, n, c, means, sums, 1, narrow, 0, 0);
    if (c < n) fold(b, n, c, means, sums, 1, narrow, 1, n - c);
}

static void fold_channels(const block *b, int64_t n, const float *means, float *sums, int narrow) {
    if (narrow)
        means ? fold_all(b, n, means, sums, 1) : fold_all(b, n, NULL, sums, 1);
    else
        means ? fold_all(b, n, means, sums, 0) : fold_all(b, n, NULL, sums, 0);
}

static double sum_of(const float *x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

static void see_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const last_note *j = arg;
    int64_t each = j->channels / j->groups, end = asc_least((chunk + 1) * j->per_chunk, j->images * j->blocks);
    int narrow = call->in[0].dtype == ASC_BFLOAT16;
    float *sums = row_of(call, worker), *means = sums + j->row;
    for (int64_t index = chunk * j->per_chunk; index < end; index++) {
        block b = block_of(call, index);
        moments *m = moments_of(call, index);
        fold_channels(&b, j->channels, NULL, sums, narrow);
        for (int64_t g = 0; g < j->groups; g++) {
            m[g].mean = (float)(sum_of(sums + g * each, each) / (double)(b.count * each));
            for (int64_t c = g * each; c < (g + 1) * each; c++) means[c] = m[g].mean;
        }
        fold_channels(&b, j->channels, means, sums, narrow);
        for (int64_t g = 0; g < j->groups; g++) m[g].squares = (float)sum_of(sums + g * each, each);
    }
}

/* Those of all blocks of an image, with 1 / deviation in the place of squares, into those of its first. */
static void merge(const asc_call *call, int64_t image) {
    const last_note *j = call->note;
    moments *all = moments_of(call, image * j->blocks);
    double total = (double)(j->positions * (j->channels / j->groups));
    for (int64_t g = 0; g < j->groups; g++) {
        double mean = all[g].mean, squares = all[g].squares, seen = (double)asc_least(j->block, j->positions);
        for (int64_t k = 1; k < j->blocks; k++) {
            const moments *m = &all[k * j->groups + g];
            double count = (double)asc_least(j->block, j->positions - k * j->block), apart = m->mean - mean;
            squares += m->squares + apart * apart * seen * count / (seen + count) * (double)(j->channels / j->groups);
            mean += apart * count / (seen + count);
            seen += count;
        }
        all[g] = (moments){(float)mean, (float)(1 / sqrt(squares / total + (double)j->epsilon))};
    }
}

/* What the channels of an image take: y = (x - mean) * factor + bias. */
typedef struct affine {
    const float *mean, *factor, *bias;
} affine;

static inline __attribute__((always_inline)) void write_vector(const block *b, const affine *a, int64_t at, int64_t c,
                                                               const int from, const int to, const int tail,
                                                               int64_t lanes) {
    vf mean = tail ? vf_load_tail(a->mean + c, lanes, 0) : vf_load(a->mean + c);
    vf factor = tail ? vf_load_tail(a->factor + c, lanes, 0) : vf_load(a->factor + c);
    vf bias = tail ? vf_load_tail(a->bias + c, lanes, 0) : vf_load(a->bias + c);
    vf x = image_load(b->x, at + c, from, tail, lanes);
    image_store(b->y, at + c, vf_fma(x - mean, factor, bias), to, tail, lanes);
}

static inline __attribute__((always_inline)) void write_block(const block *b, int64_t n, const affine *a,
                                                              const int from, const int to) {
    for (int64_t p = 0; p < b->count; p++) {
        int64_t at = b->at + p * n, c = 0;
        for (; c + ASC_VF <= n; c += ASC_VF) write_vector(b, a, at, c, from, to, 0, 0);
        if (c < n) write_vector(b, a, at, c, from, to, 1, n - c);
    }
}

static void write_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const last_note *j = arg;
    int64_t each = j->channels / j->groups, end = asc_least((chunk + 1) * j->per_chunk, j->images * j->blocks);
    const int from = call->in[0].dtype == ASC_BFLOAT16, to = call->out[0].dtype == ASC_BFLOAT16;
    const float *scale = call->in[1].data;
    float *means = row_of(call, worker), *factors = means + j->row;
    affine a = {means, factors, call->in[2].data};
    for (int64_t index = chunk * j->per_chunk, image = -1; index < end; index++) {
        block b = block_of(call, index);
        if (index / j->blocks != image) {
            image = index / j->blocks;
            const moments *m = moments_of(call, image * j->blocks);
            for (int64_t c = 0; c < j->channels; c++) {
                means[c] = m[c / each].mean;
                factors[c] = m[c / each].squares * scale[c];
            }
        }
        if (from)
            to ? write_block(&b, j->channels, &a, 1, 1) : write_block(&b, j->channels, &a, 1, 0);
        else
            to ? write_block(&b, j->channels, &a, 0, 1) : write_block(&b, j->channels, &a, 0, 0);
    }
}

int32_t ASC_FN(group_norm_last_run)(const asc_call *call) {
    last_note *j = call->note;
    if (!j->images) return ASC_OK;
    int64_t chunks = asc_ceil_div(j->images * j->blocks, j->per_chunk);
    asc_parallel(call, chunks, see_chunk, j);
    for (int64_t image = 0; image < j->images; image++) merge(call, image);
    asc_parallel(call, chunks, write_chunk, j);
    return ASC_OK;
}
