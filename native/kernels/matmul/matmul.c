/* matmul: Y = activation(alpha op(A) op(B) + beta C + R), with numpy's batch broadcasting.
 *
 * in:  A [.., M, K], B [.., K, N], then C and R, each absent or broadcastable to Y; any strides. A of rank 1 is a
 *      row, B of rank 1 a column, and Y lacks that axis. Constant weights B lie packed, their matrices back to back:
 *
 *      - ASC_LAYOUT_PANEL32: float32;
 *      - ASC_LAYOUT_VNNI2_32: bfloat16; A is rounded to it as well, or bfloat16 already, with rows of pairs: even K,
 *        contiguous, even strides; sums stay float32;
 *      - ASC_LAYOUT_FP16_32: float16, with the bits of the product with these numbers as float32;
 *      - ASC_LAYOUT_BYTES32, NIBBLES32: int8 q [K, N], which is (q - zero) * scale, in float32; behind R stand scale
 *        and zero (which may be absent), each [ceil(K / block), N] in ASC_LAYOUT_PANEL32.
 *
 *      Elsewhere the scale of a norm may stand behind R, float32 [K] as A is: rms_norm of A's rows, which are
 *      contiguous then, is multiplied instead of A, with the bits of both calls.
 *
 * out: Y [.., M, N]
 *
 * ints: asc_matmul_params; trans_a and trans_b not with rank 1, trans_b not with a packed B
 *
 *       A gated product has ASC_ACTIVATION_GATED: B's columns lie in groups of ASC_GATED_GROUP of a gate's and of what
 *       it lets through, and Y [.., M, N / 2], which may be bfloat16, is silu(gate) * up. It has neither C nor R nor
 *       alpha.
 *
 * floats: asc_matmul_floats
 */
#include "chunks.h"
#include "gemm_tiles.h"
#include "matmul_problem.h"

#define FAR_BYTES (2 << 20) /* of an output of which L2 keeps little from one panel to the next */

/* What prepare finds out: the product, and how its work is split. */
typedef struct matmul_note {
    matmul_problem problem; /* whose pointers are prepare's */
    int64_t row_blocks, panel_blocks;
    int64_t serial, pack_first, by_blocks;
    int64_t scratch_bytes;
    int64_t rows, same_rows; /* of A; whether they lie packed as the product before left them */
} matmul_note;
ASC_KERNEL_NOTE(matmul, matmul_note)

static matmul_note *note_of(const asc_call *call) {
    return call->note;
}
#define REVERSED 2 /* of same_rows: a worker's blocks of rows come in the other order */

static int64_t batch_offset(const matmul_problem *p, int operand, int64_t batch) {
    int64_t offset = 0;
    for (int i = p->axes - 1; i >= 0; i--) {
        offset += batch % p->dims[i] * p->strides[operand][i];
        batch /= p->dims[i];
    }
    return offset;
}

/* Batches of B that differ, and which of them batch number `batch` uses. */
static int64_t b_batches(const matmul_problem *p) {
    int64_t n = 1;
    for (int i = 0; i < p->axes; i++)
        if (p->strides[B][i]) n *= p->dims[i];
    return n;
}

static int64_t b_batch(const matmul_problem *p, int64_t batch) {
    int64_t index = 0, scale = 1;
    for (int i = p->axes - 1; i >= 0; i--) {
        int64_t at = batch % p->dims[i];
        batch /= p->dims[i];
        if (!p->strides[B][i]) continue;
        index += at * scale;
        scale *= p->dims[i];
    }
    return index;
}

/* Whether few columns meet many rows (gemm_small_n.c). */
static int is_narrow(const gemm *g) {
    if (g->vnni2 && ASC_FN(gemm_has_tiles)()) return 0;
    return !g->gated && !g->norm.scale && g->n <= GEMM_SMALL_N && g->m >= GEMM_SMALL_N_LEAST;
}

/* Whether these few columns are multiplied by rows where they lie (gemm_unpacked.c): where fewer lanes of vectors are
 * idle than packing costs columns. */
static int is_unpacked(const gemm *g) {
    return (g->n + 3) % 16 < 4 && g->a_k == 1 && !g->pack && !g->vnni2 && !g->fp16;
}

/* Nanoseconds of one thread, from multiply-adds and from the bytes of B, and for few columns from packing A: only to
 * size chunks. */
static int64_t cost(const matmul_problem *p) {
    double elements = (double)p->batches * (double)p->gemm.n * (double)p->gemm.k;
    double by_arithmetic = elements * (double)p->gemm.m / (ASC_VF * 8), by_traffic = elements / 20;
    double ns = by_arithmetic > by_traffic ? by_arithmetic : by_traffic;
    if (is_narrow(&p->gemm)) ns += (double)p->batches * (double)p->gemm.m * (double)p->gemm.k / ASC_VF;
    return ns > 1e15 ? (int64_t)1e15 : (int64_t)ns;
}

