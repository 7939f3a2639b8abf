/* loss.c - losses and their gradients. A reduction is 0 none, 1 mean, 2 sum. */
#include <math.h>
#include <string.h>

#include "asc_plan.h"
#include "operator.h"

static void put_reduced(asc_run *run, int out, tensor t, int64_t reduction) {
    if (reduction == 0)
        asc_put(run, out, t);
    else
        asc_put(run, out,
                asc_reduce_axes(run, reduction == 1 ? ASC_REDUCE_MEAN : ASC_REDUCE_SUM, asc_flat(run, t), 0, NULL));
}

static int32_t real_of(tensor t) {
    return t.dtype == ASC_FLOAT64 ? ASC_FLOAT64 : ASC_FLOAT32;
}

/* What a mean divides by. */
static double share(tensor t, int64_t reduction) {
    int64_t n = asc_elements(t);
    return reduction == 1 && n ? 1 / (double)n : 1;
}

enum { SQUARES, DISTANCES, LOGISTIC, DIVERGENCE, MARGIN };
static const char *const losses[] = {
    "(a - b) * (a - b)",
    "abs(a - b)",
    "-(b * max(log(a), 0 - 100) + (1 - b) * max(log1p(-a), 0 - 100))",
    "b > 0 ? b * (log(b) - a) : 0 * b",
    "log1p(exp(-a * b))",
};
/* c is the gradient of the loss, p what a mean divides by. */
static const char *const gradients[] = {
    "c * p * 2 * (a - b)",
    "c * p * sign(a - b)",
    "c * p * (a - b) / max((1 - a) * a, 0.000000000001)",
    "b > 0 ? 0 - c * p * b : 0 * b",
    "0 - c * p * b * exp(-a * b) / (1 + exp(-a * b))",
};

/* self, target, reduction, out. */
void asc_op_loss(asc_run *run, int which) {
    tensor x = asc_in(run, 0);
    put_reduced(run, 3, ASC_COMPUTE(run, real_of(x), losses[which], x, asc_in(run, 1)), asc_int(run, 2));
}

/* gradOutput, self, target, reduction, out. */
void asc_op_loss_backward(asc_run *run, int which) {
    tensor x = asc_in(run, 1);
    double p = share(x, asc_int(run, 3));
    asc_put(run, 4, ASC_COMPUTE_WITH(run, real_of(x), gradients[which], p, x, asc_in(run, 2), asc_in(run, 0)));
}

/* self, target, reduction, logTarget, out. */
void asc_op_divergence(asc_run *run) {
    tensor x = asc_in(run, 0);
    const char *formula = asc_int(run, 3) ? "exp(b) * (b - a)" : losses[DIVERGENCE];
    put_reduced(run, 4, ASC_COMPUTE(run, real_of(x), formula, x, asc_in(run, 1)), asc_int(run, 2));
}

/* gradOutput, self, target, reduction, logTarget, out. */
void asc_op_divergence_backward(asc_run *run) {
    tensor x = asc_in(run, 1);
    double p = share(x, asc_int(run, 3));
    const char *formula = asc_int(run, 4) ? "0 - c * p * exp(b)" : gradients[DIVERGENCE];
    asc_put(run, 5, ASC_COMPUTE_WITH(run, real_of(x), formula, p, x, asc_in(run, 2), asc_in(run, 0)));
}

/* gradOutput, self, target, reduction, logTarget, out: of the target. */
void asc_op_divergence_target(asc_run *run) {
    tensor x = asc_in(run, 1);
    const char *formula = asc_int(run, 4) ? "c * p * exp(b) * (b + 1 - a)" : "b > 0 ? c * p * (log(b) + 1 - a) : 0 * b";
    asc_put(run, 5,
            ASC_COMPUTE_WITH(run, real_of(x), formula, share(x, asc_int(run, 3)), x, asc_in(run, 2), asc_in(run, 0)));
}

/* self, target, reduction, beta, out. */
void asc_op_smooth_l1(asc_run *run) {
    tensor x = asc_in(run, 0);
    double beta = asc_float(run, 3);
    const char *formula = "abs(a - b) < p ? 0.5 * (a - b) * (a - b) / p : abs(a - b) - 0.5 * p";
    put_reduced(run, 4, ASC_COMPUTE_WITH(run, real_of(x), formula, beta, x, asc_in(run, 1)), asc_int(run, 2));
}

/* gradOut, self, target, reduction, beta, out. */
void asc_op_smooth_l1_backward(asc_run *run) {
    tensor x = asc_in(run, 1), in[] = {x, asc_in(run, 2), asc_in(run, 0)};
    double numbers[] = {share(x, asc_int(run, 3)), asc_float(run, 4)};
    asc_put(run, 5,
            asc_formula(run, real_of(x), "c * p * (abs(a - b) < q ? (a - b) / q : sign(a - b))", 3, in, numbers, 2));
}

