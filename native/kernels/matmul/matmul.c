/* matmul: Y = activation(alpha op(A) op(B) + beta C + R), with numpy's batch broadcasting.
 *
 * in:  A [.., M, K], B [.., K, N], then C and R, each absent or broadcastable to Y; any strides. A of rank 1 is a
 *      row, B of rank 1 a column, and Y lacks that axis. Constant weights B lie packed, their matrices back to back:
 *
 *      - ASC_LAYOUT_PANEL32: float32;
 *      - ASC_LAYOUT_PAIRS32: bfloat16; A is rounded to it as well, or bfloat16 already, with rows of pairs: even K,
 *        contiguous, even strides; sums stay float32;
 *      - ASC_LAYOUT_HALVES32: float16, with the bits of the product with these numbers as float32;
 *      - ASC_LAYOUT_BYTES32, NIBBLES32: int8 q [K, N], which is (q - zero) * scale, in float32; behind R stand scale
 *        and zero (which may be absent), each [ceil(K / block), N] in ASC_LAYOUT_PANEL32.
 *
 * out: Y [.., M, N]
 *
 * ints: transA, transB (swap the last two axes; not with rank 1, transB not with a packed B), activation (epilogue.h),
 *       and with int8 block
 *
 *       A gated product has the activation GATED: B's columns lie in groups (gemm.h) of a gate's and of what it lets
 *       through, and Y [.., M, N / 2], which may be bfloat16, is silu(gate) * up. It has neither C nor R nor alpha.
 *
 * floats: alpha, beta, low, high (the bounds of EPILOGUE_CLIP)
 */
#include "chunks.h"
#include "gemm_bytes.h"

/* Whether widening float16 anew for every register tile is cheap: one instruction. */
#if defined(__F16C__)
#define TILES_WIDEN 1
#else
#define TILES_WIDEN 0
#endif

#define FAR_BYTES (2 << 20) /* of an output of which L2 keeps little from one panel to the next */
#define MAX_BATCH_AXES ASC_MAX_RANK
#define GATED 12 /* beyond the activations of epilogue.h */
enum { A, B, C, R, OPERANDS, SCALE = OPERANDS, ZERO };

typedef struct problem {
    gemm gemm;        /* pointers of batch 0 */
    gemm_bytes bytes; /* its source, when B is int8 */
    int axes;         /* batch axes */
    int64_t dims[MAX_BATCH_AXES];
    int64_t strides[OPERANDS][MAX_BATCH_AXES];
    int64_t batches;
} problem;

/* Split of the work: prepare's notes to run. */
enum { ROW_BLOCKS, PANEL_BLOCKS, SERIAL, PACK_FIRST, SCRATCH_BYTES, ROWS, KEEPS_ROWS, SAME_ROWS };

/* The two matrix axes of A or B: extents and strides as seen after the transposition. */
static int32_t read_matrix(const asc_call *call, const asc_tensor *t, int64_t transposed, int column, int64_t dims[2],
                           int64_t strides[2]) {
    ASC_REQUIRE(call, t->rank >= 1, "matmul: A and B need at least one axis");
    ASC_REQUIRE(call, transposed == 0 || (transposed == 1 && t->rank >= 2),
                "matmul: transA and transB are 0 or 1, and 0 for a vector");
    if (t->rank == 1) {
        dims[!column] = t->dims[0];
        strides[!column] = t->strides[0];
        dims[column] = 1;
        strides[column] = 0;
        return ASC_OK;
    }
    for (int i = 0; i < 2; i++) {
        int axis = t->rank - 2 + (transposed ? 1 - i : i);
        dims[i] = t->dims[axis];
        strides[i] = t->dims[axis] == 1 ? 0 : t->strides[axis];
    }
    return ASC_OK;
}

static int is_packed(const asc_tensor *t) {
    return t->layout != ASC_LAYOUT_PLAIN;
}

static int is_bytes(const asc_call *call) {
    return call->in[B].dtype == ASC_INT8;
}

