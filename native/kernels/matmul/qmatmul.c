/* qmatmul: Y = A B in exact integers, with zero points; Y is int32, float32 (times scales, plus bias), or 8 bits.
 *
 * in:     A [.., M, K] and B [.., K, N] of 8 bits; B may be an int8 weight [K, N] in ASC_LAYOUT_VNNI4_32; then what
 *         qgemm.h lists
 * out:    Y [.., M, N]; A of rank 1 is a row, B of rank 1 a column, and Y lacks that axis
 * floats: the least and greatest 8-bit result
 */
#include <string.h>

#include "chunks.h"
#include "qgemm.h"

typedef struct problem {
    int64_t m, k, n, batches;
    int axes;                                                               /* batch axes of Y */
    int64_t dims[ASC_MAX_RANK], a_step[ASC_MAX_RANK], b_step[ASC_MAX_RANK]; /* in whole matrices */
    int64_t a_matrices, b_matrices, panels;
    int packs, pads, needs_sums; /* B is packed here; rows of A are padded to multiples of four; rows of A are summed */
    int64_t a_row;
    const uint8_t *a; /* the matrices as the tiles read them, and the sums of their rows */
    const int32_t *a_sums;
    const int8_t *b;
    requantiser *requantisers; /* one for each matrix of B */
    int64_t row_blocks, column_blocks;
} problem;

/* What prepare finds out: the products, and where in the workspace each thing lies. */
typedef struct qmatmul_note {
    problem problem; /* without pointers */
    asc_requantise_floats bounds;
    int64_t tables, requantisers, b_sums, packed, rows, row_sums;
} qmatmul_note;
ASC_KERNEL_NOTE(qmatmul, qmatmul_note)

static const qmatmul_note *note_of(const asc_call *call) {
    return call->note;
}

static int64_t round_up(int64_t n, int64_t to) {
    return (n + to - 1) / to * to;
}

/* Batch axes of an operand against Y's: the steps between its matrices. */
static int32_t read_batch(const asc_call *call, const problem *p, const asc_tensor *t, int own, int64_t *steps,
                          int64_t *matrices) {
    int64_t step = 1;
    ASC_REQUIRE(call, own <= p->axes, "qmatmul: an operand has more batch axes than the output");
    for (int i = p->axes - 1; i >= 0; i--) {
        int axis = i - (p->axes - own);
        int64_t dim = axis >= 0 ? t->dims[axis] : 1;
        ASC_REQUIRE(call, dim == 1 || dim == p->dims[i], "qmatmul: batch axes do not broadcast to the output's");
        steps[i] = dim == 1 ? 0 : step;
        step *= dim;
    }
    *matrices = step;
    return ASC_OK;
}

static int32_t read_output(const asc_call *call, problem *p, int row, int col) {
    const asc_tensor *y = &call->out[0];
    int axis = y->rank - row - col;
    ASC_REQUIRE(call, axis >= 0, "qmatmul: the output has too few axes");
    ASC_REQUIRE(call, !row || y->dims[axis] == p->m, "qmatmul: the output's rows are not A's");
    ASC_REQUIRE(call, !col || y->dims[axis + row] == p->n, "qmatmul: the output's columns are not B's");
    p->axes = axis;
    p->batches = asc_count(y, 0, axis);
    for (int i = 0; i < axis; i++) p->dims[i] = y->dims[i];
    return ASC_OK;
}

/* Rows of A that share one B are rows of one matrix. */
static void fold_batches(problem *p) {
    if (p->b_matrices != 1 || p->a_matrices != p->batches) return;
    p->m *= p->batches;
    p->batches = p->a_matrices = 1;
    p->axes = 0;
}

static void split(const asc_call *call, problem *p) {
    double work = (double)p->batches * (double)p->m * (double)p->n * (double)p->k;
    int64_t wanted = work < 400000 || call->threads < 2 ? 1 : work < 3e6 ? call->threads : call->threads * 4;
    p->row_blocks = p->column_blocks = 1;
    while (p->batches * p->row_blocks * p->column_blocks < wanted) {
        int64_t tall = p->m / p->row_blocks, wide = p->panels / p->column_blocks;
        if (wide >= 2 && wide * QGEMM_PANEL >= tall)
            p->column_blocks *= 2;
        else if (tall >= 2 * QGEMM_ROWS)
            p->row_blocks *= 2;
        else if (wide >= 2)
            p->column_blocks *= 2;
        else
            break;
    }
}

