/* Moving a strided block: axes are coalesced, then one of three loops runs.
 *   rows       both sides have unit stride in the last axis: memcpy of rows
 *   transpose  the target runs along the last axis and the source along another: 2-D tiles
 *   gather     anything else: one element at a time along the last axis
 * Any transpose, slice, concatenation, tiling and broadcast is such a block. */
#include "strided_copy.h"

#include <string.h>

#include "chunks.h"
#include "shuffle.h"
#include "simd.h"

#define TILE 16 /* rows and columns of a transposed tile */

typedef struct plan {
    asc_block b;
    int across;          /* transpose: the source's unit-stride axis */
    int64_t outer_tiles; /* transpose: tiles along `across` */
    int64_t items, per_chunk;
} plan;

/* Drops axes of length 1 and merges neighbours that are one axis on both sides. */
static void coalesce(asc_block *b) {
    int n = 0;
    for (int i = 0; i < b->rank; i++) {
        if (b->dims[i] == 1) continue;
        if (n && b->from_strides[n - 1] == b->from_strides[i] * b->dims[i] &&
            b->to_strides[n - 1] == b->to_strides[i] * b->dims[i]) {
            b->dims[n - 1] *= b->dims[i];
        } else {
            b->dims[n] = b->dims[i];
            n++;
        }
        b->from_strides[n - 1] = b->from_strides[i];
        b->to_strides[n - 1] = b->to_strides[i];
    }
    if (n == 0) {
        b->dims[0] = b->from_strides[0] = b->to_strides[0] = 1;
        n = 1;
    }
    b->rank = n;
}

/* Offsets of the index-th element of the axes that `skip` doesn't name, row-major. */
static void locate(const asc_block *b, int skip, int64_t index, int64_t *from, int64_t *to) {
    *from = *to = 0;
    for (int i = b->rank - 2; i >= 0; i--) {
        if (i == skip) continue;
        int64_t at = index % b->dims[i];
        index /= b->dims[i];
        *from += at * b->from_strides[i];
        *to += at * b->to_strides[i];
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void copy_row(char *to, const char *from, int64_t bytes) {
    if (bytes > 64) {
        memcpy(to, from, (size_t)bytes);
        return;
    }
    for (; bytes >= 8; bytes -= 8, to += 8, from += 8) memcpy(to, from, 8);
    for (; bytes > 0; bytes--) *to++ = *from++;
}

static void rows_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)call, (void)worker;
    const plan *p = arg;
    const asc_block *b = &p->b;
    int64_t end = (chunk + 1) * p->per_chunk < p->items ? (chunk + 1) * p->per_chunk : p->items;
    int64_t bytes = b->dims[b->rank - 1] * b->size, inner = b->rank > 1 ? b->dims[b->rank - 2] : 1;
    for (int64_t i = chunk * p->per_chunk; i < end;) {
        int64_t from, to, n = inner - i % inner;
        if (n > end - i) n = end - i;
        locate(b, -1, i, &from, &to);
        int64_t from_step = b->rank > 1 ? b->from_strides[b->rank - 2] : 0;
        int64_t to_step = b->rank > 1 ? b->to_strides[b->rank - 2] : 0;
        for (int64_t r = 0; r < n; r++)
            copy_row(b->to + (to + r * to_step) * b->size, b->from + (from + r * from_step) * b->size, bytes);
        i += n;
    }
}

/* ---- transpose ------------------------------------------------------------------------------- */

/* Interleaves halves until lanes of rows have become lanes of columns: log2(ASC_VF) steps. */
static inline void transpose_step(vf *rows, int width) {
    vi lane = vi_iota(), odd = (lane & width) != 0;
    vi low = lane + (odd & (ASC_VF - width)), high = lane + width + (odd & (ASC_VF - width));
    for (int i = 0; i < ASC_VF; i++) {
        if (i / width % 2) continue;
        vf a = rows[i], b = rows[i + width];
        rows[i] = asc_shuffle2(a, b, low);
        rows[i + width] = asc_shuffle2(a, b, high);
    }
}

static inline void transpose_square(const float *from, int64_t from_step, float *to, int64_t to_step) {
    vf rows[ASC_VF];
    for (int i = 0; i < ASC_VF; i++) rows[i] = vf_load(from + i * from_step);
    transpose_step(rows, 1);
    transpose_step(rows, 2);
#if ASC_VF >= 8
    transpose_step(rows, 4);
#endif
#if ASC_VF >= 16
    transpose_step(rows, 8);
#endif
    for (int i = 0; i < ASC_VF; i++) vf_store(to + i * to_step, rows[i]);
}

/* to[r][c] = from[c][r] for a tile; steps in elements. */
#define TRANSPOSE_TILE(name, type)                                                                                   \
    static void name(const char *from_, int64_t from_step, char *to_, int64_t to_step, int64_t rows, int64_t cols) { \
        const type *from = (const type *)from_;                                                                      \
        type *to = (type *)to_;                                                                                      \
        for (int64_t r = 0; r < rows; r++)                                                                           \
            for (int64_t c = 0; c < cols; c++) to[r * to_step + c] = from[c * from_step + r];                        \
    }
TRANSPOSE_TILE(tile_1, uint8_t)
TRANSPOSE_TILE(tile_2, uint16_t)
TRANSPOSE_TILE(tile_4_scalar, uint32_t)
TRANSPOSE_TILE(tile_8, uint64_t)

