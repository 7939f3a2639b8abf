/* Convolution with channels last by register tiles. A chunk is a span of output pixels by a range of weight panels; its
 * inputs are read where they lie, or copied with their padding into a strip that stays in L2. */
#include "conv_dense.h"

#include "conv_tile.h"

/* Output places whose windows are at hand: `lines` lines of `width` pixels, the first of which is pixel `first` of Y;
 * the next one is `across` pixels further, the next line `down`. The window of pixel i of line l starts at x + l * line
 * + i * pixel; x points to floats, or to pairs of bfloat16, which are as large. */
typedef struct conv_span {
    const float *x;
    int64_t first, across, down, lines, width, line, pixel;
    int64_t plane, row; /* of the first line's outputs */
} conv_span;

#define STRIP_BYTES (320 << 10)     /* a strip leaves room for weights in L2 */
#define MOST_STRIP_FLOATS (1 << 26) /* of a single row */
#define WEIGHT_BYTES (384 << 10)    /* weights of a chunk that stay in L2 while tiles pass */
#define BLOCK_BYTES (16 << 10)      /* inputs that stay in L1 while weights pass */

static int64_t group_panels(const conv *c) {
    return asc_ceil_div(c->group_out, GEMM_PANEL);
}

static const conv_tiles FLOAT_TILES = {.rows = CONV_ROWS, .run = ASC_FN(conv_tile_run)};
static const conv_tiles PAIR_TILES = {.rows = CONV_ROWS, .run = ASC_FN(conv_tile_vnni2_run)};

static const conv_tiles *tiles_of(const conv *c) {
    const conv_tiles *amx = ASC_FN(conv_amx_tiles)();
    if (!c->vnni2) return &FLOAT_TILES;
    return amx && c->group_depth > 0 ? amx : &PAIR_TILES; /* AMX has no tiles of nothing */
}

const char *ASC_FN(conv_dense_tiles)(const conv *c) {
    return tiles_of(c) == &PAIR_TILES ? "pairs" : "amx";
}

/* Floats from a window to that of the next pixel, and of the next line. */
static int64_t pixel_step(const conv *c) {
    return c->depth * (conv_is_flat(c) ? 1 : c->stride[WIDTH]);
}

static int64_t line_step(const conv *c) {
    return ASC_FN(conv_strip_width)(c) * c->depth * c->stride[HEIGHT];
}

/* Lines of a tile. Taps far apart may read nothing but padding in one line, and are left out of its windows. */
static int64_t tile_lines(const conv *c) {
    const conv_tiles *form = tiles_of(c);
    int apart = c->kernel[HEIGHT] > 1 && c->dilation[HEIGHT] > 1;
    if (!form->lines || conv_is_flat(c) || apart || ASC_FN(conv_strip_width)(c) > form->rows) return 1;
    return asc_least(c->out[HEIGHT], form->lines(c->out[WIDTH], line_step(c), pixel_step(c)));
}

/* Taps of a run: neighbours along the width when their channels are, too. */
static int64_t run_taps(const conv *c) {
    return c->dilation[WIDTH] == 1 && c->groups == 1 ? c->kernel[WIDTH] : 1;
}

/* Runs of a window. */
static int64_t run_count(const conv *c) {
    return c->taps / run_taps(c);
}

/* A worker's runs of all windows, and of those of one tile. */
static size_t runs_bytes(const conv *c) {
    return 2 * (size_t)asc_ceil_div(run_count(c), 4) * 4 * sizeof(conv_run);
}

/* Whether the weights leave L2 while a span passes them. */
static int is_heavy(const conv *c) {
    int64_t rows = WEIGHT_BYTES / (int64_t)sizeof(float) / GEMM_PANEL / (c->groups * group_panels(c));
    return c->group_depth * c->taps > rows;
}

/* Rows (flat: pixels) of a span: no fewer than pay for a pass of the weights, no more than a strip holds. */
static int64_t span_size(const conv *c, int64_t count, int64_t spans) {
    int flat = conv_is_flat(c);
    int64_t pixels = is_heavy(c) ? 7 * CONV_ROWS : 2 * CONV_ROWS, wide = flat ? 1 : c->out[WIDTH];
    int64_t one = ASC_FN(conv_strip_size)(c, 1), two = ASC_FN(conv_strip_size)(c, 2);
    int64_t room = STRIP_BYTES / (int64_t)sizeof(float), fit = 1;
    if (one < room && two > one) fit = 1 + (room - one) / (two - one);
    if (flat) fit = asc_most(fit, pixels);
    int64_t size = asc_least(asc_most(asc_ceil_div(count, spans), asc_ceil_div(pixels, wide)), fit);
    int64_t tile = flat ? tiles_of(c)->rows : tile_lines(c);
    size = asc_ceil_div(size, tile) * tile;
    return asc_least(size, count);
}