#define VNNI2_OWN_COLUMNS 1024 /* up to which bfloat16 takes longer to pack all rows than to read all of B */

/* Whether every worker gets rows of its own, of which nobody else packs or reads any: some tiles each, for which it
 * pays that all workers read all of B. */
static int has_own_rows(const asc_call *call, const matmul_problem *p) {
    const gemm *g = &p->gemm;
    int pays = !g->vnni2 || g->n <= VNNI2_OWN_COLUMNS;
    return pays && p->batches == 1 && !g->pack && g->m / call->threads >= 4 * GEMM_ROWS;
}

#define PARALLEL_NS 5000 /* of cost(), which counts half of the time that cold weights take: they come in 15 us */
#define CHUNK_NS 8000    /* the least of a chunk, where there are more than two */

/* Splits one product into row blocks x panel blocks, `wanted` chunks over all batches if that is possible. */
static void split(asc_call *call, const matmul_problem *p) {
    int64_t panels = asc_ceil_div(p->gemm.n, GEMM_PANEL), ns = cost(p);
    int64_t rows = asc_ceil_div(p->gemm.m, gemm_row_block(p->gemm.k_block, p->gemm.pack != NULL)), columns = 1;
    if (rows < call->threads && has_own_rows(call, p)) rows = call->threads;
    int64_t most = asc_least(asc_most(2, ns / CHUNK_NS), call->threads * 4);
    int64_t wanted = call->threads < 2 || ns < PARALLEL_NS ? 1 : most;
    int64_t least_wide = p->gemm.m > GEMM_WIDE_ROWS ? 4 : 2 * GEMM_WIDE_PANELS; /* few rows want wide strips */
    while (p->batches * rows * columns < wanted) {
        int64_t tall = p->gemm.m / rows, wide = panels / columns;
        if (wide >= least_wide && wide * GEMM_PANEL >= tall)
            columns *= 2;
        else if (tall >= 2 * GEMM_ROWS)
            rows *= 2;
        else if (wide >= 2)
            columns *= 2;
        else
            break;
    }
    note_of(call)->row_blocks = rows;
    note_of(call)->panel_blocks = columns;
    note_of(call)->serial = wanted == 1;
    int plain = p->gemm.pack == ASC_FN(gemm_pack_strided);
    note_of(call)->pack_first = plain && (rows > 1 || b_batches(p) < p->batches);
}

/* Whether int8 weights meet so few rows that they are not widened first (gemm_bytes.c). */
static int streams_bytes(const gemm *g, int64_t rows) {
    return g->source && rows <= GEMM_BYTES_ROWS && g->a_k == 1;
}

/* How the rows of a chunk are multiplied. */
typedef enum { UNPACKED, NARROW, WIDENED, TILED } form;

static form form_of(const gemm *g, int64_t rows) {
    if (is_narrow(g)) return is_unpacked(g) ? UNPACKED : NARROW;
    return streams_bytes(g, rows) ? WIDENED : TILED;
}

/* Whether the workers take a block of K after the other, each for all columns: a worker's chunks are panels for the
 * same rows of A, and each chunk would pack all blocks anew. */
static int goes_by_blocks(const asc_call *call, const matmul_problem *p) {
    int64_t rows = note_of(call)->row_blocks, columns = note_of(call)->panel_blocks, tall = p->gemm.m / rows;
    int several = p->batches == 1 && columns > 1 && rows * columns > call->threads && p->gemm.k > p->gemm.k_block;
    return several && tall > 1 && !streams_bytes(&p->gemm, tall);
}

/* Whether both calls normalise A alike, or neither does. */
static int has_same_norm(const asc_call *call, const asc_call *before) {
    const asc_tensor *now = matmul_norm(call), *then = matmul_norm(before);
    if (!now || !then) return !now && !then;
    return now->flags & then->flags & ASC_T_CONST && now->data == then->data &&
           matmul_floats(call)->epsilon == matmul_floats(before)->epsilon;
}

/* Whether the workers find the rows of A packed as this product wants them: the one before it had the same A, as the
 * products of queries, keys and values do, or those of a gate and what it lets through. */
static int finds_rows(const asc_call *call, const matmul_problem *p) {
    const asc_call *before = call->previous;
    if (!before || p->batches != 1) return 0;
    const matmul_note *now = note_of(call), *then = note_of(before);
    return then->rows == now->rows && then->row_blocks == now->row_blocks && then->by_blocks == now->by_blocks &&
           then->scratch_bytes == now->scratch_bytes &&
           matmul_params(before)->trans_a == matmul_params(call)->trans_a &&
           (before->in[B].layout == ASC_LAYOUT_VNNI2_32) == p->gemm.vnni2 && has_same_norm(call, before);
}

