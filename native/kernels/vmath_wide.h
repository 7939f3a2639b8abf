/* vmath_wide.h - the rarer functions on vectors of float64, for float32 results: computed in float64 and
 * rounded once they are within 0.51 ulp, whatever the argument. The formulas are good to 2^-36 or better,
 * which is all a float32 result needs. */
#ifndef ASC_KERNELS_VMATH_WIDE_H
#define ASC_KERNELS_VMATH_WIDE_H

#include <math.h>

#include "simd.h"

/* Those of one number whose float32 results come from here throughout: a name, that of the opcode, and what an element
 * costs in float32, and in float64 from the C library, in additions. */
#define VD_FUNCTIONS(X)      \
    X(asin, ASIN, 16, 150)   \
    X(acos, ACOS, 16, 150)   \
    X(atan, ATAN, 12, 150)   \
    X(sinh, SINH, 12, 200)   \
    X(cosh, COSH, 12, 200)   \
    X(asinh, ASINH, 16, 250) \
    X(acosh, ACOSH, 16, 250) \
    X(atanh, ATANH, 16, 250)

#define PI_2 0x1.921fb54442d18p+0

static inline vd vd_fma(vd a, vd b, vd c) {
    return a * b + c;
}
static inline vd vd_rint(vd a) {
    for (int i = 0; i < ASC_VD; i++) a[i] = __builtin_rint(a[i]);
    return a;
}

/* exp(x) where a float32 can hold it; beyond that something it can't hold, or rounds to zero. */
static inline vd vd_exp(vd x) {
    x = vd_max(vd_set(-200.0), vd_min(vd_set(200.0), x));
    vd shifted = vd_fma(x, vd_set(0x1.71547652b82fep+0), vd_set(0x1.8p52));
    vd n = shifted - 0x1.8p52;
    vd r = vd_fma(n, vd_set(-0x1.62e42fee00000p-1), x); /* ln 2 in two parts: n * high is exact */
    r = vd_fma(n, vd_set(-0x1.a39ef35793c76p-33), r);
    vd p = vd_fma(vd_set(0x1.72fdb729e2d61p-19), r, vd_set(0x1.a174ae02547e1p-16));
    p = vd_fma(p, r, vd_set(0x1.a01978d8170e5p-13));
    p = vd_fma(p, r, vd_set(0x1.6c16359a95cccp-10));
    p = vd_fma(p, r, vd_set(0x1.1111112c11aa1p-7));
    p = vd_fma(p, r, vd_set(0x1.55555581bc15fp-5));
    p = vd_fma(p, r, vd_set(0x1.555555554e164p-3));
    p = vd_fma(p, r, vd_set(0x1.ffffffffee810p-2));
    p = vd_fma(p * r, r, r) + 1.0;
    return p * (vd)(((vu)shifted << 52) + 0x3ff0000000000000u); /* unsigned: the exponent wraps */
}

static inline vd vd_log(vd x) {
    const int64_t low = 0x3fe6a09e667f3bcd; /* sqrt(1/2): m = x / 2^e lies in [sqrt(1/2), sqrt(2)) */
    vu offset = (vu)x - (uint64_t)low;
    vl biased = (vl)((offset + (1024ull << 52)) >> 52);
    vd e = (vd)(biased | 0x4330000000000000) - (0x1p52 + 1024.0);
    vd m = (vd)((vl)(offset & 0xfffffffffffff) + low);
    vd s = (m - 1.0) / (m + 1.0), t = s * s;
    vd p = vd_fma(vd_set(0x1.587a906258dafp-3), t, vd_set(0x1.732be166a29bcp-3));
    p = vd_fma(p, t, vd_set(0x1.c7227a5273189p-3));
    p = vd_fma(p, t, vd_set(0x1.2492417358e7dp-2));
    p = vd_fma(p, t, vd_set(0x1.999999a29b1b4p-2));
    p = vd_fma(p, t, vd_set(0x1.5555555553941p-1));
    vd y = vd_fma(e, vd_set(0x1.62e42fefa39efp-1), vd_fma(p * t, s, 2.0 * s));
    y = vd_select(x == 0.0, vd_set(-INFINITY), y);
    y = vd_select(x == INFINITY, x, y);
    return vd_select(x >= 0.0, y, vd_set(NAN));
}

