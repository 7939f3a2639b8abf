/* vnni2.h - two neighbouring bfloat16 along K in the 32 bits of one float: what a product reads at a time.
 *
 * A pair's first element is in its low half, as in memory. Sums are float32; the products of a pair are added
 * one after the other, the second first, as vdpbf16ps does. Subnormal bfloat16 may count as zero. Tiles of AMX add up
 * the first and the second products of 16 pairs apart (matmul/gemm_tiles.h). AArch64's bfdot adds the two products
 * of a pair to each other, and that to the sum, all rounded to odd; bfmmla does the same with two pairs in turn.
 */
#ifndef ASC_KERNELS_VNNI2_H
#define ASC_KERNELS_VNNI2_H

#include "bfloat16.h"
#include "by_lane.h"

/* The pair at p in every lane, whatever its bits mean as a float. */
static inline vf vnni2_broadcast(const float *p) {
    int32_t bits;
    memcpy(&bits, p, sizeof bits);
    return (vf)vi_set(bits);
}

/* Both elements of each lane's pair as floats. */
static inline vf vnni2_first(vf pair) {
    return (vf)((vw)pair << 16);
}
static inline vf vnni2_second(vf pair) {
    return (vf)((vi)pair & vi_set(INT32_C(-65536)));
}

#if ASC_VF == 8
/* The first or the second element of every lane's pair. The mask is read from memory and the pair kept in a vector: a
 * tile's sums and operands leave no register for the mask, and sums that don't stay in registers cost twice the time.
 */
static inline vf vnni2_half(vf pair, int first) {
    static const vi seconds = {-65536, -65536, -65536, -65536, -65536, -65536, -65536, -65536};
    if (first) {
        __asm__("" : "+x"(pair));
        return vnni2_first(pair);
    }
    __asm__("vandps %1, %0, %0" : "+x"(pair) : "m"(seconds));
    return pair;
}
#endif

static inline vf vnni2_multiply(vf left, vf right, vf sum) {
#if defined(__AVX512BF16__)
    return (vf)_mm512_dpbf16_ps((__m512)sum, (__m512bh)left, (__m512bh)right);
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
    return (vf)vbfdotq_f32((float32x4_t)sum, (bfloat16x8_t)left, (bfloat16x8_t)right);
#else
    return vf_fma(vnni2_first(left), vnni2_first(right), vf_fma(vnni2_second(left), vnni2_second(right), sum));
#endif
}

#if ASC_BY_LANE
/* The same with the pair of one lane of `four`. */
static inline __attribute__((always_inline)) vf vnni2_multiply_lane(vf four, const int lane, vf right, vf sum) {
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
    const bfloat16x8_t a = (bfloat16x8_t)four, b = (bfloat16x8_t)right;
    switch (lane) {
        case 0: return (vf)vbfdotq_laneq_f32((float32x4_t)sum, b, a, 0);
        case 1: return (vf)vbfdotq_laneq_f32((float32x4_t)sum, b, a, 1);
        case 2: return (vf)vbfdotq_laneq_f32((float32x4_t)sum, b, a, 2);
        default: return (vf)vbfdotq_laneq_f32((float32x4_t)sum, b, a, 3);
    }
#else
    vf second = vf_fma_lane(vnni2_second(four), lane, vnni2_second(right), sum);
    return vf_fma_lane(vnni2_first(four), lane, vnni2_first(right), second);
#endif
}
#endif

static inline float vnni2_join(float first, float second) {
    uint32_t bits = bf16_round(first) | bf16_round(second) << 16;
    float pair;
    memcpy(&pair, &bits, sizeof pair);
    return pair;
}

/* The pair of each lane: its element of `first` in the low half, that of `second` in the high one. */
static inline vf vnni2_zip(vf first, vf second) {
#if defined(__AVX512BF16__)
    __m512i halves = (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
    __m512i turns = _mm512_add_epi32(_mm512_set1_epi32(16 << 16), (__m512i)(vi_iota() * 0x10001));
    return (vf)_mm512_permutexvar_epi16(turns, halves);
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
    bfloat16x8_t low = vcvtq_low_bf16_f32((float32x4_t)first), high = vcvtq_low_bf16_f32((float32x4_t)second);
    return (vf)vzip1q_u16((uint16x8_t)low, (uint16x8_t)high);
#else
    return (vf)(vf_round_bf16(first) | vf_round_bf16(second) << 16);
#endif
}

#if ASC_VF == 16
/* The pairs of 32 neighbours, of which `low` are the first. */
static inline vf vnni2_join_neighbours(vf low, vf high) {
#if defined(__AVX512BF16__)
    return (vf)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
#else
    vi even = vi_iota() * 2;
    return vnni2_zip((vf)_mm512_permutex2var_ps((__m512)low, (__m512i)even, (__m512)high),
                     (vf)_mm512_permutex2var_ps((__m512)low, (__m512i)(even + 1), (__m512)high));
#endif
}
#endif

/* The pairs of n neighbouring floats; of an odd n the last is paired with zero. */
static inline void vnni2_from(const float *x, int64_t n, float *out) {
    int64_t i = 0;
#if defined(__AVX512BF16__)
    for (; i + 32 <= n; i += 32) {
        __m512bh both = _mm512_cvtne2ps_pbh((__m512)vf_load(x + i + 16), (__m512)vf_load(x + i));
        memcpy(out + i / 2, &both, sizeof both);
    }
#elif defined(__AVX2__) && ASC_VF == 8
    for (; i + 16 <= n; i += 16) {
        vw low = vf_round_bf16(vf_load(x + i)), high = vf_round_bf16(vf_load(x + i + 8));
        __m256i both = _mm256_permute4x64_epi64(_mm256_packus_epi32((__m256i)low, (__m256i)high), 0xd8);
        memcpy(out + i / 2, &both, sizeof both);
    }
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
    for (; i + 8 <= n; i += 8) {
        bfloat16x8_t both = vcvtq_low_bf16_f32((float32x4_t)vf_load(x + i));
        both = vcvtq_high_bf16_f32(both, (float32x4_t)vf_load(x + i + 4));
        memcpy(out + i / 2, &both, sizeof both);
    }
#endif
    for (; i + 1 < n; i += 2) out[i / 2] = vnni2_join(x[i], x[i + 1]);
    if (i < n) out[i / 2] = vnni2_join(x[i], 0);
}

#endif
