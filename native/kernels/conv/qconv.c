/* qconv: a convolution of 8-bit integers in exact int32, with zero points; Y is int32 or 8 bits.
 *
 * in:     x [N, C, spatial..] or [N, spatial.., C], padded with its zero point; int8 weights, as [groups, runs of
 *         taps and channels, M / groups] in ASC_LAYOUT_VNNI4_32, each run whole fours, or [taps, C] when each channel
 *         is apart; then what qgemm.h lists
 * out:    y [N, M, spatial..] or [N, spatial.., M]
 * ints:   groups; whether x, and y, have channels last; for each spatial axis kernel, stride, dilation, padding
 *         before. A run is a row of the window, or with groups or dilation a tap.
 * floats: the least and greatest 8-bit result
 * With a last operand, an image of Y's dims and type, Y is what byte_binary makes of the 8-bit results and that image:
 * its arguments, of a sum, stand behind the others. Then Y has channels last, and no channel is apart.
 */
#include "qconv.h"

#include <string.h>

#include "chunks.h"
#include "movement/byte_transpose.h"

/* What a chunk is: lines of an image of a group, and columns. */
typedef struct division {
    int64_t lines, columns;
    int64_t line_chunks, column_chunks; /* of a group of an image */
} division;

typedef struct job {
    const qconv *c;
    requantiser requantiser;
    byte_sum sum; /* of the results and the addend, if there is one */
    const uint8_t *images;
    const int64_t *segments;
    division by;
    int ends_apart; /* by qconv_apart_bytes */
} job;

/* What prepare finds out: the convolution, and where in the workspace each thing lies. */
typedef struct qconv_note {
    qconv c;
    asc_requantise_floats bounds;
    int64_t tables, segments, stages, images; /* where they lie in the workspace */
    int64_t stage_bytes;
} qconv_note;
ASC_KERNEL_NOTE(qconv, qconv_note)

static const qconv_note *note_of(const asc_call *call) {
    return call->note;
}

static int add_part(int64_t *end, int64_t *at, int64_t count, int64_t bytes) {
    int64_t size;
    *at = *end;
    if (!asc_mul_ok(count, bytes, &size) || size > INT64_MAX - 64) return 0;
    return asc_add_ok(*end, (size + 63) / 64 * 64, end);
}

int32_t ASC_FN(qconv_prepare)(asc_call *call) {
    int64_t end = 0;
    qconv_note *at = call->note;
    qconv *c = &at->c;
    int32_t code = ASC_FN(qconv_read)(call, c);
    if (code) return code;
    at->bounds = *ASC_FLOATS_AS(asc_requantise_floats, call);
    ASC_REQUIRE(call, c->line < INT64_MAX / 1024, "qconv: the output is too wide");
    at->stage_bytes = (c->line * QGEMM_PANEL * 4 + 63) / 64 * 64;
    ASC_REQUIRE(call,
                add_part(&end, &at->tables, 1, requantiser_bytes(c->outputs)) &&
                    add_part(&end, &at->segments, c->n_segments, 8) &&
                    add_part(&end, &at->stages, call->threads, at->stage_bytes) &&
                    add_part(&end, &at->images, c->in_place ? 0 : c->batch, c->image_bytes),
                "qconv: the operands are too large");
    call->workspace_bytes = (uint64_t)end;
    return ASC_OK;
}

static void *part(const asc_call *call, int64_t at) {
    return (char *)call->workspace + at;
}

static void pad_row(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const job *j = arg;
    (void)worker;
    ASC_FN(qconv_pad)(call, j->c, chunk, part(call, note_of(call)->images));
}

/* Where the results of one strip of a line go: with channels last into y, else into the stage. */
typedef struct target {
    char *out;
    int64_t step; /* bytes from a position to the next */
} target;

/* `count` positions of a line, of the columns [col, col + n), each channel apart; `row` describes their windows. */
static void run_apart(const job *j, const qgemm *row, int64_t col, int64_t n, int64_t count, target t) {
    int32_t sums[QGEMM_ROWS * QGEMM_COLUMNS];
    for (int64_t i = 0, rows; i < count; i += rows) {
        rows = asc_ceil_div(count - i, asc_ceil_div(count - i, QGEMM_ROWS));
        ASC_FN(qconv_apart)(j->c, row->a + i * row->a_row, row->b, j->requantiser.b_zero, col, rows, sums);
        ASC_FN(requantise)(&j->requantiser, sums, NULL, rows, col, n, t.out + i * t.step, t.step);
    }
}