/* self, target, weight, reduction, out. */
void asc_op_cross_entropy_of_two(asc_run *run) {
    tensor x = asc_in(run, 0), loss = ASC_COMPUTE(run, real_of(x), losses[LOGISTIC], x, asc_in(run, 1));
    if (asc_given_at(run, 2)) loss = ASC_COMPUTE(run, loss.dtype, "a * b", loss, asc_in(run, 2));
    put_reduced(run, 4, loss, asc_int(run, 3));
}

/* gradOutput, self, target, weight, reduction, out. */
void asc_op_cross_entropy_of_two_backward(asc_run *run) {
    tensor x = asc_in(run, 1);
    tensor g = ASC_COMPUTE_WITH(run, real_of(x), gradients[LOGISTIC], share(x, asc_int(run, 4)), x, asc_in(run, 2),
                                asc_in(run, 0));
    if (asc_given_at(run, 3)) g = ASC_COMPUTE(run, g.dtype, "a * b", g, asc_in(run, 3));
    asc_put(run, 5, g);
}

static tensor ones(asc_run *run, int i, int32_t type) {
    if (asc_given_at(run, i)) return asc_in(run, i);
    tensor one = asc_new(run, type, 0, NULL);
    asc_fill(run, one, 1);
    return one;
}

/* self, target, weight, posWeight, reduction, out. */
void asc_op_cross_entropy_of_logits(asc_run *run) {
    tensor x = asc_in(run, 0);
    int32_t type = real_of(x);
    tensor loss = ASC_COMPUTE(run, type, "d * ((1 - b) * a + (1 + (c - 1) * b) * (log1p(exp(-abs(a))) + max(-a, 0)))",
                              x, asc_in(run, 1), ones(run, 3, type), ones(run, 2, type));
    put_reduced(run, 5, loss, asc_int(run, 4));
}

/* gradOutput, self, target, weight, posWeight, reduction, out. */
void asc_op_cross_entropy_of_logits_backward(asc_run *run) {
    tensor x = asc_in(run, 1);
    int32_t type = real_of(x);
    asc_put(
        run, 6,
        ASC_COMPUTE_WITH(run, type, "e * p * d * ((1 + (c - 1) * b) * sigmoid(a) - c * b)", share(x, asc_int(run, 5)),
                         x, asc_in(run, 2), ones(run, 4, type), ones(run, 3, type), asc_in(run, 0)));
}

/* ---- by class ------------------------------------------------------------------------------------------------ */

/* Images and rows alike: [n, classes, rest]. */
typedef struct classes {
    int64_t n, classes, rest, ignored;
    const int64_t *target;
    const float *weight; /* NULL: all 1 */
} classes;

static classes classes_of(asc_run *run, tensor x, int target, int weight, int ignored) {
    ASC_STOP_UNLESS(run, x.rank >= 1, "a single number has no classes");
    classes c = {1, x.dims[x.rank > 1], 1, asc_int(run, ignored), NULL, NULL};
    if (x.rank > 1) c.n = x.dims[0];
    for (int i = 2; i < x.rank; i++) c.rest *= x.dims[i];
    ASC_STOP_UNLESS(run, asc_elements(asc_in(run, target)) == c.n * c.rest, "a class for each of %lld rows is needed",
                    (long long)(c.n * c.rest));
    c.target = asc_of(run, target, ASC_INT64).data;
    if (asc_given_at(run, weight)) {
        tensor w = asc_f32(run, weight);
        ASC_STOP_UNLESS(run, asc_elements(w) == c.classes, "a weight for each class is needed");
        c.weight = w.data;
    }
    for (int64_t i = 0; i < c.n * c.rest; i++)
        ASC_STOP_UNLESS(run, c.target[i] == c.ignored || (c.target[i] >= 0 && c.target[i] < c.classes),
                        "class %lld of %lld", (long long)c.target[i], (long long)c.classes);
    return c;
}

static float weight_of(const classes *c, int64_t i) {
    int64_t t = c->target[i];
    return t == c->ignored ? 0 : c->weight ? c->weight[t] : 1;
}

static int64_t place(const classes *c, int64_t i) {
    return (i / c->rest * c->classes + c->target[i]) * c->rest + i % c->rest;
}

