/* recurrent: RNN, GRU and LSTM of ONNX, step after step; the input's products are made beforehand.
 *
 * in:   X [S, B, D*G*H], sums of the input and of the biases, gates in ONNX's order
 *       R [D, H, N] in ASC_LAYOUT_PANEL32, or [D, N, H] plain: N is G*H, of GRU 2*H for its gates z and r; in
 *       ASC_LAYOUT_VNNI2_32 the state is rounded to bfloat16 where it is multiplied, and nowhere else
 *       Rc of GRU's candidate, likewise with N = H;  bias [D, H] of that product, if the reset comes after it
 *       lengths [B] int32;  h0 [D, B, H];  c0 [D, B, H];  peephole [D, 3*H]: each may be absent
 *       of R of LSTM in int8, [D, H, N] in ASC_LAYOUT_VNNI4_32: bias [D, N], of both products; the sums of its columns
 *       int32 [D, N], their scales float32 [D, N], and zero points int8 [D, N], absent when all are 0
 * out:  Y [S, D, B, H], zero from a row's length on;  h [D, B, H];  of LSTM c [D, B, H]
 * ints: asc_recurrent_params;  floats: asc_recurrent_floats
 *
 * A chunk is some rows of one direction, which take all steps; or with few rows and large weights, some columns of
 * one step's product.
 */
#include "recurrent.h"

#include <string.h>

#include "matmul/gemm.h"

/* --- room ------------------------------------------------------------------------------------- */

ASC_KERNEL_NOTE(recurrent, recurrent_note)

/* What a worker needs: sums of a step, those of a candidate, and r h; then the product's scratch. */
typedef struct room {
    float *sums, *candidate, *reset;
    gemm_scratch *product;
} room;

static int64_t room_floats(const layer *l, int64_t rows) {
    int64_t floats;
    if (!asc_mul_ok(rows, l->columns + 2 * l->hidden, &floats) || !asc_add_ok(floats, 15, &floats)) return 0;
    return floats / 16 * 16;
}

static room room_of(const layer *l, int32_t worker) {
    const asc_call *call = l->call;
    char *base = (char *)call->workspace + recurrent_note_of(call)->pack_floats * (int64_t)sizeof(float) +
                 worker * recurrent_note_of(call)->scratch_bytes;
    int64_t rows = recurrent_note_of(call)->rows;
    float *sums = (float *)base;
    return (room){sums, sums + rows * l->columns, sums + rows * (l->columns + l->hidden),
                  (gemm_scratch *)(base + room_floats(l, rows) * (int64_t)sizeof(float))};
}

/* Weights of one step from which its columns are worth sharing, in floats: of one row, which nothing else divides, what
 * a thread reads in two microseconds; of more rows, which are divided as well. */
#define ROW_WEIGHTS (1 << 15)
#define LARGE_WEIGHTS (1 << 18)
#define FEW_ROWS 6 /* most rows that share them: reading the weights is most of the work */

static void split(asc_call *call, const layer *l) {
    int64_t weights = l->hidden * l->columns, shares = asc_ceil_div(call->threads, l->directions);
    int64_t rows = l->batch;
    int few = !l->quantised && l->directions == 1 && rows <= FEW_ROWS && weights >= (l->narrow ? 2 : 1) * LARGE_WEIGHTS;
    if (call->threads > 1 && rows > 1 && !l->shared && !few && weights * l->steps * rows > LARGE_WEIGHTS)
        rows = asc_ceil_div(rows, shares < rows ? shares : rows);
    int alone = l->directions == 1 && rows == l->batch;
    if (l->quantised) weights /= (int64_t)sizeof(float);
    if (l->narrow) weights /= 2;
    recurrent_note_of(call)->rows = rows;
    recurrent_note_of(call)->shares_columns =
        call->threads > 1 && alone && weights >= (rows > 1 ? LARGE_WEIGHTS : ROW_WEIGHTS);
}

/* Lines of the weights' panels. */
static int64_t panel_lines(const layer *l) {
    return l->narrow ? asc_ceil_div(l->hidden, 2) : l->hidden;
}

int32_t ASC_FN(recurrent_prepare)(asc_call *call) {
    layer l;
    int32_t code = ASC_FN(recurrent_read)(call, &l);
    if (code) return code;
    recurrent_note_of(call)->layer = l;
    if (l.batch == 0 || l.hidden == 0) return ASC_OK;
    split(call, &l);
    int64_t rows = recurrent_note_of(call)->rows, own = room_floats(&l, rows), bytes, total, packed;
    int64_t product = l.quantised ? ASC_FN(recurrent_bytes_room)(&l, rows)
                                  : ASC_FN(gemm_scratch_bytes)(rows, gemm_k_block(panel_lines(&l), GEMM_MANY_ROWS));
    int fits = own > 0 && product > 0 && l.r_step > 0 && l.rc_step > 0 && asc_mul_ok(own, sizeof(float), &bytes) &&
               asc_add_ok(bytes, product, &bytes) && asc_mul_ok(bytes, call->threads, &total);
    fits = fits && asc_add_ok(l.r_step, l.rc_step, &packed) && asc_mul_ok(packed, l.directions, &packed);
    if (call->in[R].layout != ASC_LAYOUT_PLAIN) packed = 0;
    int64_t packed_bytes;
    fits = fits && asc_mul_ok(packed, sizeof(float), &packed_bytes) && asc_add_ok(total, packed_bytes, &total);
    ASC_REQUIRE(call, fits, "recurrent: the operands are too large");
    recurrent_note_of(call)->scratch_bytes = bytes;
    recurrent_note_of(call)->pack_floats = packed;
    call->workspace_bytes = (uint64_t)total;
    return ASC_OK;
}