/* Pieces of a line, which has no rows to share among threads: as few pixels as pay for a pass of the weights. */
static int64_t piece_count(const conv *c, int64_t wanted) {
    if (conv_is_flat(c) || c->out[HEIGHT] * c->out[DEPTH] > 1) return 1;
    int64_t room = STRIP_BYTES / (int64_t)sizeof(float), fit = asc_ceil_div(ASC_FN(conv_strip_size)(c, 1), room);
    int64_t most = c->out[WIDTH] / (is_heavy(c) ? 7 * CONV_ROWS : 2 * CONV_ROWS);
    return asc_most(1, asc_least(most, asc_most(fit, asc_ceil_div(wanted, c->batch))));
}

/* One of a number of pieces: a convolution whose outputs are some columns of Y. */
static conv take_piece(const conv *c, int64_t pieces, int64_t index) {
    conv p = *c;
    int64_t from = asc_split_at(c->out[WIDTH], pieces, index);
    p.out[WIDTH] = asc_split_at(c->out[WIDTH], pieces, index + 1) - from;
    p.pad[WIDTH] -= from * c->stride[WIDTH];
    p.begin[WIDTH] += from * c->apart[WIDTH];
    return p;
}

/* Chunks: spans first (of phases, and those of pieces), then parts of the weights. */
/* Nanoseconds of one thread; only to size chunks. */
int64_t ASC_FN(conv_cost)(const conv *c) {
    double lanes = (double)(asc_ceil_div(c->out_channels, ASC_VF) * ASC_VF);
    double macs = (double)c->batch * lanes * (double)c->out_size * (double)(c->group_depth * c->taps + 4);
    double ns = macs / (ASC_VF * (c->group_in > 1 ? 7 : 2));
    return ns > 1e15 ? (int64_t)1e15 : (int64_t)ns;
}

int32_t ASC_FN(conv_dense_prepare)(asc_call *call, const conv *of) {
    conv largest = ASC_FN(conv_largest_phase)(of), *c = &largest;
    int64_t phases = ASC_FN(conv_phases)(of), ns = ASC_FN(conv_cost)(c) * phases, panels = c->groups * group_panels(c),
            bytes = 0, floats = 0;
    int64_t wanted = conv_chunks_wanted(call, ns);
    int64_t pieces = piece_count(c, wanted);
    c->out[WIDTH] = asc_ceil_div(c->out[WIDTH], pieces);
    int flat = conv_is_flat(c), strip = !conv_is_in_place(c);
    int64_t planes = flat ? 1 : c->batch * c->out[DEPTH], count = flat ? c->batch * c->out_size : c->out[HEIGHT];
    int64_t span = span_size(c, count, asc_ceil_div(wanted, planes * phases));
    int64_t spans = phases * pieces * planes * asc_ceil_div(count, span);
    int64_t parts = asc_least(panels, asc_ceil_div(wanted, spans));
    if (strip) floats = ASC_FN(conv_strip_size)(c, span);
    ASC_REQUIRE(call, floats <= MOST_STRIP_FLOATS, "conv_last: the windows of a row reach too far");
    if (strip) floats += tiles_of(c)->behind * asc_least(pixel_step(c), MOST_STRIP_FLOATS);
    ASC_REQUIRE(call,
                asc_mul_ok(floats, sizeof(float), &bytes) &&
                    asc_add_ok(bytes, (int64_t)(sizeof(conv_worker) + runs_bytes(c)) + 2 * ASC_ALIGN, &bytes),
                "conv_last: the operands are too large");
    bytes = bytes / ASC_ALIGN * ASC_ALIGN;
    int64_t total;
    ASC_REQUIRE(call, asc_mul_ok(bytes, call->threads, &total), "conv_last: the operands are too large");
    conv_last_note_of(call)->spans = spans;
    conv_last_note_of(call)->span = span;
    conv_last_note_of(call)->parts = parts;
    conv_last_note_of(call)->pieces = pieces;
    conv_last_note_of(call)->scratch_bytes = bytes;
    conv_last_note_of(call)->serial = wanted == 1;
    call->workspace_bytes = (uint64_t)total;
    return ASC_OK;
}

