/* aipp: bytes of a camera or decoder into the image a network reads, in one pass (atc's static AIPP).
 *
 * in:   x uint8, channels last: [N, H, W, 3] or 4 or 1; YUV420SP is [N, 3H/2, W, 1]: H rows of Y, then H/2 of U V pairs
 * out:  y float32 [N, C, H', W'], C being the first C of the channels
 * ints: asc_aipp_params  floats: asc_aipp_floats
 * y = (v - shift) * scale, where v = clamp(((matrix (x - input bias)) >> 8) + output bias, 0, 255), or x.
 * Rows and columns that the crop doesn't reach hold the padding value. */
#include "asc_plan.h"
#include "chunks.h"
#include "simd.h"

enum { BLOCK = 256 };

typedef struct aipp_job {
    const uint8_t *x;
    float *y;
    int64_t format, order[4], left, top, width, height, pad_left, pad_top, convert;
    int32_t matrix[9], in_bias[3], out_bias[3];
    float shift[4], scale[4], padding;
    int64_t rows, columns, pixel; /* of the source image; bytes of a pixel */
    int64_t channels, out_rows, out_columns;
    int64_t items, per_chunk;
} aipp_job;
ASC_KERNEL_NOTE(aipp, aipp_job)

/* Sums of three products of a matrix and a biased byte of these sizes don't overflow 32 bits. */
enum { MATRIX_LIMIT = 1 << 15, BIAS_LIMIT = 1 << 12 };

static int is_within(int64_t value, int64_t limit) {
    return value >= -limit && value <= limit;
}

static int32_t read_colours(const asc_call *call, const asc_aipp_params *p, int64_t known, aipp_job *job) {
    job->convert = p->convert;
    ASC_REQUIRE(call, !job->convert || known >= 3, "aipp: one channel has no colours to convert");
    for (int c = 0; c < 9; c++) {
        ASC_REQUIRE(call, is_within(p->matrix[c], MATRIX_LIMIT), "aipp: a colour matrix that overflows");
        job->matrix[c] = (int32_t)p->matrix[c];
    }
    int seen = 0;
    for (int c = 0; c < 3; c++) {
        ASC_REQUIRE(call, is_within(p->in_bias[c], BIAS_LIMIT) && is_within(p->out_bias[c], BIAS_LIMIT),
                    "aipp: a colour matrix that overflows");
        job->in_bias[c] = (int32_t)p->in_bias[c], job->out_bias[c] = (int32_t)p->out_bias[c];
        if (!job->convert) continue;
        ASC_REQUIRE(call, job->order[c] >= 0 && job->order[c] < known, "aipp: no such channel");
        seen |= 1 << job->order[c];
    }
    ASC_REQUIRE(call, !job->convert || __builtin_popcount((unsigned)seen) == 3, "aipp: a channel is converted twice");
    return ASC_OK;
}

static int32_t read_arguments(const asc_call *call, aipp_job *job) {
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_aipp_params) && call->n_floats == ASC_MEMBERS(asc_aipp_floats),
                "aipp takes 27 ints and 9 floats");
    const asc_aipp_params *p = ASC_INTS_AS(asc_aipp_params, call);
    const asc_aipp_floats *f = ASC_FLOATS_AS(asc_aipp_floats, call);
    job->format = p->format;
    ASC_REQUIRE(call, job->format >= ASC_AIPP_FORMAT_YUV420SP && job->format <= ASC_AIPP_FORMAT_ONE_BYTE,
                "aipp: the format is not 1 to 4");
    int64_t known = job->format == ASC_AIPP_FORMAT_FOUR_BYTES ? 4 : job->format == ASC_AIPP_FORMAT_ONE_BYTE ? 1 : 3;
    for (int c = 0; c < 4; c++) {
        job->order[c] = p->order[c];
        ASC_REQUIRE(call, c >= job->channels || (p->order[c] >= 0 && p->order[c] < known), "aipp: no such channel");
        job->shift[c] = (float)f->shift[c], job->scale[c] = (float)f->scale[c];
    }
    job->left = p->left, job->top = p->top, job->width = p->width, job->height = p->height;
    job->pad_left = p->pad_left, job->pad_top = p->pad_top;
    job->padding = (float)f->padding;
    return read_colours(call, p, known, job);
}

static int is_inside(int64_t first, int64_t count, int64_t size) {
    int64_t end;
    return first >= 0 && asc_add_ok(first, count, &end) && count >= 0 && end <= size;
}

static int32_t describe(const asc_call *call, aipp_job *job) {
    const asc_tensor *x = &call->in[0], *y = &call->out[0];
    ASC_REQUIRE(call, x->rank == 4 && y->rank == 4 && x->dims[0] == y->dims[0], "aipp: not one image for each image");
    *job = (aipp_job){.channels = y->dims[1]};
    ASC_REQUIRE(call, job->channels >= 1 && job->channels <= 4, "aipp: images have one to four channels");
    int32_t code = read_arguments(call, job);
    if (code != ASC_OK) return code;
    job->pixel = job->format == ASC_AIPP_FORMAT_FOUR_BYTES ? 4 : job->format == ASC_AIPP_FORMAT_THREE_BYTES ? 3 : 1;
    job->rows = x->dims[1], job->columns = x->dims[2];
    ASC_REQUIRE(call, x->dims[3] == job->pixel, "aipp: a pixel has another number of bytes");
    if (job->format == ASC_AIPP_FORMAT_YUV420SP) {
        ASC_REQUIRE(call, job->rows % 3 == 0 && job->columns % 2 == 0, "aipp: YUV420SP of odd size");
        job->rows = job->rows / 3 * 2;
    }
    job->out_rows = y->dims[2], job->out_columns = y->dims[3];
    ASC_REQUIRE(call, is_inside(job->left, job->width, job->columns) && is_inside(job->top, job->height, job->rows),
                "aipp: the crop is not inside the image");
    ASC_REQUIRE(
        call,
        is_inside(job->pad_left, job->width, job->out_columns) && is_inside(job->pad_top, job->height, job->out_rows),
        "aipp: the crop is larger than the result");
    job->items = job->out_columns ? y->dims[0] * job->out_rows : 0;
    job->per_chunk = asc_chunk_items(call, job->items, asc_least(job->out_columns, 1 << 30) * job->channels * 8);
    return ASC_OK;
}