/* --- steps ------------------------------------------------------------------------------------ */

typedef struct product {
    gemm g;
    int64_t columns, chunks; /* of a chunk */
} product;

/* One or two, of the same state, whose chunks are shared at once. */
typedef struct products {
    const layer *layer;
    int count;
    product each[2];
} products;

static void product_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const products *all = arg;
    const product *p = all->each;
    (void)call;
    if (chunk >= p->chunks) chunk -= p++->chunks;
    int64_t panels = asc_ceil_div(p->g.n, GEMM_PANEL), each = p->columns / GEMM_PANEL, from = chunk * each;
    room room = room_of(all->layer, worker);
    room.product->packed = NULL;
    ASC_FN(gemm_block)(&p->g, 0, p->g.m, from, from + each < panels ? from + each : panels, room.product);
}

/* sums[rows, columns] = state[rows, H] weights (+ what is added to each row) */
static product product_of(const layer *l, const float *state, int64_t rows, const float *weights, int64_t columns,
                          epilogue_addend added, float *sums) {
    int64_t lines = panel_lines(l);
    product p = {.g = {.m = rows, .n = columns, .k = lines, .a = state, .a_row = l->hidden, .a_k = 1}};
    p.g.vnni2 = p.g.rounds = l->narrow;
    p.g.a_columns = l->hidden;
    p.g.b = weights;
    p.g.c = sums;
    p.g.ldc = columns;
    p.g.k_block = gemm_k_block(lines, GEMM_MANY_ROWS);
    p.g.k_to = lines;
    p.g.epilogue = (epilogue){.alpha = 1, .beta = 1, .residual = added};
    p.columns = recurrent_share(l->call, columns);
    p.chunks = asc_ceil_div(columns, p.columns);
    return p;
}

static void multiply(const products *all, int32_t worker) {
    int64_t chunks = all->each[0].chunks + (all->count > 1 ? all->each[1].chunks : 0);
    if (chunks > all->count)
        asc_parallel(all->layer->call, chunks, product_chunk, (void *)all);
    else
        for (int i = 0; i < all->count; i++) product_chunk(all->layer->call, i, worker, (void *)all);
}

static int runs(const layer *l, int64_t row, int64_t t) {
    return !asc_has_input(l->call, LENGTHS) || t < ((const int32_t *)l->call->in[LENGTHS].data)[row];
}

/* One step of rows [row, row + rows) of a direction. */
static void take_step(const layer *l, int64_t d, int64_t t, int64_t row, int64_t rows, room m, int32_t worker) {
    const asc_call *call = l->call;
    const cell *k = &l->cells[d];
    int64_t n = l->hidden, width = l->directions * l->gates, gru = k->kind == ASC_RECURRENT_GRU;
    const float *x = (const float *)call->in[X].data + (t * l->batch + row) * width + d * l->gates;
    float *y = (float *)call->out[0].data + ((t * l->directions + d) * l->batch + row) * n;
    float *h = (float *)call->out[1].data + (d * l->batch + row) * n;
    float *c = k->kind == ASC_RECURRENT_LSTM ? (float *)call->out[2].data + (d * l->batch + row) * n : NULL;
    if (l->quantised) {
        ASC_FN(recurrent_bytes_multiply)(l, d, h, rows, x, width, m.sums, m.product);
    } else {
        epilogue_addend own = {floats_of(call, BIAS, d * n), 0, 1}, sum = {x + 2 * n, width, 1};
        products all = {.layer = l, .count = 1};
        all.each[0] = product_of(l, h, rows, l->r + d * l->r_step, l->columns, (epilogue_addend){x, width, 1}, m.sums);
        if (gru)
            all.each[1] = product_of(l, k->reset_after ? h : m.reset, rows, l->rc + d * l->rc_step, n,
                                     k->reset_after ? own : sum, m.candidate);
        all.count += gru && k->reset_after; /* then the candidate's product needs no gate */
        multiply(&all, worker);
        for (int64_t i = 0; i < rows && gru; i++)
            ASC_FN(cell_gru_gates)(k, m.sums + i * l->columns, h + i * n, m.reset + i * n);
        if (gru && !k->reset_after) {
            all.each[0] = all.each[1];
            multiply(&all, worker);
        }
    }
    for (int64_t i = 0; i < rows; i++, y += n, h += n) {
        if (!runs(l, row + i, t)) {
            memset(y, 0, (size_t)n * sizeof *y);
            continue;
        }
        if (gru)
            ASC_FN(cell_gru_state)(k, m.sums + i * l->columns, m.candidate + i * n, x + i * width + 2 * n, h);
        else if (c)
            (l->quantised ? ASC_FN(cell_lstm_bytes) : ASC_FN(cell_lstm))(k, m.sums + i * l->columns, h, c + i * n);
        else
            ASC_FN(cell_rnn)(k, m.sums + i * l->columns, h);
        memcpy(y, h, (size_t)n * sizeof *y);
    }
}

