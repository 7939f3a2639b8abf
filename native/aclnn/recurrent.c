/* recurrent.c - an LSTM, layer by layer and step by step, forwards with what the way back needs, and backwards.
 *
 * Gates come in the order input, forget, cell, output, as weights have them. */
#include "recurrent.h"

#include <string.h>

#include "asc_plan.h"

enum { INPUT_GATE, FORGET_GATE, CELL_GATE, OUTPUT_GATE };

typedef struct network {
    int64_t layers, directions, hidden, each; /* each: parameters of a layer and direction */
    bool biases, batch_first;
} network;

tensor asc_list_item(asc_run *run, int i, int64_t k) {
    const asc_argument *a = asc_arg(run, i);
    ASC_STOP_UNLESS(run, k < a->count, "%s has %d tensors; number %lld is needed", asc_run_row(run)->names[i], a->count,
                    (long long)k);
    return asc_cast(run, a->tensors[k], ASC_FLOAT32);
}

void asc_put_list_item(asc_run *run, int i, int64_t k, tensor value) {
    const asc_argument *a = asc_arg(run, i);
    if (k >= a->count || a->tensors[k].dtype == ASC_UNDEFINED) return;
    tensor to = a->tensors[k];
    asc_store(run, to, asc_reshape(run, value, to.rank, to.dims));
}

static tensor transposed(tensor t) {
    return asc_swap(t, 0, 1);
}

tensor asc_project_steps(asc_run *run, tensor x, tensor w, const tensor *bias) {
    tensor rows = asc_reshape(run, x, 2, (int64_t[]){x.dims[0] * x.dims[1], x.dims[2]});
    tensor y = asc_multiply(run, rows, transposed(w));
    if (bias) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, *bias);
    return asc_reshape(run, y, 3, (int64_t[]){x.dims[0], x.dims[1], w.dims[0]});
}

static tensor gate(tensor gates, int which, int64_t hidden) {
    return asc_narrow(gates, 1, which * hidden, hidden);
}

/* ---- forwards ------------------------------------------------------------------------------------------------ */

/* Positions of the lists that the way back needs: i, j, f, o, h, c, tanh(c). */
enum { KEPT_I = 13, KEPT_J, KEPT_F, KEPT_O, KEPT_H, KEPT_C, KEPT_TANH, KEPT_END };

/* One layer in one direction; y [steps, batch, hidden] is filled. h and c are the first states, then the last. */
static void layer(asc_run *run, const network *n, int64_t number, tensor x, bool backwards, tensor y, tensor *h,
                  tensor *c) {
    int64_t first = number * n->each, steps = x.dims[0], hidden = n->hidden;
    tensor w = asc_list_item(run, 1, first + 1), bias[2];
    for (int i = 0; i < 2 && n->biases; i++) bias[i] = asc_list_item(run, 1, first + 2 + i);
    tensor all = asc_project_steps(run, x, asc_list_item(run, 1, first), n->biases ? &bias[0] : NULL),
           kept[KEPT_END - KEPT_I];
    for (int i = 0; i < KEPT_END - KEPT_I; i++) kept[i] = asc_like(run, y, ASC_FLOAT32);
    for (int64_t s = 0; s < steps; s++) {
        int64_t t = backwards ? steps - 1 - s : s;
        tensor g = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", asc_select(all, 0, t), asc_multiply(run, *h, transposed(w)));
        if (n->biases) g = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", g, bias[1]);
        tensor i = ASC_COMPUTE(run, ASC_FLOAT32, "sigmoid(a)", gate(g, INPUT_GATE, hidden));
        tensor f = ASC_COMPUTE(run, ASC_FLOAT32, "sigmoid(a)", gate(g, FORGET_GATE, hidden));
        tensor j = ASC_COMPUTE(run, ASC_FLOAT32, "tanh(a)", gate(g, CELL_GATE, hidden));
        tensor o = ASC_COMPUTE(run, ASC_FLOAT32, "sigmoid(a)", gate(g, OUTPUT_GATE, hidden));
        *c = ASC_COMPUTE(run, ASC_FLOAT32, "a * b + c * d", f, *c, i, j);
        tensor tanh_c = ASC_COMPUTE(run, ASC_FLOAT32, "tanh(a)", *c);
        *h = ASC_COMPUTE(run, ASC_FLOAT32, "a * b", o, tanh_c);
        asc_store(run, asc_select(y, 0, t), *h);
        tensor values[] = {i, j, f, o, *h, *c, tanh_c};
        for (int k = 0; k < KEPT_END - KEPT_I; k++) asc_store(run, asc_select(kept[k], 0, t), values[k]);
    }
    for (int k = 0; k < KEPT_END - KEPT_I && asc_int(run, 7); k++) asc_put_list_item(run, KEPT_I + k, number, kept[k]);
}

