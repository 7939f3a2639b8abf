/* elementwise.h - tile programs: what the "elementwise" kernel runs.
 *
 * A program is a straight line of steps over registers that each hold one tile of elements. The output
 * elements are taken in row-major order, a tile at a time; for every tile all steps run in order. A
 * single Add is a program of four steps, a fused chain of operators a longer one.
 *
 *   ints[0] = n_registers, ints[1] = n_steps, then ASC_EW_STEP_INTS ints per step: op, dst, a, b, c
 *   floats  = the table that float constants index
 *
 *   LOAD    register dst = input a, broadcast to the output's shape as numpy does
 *   CONST   register dst = floats[a] when b is FLOAT32 or FLOAT64; = a itself when b is INT32, INT64, BOOL
 *   IOTA    register dst = the element's row-major position, int64
 *   STORE   output dst = register a; each output exactly once, and after every other step
 *   CAST    register dst = register a as the ONNX type b; c is the ONNX type a holds (0: its class's own)
 *   SELECT  register dst = bool register a ? register b : register c
 *   other   register dst = op(a) or op(a, b); unused operands are 0
 *
 * A register's class follows from the step that last wrote it:
 *   F32  float32, and float16 / bfloat16 held as float32
 *   I32  int32, and int8, uint8, int16, uint16 held as int32
 *   I64  int64, and uint32, uint64 (modulo 2^64)
 *   F64  float64        B8  bool, one byte of 0 or 1
 * Both operands of a step have the same class; comparisons give B8, everything else its operands' class.
 * CAST rounds or wraps to type b, and STORE to the output's type, whose class is the register's.
 *
 * Semantics: integers wrap; x / 0 and x mod 0 are 0, shifts by the width or more give 0. DIV truncates,
 * MOD has the divisor's sign, FMOD the dividend's. MIN and MAX give NaN when either operand is NaN.
 * ROUND is half to even. ATAN2 is the angle of the point (b, a). A float outside the target's range becomes the least
 * int32 or int64, as the x86 conversion gives it, and is then wrapped to narrower types. SHR is logical.
 */
#ifndef ASC_KERNELS_ELEMENTWISE_H
#define ASC_KERNELS_ELEMENTWISE_H

#include <string.h>

#include "isa.h"
#include "vmath_wide.h"

typedef enum { EW_NONE = 0, EW_F32, EW_F64, EW_I32, EW_I64, EW_B8, EW_CLASSES } ew_class;

#define EW_LANES 16 /* n of every primitive is a multiple of this; dst may be one of the operands */
typedef void (*ew_fn)(void *dst, const void *a, const void *b, const void *c, int64_t n);

/* One operation on one class. cost: rough work per element, an addition being 1. */
typedef struct ew_primitive {
    ew_fn fn;
    ew_class result;
    int cost;
} ew_primitive;

/* Per class, indexed by opcode; fn is NULL where the class lacks the operation. */
extern const ew_primitive ASC_FN(asc_ew_f32)[ASC_EW_COUNT];
extern const ew_primitive ASC_FN(asc_ew_f64)[ASC_EW_COUNT];
extern const ew_primitive ASC_FN(asc_ew_i32)[ASC_EW_COUNT];
extern const ew_primitive ASC_FN(asc_ew_i64)[ASC_EW_COUNT];
extern const ew_primitive ASC_FN(asc_ew_b8)[ASC_EW_COUNT];

