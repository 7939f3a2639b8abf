/* Elementwise primitives on float64: arithmetic vectorised, functions from the C library (< 1 ulp in
 * glibc). */
#include <math.h>

#include "elementwise.h"
#include "vmath_wide.h"

EW_BINARY(f64_add, double, double, x + y)
EW_BINARY(f64_sub, double, double, x - y)
EW_BINARY(f64_mul, double, double, x *y)
EW_BINARY(f64_div, double, double, x / y)
EW_BINARY(f64_min, double, double, ((x < y) | (x != x)) ? x : y)
EW_BINARY(f64_max, double, double, ((x > y) | (x != x)) ? x : y)
EW_COMPARISONS(f64, double)
EW_SELECT(f64_select, double)

static double floor_mod(double x, double y) {
    double r = fmod(x, y);
    return r != 0.0 && (r < 0.0) != (y < 0.0) ? r + y : r;
}
EW_BINARY(f64_pow, double, double, pow(x, y))
EW_BINARY(f64_atan2, double, double, atan2(x, y))
EW_BINARY(f64_mod, double, double, floor_mod(x, y))
EW_BINARY(f64_fmod, double, double, fmod(x, y))

EW_UNARY(f64_neg, double, double, -x)
EW_UNARY(f64_abs, double, double, __builtin_fabs(x))
EW_UNARY(f64_sign, double, double, x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x)
EW_UNARY(f64_sqrt, double, double, __builtin_sqrt(x))
EW_UNARY(f64_rsqrt, double, double, 1.0 / __builtin_sqrt(x))
EW_UNARY(f64_reciprocal, double, double, 1.0 / x)
EW_UNARY(f64_floor, double, double, __builtin_floor(x))
EW_UNARY(f64_ceil, double, double, __builtin_ceil(x))
EW_UNARY(f64_round, double, double, __builtin_rint(x))
EW_UNARY(f64_trunc, double, double, __builtin_trunc(x))

#define EW_LIBRARY(name, ...) EW_UNARY(f64_##name, double, double, name(x))
EW_UNARY(f64_sigmoid, double, double, wide_sigmoid(x))
EW_UNARY(f64_softplus, double, double, wide_softplus(x))
EW_LIBRARY(exp)
EW_LIBRARY(expm1)
EW_LIBRARY(log)
EW_LIBRARY(log1p)
EW_LIBRARY(sin)
EW_LIBRARY(cos)
EW_LIBRARY(tan)
EW_LIBRARY(tanh)
VD_FUNCTIONS(EW_LIBRARY)
EW_LIBRARY(erf)

#define LIBRARY_ROW(name, NAME, narrow_cost, cost) , [ASC_EW_##NAME] = {f64_##name, EW_F64, cost}

const ew_primitive ASC_FN(asc_ew_f64)[ASC_EW_COUNT] = {
    [ASC_EW_SELECT] = {f64_select, EW_F64, 2},
    [ASC_EW_ADD] = {f64_add, EW_F64, 2},
    [ASC_EW_SUB] = {f64_sub, EW_F64, 2},
    [ASC_EW_MUL] = {f64_mul, EW_F64, 2},
    [ASC_EW_DIV] = {f64_div, EW_F64, 6},
    [ASC_EW_MIN] = {f64_min, EW_F64, 2},
    [ASC_EW_MAX] = {f64_max, EW_F64, 2},
    [ASC_EW_POW] = {f64_pow, EW_F64, 300},
    [ASC_EW_MOD] = {f64_mod, EW_F64, 150},
    [ASC_EW_FMOD] = {f64_fmod, EW_F64, 150},
    EW_COMPARISON_ROWS(f64),
    [ASC_EW_ATAN2] = {f64_atan2, EW_F64, 200},
    [ASC_EW_NEG] = {f64_neg, EW_F64, 2},
    [ASC_EW_ABS] = {f64_abs, EW_F64, 2},
    [ASC_EW_SIGN] = {f64_sign, EW_F64, 2},
    [ASC_EW_SQRT] = {f64_sqrt, EW_F64, 8},
    [ASC_EW_RSQRT] = {f64_rsqrt, EW_F64, 14},
    [ASC_EW_RECIPROCAL] = {f64_reciprocal, EW_F64, 6},
    [ASC_EW_FLOOR] = {f64_floor, EW_F64, 2},
    [ASC_EW_CEIL] = {f64_ceil, EW_F64, 2},
    [ASC_EW_ROUND] = {f64_round, EW_F64, 2},
    [ASC_EW_TRUNC] = {f64_trunc, EW_F64, 2},
    [ASC_EW_EXP] = {f64_exp, EW_F64, 60},
    [ASC_EW_EXPM1] = {f64_expm1, EW_F64, 120},
    [ASC_EW_LOG] = {f64_log, EW_F64, 60},
    [ASC_EW_LOG1P] = {f64_log1p, EW_F64, 120},
    [ASC_EW_SIN] = {f64_sin, EW_F64, 120},
    [ASC_EW_COS] = {f64_cos, EW_F64, 120},
    [ASC_EW_TAN] = {f64_tan, EW_F64, 200},
    [ASC_EW_TANH] = {f64_tanh, EW_F64, 200},
    [ASC_EW_ERF] = {f64_erf, EW_F64, 200},
    [ASC_EW_SIGMOID] = {f64_sigmoid, EW_F64, 80},
    [ASC_EW_SOFTPLUS] = {f64_softplus, EW_F64, 200} VD_FUNCTIONS(LIBRARY_ROW),
};