int32_t ASC_FN(aipp_prepare)(asc_call *call) {
    return describe(call, call->note);
}

/* The channels of n pixels from column `at` of source row `row` on, as they lie in the file. */
static void read_pixels(const aipp_job *job, int64_t image, int64_t row, int64_t at, int64_t n, int32_t v[4][BLOCK]) {
    int64_t image_bytes = job->format == ASC_AIPP_FORMAT_YUV420SP ? job->rows / 2 * 3 * job->columns
                                                                  : job->rows * job->columns * job->pixel;
    const uint8_t *base = job->x + image * image_bytes;
    const uint8_t *restrict p = base + (row * job->columns + at) * job->pixel;
    if (job->format == ASC_AIPP_FORMAT_THREE_BYTES) {
        for (int64_t i = 0; i < n; i++) v[0][i] = p[3 * i], v[1][i] = p[3 * i + 1], v[2][i] = p[3 * i + 2];
    } else if (job->format == ASC_AIPP_FORMAT_FOUR_BYTES) {
        for (int64_t i = 0; i < n; i++)
            v[0][i] = p[4 * i], v[1][i] = p[4 * i + 1], v[2][i] = p[4 * i + 2], v[3][i] = p[4 * i + 3];
    } else {
        for (int64_t i = 0; i < n; i++) v[0][i] = p[i];
    }
    if (job->format == ASC_AIPP_FORMAT_YUV420SP) {
        const uint8_t *restrict uv = base + (job->rows + row / 2) * job->columns;
        for (int64_t i = 0; i < n; i++) {
            int64_t pair = (at + i) / 2 * 2;
            v[1][i] = uv[pair], v[2][i] = uv[pair + 1];
        }
    }
}

static inline int32_t clamped(int32_t v) {
    return v < 0 ? 0 : v > 255 ? 255 : v;
}

static void convert_colours(const aipp_job *job, int64_t n, int32_t *restrict a, int32_t *restrict b,
                            int32_t *restrict c) {
    const int32_t *m = job->matrix, *in = job->in_bias, *out = job->out_bias;
    for (int64_t i = 0; i < n; i++) {
        int32_t x = a[i] - in[0], y = b[i] - in[1], z = c[i] - in[2];
        a[i] = clamped(((m[0] * x + m[1] * y + m[2] * z) >> 8) + out[0]);
        b[i] = clamped(((m[3] * x + m[4] * y + m[5] * z) >> 8) + out[1]);
        c[i] = clamped(((m[6] * x + m[7] * y + m[8] * z) >> 8) + out[2]);
    }
}

static void fill(float *restrict y, int64_t n, float value) {
    for (int64_t i = 0; i < n; i++) y[i] = value;
}

/* One row of the result in all its channels. */
static void write_row(const aipp_job *job, int64_t image, int64_t row) {
    int64_t plane = job->out_rows * job->out_columns;
    float *y = job->y + image * job->channels * plane + row * job->out_columns;
    int64_t source = row - job->pad_top;
    if (source < 0 || source >= job->height) {
        for (int64_t c = 0; c < job->channels; c++) fill(y + c * plane, job->out_columns, job->padding);
        return;
    }
    int32_t v[4][BLOCK];
    for (int64_t at = 0; at < job->width; at += BLOCK) {
        int64_t n = job->width - at < BLOCK ? job->width - at : BLOCK;
        read_pixels(job, image, job->top + source, job->left + at, n, v);
        if (job->convert) convert_colours(job, n, v[job->order[0]], v[job->order[1]], v[job->order[2]]);
        for (int64_t c = 0; c < job->channels; c++) {
            const int32_t *restrict from = v[job->order[c]];
            float *restrict to = y + c * plane + job->pad_left + at, shift = job->shift[c], scale = job->scale[c];
            for (int64_t i = 0; i < n; i++) to[i] = ((float)from[i] - shift) * scale;
        }
    }
    int64_t end = job->pad_left + job->width;
    for (int64_t c = 0; c < job->channels; c++) {
        fill(y + c * plane, job->pad_left, job->padding);
        fill(y + c * plane + end, job->out_columns - end, job->padding);
    }
}

static void aipp_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)call, (void)worker;
    const aipp_job *job = arg;
    int64_t end = (chunk + 1) * job->per_chunk < job->items ? (chunk + 1) * job->per_chunk : job->items;
    for (int64_t i = chunk * job->per_chunk; i < end; i++) write_row(job, i / job->out_rows, i % job->out_rows);
}

int32_t ASC_FN(aipp_run)(const asc_call *call) {
    aipp_job job = *(const aipp_job *)call->note;
    if (job.items == 0) return ASC_OK;
    job.x = call->in[0].data;
    job.y = call->out[0].data;
    asc_parallel(call, asc_ceil_div(job.items, job.per_chunk), aipp_chunk, &job);
    return ASC_OK;
}
