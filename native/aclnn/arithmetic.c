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

/* gradOutput, self, weight, gradInput, gradWeight. */
void asc_op_prelu_backward(asc_run *run) {
    tensor g = asc_in(run, 0), x = asc_in(run, 1), weight = asc_in(run, 2), w = along_channels(run, weight, x);
    asc_put(run, 3, ASC_COMPUTE(run, x.dtype, "a > 0 ? c : b * c", x, w, g));
    asc_put(run, 4, asc_sum_to(run, ASC_COMPUTE(run, ASC_FLOAT32, "a > 0 ? 0 : a * b", x, g), w));
}