/* Pixel [plane, row, 0] of a phase in Y; planes are counted over the batch. */
static int64_t place_in_y(const conv *c, int64_t plane, int64_t row) {
    int64_t image = plane / c->out[DEPTH], place = plane % c->out[DEPTH];
    int64_t at = image * c->whole[DEPTH] + c->begin[DEPTH] + place * c->apart[DEPTH];
    at = at * c->whole[HEIGHT] + c->begin[HEIGHT] + row * c->apart[HEIGHT];
    return at * c->whole[WIDTH] + c->begin[WIDTH];
}

/* The places of span number `index` of a phase, and their inputs at hand; `key` names both. None (no lines) where
 * other phases have more rows or planes. */
static conv_span find_span(const asc_call *call, const conv *c, int64_t index, int64_t key, conv_worker *state,
                           float *strip) {
    int64_t size = conv_last_note_of(call)->span;
    conv_span s = {.x = strip, .pixel = pixel_step(c), .across = c->apart[WIDTH]};
    if (conv_is_flat(c)) {
        s.first = index * size;
        s.lines = 1;
        s.width = asc_least(size, c->batch * c->out_size - s.first);
        if (conv_is_in_place(c))
            s.x = c->x + s.first * c->depth;
        else if (state->holds != key)
            ASC_FN(conv_fill_strip)(c, 0, s.first, s.width, strip);
    } else {
        int64_t most_rows = asc_ceil_div(c->whole[HEIGHT], c->apart[HEIGHT]), per_plane = asc_ceil_div(most_rows, size);
        int64_t most_planes = asc_ceil_div(c->whole[DEPTH], c->apart[DEPTH]), row = index % per_plane * size;
        int64_t image = index / per_plane / most_planes, place = index / per_plane % most_planes;
        s.width = c->out[WIDTH];
        if (place >= c->out[DEPTH] || row >= c->out[HEIGHT] || s.width == 0) return s;
        s.plane = place;
        s.row = row;
        int64_t plane = image * c->out[DEPTH] + place;
        s.first = place_in_y(c, plane, row);
        s.down = c->apart[HEIGHT] * c->whole[WIDTH];
        s.lines = asc_least(size, c->out[HEIGHT] - row);
        s.line = line_step(c);
        if (state->holds != key) ASC_FN(conv_fill_strip)(c, plane, row, s.lines, strip);
    }
    state->holds = key;
    return s;
}

/* Floats of a panel before tap [d, h, w] of those that count. */
static int64_t weight_at(const conv *c, int64_t d, int64_t h, int64_t w) {
    int64_t tap = ((d + c->first[DEPTH]) * c->held[HEIGHT] + h + c->first[HEIGHT]) * c->held[WIDTH];
    return (tap + w + c->first[WIDTH]) * c->group_depth * GEMM_PANEL;
}

static void find_runs(const conv *c, const conv_span *s, conv_run *runs) {
    int64_t pixel = c->depth, line = ASC_FN(conv_strip_width)(c) * pixel, taps = run_taps(c);
    int64_t step = ASC_FN(conv_strip_step)(c, s->lines) * line, plane = ASC_FN(conv_strip_lines)(c, s->lines) * line;
    int64_t across = ASC_FN(conv_strip_across)(c) * pixel;
    for (int64_t d = 0; d < c->kernel[DEPTH]; d++)
        for (int64_t h = 0; h < c->kernel[HEIGHT]; h++)
            for (int64_t w = 0; w < c->kernel[WIDTH]; w += taps)
                *runs++ = (conv_run){d * plane + h * step + w * across, weight_at(c, d, h, w)};
}

/* Taps of an axis that may read an input: those in [first, end). */
typedef struct tap_range {
    int64_t first, end;
} tap_range;

/* Of windows whose first taps read places [from, to] of an axis. */
static tap_range taps_inside(const conv *c, int axis, int64_t from, int64_t to) {
    int64_t d = c->dilation[axis], kernel = c->kernel[axis];
    int64_t first = to < 0 ? asc_ceil_div(-to, d) : 0, left = c->in[axis] - from;
    int64_t end = left <= 0 ? 0 : asc_least(kernel, asc_ceil_div(left, d));
    return (tap_range){first, asc_most(first, end)};
}