/* self, target, weight, reduction, ignoreIndex, out, totalWeight. */
void asc_op_nll(asc_run *run) {
    tensor x = asc_f32(run, 0);
    classes c = classes_of(run, x, 1, 2, 4);
    int64_t count = c.n * c.rest, reduction = asc_int(run, 3);
    tensor each = asc_new(run, ASC_FLOAT32, 1, &count), total = asc_new(run, ASC_FLOAT32, 0, NULL);
    double sum = 0, weights = 0;
    for (int64_t i = 0; i < count; i++) {
        float w = weight_of(&c, i);
        float loss = c.target[i] == c.ignored ? 0 : -w * ((const float *)x.data)[place(&c, i)];
        ((float *)each.data)[i] = loss;
        sum += (double)loss;
        weights += (double)w;
    }
    *(float *)total.data = (float)weights;
    asc_put(run, 6, total);
    if (reduction == 0) {
        asc_put(run, 5, each);
        return;
    }
    *(float *)total.data = (float)(reduction == 1 ? sum / weights : sum);
    asc_put(run, 5, total);
}

/* gradOutput, self, target, weight, reduction, ignoreIndex, totalWeight, out. */
void asc_op_nll_backward(asc_run *run) {
    tensor g = asc_f32(run, 0), x = asc_in(run, 1), made = asc_like(run, x, ASC_FLOAT32);
    classes c = classes_of(run, x, 2, 3, 5);
    int64_t reduction = asc_int(run, 4);
    float total = *(const float *)asc_f32(run, 6).data;
    ASC_STOP_UNLESS(run, asc_elements(g) == (reduction == 0 ? c.n * c.rest : 1), "the gradient has %lld elements",
                    (long long)asc_elements(g));
    asc_fill(run, made, 0);
    for (int64_t i = 0; i < c.n * c.rest; i++) {
        if (c.target[i] == c.ignored) continue;
        float upstream = ((const float *)g.data)[reduction == 0 ? i : 0];
        ((float *)made.data)[place(&c, i)] = -weight_of(&c, i) * upstream / (reduction == 1 ? total : 1);
    }
    asc_put(run, 7, made);
}

/* features, labels (chances of classes), loss, backprop: classes lie along axis 1, of one axis along that. */
void asc_op_cross_entropy_of_softmax(asc_run *run) {
    tensor x = asc_in(run, 0), labels = asc_in(run, 1);
    ASC_STOP_UNLESS(run, x.rank > 0, "a single number has no classes");
    int32_t type = real_of(x);
    int64_t axis = x.rank > 1;
    tensor top = asc_reduce_axes(run, ASC_REDUCE_MAX, asc_cast(run, x, type), 1, &axis);
    tensor e = ASC_COMPUTE(run, type, "exp(a - b)", x, top);
    tensor sum = asc_reduce_axes(run, ASC_REDUCE_SUM, e, 1, &axis);
    tensor each = ASC_COMPUTE(run, type, "d == 0 ? 0 : d * (log(c) - (a - b))", x, top, sum, labels);
    asc_put(run, 2, asc_reduce_axes(run, ASC_REDUCE_SUM, each, 1, &axis));
    asc_put(run, 3, ASC_COMPUTE(run, type, "a / b - c", e, sum, labels));
}

/* ---- of logits, by class -------------------------------------------------------------------------------------- */

enum { MEAN_OF_CLASSES, SUM_OF_CLASSES, EACH_CLASS };

static int reduction_named(asc_run *run, int i) {
    static const char *const names[] = {"mean", "sum", "none"};
    const char *given = asc_arg(run, i)->text;
    if (!given || !*given) return MEAN_OF_CLASSES;
    for (int k = 0; k < 3; k++)
        if (strcmp(given, names[k]) == 0) return k;
    asc_stop(run, ASC_E_SHAPE, "reduction [%s] is none of mean, sum, none", given);
}

/* input, target, weight, reduction, ignoreIndex, smoothing, scale of the z-loss, whether it goes out, loss, logarithms
 * of chances, z-loss, logarithms of sums. */
void asc_op_cross_entropy(asc_run *run) {
    tensor x = asc_f32(run, 0);
    ASC_STOP_UNLESS(run, asc_float(run, 6) == 0 && !asc_int(run, 7), "the z-loss isn't there");
    classes c = classes_of(run, x, 1, 2, 4);
    int reduction = reduction_named(run, 3);
    double smooth = asc_float(run, 5), sum = 0, weights = 0;
    int64_t last = x.rank - 1;
    ASC_STOP_UNLESS(run, x.rank == 2 && c.classes > 0, "logits are of [rows, classes], not of %d axes", x.rank);
    tensor top = asc_reduce_axes(run, ASC_REDUCE_MAX, x, 1, &last);
    tensor all = asc_reduce_axes(run, ASC_REDUCE_SUM, ASC_COMPUTE(run, ASC_FLOAT32, "exp(a - b)", x, top), 1, &last);
    tensor logs = ASC_COMPUTE(run, ASC_FLOAT32, "a - b - log(c)", x, top, all);
    tensor each = asc_new(run, ASC_FLOAT32, 1, &c.n), total = asc_new(run, ASC_FLOAT32, 0, NULL);
    for (int64_t i = 0; i < c.n; i++) {
        const float *row = (const float *)logs.data + i * c.classes;
        double w = (double)weight_of(&c, i), even = 0;
        for (int64_t k = 0; smooth && k < c.classes; k++) even += (c.weight ? (double)c.weight[k] : 1) * (double)row[k];
        double loss = -(1 - smooth) * w * (double)(c.target[i] == c.ignored ? 0 : row[c.target[i]]);
        if (c.target[i] != c.ignored) loss -= smooth / (double)c.classes * even;
        ((float *)each.data)[i] = (float)loss;
        sum += loss;
        weights += w;
    }
    *(float *)total.data = (float)(reduction == MEAN_OF_CLASSES ? sum / weights : sum);
    asc_put(run, 8, reduction == EACH_CLASS ? each : total);
    asc_put(run, 9, logs);
}