static void tile_4(const char *from, int64_t from_step, char *to, int64_t to_step, int64_t rows, int64_t cols) {
    int64_t r = 0, full_rows = rows / ASC_VF * ASC_VF, full_cols = cols / ASC_VF * ASC_VF;
    for (; r < full_rows; r += ASC_VF) {
        const float *source = (const float *)from + r;
        float *target = (float *)to + r * to_step;
        for (int64_t c = 0; c < full_cols; c += ASC_VF)
            transpose_square(source + c * from_step, from_step, target + c, to_step);
        tile_4_scalar((const char *)(source + full_cols * from_step), from_step, (char *)(target + full_cols), to_step,
                      ASC_VF, cols - full_cols);
    }
    tile_4_scalar(from + r * 4, from_step, to + r * to_step * 4, to_step, rows - r, cols);
}

typedef void (*tile_fn)(const char *, int64_t, char *, int64_t, int64_t, int64_t);
static tile_fn tile_of(int64_t size) {
    return size == 1 ? tile_1 : size == 2 ? tile_2 : size == 4 ? tile_4 : tile_8;
}

/* One item is a strip: TILE steps along `across`, the whole last axis. */
static void transpose_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)call, (void)worker;
    const plan *p = arg;
    const asc_block *b = &p->b;
    tile_fn tile = tile_of(b->size);
    int last = b->rank - 1;
    int64_t end = (chunk + 1) * p->per_chunk < p->items ? (chunk + 1) * p->per_chunk : p->items;
    for (int64_t i = chunk * p->per_chunk; i < end; i++) {
        int64_t from, to, row = i % p->outer_tiles * TILE, rows = b->dims[p->across] - row;
        if (rows > TILE) rows = TILE;
        locate(b, p->across, i / p->outer_tiles, &from, &to);
        from += row;
        to += row * b->to_strides[p->across];
        for (int64_t c = 0; c < b->dims[last]; c += TILE) {
            int64_t cols = b->dims[last] - c < TILE ? b->dims[last] - c : TILE;
            tile(b->from + (from + c * b->from_strides[last]) * b->size, b->from_strides[last],
                 b->to + (to + c) * b->size, b->to_strides[p->across], rows, cols);
        }
    }
}

/* ---- gather ---------------------------------------------------------------------------------- */

#define GATHER_ROW(type) \
    for (int64_t c = 0; c < n; c++) ((type *)to)[c * to_step] = ((const type *)from)[c * from_step]

static void gather_row(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n, int64_t size) {
    switch (size) {
        case 1: GATHER_ROW(uint8_t); break;
        case 2: GATHER_ROW(uint16_t); break;
        case 4: GATHER_ROW(uint32_t); break;
        default: GATHER_ROW(uint64_t); break;
    }
}

static void gather_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)call, (void)worker;
    const plan *p = arg;
    const asc_block *b = &p->b;
    int last = b->rank - 1;
    int64_t end = (chunk + 1) * p->per_chunk < p->items ? (chunk + 1) * p->per_chunk : p->items;
    for (int64_t i = chunk * p->per_chunk; i < end; i++) {
        int64_t from, to;
        locate(b, -1, i, &from, &to);
        gather_row(b->to + to * b->size, b->to_strides[last], b->from + from * b->size, b->from_strides[last],
                   b->dims[last], b->size);
    }
}

/* ---- choice ---------------------------------------------------------------------------------- */

static int unit_axis(const asc_block *b) {
    for (int i = 0; i < b->rank - 1; i++)
        if (b->from_strides[i] == 1) return i;
    return -1;
}

/* One axis without gaps is cut into rows, so that several threads share it. */
static void split_single_row(asc_block *b) {
    enum { ROW = 1 << 16 };
    int64_t n = b->dims[0];
    if (b->rank != 1 || n % 2 || n < 2 * ROW) return;
    int64_t rows = 2;
    while (n / rows > ROW && n % (rows * 2) == 0) rows *= 2;
    b->rank = 2;
    b->dims[0] = rows;
    b->dims[1] = n / rows;
    b->from_strides[0] = b->to_strides[0] = n / rows;
    b->from_strides[1] = b->to_strides[1] = 1;
}

/* The loop that moves it; NULL: there is nothing to move. */
static asc_chunk_fn choose(const asc_call *call, plan *p) {
    asc_block *b = &p->b;
    int64_t total = 1;
    for (int i = 0; i < b->rank; i++) total *= b->dims[i];
    if (total == 0) return NULL;
    coalesce(b);
    asc_chunk_fn fn = gather_chunk;
    int last = b->rank - 1;
    p->across = unit_axis(b);
    if (b->to_strides[last] == 1 && b->from_strides[last] == 1) {
        split_single_row(b);
        last = b->rank - 1;
        p->items = total / b->dims[last];
        fn = rows_chunk;
    } else if (b->to_strides[last] == 1 && p->across >= 0) {
        p->outer_tiles = asc_ceil_div(b->dims[p->across], TILE);
        p->items = total / b->dims[last] / b->dims[p->across] * p->outer_tiles;
        fn = transpose_chunk;
    } else {
        p->items = total / b->dims[last];
    }
    p->per_chunk = asc_chunk_items(call, p->items, total / p->items * b->size * (fn == rows_chunk ? 1 : 2));
    return fn;
}

void ASC_FN(asc_copy_block)(const asc_call *call, const asc_block *block) {
    plan p = {.b = *block};
    asc_chunk_fn fn = choose(call, &p);
    if (fn) asc_parallel(call, asc_ceil_div(p.items, p.per_chunk), fn, &p);
}

void ASC_FN(asc_copy_schedule)(const asc_call *call, const asc_block *block, char *text, size_t room) {
    plan p = {.b = *block};
    asc_chunk_fn fn = choose(call, &p);
    if (fn)
        asc_say_chunks(call,
                       fn == rows_chunk        ? "rows"
                       : fn == transpose_chunk ? "transpose"
                                               : "gather",
                       asc_ceil_div(p.items, p.per_chunk), text, room);
    else
        asc_format(text, room, ASC_NO_SCHEDULE);
}
