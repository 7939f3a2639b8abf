/* int8 and 4-bit weights as they are read: dequantised in registers for a few rows, or a block of a panel at a time
 * into the memory from which the float32 tiles read. */
#include "gemm_bytes.h"

#include "heights.h"

#if defined(__SSE4_1__) && !defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define PER_PANEL (GEMM_PANEL / ASC_VF) /* vectors in a row of a panel */
#define ALWAYS static inline __attribute__((always_inline))
#if ASC_VF == 16
#define TALL 8 /* rows of A at a time: their sums are in registers */
#else
#define TALL 4
#endif
#define AHEAD 2048 /* bytes of a panel that are fetched before they are read: the fetcher stops at a page's end */

ALWAYS vi load_bytes(const int8_t *p) {
#if defined(__AVX512F__)
    return (vi)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p));
#elif defined(__AVX2__)
    return (vi)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p));
#elif defined(__SSE4_1__)
    int32_t bits;
    memcpy(&bits, p, sizeof bits);
    return (vi)_mm_cvtepi8_epi32(_mm_cvtsi32_si128(bits));
#elif defined(__aarch64__)
    uint32_t bits;
    memcpy(&bits, p, sizeof bits);
    return (vi)vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(bits))));
#else
    vi v;
    for (int i = 0; i < ASC_VF; i++) v[i] = p[i];
    return v;
#endif
}

/* Of bytes that hold two rows of four bits: the first row, and the second. */
ALWAYS vi low_half(vi bytes) {
    return (vi)((vw)bytes << 28) >> 28;
}

ALWAYS vi high_half(vi bytes) {
    return bytes >> 4;
}

ALWAYS vf dequantise(vi integers, vf scale, vf zero, int has_zero) {
    vf q = __builtin_convertvector(integers, vf);
    return (has_zero ? q - zero : q) * scale;
}

void ASC_FN(gemm_pack_bytes)(const gemm *g, int64_t panel, int64_t k0, int64_t k, float *out) {
    const gemm_bytes *b = g->source;
    const int8_t *from = b->weights + panel * gemm_bytes_panel(b, g->k);
    int64_t end = k0 + k, table = panel * b->blocks * GEMM_PANEL;
    while (k0 < end) {
        int64_t index = k0 / b->block, left = b->block - k0 % b->block, last = left < end - k0 ? k0 + left : end;
        const float *s = b->scale + table + index * GEMM_PANEL, *z = b->zero ? b->zero + table + index * GEMM_PANEL : s;
        vf scale[PER_PANEL], zero[PER_PANEL];
        for (int v = 0; v < PER_PANEL; v++) scale[v] = vf_load(s + v * ASC_VF);
        for (int v = 0; v < PER_PANEL; v++) zero[v] = b->zero ? vf_load(z + v * ASC_VF) : (vf){0};
        for (; k0 < last; k0++, out += GEMM_PANEL) {
            const int8_t *row = from + (b->nibbles ? k0 / 2 : k0) * GEMM_PANEL;
#pragma GCC unroll 8
            for (int v = 0; v < PER_PANEL; v++) {
                vi bytes = load_bytes(row + v * ASC_VF);
                if (b->nibbles) bytes = k0 % 2 ? high_half(bytes) : low_half(bytes);
                vf_store(out + v * ASC_VF, dequantise(bytes, scale[v], zero[v], 1));
            }
        }
    }
}

/* Where a strip of columns begins: in B, and in the tables of scales and zero points. */
typedef struct strip {
    const float *a;
    int64_t a_row, k;
    const int8_t *weights;
    const float *scale, *zero;
    int64_t block, panel, table_panel; /* panels of B are so many bytes apart, those of the tables so many floats */
    float *c;
    int64_t ldc;
    int nibbles;
} strip;

/* What a strip needs in registers while it passes the rows of a block of scales. */
typedef struct tables {
    vf scale[8], zero[8];
} tables;

ALWAYS void read_tables(tables *t, const float *scales, const float *zeros, int64_t panel, const int vectors,
                        const int has_zero) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) {
        int64_t at = v / PER_PANEL * panel + v % PER_PANEL * ASC_VF;
        t->scale[v] = vf_load(scales + at);
        t->zero[v] = has_zero ? vf_load(zeros + at) : (vf){0};
    }
}

/* sum[i][v] += a[i] w[v] for one row of weights. */
ALWAYS void add_row(vf sum[TALL][8], const float *a, int64_t a_row, const vi *integers, const tables *t, const int rows,
                    const int vectors, const int has_zero) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) {
        vf w = dequantise(integers[v], t->scale[v], t->zero[v], has_zero);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) sum[i][v] = vf_fma(vf_set(a[i * a_row]), w, sum[i][v]);
    }
}