/* The stage's rows of positions into y's planes of channels. */
static void store_planes(const asc_call *call, const qconv *c, const char *stage, int64_t count, int64_t n, char *y) {
    if (call->out[0].dtype != ASC_INT32) {
        ASC_FN(transpose_bytes)((const uint8_t *)stage, QGEMM_COLUMNS, count, n, 0, (uint8_t *)y, c->positions);
        return;
    }
    const int32_t *from = (const int32_t *)stage;
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < count; i++) ((int32_t *)y)[k * c->positions + i] = from[i * QGEMM_COLUMNS + k];
}

/* Lines [line, line + lines) of an image, of the columns of a group from `col` on; with planes of channels only one. */
static void run_lines(const asc_call *call, const job *j, qgemm *g, int64_t image, int64_t group, int64_t line,
                      int64_t lines, int64_t col, int32_t worker) {
    const qconv *c = j->c;
    int64_t element = (int64_t)asc_dtype_bytes(call->out[0].dtype), at = line * c->line;
    int64_t count = asc_least(c->line, c->positions - at), columns = c->apart ? c->channels : c->outputs / c->groups;
    int64_t n = asc_least(columns - col, QGEMM_COLUMNS), channel = c->apart ? col : group * columns + col;
    char *y = (char *)call->out[0].data + image * c->outputs * c->positions * element;
    target t = {y + (at * c->outputs + channel) * element, c->outputs * element};
    if (!c->y_last)
        t = (target){(char *)part(call, note_of(call)->stages) + worker * note_of(call)->stage_bytes,
                     QGEMM_COLUMNS * element};
    g->a = j->images + image * c->image_bytes + line * c->line_step + (c->apart ? 0 : group * c->fan_in);
    if (c->apart && j->ends_apart) {
        count = asc_least(lines * c->line, c->positions - at);
        ASC_FN(qconv_apart_bytes)(c, &j->requantiser, g->a, g->b, col, count, y + at * c->outputs);
    } else if (c->apart) {
        run_apart(j, g, col, n, count, t);
    } else {
        qgemm_strip s = {.g = g, .requantiser = &j->requantiser, .lines = lines, .rows = count};
        if (c->flat) { /* lines go on from one to the next */
            s.rows = asc_least(lines * c->line, c->positions - at);
            s.lines = 1;
        }
        s.a_line = c->line_step;
        s.first = group * columns;
        s.out = t.out;
        s.step = t.step;
        s.out_line = c->line * t.step;
        s.length = c->length;
        ASC_FN(qgemm_strip_run)(&s, col, n);
    }
    if (!c->y_last) store_planes(call, c, t.out, count, n, y + (channel * c->positions + at) * element);
}

static int64_t groups_of(const qconv *c) {
    return c->apart ? 1 : c->groups;
}

static int64_t columns_of(const qconv *c) {
    return c->apart ? c->channels : c->outputs / c->groups;
}

/* Some columns of a group over some lines of an image: a strip of weights stays near while it passes the lines. */
static void run_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const job *j = arg;
    const qconv *c = j->c;
    const division *by = &j->by;
    int64_t part = chunk % by->column_chunks, rest = chunk / by->column_chunks, of_lines = rest % by->line_chunks;
    int64_t group = rest / by->line_chunks % groups_of(c), image = rest / by->line_chunks / groups_of(c);
    int64_t from = of_lines * by->lines, to = asc_least(from + by->lines, c->lines), columns = columns_of(c);
    int64_t first = part * by->columns, last = asc_least(first + by->columns, columns);
    qgemm g = {.n = columns, .a_row = c->stride[1] * c->channels, .segments = j->segments};
    g.n_segments = c->n_segments;
    g.vnni4 = c->vnni4;
    g.b_panel = c->n_segments * c->vnni4 * 4 * QGEMM_PANEL;
    g.b = (const int8_t *)call->in[Q_B].data + group * asc_ceil_div(columns, QGEMM_PANEL) * g.b_panel;
    int64_t at_once = (c->apart && !j->ends_apart) || !c->y_last ? 1 : by->lines;
    int64_t strip = j->ends_apart ? QCONV_BYTES : QGEMM_COLUMNS;
    for (int64_t col = first; col < last; col += strip)
        for (int64_t line = from; line < to; line += at_once)
            run_lines(call, j, &g, image, group, line, asc_least(at_once, to - line), col, worker);
    ASC_FN(qgemm_tiles_release)();
}

