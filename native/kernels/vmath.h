/* vmath.h - exp, log, tanh, erf, sigmoid and their kin on vectors of float32.
 *
 * Largest errors over all finite inputs, results in the subnormal range included, as
 * tests/kernels/test_vmath.py checks them on every ISA level (ulp of the float32 result):
 *   vf_exp 1.5   vf_expm1 2   vf_log 1.5   vf_log1p 1.5   vf_tanh 4   vf_sigmoid 3   vf_erf 4
 *   vf_softplus 2
 * NaN gives NaN, infinities give the limits, and odd functions keep the sign of zero.
 * Polynomials: tools/fit_polynomials.py. Range reductions: Cody and Waite, Software Manual for the
 * Elementary Functions, 1980.
 */
#ifndef ASC_KERNELS_VMATH_H
#define ASC_KERNELS_VMATH_H

#include "simd.h"

#if defined(__AVX512F__)
#include "erf_table.h"
#endif

#define ASC_LOG2E_F 0x1.715476p+0f
#define ASC_LN2_HIGH_F 0x1.62e4p-1f   /* 15 bits: n * high is exact for |n| < 512 */
#define ASC_LN2_LOW_F 0x1.7f7d1cp-20f /* ln 2 - high */
#define ASC_ROUNDER_F 12582912.0f     /* 1.5 * 2^23: x + rounder holds round(x) in its low bits */

/* x = n ln 2 + r with |r| <= ln 2 / 2; *bits holds n in its low bits. |x| < 1000. */
static inline vf vf_reduce_exp(vf x, vf *n, vi *bits) {
    vf shifted = vf_fma(x, vf_set(ASC_LOG2E_F), vf_set(ASC_ROUNDER_F));
    *bits = (vi)shifted;
    *n = shifted - ASC_ROUNDER_F;
    vf r = vf_fma(*n, vf_set(-ASC_LN2_HIGH_F), x);
    return vf_fma(*n, vf_set(-ASC_LN2_LOW_F), r);
}

/* p * 2^n, rounded once, for 0.5 < p < 2 and |n| < 252; bits as vf_reduce_exp gives them. */
static inline vf vf_scale(vf p, vf n, vi bits) {
#if defined(__AVX512F__)
    (void)bits;
    return (vf)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
    (void)n;
    vi whole = (vi)((vw)bits - (vw)vf_set(ASC_ROUNDER_F)), half = whole >> 1;
    return p * (vf)(((vw)half + 127) << 23) * (vf)(((vw)whole - (vw)half + 127) << 23);
#endif
}

/* exp for x <= 100, or NaN */
static inline vf vf_exp_bounded(vf x) {
    vf n;
    vi bits;
    x = vf_max(vf_set(-110.0f), x);
    vf r = vf_reduce_exp(x, &n, &bits);
    vf p = vf_fma(vf_set(0x1.6a5378p-10f), r, vf_set(0x1.12397ap-7f));
    p = vf_fma(p, r, vf_set(0x1.5558aap-5f));
    p = vf_fma(p, r, vf_set(0x1.555492p-3f));
    p = vf_fma(p, r, vf_set(0x1.fffffcp-2f));
    p = vf_fma(p, r, vf_set(1.0f));
    p = vf_fma(p, r, vf_set(1.0f));
    return vf_scale(p, n, bits);
}

static inline vf vf_exp(vf x) {
    return vf_exp_bounded(vf_min(vf_set(100.0f), x));
}

/* exp(x) - 1 for |x| <= 80, or NaN */
static inline vf vf_expm1_bounded(vf x) {
    vf n;
    vi bits;
    vf r = vf_reduce_exp(x, &n, &bits);
    vf p = vf_fma(vf_set(0x1.a24bb0p-13f), r, vf_set(0x1.6d3c7cp-10f));
    p = vf_fma(p, r, vf_set(0x1.111000p-7f));
    p = vf_fma(p, r, vf_set(0x1.5554f6p-5f));
    p = vf_fma(p, r, vf_set(0x1.555556p-3f));
    p = vf_fma(p, r, vf_set(0.5f));
    p = vf_fma(p * r, r, r);
    vf power = (vf)(((vw)bits << 23) + 0x3f800000); /* 2^n: the rounder's own low bits are zero */
    return vf_fma(power, p, power - 1.0f);
}

