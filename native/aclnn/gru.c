/* gru.c - a GRU, layer by layer and step by step, forwards with what the way back needs, and backwards.
 *
 * Gates come in the order reset, update, new, as weights have them. */
#include <string.h>

#include "asc_plan.h"
#include "recurrent.h"

enum { RESET, UPDATE, NEW };

typedef struct network {
    int64_t layers, directions, hidden, each; /* each: parameters of a layer and direction */
    bool biases, batch_first;
} network;

static network network_of(asc_run *run, int has_biases, int layers, int bidirectional, int batch_first) {
    network n = {.layers = asc_int(run, layers),
                 .directions = asc_int(run, bidirectional) ? 2 : 1,
                 .hidden = asc_list_item(run, 1, 0).dims[0] / 3,
                 .biases = asc_int(run, has_biases) != 0,
                 .batch_first = asc_int(run, batch_first) != 0};
    n.each = n.biases ? 4 : 2;
    return n;
}

/* [steps, batch, ..] whatever comes first, and back. */
static tensor steps_first(asc_run *run, const network *n, tensor t) {
    return asc_cast(run, n->batch_first ? asc_swap(t, 0, 1) : t, ASC_FLOAT32);
}

static tensor gate(tensor gates, int which, int64_t hidden) {
    return asc_narrow(gates, gates.rank - 1, which * hidden, hidden);
}

/* ---- forwards ------------------------------------------------------------------------------------------------ */

/* Positions of the lists that the way back needs: r, z, n, what r multiplies, h. */
enum { KEPT_FIRST = 12, KEPT_R = 0, KEPT_Z, KEPT_N, KEPT_HN, KEPT_H, KEPT };

/* One layer in one direction; h is the first state, then the last. Returns the states, [steps, batch, hidden]. */
static tensor layer(asc_run *run, const network *n, int64_t number, tensor x, bool backwards, tensor *h) {
    int64_t first = number * n->each, steps = x.dims[0], hidden = n->hidden;
    tensor u = asc_list_item(run, 1, first + 1), bias[2], kept[KEPT];
    for (int i = 0; i < 2 && n->biases; i++) bias[i] = asc_list_item(run, 1, first + 2 + i);
    tensor all = asc_project_steps(run, x, asc_list_item(run, 1, first), n->biases ? &bias[0] : NULL);
    for (int i = 0; i < KEPT; i++) kept[i] = asc_new(run, ASC_FLOAT32, 3, (int64_t[]){steps, x.dims[1], hidden});
    for (int64_t s = 0; s < steps; s++) {
        int64_t t = backwards ? steps - 1 - s : s;
        tensor in = asc_select(all, 0, t), own = asc_multiply(run, *h, asc_swap(u, 0, 1));
        if (n->biases) own = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", own, bias[1]);
        tensor r = ASC_COMPUTE(run, ASC_FLOAT32, "sigmoid(a + b)", gate(in, RESET, hidden), gate(own, RESET, hidden));
        tensor z = ASC_COMPUTE(run, ASC_FLOAT32, "sigmoid(a + b)", gate(in, UPDATE, hidden), gate(own, UPDATE, hidden));
        tensor hn = gate(own, NEW, hidden);
        tensor made = ASC_COMPUTE(run, ASC_FLOAT32, "tanh(a + b * c)", gate(in, NEW, hidden), r, hn);
        *h = ASC_COMPUTE(run, ASC_FLOAT32, "(1 - a) * b + a * c", z, made, *h);
        tensor values[KEPT] = {r, z, made, hn, *h};
        for (int k = 0; k < KEPT; k++) asc_store(run, asc_select(kept[k], 0, t), values[k]);
    }
    for (int k = 0; k < KEPT && asc_int(run, 7); k++) asc_put_list_item(run, KEPT_FIRST + k, number, kept[k]);
    return kept[KEPT_H];
}

/* input, params, hx, batchSizes, hasBiases, layers, dropout, train, bidirectional, batchFirst, output, hy, lists. */
void asc_op_gru(asc_run *run) {
    ASC_STOP_UNLESS(run, !asc_given_at(run, 3), "sequences of different lengths are not supported");
    network n = network_of(run, 4, 5, 8, 9);
    ASC_STOP_UNLESS(run, n.layers == 1 || !asc_int(run, 7) || asc_float(run, 6) == 0,
                    "dropout between layers is not supported");
    tensor x = steps_first(run, &n, asc_in(run, 0)), first = asc_f32(run, 2), last = asc_like(run, first, ASC_FLOAT32);
    for (int64_t l = 0; l < n.layers; l++) {
        tensor y = asc_new(run, ASC_FLOAT32, 3, (int64_t[]){x.dims[0], x.dims[1], n.hidden * n.directions});
        for (int64_t d = 0; d < n.directions; d++) {
            int64_t number = l * n.directions + d;
            tensor h = asc_select(first, 0, number);
            tensor states = layer(run, &n, number, x, d == 1, &h);
            asc_store(run, asc_narrow(y, 2, d * n.hidden, n.hidden), states);
            asc_store(run, asc_select(last, 0, number), h);
        }
        x = y;
    }
    asc_put(run, 10, steps_first(run, &n, x));
    asc_put(run, 11, last);
}

/* ---- backwards ------------------------------------------------------------------------------------------------ */

/* Positions of arguments on the way back. */
enum { BACK_KEPT = 5, BACK_DX = 15, BACK_DH, BACK_PARAMS };

static void add(asc_run *run, tensor *sum, tensor part) {
    *sum = sum->data ? ASC_COMPUTE(run, ASC_FLOAT32, "a + b", *sum, part) : part;
}

