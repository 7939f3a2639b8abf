/* Elementwise primitives on int32, int64 and bool. No operand traps: see elementwise.h. */
#include "elementwise.h"

/* `type` and its unsigned twin; arithmetic goes through the twin, so that it wraps. */
#define EW_INTEGER(p, type, twin, bits)                                                    \
    EW_BINARY(p##_add, type, type, (twin)x + (twin)y)                                      \
    EW_BINARY(p##_sub, type, type, (twin)x - (twin)y)                                      \
    EW_BINARY(p##_mul, type, type, (twin)x *(twin)y)                                       \
    EW_BINARY(p##_min, type, type, x < y ? x : y)                                          \
    EW_BINARY(p##_max, type, type, x > y ? x : y)                                          \
    EW_BINARY(p##_and, type, type, x &y)                                                   \
    EW_BINARY(p##_or, type, type, x | y)                                                   \
    EW_BINARY(p##_xor, type, type, x ^ y)                                                  \
    EW_BINARY(p##_shl, type, type, (twin)y < bits ? (twin)x << ((twin)y & (bits - 1)) : 0) \
    EW_BINARY(p##_shr, type, type, (twin)y < bits ? (twin)x >> ((twin)y & (bits - 1)) : 0) \
    EW_COMPARISONS(p, type)                                                                \
    EW_SELECT(p##_select, type)                                                            \
    EW_UNARY(p##_neg, type, type, 0 - (twin)x)                                             \
    EW_UNARY(p##_abs, type, type, x < 0 ? 0 - (twin)x : (twin)x)                           \
    EW_UNARY(p##_sign, type, type, (x > 0) - (x < 0))                                      \
    EW_UNARY(p##_not, type, type, ~x)                                                      \
    static inline type p##_divide(type x, type y) {                                        \
        return y == 0 ? 0 : y == -1 ? (type)(0 - (twin)x) : x / y;                         \
    }                                                                                      \
    static inline type p##_remainder(type x, type y) {                                     \
        return y == 0 || y == -1 ? 0 : x % y;                                              \
    }                                                                                      \
    static inline type p##_floor_mod(type x, type y) {                                     \
        type r = p##_remainder(x, y);                                                      \
        return r != 0 && (r < 0) != (y < 0) ? r + y : r;                                   \
    }                                                                                      \
    /* x^y modulo 2^bits; for y < 0 the integer part of the fraction, 0 for x = 0 */       \
    static type p##_power(type x, type y) {                                                \
        if (y < 0) return x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0;                     \
        twin base = (twin)x, result = 1;                                                   \
        for (twin left = (twin)y; left; left >>= 1, base *= base)                          \
            if (left & 1) result *= base;                                                  \
        return (type)result;                                                               \
    }                                                                                      \
    EW_BINARY(p##_div, type, type, p##_divide(x, y))                                       \
    EW_BINARY(p##_fmod, type, type, p##_remainder(x, y))                                   \
    EW_BINARY(p##_mod, type, type, p##_floor_mod(x, y))                                    \
    EW_BINARY(p##_pow, type, type, p##_power(x, y))

#define EW_INTEGER_ROWS(p, class, w)                                                                                  \
    [ASC_EW_SELECT] = {p##_select, class, w}, [ASC_EW_ADD] = {p##_add, class, w}, [ASC_EW_SUB] = {p##_sub, class, w}, \
    [ASC_EW_MUL] = {p##_mul, class, w}, [ASC_EW_DIV] = {p##_div, class, 20}, [ASC_EW_MIN] = {p##_min, class, w},      \
    [ASC_EW_MAX] = {p##_max, class, w}, [ASC_EW_POW] = {p##_pow, class, 80}, [ASC_EW_MOD] = {p##_mod, class, 25},     \
    [ASC_EW_FMOD] = {p##_fmod, class, 20}, [ASC_EW_AND] = {p##_and, class, w}, [ASC_EW_OR] = {p##_or, class, w},      \
    [ASC_EW_XOR] = {p##_xor, class, w}, [ASC_EW_SHL] = {p##_shl, class, w}, [ASC_EW_SHR] = {p##_shr, class, w},       \
    EW_COMPARISON_ROWS(p), [ASC_EW_NEG] = {p##_neg, class, w}, [ASC_EW_ABS] = {p##_abs, class, w},                    \
    [ASC_EW_SIGN] = {p##_sign, class, w}, [ASC_EW_NOT] = {p##_not, class, w}

EW_INTEGER(i32, int32_t, uint32_t, 32)
EW_INTEGER(i64, int64_t, uint64_t, 64)

EW_BINARY(b8_and, uint8_t, uint8_t, x &y)
EW_BINARY(b8_or, uint8_t, uint8_t, x | y)
EW_BINARY(b8_xor, uint8_t, uint8_t, x ^ y)
EW_BINARY(b8_eq, uint8_t, uint8_t, x == y)
EW_BINARY(b8_ne, uint8_t, uint8_t, x != y)
EW_UNARY(b8_not, uint8_t, uint8_t, x == 0)
EW_SELECT(b8_select, uint8_t)

const ew_primitive ASC_FN(asc_ew_i32)[ASC_EW_COUNT] = {EW_INTEGER_ROWS(i32, EW_I32, 1)};
const ew_primitive ASC_FN(asc_ew_i64)[ASC_EW_COUNT] = {EW_INTEGER_ROWS(i64, EW_I64, 2)};
const ew_primitive ASC_FN(asc_ew_b8)[ASC_EW_COUNT] = {
    [ASC_EW_SELECT] = {b8_select, EW_B8, 1}, [ASC_EW_AND] = {b8_and, EW_B8, 1}, [ASC_EW_OR] = {b8_or, EW_B8, 1},
    [ASC_EW_XOR] = {b8_xor, EW_B8, 1},       [ASC_EW_NOT] = {b8_not, EW_B8, 1}, [ASC_EW_EQ] = {b8_eq, EW_B8, 1},
    [ASC_EW_NE] = {b8_ne, EW_B8, 1},
};