/* Floats for factors of all rows that are normalised, in whole lines. */
static int64_t norm_rows(const asc_call *call, const matmul_problem *p) {
    return matmul_norm(call) ? asc_ceil_div(p->batches * p->gemm.m, 16) * 16 : 0;
}

static int is_empty(const matmul_problem *p) {
    return p->batches == 0 || p->gemm.m == 0 || p->gemm.n == 0;
}

/* How K is walked. */
static void split_k(const asc_call *call, matmul_problem *p) {
    gemm *g = &p->gemm;
    int64_t rows = has_own_rows(call, p) ? asc_ceil_div(g->m, call->threads) : g->m;
    g->k_block = g->gated ? g->k : gemm_k_block(g->k, g->pack ? GEMM_MANY_ROWS : rows);
    g->k_to = g->k;
}

int32_t ASC_FN(matmul_prepare)(asc_call *call) {
    matmul_problem p;
    int32_t code = ASC_FN(matmul_read)(call, &p);
    if (code) return code;
    ASC_FN(matmul_point)(call, &p);
    note_of(call)->problem = p;
    if (is_empty(&p)) return ASC_OK;
    ASC_FN(matmul_fold)(&p);
    split_k(call, &p);
    note_of(call)->problem = p;
    split(call, &p);
    note_of(call)->by_blocks = goes_by_blocks(call, &p);
    call->turns = 0; /* the panel that is fetched ahead comes after */
    int64_t rows = asc_ceil_div(p.gemm.m, note_of(call)->row_blocks), total;
    int64_t scratch = ASC_FN(gemm_scratch_bytes)(rows, p.gemm.k_block);
    int64_t packed = asc_packed_bytes(ASC_LAYOUT_PANEL32, p.gemm.k, p.gemm.n);
    int fits = scratch > 0 && asc_mul_ok(scratch, call->threads, &total) && packed >= 0 &&
               asc_add_ok(total, norm_rows(call, &p) * (int64_t)sizeof(float), &total);
    if (fits && note_of(call)->pack_first)
        fits = asc_mul_ok(packed, b_batches(&p), &packed) && asc_add_ok(total, packed, &total);
    ASC_REQUIRE(call, fits, "matmul: the operands are too large");
    note_of(call)->scratch_bytes = scratch;
    note_of(call)->rows = p.batches == 1 ? p.gemm.m : 0;
    note_of(call)->same_rows = !finds_rows(call, &p)                            ? 0
                               : note_of(call->previous)->same_rows == REVERSED ? 1
                                                                                : REVERSED;
    call->workspace_bytes = (uint64_t)total;
    return ASC_OK;
}

static gemm_scratch *scratch_of(const asc_call *call, int64_t worker) {
    return (gemm_scratch *)((char *)call->workspace + worker * note_of(call)->scratch_bytes);
}

static float *norm_factors(const asc_call *call) {
    return (float *)scratch_of(call, call->threads);
}

static float *packed_b(const asc_call *call, const matmul_problem *p) {
    return norm_factors(call) + norm_rows(call, p);
}

static void pack_panel(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const matmul_problem *p = arg;
    (void)worker;
    gemm g = p->gemm;
    int64_t panels = asc_ceil_div(g.n, GEMM_PANEL), index = chunk / panels, rest = index;
    for (int i = p->axes - 1; i >= 0; i--) {
        if (!p->strides[B][i]) continue;
        g.b += rest % p->dims[i] * p->strides[B][i];
        rest /= p->dims[i];
    }
    g.pack(&g, chunk % panels, 0, g.k, packed_b(call, p) + (index * panels + chunk % panels) * g.k * GEMM_PANEL);
}

/* Whether C is large, and nobody finds it in a cache after all that is read besides. */
static int streams(const matmul_problem *p) {
    double c = (double)p->batches * (double)p->gemm.m * (double)p->gemm.ldc * sizeof(float);
    double b = (double)p->gemm.n * (double)p->gemm.k * sizeof(float);
    return c >= ASC_STREAM_BYTES / 2 && c + b + (p->gemm.epilogue.residual.data ? c : 0) >= ASC_STREAM_BYTES;
}

/* The block of rows that a worker comes to. It has several, and only the last of them stays packed: where it may find
 * them so it begins with that one, in the other order. */
static int64_t row_block(const asc_call *call, int64_t index) {
    int64_t share = note_of(call)->row_blocks / call->threads;
    if (note_of(call)->same_rows != REVERSED || share * call->threads != note_of(call)->row_blocks) return index;
    return index / share * share + share - 1 - index % share;
}

