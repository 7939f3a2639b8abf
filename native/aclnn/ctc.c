/* ctc.c - the loss of connectionist temporal classification: all ways in which T steps spell a target, with a blank
 * between its letters. Sums are logarithms, in float64. */
#include <math.h>
#include <string.h>

#include "operator.h"

/* One sequence: letters are those of the target with a blank before, between and behind them. */
typedef struct sequence {
    const double *steps; /* of time 0; those of the next lie `stride` further */
    int64_t stride, time, letters;
    const int64_t *target;
    int64_t blank;
} sequence;

typedef struct batch {
    tensor log_probs, targets; /* [T, N, C]; [N, S] or all of them in a row */
    const asc_argument *times, *lengths;
    int64_t n, classes, blank, longest;
} batch;

/* logProbs, targets, inputLengths, targetLengths stand at `first`. */
static batch batch_of(asc_run *run, int first, int64_t blank) {
    batch b = {asc_of(run, first, ASC_FLOAT64),
               asc_of(run, first + 1, ASC_INT64),
               asc_arg(run, first + 2),
               asc_arg(run, first + 3),
               1,
               0,
               blank,
               0};
    if (b.log_probs.rank == 2) b.log_probs = asc_unsqueeze(b.log_probs, 1);
    ASC_STOP_UNLESS(run, b.log_probs.rank == 3, "logProbs have %d axes, not three", b.log_probs.rank);
    b.n = b.log_probs.dims[1];
    b.classes = b.log_probs.dims[2];
    ASC_STOP_UNLESS(run, b.times->count == b.n && b.lengths->count == b.n, "%lld sequences have %d and %d lengths",
                    (long long)b.n, b.times->count, b.lengths->count);
    ASC_STOP_UNLESS(run, blank >= 0 && blank < b.classes, "class %lld, the blank, is none of %lld", (long long)blank,
                    (long long)b.classes);
    int64_t all = 0, letters = asc_elements(b.targets); /* `all` never exceeds them: no sum of lengths overflows */
    bool in_a_row = b.targets.rank != 2;
    for (int64_t i = 0; i < b.n; i++) {
        int64_t length = b.lengths->ints[i], time = b.times->ints[i];
        ASC_STOP_UNLESS(run, time >= 0 && time <= b.log_probs.dims[0], "sequence %lld has %lld steps of %lld",
                        (long long)i, (long long)time, (long long)b.log_probs.dims[0]);
        int64_t most = in_a_row ? letters - all : b.targets.dims[1];
        ASC_STOP_UNLESS(run, length >= 0 && length <= most, "target %lld has %lld letters of %lld", (long long)i,
                        (long long)length, (long long)most);
        all += length;
        if (length > b.longest) b.longest = length;
    }
    ASC_STOP_UNLESS(run, in_a_row || b.targets.dims[0] == b.n, "the targets are of fewer sequences");
    for (int64_t i = 0; i < letters && in_a_row; i++)
        ASC_STOP_UNLESS(run, ((int64_t *)b.targets.data)[i] >= 0 && ((int64_t *)b.targets.data)[i] < b.classes,
                        "letter %lld is no class", (long long)i);
    return b;
}

static sequence sequence_of(asc_run *run, const batch *b, int64_t i) {
    int64_t before = 0;
    for (int64_t k = 0; k < i; k++) before += b->lengths->ints[k];
    if (b->targets.rank == 2) before = i * b->targets.dims[1];
    sequence s = {(const double *)b->log_probs.data + i * b->classes,
                  b->n * b->classes,
                  b->times->ints[i],
                  2 * b->lengths->ints[i] + 1,
                  (const int64_t *)b->targets.data + before,
                  b->blank};
    for (int64_t k = 0; k < b->lengths->ints[i]; k++)
        ASC_STOP_UNLESS(run, s.target[k] >= 0 && s.target[k] < b->classes, "letter %lld of target %lld is no class",
                        (long long)k, (long long)i);
    return s;
}

static int64_t letter(const sequence *s, int64_t k) {
    return k % 2 ? s->target[k / 2] : s->blank;
}

static double step(const sequence *s, int64_t time, int64_t k) {
    return s->steps[time * s->stride + letter(s, k)];
}

static double log_add(double a, double b) {
    double most = a > b ? a : b;
    return most == -INFINITY ? most : most + log(exp(a - most) + exp(b - most));
}

/* Whether the way to letter k may leave out the blank before it. */
static bool leaps(const sequence *s, int64_t k) {
    return k >= 2 && k % 2 && letter(s, k) != letter(s, k - 2);
}

/* alpha[time, k]: all that is spelled up to letter k at that time. */
static void forwards(const sequence *s, double *alpha, int64_t width) {
    for (int64_t i = 0; i < s->time * width; i++) alpha[i] = -INFINITY;
    for (int64_t k = 0; k < 2 && k < s->letters && s->time; k++) alpha[k] = step(s, 0, k);
    for (int64_t t = 1; t < s->time; t++)
        for (int64_t k = 0; k < s->letters; k++) {
            const double *last = alpha + (t - 1) * width;
            double sum = k ? log_add(last[k], last[k - 1]) : last[k];
            if (leaps(s, k)) sum = log_add(sum, last[k - 2]);
            alpha[t * width + k] = sum + step(s, t, k);
        }
}