/* Strides of an operand along Y's batch axes; its own batch axes are the first `own`. */
static int32_t read_batch(const asc_call *call, problem *p, int operand, const asc_tensor *t, int own) {
    ASC_REQUIRE(call, own <= p->axes, "matmul: an operand has more batch axes than the output");
    for (int i = 0; i < p->axes; i++) {
        int axis = i - (p->axes - own);
        int64_t dim = axis >= 0 ? t->dims[axis] : 1;
        ASC_REQUIRE(call, dim == 1 || dim == p->dims[i], "matmul: batch axes do not broadcast to the output's");
        p->strides[operand][i] = dim == 1 ? 0 : t->strides[axis];
    }
    return ASC_OK;
}

/* Matrices in panels follow each other: the strides of B's batch axes count the floats of whole packed matrices. */
static int32_t stride_panels(const asc_call *call, problem *p, const asc_tensor *b) {
    int64_t bytes = asc_packed_bytes(b->layout, b->dims[b->rank - 2], b->dims[b->rank - 1]);
    int64_t step = bytes / (int64_t)sizeof(float);
    ASC_REQUIRE(call, bytes >= 0, "matmul: B is too large");
    for (int i = b->rank - 3, axis = p->axes - 1; i >= 0; i--, axis--) {
        p->strides[B][axis] = b->dims[i] == 1 ? 0 : step;
        ASC_REQUIRE(call, asc_mul_ok(step, b->dims[i], &step), "matmul: B is too large");
    }
    return ASC_OK;
}

/* A in bfloat16, of which pairs are read as they lie: its strides count them. */
static int32_t stride_pairs(const asc_call *call, problem *p) {
    gemm *g = &p->gemm;
    int even = !g->k || (g->a_columns % 2 == 0 && g->a_k == 1 && g->a_row % 2 == 0);
    for (int i = 0; i < p->axes; i++) {
        even = even && p->strides[A][i] % 2 == 0;
        p->strides[A][i] /= 2;
    }
    ASC_REQUIRE(call, g->pairs && even, "matmul: a bfloat16 A has contiguous rows of pairs, as B has");
    g->a_row /= 2;
    return ASC_OK;
}

/* C or R against Y; `row` and `col` tell which matrix axes Y has. */
static int32_t read_addend(const asc_call *call, problem *p, int operand, int row, int col, epilogue_addend *out) {
    *out = (epilogue_addend){0};
    for (int i = 0; i < p->axes; i++) p->strides[operand][i] = 0;
    if (operand >= call->n_in || call->in[operand].dtype == ASC_UNDEFINED) return ASC_OK;
    const asc_tensor *t = &call->in[operand];
    ASC_REQUIRE(call, t->layout == ASC_LAYOUT_PLAIN, "matmul: only B may be in panels");
    out->data = t->data;
    int axis = t->rank - 1;
    if (col && axis >= 0) {
        ASC_REQUIRE(call, t->dims[axis] == 1 || t->dims[axis] == p->gemm.n,
                    "matmul: an addend does not broadcast along N");
        out->col = t->dims[axis] == 1 ? 0 : t->strides[axis];
        axis--;
    }
    if (row && axis >= 0) {
        ASC_REQUIRE(call, t->dims[axis] == 1 || t->dims[axis] == p->gemm.m,
                    "matmul: an addend does not broadcast along M");
        out->row = t->dims[axis] == 1 ? 0 : t->strides[axis];
        axis--;
    }
    return read_batch(call, p, operand, t, axis + 1);
}