static tensor kept_of(asc_run *run, int which, int64_t number, const int64_t *dims) {
    return asc_reshape(run, asc_list_item(run, BACK_KEPT + which, number), 3, dims);
}

/* The gradient of a layer's input in one direction, from dy [steps, batch, hidden] and dh of the last state, which
 * becomes that of the first; gradients of the parameters are put. */
static tensor layer_backward(asc_run *run, const network *n, int64_t number, tensor x, tensor dy, bool backwards,
                             tensor start, tensor *dh) {
    int64_t first = number * n->each, steps = x.dims[0], dims[] = {steps, x.dims[1], n->hidden}, hidden = n->hidden;
    tensor w = asc_list_item(run, 1, first), u = asc_list_item(run, 1, first + 1), kept[KEPT], here[KEPT];
    tensor dx = asc_like(run, x, ASC_FLOAT32), sums[4] = {{0}};
    for (int k = 0; k < KEPT; k++) kept[k] = kept_of(run, k, number, dims);
    for (int64_t s = steps - 1; s >= 0; s--) {
        int64_t t = backwards ? steps - 1 - s : s, before = backwards ? t + 1 : t - 1;
        tensor h = s ? asc_select(kept[KEPT_H], 0, before) : start;
        for (int k = 0; k < KEPT; k++) here[k] = asc_select(kept[k], 0, t);
        tensor r = here[KEPT_R], z = here[KEPT_Z], made = here[KEPT_N], hn = here[KEPT_HN];
        tensor d = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", *dh, asc_select(dy, 0, t));
        tensor in = asc_new(run, ASC_FLOAT32, 2, (int64_t[]){dims[1], 3 * hidden}),
               own = asc_like(run, in, ASC_FLOAT32);
        tensor dn = ASC_COMPUTE(run, ASC_FLOAT32, "a * (1 - b) * (1 - c * c)", d, z, made);
        tensor dr = ASC_COMPUTE(run, ASC_FLOAT32, "a * b * c * (1 - c)", dn, hn, r);
        tensor dz = ASC_COMPUTE(run, ASC_FLOAT32, "a * (b - c) * d * (1 - d)", d, h, made, z);
        tensor *both[] = {&in, &own};
        for (int k = 0; k < 2; k++) {
            asc_store(run, gate(*both[k], RESET, hidden), dr);
            asc_store(run, gate(*both[k], UPDATE, hidden), dz);
        }
        asc_store(run, gate(in, NEW, hidden), dn);
        asc_store(run, gate(own, NEW, hidden), ASC_COMPUTE(run, ASC_FLOAT32, "a * b", dn, r));
        add(run, &sums[0], asc_multiply(run, asc_swap(in, 0, 1), asc_select(x, 0, t)));
        add(run, &sums[1], asc_multiply(run, asc_swap(own, 0, 1), h));
        add(run, &sums[2], asc_reduce_axes(run, ASC_REDUCE_SUM, in, 1, (int64_t[]){0}));
        add(run, &sums[3], asc_reduce_axes(run, ASC_REDUCE_SUM, own, 1, (int64_t[]){0}));
        asc_store(run, asc_select(dx, 0, t), asc_multiply(run, in, w));
        *dh = ASC_COMPUTE(run, ASC_FLOAT32, "a * b + c", d, z, asc_multiply(run, own, u));
    }
    for (int k = 0; k < n->each; k++) asc_put_list_item(run, BACK_PARAMS, first + k, sums[k]);
    return dx;
}

/* What a layer was given: the input, or the states of the layer below side by side. */
static tensor input_of(asc_run *run, const network *n, int64_t l, tensor x) {
    if (l == 0) return x;
    int64_t dims[] = {x.dims[0], x.dims[1], n->hidden};
    tensor made = asc_new(run, ASC_FLOAT32, 3, (int64_t[]){dims[0], dims[1], n->hidden * n->directions});
    for (int64_t d = 0; d < n->directions; d++)
        asc_store(run, asc_narrow(made, 2, d * n->hidden, n->hidden),
                  kept_of(run, KEPT_H, (l - 1) * n->directions + d, dims));
    return made;
}

/* input, params, hx, gradY, gradHy, r, z, n, hn, h, batchSizes, hasBiases, layers, bidirectional, batchFirst,
 * gradInput, gradH, gradParams. */
void asc_op_gru_backward(asc_run *run) {
    ASC_STOP_UNLESS(run, !asc_given_at(run, 10), "sequences of different lengths are not supported");
    network n = network_of(run, 11, 12, 13, 14);
    tensor x = steps_first(run, &n, asc_in(run, 0)), dy = steps_first(run, &n, asc_in(run, 3));
    tensor start = asc_f32(run, 2), dh = asc_f32(run, 4), dh_first = asc_like(run, start, ASC_FLOAT32);
    for (int64_t l = n.layers - 1; l >= 0; l--) {
        tensor in = input_of(run, &n, l, x), dx = {0};
        for (int64_t d = 0; d < n.directions; d++) {
            int64_t number = l * n.directions + d;
            tensor state = asc_select(dh, 0, number);
            tensor own = asc_cast(run, asc_narrow(dy, 2, d * n.hidden, n.hidden), ASC_FLOAT32);
            add(run, &dx, layer_backward(run, &n, number, in, own, d == 1, asc_select(start, 0, number), &state));
            asc_store(run, asc_select(dh_first, 0, number), state);
        }
        dy = dx;
    }
    asc_put(run, BACK_DX, steps_first(run, &n, dy));
    asc_put(run, BACK_DH, dh_first);
}
