/* optimisers.c - one step of an optimiser: weights and what it keeps of them, in place. */
#include <math.h>

#include "operator.h"

/* What Adam is told. coupled: the decay is of the gradient, not of the weight. */
typedef struct adam {
    double lr, beta1, beta2, decay, epsilon, steps;
    bool maximize, coupled, uncorrected;
} adam;

/* A weight, its two averages, and the largest second one so far, or nothing; they are written. */
static void step_of_adam(asc_run *run, tensor w, tensor m, tensor v, const tensor *most, tensor g, const adam *a) {
    double first = a->uncorrected ? 1 : 1 - pow(a->beta1, a->steps);
    double second = a->uncorrected ? 1 : 1 - pow(a->beta2, a->steps);
    g = asc_formula(run, ASC_FLOAT32, "q * a + p * b", 2, (tensor[]){g, w},
                    (double[]){a->coupled ? a->decay : 0, a->maximize ? -1 : 1}, 2);
    tensor mean = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "p * a + (1 - p) * b", a->beta1, m, g);
    tensor square = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "p * a + (1 - p) * b * b", a->beta2, v, g), large = square;
    if (most) large = ASC_COMPUTE(run, ASC_FLOAT32, "max(a, b)", *most, square);
    double numbers[] = {a->lr, a->lr * (a->coupled ? 0 : a->decay), first, second, a->epsilon};
    tensor to = asc_formula(run, ASC_FLOAT32, "a - q * a - p * (b / r) / (sqrt(c / s) + t)", 3,
                            (tensor[]){w, mean, large}, numbers, 5);
    asc_store(run, w, to);
    asc_store(run, m, mean);
    asc_store(run, v, square);
    if (most) asc_store(run, *most, large);
}

static double number_of(asc_run *run, tensor t) {
    ASC_STOP_UNLESS(run, asc_elements(t) == 1, "a single number is asked for, not %lld", (long long)asc_elements(t));
    return *(const double *)asc_copy(run, t, ASC_FLOAT64).data;
}

/* var, m, v, largest v, grad, step, lr, beta1, beta2, weightDecay, eps, amsgrad, maximize. */
void asc_op_apply_adam_w(asc_run *run) {
    tensor most;
    if (asc_int(run, 11)) most = asc_in(run, 3);
    adam a = {.lr = asc_float(run, 6),
              .beta1 = asc_float(run, 7),
              .beta2 = asc_float(run, 8),
              .decay = asc_float(run, 9),
              .epsilon = asc_float(run, 10),
              .steps = number_of(run, asc_in(run, 5)),
              .maximize = asc_int(run, 12) != 0};
    step_of_adam(run, asc_in(run, 0), asc_in(run, 1), asc_in(run, 2), asc_int(run, 11) ? &most : NULL, asc_in(run, 4),
                 &a);
}

/* params, grads, averages, averages of squares, their largest, steps, gradScale, foundInf, lr, beta1, beta2,
 * weightDecay, eps, amsgrad, maximize. Infinities that were found leave all as it is. */
void asc_op_fused_adam_w(asc_run *run) {
    const asc_argument *w = asc_arg(run, 0), *most = asc_arg(run, 4);
    bool amsgrad = asc_int(run, 13) != 0;
    if (asc_has_at(run, 7) && number_of(run, asc_in(run, 7)) != 0) return;
    for (int i = 0; i < 6; i++)
        if (i != 4 || amsgrad)
            ASC_STOP_UNLESS(run, asc_arg(run, i)->count == w->count, "%s has %d tensors for %d weights",
                            asc_run_row(run)->names[i], asc_arg(run, i)->count, w->count);
    for (int k = 0; k < w->count; k++) {
        tensor g = asc_arg(run, 1)->tensors[k];
        adam a = {.lr = asc_float(run, 8),
                  .beta1 = asc_float(run, 9),
                  .beta2 = asc_float(run, 10),
                  .decay = asc_float(run, 11),
                  .epsilon = asc_float(run, 12),
                  .steps = number_of(run, asc_arg(run, 5)->tensors[k]),
                  .maximize = asc_int(run, 14) != 0};
        if (asc_has_at(run, 6)) g = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a / p", number_of(run, asc_in(run, 6)), g);
        step_of_adam(run, w->tensors[k], asc_arg(run, 2)->tensors[k], asc_arg(run, 3)->tensors[k],
                     amsgrad ? &most->tensors[k] : NULL, g, &a);
    }
}