static int32_t read_output(const asc_call *call, problem *p, int row, int col) {
    const asc_tensor *y = &call->out[0];
    int axis = y->rank - row - col;
    ASC_REQUIRE(call, axis >= 0 && y->layout == ASC_LAYOUT_PLAIN, "matmul: the output has too few axes");
    if (row) ASC_REQUIRE(call, y->dims[axis] == p->gemm.m, "matmul: the output's rows are not A's");
    p->gemm.ldc = p->gemm.gated ? p->gemm.n / 2 : p->gemm.n;
    if (col) ASC_REQUIRE(call, y->dims[axis + row] == p->gemm.ldc, "matmul: the output's columns are not B's");
    p->axes = axis;
    p->batches = 1;
    for (int i = 0; i < axis; i++) {
        p->dims[i] = y->dims[i];
        p->batches *= y->dims[i];
    }
    p->gemm.c = y->data;
    return ASC_OK;
}

static int32_t read_arguments(const asc_call *call, epilogue *e) {
    ASC_REQUIRE(call, call->n_ints == 3 + is_bytes(call) && call->n_floats == 4,
                "matmul takes 3 ints, or 4 with int8, and 4 floats");
    *e = (epilogue){.alpha = (float)call->floats[0], .beta = (float)call->floats[1], .low = (float)call->floats[2]};
    e->high = (float)call->floats[3];
    int64_t code = call->ints[2] == GATED ? EPILOGUE_NONE : call->ints[2];
    ASC_REQUIRE(call, epilogue_read(code, e), "matmul: unknown activation code");
    return ASC_OK;
}

/* A table of int8 weights: a row for each block of K. */
static int32_t read_table(const asc_call *call, const problem *p, int operand, const float **out) {
    const asc_tensor *t = &call->in[operand];
    *out = t->data;
    ASC_REQUIRE(
        call,
        t->layout == ASC_LAYOUT_PANEL32 && t->rank == 2 && t->dims[0] == p->bytes.blocks && t->dims[1] == p->gemm.n,
        "matmul: scale and zero point are [blocks of K, N] in panels");
    return ASC_OK;
}

static int32_t read_bytes(const asc_call *call, problem *p) {
    const asc_tensor *b = &call->in[B];
    int32_t code;
    int halves = b->layout == ASC_LAYOUT_NIBBLES32, bytes = b->layout == ASC_LAYOUT_BYTES32;
    ASC_REQUIRE(call, (bytes || halves) && b->rank == 2 && !call->ints[1] && call->n_in > SCALE,
                "matmul: int8 weights are one matrix in panels, with scales");
    ASC_REQUIRE(call, call->ints[3] >= 1, "matmul: a block of int8 weights has at least one row");
    ASC_REQUIRE(call, !halves || call->ints[3] % 2 == 0 || call->ints[3] >= p->gemm.k,
                "matmul: a block of 4-bit weights has an even number of rows");
    p->bytes.weights = b->data;
    p->bytes.halves = halves;
    p->bytes.block = call->ints[3];
    p->bytes.blocks = asc_ceil_div(p->gemm.k, p->bytes.block);
    p->bytes.zero = NULL;
    if ((code = read_table(call, p, SCALE, &p->bytes.scale))) return code;
    if (call->n_in > ZERO && call->in[ZERO].dtype != ASC_UNDEFINED &&
        (code = read_table(call, p, ZERO, &p->bytes.zero)))
        return code;
    p->gemm.pack = ASC_FN(gemm_pack_bytes);
    p->gemm.source = &p->bytes;
    return ASC_OK;
}

static int32_t check_gated(const asc_call *call, const gemm *g) {
    int plain = g->epilogue.alpha == 1 && call->n_in <= R + 1;
    for (int i = C; i < call->n_in; i++) plain = plain && call->in[i].dtype == ASC_UNDEFINED;
    ASC_REQUIRE(call, plain && is_packed(&call->in[B]) && !is_bytes(call) && g->n % (2 * GEMM_GATED) == 0,
                "matmul: a gated product has packed weights in whole groups, and no addends");
    return ASC_OK;
}

