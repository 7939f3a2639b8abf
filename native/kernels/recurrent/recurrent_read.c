/* Reading the arguments of the recurrent kernel. */
#include "recurrent.h"

static const asc_recurrent_params *params_of(const asc_call *call) {
    return ASC_INTS_AS(asc_recurrent_params, call);
}

static const int64_t gates_of[ASC_RECURRENT_COUNT] = {
    [ASC_RECURRENT_RNN] = 1, [ASC_RECURRENT_GRU] = 3, [ASC_RECURRENT_LSTM] = 4};

static int has_dims(const asc_tensor *t, int rank, const int64_t *dims) {
    if (t->rank != rank) return 0;
    for (int i = 0; i < rank; i++)
        if (t->dims[i] != dims[i]) return 0;
    return 1;
}

static int32_t panels_of(const asc_tensor *t) {
    if (t->dtype == ASC_INT8) return ASC_LAYOUT_VNNI4_32;
    return t->dtype == ASC_BFLOAT16 ? ASC_LAYOUT_VNNI2_32 : ASC_LAYOUT_PANEL32;
}

/* A weight of `columns` columns: in panels of its type, or transposed and plain, which only float32 is. */
static int is_weight(const asc_call *call, int operand, int64_t directions, int64_t hidden, int64_t columns) {
    if (!asc_has_input(call, operand)) return 0;
    const asc_tensor *t = &call->in[operand];
    int packed = t->layout == panels_of(t);
    if (t->dtype != ASC_FLOAT32 && !packed) return 0;
    int64_t dims[3] = {directions, packed ? hidden : columns, packed ? columns : hidden};
    return (packed || t->layout == ASC_LAYOUT_PLAIN) && has_dims(t, 3, dims);
}

static int32_t read_cells(const asc_call *call, layer *l) {
    const asc_recurrent_params *p = params_of(call);
    const asc_recurrent_floats *f = ASC_FLOATS_AS(asc_recurrent_floats, call);
    for (int64_t d = 0; d < l->directions; d++) {
        const asc_recurrent_direction *codes = &p->directions[d];
        const asc_recurrent_numbers *n = &f->directions[d];
        cell *k = &l->cells[d];
        *k = (cell){.kind = p->kind, .hidden = l->hidden, .clip = (float)f->clip};
        k->reset_after = p->reset_after != 0;
        k->coupled = p->coupled != 0;
        l->backwards[d] = codes->backwards != 0;
        k->f[0] = (cell_activation){codes->f, (float)n->f_alpha, (float)n->f_beta};
        k->f[1] = (cell_activation){codes->g, (float)n->g_alpha, (float)n->g_beta};
        k->f[2] = (cell_activation){codes->h, (float)n->h_alpha, (float)n->h_beta};
        for (int i = 0; i < CELL_FUNCTIONS; i++)
            ASC_REQUIRE(call, k->f[i].code >= 0 && k->f[i].code < ASC_CELL_COUNT, "recurrent: unknown activation");
    }
    return ASC_OK;
}

static int32_t read_states(const asc_call *call, const layer *l) {
    int lstm = params_of(call)->kind == ASC_RECURRENT_LSTM;
    int64_t y[4] = {l->steps, l->directions, l->batch, l->hidden}, hole[2] = {l->directions, 3 * l->hidden};
    ASC_REQUIRE(call, call->n_out == 2 + lstm && has_dims(&call->out[0], 4, y), "recurrent: Y is [S, D, B, H]");
    for (int i = 1; i < call->n_out; i++)
        ASC_REQUIRE(call, has_dims(&call->out[i], 3, y + 1), "recurrent: a last state is [D, B, H]");
    for (int i = H0; i <= C0; i++)
        ASC_REQUIRE(call, !asc_has_input(call, i) || has_dims(&call->in[i], 3, y + 1),
                    "recurrent: an initial state is [D, B, H]");
    ASC_REQUIRE(call, lstm || (!asc_has_input(call, C0) && !asc_has_input(call, PEEPHOLE)),
                "recurrent: only LSTM has cells");
    ASC_REQUIRE(call, !asc_has_input(call, PEEPHOLE) || has_dims(&call->in[PEEPHOLE], 2, hole),
                "recurrent: the peephole is [D, 3 H]");
    ASC_REQUIRE(call, !asc_has_input(call, LENGTHS) || has_dims(&call->in[LENGTHS], 1, &l->batch),
                "recurrent: there is one length a row");
    return ASC_OK;
}

/* As onnxruntime: few rows of a large state are quantised together. */
#define SHARING_ROWS 4
#define SHARING_HIDDEN 256

