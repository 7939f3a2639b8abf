/* Layouts of packed weights: a [K,N] matrix as ceil(N/32) panels, each of rows of 32 units, those past the last column
 * zero. A GEMM then reads its right operand as one forward stream on every ISA.
 */
#include <string.h>

#include "asc_plan.h"
#include "kernel.h"

#define PANEL ASC_PANEL
#define LINES_TOGETHER 32
#define ALWAYS static inline __attribute__((always_inline))

static const asc_layout LAYOUTS[ASC_LAYOUT_COUNT] = {
    [ASC_LAYOUT_PLAIN] = {"plain", 0, 0, 0, 0, 1},
    [ASC_LAYOUT_PANEL32] = {"panel32", ASC_FLOAT32, ASC_FLOAT32, 1, 4, 1},
    [ASC_LAYOUT_VNNI2_32] = {"vnni2_32", ASC_BFLOAT16, ASC_FLOAT32, 2, 4, 1},
    [ASC_LAYOUT_BYTES32] = {"bytes32", ASC_INT8, ASC_INT8, 1, 1, 3},
    [ASC_LAYOUT_NIBBLES32] = {"nibbles32", ASC_INT8, ASC_INT8, 2, 1, 3},
    [ASC_LAYOUT_FP16_32] = {"fp16_32", ASC_FLOAT16, ASC_FLOAT16, 1, 2, 5},
    [ASC_LAYOUT_VNNI4_32] = {"vnni4_32", ASC_INT8, ASC_INT8, 4, 4, 5},
};

const asc_layout *asc_layout_of(int32_t layout) {
    return layout >= 0 && layout < ASC_LAYOUT_COUNT ? &LAYOUTS[layout] : NULL;
}

int64_t asc_packed_bytes(int32_t layout, int64_t k, int64_t n) {
    const asc_layout *l = asc_layout_of(layout);
    int64_t bytes;
    if (!l || !l->rows || k < 0 || n < 0 || n > INT64_MAX - PANEL) return -1;
    k = k / l->rows + (k % l->rows != 0);
    if (!asc_mul_ok(k, (n + PANEL - 1) / PANEL * PANEL, &bytes) || !asc_mul_ok(bytes, l->unit_bytes, &bytes)) return -1;
    return bytes;
}

/* Makes one unit of `rows` elements `step` bytes apart. */
typedef void (*join_fn)(const char *element, int64_t step, int64_t rows, char *unit);

ALWAYS void copy_float(const char *element, int64_t step, int64_t rows, char *unit) {
    (void)step, (void)rows;
    memcpy(unit, element, 4);
}

ALWAYS void copy_half(const char *element, int64_t step, int64_t rows, char *unit) {
    (void)step, (void)rows;
    memcpy(unit, element, 2);
}

ALWAYS void copy_byte(const char *element, int64_t step, int64_t rows, char *unit) {
    (void)step, (void)rows;
    *unit = *element;
}

/* To the nearest bfloat16, ties to even; NaN stays NaN. */
ALWAYS uint32_t round_to_bfloat16(const char *element) {
    uint32_t bits;
    memcpy(&bits, element, sizeof bits);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, nan = (bits >> 16) | 0x40;
    return (int32_t)(bits & 0x7fffffff) > 0x7f800000 ? nan : rounded;
}

ALWAYS void join_pair(const char *element, int64_t step, int64_t rows, char *unit) {
    uint32_t second = rows > 1 ? round_to_bfloat16(element + step) : 0;
    uint32_t pair = round_to_bfloat16(element) | second << 16;
    memcpy(unit, &pair, sizeof pair);
}

ALWAYS void join_nibbles(const char *element, int64_t step, int64_t rows, char *unit) {
    uint8_t second = rows > 1 ? (uint8_t)element[step] : 0;
    *unit = (char)(((uint8_t)*element & 15) | (uint8_t)(second << 4));
}

ALWAYS void join_vnni4(const char *element, int64_t step, int64_t rows, char *unit) {
    for (int64_t i = 0; i < 4; i++) unit[i] = i < rows ? element[i * step] : 0;
}

/* One line of a panel: `width` units of `present` rows, then zeros. */
ALWAYS void pack_line(const char *row, int64_t row_step, int64_t col_step, int64_t width, int64_t present, char *out,
                      const int64_t unit, join_fn join) {
    for (int64_t c = 0; c < width; c++) join(row + c * col_step, row_step, present, out + c * unit);
    if (width < PANEL) memset(out + width * unit, 0, (size_t)((PANEL - width) * unit));
}

/* Lines `first` to `end` of all panels. Strides in bytes; `rows`, `unit` and perhaps `col_step` are constants, so that
 * every layout has loops of its own, and lines that are whole loops of known length. */
ALWAYS void pack_lines(const char *b, int64_t k, int64_t n, int64_t row_step, int64_t col_step, char *out,
                       int64_t first, int64_t end, const int64_t rows, const int64_t unit, join_fn join) {
    int64_t whole = k / rows, lines = whole + (k % rows != 0);
    for (int64_t j = 0; j < n; j += PANEL) {
        int64_t width = n - j < PANEL ? n - j : PANEL;
        for (int64_t i = first; i < end; i++) {
            const char *row = b + j * col_step + i * rows * row_step;
            char *line = out + (j * lines + i * PANEL) * unit;
            if (width == PANEL && i < whole)
                pack_line(row, row_step, col_step, PANEL, rows, line, unit, join);
            else
                pack_line(row, row_step, col_step, width, i < whole ? rows : k % rows, line, unit, join);
        }
    }
}

/* Where elements of a row lie side by side, a few lines of all panels at a time: the pages of their rows are then
 * looked up once, not for each panel. */
ALWAYS void pack(const char *b, int64_t k, int64_t n, int64_t row_step, int64_t col_step, const int64_t size, char *out,
                 const int64_t rows, const int64_t unit, join_fn join) {
    int64_t lines = k / rows + (k % rows != 0);
    if (col_step != size) {
        pack_lines(b, k, n, row_step, col_step, out, 0, lines, rows, unit, join);
        return;
    }
    for (int64_t i = 0; i < lines; i += LINES_TOGETHER) {
        int64_t end = lines - i < LINES_TOGETHER ? lines : i + LINES_TOGETHER;
        pack_lines(b, k, n, row_step, size, out, i, end, rows, unit, join);
    }
}

void asc_pack(int32_t layout, const void *b, int64_t k, int64_t n, int64_t row_stride, int64_t col_stride, void *out) {
    int64_t size = (int64_t)asc_dtype_bytes(asc_layout_of(layout)->source), row = row_stride * size;
    int64_t col = col_stride * size;
    switch (layout) {
        case ASC_LAYOUT_PANEL32: pack(b, k, n, row, col, 4, out, 1, 4, copy_float); break;
        case ASC_LAYOUT_VNNI2_32: pack(b, k, n, row, col, 4, out, 2, 4, join_pair); break;
        case ASC_LAYOUT_BYTES32: pack(b, k, n, row, col, 1, out, 1, 1, copy_byte); break;
        case ASC_LAYOUT_NIBBLES32: pack(b, k, n, row, col, 1, out, 2, 1, join_nibbles); break;
        case ASC_LAYOUT_FP16_32: pack(b, k, n, row, col, 2, out, 1, 2, copy_half); break;
        case ASC_LAYOUT_VNNI4_32: pack(b, k, n, row, col, 1, out, 4, 4, join_vnni4); break;
        default: break;
    }
}