static int32_t read_problem(const asc_call *call, problem *p) {
    const asc_tensor *a = &call->in[A], *b = &call->in[B];
    gemm *g = &p->gemm;
    int64_t a_dims[2] = {0}, a_strides[2] = {0}, b_dims[2] = {0}, b_strides[2] = {0};
    int32_t code;
    *g = (gemm){0};
    if ((code = read_arguments(call, &g->epilogue))) return code;
    if ((code = read_matrix(call, a, call->ints[0], 0, a_dims, a_strides))) return code;
    if ((code = read_matrix(call, b, call->ints[1], 1, b_dims, b_strides))) return code;
    ASC_REQUIRE(call, a->layout == ASC_LAYOUT_PLAIN, "matmul: only B may be in panels");
    ASC_REQUIRE(call, a_dims[1] == b_dims[0], "matmul: A's columns are not B's rows");
    g->m = a_dims[0];
    g->k = a_dims[1];
    g->n = b_dims[1];
    g->a = a->data;
    g->c_narrow = call->out[0].dtype == ASC_BFLOAT16;
    g->a_row = a_strides[0];
    g->a_k = a_dims[1] == 1 ? 1 : a_strides[1];
    g->b = b->data;
    if (is_bytes(call)) {
        if ((code = read_bytes(call, p))) return code;
    } else if (is_packed(b)) {
        ASC_REQUIRE(call, b->rank >= 2 && !call->ints[1], "matmul: a B in panels is not a vector and not transposed");
        const asc_layout *layout = asc_layout_of(b->layout);
        ASC_REQUIRE(call, layout && layout->dtype == b->dtype, "matmul: B has an unknown layout");
        if (b->layout == ASC_LAYOUT_PAIRS32) {
            g->pairs = 1;
            g->rounds = a->dtype == ASC_FLOAT32;
            g->a_columns = g->k;
            g->k = g->k / 2 + g->k % 2;
            if (g->epilogue.activation == EPILOGUE_GELU) g->epilogue.activation = EPILOGUE_GELU_COARSE;
        }
        g->halves = b->layout == ASC_LAYOUT_HALVES32;
        if (g->halves && !TILES_WIDEN) g->pack = ASC_FN(gemm_pack_halves);
    } else {
        ASC_REQUIRE(call, b->layout == ASC_LAYOUT_PLAIN && b->dtype == ASC_FLOAT32, "matmul: B has an unknown layout");
        g->pack = ASC_FN(gemm_pack_strided);
        g->b_k = b_strides[0];
        g->b_col = b_strides[1];
    }
    g->gated = call->ints[2] == GATED;
    g->k_block = g->gated ? g->k : gemm_k_block(g->k);
    if (g->gated && (code = check_gated(call, g))) return code;
    ASC_REQUIRE(call, g->gated || !g->c_narrow, "matmul: only a gated product gives bfloat16");
    int row = a->rank > 1, col = b->rank > 1;
    if ((code = read_output(call, p, row, col))) return code;
    if ((code = read_batch(call, p, A, a, row ? a->rank - 2 : 0))) return code;
    if ((code = read_batch(call, p, B, b, col ? b->rank - 2 : 0))) return code;
    if (is_packed(b) && (code = stride_panels(call, p, b))) return code;
    if (a->dtype == ASC_BFLOAT16 && (code = stride_pairs(call, p))) return code;
    if ((code = read_addend(call, p, C, row, col, &g->epilogue.bias))) return code;
    return read_addend(call, p, R, row, col, &g->epilogue.residual);
}

/* Whether all batches of an operand are one run of rows `step` apart. */
static int rows_run_on(const problem *p, int operand, int64_t step) {
    int64_t expect = step * p->gemm.m;
    for (int i = p->axes - 1; i >= 0; i--) {
        if (p->dims[i] != 1 && p->strides[operand][i] != expect) return 0;
        expect *= p->dims[i];
    }
    return 1;
}

