/* Strips of an integer product by the tiles of AMX: two blocks of up to 16 rows times a panel, wherever the two lie.
 * Sums are those of the register tiles, since all are exact.
 *
 * Of each segment of a row, whole tiles along K are read where they lie. The fours behind them are gathered, those of
 * all segments side by side, in A as in B. */
#include "amx.h"
#include "chunks.h"
#include "qgemm.h"

#if defined(ASC_AMX)
#include <string.h>

#include "simd.h"

#define FOURS (AMX_INT8_K / 4)               /* along K in a tile */
#define LINE (4 * QGEMM_PANEL)               /* bytes of a row of a panel of B, and of one of the sums */
#define MOST_RESTS 8                         /* tiles of what is gathered, up to which it pays */
#define REST_BYTES (MOST_RESTS * AMX_INT8_K) /* of a row of A */
#define LEAST_FOURS 768                      /* of all rows, for which tiles are made ready */

_Static_assert(QGEMM_PANEL == 2 * AMX_SUMS && QGEMM_COLUMNS == QGEMM_PANEL, "a panel is two tiles wide");

/* What all blocks of a strip share. */
typedef struct shared {
    const qgemm_strip *s;
    int64_t blocks, height;     /* blocks of a line, and rows of each; the last may overlap the one before */
    int64_t whole, rest, rests; /* tiles of a segment; fours behind them; tiles of these of all segments */
    const int8_t *b;
    int8_t *b_rest; /* REST_BYTES / 4 lines */
    int32_t *start; /* AMX_ROWS of QGEMM_COLUMNS: what sums begin with, if A is flipped */
} shared;

/* Where a block is: `a` its first row. */
typedef struct block {
    int64_t line, row, skip; /* rows that the block before has */
    const uint8_t *a;
} block;

static block block_at(const shared *h, int64_t index) {
    const qgemm_strip *s = h->s;
    int64_t line = index / h->blocks, from = index % h->blocks * h->height, row = asc_least(from, s->rows - h->height);
    return (block){line, row, from - row, s->g->a + line * s->a_line + row * s->g->a_row};
}

static void gather_b(const shared *h) {
    const qgemm *g = h->s->g;
    int8_t *out = h->b_rest;
    memset(out, 0, (size_t)(h->rests * FOURS * LINE));
    for (int64_t i = 0; i < g->n_segments; i++, out += h->rest * LINE)
        memcpy(out, h->b + (i * g->vnni4 + h->whole * FOURS) * LINE, (size_t)(h->rest * LINE));
}

/* Rows of REST_BYTES. A vector is stored for each segment: what lies behind it is replaced by the next one's, or zero.
 */
static void gather_a(const shared *h, const block *at, uint8_t *out) {
    const qgemm *g = h->s->g;
    __mmask64 mask = (1ull << 4 * h->rest) - 1;
    for (int64_t row = 0; row < h->height; row++, out += REST_BYTES) {
        const uint8_t *a = at->a + row * g->a_row + h->whole * AMX_INT8_K;
        for (int64_t i = 0; i < g->n_segments; i++)
            _mm512_storeu_si512(out + i * 4 * h->rest, _mm512_maskz_loadu_epi8(mask, a + g->segments[i]));
    }
}

/* 128 for each element of a row that is flipped, times the columns: what tiles of int8 lack. */
static void find_start(const shared *h) {
    const qgemm *g = h->s->g;
    vi left = {0}, right = {0};
    for (int64_t i = 0; i < g->n_segments * g->vnni4; i++) {
        const int8_t *b = h->b + i * LINE;
        left = (vi)_mm512_dpbusd_epi32((__m512i)left, _mm512_set1_epi8((char)128), _mm512_loadu_si512(b));
        right = (vi)_mm512_dpbusd_epi32((__m512i)right, _mm512_set1_epi8((char)128), _mm512_loadu_si512(b + 64));
    }
    for (int i = 0; i < AMX_ROWS; i++) {
        memcpy(h->start + i * QGEMM_COLUMNS, &left, sizeof left);
        memcpy(h->start + i * QGEMM_COLUMNS + ASC_VF, &right, sizeof right);
    }
}

#define MULTIPLY(flip, sums, a, b)         \
    do {                                   \
        if (flip)                          \
            AMX_MULTIPLY_S8S8(sums, a, b); \
        else                               \
            AMX_MULTIPLY_U8S8(sums, a, b); \
    } while (0)

#define ALWAYS static inline __attribute__((always_inline))

ALWAYS void step(const uint8_t *above, const uint8_t *below, int64_t a_row, const int8_t *b, int two, int flip) {
    AMX_LOAD(4, above, a_row);
    AMX_LOAD(6, b, LINE);
    AMX_LOAD(7, b + AMX_ROW_BYTES, LINE);
    MULTIPLY(flip, 0, 4, 6);
    MULTIPLY(flip, 1, 4, 7);
    if (!two) return;
    AMX_LOAD(5, below, a_row);
    MULTIPLY(flip, 2, 5, 6);
    MULTIPLY(flip, 3, 5, 7);
}