ALWAYS void stream(const strip *t, const int rows, const int vectors, const int has_zero, const int nibbles) {
    vf sum[TALL][8];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) sum[i][v] = (vf){0};
    const float *a = t->a, *scales = t->scale, *zeros = t->zero;
    const int8_t *b = t->weights;
    const int64_t panel = t->panel, a_row = t->a_row;
    for (int64_t left = t->k; left > 0; left -= t->block, scales += GEMM_PANEL, zeros += has_zero ? GEMM_PANEL : 0) {
        tables table;
        read_tables(&table, scales, zeros, t->table_panel, vectors, has_zero);
        int64_t k = left < t->block ? left : t->block;
        for (; k > 0; k -= nibbles ? 2 : 1, b += GEMM_PANEL, a += nibbles ? 2 : 1) {
            vi bytes[8], part[8];
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++) {
                const int8_t *p = b + v / PER_PANEL * panel + v % PER_PANEL * ASC_VF;
                if (v % PER_PANEL == 0) __builtin_prefetch(p + AHEAD, 0, 0); /* once: not to be kept in the caches */
                bytes[v] = load_bytes(p);
                part[v] = nibbles ? low_half(bytes[v]) : bytes[v];
            }
            add_row(sum, a, a_row, part, &table, rows, vectors, has_zero);
            if (!nibbles || k == 1) continue;
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++) part[v] = high_half(bytes[v]);
            add_row(sum, a + 1, a_row, part, &table, rows, vectors, has_zero);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) vf_store(t->c + i * t->ldc + v * ASC_VF, sum[i][v]);
}

#define STREAM(rows, vectors)                               \
    static void stream_##rows##x##vectors(const strip *t) { \
        if (t->nibbles && t->zero)                          \
            stream(t, rows, vectors, 1, 1);                 \
        else if (t->nibbles)                                \
            stream(t, rows, vectors, 0, 1);                 \
        else if (t->zero)                                   \
            stream(t, rows, vectors, 1, 0);                 \
        else                                                \
            stream(t, rows, vectors, 0, 0);                 \
    }
#define STREAMS(rows) STREAM(rows, 2) STREAM(rows, 4)
STREAM(1, 8)
EACH_HEIGHT(4, STREAMS)
#if TALL > 4
STREAM(5, 2)
STREAM(6, 2)
STREAM(7, 2)
STREAM(8, 2)
#endif

typedef void (*stream_fn)(const strip *);
#define ROW(rows) {stream_##rows##x2, stream_##rows##x4},
#define TWO(rows) {stream_##rows##x2, stream_##rows##x2},
static const stream_fn STRIPS[TALL][2] = {EACH_HEIGHT(4, ROW)
#if TALL > 4
                                              TWO(5) TWO(6) TWO(7) TWO(8)
#endif
};

/* The widest strip that `cols` columns fill. Two vectors are never wider than a panel, whose columns past N exist. */
static int strip_vectors(int64_t rows, int64_t cols) {
    if (rows == 1 && cols >= 8 * ASC_VF) return 8;
    return rows <= 4 && cols >= 4 * ASC_VF ? 4 : 2;
}

/* Rows of one strip: `cols` columns of it exist. */
static void run_strip(const gemm *g, strip *t, int vectors, int64_t row, int64_t rows, int64_t col, int64_t cols) {
    float edge[TALL * 8 * ASC_VF], *c = g->c + row * g->ldc + col;
    int64_t width = (int64_t)vectors * ASC_VF;
    t->a = g->a + row * g->a_row;
    t->c = cols < width ? edge : c;
    t->ldc = cols < width ? width : g->ldc;
    if (vectors == 8)
        stream_1x8(t);
    else
        STRIPS[rows - 1][vectors / 4](t);
    epilogue_rows done = {.sums = t->c, .sums_row = t->ldc, .y = c, .y_row = g->ldc, .rows = rows, .cols = cols};
    if (cols < width || !epilogue_is_plain(&g->epilogue)) ASC_FN(epilogue_apply)(&g->epilogue, &done, row, col);
}

/* All rows pass a strip before the next: only the first of them reads it from far. */
void ASC_FN(gemm_bytes_stream)(const gemm *g, int64_t row, int64_t rows, int64_t panel, int64_t panel_end) {
    const gemm_bytes *b = g->source;
    int64_t end = panel_end * GEMM_PANEL, groups = (rows + TALL - 1) / TALL, most = (rows + groups - 1) / groups;
    strip t = {.a_row = g->a_row, .k = g->k, .block = b->block, .nibbles = b->nibbles};
    t.panel = gemm_bytes_panel(b, g->k);
    t.table_panel = b->blocks * GEMM_PANEL;
    for (int64_t col = panel * GEMM_PANEL, width; col < end && col < g->n; col += width) {
        int vectors = strip_vectors(most, end - col);
        width = (int64_t)vectors * ASC_VF;
        int64_t cols = g->n - col < width ? g->n - col : width, at = col / GEMM_PANEL, within = col % GEMM_PANEL;
        t.weights = b->weights + at * t.panel + within;
        t.scale = b->scale + at * t.table_panel + within;
        t.zero = b->zero ? b->zero + at * t.table_panel + within : NULL;
        for (int64_t i = 0; i < groups; i++) {
            int64_t first = rows * i / groups, tall = rows * (i + 1) / groups - first;
            run_strip(g, &t, vectors, row + first, tall, col, cols);
        }
    }
}