static int32_t read_problem(const asc_call *call, problem *p) {
    const asc_tensor *a = &call->in[Q_A], *b = &call->in[Q_B];
    int row = a->rank > 1, col = b->rank > 1;
    int32_t code;
    *p = (problem){.packs = b->layout == ASC_LAYOUT_PLAIN};
    ASC_REQUIRE(call, a->rank >= 1 && b->rank >= 1 && call->n_ints == 0, "qmatmul: A and B need at least one axis");
    ASC_REQUIRE(call, p->packs || (b->layout == ASC_LAYOUT_VNNI4_32 && b->rank == 2 && b->dtype == ASC_INT8),
                "qmatmul: B in panels is one int8 matrix in VNNI4_32");
    p->m = row ? a->dims[a->rank - 2] : 1;
    p->k = a->dims[a->rank - 1];
    p->n = col ? b->dims[b->rank - 1] : 1;
    ASC_REQUIRE(call, b->dims[col ? b->rank - 2 : 0] == p->k, "qmatmul: A's columns are not B's rows");
    ASC_REQUIRE(call, p->k <= INT32_MAX && p->n <= INT64_MAX / 64, "qmatmul: the operands are too large");
    if ((code = read_output(call, p, row, col))) return code;
    if ((code = read_batch(call, p, a, row ? a->rank - 2 : 0, p->a_step, &p->a_matrices))) return code;
    if ((code = read_batch(call, p, b, col ? b->rank - 2 : 0, p->b_step, &p->b_matrices))) return code;
    ASC_REQUIRE(call, call->n_floats == ASC_MEMBERS(asc_requantise_floats), "qmatmul takes two floats");
    if ((code = ASC_FN(requantiser_check)(call, p->n))) return code;
    p->panels = asc_ceil_div(p->n, QGEMM_PANEL);
    p->pads = p->k % 4 != 0;
    p->needs_sums = b->dtype == ASC_UINT8 || q_operand(call, Q_B_ZERO);
    p->a_row = round_up(p->k, 4);
    fold_batches(p);
    split(call, p);
    return ASC_OK;
}

static int is_empty(const problem *p) {
    return p->batches == 0 || p->m == 0 || p->n == 0;
}

/* Adds a part of the workspace of a * b * c bytes at *end; 0 on overflow. */
static int add_part(int64_t *end, int64_t *at, int64_t a, int64_t b, int64_t c) {
    int64_t bytes;
    *at = *end;
    if (!asc_mul_ok(a, b, &bytes) || !asc_mul_ok(bytes, c, &bytes) || bytes > INT64_MAX - 64) return 0;
    return asc_add_ok(*end, round_up(bytes, 64), end);
}

int32_t ASC_FN(qmatmul_prepare)(asc_call *call) {
    problem p;
    int32_t code = read_problem(call, &p);
    qmatmul_note *at = call->note;
    at->problem = p;
    if (code || is_empty(&p)) return code;
    at->bounds = *ASC_FLOATS_AS(asc_requantise_floats, call);
    int64_t end = 0, rows = p.a_matrices, made = p.packs ? p.b_matrices : 0;
    int fits = add_part(&end, &at->tables, requantiser_bytes(p.n), p.b_matrices, 1) &&
               add_part(&end, &at->requantisers, p.b_matrices, sizeof(requantiser), 1) &&
               add_part(&end, &at->b_sums, made, p.panels * QGEMM_PANEL, 4) &&
               add_part(&end, &at->packed, made * p.panels, QGEMM_PANEL, p.a_row) && asc_mul_ok(rows, p.m, &rows) &&
               add_part(&end, &at->rows, p.pads ? rows : 0, p.a_row, 1) &&
               add_part(&end, &at->row_sums, p.needs_sums ? rows : 0, 4, 1);
    ASC_REQUIRE(call, fits, "qmatmul: the operands are too large");
    call->workspace_bytes = (uint64_t)end;
    return ASC_OK;
}

static void *part(const asc_call *call, int64_t at) {
    return (char *)call->workspace + at;
}

/* One panel of one matrix of B into VNNI4_32, and the sums of its columns. */
static void pack_panel(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const problem *p = arg;
    (void)worker;
    int64_t matrix = chunk / p->panels, first = chunk % p->panels * QGEMM_PANEL, left = p->n - first;
    int64_t width = left < QGEMM_PANEL ? left : QGEMM_PANEL;
    const uint8_t *from = (const uint8_t *)call->in[Q_B].data + matrix * p->k * p->n + first;
    uint8_t *out = (uint8_t *)part(call, note_of(call)->packed) + chunk * QGEMM_PANEL * p->a_row;
    uint8_t flip = call->in[Q_B].dtype == ASC_UINT8 ? 128 : 0;
    uint32_t sums[QGEMM_PANEL] = {0};
    memset(out, 0, (size_t)(QGEMM_PANEL * p->a_row));
    for (int64_t k = 0; k < p->k; k++, from += p->n) {
        uint8_t *four = out + k / 4 * 4 * QGEMM_PANEL + k % 4;
        for (int64_t j = 0; j < width; j++) {
            four[4 * j] = from[j] ^ flip;
            sums[j] += (uint32_t)(int8_t)four[4 * j];
        }
    }
    memcpy((uint32_t *)part(call, note_of(call)->b_sums) + chunk * QGEMM_PANEL, sums, sizeof sums);
}

#define ROWS_AT_ONCE 32

