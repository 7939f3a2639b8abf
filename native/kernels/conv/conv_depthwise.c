/* Depthwise convolution: a strip of the input plane is copied into a zero-bordered buffer in which
 * every stride-th column is a neighbour, so that each tap of a row is one run of whole vectors. */
#include "conv.h"

#define STRIP_FLOATS (24 << 10)   /* a strip's buffer should stay in L1 or near it */
#define LARGEST_BUFFER (16 << 20) /* floats; beyond it the general path is used */
#define MOST_TAPS 128             /* likewise */

/* The buffer: lines of `stride` phases of `length` columns. Phase p, element i is input column
 * i * stride + p - pad; tap t of an output row reads from offset[t] on. */
typedef struct strip {
    const conv *conv;
    int64_t row, rows; /* of output */
    int64_t length, line, lines;
    int64_t offset[MOST_TAPS];
} strip;

static int64_t phase_length(const conv *c) {
    int64_t whole = (c->out[WIDTH] + ASC_VF - 1) / ASC_VF * ASC_VF;
    return whole + (c->kernel[WIDTH] - 1) * c->dilation[WIDTH] / c->stride[WIDTH] + 1;
}

static int64_t input_rows(const conv *c, int64_t rows) {
    return (rows - 1) * c->stride[HEIGHT] + (c->kernel[HEIGHT] - 1) * c->dilation[HEIGHT] + 1;
}

int64_t ASC_FN(conv_strip_floats)(const conv *c, int64_t rows) {
    int64_t line, floats;
    if (!asc_mul_ok(phase_length(c), c->stride[WIDTH], &line)) return INT64_MAX;
    return asc_mul_ok(line, input_rows(c, rows), &floats) ? floats : INT64_MAX;
}

int ASC_FN(conv_is_depthwise)(const conv *c) {
    int flat = c->in[DEPTH] == 1 && c->out[DEPTH] == 1 && c->kernel[DEPTH] == 1 && c->pad[DEPTH] == 0;
    return c->group_in == 1 && flat && !c->transposed && !c->panels && c->out_size > 0 && c->taps <= MOST_TAPS &&
           ASC_FN(conv_strip_floats)(c, 1) <= LARGEST_BUFFER;
}

int64_t ASC_FN(conv_strip_rows)(const conv *c) {
    int64_t one = ASC_FN(conv_strip_floats)(c, 1), row = phase_length(c) * c->stride[WIDTH] * c->stride[HEIGHT];
    int64_t rows = one < STRIP_FLOATS ? 1 + (STRIP_FLOATS - one) / row : 1;
    return rows < c->out[HEIGHT] ? rows : c->out[HEIGHT];
}

static void find_offsets(strip *s) {
    const conv *c = s->conv;
    s->length = phase_length(c);
    s->line = s->length * c->stride[WIDTH];
    s->lines = input_rows(c, s->rows);
    for (int64_t i = 0; i < c->kernel[HEIGHT]; i++)
        for (int64_t j = 0; j < c->kernel[WIDTH]; j++) {
            int64_t column = j * c->dilation[WIDTH], phase = column % c->stride[WIDTH];
            s->offset[i * c->kernel[WIDTH] + j] =
                i * c->dilation[HEIGHT] * s->line + phase * s->length + column / c->stride[WIDTH];
        }
}

static void copy_columns(const float *in, int64_t n, float *out) {
    int64_t i = 0;
    for (; i + ASC_VF <= n; i += ASC_VF) vf_store(out + i, vf_load(in + i));
    if (i < n) vf_store_tail(out + i, vf_load_tail(in + i, n - i, 0), n - i);
}

/* out[i] = in[2 i] for i < n; reads nothing past in[2 (n - 1)]. */
static void copy_even_columns(const float *in, int64_t n, float *out) {
    int64_t i = 0;
#if ASC_VF == 16
    static const int32_t even[16] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
    for (; i < n; i += 16) {
        int64_t left = n - i < 16 ? n - i : 16;
        uint32_t mask = (uint32_t)((1ull << (2 * left - 1)) - 1);
        __m512 low = _mm512_maskz_loadu_ps((__mmask16)mask, in + 2 * i);
        __m512 high = _mm512_maskz_loadu_ps((__mmask16)(mask >> 16), in + 2 * i + 16);
        low = _mm512_permutex2var_ps(low, _mm512_loadu_si512(even), high);
        _mm512_mask_storeu_ps(out + i, (__mmask16)((1u << left) - 1), low);
    }
#endif
    for (; i < n; i++) out[i] = in[2 * i];
}