static inline vf vf_expm1(vf x) {
    /* From 32 on the one no longer counts; below -20 the result is -1. */
    vf near = vf_expm1_bounded(vf_max(vf_set(-20.0f), vf_min(vf_set(40.0f), x)));
    return vf_with_sign(vf_abs(vf_select(x > 32.0f, vf_exp(x), near)), x); /* also of zero */
}

/* y = n + r with |r| <= 1/2; returns 2^n and 2^r - 1 in *p. |y| < 126. */
static inline vf vf_split_exp2(vf y, vf *p) {
    vf shifted = y + ASC_ROUNDER_F;
    vf r = y - (shifted - ASC_ROUNDER_F);
    vf r2 = r * r; /* even and odd powers apart: half the latency */
    vf odd = vf_fma(vf_set(0x1.4434b0p-13f), r2, vf_set(0x1.3b2a3ap-7f));
    vf even = vf_fma(vf_set(0x1.5ef38ap-10f), r2, vf_set(0x1.c6afa0p-5f));
    odd = vf_fma(odd, r2, vf_set(0x1.ebfbe0p-3f));
    even = vf_fma(even, r2, vf_set(0x1.62e430p-1f));
    vf q = vf_fma(odd, r, even);
    *p = q * r;
    return (vf)(((vw)shifted << 23) + 0x3f800000);
}

/* (2^y - 1) / (2^y + 1) with y = 2 |x| / ln 2 */
static inline vf vf_tanh(vf x) {
    vf p, power = vf_split_exp2(vf_min(vf_set(30.0f), vf_abs(x) * 0x1.715476p+1f), &p);
    vf e = vf_fma(power, p, power - 1.0f);
    return vf_with_sign(e / (e + 2.0f), x);
}

/* e / (1 + e): at 88 the quotient is 1 already, and e still finite. */
static inline vf vf_sigmoid(vf x) {
    vf e = vf_exp_bounded(vf_min(vf_set(88.0f), x));
    return e / (1.0f + e);
}

#if defined(__AVX512F__)
/* The elements that the low five bits of each lane name. */
static inline vf vf_look_up(const float table[32], vi elements) {
    return (vf)_mm512_permutex2var_ps((__m512)vf_load(table), (__m512i)elements, (__m512)vf_load(table + ASC_VF));
}
#endif

/* One polynomial for each eighth, looked up; or erf(|x|) = 1 - 2^(-|x| P(|x|)), one from zero to where the result
 * is 1. */
static inline vf vf_erf(vf x) {
#if defined(__AVX512F__)
    vf t = vf_min(vf_set(3.875f), vf_abs(x)); /* the last piece is 1 */
    vf shifted = t + ASC_ROUNDER_F / 8;       /* holds round(8 t) in its low bits */
    vf r = t - (shifted - ASC_ROUNDER_F / 8);
    vf p = vf_look_up(asc_erf_table[4], (vi)shifted);
#pragma GCC unroll 4
    for (int k = 3; k >= 0; k--) p = vf_fma(p, r, vf_look_up(asc_erf_table[k], (vi)shifted));
    return vf_with_sign(p, x);
#else
    vf t = vf_min(vf_set(3.95f), vf_abs(x));
    vf t2 = t * t;
    vf even = vf_fma(vf_set(0x1.aeddb2p-17f), t2, vf_set(0x1.d72c3ap-11f));
    vf odd = vf_fma(vf_set(-0x1.5ae180p-13f), t2, vf_set(-0x1.3818e4p-9f));
    even = vf_fma(even, t2, vf_set(0x1.b86ce6p-13f));
    odd = vf_fma(odd, t2, vf_set(0x1.c4e340p-6f));
    even = vf_fma(even, t2, vf_set(-0x1.2fad10p-3f));
    odd = vf_fma(odd, t2, vf_set(-0x1.d63ebep-1f));
    even = vf_fma(even, t2, vf_set(-0x1.a0be84p+0f));
    vf q = vf_fma(odd, t, even);
    vf p, power = vf_split_exp2(t * q, &p);
    return vf_with_sign((1.0f - power) - power * p, x);
#endif
}

