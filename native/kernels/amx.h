/* amx.h - tiles of AMX: eight registers of up to 16 rows of 64 bytes, and products of them.
 *
 * C += A B, where a row of C is 16 sums. A row of A is 32 bfloat16 or 64 bytes along K. B is packed as vnni2.h and
 * ASC_LAYOUT_VNNI4_32 have it: its row r holds, for each of 16 columns, the two or four elements of K that meet the
 * r-th four bytes of a row of A. Half a panel of 32 columns is such a tile, its rows 128 bytes apart.
 *
 * A thread configures the tiles before it uses them, and releases them when it is done: as long as it has any, each
 * change of threads saves 8 KB. `asc_isa_supported` has asked the system for them.
 *
 * Products of bfloat16 sum a row's even elements of K and its odd ones apart, round to nearest, and take subnormal
 * operands and sums for zero, as vdpbf16ps does. Those of bytes are exact.
 */
#ifndef ASC_KERNELS_AMX_H
#define ASC_KERNELS_AMX_H

#if defined(__AMX_TILE__) || defined(__AMXTILE__) /* the names that GCC and clang have for it */
#define ASC_AMX 1

#include <immintrin.h>
#include <stdint.h>

#define AMX_ROWS 16      /* of a tile */
#define AMX_ROW_BYTES 64 /* at most */
#define AMX_SUMS 16      /* of a row of C */
#define AMX_BF16_K 32    /* elements of K in a tile */
#define AMX_INT8_K 64

/* The shapes of the eight tiles, as tileconfig reads them. */
typedef struct amx_shapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} amx_shapes;

/* The same for all: whole tiles. */
static inline amx_shapes amx_whole(void) {
    amx_shapes s = {.palette = 1};
    for (int i = 0; i < 8; i++) s.rows[i] = AMX_ROWS, s.row_bytes[i] = AMX_ROW_BYTES;
    return s;
}

static inline void amx_shape(amx_shapes *s, int tile, int rows, int row_bytes) {
    s->rows[tile] = (uint8_t)rows;
    s->row_bytes[tile] = (uint16_t)row_bytes;
}

/* GCC's intrinsics don't tell that they read and write memory. */
#define AMX_MEMORY() __asm__ volatile("" ::: "memory")

/* Makes the thread's tiles have these shapes; what they held is lost. */
static inline void amx_configure(const amx_shapes *s) {
    AMX_MEMORY();
    _tile_loadconfig(s);
}

static inline void amx_release(void) {
    _tile_release();
}

/* Tiles are numbers that stand in the text. Between loads and stores of tiles and those of C's own stands AMX_MEMORY.
 */
#define AMX_ZERO(tile) _tile_zero(tile)
#define AMX_LOAD(tile, p, row_bytes) _tile_loadd(tile, p, row_bytes)
#define AMX_STREAM_LOAD(tile, p, row_bytes) _tile_stream_loadd(tile, p, row_bytes) /* read once: not kept near */
#define AMX_STORE(tile, p, row_bytes) _tile_stored(tile, p, row_bytes)
#define AMX_MULTIPLY_BF16(c, a, b) _tile_dpbf16ps(c, a, b)
#define AMX_MULTIPLY_U8S8(c, a, b) _tile_dpbusd(c, a, b)
#define AMX_MULTIPLY_S8S8(c, a, b) _tile_dpbssd(c, a, b)

#endif

#endif
