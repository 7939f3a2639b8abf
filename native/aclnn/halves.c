/* halves.c - one half of each row through a function, times the other; and gates of recurrent cells. */
#include <math.h>
#include <string.h>

#include "asc_plan.h"
#include "operator.h"

static void halves(asc_run *run, tensor x, tensor *a, tensor *b) {
    ASC_STOP_UNLESS(run, x.rank > 0 && x.dims[x.rank - 1] % 2 == 0, "rows have no two equal parts");
    int64_t half = x.dims[x.rank - 1] / 2;
    *a = asc_narrow(x, x.rank - 1, 0, half);
    *b = asc_narrow(x, x.rank - 1, half, half);
}

/* input, "none" or "tanh", out. */
void asc_op_gelu_times(asc_run *run) {
    const char *mode = asc_arg(run, 1)->text;
    bool tanh = mode && strcmp(mode, "tanh") == 0;
    ASC_STOP_UNLESS(run, tanh || !mode || !*mode || strcmp(mode, "none") == 0, "approximate [%s] is none of none, tanh",
                    mode);
    tensor a, b;
    halves(run, asc_in(run, 0), &a, &b);
    asc_put(run, 2,
            ASC_COMPUTE(run, ASC_FLOAT32,
                        tanh ? "0.5 * a * (1 + tanh(0.7978845608028654 * (a + 0.044715 * a * a * a))) * b"
                             : "0.5 * a * (1 + erf(a * 0.7071067811865476)) * b",
                        a, b));
}

/* input, threshold, out. */
void asc_op_threshold_times(asc_run *run) {
    tensor a, b;
    halves(run, asc_in(run, 0), &a, &b);
    asc_put(run, 2, ASC_COMPUTE(run, ASC_FLOAT32, "a < c ? 0 * b : a * b", a, b, asc_flat(run, asc_f32(run, 1))));
}