/* gradient of the loss, logarithms of chances, target, weight, gradient of the z-loss, logarithms of sums, reduction,
 * ignoreIndex, smoothing, scale of the z-loss, out. */
void asc_op_cross_entropy_backward(asc_run *run) {
    tensor logs = asc_f32(run, 1), g = asc_f32(run, 0), made = asc_like(run, logs, ASC_FLOAT32);
    ASC_STOP_UNLESS(run, asc_float(run, 9) == 0 && !asc_has_at(run, 4), "the z-loss isn't there");
    ASC_STOP_UNLESS(run, logs.rank == 2, "logits are of [rows, classes], not of %d axes", logs.rank);
    classes c = classes_of(run, logs, 2, 3, 7);
    int reduction = reduction_named(run, 6);
    double smooth = asc_float(run, 8), weights = 0, all = 0;
    ASC_STOP_UNLESS(run, asc_elements(g) == (reduction == EACH_CLASS ? c.n : 1), "the gradient has %lld elements",
                    (long long)asc_elements(g));
    for (int64_t i = 0; i < c.n; i++) weights += (double)weight_of(&c, i);
    for (int64_t k = 0; k < c.classes; k++) all += c.weight ? (double)c.weight[k] : 1;
    asc_fill(run, made, 0);
    for (int64_t i = 0; i < c.n; i++) {
        if (c.target[i] == c.ignored) continue;
        double upstream = (double)((const float *)g.data)[reduction == EACH_CLASS ? i : 0];
        if (reduction == MEAN_OF_CLASSES) upstream /= weights;
        double hit = upstream * (1 - smooth) * (double)weight_of(&c, i), even = upstream * smooth / (double)c.classes;
        for (int64_t k = 0; k < c.classes; k++) {
            double p = exp((double)((const float *)logs.data)[i * c.classes + k]);
            double own = c.weight ? (double)c.weight[k] : 1;
            ((float *)made.data)[i * c.classes + k] =
                (float)(p * hit - (k == c.target[i] ? hit : 0) + even * (p * all - own));
        }
    }
    asc_put(run, 10, made);
}

/* self, target (classes of each row, up to the first -1), reduction, out, which classes are targets. */
void asc_op_multilabel_margin(asc_run *run) {
    tensor x = asc_f32(run, 0), target = asc_of(run, 1, ASC_INT64), is = asc_like(run, x, ASC_FLOAT32);
    ASC_STOP_UNLESS(run, (x.rank == 1 || x.rank == 2) && asc_elements(target) == asc_elements(x),
                    "a target for each of %lld elements is needed", (long long)asc_elements(x));
    int64_t n = x.dims[x.rank - 1], rows = n ? asc_elements(x) / n : 0, reduction = asc_int(run, 2);
    tensor each = asc_new(run, ASC_FLOAT32, x.rank - 1, &rows);
    asc_fill(run, is, 0);
    for (int64_t i = 0; i < rows; i++) {
        const float *row = (const float *)x.data + i * n;
        const int64_t *to = (const int64_t *)target.data + i * n;
        float *hit = (float *)is.data + i * n;
        double sum = 0;
        int64_t count = 0;
        for (; count < n && to[count] >= 0; count++) {
            ASC_STOP_UNLESS(run, to[count] < n, "class %lld of %lld", (long long)to[count], (long long)n);
            hit[to[count]] = 1;
        }
        for (int64_t j = 0; j < count; j++)
            for (int64_t k = 0; k < n; k++) {
                double margin = 1 - (double)row[to[j]] + (double)row[k];
                if (!(hit[k] > 0) && margin > 0) sum += margin;
            }
        ((float *)each.data)[i] = (float)(sum / (double)n);
    }
    put_reduced(run, 3, each, reduction);
    asc_put(run, 4, is);
}