static void run_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const matmul_problem *p = arg;
    gemm g = p->gemm;
    int64_t rows = note_of(call)->row_blocks, columns = note_of(call)->panel_blocks, batch = chunk / (rows * columns);
    int64_t row = row_block(call, chunk % (rows * columns) / columns), column = chunk % columns;
    int64_t panels = asc_ceil_div(g.n, GEMM_PANEL);
    g.a += batch_offset(p, A, batch);
    g.norm.factors = norm_factors(call) + batch * g.m;
    g.c = (float *)((char *)g.c + batch * g.m * g.ldc * (g.c_narrow ? 2 : 4));
    if (g.epilogue.bias.data) g.epilogue.bias.data += batch_offset(p, C, batch);
    if (g.epilogue.residual.data) g.epilogue.residual.data += batch_offset(p, R, batch);
    if (note_of(call)->pack_first) {
        g.pack = NULL;
        g.b = packed_b(call, p) + b_batch(p, batch) * panels * g.k * GEMM_PANEL;
    } else {
        g.b += batch_offset(p, B, batch);
    }
    g.prefetch =
        rows <= call->threads ? call->prefetch : NULL; /* otherwise most chunks are followed by others of this call */
    g.far = (double)g.m * (double)g.n * sizeof(float) >= FAR_BYTES;
    g.streams = !g.c_narrow && streams(p);
    int64_t from = asc_split_at(g.m, rows, row), to = asc_split_at(g.m, rows, row + 1);
    int64_t panel = asc_split_at(panels, columns, column), end = asc_split_at(panels, columns, column + 1);
    switch (form_of(&g, to - from)) {
        case UNPACKED: ASC_FN(gemm_unpacked)(&g, from, to - from); break;
        case NARROW:
            if (g.fp16 && !g.pack) g.pack = ASC_FN(gemm_pack_fp16);
            ASC_FN(gemm_small_n)(&g, from, to - from);
            break;
        case WIDENED: ASC_FN(gemm_bytes_stream)(&g, from, to - from, panel, end); break;
        default: ASC_FN(gemm_block)(&g, from, to - from, panel, end, scratch_of(call, worker));
    }
}

void ASC_FN(matmul_schedule)(const asc_call *call, char *text, size_t room) {
    static const char *const names[] = {"unpacked", "narrow", "int8_rows", "tiles", "amx"};
    const matmul_note *note = note_of(call);
    gemm g = note->problem.gemm;
    int64_t chunks = note->problem.batches * note->row_blocks * note->panel_blocks;
    if (is_empty(&note->problem)) {
        asc_format(text, room, ASC_NO_SCHEDULE);
        return;
    }
    if (note->pack_first) g.pack = NULL;
    int form = (int)form_of(&g, g.m / note->row_blocks);
    if (form == TILED && g.vnni2 && ASC_FN(gemm_has_tiles)()) form++;
    int64_t threads = note->serial ? 1 : asc_least(chunks, call->threads);
    asc_format(text, room, "%s chunks=%ld threads=%ld row_blocks=%ld panel_blocks=%ld k_block=%ld%s%s", names[form],
               chunks, threads, note->row_blocks, note->panel_blocks, g.k_block, note->by_blocks ? " k_outermost" : "",
               note->pack_first  ? " packs_b_first"
               : note->same_rows ? " rows_packed_before"
                                 : "");
}

static void run_chunks(const asc_call *call, int64_t chunks, asc_chunk_fn fn, matmul_problem *p) {
    if (!note_of(call)->serial) {
        asc_parallel(call, chunks, fn, p);
        return;
    }
    for (int64_t i = 0; i < chunks; i++) fn(call, i, 0, p);
}

/* What products before have left of their rows. */
static void reset_rows(const asc_call *call, const matmul_problem *p) {
    for (int64_t i = 0; i < call->threads; i++) scratch_of(call, i)->packed = NULL;
    for (int64_t i = 0, rows = norm_rows(call, p); i < rows; i++) norm_factors(call)[i] = GEMM_UNKNOWN;
}

int32_t ASC_FN(matmul_run)(const asc_call *call) {
    matmul_problem p = note_of(call)->problem;
    if (is_empty(&p)) return ASC_OK;
    ASC_FN(matmul_point)(call, &p);
    if (!note_of(call)->same_rows) reset_rows(call, &p);
    if (note_of(call)->pack_first) run_chunks(call, b_batches(&p) * asc_ceil_div(p.gemm.n, GEMM_PANEL), pack_panel, &p);
    int64_t k = p.gemm.k, chunks = p.batches * note_of(call)->row_blocks * note_of(call)->panel_blocks;
    int64_t step = note_of(call)->by_blocks ? p.gemm.k_block : k;
    do {
        p.gemm.k_to = asc_least(p.gemm.k_from + step, k);
        run_chunks(call, chunks, run_chunk, &p);
        p.gemm.k_from = p.gemm.k_to;
    } while (p.gemm.k_from < k);
    return ASC_OK;
}
