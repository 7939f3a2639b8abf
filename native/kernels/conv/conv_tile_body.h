/* conv_tile_body.h - the register tiles of convolution: one body, unrolled by the compiler for every height. The
 * includer defines what a product is:
 *   CONV_BROADCAST(p)               what one pixel reads at p, in every lane
 *   CONV_MULTIPLY(left, right, sum) sum plus the products of the lanes
 *   CONV_MULTIPLY_LANE(four, lane, right, sum) the same with what four[lane] is of a pixel, where ASC_BY_LANE
 *   CONV_HALF(pair, first)          if defined, what is read is a pair, and this the first or the second of each
 * lane's: the seconds are multiplied before the firsts, so that a tile's registers suffice CONV_TILE_RUN the function's
 * name
 */
#include <math.h>

#include "conv_tile_finish.h"
#include "heights.h"

#define HALF 7 /* pixels that one base pointer serves */

/* x + row * step, by the addressing modes of the machine: multiples of 1, 3 and 5 steps lie in registers. */
static inline __attribute__((always_inline)) const float *pixel_at(const float *x, int64_t one, int64_t three,
                                                                   int64_t five, int row) {
    switch (row) {
        case 0: return x;
        case 1: return x + one;
        case 2: return x + 2 * one;
        case 3: return x + three;
        case 4: return x + 4 * one;
        case 5: return x + five;
        default: return x + 2 * three;
    }
}

/* Makes a register's value opaque, so that GCC derives no induction variable from it. */
#define OPAQUE(x) __asm__("" : "+r"(x))

/* Sums begin with the bias. */
static inline __attribute__((always_inline)) void begin(const conv_tile *t, int rows, int vectors, tile_sums *s) {
    int64_t last = t->columns - (vectors - 1) * ASC_VF; /* columns of the last vector */
    _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) {
        const float *at = t->bias + v * ASC_VF;
        vf bias = {0};
        if (t->bias) bias = v == vectors - 1 && last < ASC_VF ? vf_load_tail(at, last, 0) : vf_load(at);
        _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++) s->of[i][v] = bias;
    }
}

/* Brings what the next tile's `finish` touches into L1, a line at a time: one or two of a pixel. */
typedef struct fetcher {
    uintptr_t y, residual, step, two_steps;
    int64_t lines;
} fetcher;

static inline __attribute__((always_inline)) fetcher fetcher_of(const conv_tile *t, int rows) {
    uintptr_t pixel = (uintptr_t)t->y_step * (t->narrow ? 2 : 4);
    if (t->narrow) return (fetcher){t->next_y, t->next_residual, pixel, 2 * pixel, rows};
    return (fetcher){t->next_y, t->next_residual, 64, pixel, 2 * rows};
}

static inline __attribute__((always_inline)) void fetch_line(fetcher *f) {
    __builtin_prefetch((const void *)f->y, 0, 3);
    __builtin_prefetch((const void *)f->residual, 0, 3);
    f->y += f->step;
    f->residual += f->step;
    int64_t more = --f->lines > 0 ? -1 : 0;
    OPAQUE(more); /* GCC would branch */
    f->step = (f->two_steps - f->step) & (uintptr_t)more;
}

