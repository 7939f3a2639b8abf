/* arithmetic.c - operators on elements whose formula depends on their arguments. */
#include <string.h>

#include "operator.h"

/* self, other, mode, and the output unless it is self: 0 divides, 1 truncates, 2 goes down. */
void asc_op_divide(asc_run *run) {
    int64_t mode = asc_int(run, 2);
    ASC_STOP_UNLESS(run, mode >= 0 && mode <= 2, "mode %lld is none of 0, 1, 2", (long long)mode);
    static const char *const formulas[] = {"self / other", "truncdiv(self, other)", "floordiv(self, other)"};
    asc_run_formula(run, formulas[mode]);
}

void asc_op_clamp(asc_run *run) {
    bool least = asc_given_at(run, 1), most = asc_given_at(run, 2);
    asc_run_formula(run, least && most ? "min(max(self, clipMin), clipMax)"
                         : least       ? "max(self, clipMin)"
                         : most        ? "min(self, clipMax)"
                                       : "self");
}

void asc_op_bitwise_not(asc_run *run) {
    asc_run_formula(run, asc_in(run, 0).dtype == ASC_BOOL ? "!self" : "not(self)");
}

/* tensors, out. */
void asc_op_sum_of_tensors(asc_run *run) {
    const asc_argument *in = asc_arg(run, 0);
    ASC_STOP_UNLESS(run, in->count > 0, "a sum of no tensors");
    tensor to = asc_in(run, 1), sum = in->tensors[0];
    int32_t type = to.dtype == ASC_FLOAT16 || to.dtype == ASC_BFLOAT16 ? ASC_FLOAT32 : to.dtype;
    for (int k = 1; k < in->count; k++) sum = ASC_COMPUTE(run, type, "a + b", sum, in->tensors[k]);
    asc_store(run, to, sum);
}

/* tensors, out: the largest, or smallest, of each place. */
void asc_op_extreme_of_tensors(asc_run *run, int largest) {
    const asc_argument *in = asc_arg(run, 0);
    ASC_STOP_UNLESS(run, in->count > 0, "an extreme of no tensors");
    tensor to = asc_in(run, 1), found = in->tensors[0];
    for (int k = 1; k < in->count; k++)
        found = ASC_COMPUTE(run, to.dtype, largest ? "max(a, b)" : "min(a, b)", found, in->tensors[k]);
    asc_store(run, to, found);
}

/* self, weight, out: a weight for each channel (axis 1). */
static tensor along_channels(asc_run *run, tensor weight, tensor x) {
    int64_t dims[ASC_MAX_RANK];
    for (int i = 0; i < x.rank; i++) dims[i] = i == 1 ? asc_elements(weight) : 1;
    if (x.rank < 2) return asc_flat(run, weight);
    return asc_reshape(run, asc_cast(run, weight, weight.dtype), x.rank, dims);
}

void asc_op_prelu(asc_run *run) {
    tensor x = asc_in(run, 0), w = along_channels(run, asc_in(run, 1), x);
    asc_put(run, 2, ASC_COMPUTE(run, x.dtype, "a > 0 ? a : a * b", x, w));
}

#define GELU_TANH "t = tanh(0.7978845608028654 * (self + 0.044715 * self * self * self)); "

void asc_op_gelu(asc_run *run) {
    asc_run_formula(
        run, asc_int(run, 1) ? GELU_TANH "0.5 * self * (1 + t)" : "0.5 * self * (1 + erf(self * 0.7071067811865476))");
}

void asc_op_gelu_backward(asc_run *run) {
    bool is_tanh = strcmp(asc_arg(run, 2)->text, "tanh") == 0;
    asc_run_formula(run, is_tanh ? GELU_TANH
                             "gradOutput * (0.5 * (1 + t) + 0.5 * self * (1 - t * t) * "
                             "0.7978845608028654 * (1 + 0.134145 * self * self))"
                                 : "gradOutput * (0.5 * (1 + erf(self * 0.7071067811865476)) + "
                                   "self * exp(-0.5 * self * self) * 0.3989422804014327)");
}

