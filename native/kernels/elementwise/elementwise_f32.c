/* Elementwise primitives on float32. */
#include <math.h>

#include "elementwise.h"
#include "vmath.h"

EW_BINARY(f32_add, float, float, x + y)
EW_BINARY(f32_sub, float, float, x - y)
EW_BINARY(f32_mul, float, float, x *y)
EW_BINARY(f32_div, float, float, x / y)
EW_BINARY(f32_min, float, float, ((x < y) | (x != x)) ? x : y)
EW_BINARY(f32_max, float, float, ((x > y) | (x != x)) ? x : y)
EW_COMPARISONS(f32, float)
EW_SELECT(f32_select, float)

static float floor_mod(float x, float y) {
    float r = fmodf(x, y);
    return r != 0.0f && (r < 0.0f) != (y < 0.0f) ? r + y : r;
}
EW_BINARY(f32_mod, float, float, floor_mod(x, y))
EW_BINARY(f32_fmod, float, float, fmodf(x, y))

EW_UNARY(f32_neg, float, float, -x)
EW_UNARY(f32_abs, float, float, __builtin_fabsf(x))
EW_UNARY(f32_sign, float, float, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x)
EW_UNARY(f32_sqrt, float, float, __builtin_sqrtf(x))
EW_UNARY(f32_rsqrt, float, float, 1.0f / __builtin_sqrtf(x))
EW_UNARY(f32_reciprocal, float, float, 1.0f / x)
EW_UNARY(f32_floor, float, float, __builtin_floorf(x))
EW_UNARY(f32_ceil, float, float, __builtin_ceilf(x))
EW_UNARY(f32_round, float, float, __builtin_rintf(x))
EW_UNARY(f32_trunc, float, float, __builtin_truncf(x))

#define EW_VECTOR(name)                                                                         \
    static void f32_##name(void *dst, const void *a, const void *b, const void *c, int64_t n) { \
        (void)b, (void)c;                                                                       \
        EW_VECTORS(vf_##name(vf_load((const float *)a + at)))                                   \
    }
EW_VECTOR(exp)
EW_VECTOR(expm1)
EW_VECTOR(log)
EW_VECTOR(log1p)
EW_VECTOR(tanh)
EW_VECTOR(erf)
EW_VECTOR(sigmoid)
EW_VECTOR(softplus)

/* Bits as those of the two steps it stands for. */
static void f32_gate(void *dst, const void *a, const void *b, const void *c, int64_t n) {
    (void)c;
    EW_VECTORS(vf_load((const float *)a + at) * vf_sigmoid(vf_load((const float *)b + at)))
}

#define WIDE_ROW(name, NAME, cost, ...) , [ASC_EW_##NAME] = {ASC_FN(asc_ew_wide_##name), EW_F32, cost}

const ew_primitive ASC_FN(asc_ew_f32)[ASC_EW_COUNT] = {
    [ASC_EW_SELECT] = {f32_select, EW_F32, 1},
    [ASC_EW_ADD] = {f32_add, EW_F32, 1},
    [ASC_EW_SUB] = {f32_sub, EW_F32, 1},
    [ASC_EW_MUL] = {f32_mul, EW_F32, 1},
    [ASC_EW_DIV] = {f32_div, EW_F32, 2},
    [ASC_EW_MIN] = {f32_min, EW_F32, 1},
    [ASC_EW_MAX] = {f32_max, EW_F32, 1},
    [ASC_EW_POW] = {ASC_FN(asc_ew_wide_pow), EW_F32, 24},
    [ASC_EW_MOD] = {f32_mod, EW_F32, 100},
    [ASC_EW_FMOD] = {f32_fmod, EW_F32, 100},
    EW_COMPARISON_ROWS(f32),
    [ASC_EW_ATAN2] = {ASC_FN(asc_ew_wide_atan2), EW_F32, 16},
    [ASC_EW_GATE] = {f32_gate, EW_F32, 4},
    [ASC_EW_NEG] = {f32_neg, EW_F32, 1},
    [ASC_EW_ABS] = {f32_abs, EW_F32, 1},
    [ASC_EW_SIGN] = {f32_sign, EW_F32, 1},
    [ASC_EW_SQRT] = {f32_sqrt, EW_F32, 2},
    [ASC_EW_RSQRT] = {f32_rsqrt, EW_F32, 4},
    [ASC_EW_RECIPROCAL] = {f32_reciprocal, EW_F32, 2},
    [ASC_EW_FLOOR] = {f32_floor, EW_F32, 1},
    [ASC_EW_CEIL] = {f32_ceil, EW_F32, 1},
    [ASC_EW_ROUND] = {f32_round, EW_F32, 1},
    [ASC_EW_TRUNC] = {f32_trunc, EW_F32, 1},
    [ASC_EW_EXP] = {f32_exp, EW_F32, 3},
    [ASC_EW_EXPM1] = {f32_expm1, EW_F32, 5},
    [ASC_EW_LOG] = {f32_log, EW_F32, 5},
    [ASC_EW_LOG1P] = {f32_log1p, EW_F32, 8},
    [ASC_EW_SIN] = {ASC_FN(asc_ew_wide_sin), EW_F32, 8},
    [ASC_EW_COS] = {ASC_FN(asc_ew_wide_cos), EW_F32, 8},
    [ASC_EW_TAN] = {ASC_FN(asc_ew_wide_tan), EW_F32, 12},
    [ASC_EW_TANH] = {f32_tanh, EW_F32, 4},
    [ASC_EW_ERF] = {f32_erf, EW_F32, 5},
    [ASC_EW_SIGMOID] = {f32_sigmoid, EW_F32, 4},
    [ASC_EW_SOFTPLUS] = {f32_softplus, EW_F32, 12} VD_FUNCTIONS(WIDE_ROW),
};
