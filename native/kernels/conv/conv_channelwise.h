/* conv_channelwise.h - convolution of each channel by itself, channels last: what becomes of the sums of a run of
 * pixels, which hold a vector of channels each. */
#ifndef ASC_KERNELS_CONV_CHANNELWISE_H
#define ASC_KERNELS_CONV_CHANNELWISE_H

#include "conv_last.h"
#include "float16.h"

#define BLOCK 8 /* most output pixels that share a load of weights */
#ifdef __AVX512BF16__
#define NARROWS 1 /* an instruction rounds to bfloat16 */
#else
#define NARROWS 0
#endif

static inline __attribute__((always_inline)) vf load_lanes(const float *p, int tail, int64_t lanes) {
    return tail ? vf_load_tail(p, lanes, 0) : vf_load(p);
}

/* Where sums go, and what is done to them first. */
typedef struct target {
    conv_ending end;
    const float *bias;
    const void *residual; /* as y */
    void *y;
    int narrow;   /* y is bfloat16 */
    int64_t step; /* floats in y from a pixel to the next */
} target;

static inline __attribute__((always_inline)) void finish_as(const target *t, int64_t at, const vf *sum, int pixels,
                                                            vf bias, int narrow, int rounds, int tail, int64_t lanes) {
    conv_ending end = t->end; /* a copy, which nothing that is stored can change */
    _Pragma("GCC unroll 8") for (int p = 0; p < pixels; p++, at += t->step) {
        vf y = sum[p] + bias;
        if (t->residual) y += image_load(t->residual, at, narrow, tail, lanes);
        y = conv_end(&end, y);
        image_store(t->y, at, rounds ? vf_round_f16(y) : y, narrow, tail, lanes);
    }
}

/* bfloat16 of a function that has no room in the loops. */
static __attribute__((noinline, unused)) void finish_curved(const target *t, int64_t at, vf *sum, int pixels,
                                                            const vf *bias, int tail, int64_t lanes) {
    for (int p = 0; p < pixels; p++) {
        sum[p] += *bias;
        if (t->residual) sum[p] += image_load(t->residual, at + p * t->step, 1, tail, lanes);
    }
    ASC_FN(conv_curve)(&t->end, (float *)sum, (int64_t)pixels * ASC_VF);
    for (int p = 0; p < pixels; p++) image_store(t->y, at + p * t->step, sum[p], 1, tail, lanes);
}

/* Apart from the loops: rounding is long where no instruction does it. */
static __attribute__((noinline, unused)) void finish_apart(const target *t, int64_t at, const vf *sum, int pixels,
                                                           const vf *bias, int tail, int64_t lanes) {
    if (t->narrow)
        finish_as(t, at, sum, pixels, *bias, 1, 0, tail, lanes);
    else
        finish_as(t, at, sum, pixels, *bias, 0, 1, tail, lanes);
}

static inline __attribute__((always_inline)) void finish(const target *t, int64_t at, const vf *sum, int pixels,
                                                         vf bias, int tail, int64_t lanes) {
    if (t->end.rounds || t->end.curves || (t->narrow && !NARROWS)) {
        vf sums[BLOCK], copy = bias; /* sums whose address were taken would lie in memory all the time */
        for (int i = 0; i < pixels; i++) sums[i] = sum[i];
        if (t->end.curves)
            finish_curved(t, at, sums, pixels, &copy, tail, lanes);
        else
            finish_apart(t, at, sums, pixels, &copy, tail, lanes);
    } else if (t->narrow) {
        finish_as(t, at, sum, pixels, bias, 1, 0, tail, lanes);
    } else {
        finish_as(t, at, sum, pixels, bias, 0, 0, tail, lanes);
    }
}

/* The outputs of a row of a plane from column o on: where they, and what is added to them, lie. */
static inline void find_outputs(const conv *c, int64_t plane, int64_t row, int64_t o, int64_t channel, target *t) {
    int64_t at = ((plane * c->out[HEIGHT] + row) * c->out[WIDTH] + o) * c->out_channels + channel;
    t->y = (void *)image_at(c->y, at, t->narrow);
    t->bias = c->epilogue.bias.data ? c->epilogue.bias.data + channel : NULL;
    t->residual = c->epilogue.residual.data ? image_at(c->epilogue.residual.data, at, t->narrow) : NULL;
}

/* The address of an input, which may lie outside; then it is only a base for those that don't. */
static inline const void *input_at(const conv *c, int64_t image, int64_t plane, int64_t row, int64_t column,
                                   int64_t channel) {
    uint64_t line = ((uint64_t)image * (uint64_t)c->in[DEPTH] + (uint64_t)plane) * (uint64_t)c->in[HEIGHT];
    uint64_t pixel = (line + (uint64_t)row) * (uint64_t)c->in[WIDTH] + (uint64_t)column;
    uint64_t at = pixel * (uint64_t)c->in_channels + (uint64_t)channel;
    return (const void *)((uintptr_t)c->x + at * (c->x_narrow ? sizeof(uint16_t) : sizeof(float)));
}

/* Taps [from, to) of an axis lie inside for an output place. */
typedef struct inside {
    int64_t from, to;
} inside;

static inline inside taps_inside(const conv *c, int axis, int64_t o) {
    int64_t start = o * c->stride[axis] - c->pad[axis], d = c->dilation[axis];
    int64_t first = start < 0 ? (-start + d - 1) / d : 0;
    int64_t end = start < c->in[axis] ? (c->in[axis] - start + d - 1) / d : 0;
    end = asc_least(end, c->kernel[axis]);
    return (inside){asc_least(first, end), end};
}

/* Rows [row, row + rows) of a plane, `channels` channels from `channel` on. */
void ASC_FN(conv_channelwise_square)(const conv *c, const target *t, int64_t plane, int64_t row, int64_t rows,
                                     int64_t channel, int64_t channels);

#endif
