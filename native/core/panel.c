/* ASC_LAYOUT_PANEL32, PAIRS32, BYTES32 and NIBBLES32: a [K,N] matrix as ceil(N/32) panels, each K rows of 32
 * consecutive columns, the columns past N zero. A GEMM then reads its right operand as one forward stream on every ISA.
 */
#include <string.h>

#include "kernel.h"

#define PANEL 32

int64_t asc_panel32_floats(int64_t k, int64_t n) {
    int64_t columns, floats;
    if (n < 0 || n > INT64_MAX - (PANEL - 1)) return 0;
    columns = (n + PANEL - 1) / PANEL * PANEL;
    if (!asc_mul_ok(k, columns, &floats) || floats > INT64_MAX / (int64_t)sizeof(float)) return 0;
    return floats;
}

void asc_pack_panel32(const float *b, int64_t k, int64_t n, int64_t row_stride, int64_t col_stride, float *out) {
    for (int64_t j = 0; j < n; j += PANEL) {
        int64_t width = n - j < PANEL ? n - j : PANEL;
        const float *panel = b + j * col_stride;
        for (int64_t i = 0; i < k; i++, out += PANEL) {
            const float *row = panel + i * row_stride;
            if (col_stride == 1)
                memcpy(out, row, (size_t)width * sizeof *out);
            else
                for (int64_t c = 0; c < width; c++) out[c] = row[c * col_stride];
            if (width < PANEL) memset(out + width, 0, (size_t)(PANEL - width) * sizeof *out);
        }
    }
}

/* To the nearest bfloat16, ties to even; NaN stays NaN. */
static uint32_t round_to_bfloat16(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000) return (bits >> 16) | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

void asc_pack_pairs32(const float *b, int64_t k, int64_t n, int64_t row_stride, int64_t col_stride, uint32_t *out) {
    for (int64_t j = 0; j < n; j += PANEL) {
        int64_t width = n - j < PANEL ? n - j : PANEL;
        for (int64_t i = 0; i < k; i += 2, out += PANEL) {
            const float *row = b + j * col_stride + i * row_stride;
            for (int64_t c = 0; c < width; c++) {
                uint32_t second = i + 1 < k ? round_to_bfloat16(row[row_stride + c * col_stride]) : 0;
                out[c] = round_to_bfloat16(row[c * col_stride]) | second << 16;
            }
            if (width < PANEL) memset(out + width, 0, (size_t)(PANEL - width) * sizeof *out);
        }
    }
}

void asc_pack_bytes32(const int8_t *b, int64_t k, int64_t n, int64_t row_stride, int64_t col_stride, int8_t *out) {
    for (int64_t j = 0; j < n; j += PANEL) {
        int64_t width = n - j < PANEL ? n - j : PANEL;
        for (int64_t i = 0; i < k; i++, out += PANEL) {
            const int8_t *row = b + j * col_stride + i * row_stride;
            for (int64_t c = 0; c < width; c++) out[c] = row[c * col_stride];
            if (width < PANEL) memset(out + width, 0, (size_t)(PANEL - width));
        }
    }
}

void asc_pack_nibbles32(const int8_t *b, int64_t k, int64_t n, int64_t row_stride, int64_t col_stride, int8_t *out) {
    for (int64_t j = 0; j < n; j += PANEL) {
        int64_t width = n - j < PANEL ? n - j : PANEL;
        for (int64_t i = 0; i < k; i += 2, out += PANEL) {
            const int8_t *row = b + j * col_stride + i * row_stride;
            for (int64_t c = 0; c < width; c++) {
                uint8_t second = i + 1 < k ? (uint8_t)row[row_stride + c * col_stride] : 0;
                out[c] = (int8_t)(((uint8_t)row[c * col_stride] & 15) | (uint8_t)(second << 4));
            }
            if (width < PANEL) memset(out + width, 0, (size_t)(PANEL - width));
        }
    }
}