/* beta[time, k]: all that is spelled from letter k at that time on, that step among it. */
static void backwards(const sequence *s, double *beta, int64_t width) {
    for (int64_t i = 0; i < s->time * width; i++) beta[i] = -INFINITY;
    for (int64_t k = s->letters; k-- > 0 && k >= s->letters - 2 && s->time;)
        beta[(s->time - 1) * width + k] = step(s, s->time - 1, k);
    for (int64_t t = s->time - 1; t-- > 0;)
        for (int64_t k = 0; k < s->letters; k++) {
            const double *next = beta + (t + 1) * width;
            double sum = k + 1 < s->letters ? log_add(next[k], next[k + 1]) : next[k];
            if (k + 2 < s->letters && leaps(s, k + 2)) sum = log_add(sum, next[k + 2]);
            beta[t * width + k] = sum + step(s, t, k);
        }
}

static double loss_of(const sequence *s, const double *alpha, int64_t width) {
    if (!s->time) return s->letters == 1 ? 0 : INFINITY;
    const double *last = alpha + (s->time - 1) * width;
    return -(s->letters > 1 ? log_add(last[s->letters - 1], last[s->letters - 2]) : last[0]);
}

/* logProbs, targets, inputLengths, targetLengths, blank, zeroInfinity, negLogLikelihoodOut, logAlphaOut. */
void asc_op_ctc(asc_run *run) {
    batch b = batch_of(run, 0, asc_int(run, 4));
    tensor losses = asc_new(run, ASC_FLOAT64, 1, &b.n), kept = asc_like(run, asc_in(run, 7), ASC_FLOAT64);
    int64_t width = kept.rank == 3 ? kept.dims[2] : 0, time = kept.rank == 3 ? kept.dims[1] : 0;
    ASC_STOP_UNLESS(run, width > 2 * b.longest && time >= b.log_probs.dims[0] && kept.dims[0] == b.n,
                    "logAlphaOut has no room for %lld sequences of %lld letters", (long long)b.n,
                    (long long)(2 * b.longest + 1));
    asc_fill(run, kept, -INFINITY);
    for (int64_t i = 0; i < b.n; i++) {
        sequence s = sequence_of(run, &b, i);
        double *alpha = (double *)kept.data + i * time * width;
        forwards(&s, alpha, width);
        double loss = loss_of(&s, alpha, width);
        ((double *)losses.data)[i] = loss == INFINITY && asc_int(run, 5) ? 0 : loss;
    }
    asc_put(run, 6, losses);
    asc_put(run, 7, kept);
}

/* gradOut, logProbs, targets, inputLengths, targetLengths, negLogLikelihood, logAlpha, blank, zeroInfinity, out: of the
 * inputs of the log softmax, as PyTorch has it: exp(logProbs) less the share of each class. */
void asc_op_ctc_backward(asc_run *run) {
    batch b = batch_of(run, 1, asc_int(run, 7));
    tensor g = asc_of(run, 0, ASC_FLOAT64), made = asc_like(run, b.log_probs, ASC_FLOAT64);
    int64_t width = 2 * b.longest + 1, times = b.log_probs.dims[0];
    size_t bytes = (size_t)(times * width + 1) * sizeof(double);
    double *alpha = asc_bytes(run, bytes), *beta = asc_bytes(run, bytes);
    double *share = asc_bytes(run, (size_t)b.classes * sizeof(double));
    ASC_STOP_UNLESS(run, asc_elements(g) == b.n, "%lld sequences have %lld gradients", (long long)b.n,
                    (long long)asc_elements(g));
    asc_fill(run, made, 0);
    for (int64_t i = 0; i < b.n; i++) {
        sequence s = sequence_of(run, &b, i);
        forwards(&s, alpha, width);
        backwards(&s, beta, width);
        double loss = loss_of(&s, alpha, width), scale = ((double *)g.data)[i];
        if (loss == INFINITY && asc_int(run, 8)) continue;
        for (int64_t t = 0; t < s.time; t++) {
            const double *row = s.steps + t * s.stride;
            double *to = (double *)made.data + (t * b.n + i) * b.classes;
            for (int64_t c = 0; c < b.classes; c++) share[c] = -INFINITY;
            for (int64_t k = 0; k < s.letters; k++)
                share[letter(&s, k)] = log_add(share[letter(&s, k)], alpha[t * width + k] + beta[t * width + k]);
            for (int64_t c = 0; c < b.classes; c++) to[c] = (exp(row[c]) - exp(share[c] + loss - row[c])) * scale;
        }
    }
    asc_put(run, 9, made);
}
