/* conv_tile_finish.h - how a tile of sums ends: residual, activation, rounding, and its place in Y. */
#ifndef ASC_KERNELS_CONV_TILE_FINISH_H
#define ASC_KERNELS_CONV_TILE_FINISH_H

#include "bfloat16.h"
#include "conv_tile.h"
#include "float16.h"
#include "vnni2.h"

typedef struct tile_sums {
    vf of[CONV_ROWS][2];
} tile_sums;

/* Whether the ISA rounds to bfloat16 in an instruction, so that a tile of it ends in few. */
#if defined(__AVX512BF16__) || defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#define TILE_NARROWS 1
#else
#define TILE_NARROWS 0
#endif

/* How a tile ends: constants of the code that they choose, but for the limits. */
typedef struct ending {
    int narrow, rounds, bounded, bends; /* bounded: high isn't infinite */
    vf low, high;
} ending;

static inline __attribute__((always_inline)) vf ended(const conv_tile *t, const ending *e, vf sum, int64_t at, int tail,
                                                      int64_t lanes) {
    if (t->residual) sum += image_load(t->residual, at, e->narrow, tail, lanes);
    if (e->bends) return conv_bend(&t->end, sum);
    sum = vf_max(e->low, sum);
    if (e->bounded) sum = vf_min(e->high, sum);
    return e->rounds ? vf_round_f16(sum) : sum;
}

/* `rows` pixels, of which the first lies at y[first]. */
static inline __attribute__((always_inline)) void finish(const conv_tile *t, int64_t first, int rows, int vectors,
                                                         int narrow, int rounds, int bounded, int bends,
                                                         const tile_sums *s) {
    ending e = {narrow, rounds, bounded, bends, vf_set(t->end.low), vf_set(t->end.high)};
    int64_t last = t->columns - (vectors - 1) * ASC_VF, at = first; /* columns of the last vector */
#if ASC_VF == 16
    if (narrow && vectors == 2 && last == ASC_VF) {
        _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++, at += t->y_step) {
            vf low = ended(t, &e, s->of[i][0], at, 0, 0), high = ended(t, &e, s->of[i][1], at + ASC_VF, 0, 0);
            vf_store((float *)image_at(t->y, at, 1), vnni2_join_neighbours(low, high));
        }
        return;
    }
#endif
    _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) {
        int tail = last < ASC_VF && v == vectors - 1;
        at = first + v * ASC_VF;
        _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++, at += t->y_step)
            image_store(t->y, at, ended(t, &e, s->of[i][v], at, tail, last), narrow, tail, last);
    }
}

/* Whether every height of a tile has code of its own for this ending: it is most of what a compiler has to do here. */
static inline __attribute__((always_inline)) int ends_at_once(const conv_tile *t) {
    return t->narrow ? TILE_NARROWS && !t->end.bends && !t->end.curves : !t->end.rounds;
}

/* The other endings: a pixel at a time, of sums in memory. */
static inline __attribute__((always_inline)) void finish_each(const conv_tile *t, int rows, int vectors, int narrow,
                                                              int rounds, int bounded, int bends, vf (*sums)[2]) {
    for (int i = 0; i < rows; i++) {
        tile_sums pixel = {{{sums[i][0], sums[i][vectors - 1]}}};
        finish(t, i * t->y_step, 1, vectors, narrow, rounds, bounded, bends, &pixel);
    }
}

/* bfloat16 of a function that has no room between the products: all sums of the tile are its one row. */
static inline __attribute__((always_inline)) void finish_curved(const conv_tile *t, int rows, int vectors,
                                                                vf (*sums)[2]) {
    vf flat[2 * CONV_MOST_ROWS];
    int64_t last = t->columns - (vectors - 1) * ASC_VF;
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) {
            int64_t at = i * t->y_step + v * ASC_VF;
            vf *sum = &flat[i * vectors + v];
            *sum = sums[i][v];
            if (t->residual) *sum += image_load(t->residual, at, 1, v == vectors - 1 && last < ASC_VF, last);
        }
    ASC_FN(conv_curve)(&t->end, (float *)flat, (int64_t)rows * vectors * ASC_VF);
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++)
            image_store(t->y, i * t->y_step + v * ASC_VF, flat[i * vectors + v], 1, v == vectors - 1 && last < ASC_VF,
                        last);
}

static inline __attribute__((always_inline)) void finish_kept(const conv_tile *t, int rows, int vectors,
                                                              vf (*sums)[2]) {
    if (!t->narrow)
        finish_each(t, rows, vectors, 0, 1, 1, 0, sums);
    else if (t->end.curves)
        finish_curved(t, rows, vectors, sums);
    else if (t->end.bends)
        finish_each(t, rows, vectors, 1, 0, 0, 1, sums);
    else
        finish_each(t, rows, vectors, 1, 0, 1, 0, sums);
}
static __attribute__((noinline)) void finish_kept_1(const conv_tile *t, int rows, vf (*sums)[2]) {
    finish_kept(t, rows, 1, sums);
}
static __attribute__((noinline)) void finish_kept_2(const conv_tile *t, int rows, vf (*sums)[2]) {
    finish_kept(t, rows, 2, sums);
}

#endif