/* The sums of one block or two. */
ALWAYS void multiply(const shared *h, const block *at, const uint8_t *above, const uint8_t *below, int two, int flip) {
    const qgemm *g = h->s->g;
    if (flip) {
        AMX_LOAD(0, h->start, LINE);
        AMX_LOAD(1, h->start + AMX_SUMS, LINE);
        AMX_LOAD(2, h->start, LINE);
        AMX_LOAD(3, h->start + AMX_SUMS, LINE);
    } else {
        AMX_ZERO(0);
        AMX_ZERO(1);
        AMX_ZERO(2);
        AMX_ZERO(3);
    }
    for (int64_t i = 0; i < g->n_segments; i++) {
        const uint8_t *a = at[0].a + g->segments[i], *other = at[two].a + g->segments[i];
        const int8_t *b = h->b + i * g->vnni4 * LINE;
        for (int64_t k = 0; k < h->whole; k++, a += AMX_INT8_K, other += AMX_INT8_K, b += FOURS * LINE)
            step(a, other, g->a_row, b, two, flip);
    }
    for (int64_t k = 0; k < h->rests; k++)
        step(above + k * AMX_INT8_K, below + k * AMX_INT8_K, REST_BYTES, h->b_rest + k * FOURS * LINE, two, flip);
}

static void store(const shared *h, const block *at, int64_t col, int64_t n, const int32_t *sums) {
    ASC_FN(qgemm_strip_end)(h->s, at->line, at->row + at->skip, h->height - at->skip, col, n,
                            sums + at->skip * QGEMM_COLUMNS);
}

ALWAYS void run_blocks(const shared *h, int64_t index, int64_t col, int64_t n, int two, int flip) {
    _Alignas(64) uint8_t rests[2][AMX_ROWS * REST_BYTES + 64];
    _Alignas(64) int32_t sums[2][AMX_ROWS * QGEMM_COLUMNS];
    block at[2] = {block_at(h, index), two ? block_at(h, index + 1) : (block){0}};
    for (int i = 0; i < 1 + two && h->rests; i++) gather_a(h, &at[i], rests[i]);
    AMX_MEMORY();
    multiply(h, at, rests[0], rests[1], two, flip);
    AMX_STORE(0, sums[0], LINE);
    AMX_STORE(1, sums[0] + AMX_SUMS, LINE);
    AMX_STORE(2, sums[1], LINE);
    AMX_STORE(3, sums[1] + AMX_SUMS, LINE);
    AMX_MEMORY();
    for (int i = 0; i < 1 + two; i++) store(h, &at[i], col, n, sums[i]);
}

ALWAYS void run_all(const shared *h, int64_t col, int64_t n, int flip) {
    int64_t count = h->s->lines * h->blocks, i = 0;
    for (; i + 1 < count; i += 2) run_blocks(h, i, col, n, 1, flip);
    if (i < count) run_blocks(h, i, col, n, 0, flip);
}

static void configure(int64_t height) {
    amx_shapes shapes = amx_whole();
    for (int i = 0; i < 6; i++) amx_shape(&shapes, i, (int)height, AMX_ROW_BYTES); /* sums, and rows of A */
    amx_configure(&shapes);
}

int ASC_FN(qgemm_strip_tiles)(const qgemm_strip *s, int64_t col, int64_t n) {
    const qgemm *g = s->g;
    _Alignas(64) int8_t b_rest[REST_BYTES / 4 * LINE];
    _Alignas(64) int32_t start[AMX_ROWS * QGEMM_COLUMNS];
    shared h = {.s = s, .whole = g->vnni4 / FOURS, .rest = g->vnni4 % FOURS, .b_rest = b_rest, .start = start};
    int64_t fours;
    if (!asc_mul_ok(g->n_segments, h.rest, &fours)) return 0;
    h.rests = asc_ceil_div(fours, FOURS);
    int64_t rows = s->lines * s->rows, least = asc_ceil_div(LEAST_FOURS, asc_most(1, g->n_segments * g->vnni4));
    if (h.rests > MOST_RESTS || rows <= QGEMM_ROWS || rows < least) return 0; /* few rows are one register tile */
    h.blocks = asc_ceil_div(s->rows, AMX_ROWS);
    h.height = asc_ceil_div(s->rows, h.blocks);
    h.b = g->b + col / QGEMM_PANEL * g->b_panel;
    if (h.rests) gather_b(&h);
    if (g->flip) find_start(&h);
    configure(h.height);
    if (g->flip)
        run_all(&h, col, n, 1);
    else
        run_all(&h, col, n, 0);
    return 1;
}

void ASC_FN(qgemm_tiles_release)(void) {
    amx_release();
}

#else

int ASC_FN(qgemm_strip_tiles)(const qgemm_strip *s, int64_t col, int64_t n) {
    (void)s, (void)col, (void)n;
    return 0;
}

void ASC_FN(qgemm_tiles_release)(void) {}

#endif