/* ---- circular functions ------------------------------------------------------------------- */

#define LARGEST_REDUCED 1.0e6f /* above it the C library's argument reduction is used */

/* x = quarter * pi/2 + r with |r| <= pi/4, for |x| <= LARGEST_REDUCED: pi/2 in three parts, of which the
 * first two times a 20-bit quarter are exact. */
static inline vd reduce_quarter(vd x, vl *quarter) {
    vd shifted = vd_fma(x, vd_set(0x1.45f306dc9c883p-1), vd_set(0x1.8p52));
    vd n = shifted - 0x1.8p52;
    *quarter = (vl)shifted;
    vd r = vd_fma(n, vd_set(-0x1.921fb54400000p+0), x);
    r = vd_fma(n, vd_set(-0x1.0b4611a600000p-34), r);
    return vd_fma(n, vd_set(-0x1.3198a2e037073p-69), r);
}
static inline vd sin_reduced(vd r) {
    vd t = r * r;
    vd p = vd_fma(vd_set(0x1.6cd8801464f39p-19), t, vd_set(-0x1.a00f9e3840c26p-13));
    p = vd_fma(p, t, vd_set(0x1.11110896db6c2p-7));
    p = vd_fma(p, t, vd_set(-0x1.5555554cba7f4p-3));
    return vd_with_sign(vd_abs(vd_fma(p * t, r, r)), r); /* also of zero */
}
static inline vd cos_reduced(vd r) {
    vd t = r * r;
    vd p = vd_fma(vd_set(-0x1.242af87d08010p-22), t, vd_set(0x1.a01120d319b9cp-16));
    p = vd_fma(p, t, vd_set(-0x1.6c16b899d7794p-10));
    p = vd_fma(p, t, vd_set(0x1.5555554f4f3d8p-5));
    return vd_fma(p * t, t, vd_fma(t, vd_set(-0.5), vd_set(1.0)));
}
/* sin(x + shift * pi/2) */
static inline vd sin_shifted(vd x, int64_t shift) {
    vl quarter;
    vd r = reduce_quarter(x, &quarter);
    quarter += shift;
    vd y = vd_select((quarter & 1) != 0, cos_reduced(r), sin_reduced(r));
    return (vd)((vu)y ^ (((vu)quarter & 2) << 62));
}
static inline vd vd_sin(vd x) {
    return sin_shifted(x, 0);
}
static inline vd vd_cos(vd x) {
    return sin_shifted(x, 1);
}
static inline vd vd_tan(vd x) {
    vl quarter;
    vd r = reduce_quarter(x, &quarter);
    vd s = sin_reduced(r), c = cos_reduced(r);
    vl odd = (quarter & 1) != 0;
    return vd_select(odd, -c, s) / vd_select(odd, s, c);
}

