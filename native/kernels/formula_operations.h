/* formula_operations.h - every operation of an expression, on vectors of generated code; and the folds of reductions.
 */
#ifndef ASC_KERNELS_FORMULA_OPERATIONS_H
#define ASC_KERNELS_FORMULA_OPERATIONS_H

#include "formula_vector.h"

#define EACH(name, expression)            \
    FN V op_##name(V a) {                 \
        for (int i = 0; i < LANES; i++) { \
            S x = a[i];                   \
            a[i] = (S)(expression);       \
        }                                 \
        return sealed(a);                 \
    }
#define EACH_OF_TWO(name, expression)     \
    FN V op_##name(V a, V b) {            \
        for (int i = 0; i < LANES; i++) { \
            S x = a[i], y = b[i];         \
            a[i] = (S)(expression);       \
        }                                 \
        return sealed(a);                 \
    }
#define WHOLE(name, expression)    \
    FN V op_##name(V x) {          \
        return sealed(expression); \
    }
#define WHOLE_OF_TWO(name, expression) \
    FN V op_##name(V x, V y) {         \
        return sealed(expression);     \
    }
#define COMPARE(name, sign)    \
    FN M op_##name(V x, V y) { \
        return x sign y;       \
    }

WHOLE_OF_TWO(add, x + y)
WHOLE_OF_TWO(sub, x - y)
WHOLE_OF_TWO(mul, x *y)
WHOLE_OF_TWO(div, x / y)
WHOLE_OF_TWO(min, lanes_less(x, y))
WHOLE_OF_TWO(max, lanes_greater(x, y))
COMPARE(eq, ==)
COMPARE(ne, !=)
COMPARE(lt, <)
COMPARE(le, <=)
COMPARE(gt, >)
COMPARE(ge, >=)
FN M op_and(M x, M y) {
    return x & y;
}
FN M op_or(M x, M y) {
    return x | y;
}
FN M op_not(M x) {
    return ~x;
}
FN V op_select(M c, V x, V y) {
    return v_select(c, x, y);
}
WHOLE(neg, -x)
WHOLE(sign, v_select(x > 0, v_set(1), v_select(x < 0, v_set(-1), x)))

static inline S floor_mod(S x, S y) {
    S r = (S)(sizeof(S) == 8 ? fmod(x, y) : fmodf((float)x, (float)y));
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
EACH_OF_TWO(mod, floor_mod(x, y))

#if ASC_WIDE
WHOLE(abs, vd_abs(x))
WHOLE(sqrt, vd_sqrt(x))
WHOLE(rsqrt, 1.0 / vd_sqrt(x))
EACH(floor, __builtin_floor(x))
EACH(ceil, __builtin_ceil(x))
EACH(round, __builtin_rint(x))
EACH(trunc, __builtin_trunc(x))
EACH(sigmoid, wide_sigmoid(x))
EACH(softplus, wide_softplus(x))
#define LIBRARY(name, ...) EACH(name, name(x))
LIBRARY(exp)
LIBRARY(expm1)
LIBRARY(log)
LIBRARY(log1p)
LIBRARY(sin)
LIBRARY(cos)
LIBRARY(tan)
LIBRARY(tanh)
VD_FUNCTIONS(LIBRARY)
LIBRARY(erf)
EACH_OF_TWO(pow, pow(x, y))
EACH_OF_TWO(atan2, atan2(x, y))
#else
WHOLE(abs, vf_abs(x))
WHOLE(sqrt, vf_sqrt(x))
WHOLE(rsqrt, 1.0f / vf_sqrt(x))
EACH(floor, __builtin_floorf(x))
EACH(ceil, __builtin_ceilf(x))
EACH(round, __builtin_rintf(x))
EACH(trunc, __builtin_truncf(x))
WHOLE(exp, vf_exp(x))
WHOLE(expm1, vf_expm1(x))
WHOLE(log, vf_log(x))
WHOLE(log1p, vf_log1p(x))
WHOLE(tanh, vf_tanh(x))
WHOLE(erf, vf_erf(x))
WHOLE(sigmoid, vf_sigmoid(x))
WHOLE(softplus, vf_softplus(x))

/* Through float64, half the lanes at a time. */
#define WIDENED(name, arguments, call)                                     \
    FN V op_##name arguments {                                             \
        float a[LANES], b[LANES];                                          \
        vf_store(a, x);                                                    \
        vf_store(b, y);                                                    \
        for (int i = 0; i < LANES; i += ASC_VD) vd_store_f32(a + i, call); \
        return vf_load(a);                                                 \
    }
#define WIDENED_ONE(name, ...)                                                                      \
    FN V op_##name(V x) {                                                                           \
        float a[LANES];                                                                             \
        vf_store(a, x);                                                                             \
        for (int i = 0; i < LANES; i += ASC_VD) vd_store_f32(a + i, vd_##name(vd_load_f32(a + i))); \
        return vf_load(a);                                                                          \
    }
/* Lanes above LARGEST_REDUCED come from the C library. */
#define CIRCULAR(name)                                                                              \
    FN V op_##name(V x) {                                                                           \
        float a[LANES];                                                                             \
        vf_store(a, x);                                                                             \
        for (int i = 0; i < LANES; i += ASC_VD) vd_store_f32(a + i, vd_##name(vd_load_f32(a + i))); \
        if (__builtin_expect(vi_any(((vi)x & INT32_MAX) > (vi)vf_set(LARGEST_REDUCED)), 0))         \
            for (int i = 0; i < LANES; i++)                                                         \
                if (!(fabsf(x[i]) <= LARGEST_REDUCED)) a[i] = name##f(x[i]);                        \
        return vf_load(a);                                                                          \
    }
CIRCULAR(sin)
CIRCULAR(cos)
CIRCULAR(tan)
VD_FUNCTIONS(WIDENED_ONE)
WIDENED(pow, (V x, V y), vd_pow(vd_load_f32(a + i), vd_load_f32(b + i)))
WIDENED(atan2, (V x, V y), vd_atan2(vd_load_f32(a + i), vd_load_f32(b + i)))
#endif

/* ---- folds --------------------------------------------------------------------------------- */

#define BLOCK 1024 /* elements of a fold that are added up before they join the total */
#define PART 32    /* elements of a fold down a strided axis that are added up before they join the block */

/* As kernels/reduction/reduce.c folds, so the same bits: blocks of four vectors, or of parts, which join a vector of
 * totals; at the end the lanes of that, half by half. */
#define FOLD(name, start, step)                                                                                      \
    FN V start_##name(void) {                                                                                        \
        return v_set(start);                                                                                         \
    }                                                                                                                \
    FN V fold_##name(V x, V y) {                                                                                     \
        return sealed(step);                                                                                         \
    }                                                                                                                \
    FN V join_##name(V a, V b, V c, V d) {                                                                           \
        return fold_##name(fold_##name(a, b), fold_##name(c, d));                                                    \
    }                                                                                                                \
    /* The total of the lanes, in every lane. */                                                                     \
    FN V lanes_##name(V v) {                                                                                         \
        _Pragma("GCC unroll 4") for (int half = LANES / 2; half; half /= 2) v = fold_##name(v, swap_lanes(v, half)); \
        return v_set(v[0]);                                                                                          \
    }
FOLD(sum, 0, (x + y))
FOLD(prod, 1, (x * y))
FOLD(max, (S)-INFINITY, lanes_greater(y, x))
FOLD(min, (S)INFINITY, lanes_less(y, x))

#endif