/* input, params, hx, batchSizes, hasBiases, layers, dropout, train, bidirectional, batchFirst, output, hy, cy, and the
 * lists. */
void asc_op_lstm(asc_run *run) {
    ASC_STOP_UNLESS(run, !asc_given_at(run, 3), "sequences of different lengths are not supported");
    network n = {.layers = asc_int(run, 5),
                 .directions = asc_int(run, 8) ? 2 : 1,
                 .biases = asc_int(run, 4) != 0,
                 .batch_first = asc_int(run, 9) != 0};
    n.each = n.biases ? 4 : 2;
    ASC_STOP_UNLESS(run, n.layers == 1 || !asc_int(run, 7) || asc_float(run, 6) == 0,
                    "dropout between layers is not supported");
    tensor x = asc_in(run, 0), first_h = asc_list_item(run, 2, 0), first_c = asc_list_item(run, 2, 1);
    x = asc_cast(run, n.batch_first ? asc_swap(x, 0, 1) : x, ASC_FLOAT32);
    n.hidden = asc_list_item(run, 1, 0).dims[0] / 4;
    tensor last_h = asc_like(run, first_h, ASC_FLOAT32), last_c = asc_like(run, first_c, ASC_FLOAT32);
    for (int64_t l = 0; l < n.layers; l++) {
        tensor y = asc_new(run, ASC_FLOAT32, 3, (int64_t[]){x.dims[0], x.dims[1], n.hidden * n.directions});
        for (int64_t d = 0; d < n.directions; d++) {
            int64_t number = l * n.directions + d;
            tensor h = asc_select(first_h, 0, number), c = asc_select(first_c, 0, number);
            tensor own = asc_new(run, ASC_FLOAT32, 3, (int64_t[]){x.dims[0], x.dims[1], n.hidden});
            layer(run, &n, number, x, d == 1, own, &h, &c);
            asc_store(run, asc_narrow(y, 2, d * n.hidden, n.hidden), own);
            asc_store(run, asc_select(last_h, 0, number), h);
            asc_store(run, asc_select(last_c, 0, number), c);
        }
        x = y;
    }
    tensor out = n.batch_first ? asc_cast(run, asc_swap(x, 0, 1), ASC_FLOAT32) : x;
    asc_put(run, 10, out);
    asc_put(run, 11, last_h);
    asc_put(run, 12, last_c);
}

/* ---- backwards ------------------------------------------------------------------------------------------------ */

/* Zeros of the shape, or the argument. */
static tensor gradient(asc_run *run, int i, tensor like) {
    if (asc_given_at(run, i) && asc_elements(asc_in(run, i)) == asc_elements(like))
        return asc_reshape(run, asc_f32(run, i), like.rank, like.dims);
    tensor zero = asc_like(run, like, ASC_FLOAT32);
    asc_fill(run, zero, 0);
    return zero;
}

/* The gradient of the gates' sums in a step, [batch, 4 hidden]; dc becomes that of the state before. */
static tensor gates_backward(asc_run *run, tensor dh, tensor *dc, const tensor *kept, tensor before_c) {
    tensor i = kept[0], j = kept[1], f = kept[2], o = kept[3], tanh_c = kept[6];
    int64_t hidden = dh.dims[1];
    tensor made = asc_new(run, ASC_FLOAT32, 2, (int64_t[]){dh.dims[0], 4 * hidden});
    tensor d = ASC_COMPUTE(run, ASC_FLOAT32, "a + b * c * (1 - d * d)", *dc, dh, o, tanh_c);
    asc_store(run, gate(made, INPUT_GATE, hidden), ASC_COMPUTE(run, ASC_FLOAT32, "a * b * c * (1 - c)", d, j, i));
    asc_store(run, gate(made, FORGET_GATE, hidden),
              ASC_COMPUTE(run, ASC_FLOAT32, "a * b * c * (1 - c)", d, before_c, f));
    asc_store(run, gate(made, CELL_GATE, hidden), ASC_COMPUTE(run, ASC_FLOAT32, "a * b * (1 - c * c)", d, i, j));
    asc_store(run, gate(made, OUTPUT_GATE, hidden),
              ASC_COMPUTE(run, ASC_FLOAT32, "a * b * c * (1 - c)", dh, tanh_c, o));
    *dc = ASC_COMPUTE(run, ASC_FLOAT32, "a * b", d, f);
    return made;
}