/* Steps that begin before column a. */
static int64_t steps_before(int64_t a, int64_t step) {
    return a > 0 ? asc_ceil_div(a, step) : 0;
}

/* Copies what lies inside the plane; the border was zeroed once and no plane touches it. */
static void fill_strip(const strip *s, const float *plane, float *buffer) {
    const conv *c = s->conv;
    int64_t step = c->stride[WIDTH], top = s->row * c->stride[HEIGHT] - c->pad[HEIGHT];
    int64_t first = top < 0 ? -top : 0, end = asc_least(s->lines, c->in[HEIGHT] - top);
    for (int64_t p = 0; p < step; p++) {
        int64_t before = c->pad[WIDTH] - p; /* columns of this phase are input columns i * step - before */
        int64_t low = steps_before(before, step),
                high = asc_least(steps_before(c->in[WIDTH] + before, step), s->length);
        if (low >= high) continue;
        for (int64_t i = first; i < end; i++) {
            const float *from = plane + (top + i) * c->in[WIDTH] + (low * step - before);
            float *to = buffer + i * s->line + p * s->length + low;
            if (step == 1)
                copy_columns(from, high - low, to);
            else if (step == 2)
                copy_even_columns(from, high - low, to);
            else
                for (int64_t j = 0; j < high - low; j++) to[j] = from[j * step];
        }
    }
}

/* `vectors` vectors of an output row, of which `left` columns exist: one tap after the other. */
static inline __attribute__((always_inline)) void run_columns(const strip *s, int vectors, const float *in,
                                                              const float *weights, float *out, int64_t left) {
    vf sum[4] = {{0}};
    for (int64_t t = 0; t < s->conv->taps; t++) {
        vf w = vf_set(weights[t]);
        for (int v = 0; v < vectors; v++) sum[v] = vf_fma(w, vf_load(in + s->offset[t] + v * ASC_VF), sum[v]);
    }
    for (int v = 0; v < vectors; v++, out += ASC_VF, left -= ASC_VF) {
        if (left >= ASC_VF)
            vf_store(out, sum[v]);
        else if (left > 0)
            vf_store_tail(out, sum[v], left);
    }
}

static void run_rows(const strip *s, const float *in, const float *weights, float *out) {
    int64_t step = s->line * s->conv->stride[HEIGHT], columns = s->conv->out[WIDTH];
    for (int64_t r = 0; r < s->rows; r++, in += step, out += columns) {
        int64_t at = 0;
        for (; columns - at > 3 * ASC_VF; at += 4 * ASC_VF) run_columns(s, 4, in + at, weights, out + at, columns - at);
        for (; columns - at > ASC_VF; at += 2 * ASC_VF) run_columns(s, 2, in + at, weights, out + at, columns - at);
        for (; at < columns; at += ASC_VF) run_columns(s, 1, in + at, weights, out + at, columns - at);
    }
}

static void run_channel(const strip *s, int64_t image, int64_t channel, const float *buffer) {
    const conv *c = s->conv;
    int64_t channels = c->groups * c->group_out, columns = c->out[WIDTH];
    float *y = c->y + (image * channels + channel) * c->out_size + s->row * columns;
    const float *weights = c->weights + channel * c->taps;
    run_rows(s, buffer, weights, y);
    epilogue e = c->epilogue;
    if (e.residual.data) e.residual.data += image * channels * c->out_size;
    epilogue_rows done = epilogue_in_place(y, c->out_size, 1, s->rows * columns);
    if (!epilogue_is_plain(&e)) ASC_FN(epilogue_apply)(&e, &done, channel, s->row * columns);
}

void ASC_FN(conv_depthwise)(const conv *c, int64_t plane, int64_t planes, int64_t row, int64_t rows, float *scratch) {
    strip s = {.conv = c, .row = row, .rows = rows};
    find_offsets(&s);
    memset(scratch, 0, (size_t)(s.lines * s.line) * sizeof *scratch);
    for (int64_t i = plane; i < plane + planes; i++) {
        fill_strip(&s, c->x + i * c->in_size, scratch);
        for (int64_t m = 0; m < c->group_out; m++)
            run_channel(&s, i / c->groups, i % c->groups * c->group_out + m, scratch);
    }
}