/* self, beta or NULL, out. */
void asc_op_swish(asc_run *run) {
    double beta = asc_given_at(run, 1) ? asc_float(run, 1) : 1;
    asc_put(run, 2, ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a * sigmoid(p * a)", beta, asc_in(run, 0)));
}

/* gradOutput, self, beta or NULL, gradInput. */
void asc_op_swish_backward(asc_run *run) {
    double beta = asc_given_at(run, 2) ? asc_float(run, 2) : 1;
    asc_put(run, 3,
            ASC_COMPUTE_WITH(run, ASC_FLOAT32, "s = sigmoid(p * b); a * s * (1 + p * b * (1 - s))", beta,
                             asc_in(run, 0), asc_in(run, 1)));
}

/* ---- scales and shifts of sequences, heads of attention -------------------------------------------------------- */

/* Of [batch, width] or [batch, 1, width], for rows [batch, rows, width]. */
static tensor of_batches(asc_run *run, int i, tensor x) {
    tensor t = asc_f32(run, i);
    int64_t width = x.dims[2];
    ASC_STOP_UNLESS(run, asc_elements(t) == x.dims[0] * width, "%s has %lld elements for %lld batches of %lld",
                    asc_run_row(run)->names[i], (long long)asc_elements(t), (long long)x.dims[0], (long long)width);
    return asc_reshape(run, t, 3, (int64_t[]){x.dims[0], 1, width});
}

static tensor batches(asc_run *run, int i) {
    tensor t = asc_f32(run, i);
    ASC_STOP_UNLESS(run, t.rank == 3, "%s has %d axes, not 3", asc_run_row(run)->names[i], t.rank);
    return t;
}

/* self, scale, shift, out: self (1 + scale) + shift. */
void asc_op_modulate(asc_run *run) {
    tensor x = batches(run, 0), y = x;
    if (asc_given_at(run, 1)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a * (1 + b)", y, of_batches(run, 1, x));
    if (asc_given_at(run, 2)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, of_batches(run, 2, x));
    asc_put(run, 3, y);
}

/* gradOutput, input, scale, shift, gradInput, gradScale, gradShift. */
void asc_op_modulate_backward(asc_run *run) {
    tensor g = batches(run, 0), x = batches(run, 1), dx = g;
    int64_t rows = 1;
    if (asc_given_at(run, 2)) dx = ASC_COMPUTE(run, ASC_FLOAT32, "a * (1 + b)", g, of_batches(run, 2, x));
    asc_put(run, 4, dx);
    tensor both = ASC_COMPUTE(run, ASC_FLOAT32, "a * b", g, x);
    asc_put(run, 5, asc_reduce_axes(run, ASC_REDUCE_SUM, both, 1, &rows));
    asc_put(run, 6, asc_reduce_axes(run, ASC_REDUCE_SUM, g, 1, &rows));
}

/* qkv [batch, rows, 3 heads width], its bias, heads, q, k, v [batch, heads, rows, width]: q over the root of width. */
void asc_op_split_heads(asc_run *run) {
    tensor x = batches(run, 0);
    int64_t heads = asc_int(run, 2), width = heads > 0 ? x.dims[2] / (3 * heads) : 0;
    ASC_STOP_UNLESS(run, heads > 0 && width * 3 * heads == x.dims[2], "%lld columns are no three times %lld heads",
                    (long long)x.dims[2], (long long)heads);
    x = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", x, asc_in(run, 1));
    x = asc_reshape(run, x, 5, (int64_t[]){x.dims[0], x.dims[1], 3, heads, width});
    for (int k = 0; k < 3; k++) {
        tensor part = asc_swap(asc_select(x, 2, k), 1, 2);
        if (k == 0) part = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a / p", sqrt((double)width), part);
        asc_put(run, 3 + k, asc_copy(run, part, ASC_FLOAT32));
    }
}

/* logarithms of sums of parts, results of parts, kind, out, logarithm of the whole sum: attention over parts of the
 * keys put together. */
void asc_op_attention_of_parts(asc_run *run) {
    const asc_argument *lse = asc_arg(run, 0), *part = asc_arg(run, 1);
    ASC_STOP_UNLESS(run, lse->count > 0 && lse->count == part->count, "%d sums for %d parts", lse->count, part->count);
    tensor top = asc_cast(run, lse->tensors[0], ASC_FLOAT32), sum = asc_like(run, top, ASC_FLOAT32),
           out = asc_like(run, part->tensors[0], ASC_FLOAT32);
    ASC_STOP_UNLESS(run, asc_elements(top) && asc_elements(out) % asc_elements(top) == 0,
                    "a sum for each row is needed");
    int64_t each[] = {asc_elements(top), 1}, all[] = {each[0], asc_elements(out) / each[0]};
    for (int k = 1; k < lse->count; k++) top = ASC_COMPUTE(run, ASC_FLOAT32, "max(a, b)", top, lse->tensors[k]);
    asc_fill(run, sum, 0);
    out = asc_reshape(run, out, 2, all);
    asc_fill(run, out, 0);
    for (int k = 0; k < lse->count; k++) {
        tensor weight = ASC_COMPUTE(run, ASC_FLOAT32, "b == 0 - inf ? 0 : exp(a - b)", lse->tensors[k], top);
        tensor rows = asc_reshape(run, asc_cast(run, part->tensors[k], ASC_FLOAT32), 2, all);
        sum = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", sum, weight);
        out = ASC_COMPUTE(run, ASC_FLOAT32, "a + b * c", out, rows, asc_reshape(run, weight, 2, each));
    }
    asc_put(run, 3, ASC_COMPUTE(run, ASC_FLOAT32, "b == 0 ? 0 * a : a / b", out, asc_reshape(run, sum, 2, each)));
    asc_put(run, 4, ASC_COMPUTE(run, ASC_FLOAT32, "a + log(b)", top, sum));
}

/* ---- an LSTM's cell behind its products: gates i, g, f, o ---------------------------------------------------- */

static tensor gate(tensor t, int k) {
    int64_t width = t.dims[t.rank - 1] / 4;
    return asc_narrow(t, t.rank - 1, k * width, width);
}

/* input gates, hidden gates, cx, two biases, hy, cy, gates behind their functions. */
void asc_op_lstm_cell(asc_run *run) {
    tensor x = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", asc_in(run, 0), asc_in(run, 1)), c = asc_in(run, 2);
    for (int i = 3; i < 5; i++)
        if (asc_has_at(run, i)) x = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", x, asc_in(run, i));
    ASC_STOP_UNLESS(run, x.rank == 2 && c.rank == 2 && x.dims[1] == 4 * c.dims[1], "%lld gates for cells of %lld",
                    (long long)x.dims[x.rank - 1], (long long)c.dims[c.rank - 1]);
    tensor made = asc_like(run, x, ASC_FLOAT32);
    for (int k = 0; k < 4; k++)
        asc_store(run, gate(made, k), ASC_COMPUTE(run, ASC_FLOAT32, k == 1 ? "tanh(a)" : "sigmoid(a)", gate(x, k)));
    tensor next = ASC_COMPUTE(run, ASC_FLOAT32, "a * b + c * d", gate(made, 2), c, gate(made, 0), gate(made, 1));
    asc_put(run, 5, ASC_COMPUTE(run, ASC_FLOAT32, "a * tanh(b)", gate(made, 3), next));
    asc_put(run, 6, next);
    asc_put(run, 7, made);
}

/* gradients of hy and cy or NULL, cx, cy, gates, whether there is a bias, gradients of gates, cx, bias. */
void asc_op_lstm_cell_backward(asc_run *run) {
    tensor cx = asc_f32(run, 2), cy = asc_f32(run, 3), gates = asc_f32(run, 4), dh = asc_like(run, cy, ASC_FLOAT32);
    asc_fill(run, dh, 0);
    tensor dc = dh, made = asc_like(run, gates, ASC_FLOAT32);
    ASC_STOP_UNLESS(run, gates.rank == 2 && cx.rank == 2 && gates.dims[1] == 4 * cx.dims[1],
                    "%lld gates for cells of %lld", (long long)gates.dims[gates.rank - 1],
                    (long long)cx.dims[cx.rank - 1]);
    if (asc_has_at(run, 0)) dh = asc_in(run, 0);
    if (asc_has_at(run, 1)) dc = asc_in(run, 1);
    tensor i = gate(gates, 0), g = gate(gates, 1), f = gate(gates, 2), o = gate(gates, 3);
    tensor all = ASC_COMPUTE(run, ASC_FLOAT32, "t = tanh(c); a * b * (1 - t * t) + d", dh, o, cy, dc);
    asc_store(run, gate(made, 0), ASC_COMPUTE(run, ASC_FLOAT32, "a * c * b * (1 - b)", all, i, g));
    asc_store(run, gate(made, 1), ASC_COMPUTE(run, ASC_FLOAT32, "a * b * (1 - c * c)", all, i, g));
    asc_store(run, gate(made, 2), ASC_COMPUTE(run, ASC_FLOAT32, "a * c * b * (1 - b)", all, f, cx));
    asc_store(run, gate(made, 3), ASC_COMPUTE(run, ASC_FLOAT32, "a * tanh(c) * b * (1 - b)", dh, o, cy));
    asc_put(run, 6, made);
    asc_put(run, 7, ASC_COMPUTE(run, ASC_FLOAT32, "a * b", all, f));
    int64_t first = 0;
    if (asc_int(run, 5)) asc_put(run, 8, asc_reduce_axes(run, ASC_REDUCE_SUM, made, 1, &first));
}