static inline __attribute__((always_inline)) void multiply(const conv_tile *t, int rows, int vectors, tile_sums *s) {
    uintptr_t ahead = t->ahead;
    int64_t one = t->x_step, three = 3 * one, five = 5 * one;
    fetcher near = fetcher_of(t, rows);
    /* A burst of many lines would hold up what this tile reads; low tiles have no time to spare at a step. */
    if (rows <= HALF)
        while (near.lines > 0) fetch_line(&near);
    for (int64_t r = 0; r < t->runs; r++) {
        const float *first = t->x + t->of[r].start, *second = first + HALF * one, *w = t->w + t->of[r].weight;
        int64_t k = t->length;
#if ASC_BY_LANE
        for (; k >= 4; k -= 4, first += 4, second += 4) {
            vf four[rows];
            _Pragma("GCC unroll 8") for (int i = 0; i < rows; i++) four[i] =
                vf_load(pixel_at(i < HALF ? first : second, one, three, five, i % HALF));
            _Pragma("GCC unroll 4") for (int lane = 0; lane < 4; lane++, w += GEMM_PANEL) {
                _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) {
                    vf right = vf_load(w + v * ASC_VF);
                    _Pragma("GCC unroll 8") for (int i = 0; i < rows; i++) s->of[i][v] =
                        CONV_MULTIPLY_LANE(four[i], lane, right, s->of[i][v]);
                }
                __builtin_prefetch((const void *)ahead, 0, 2);
                ahead += (uintptr_t)t->ahead_step;
            }
            if (rows > HALF) fetch_line(&near);
        }
#endif
        for (; k > 0; k--, w += GEMM_PANEL) {
#if defined(CONV_HALF)
            _Pragma("GCC unroll 2") for (int half = 0; half < 2; half++) {
                vf right[2];
                OPAQUE(first); /* read anew: kept, pairs would need registers that the sums take */
                OPAQUE(w);
                _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) right[v] =
                    CONV_HALF(vf_load(w + v * ASC_VF), half);
                _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++) {
                    const float *x = i < HALF ? first : second;
                    vf left = CONV_HALF(CONV_BROADCAST(pixel_at(x, one, three, five, i % HALF)), half);
                    _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) s->of[i][v] =
                        vf_fma(left, right[v], s->of[i][v]);
                }
            }
#else
            vf right[2];
            OPAQUE(first);
            if (rows > HALF) OPAQUE(second);
            _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) right[v] = vf_load(w + v * ASC_VF);
            _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++) {
                const float *x = i < HALF ? first : second;
                vf left = CONV_BROADCAST(pixel_at(x, one, three, five, i % HALF));
                _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) s->of[i][v] =
                    CONV_MULTIPLY(left, right[v], s->of[i][v]);
            }
#endif
            first++;
            second++;
            __builtin_prefetch((const void *)ahead, 0, 2);
            /* From memory: GCC would keep it in a vector register, and take a multiplier's slot to read it. */
            ahead += (uintptr_t)*(const volatile int64_t *)&t->ahead_step;
            if (rows > HALF) fetch_line(&near);
        }
    }
}

#define TILE(rows, vectors)                                                                           \
    static void tile_##rows##x##vectors(const conv_tile *t) {                                         \
        tile_sums s;                                                                                  \
        begin(t, rows, vectors, &s);                                                                  \
        multiply(t, rows, vectors, &s);                                                               \
        if (!ends_at_once(t)) {                                                                       \
            tile_sums kept; /* s stays in registers */                                                \
            _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++)                                   \
                _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) kept.of[i][v] = s.of[i][v]; \
            finish_kept_##vectors(t, rows, kept.of);                                                  \
        } else if (!t->narrow && t->end.bends)                                                        \
            finish(t, 0, rows, vectors, 0, 0, 0, 1, &s);                                              \
        else if (!t->narrow)                                                                          \
            finish(t, 0, rows, vectors, 0, 0, 1, 0, &s);                                              \
        else if (t->end.high == INFINITY)                                                             \
            finish(t, 0, rows, vectors, 1, 0, 0, 0, &s);                                              \
        else                                                                                          \
            finish(t, 0, rows, vectors, 1, 0, 1, 0, &s);                                              \
    }
#define PAIR(rows) TILE(rows, 1) TILE(rows, 2)

EACH_HEIGHT(CONV_ROWS, PAIR)

typedef void (*tile_fn)(const conv_tile *);
#define ROW(rows) {tile_##rows##x1, tile_##rows##x2},
static const tile_fn TILES[CONV_ROWS][2] = {EACH_HEIGHT(CONV_ROWS, ROW)};

void CONV_TILE_RUN(int pixels, const conv_tile *t) {
    TILES[pixels - 1][t->columns > ASC_VF](t);
}