/* With one B for all batches, the batches of A are more rows of one product. */
static void fold_batches(problem *p) {
    gemm *g = &p->gemm;
    if (p->batches < 2) return;
    for (int i = 0; i < p->axes; i++)
        if (p->strides[B][i]) return;
    int last = p->axes - 1;
    while (p->dims[last] == 1) last--;
    if (g->m == 1) { /* the stride of a single row says nothing */
        g->a_row = p->strides[A][last];
        g->epilogue.bias.row = p->strides[C][last];
        g->epilogue.residual.row = p->strides[R][last];
    }
    if (!rows_run_on(p, A, g->a_row) || !rows_run_on(p, C, g->epilogue.bias.row) ||
        !rows_run_on(p, R, g->epilogue.residual.row))
        return;
    g->m *= p->batches;
    p->batches = 1;
    p->axes = 0;
}

static int64_t batch_offset(const problem *p, int operand, int64_t batch) {
    int64_t offset = 0;
    for (int i = p->axes - 1; i >= 0; i--) {
        offset += batch % p->dims[i] * p->strides[operand][i];
        batch /= p->dims[i];
    }
    return offset;
}

/* Batches of B that differ, and which of them batch number `batch` uses. */
static int64_t b_batches(const problem *p) {
    int64_t n = 1;
    for (int i = 0; i < p->axes; i++)
        if (p->strides[B][i]) n *= p->dims[i];
    return n;
}

