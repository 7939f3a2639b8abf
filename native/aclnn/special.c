/* special.c - functions of elements that tile programs don't have. */
#include <math.h>

#include "operator.h"

/* The inverse of erf, to the last bits of a float: Giles's polynomials, and a step of Newton's. */
static double erf_inverse(double y) {
    static const double small[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                   -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
    static const double large[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                   -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
    if (!(fabs(y) < 1)) return fabs(y) == 1 ? y * INFINITY : NAN;
    double w = -log((1 - y) * (1 + y)), x = w < 5 ? w - 2.5 : sqrt(w) - 3, p = 0;
    for (int i = 0; i < 9; i++) p = p * x + (w < 5 ? small : large)[i];
    p *= y;
    for (int i = 0; i < 2; i++) p -= (erf(p) - y) / (1.1283791670955126 * exp(-p * p));
    return p;
}

/* self, then the output unless it is self. */
void asc_op_erf_inverse(asc_run *run) {
    tensor x = asc_copy(run, asc_in(run, 0), ASC_FLOAT64);
    for (int64_t i = 0; i < asc_elements(x); i++) ((double *)x.data)[i] = erf_inverse(((double *)x.data)[i]);
    asc_put(run, asc_arg(run, 0)->kind == 'R' ? 0 : 1, x);
}

/* The derivative of log(gamma): its series for large numbers, which smaller ones are brought to; and mirrored. */
static double digamma(double x) {
    if (x == 0) return copysign(INFINITY, -x);
    if (x < 0 && x == floor(x)) return NAN;
    if (x < 0) return digamma(1 - x) - 3.14159265358979323846 / tan(3.14159265358979323846 * fmod(x, 1));
    double sum = 0;
    for (; x < 10; x++) sum -= 1 / x;
    double z = 1 / (x * x);
    double tail = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132)))));
    return sum + log(x) - 0.5 / x - tail;
}

/* self, out. which: 0 log(|gamma|), 1 its derivative. */
void asc_op_gamma(asc_run *run, int which) {
    tensor x = asc_copy(run, asc_in(run, 0), ASC_FLOAT64);
    for (int64_t i = 0; i < asc_elements(x); i++) {
        double *at = &((double *)x.data)[i];
        *at = which ? digamma(*at) : lgamma_r(*at, &(int){0});
    }
    asc_put(run, 1, x);
}

/* self, decimals, then the output unless it is self. */
void asc_op_round_decimals(asc_run *run) {
    tensor x = asc_in(run, 0);
    double power = pow(10, fabs(asc_float(run, 1)));
    const char *formula = asc_int(run, 1) < 0 ? "round(a / p) * p" : "round(a * p) / p";
    asc_put(run, asc_arg(run, 0)->kind == 'R' ? 0 : 2, ASC_COMPUTE_WITH(run, x.dtype, formula, power, x));
}

/* Both, broadcast. */
static void whole_pair(asc_run *run, tensor *a, tensor *b) {
    tensor x = asc_of(run, 0, ASC_INT64), y = asc_of(run, 1, ASC_INT64);
    *a = ASC_COMPUTE(run, ASC_INT64, "a + 0 * b", x, y);
    *b = ASC_COMPUTE(run, ASC_INT64, "0 * a + b", x, y);
}

/* self, other, out: the sign stays. */
void asc_op_right_shift(asc_run *run) {
    tensor a, b;
    whole_pair(run, &a, &b);
    for (int64_t i = 0; i < asc_elements(a); i++) {
        int64_t *x = &((int64_t *)a.data)[i], by = ((int64_t *)b.data)[i];
        *x = by < 0 || by > 63 ? (*x < 0 ? -1 : 0) : *x >> by;
    }
    asc_put(run, 2, a);
}

/* self, other, out: the greatest common divisor. */
void asc_op_gcd(asc_run *run) {
    tensor a, b;
    whole_pair(run, &a, &b);
    for (int64_t i = 0; i < asc_elements(a); i++) {
        int64_t x = ((int64_t *)a.data)[i], y = ((int64_t *)b.data)[i];
        while (y) {
            int64_t rest = y == -1 ? 0 : x % y;
            x = y;
            y = rest;
        }
        ((int64_t *)a.data)[i] = x < 0 ? (int64_t)(0 - (uint64_t)x) : x; /* the least number has no negative */
    }
    asc_put(run, 2, a);
}