/* Both halves of an axis. */
static void halve(asc_run *run, tensor x, int i, int *axis, tensor *a, tensor *b) {
    *axis = (int)asc_axis(run, asc_int(run, i), x.rank);
    int64_t half = x.dims[*axis] / 2;
    ASC_STOP_UNLESS(run, x.dims[*axis] % 2 == 0, "an axis of %lld elements has no halves", (long long)x.dims[*axis]);
    *a = asc_narrow(x, *axis, 0, half);
    *b = asc_narrow(x, *axis, half, half);
}

/* self, dim, out: one half lets the other through, by the sigmoid of the second, or by silu of the first. */
void asc_op_gated(asc_run *run, int by_second) {
    tensor x = asc_in(run, 0), a, b;
    int axis;
    halve(run, x, 1, &axis, &a, &b);
    asc_put(run, 2, ASC_COMPUTE(run, x.dtype, by_second ? "a * sigmoid(b)" : "a * sigmoid(a) * b", a, b));
}

/* gradOut, self, dim, out. */
void asc_op_gated_backward(asc_run *run, int by_second) {
    static const char *const formulas[2][2] = {{"s = sigmoid(a); c * b * s * (1 + a * (1 - s))", "c * a * sigmoid(a)"},
                                               {"c * sigmoid(b)", "s = sigmoid(b); c * a * s * (1 - s)"}};
    tensor x = asc_in(run, 1), g = asc_in(run, 0), to = asc_in(run, 3), a, b;
    int axis;
    halve(run, x, 2, &axis, &a, &b);
    int64_t half = a.dims[axis];
    for (int i = 0; i < 2; i++)
        asc_store(run, asc_narrow(to, axis, i * half, half),
                  ASC_COMPUTE(run, x.dtype, formulas[by_second][i], a, b, g));
}

/* Of GeGlu and its gradient: which half the function is of, 1 the first, and whether it is that of tanh. `dim` is the
 * position of dim; approximate and perhaps activateLeft stand behind it. */
typedef struct gelu_gate {
    tensor active, other;
    int axis;
    bool left, tanh;
} gelu_gate;

static gelu_gate gate_of(asc_run *run, tensor x, int dim, int last) {
    gelu_gate g = {.left = last > dim + 2 && asc_int(run, dim + 2), .tanh = asc_int(run, dim + 1) == 0};
    tensor a, b;
    halve(run, x, dim, &g.axis, &a, &b);
    g.active = g.left ? a : b;
    g.other = g.left ? b : a;
    return g;
}

#define GELU_OF_A_TANH "t = tanh(0.7978845608028654 * (a + 0.044715 * a * a * a)); "
#define GELU_OF_A_ERF "t = erf(a * 0.7071067811865476); "

/* self, dim, approximate (0 tanh, 1 erf), perhaps activateLeft, out, outGelu. */
void asc_op_gelu_gated(asc_run *run, int out) {
    tensor x = asc_in(run, 0);
    int32_t type = x.dtype == ASC_FLOAT64 ? ASC_FLOAT64 : ASC_FLOAT32;
    gelu_gate g = gate_of(run, x, 1, out);
    tensor gelu = ASC_COMPUTE(
        run, type, g.tanh ? GELU_OF_A_TANH "0.5 * a * (1 + t)" : GELU_OF_A_ERF "0.5 * a * (1 + t)", g.active);
    asc_put(run, out, ASC_COMPUTE(run, type, "a * b", gelu, g.other));
    asc_put(run, out + 1, gelu);
}

