/* exp_below.h - the exponential of differences from a maximum, as a softmax takes it. */
#ifndef ASC_KERNELS_EXP_BELOW_H
#define ASC_KERNELS_EXP_BELOW_H

#include "vmath.h"

/* 2^y within 3 ulp for y < 127, or NaN; 1 of 0, 0 of -Inf. 2^r is 1 + r P(r). */
static inline vf vf_exp2(vf y) {
#if defined(__AVX512DQ__)
    vf r = (vf)_mm512_reduce_ps((__m512)y, 9); /* y - floor(y); 0 of an infinity */
    vf p = vf_fma(vf_set(0x1.e9691ep-10f), r, vf_set(0x1.277c1ap-7f));
    p = vf_fma(p, r, vf_set(0x1.c91c10p-5f));
    p = vf_fma(p, r, vf_set(0x1.ebdb6ap-3f));
    p = vf_fma(p, r, vf_set(0x1.62e4bap-1f));
    p = vf_fma(p, r, vf_set(1.0f));
    return (vf)_mm512_scalef_ps((__m512)p, (__m512)y); /* by 2^floor(y) */
#else
    y = vf_max(vf_set(-150.0f), y);
    vf shifted = y + ASC_ROUNDER_F, n = shifted - ASC_ROUNDER_F, r = y - n;
    vf p = vf_fma(vf_set(0x1.5be0e6p-10f), r, vf_set(0x1.3ce8b0p-7f));
    p = vf_fma(p, r, vf_set(0x1.c6b6ccp-5f));
    p = vf_fma(p, r, vf_set(0x1.ebf9c2p-3f));
    p = vf_fma(p, r, vf_set(0x1.62e42ap-1f));
    p = vf_fma(p, r, vf_set(1.0f));
    return vf_scale(p, n, (vi)shifted);
#endif
}

/* exp(x) for x <= 0, or NaN: 1 of 0, and else within (1.3 |x| + 3) ulp, as the argument of 2^y is rounded. */
static inline vf vf_exp_below(vf x) {
    return vf_exp2(x * ASC_LOG2E_F);
}

/* 2^(y - EXP2_AHEAD) for y < 120 within 3 ulp, or NaN; 0 for y below -121. For where multiplications are what is
 * scarce: with y = n / 32 + w, 2^w is so near to c (w^2 + d) that a table of 2^(n / 32) c does the rest. Constants come
 * from memory, where the registers are a product's. */
#if defined(__AVX512F__)
#define EXP2_AHEAD 1.4375f /* 2^w and its parabola touch where w is 1 / log(2), between the two 32nds beside it */
#else
#define EXP2_AHEAD 0.0f
#endif

typedef struct exp2_table {
    uint32_t powers[32];                    /* the bits of 2^(i / 32) c, less i << 18 */
    float rounder_ahead, rounder, d, least; /* rounder_ahead: rounder - EXP2_AHEAD */
} exp2_table;

_Alignas(64) static const exp2_table EXP2_TABLE = {
    {0x3e76e2c4, 0x3e784aba, 0x3e78e87f, 0x3e77bb1d, 0x3e769d8d, 0x3e75902a, 0x3e74934c, 0x3e73a751,
     0x3e72cc97, 0x3e72037f, 0x3e714c6d, 0x3e70a7c4, 0x3e7015ec, 0x3e6f9750, 0x3e6f2c59, 0x3e6ed577,
     0x3e6e931b, 0x3e6e65b6, 0x3e6e4dc0, 0x3e6e4baf, 0x3e6e5fff, 0x3e6e8b2d, 0x3e6ecdb9, 0x3e6f2826,
     0x3e6f9afb, 0x3e7026bf, 0x3e70cbff, 0x3e718b4a, 0x3e726531, 0x3e735a4a, 0x3e746b2d, 0x3e759876},
    0x1.8p18f - 1.4375f,
    0x1.8p18f,
    0x1.0a66bap+1f,
    -121.0f};

static inline vf vf_exp2_from(const exp2_table *table, vf y) {
#if defined(__AVX512F__)
    vf near = y + table->rounder_ahead, w = y - (near - table->rounder);
    __m512i n = (__m512i)near; /* its low bits count 32nds */
    const void *low = table->powers, *high = table->powers + 16;
    __m512i power = (__m512i)_mm512_permutex2var_ps(_mm512_load_ps(low), n, _mm512_load_ps(high));
    power = _mm512_add_epi32(power, _mm512_slli_epi32(n, 18));
    __mmask16 counts = _mm512_cmp_ps_mask((__m512)y, _mm512_set1_ps(table->least), _CMP_NLT_UQ);
    return (vf)_mm512_maskz_mul_ps(counts, (__m512)vf_fma(w, w, vf_set(table->d)), (__m512)power);
#else
    (void)table;
    return vf_exp2(y - EXP2_AHEAD);
#endif
}

#endif