static void find_segments(const qconv *c, int64_t *segments) {
    int64_t pitch = c->padded[1] * c->channels, across = c->n_segments / (c->kernel[0] > 0 ? c->kernel[0] : 1);
    for (int64_t i = 0; i < c->n_segments; i++)
        segments[i] = i / across * c->dilation[0] * pitch + i % across * c->dilation[1] * c->channels;
}

/* Chunks of lines read the image once and the weights as often as there are threads; chunks of columns, the other way
 * round. A chunk's columns fill the cache lines that it writes of Y, or they would be written by two threads. */
#define LEAST_COLUMNS 64

static division divide(const asc_call *call, const qconv *c) {
    int64_t taps = c->kernel[0] * c->kernel[1], at_once = c->apart ? 4 : 32; /* products in the time of a byte moved */
    int64_t columns = columns_of(c), weights = taps * c->fan_in * columns, units = columns / LEAST_COLUMNS;
    division by = {.lines = c->lines, .columns = columns, .line_chunks = 1, .column_chunks = 1};
    if (!c->apart && weights > c->image_bytes && units >= call->threads) {
        by.columns = LEAST_COLUMNS *
                     asc_chunk_items(call, units,
                                     asc_least(c->positions, 1 << 20) * taps * c->fan_in * LEAST_COLUMNS / at_once + 1);
        by.column_chunks = asc_ceil_div(columns, by.columns);
        return by;
    }
    by.lines = asc_chunk_items(call, c->lines, c->line * taps * c->fan_in * columns / at_once + 1);
    by.line_chunks = asc_ceil_div(c->lines, by.lines);
    return by;
}

int32_t ASC_FN(qconv_run)(const asc_call *call) {
    const qconv *c = &note_of(call)->c;
    job j = {.c = c};
    if (c->batch == 0 || c->positions == 0 || c->outputs == 0) return ASC_OK;
    find_segments(c, part(call, note_of(call)->segments));
    j.segments = part(call, note_of(call)->segments);
    j.images = c->in_place ? call->in[Q_A].data : part(call, note_of(call)->images);
    int64_t taps = c->kernel[0] * c->kernel[1];
    j.requantiser = ASC_FN(requantiser_make)(call, &note_of(call)->bounds, c->outputs, taps * c->fan_in, NULL,
                                             part(call, note_of(call)->tables));
    if (c->adds) {
        const asc_tensor *addend = q_operand(call, QCONV_ADDEND);
        j.sum =
            ASC_FN(byte_sum_make)(&c->sum, &c->sum_floats, &c->sum_affine, j.requantiser.zero, addend, &call->out[0]);
        j.requantiser.sum = &j.sum;
    }
    j.ends_apart = c->apart && ASC_FN(qconv_apart_bytes_can)(c, &j.requantiser);
    j.by = divide(call, c);
    if (!c->in_place) asc_parallel(call, c->batch * c->padded[0], pad_row, &j);
    asc_parallel(call, c->batch * groups_of(c) * j.by.line_chunks * j.by.column_chunks, run_chunk, &j);
    return ASC_OK;
}

void ASC_FN(qconv_schedule)(const asc_call *call, char *text, size_t room) {
    const qconv *c = &note_of(call)->c;
    if (c->batch == 0 || c->positions == 0 || c->outputs == 0) {
        asc_format(text, room, ASC_NO_SCHEDULE);
        return;
    }
    division by = divide(call, c);
    int64_t chunks = c->batch * groups_of(c) * by.line_chunks * by.column_chunks;
    asc_format(text, room, "%s%s chunks=%ld threads=%ld lines=%ld columns=%ld segments=%ld",
               c->apart ? "channels_apart" : "strips", c->in_place ? "_in_place" : "_of_padded_copy", chunks,
               asc_least(chunks, call->threads), by.lines, by.columns, c->n_segments);
}