/* x = 2^e m with m in [0.75, 1.5); x positive and finite, subnormals included. */
static inline vf vf_split_log(vf x, vf *e) {
#if defined(__AVX512F__)
    __m512 m = _mm512_getmant_ps((__m512)x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_zero);
    *e = (vf)_mm512_sub_ps(_mm512_getexp_ps((__m512)x), _mm512_getexp_ps(m));
    return (vf)m;
#else
    vi tiny = x < 0x1p-126f;
    vi bits = (vi)((vw)vf_select(tiny, x * 0x1p23f, x) - 0x3f400000);
    *e = __builtin_convertvector((bits >> 23) - (tiny & 23), vf);
    return (vf)((bits & 0x7fffff) + 0x3f400000);
#endif
}

/* log(1 + f) = f + the result, for f in [-0.25, 0.5] */
static inline vf vf_log_tail(vf f) {
    vf p = vf_fma(vf_set(-0x1.7a4716p-5f), f, vf_set(0x1.b17c2ep-4f));
    p = vf_fma(p, f, vf_set(-0x1.0e0eb0p-3f));
    p = vf_fma(p, f, vf_set(0x1.284b22p-3f));
    p = vf_fma(p, f, vf_set(-0x1.54dd4ep-3f));
    p = vf_fma(p, f, vf_set(0x1.996b02p-3f));
    p = vf_fma(p, f, vf_set(-0x1.000082p-2f));
    p = vf_fma(p, f, vf_set(0x1.5555a2p-2f));
    vf square = f * f;
    return vf_fma(p * f, square, -0.5f * square);
}

static inline vf vf_log(vf x) {
    vf e, f = vf_split_log(x, &e) - 1.0f;
    vf y = vf_fma(e, vf_set(ASC_LN2_LOW_F), vf_log_tail(f));
    y = vf_fma(e, vf_set(ASC_LN2_HIGH_F), y + f);
    y = vf_select(x == 0.0f, vf_set(-__builtin_inff()), y);
    y = vf_select(x == __builtin_inff(), x, y);
    return vf_select(x >= 0.0f, y, vf_set(__builtin_nanf("")));
}

/* log(u) with u = 1 + x rounded, plus what the rounding lost: (1 + x - u) / u. */
static inline vf vf_log1p(vf x) {
    vf u = 1.0f + x, e, f = vf_split_log(u, &e) - 1.0f;
    vf lost = vf_select(x > 1.0f, 1.0f - (u - x), x - (u - 1.0f)) / u;
    vi plain = e == 0.0f;
    f = vf_select(plain, x, f);
    lost = vf_select(plain, vf_set(0.0f), lost);
    vf y = vf_fma(e, vf_set(ASC_LN2_LOW_F), lost + vf_log_tail(f));
    y = vf_fma(e, vf_set(ASC_LN2_HIGH_F), y + f);
    y = vf_select(x == 0.0f, x, y);
    y = vf_select(x == -1.0f, vf_set(-__builtin_inff()), y);
    y = vf_select(x == __builtin_inff(), x, y);
    return vf_select(x >= -1.0f, y, vf_set(__builtin_nanf("")));
}

/* log(1 + exp(x)) */
static inline vf vf_softplus(vf x) {
    return vf_max(vf_set(0.0f), x) + vf_log1p(vf_exp_bounded((vf)((vi)x | INT32_MIN)));
}

#endif
