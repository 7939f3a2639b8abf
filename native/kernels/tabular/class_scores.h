/* class_scores.h - from the sums of a row to its scores and label, of one element type; included once for each with
 *   T         float or double
 *   NAME(x)   the type's own symbol
 *
 * A sum that nothing was added to is -0.0, which a sum of other addends never is: such a target has no score, which
 * reads as 0. What two classes with a single score, or base values, come to is not in ONNX's text; it is what
 * onnxruntime's CPU provider makes of them. */

static inline int NAME(has_score)(T sum) {
    return sum != 0 || !signbit(sum);
}

static T NAME(logistic)(T x) {
    T near_one = 1 / (1 + (T)exp(-(T)fabs(x)));
    return x < 0 ? 1 - near_one : near_one;
}

/* Winitzki's approximation of the inverse error function, in float32. */
static T NAME(probit)(T p) {
    const float a = 0.147f, pi = 3.14159f, sqrt2 = 1.41421356f;
    float x = 2 * (float)p - 1, logarithm = logf((1 - x) * (1 + x));
    float mean = 2 / (pi * a) + 0.5f * logarithm;
    float root = sqrtf(sqrtf(mean * mean - 1 / a * logarithm) - mean);
    return (T)(sqrt2 * (x < 0 ? -root : root));
}

static void NAME(softmax)(T *s, int64_t n, int skip_zeros) {
    T most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < n; k++)
        if (s[k] > most) most = s[k];
    for (int64_t k = 0; k < n; k++) {
        if (skip_zeros && s[k] <= (T)1e-7f && s[k] >= (T)-1e-7f) {
            s[k] *= (T)exp(-most);
            continue;
        }
        s[k] = (T)exp(s[k] - most);
        sum += s[k];
    }
    for (int64_t k = 0; k < n; k++) s[k] /= sum;
}

static void NAME(transform)(T *s, int64_t n, int64_t post) {
    if (post == ASC_POST_LOGISTIC)
        for (int64_t k = 0; k < n; k++) s[k] = NAME(logistic)(s[k]);
    if (post == ASC_POST_PROBIT)
        for (int64_t k = 0; k < n; k++) s[k] = NAME(probit)(s[k]);
    if (post == ASC_POST_SOFTMAX || post == ASC_POST_SOFTMAX_ZERO) NAME(softmax)(s, n, post == ASC_POST_SOFTMAX_ZERO);
}

static void NAME(read_as_zero)(T *s, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        if (!NAME(has_score)(s[k])) s[k] = 0;
}

/* A target without a score has no base value either. One target has no transform but PROBIT. */
static void NAME(finish_targets)(const class_rule *rule, T *s) {
    int64_t n = rule->n;
    for (int64_t k = 0; k < n; k++) s[k] = NAME(has_score)(s[k]) ? s[k] + (rule->n_base ? (T)rule->base[k] : 0) : 0;
    if (n > 1 || rule->post == ASC_POST_PROBIT) NAME(transform)(s, n, rule->post);
}

static int64_t NAME(finish_classes)(const class_rule *rule, T *s) {
    int64_t n = rule->n, best = -1;
    for (int64_t k = 0; k < rule->n_base; k++) s[k] = (NAME(has_score)(s[k]) ? s[k] : 0) + (T)rule->base[k] + (T)0;
    for (int64_t k = 0; k < n; k++)
        if ((k < rule->n_base || NAME(has_score)(s[k])) && (best < 0 || s[k] > s[best])) best = k;
    NAME(read_as_zero)(s, n);
    NAME(transform)(s, n, rule->post);
    return rule->labels[best < 0 ? 0 : best];
}

/* s[0] or s[1] is what is positive; a single one makes both scores. */
static int64_t NAME(finish_two)(const class_rule *rule, T *s) {
    int first = NAME(has_score)(s[0]), second = NAME(has_score)(s[1]), single = !second && rule->n_base < 2;
    NAME(read_as_zero)(s, 2);
    if (rule->n_base == 2 && second) {
        s[1] = (T)rule->base[1] + s[0];
        s[0] = first ? -s[1] : 0;
    } else if (rule->n_base && first) {
        s[0] += (T)rule->base[0];
    }
    T positive = s[second];
    int64_t label = rule->labels[positive > (rule->label == ASC_LABEL_HALF ? (T)0.5 : 0)];
    if (!single) {
        NAME(transform)(s, 2, rule->post);
    } else if (rule->post == ASC_POST_LOGISTIC) {
        s[0] = NAME(logistic)(-positive), s[1] = NAME(logistic)(positive);
    } else {
        s[1] = positive, s[0] = rule->label == ASC_LABEL_HALF ? 1 - positive : -positive;
    }
    return label;
}

/* Makes the sums of a row its scores. Returns the label, 0 where there is none. */
static int64_t NAME(finish_row)(const class_rule *rule, T *s) {
    if (rule->label == ASC_LABEL_LARGEST) return NAME(finish_classes)(rule, s);
    if (rule->label != ASC_LABEL_NONE) return NAME(finish_two)(rule, s);
    NAME(finish_targets)(rule, s);
    return 0;
}