static int64_t b_batch(const problem *p, int64_t batch) {
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

/* Whether few columns meet many rows (gemm_narrow.c). */
static int is_narrow(const gemm *g) {
    return !g->gated && g->n <= GEMM_NARROW && g->m >= GEMM_NARROW_LEAST;
}

/* Whether these few columns are multiplied by rows where they lie (gemm_unpacked.c): where fewer lanes of vectors are
 * idle than packing costs columns. */
static int is_unpacked(const gemm *g) {
    return (g->n + 3) % 16 < 4 && g->a_k == 1 && !g->pack && !g->pairs && !g->halves;
}

/* Nanoseconds of one thread, from multiply-adds and from the bytes of B, and for few columns from packing A: only to
 * size chunks. */
static int64_t cost(const problem *p) {
    double elements = (double)p->batches * (double)p->gemm.n * (double)p->gemm.k;
    double by_arithmetic = elements * (double)p->gemm.m / (ASC_VF * 8), by_traffic = elements / 20;
    double ns = by_arithmetic > by_traffic ? by_arithmetic : by_traffic;
    if (is_narrow(&p->gemm)) ns += (double)p->batches * (double)p->gemm.m * (double)p->gemm.k / ASC_VF;
    return ns > 1e15 ? (int64_t)1e15 : (int64_t)ns;
}

#define PAIRS_OWN_COLUMNS 1024 /* up to which bfloat16 takes longer to pack all rows than to read all of B */

/* Whether every worker gets rows of its own, of which nobody else packs or reads any: some tiles each, for which it
 * pays that all workers read all of B. */
static int has_own_rows(const asc_call *call, const problem *p) {
    const gemm *g = &p->gemm;
    int pays = !g->pairs || g->n <= PAIRS_OWN_COLUMNS;
    return pays && p->batches == 1 && !g->pack && g->m / call->threads >= 4 * GEMM_ROWS;
}

/* Splits one product into row blocks x panel blocks, `wanted` chunks over all batches if that is possible. */
static void split(asc_call *call, const problem *p) {
    int64_t panels = asc_ceil_div(p->gemm.n, GEMM_PANEL), ns = cost(p);
    int64_t rows = asc_ceil_div(p->gemm.m, gemm_row_block(p->gemm.k_block, p->gemm.pack != NULL)), columns = 1;
    if (rows < call->threads && has_own_rows(call, p)) rows = call->threads;
    int64_t most = ns / 8000 < call->threads * 4 ? ns / 8000 : call->threads * 4;
    int64_t wanted = call->threads < 2 || ns < 16000 ? 1 : most;
    int64_t least_wide = p->gemm.m > 2 ? 4 : 2 * GEMM_WIDE_PANELS; /* two rows or one want wide strips */
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
    call->scratch[ROW_BLOCKS] = rows;
    call->scratch[PANEL_BLOCKS] = columns;
    call->scratch[SERIAL] = wanted == 1;
    int plain = p->gemm.pack == ASC_FN(gemm_pack_strided);
    call->scratch[PACK_FIRST] = plain && (rows > 1 || b_batches(p) < p->batches);
}

/* Whether a worker's chunks are panels for the same rows of A, whose blocks of K each chunk would pack anew. */
static int keeps_rows(const asc_call *call, const problem *p) {
    int64_t rows = call->scratch[ROW_BLOCKS], columns = call->scratch[PANEL_BLOCKS];
    return p->batches == 1 && columns > 1 && rows * columns > call->threads && p->gemm.k > p->gemm.k_block;
}

/* Whether the workers find the rows of A packed as this product wants them: the one before it had the same A, as the
 * products of queries, keys and values do, or those of a gate and what it lets through. */
static int finds_rows(const asc_call *call, const problem *p) {
    const asc_call *before = call->before;
    if (!before || p->batches != 1) return 0;
    const int64_t *now = call->scratch, *then = before->scratch;
    return then[ROWS] == now[ROWS] && then[ROW_BLOCKS] == now[ROW_BLOCKS] && then[KEEPS_ROWS] == now[KEEPS_ROWS] &&
           then[SCRATCH_BYTES] == now[SCRATCH_BYTES] && before->ints[0] == call->ints[0] &&
           (before->in[B].layout == ASC_LAYOUT_PAIRS32) == p->gemm.pairs;
}

int32_t ASC_FN(matmul_prepare)(asc_call *call) {
    problem p;
    int32_t code = read_problem(call, &p);
    if (code) return code;
    if (p.batches == 0 || p.gemm.m == 0 || p.gemm.n == 0) return ASC_OK;
    fold_batches(&p);
    split(call, &p);
    call->scratch[KEEPS_ROWS] = keeps_rows(call, &p);
    call->turns = 0; /* the panel that is fetched ahead comes after */
    int64_t rows = asc_ceil_div(p.gemm.m, call->scratch[ROW_BLOCKS]), total;
    int64_t k_rows = call->scratch[KEEPS_ROWS] ? p.gemm.k : p.gemm.k_block;
    int64_t scratch = ASC_FN(gemm_scratch_bytes)(rows, k_rows, p.gemm.k_block);
    int64_t packed = asc_packed_bytes(ASC_LAYOUT_PANEL32, p.gemm.k, p.gemm.n);
    int fits = scratch > 0 && asc_mul_ok(scratch, call->threads, &total) && packed >= 0;
    if (fits && call->scratch[PACK_FIRST])
        fits = asc_mul_ok(packed, b_batches(&p), &packed) && asc_add_ok(total, packed, &total);
    ASC_REQUIRE(call, fits, "matmul: the operands are too large");
    call->scratch[SCRATCH_BYTES] = scratch;
    call->scratch[ROWS] = p.batches == 1 ? p.gemm.m : 0;
    call->scratch[SAME_ROWS] = finds_rows(call, &p);
    call->workspace_bytes = (uint64_t)total;
    return ASC_OK;
}

static gemm_scratch *scratch_of(const asc_call *call, int64_t worker) {
    return (gemm_scratch *)((char *)call->workspace + worker * call->scratch[SCRATCH_BYTES]);
}

static float *packed_b(const asc_call *call) {
    return (float *)scratch_of(call, call->threads);
}

static void pack_panel(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const problem *p = arg;
    (void)worker;
    gemm g = p->gemm;
    int64_t panels = asc_ceil_div(g.n, GEMM_PANEL), index = chunk / panels, rest = index;
    for (int i = p->axes - 1; i >= 0; i--) {
        if (!p->strides[B][i]) continue;
        g.b += rest % p->dims[i] * p->strides[B][i];
        rest /= p->dims[i];
    }
    g.pack(&g, chunk % panels, 0, g.k, packed_b(call) + (index * panels + chunk % panels) * g.k * GEMM_PANEL);
}

/* Whether C is large, and nobody finds it in a cache after all that is read besides. */
static int streams(const problem *p) {
    double c = (double)p->batches * (double)p->gemm.m * (double)p->gemm.ldc * sizeof(float);
    double b = (double)p->gemm.n * (double)p->gemm.k * sizeof(float);
    return c >= ASC_STREAM_BYTES / 2 && c + b + (p->gemm.epilogue.residual.data ? c : 0) >= ASC_STREAM_BYTES;
}

static void run_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const problem *p = arg;
    gemm g = p->gemm;
    int64_t rows = call->scratch[ROW_BLOCKS], columns = call->scratch[PANEL_BLOCKS], batch = chunk / (rows * columns);
    int64_t row = chunk % (rows * columns) / columns, column = chunk % columns; /* a worker's rows, then its next */
    int64_t panels = asc_ceil_div(g.n, GEMM_PANEL);
    g.a += batch_offset(p, A, batch);
    g.c = (float *)((char *)g.c + batch * g.m * g.ldc * (g.c_narrow ? 2 : 4));
    if (g.epilogue.bias.data) g.epilogue.bias.data += batch_offset(p, C, batch);
    if (g.epilogue.residual.data) g.epilogue.residual.data += batch_offset(p, R, batch);
    if (call->scratch[PACK_FIRST]) {
        g.pack = NULL;
        g.b = packed_b(call) + b_batch(p, batch) * panels * g.k * GEMM_PANEL;
    } else {
        g.b += batch_offset(p, B, batch);
    }
    g.far = (double)g.m * (double)g.n * sizeof(float) >= FAR_BYTES;
    g.streams = !g.c_narrow && streams(p);
    g.keeps_rows = (int)call->scratch[KEEPS_ROWS];
    int64_t from = asc_split_at(g.m, rows, row), to = asc_split_at(g.m, rows, row + 1);
    if (is_narrow(&p->gemm)) {
        if (g.halves && !g.pack) g.pack = ASC_FN(gemm_pack_halves);
        if (is_unpacked(&g))
            ASC_FN(gemm_unpacked)(&g, from, to - from);
        else
            ASC_FN(gemm_narrow)(&g, from, to - from);
        return;
    }
    if (g.source && to - from <= GEMM_BYTES_ROWS && g.a_k == 1) {
        ASC_FN(gemm_bytes_stream)(&g, from, to - from, asc_split_at(panels, columns, column),
                                  asc_split_at(panels, columns, column + 1));
        return;
    }
    ASC_FN(gemm_block)(&g, from, to - from, asc_split_at(panels, columns, column),
                       asc_split_at(panels, columns, column + 1), scratch_of(call, worker));
}

static void run_chunks(const asc_call *call, int64_t chunks, asc_chunk_fn fn, problem *p) {
    if (!call->scratch[SERIAL]) {
        asc_parallel(call, chunks, fn, p);
        return;
    }
    for (int64_t i = 0; i < chunks; i++) fn(call, i, 0, p);
}

int32_t ASC_FN(matmul_run)(const asc_call *call) {
    problem p;
    int32_t code = read_problem(call, &p);
    if (code || p.batches == 0 || p.gemm.m == 0 || p.gemm.n == 0) return code;
    fold_batches(&p);
    for (int64_t i = 0; i < call->threads && !call->scratch[SAME_ROWS]; i++) scratch_of(call, i)->packed = NULL;
    if (call->scratch[PACK_FIRST]) run_chunks(call, b_batches(&p) * asc_ceil_div(p.gemm.n, GEMM_PANEL), pack_panel, &p);
    run_chunks(call, p.batches * call->scratch[ROW_BLOCKS] * call->scratch[PANEL_BLOCKS], run_chunk, &p);
    return ASC_OK;
}