/* What belongs to the columns of int8 weights. */
static int32_t read_bytes(const asc_call *call, layer *l) {
    int64_t dims[2] = {l->directions, l->columns};
    ASC_REQUIRE(call, params_of(call)->kind == ASC_RECURRENT_LSTM, "recurrent: only LSTM has int8 weights");
    ASC_REQUIRE(call, !asc_has_input(call, BIAS) || has_dims(&call->in[BIAS], 2, dims),
                "recurrent: a bias is [D, gates]");
    for (int i = R_SUMS; i <= R_ZERO; i++)
        ASC_REQUIRE(call, asc_has_input(call, i) ? has_dims(&call->in[i], 2, dims) : i == R_ZERO,
                    "recurrent: int8 weights have sums, scales and zero points [D, gates]");
    l->r_step = asc_packed_bytes(ASC_LAYOUT_VNNI4_32, l->hidden, l->columns);
    l->shared = l->batch > 1 && l->batch <= SHARING_ROWS && l->hidden > SHARING_HIDDEN;
    return ASC_OK;
}

int32_t ASC_FN(recurrent_read)(const asc_call *call, layer *l) {
    ASC_REQUIRE(call,
                call->n_ints > ASC_MEMBERS(asc_recurrent_params) && call->in[X].rank == 3 && call->out[0].rank == 4,
                "recurrent takes its kind, X [S, B, gates] and Y [S, D, B, H]");
    int64_t kind = params_of(call)->kind, count;
    *l = (layer){.steps = call->in[X].dims[0], .batch = call->in[X].dims[1]};
    l->directions = call->out[0].dims[1];
    l->hidden = call->out[0].dims[3];
    ASC_REQUIRE(call, kind >= 0 && kind < ASC_RECURRENT_COUNT && (l->directions == 1 || l->directions == 2),
                "recurrent: unknown kind, or not one or two directions");
    ASC_REQUIRE(
        call,
        call->n_ints == ASC_MEMBERS(asc_recurrent_params) + l->directions * ASC_MEMBERS(asc_recurrent_direction) &&
            call->n_floats == ASC_MEMBERS(asc_recurrent_floats) + l->directions * ASC_MEMBERS(asc_recurrent_numbers),
        "recurrent: wrong number of arguments");
    ASC_REQUIRE(call,
                asc_mul_ok(gates_of[kind], l->hidden, &l->gates) && asc_mul_ok(l->gates, l->directions, &count) &&
                    count == call->in[X].dims[2],
                "recurrent: X has the columns of another layer");
    for (int i = 0; i < call->n_in; i++)
        ASC_REQUIRE(call, i == R || i == RC || call->in[i].layout == ASC_LAYOUT_PLAIN,
                    "recurrent: only weights may be in panels");
    int gru = kind == ASC_RECURRENT_GRU;
    l->quantised = call->in[R].dtype == ASC_INT8;
    l->narrow = call->in[R].dtype == ASC_BFLOAT16;
    int64_t bias[2] = {l->directions, l->hidden};
    l->columns = gru ? 2 * l->hidden : l->gates;
    ASC_REQUIRE(call, is_weight(call, R, l->directions, l->hidden, l->columns), "recurrent: R doesn't fit");
    ASC_REQUIRE(call, gru ? is_weight(call, RC, l->directions, l->hidden, l->hidden) : !asc_has_input(call, RC),
                "recurrent: GRU alone has weights of a candidate, [D, H, H]");
    ASC_REQUIRE(call, !gru || call->in[RC].layout == call->in[R].layout, "recurrent: weights of two layouts");
    ASC_REQUIRE(call, l->quantised || !asc_has_input(call, BIAS) || (gru && has_dims(&call->in[BIAS], 2, bias)),
                "recurrent: GRU alone has a bias of the product, [D, H]");
    int32_t panels = panels_of(&call->in[R]);
    l->r_step = asc_packed_bytes(panels, l->hidden, l->columns) / (int64_t)sizeof(float);
    l->rc_step = asc_packed_bytes(panels, l->hidden, l->hidden) / (int64_t)sizeof(float);
    int32_t code = l->quantised ? read_bytes(call, l) : ASC_OK;
    if (!code) code = read_states(call, l);
    return code ? code : read_cells(call, l);
}

layer ASC_FN(recurrent_at)(const asc_call *call, const layer *found) {
    layer l = *found;
    l.call = call;
    for (int64_t d = 0; d < l.directions; d++) l.cells[d].peephole = floats_of(call, PEEPHOLE, d * 3 * l.hidden);
    l.rc = floats_of(call, RC, 0);
    if (!l.quantised) {
        l.r = call->in[R].data;
        return l;
    }
    l.bytes = call->in[R].data;
    l.r_sums = call->in[R_SUMS].data;
    l.r_scale = call->in[R_SCALE].data;
    l.r_zero = asc_has_input(call, R_ZERO) ? call->in[R_ZERO].data : NULL;
    l.bias = floats_of(call, BIAS, 0);
    return l;
}
