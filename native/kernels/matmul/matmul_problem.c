/* Reading the arguments of matmul (matmul.c), and checking them: what shapes decide, and then what each run points to.
 */
#include "matmul_problem.h"

#include "chunks.h"

/* Whether widening float16 anew for every register tile is cheap: one instruction. */
#if defined(__F16C__)
#define TILES_WIDEN 1
#else
#define TILES_WIDEN 0
#endif

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

static int is_gated(const asc_call *call) {
    return matmul_params(call)->activation == ASC_ACTIVATION_GATED;
}

/* Strides of an operand along Y's batch axes; its own batch axes are the first `own`. */
static int32_t read_batch(const asc_call *call, matmul_problem *p, int operand, const asc_tensor *t, int own) {
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
static int32_t stride_panels(const asc_call *call, matmul_problem *p, const asc_tensor *b) {
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
static int32_t stride_vnni2(const asc_call *call, matmul_problem *p) {
    gemm *g = &p->gemm;
    int even = !g->k || (g->a_columns % 2 == 0 && g->a_k == 1 && g->a_row % 2 == 0);
    for (int i = 0; i < p->axes; i++) {
        even = even && p->strides[A][i] % 2 == 0;
        p->strides[A][i] /= 2;
    }
    ASC_REQUIRE(call, g->vnni2 && even, "matmul: a bfloat16 A has contiguous rows of pairs, as B has");
    g->a_row /= 2;
    return ASC_OK;
}

/* C or R against Y; `row` and `col` tell which matrix axes Y has. */
static int32_t read_addend(const asc_call *call, matmul_problem *p, int operand, int row, int col,
                           epilogue_addend *out) {
    *out = (epilogue_addend){0};
    for (int i = 0; i < p->axes; i++) p->strides[operand][i] = 0;
    if (operand >= call->n_in || call->in[operand].dtype == ASC_UNDEFINED) return ASC_OK;
    const asc_tensor *t = &call->in[operand];
    ASC_REQUIRE(call, t->layout == ASC_LAYOUT_PLAIN, "matmul: only B may be in panels");
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

static int32_t read_output(const asc_call *call, matmul_problem *p, int row, int col) {
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
    return ASC_OK;
}

static int32_t read_arguments(const asc_call *call, epilogue *e) {
    const int ints = ASC_MEMBERS(asc_matmul_params), floats = ASC_MEMBERS(asc_matmul_floats);
    ASC_REQUIRE(call,
                call->n_ints == ints - !is_bytes(call) && (call->n_floats == floats || call->n_floats == floats - 1),
                "matmul takes 3 ints, or 4 with int8, and 4 floats, or 5 with a norm");
    const asc_matmul_floats *f = matmul_floats(call);
    *e = (epilogue){.alpha = (float)f->alpha, .beta = (float)f->beta, .low = (float)f->low, .high = (float)f->high};
    int64_t code = is_gated(call) ? ASC_ACTIVATION_NONE : matmul_params(call)->activation;
    ASC_REQUIRE(call, epilogue_read(code, e), "matmul: unknown activation code");
    return ASC_OK;
}

static int32_t read_norm(const asc_call *call, gemm *g) {
    const asc_tensor *scale = matmul_norm(call);
    if (!scale) {
        ASC_REQUIRE(call, is_bytes(call) || call->n_in <= SCALE || call->in[SCALE].dtype == ASC_UNDEFINED,
                    "matmul: the scale of a norm stands beside its epsilon");
        return ASC_OK;
    }
    ASC_REQUIRE(call, !is_bytes(call) && call->in[A].dtype == ASC_FLOAT32 && !matmul_params(call)->trans_a,
                "matmul: a norm is of float32, which isn't transposed, and not beside int8");
    int64_t columns = g->vnni2 ? g->a_columns : g->k;
    int fits = call->n_in > SCALE && scale->dtype == ASC_FLOAT32 && scale->layout == ASC_LAYOUT_PLAIN &&
               scale->rank == 1 && scale->dims[0] == columns;
    fits = fits && (columns < 2 || g->m == 0 || (g->a_k == 1 && scale->strides[0] == 1));
    ASC_REQUIRE(call, fits, "matmul: a norm is of contiguous rows, with a scale for each column");
    g->norm.epsilon = (float)matmul_floats(call)->epsilon;
    return ASC_OK;
}

/* A table of int8 weights: a row for each block of K. */
static int32_t check_table(const asc_call *call, const matmul_problem *p, int operand) {
    const asc_tensor *t = &call->in[operand];
    ASC_REQUIRE(
        call,
        t->layout == ASC_LAYOUT_PANEL32 && t->rank == 2 && t->dims[0] == p->bytes.blocks && t->dims[1] == p->gemm.n,
        "matmul: scale and zero point are [blocks of K, N] in panels");
    return ASC_OK;
}

static int32_t read_bytes(const asc_call *call, matmul_problem *p) {
    const asc_tensor *b = &call->in[B];
    int64_t block = matmul_params(call)->block;
    int32_t code;
    int nibbles = b->layout == ASC_LAYOUT_NIBBLES32, bytes = b->layout == ASC_LAYOUT_BYTES32;
    ASC_REQUIRE(call, (bytes || nibbles) && b->rank == 2 && !matmul_params(call)->trans_b && call->n_in > SCALE,
                "matmul: int8 weights are one matrix in panels, with scales");
    ASC_REQUIRE(call, block >= 1, "matmul: a block of int8 weights has at least one row");
    ASC_REQUIRE(call, !nibbles || block % 2 == 0 || block >= p->gemm.k,
                "matmul: a block of 4-bit weights has an even number of rows");
    p->bytes.nibbles = nibbles;
    p->bytes.block = block;
    p->bytes.blocks = asc_ceil_div(p->gemm.k, p->bytes.block);
    if ((code = check_table(call, p, SCALE))) return code;
    if (asc_has_input(call, ZERO) && (code = check_table(call, p, ZERO))) return code;
    p->gemm.pack = ASC_FN(gemm_pack_bytes);
    return ASC_OK;
}

static int32_t check_gated(const asc_call *call, const gemm *g) {
    int plain = g->epilogue.alpha == 1;
    for (int i = C; i < call->n_in && i <= R; i++) plain = plain && call->in[i].dtype == ASC_UNDEFINED;
    ASC_REQUIRE(call, plain && is_packed(&call->in[B]) && !is_bytes(call) && g->n % (2 * ASC_GATED_GROUP) == 0,
                "matmul: a gated product has packed weights in whole groups, and no addends");
    return ASC_OK;
}

/* B as it lies, and how A is read beside it. */
static int32_t read_right(const asc_call *call, matmul_problem *p, const int64_t strides[2]) {
    const asc_tensor *b = &call->in[B];
    gemm *g = &p->gemm;
    if (is_bytes(call)) return read_bytes(call, p);
    if (!is_packed(b)) {
        ASC_REQUIRE(call, b->layout == ASC_LAYOUT_PLAIN && b->dtype == ASC_FLOAT32, "matmul: B has an unknown layout");
        g->pack = ASC_FN(gemm_pack_strided);
        g->b_k = strides[0];
        g->b_col = strides[1];
        return ASC_OK;
    }
    ASC_REQUIRE(call, b->rank >= 2 && !matmul_params(call)->trans_b,
                "matmul: a B in panels is not a vector and not transposed");
    const asc_layout *layout = asc_layout_of(b->layout);
    ASC_REQUIRE(call, layout && layout->dtype == b->dtype, "matmul: B has an unknown layout");
    if (b->layout == ASC_LAYOUT_VNNI2_32) {
        g->vnni2 = 1;
        g->rounds = call->in[A].dtype == ASC_FLOAT32;
        g->a_columns = g->k;
        g->k = g->k / 2 + g->k % 2;
        if (g->epilogue.activation == ASC_ACTIVATION_GELU) g->epilogue.activation = EPILOGUE_GELU_COARSE;
    }
    g->fp16 = b->layout == ASC_LAYOUT_FP16_32;
    if (g->fp16 && !TILES_WIDEN) g->pack = ASC_FN(gemm_pack_fp16);
    return ASC_OK;
}

int32_t ASC_FN(matmul_read)(const asc_call *call, matmul_problem *p) {
    const asc_tensor *a = &call->in[A], *b = &call->in[B];
    gemm *g = &p->gemm;
    int64_t a_dims[2] = {0}, a_strides[2] = {0}, b_dims[2] = {0}, b_strides[2] = {0};
    int32_t code;
    *p = (matmul_problem){0};
    if ((code = read_arguments(call, &g->epilogue))) return code;
    if ((code = read_matrix(call, a, matmul_params(call)->trans_a, 0, a_dims, a_strides))) return code;
    if ((code = read_matrix(call, b, matmul_params(call)->trans_b, 1, b_dims, b_strides))) return code;
    ASC_REQUIRE(call, a->layout == ASC_LAYOUT_PLAIN, "matmul: only B may be in panels");
    ASC_REQUIRE(call, a_dims[1] == b_dims[0], "matmul: A's columns are not B's rows");
    g->m = a_dims[0];
    g->k = a_dims[1];
    g->n = b_dims[1];
    g->c_narrow = call->out[0].dtype == ASC_BFLOAT16;
    g->a_row = a_strides[0];
    g->a_k = a_dims[1] == 1 ? 1 : a_strides[1];
    if ((code = read_right(call, p, b_strides)) || (code = read_norm(call, g))) return code;
    g->gated = is_gated(call);
    if (g->gated && (code = check_gated(call, g))) return code;
    ASC_REQUIRE(call, g->gated || !g->c_narrow, "matmul: only a gated product gives bfloat16");
    int row = a->rank > 1, col = b->rank > 1;
    if ((code = read_output(call, p, row, col))) return code;
    if ((code = read_batch(call, p, A, a, row ? a->rank - 2 : 0))) return code;
    if ((code = read_batch(call, p, B, b, col ? b->rank - 2 : 0))) return code;
    if (is_packed(b) && (code = stride_panels(call, p, b))) return code;
    if (a->dtype == ASC_BFLOAT16 && (code = stride_vnni2(call, p))) return code;
    if ((code = read_addend(call, p, C, row, col, &g->epilogue.bias))) return code;
    return read_addend(call, p, R, row, col, &g->epilogue.residual);
}

static const void *data_of(const asc_call *call, int operand) {
    return asc_has_input(call, operand) ? call->in[operand].data : NULL;
}

void ASC_FN(matmul_point)(const asc_call *call, matmul_problem *p) {
    gemm *g = &p->gemm;
    g->a = call->in[A].data;
    g->b = call->in[B].data;
    g->c = call->out[0].data;
    g->epilogue.bias.data = data_of(call, C);
    g->epilogue.residual.data = data_of(call, R);
    g->norm.scale = matmul_norm(call) ? matmul_norm(call)->data : NULL;
    if (!is_bytes(call)) return;
    p->bytes.weights = call->in[B].data;
    p->bytes.scale = call->in[SCALE].data;
    p->bytes.zero = data_of(call, ZERO);
    g->source = &p->bytes;
}

/* Whether all batches of an operand are one run of rows `step` apart. */
static int rows_run_on(const matmul_problem *p, int operand, int64_t step) {
    int64_t expect = step * p->gemm.m;
    for (int i = p->axes - 1; i >= 0; i--) {
        if (p->dims[i] != 1 && p->strides[operand][i] != expect) return 0;
        expect *= p->dims[i];
    }
    return 1;
}

void ASC_FN(matmul_fold)(matmul_problem *p) {
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