/* The state of rows [row, row + rows) before the first step; a row of no steps ends with zeros, as onnxruntime's. */
static void begin(const layer *l, int operand, int output, int64_t d, int64_t row, int64_t rows) {
    int64_t offset = (d * l->batch + row) * l->hidden, n = l->hidden;
    float *state = (float *)l->call->out[output].data + offset;
    const float *initial = floats_of(l->call, operand, offset);
    for (int64_t i = 0; i < rows; i++) {
        int never = asc_has_input(l->call, LENGTHS) && !runs(l, row + i, 0);
        if (initial && !never)
            memcpy(state + i * n, initial + i * n, (size_t)n * sizeof *state);
        else
            memset(state + i * n, 0, (size_t)n * sizeof *state);
    }
}

static void run_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const layer *l = arg;
    int64_t each = recurrent_note_of(call)->rows, blocks = asc_ceil_div(l->batch, each), d = chunk / blocks;
    int64_t row = chunk % blocks * each, rows = row + each < l->batch ? each : l->batch - row;
    room m = room_of(l, worker);
    begin(l, H0, 1, d, row, rows);
    if (call->n_out > 2) begin(l, C0, 2, d, row, rows);
    for (int64_t s = 0; s < l->steps; s++)
        take_step(l, d, l->backwards[d] ? l->steps - 1 - s : s, row, rows, m, worker);
}

/* --- weights that are known only now ------------------------------------------------------------ */

static void pack(const layer *l, const float *from, int64_t columns, int64_t step, float *to) {
    for (int64_t d = 0; d < l->directions; d++)
        asc_pack(ASC_LAYOUT_PANEL32, from + d * columns * l->hidden, l->hidden, columns, 1, l->hidden, to + d * step);
}

static int32_t check_lengths(const layer *l) {
    const int32_t *lengths = asc_has_input(l->call, LENGTHS) ? l->call->in[LENGTHS].data : NULL;
    for (int64_t i = 0; lengths && i < l->batch; i++)
        if (lengths[i] < 0 || lengths[i] > l->steps)
            return asc_failf(l->call->status, ASC_E_RUN, "recurrent: the length %ld of row %ld is outside 0 to %ld",
                             (long)lengths[i], (long)i, (long)l->steps);
    return ASC_OK;
}

int32_t ASC_FN(recurrent_run)(const asc_call *call) {
    layer l = ASC_FN(recurrent_at)(call, &recurrent_note_of(call)->layer);
    int32_t code = check_lengths(&l);
    if (code || l.batch == 0 || l.hidden == 0) return code;
    if (call->in[R].layout == ASC_LAYOUT_PLAIN) {
        float *to = call->workspace;
        pack(&l, l.r, l.columns, l.r_step, to);
        l.r = to;
    }
    if (asc_has_input(call, RC) && call->in[RC].layout == ASC_LAYOUT_PLAIN) {
        float *to = (float *)call->workspace + l.directions * l.r_step;
        pack(&l, l.rc, l.hidden, l.rc_step, to);
        l.rc = to;
    }
    int64_t chunks = l.directions * asc_ceil_div(l.batch, recurrent_note_of(call)->rows);
    if (chunks == 1)
        run_chunk(call, 0, 0, &l);
    else
        asc_parallel(call, chunks, run_chunk, &l);
    return ASC_OK;
}

void ASC_FN(recurrent_schedule)(const asc_call *call, char *text, size_t room) {
    const recurrent_note *note = recurrent_note_of(call);
    const layer *l = &note->layer;
    if (l->batch == 0 || l->hidden == 0) {
        asc_format(text, room, ASC_NO_SCHEDULE);
        return;
    }
    int64_t chunks = l->directions * asc_ceil_div(l->batch, note->rows);
    if (note->shares_columns)
        asc_format(text, room, "shares_columns columns=%ld threads=%d", recurrent_share(call, l->columns),
                   call->threads);
    else
        asc_format(text, room, "%s chunks=%ld threads=%ld rows=%ld", chunks > l->directions ? "shares_rows" : "whole",
                   chunks, asc_least(chunks, call->threads), note->rows);
}