/* grad, var, m, v, s, step, lr, emaDecay, beta1, beta2, eps, mode (0: the decay is the gradient's), biasCorrection,
 * weightDecay: Adam, and an average of its weights. */
void asc_op_adam_with_average(asc_run *run) {
    int64_t mode = asc_int(run, 11);
    ASC_STOP_UNLESS(run, mode == 0 || mode == 1, "mode %lld is none of 0, 1", (long long)mode);
    adam a = {.lr = asc_float(run, 6),
              .beta1 = asc_float(run, 8),
              .beta2 = asc_float(run, 9),
              .decay = asc_float(run, 13),
              .epsilon = asc_float(run, 10),
              .steps = number_of(run, asc_in(run, 5)),
              .coupled = mode == 0,
              .uncorrected = !asc_int(run, 12)};
    step_of_adam(run, asc_in(run, 1), asc_in(run, 2), asc_in(run, 3), NULL, asc_in(run, 0), &a);
    asc_put(
        run, 4,
        ASC_COMPUTE_WITH(run, ASC_FLOAT32, "p * a + (1 - p) * b", asc_float(run, 7), asc_in(run, 4), asc_in(run, 1)));
}

/* var, m, v, powers of both betas, lr, beta1, beta2, eps, grad, locking, Nesterov: eps is added before the squares are
 * corrected. */
void asc_op_apply_adam(asc_run *run) {
    double at[6];
    for (int i = 0; i < 6; i++) at[i] = number_of(run, asc_in(run, 3 + i));
    tensor w = asc_in(run, 0), g = asc_f32(run, 9);
    tensor m = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "p * a + (1 - p) * b", at[3], asc_in(run, 1), g);
    tensor v = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "p * a + (1 - p) * b * b", at[4], asc_in(run, 2), g), ahead = m;
    if (asc_int(run, 11)) ahead = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "p * a + (1 - p) * b", at[3], m, g);
    double numbers[] = {at[2] * sqrt(1 - at[1]) / (1 - at[0]), at[5]};
    asc_put(run, 0, asc_formula(run, ASC_FLOAT32, "a - p * b / (sqrt(c) + q)", 3, (tensor[]){w, ahead, v}, numbers, 2));
    asc_put(run, 1, m);
    asc_put(run, 2, v);
}

/* params, grads, momentums or none, gradScale, weightDecay, momentum, lr, dampening, Nesterov, maximize, whether it is
 * the first step. Gradients are kept by their scale. */
void asc_op_fused_sgd(asc_run *run) {
    const asc_argument *w = asc_arg(run, 0), *grads = asc_arg(run, 1), *kept = asc_arg(run, 2);
    bool has_momentum = kept->count > 0;
    double momentum = asc_float(run, 5), scale = asc_has_at(run, 3) ? number_of(run, asc_in(run, 3)) : 1;
    ASC_STOP_UNLESS(run, grads->count == w->count && (!has_momentum || kept->count == w->count),
                    "%d gradients and %d momentums for %d weights", grads->count, kept->count, w->count);
    for (int k = 0; k < w->count; k++) {
        tensor to = w->tensors[k], own = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a / p", scale, grads->tensors[k]);
        double numbers[] = {asc_float(run, 4), asc_int(run, 9) ? -1 : 1};
        tensor g = asc_formula(run, ASC_FLOAT32, "q * a + p * b", 2, (tensor[]){own, to}, numbers, 2), by = g;
        if (has_momentum) {
            double mix[] = {momentum, 1 - asc_float(run, 7)};
            if (!asc_int(run, 10))
                by = asc_formula(run, ASC_FLOAT32, "p * a + q * b", 2, (tensor[]){kept->tensors[k], g}, mix, 2);
            asc_store(run, kept->tensors[k], by);
            if (asc_int(run, 8)) by = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a + p * b", momentum, g, by);
        }
        if (scale != 1) asc_store(run, grads->tensors[k], own);
        asc_store(run, to, ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a - p * b", asc_float(run, 6), to, by));
    }
}