static tap_range taps_of_places(const conv *c, int axis, int64_t place, int64_t count) {
    int64_t from = place * c->stride[axis] - c->pad[axis];
    return taps_inside(c, axis, from, from + (count - 1) * c->stride[axis]);
}

static int is_whole(const conv *c, int axis, tap_range r) {
    return r.first == 0 && r.end == c->kernel[axis];
}

/* Sets the runs of a tile: all of them, or, at a border, a list without those that read padding only. Memory behind a
 * list of all is the list's. */
static void choose_runs(const conv *c, const conv_span *s, conv_run *all, int64_t line, int64_t at, int64_t pixels,
                        conv_tile *t) {
    t->of = all;
    t->runs = run_count(c);
    if (conv_is_flat(c)) return;
    int64_t taps = run_taps(c);
    tap_range d = taps_of_places(c, DEPTH, s->plane, 1), h = {0, c->kernel[HEIGHT]};
    if (c->tile_lines == 1) h = taps_of_places(c, HEIGHT, s->row + line, 1);
    tap_range w = taps_of_places(c, WIDTH, at, pixels);
    if (is_whole(c, DEPTH, d) && is_whole(c, HEIGHT, h) && is_whole(c, WIDTH, w)) return;
    if (taps > 1) w = (tap_range){0, w.first < w.end ? taps : 0}; /* a run has all taps of a line */
    conv_run *kept = all + asc_ceil_div(t->runs, 4) * 4;
    int64_t per_line = c->kernel[WIDTH] / taps, n = 0;
    for (int64_t i = d.first; i < d.end; i++)
        for (int64_t j = h.first; j < h.end; j++)
            for (int64_t k = w.first / taps; k * taps < w.end; k++)
                kept[n++] = all[(i * c->kernel[HEIGHT] + j) * per_line + k];
    t->of = kept;
    t->runs = n;
}

/* What a pass of tiles brings into L2 for the next one: the next panel of heavy weights, or the inputs of the next
 * tiles, once for each block of them. */
static void look_ahead(const conv *c, const conv_span *s, const float *w, int first, int64_t tile, int64_t tiles,
                       conv_tile *t) {
    int64_t rows = c->group_depth * c->taps, bytes = 0;
    t->ahead = (uintptr_t)w;
    if (is_heavy(c)) {
        bytes = rows * GEMM_PANEL * (int64_t)sizeof(float);
        t->ahead += (uintptr_t)(c->rows * GEMM_PANEL * (int64_t)sizeof(float));
    } else if (first && conv_is_in_place(c)) {
        bytes = tiles * tiles_of(c)->rows * s->pixel * (int64_t)sizeof(float);
        t->ahead = (uintptr_t)s->x + (uintptr_t)(bytes / tiles * (tile + tiles));
    }
    t->ahead_step = asc_ceil_div(bytes, tiles * asc_most(1, rows));
}

/* One tile of a span: pixels [at, at + pixels) of a line. */
typedef struct place {
    int64_t line, index, at, pixels;
} place;

/* Lines are cut into tiles that differ by one pixel at most. */
static place place_at(const conv_span *s, int64_t per_line, int64_t line, int64_t index) {
    int64_t at = asc_split_at(s->width, per_line, index);
    return (place){line, index, at, asc_split_at(s->width, per_line, index + 1) - at};
}

static place place_after(const conv_span *s, int64_t lines, int64_t per_line, place p) {
    return p.index + 1 < per_line ? place_at(s, per_line, p.line, p.index + 1)
                                  : place_at(s, per_line, p.line + lines, 0);
}

static int64_t pixel_of(const conv_span *s, place p) {
    return s->first + p.line * s->down + p.at * s->across;
}