/* Rows of A padded to multiples of four, and their sums. */
static void prepare_rows(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const problem *p = arg;
    (void)worker;
    int64_t rows = p->a_matrices * p->m, from = chunk * ROWS_AT_ONCE, left = rows - from;
    int64_t to = from + (left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE), zero = 0;
    qgemm g = {.a = call->in[Q_A].data, .a_row = p->k, .segments = &zero, .n_segments = 1};
    g.flip = call->in[Q_A].dtype == ASC_INT8;
    for (int64_t i = from; i < to; i++) {
        if (p->needs_sums) ((int32_t *)part(call, note_of(call)->row_sums))[i] = ASC_FN(qgemm_row_sum)(&g, i, p->k);
        if (!p->pads) continue;
        uint8_t *row = (uint8_t *)part(call, note_of(call)->rows) + i * p->a_row;
        memcpy(row, g.a + i * p->k, (size_t)p->k);
        memset(row + p->k, 0, (size_t)(p->a_row - p->k));
    }
}

static void locate(const problem *p, int64_t batch, int64_t *a, int64_t *b) {
    *a = *b = 0;
    for (int i = p->axes - 1; i >= 0; i--) {
        *a += batch % p->dims[i] * p->a_step[i];
        *b += batch % p->dims[i] * p->b_step[i];
        batch /= p->dims[i];
    }
}

static void run_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const problem *p = arg;
    (void)worker;
    int64_t per_batch = p->row_blocks * p->column_blocks, batch = chunk / per_batch, a, b, zero = 0;
    int64_t block = chunk % per_batch, row = block % p->row_blocks, column = block / p->row_blocks;
    locate(p, batch, &a, &b);
    qgemm g = {.m = p->m, .n = p->n, .a_row = p->a_row, .segments = &zero, .n_segments = 1, .vnni4 = p->a_row / 4};
    g.flip = call->in[Q_A].dtype == ASC_INT8;
    g.b_panel = QGEMM_PANEL * p->a_row;
    g.b = p->b + b * p->panels * g.b_panel;
    char *y = (char *)call->out[0].data + batch * p->m * p->n * (int64_t)asc_dtype_bytes(call->out[0].dtype);
    int64_t from = p->m * row / p->row_blocks, to = p->m * (row + 1) / p->row_blocks;
    int64_t col = p->panels * column / p->column_blocks * QGEMM_PANEL;
    int64_t last = p->panels * (column + 1) / p->column_blocks * QGEMM_PANEL;
    const requantiser *r = &p->requantisers[b];
    int64_t element = (int64_t)asc_dtype_bytes(r->dtype), step = p->n * element;
    g.a = p->a + (a * p->m + from) * p->a_row;
    qgemm_strip s = {.g = &g, .requantiser = r, .lines = 1, .rows = to - from, .step = step};
    if (p->needs_sums) s.row_sums = p->a_sums + a * p->m + from;
    for (; col < last && col < p->n; col += QGEMM_COLUMNS) {
        s.out = y + from * step + col * element;
        ASC_FN(qgemm_strip_run)(&s, col, asc_least(p->n - col, QGEMM_COLUMNS));
    }
    ASC_FN(qgemm_tiles_release)();
}

int32_t ASC_FN(qmatmul_run)(const asc_call *call) {
    problem p = note_of(call)->problem;
    if (is_empty(&p)) return ASC_OK;
    if (p.packs) asc_parallel(call, p.b_matrices * p.panels, pack_panel, &p);
    if (p.pads || p.needs_sums) asc_parallel(call, asc_ceil_div(p.a_matrices * p.m, ROWS_AT_ONCE), prepare_rows, &p);
    p.a = p.pads ? part(call, note_of(call)->rows) : call->in[Q_A].data;
    p.a_sums = part(call, note_of(call)->row_sums);
    p.b = p.packs ? part(call, note_of(call)->packed) : call->in[Q_B].data;
    p.requantisers = part(call, note_of(call)->requantisers);
    const int32_t *b_sums = part(call, note_of(call)->b_sums);
    char *tables = part(call, note_of(call)->tables);
    for (int64_t i = 0; i < p.b_matrices; i++)
        p.requantisers[i] =
            ASC_FN(requantiser_make)(call, &note_of(call)->bounds, p.n, p.k, b_sums + i * p.panels * QGEMM_PANEL,
                                     tables + i * requantiser_bytes(p.n));
    asc_parallel(call, p.batches * p.row_blocks * p.column_blocks, run_chunk, &p);
    return ASC_OK;
}

void ASC_FN(qmatmul_schedule)(const asc_call *call, char *text, size_t room) {
    const problem *p = &note_of(call)->problem;
    if (is_empty(p)) {
        asc_format(text, room, ASC_NO_SCHEDULE);
        return;
    }
    int64_t chunks = p->batches * p->row_blocks * p->column_blocks;
    asc_format(text, room, "%s chunks=%ld threads=%ld row_blocks=%ld column_blocks=%ld%s%s",
               p->packs ? "packs_b" : "strips", chunks, asc_least(chunks, call->threads), p->row_blocks,
               p->column_blocks, p->pads ? " pads_rows" : "", p->needs_sums ? " sums_rows" : "");
}