/* gradOutput, self, gelu, dim, approximate, perhaps activateLeft, gradInput. */
void asc_op_gelu_gated_backward(asc_run *run, int out) {
    tensor x = asc_in(run, 1), grad = asc_in(run, 0), to = asc_in(run, out);
    int32_t type = x.dtype == ASC_FLOAT64 ? ASC_FLOAT64 : ASC_FLOAT32;
    gelu_gate g = gate_of(run, x, 3, out);
    int64_t half = g.active.dims[g.axis];
    tensor slope = ASC_COMPUTE(run, type,
                               g.tanh ? GELU_OF_A_TANH
                                   "b * c * (0.5 * (1 + t) + 0.5 * a * (1 - t * t) * "
                                   "0.7978845608028654 * (1 + 0.134145 * a * a))"
                                      : GELU_OF_A_ERF
                                   "b * c * (0.5 * (1 + t) + a * exp(-0.5 * a * a) * "
                                   "0.3989422804014327)",
                               g.active, g.other, grad);
    asc_store(run, asc_narrow(to, g.axis, g.left ? 0 : half, half), slope);
    asc_store(run, asc_narrow(to, g.axis, g.left ? half : 0, half),
              ASC_COMPUTE(run, type, "a * b", grad, asc_in(run, 2)));
}

/* gradOutput, self, weight, gradInput, gradWeight. */
void asc_op_prelu_backward(asc_run *run) {
    tensor g = asc_in(run, 0), x = asc_in(run, 1), weight = asc_in(run, 2), w = along_channels(run, weight, x);
    asc_put(run, 3, ASC_COMPUTE(run, x.dtype, "a > 0 ? c : b * c", x, w, g));
    asc_put(run, 4, asc_sum_to(run, ASC_COMPUTE(run, ASC_FLOAT32, "a > 0 ? 0 : a * b", x, g), w));
}

/* x, lengths of groups of rows, dim, alpha, limit, bias, interleaved, out: of halves (or even and odd columns) a and b
 * a sigmoid(alpha a) (b + bias), both no larger than the limit. Rows behind the last group become 0. */
void asc_op_clipped_gate(asc_run *run) {
    tensor x = asc_f32(run, 0), to = asc_in(run, 7);
    int axis = (int)asc_axis(run, asc_int(run, 2), x.rank);
    int64_t before = 1, behind = 1, half, rows;
    for (int i = 0; i < x.rank; i++) *(i < axis ? &before : &behind) *= x.dims[i];
    half = behind / 2;
    ASC_STOP_UNLESS(run, behind % 2 == 0 && asc_elements(to) == before * half, "rows of %lld have no two equal parts",
                    (long long)behind);
    x = asc_reshape(run, x, 2, (int64_t[]){before, behind});
    bool pairs = asc_int(run, 6);
    tensor a = asc_narrow(x, 1, 0, half), b = asc_narrow(x, 1, pairs ? 1 : half, half);
    if (pairs) a.strides[1] = b.strides[1] = 2;
    double numbers[] = {asc_float(run, 3), asc_float(run, 4), asc_float(run, 5)};
    tensor in[] = {a, b};
    tensor y = asc_formula(run, ASC_FLOAT32, "c = min(a, q); c * sigmoid(p * c) * (min(max(b, 0 - q), q) + r)", 2, in,
                           numbers, 3);
    rows = before;
    if (asc_has_at(run, 1)) {
        tensor lengths = asc_of(run, 1, ASC_INT64);
        int64_t sum = 0;
        for (int64_t i = 0; i < asc_elements(lengths); i++) sum += ((const int64_t *)lengths.data)[i];
        rows = sum < before ? sum : before;
    }
    if (rows < before) asc_fill(run, asc_narrow(y, 0, rows, before - rows), 0);
    asc_put(run, 7, asc_reshape(run, y, to.rank, to.dims));
}

/* element, test elements, assumeUnique, invert, out. */
void asc_op_is_among(asc_run *run) {
    tensor x = asc_flat(run, asc_cast(run, asc_in(run, 1), asc_in(run, 1).dtype));
    asc_name names[] = {{.name = "a", .tensor = &x}, {.name = "s", .number = asc_arg(run, 0)->numbers[0]}};
    tensor same = asc_evaluate(run, "a == s", 2, names, &(tensor){.dtype = ASC_BOOL});
    bool found = false;
    for (int64_t i = 0; i < asc_elements(x); i++) found = found || ((const uint8_t *)same.data)[i];
    tensor made = asc_new(run, ASC_BOOL, 0, NULL);
    *(uint8_t *)made.data = found != (asc_int(run, 3) != 0);
    asc_put(run, 4, made);
}