/* atan(z) for z in [0, 1] */
static inline vd atan_reduced(vd z) {
    vd t = z * z;
    vd p = vd_fma(vd_set(-0x1.2b5872584bb63p-12), t, vd_set(0x1.2bb90861d5ca1p-9));
    p = vd_fma(p, t, vd_set(-0x1.19e03647b0d47p-7));
    p = vd_fma(p, t, vd_set(0x1.50aa2b531cdaap-6));
    p = vd_fma(p, t, vd_set(-0x1.26661a2c6227bp-5));
    p = vd_fma(p, t, vd_set(0x1.a166cfed37f68p-5));
    p = vd_fma(p, t, vd_set(-0x1.05cb861fa16f1p-4));
    p = vd_fma(p, t, vd_set(0x1.383ec72ed4dddp-4));
    p = vd_fma(p, t, vd_set(-0x1.73df56c0863cep-4));
    p = vd_fma(p, t, vd_set(0x1.c70e387972778p-4));
    p = vd_fma(p, t, vd_set(-0x1.2491ce7d3d273p-3));
    p = vd_fma(p, t, vd_set(0x1.999995698627dp-3));
    p = vd_fma(p, t, vd_set(-0x1.5555554ee9a06p-2));
    return vd_fma(p * t, z, z);
}
static inline vd vd_atan(vd x) {
    vd a = vd_abs(x);
    vl large = a > 1.0;
    vd y = atan_reduced(vd_select(large, 1.0 / a, a));
    return vd_with_sign(vd_select(large, PI_2 - y, y), x);
}
/* C's atan2, special cases included (C11 F.10.1.4). */
static inline vd vd_atan2(vd y, vd x) {
    vd a = vd_abs(y), b = vd_abs(x);
    vl steep = a > b;
    vd most = vd_select(steep, a, b), least = vd_select(steep, b, a);
    vd z = vd_select(a == b, vd_set(1.0), least / most); /* equal infinities */
    z = vd_select(most == 0.0, vd_set(0.0), z);
    vd angle = atan_reduced(z);
    angle = vd_select(steep, PI_2 - angle, angle);
    angle = vd_select((vl)x < 0, 2.0 * PI_2 - angle, angle);
    return vd_select((x == x) & (y == y), vd_with_sign(angle, y), x + y);
}
static inline vd vd_asin(vd x) {
    return vd_atan(x / vd_sqrt((1.0 - x) * (1.0 + x)));
}
static inline vd vd_acos(vd x) {
    return 2.0 * vd_atan(vd_sqrt((1.0 - x) / (1.0 + x)));
}

/* ---- hyperbolic functions: the definition, and the Taylor series near zero ----------------- */

static inline vd vd_sinh(vd x) {
    vd a = vd_abs(x), e = vd_exp(a), t = a * a;
    vd series = vd_fma(t, vd_set(1.0 / 5040.0), vd_set(1.0 / 120.0));
    series = vd_fma(vd_fma(series, t, vd_set(1.0 / 6.0)) * t, a, a);
    return vd_with_sign(vd_select(a < 0.25, series, 0.5 * (e - 1.0 / e)), x);
}
static inline vd vd_cosh(vd x) {
    vd e = vd_exp(vd_abs(x));
    return 0.5 * (e + 1.0 / e);
}
static inline vd vd_asinh(vd x) {
    vd a = vd_abs(x), t = a * a;
    vd series = vd_fma(vd_fma(t, vd_set(3.0 / 40.0), vd_set(-1.0 / 6.0)) * t, a, a);
    return vd_with_sign(vd_select(a < 0x1p-6, series, vd_log(a + vd_sqrt(t + 1.0))), x);
}
static inline vd vd_acosh(vd x) {
    return vd_select(x >= 1.0, vd_log(x + vd_sqrt((x - 1.0) * (x + 1.0))), vd_set(NAN));
}
static inline vd vd_atanh(vd x) {
    vd a = vd_abs(x), t = a * a;
    vd series = vd_fma(vd_fma(t, vd_set(1.0 / 5.0), vd_set(1.0 / 3.0)) * t, a, a);
    return vd_with_sign(vd_select(a < 0x1p-6, series, 0.5 * vd_log((1.0 + a) / (1.0 - a))), x);
}

/* C's pow, special cases included (C11 F.10.4.4). */
static inline vd vd_pow(vd x, vd y) {
    vd a = vd_abs(x), z = vd_exp(y * vd_log(a));
    z = vd_select((y == 0.0) | (x == 1.0) | ((a == 1.0) & (vd_abs(y) == INFINITY)), vd_set(1.0), z);
    vl whole = vd_rint(y) == y, half = vd_rint(0.5 * y) == 0.5 * y;
    z = vd_select((x < 0.0) & (x != -INFINITY) & ~whole, vd_select(y == y, vd_set(NAN), y), z);
    return (vd)((vl)z ^ ((vl)x & whole & ~half & INT64_MIN));
}

/* Of one number. */
static inline double wide_sigmoid(double x) {
    double e = exp(-fabs(x));
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}
static inline double wide_softplus(double x) {
    return x != x ? x : (x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x)));
}

#endif