/* float32 functions computed in float64 and rounded once (elementwise_wide.c). */
#define EW_DECLARE(name, ...) \
    void ASC_FN(asc_ew_wide_##name)(void *, const void *, const void *, const void *, int64_t);
EW_DECLARE(sin)
EW_DECLARE(cos)
EW_DECLARE(tan)
VD_FUNCTIONS(EW_DECLARE)
EW_DECLARE(pow)
EW_DECLARE(atan2)
#undef EW_DECLARE

/* Conversions (elementwise_cast.c). dtype is an ONNX type; NULL means the bytes are already right. */
typedef void (*ew_convert)(void *dst, const void *src, int64_t n);
ew_class ASC_FN(asc_ew_class)(int64_t dtype);    /* EW_NONE for types without a class */
ew_convert ASC_FN(asc_ew_load)(int32_t dtype);   /* memory to register */
ew_convert ASC_FN(asc_ew_store)(int32_t dtype);  /* register to memory */
ew_convert ASC_FN(asc_ew_narrow)(int64_t dtype); /* register rounded or wrapped to the type; dst == src allowed */
ew_convert ASC_FN(asc_ew_cast)(ew_class from, int is_unsigned, ew_class to, int to_unsigned);

/* The types of less than a byte, one element to a byte, and float8 (elementwise_narrow.c). */
typedef struct ew_narrow_type {
    ew_class class; /* EW_NONE: another type */
    ew_convert load, store, narrow;
} ew_narrow_type;
ew_narrow_type ASC_FN(asc_ew_narrow_type)(int64_t dtype);

/* The bits of a float, and back. */
static inline uint32_t ew_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline float ew_float(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* A loop over n elements, n a multiple of EW_LANES, whose destination may be one of its sources. */
#if defined(__clang__)
#define EW_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define EW_INDEPENDENT _Pragma("GCC ivdep")
#endif
#define EW_LOOP EW_INDEPENDENT for (int64_t i = 0, end = n & ~(int64_t)(EW_LANES - 1); i < end; i++)
/* Stores `value`, made of the operands' vectors `at` an element: four vectors at a time, loads before stores, so
 * that the compiler may take their steps side by side. */
#define EW_VECTORS(value)                                                          \
    int64_t i = 0;                                                                 \
    for (; i + 4 * ASC_VF <= n; i += 4 * ASC_VF) {                                 \
        vf v[4];                                                                   \
        for (int u = 0; u < 4; u++) {                                              \
            int64_t at = i + u * ASC_VF;                                           \
            v[u] = value;                                                          \
        }                                                                          \
        for (int u = 0; u < 4; u++) vf_store((float *)dst + i + u * ASC_VF, v[u]); \
    }                                                                              \
    for (int64_t at = i; at < n; at += ASC_VF) vf_store((float *)dst + at, value);

/* A conversion: `expression` of x. */
#define EW_CONVERT(name, from, to, expression)                \
    static void name(void *dst, const void *src, int64_t n) { \
        to *d = dst;                                          \
        const from *s = src;                                  \
        EW_LOOP {                                             \
            from x = s[i];                                    \
            d[i] = (to)(expression);                          \
        }                                                     \
    }

/* A primitive: `expression` in x = a[i], y = b[i] gives an `out`. */
#define EW_BINARY(name, type, out, expression)                                                   \
    static void name(void *dst, const void *pa, const void *pb, const void *unused, int64_t n) { \
        out *d = dst;                                                                            \
        const type *a = pa, *b = pb;                                                             \
        (void)unused;                                                                            \
        EW_LOOP {                                                                                \
            type x = a[i], y = b[i];                                                             \
            d[i] = (out)(expression);                                                            \
        }                                                                                        \
    }
#define EW_UNARY(name, type, out, expression)                                                            \
    static void name(void *dst, const void *pa, const void *unused_b, const void *unused_c, int64_t n) { \
        out *d = dst;                                                                                    \
        const type *a = pa;                                                                              \
        (void)unused_b, (void)unused_c;                                                                  \
        EW_LOOP {                                                                                        \
            type x = a[i];                                                                               \
            d[i] = (out)(expression);                                                                    \
        }                                                                                                \
    }
#define EW_SELECT(name, type)                                                                        \
    static void name(void *dst, const void *condition, const void *yes, const void *no, int64_t n) { \
        type *d = dst;                                                                               \
        const uint8_t *c = condition;                                                                \
        const type *a = yes, *b = no;                                                                \
        EW_LOOP d[i] = c[i] ? a[i] : b[i];                                                           \
    }
/* The six comparisons of a type. */
#define EW_COMPARISONS(prefix, type)              \
    EW_BINARY(prefix##_lt, type, uint8_t, x < y)  \
    EW_BINARY(prefix##_le, type, uint8_t, x <= y) \
    EW_BINARY(prefix##_gt, type, uint8_t, x > y)  \
    EW_BINARY(prefix##_ge, type, uint8_t, x >= y) \
    EW_BINARY(prefix##_eq, type, uint8_t, x == y) \
    EW_BINARY(prefix##_ne, type, uint8_t, x != y)
#define EW_COMPARISON_ROWS(prefix)                                                \
    [ASC_EW_LT] = {prefix##_lt, EW_B8, 1}, [ASC_EW_LE] = {prefix##_le, EW_B8, 1}, \
    [ASC_EW_GT] = {prefix##_gt, EW_B8, 1}, [ASC_EW_GE] = {prefix##_ge, EW_B8, 1}, \
    [ASC_EW_EQ] = {prefix##_eq, EW_B8, 1}, [ASC_EW_NE] = {prefix##_ne, EW_B8, 1}

#endif