/* The tiles [tile, tile + tiles) of a span against one panel of weights; `first` of those that pass them. */
static void run_panel(const conv *c, const conv_span *s, conv_tile t, conv_run *runs, int64_t panel, int first,
                      int64_t tile, int64_t tiles) {
    int64_t group = panel / group_panels(c), within = panel % group_panels(c) * GEMM_PANEL;
    int64_t rows = c->group_depth * c->taps, left = asc_least(GEMM_PANEL, c->group_out - within);
    int64_t channel = group * c->group_out + within, per_line = asc_ceil_div(s->width, tiles_of(c)->rows);
    const float *w =
        c->weights + group * (asc_packed_bytes(ASC_LAYOUT_PANEL32, c->rows, c->group_out) / 4) + within * c->rows;
    const void *residual = c->epilogue.residual.data;
    epilogue after = ASC_FN(conv_after)(&c->epilogue);
    t.end = ASC_FN(conv_ending_of)(&c->epilogue, c->y_narrow);
    t.narrow = c->y_narrow;
    place begin = place_at(s, per_line, tile / per_line * c->tile_lines, tile % per_line);
    for (int64_t column = 0; column < left; column += GEMM_TILE_COLS) {
        t.w = w + column;
        t.columns = asc_least(GEMM_TILE_COLS, left - column);
        look_ahead(c, s, w, first && column == 0, tile, tiles, &t);
        t.bias = c->epilogue.bias.data ? c->epilogue.bias.data + channel + column : NULL;
        place here = begin;
        int64_t out = pixel_of(s, here) * c->out_channels + channel + column;
        for (int64_t i = 0; i < tiles; i++) {
            t.x = s->x + here.line * s->line + here.at * s->pixel + group * c->group_depth;
            t.y = (void *)image_at(c->y, out, t.narrow);
            t.residual = residual ? image_at(residual, out, t.narrow) : NULL;
            int64_t pixels = here.pixels;
            t.lines = asc_least(c->tile_lines, s->lines - here.line);
            choose_runs(c, s, runs, here.line, here.at, pixels, &t);
            here = place_after(s, c->tile_lines, per_line, here);
            out = pixel_of(s, here) * c->out_channels + channel + column;
            t.next_y = (uintptr_t)image_at(c->y, out, t.narrow);
            t.next_residual = residual ? (uintptr_t)image_at(residual, out, t.narrow) : t.next_y;
            tiles_of(c)->run((int)pixels, &t);
            t.ahead += (uintptr_t)(t.ahead_step * rows);
            epilogue_rows done = epilogue_in_place(t.y, t.y_step, t.lines * pixels, t.columns);
            if (!t.end.whole) ASC_FN(epilogue_apply)(&after, &done, 0, 0);
        }
    }
}

void ASC_FN(conv_dense_chunk)(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    int64_t parts = conv_last_note_of(call)->parts, span = chunk / parts;
    int64_t pieces = conv_last_note_of(call)->pieces;
    int64_t spans = conv_last_note_of(call)->spans / ASC_FN(conv_phases)(arg) / pieces; /* of a piece */
    const conv phase = ASC_FN(conv_phase)(arg, span / spans / pieces);
    conv piece = pieces > 1 ? take_piece(&phase, pieces, span / spans % pieces) : phase;
    const conv *c = &piece;
    piece.tile_lines = tile_lines(c);
    int64_t panels = c->groups * group_panels(c);
    int64_t first = asc_split_at(panels, parts, chunk % parts), end = asc_split_at(panels, parts, chunk % parts + 1);
    conv_worker *state = conv_worker_of(call, worker, conv_last_note_of(call)->scratch_bytes);
    conv_tile t = {.x_step = pixel_step(c), .roomy = !conv_is_in_place(c)};
    conv_run *runs = (conv_run *)(state + 1);
    float *strip = (float *)((char *)runs + runs_bytes(c));
    conv_span s = find_span(call, c, span % spans, span, state, strip);
    find_runs(c, &s, runs);
    t.length = c->group_depth * c->taps / run_count(c);
    t.x_line = s.line;
    t.y_step = s.across * c->out_channels;
    const conv_tiles *form = tiles_of(c);
    int64_t tiles = asc_ceil_div(s.lines, c->tile_lines) * asc_ceil_div(s.width, form->rows), block = tiles;
    if (!is_heavy(c))
        block = asc_most(1, BLOCK_BYTES / (int64_t)sizeof(float) / form->rows / asc_most(1, run_count(c) * t.x_step));
    if (form->begin) form->begin(t.length);
    for (int64_t tile = 0; tile < tiles; tile += block)
        for (int64_t panel = first; panel < end; panel++)
            run_panel(c, &s, t, runs, panel, panel == first, tile, asc_least(block, tiles - tile));
    if (form->end) form->end();
}