/* input, hx, params, gradY, gradHy, gradCy, i, j, f, o, h, c, tanhc, batchSizes, hasBiases, layers, dropout, train,
 * bidirectional, batchFirst, outputMask, gradInput, gradH, gradC, gradParams: of one layer in one direction. */
void asc_op_lstm_backward(asc_run *run) {
    bool biases = asc_int(run, 14) != 0, batch_first = asc_int(run, 19) != 0;
    ASC_STOP_UNLESS(run, asc_int(run, 15) == 1 && !asc_int(run, 18),
                    "more than one layer, or direction, is not supported backwards");
    tensor x = asc_in(run, 0), first_h = asc_list_item(run, 1, 0), first_c = asc_list_item(run, 1, 1);
    x = asc_cast(run, batch_first ? asc_swap(x, 0, 1) : x, ASC_FLOAT32);
    tensor w = asc_list_item(run, 2, 0), u = asc_list_item(run, 2, 1), kept[7], dw = {0}, du = {0}, db = {0};
    int64_t steps = x.dims[0], batch = x.dims[1], hidden = w.dims[0] / 4, dims[] = {steps, batch, hidden};
    for (int k = 0; k < 7; k++) kept[k] = asc_reshape(run, asc_list_item(run, 6 + k, 0), 3, dims);
    tensor dy = asc_in(run, 0);
    if (asc_given_at(run, 3) && asc_elements(asc_in(run, 3))) {
        dy = asc_in(run, 3);
        dy = asc_cast(run, batch_first ? asc_swap(dy, 0, 1) : dy, ASC_FLOAT32);
    } else {
        asc_fill(run, dy = asc_new(run, ASC_FLOAT32, 3, dims), 0);
    }
    tensor start_h = asc_reshape(run, first_h, 2, dims + 1), start_c = asc_reshape(run, first_c, 2, dims + 1);
    tensor dh = gradient(run, 4, start_h), dc = gradient(run, 5, start_c), dx = asc_like(run, x, ASC_FLOAT32);
    for (int64_t t = steps - 1; t >= 0; t--) {
        tensor here[7], before_h = t ? asc_select(kept[4], 0, t - 1) : start_h;
        for (int k = 0; k < 7; k++) here[k] = asc_select(kept[k], 0, t);
        dh = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", dh, asc_select(dy, 0, t));
        tensor dg = gates_backward(run, dh, &dc, here, t ? asc_select(kept[5], 0, t - 1) : start_c);
        tensor part_w = asc_multiply(run, transposed(dg), asc_select(x, 0, t));
        tensor part_u = asc_multiply(run, transposed(dg), before_h);
        tensor part_b = asc_reduce_axes(run, ASC_REDUCE_SUM, dg, 1, (int64_t[]){0});
        dw = dw.data ? ASC_COMPUTE(run, ASC_FLOAT32, "a + b", dw, part_w) : part_w;
        du = du.data ? ASC_COMPUTE(run, ASC_FLOAT32, "a + b", du, part_u) : part_u;
        db = db.data ? ASC_COMPUTE(run, ASC_FLOAT32, "a + b", db, part_b) : part_b;
        asc_store(run, asc_select(dx, 0, t), asc_multiply(run, dg, w));
        dh = asc_multiply(run, dg, u);
    }
    asc_put(run, 21, batch_first ? asc_cast(run, asc_swap(dx, 0, 1), ASC_FLOAT32) : dx);
    asc_put(run, 22, dh);
    asc_put(run, 23, dc);
    asc_put_list_item(run, 24, 0, dw);
    asc_put_list_item(run, 24, 1, du);
    for (int k = 2; k < 4 && biases; k++) asc_put_list_item(run, 24, k, db);
}
