/* intrinsics.h - the intrinsics that the text of generated code uses, for compilers that have GCC's builtins.
 *
 * <immintrin.h> declares some ten thousand functions, and reading it takes GCC longer than compiling an operator. Code
 * generation puts this in its place when everything the text uses is here (codegen/header_text.py); a compiler without
 * one of the builtins reads the whole header. */
#ifndef ASC_KERNELS_INTRINSICS_H
#define ASC_KERNELS_INTRINSICS_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__has_builtin)
#if !defined(__AVX512F__)
#define ASC_HAS_512 1
#elif __has_builtin(__builtin_ia32_loadups512_mask) && __has_builtin(__builtin_ia32_storeups512_mask) &&  \
    __has_builtin(__builtin_ia32_minps512_mask) && __has_builtin(__builtin_ia32_maxps512_mask) &&         \
    __has_builtin(__builtin_ia32_scalefps512_mask) && __has_builtin(__builtin_ia32_getmantps512_mask) &&  \
    __has_builtin(__builtin_ia32_getexpps512_mask) && __has_builtin(__builtin_ia32_ptestmd512) &&         \
    __has_builtin(__builtin_ia32_vcvtph2ps512_mask) && __has_builtin(__builtin_ia32_vcvtps2ph512_mask) && \
    __has_builtin(__builtin_ia32_cmpps512_mask)
#define ASC_HAS_512 1
#endif
#if !defined(__AVX2__)
#define ASC_HAS_256 1
#elif __has_builtin(__builtin_ia32_minps256) && __has_builtin(__builtin_ia32_maxps256) &&     \
    __has_builtin(__builtin_ia32_minpd256) && __has_builtin(__builtin_ia32_maxpd256) &&       \
    __has_builtin(__builtin_ia32_sqrtps256) && __has_builtin(__builtin_ia32_sqrtpd256) &&     \
    __has_builtin(__builtin_ia32_roundps256) && __has_builtin(__builtin_ia32_blendvps256) &&  \
    __has_builtin(__builtin_ia32_maskloadps256) && __has_builtin(__builtin_ia32_ptestz256) && \
    __has_builtin(__builtin_ia32_pshufb256)
#define ASC_HAS_256 1
#endif
#if !defined(__SSE4_1__)
#define ASC_HAS_128 1
#elif __has_builtin(__builtin_ia32_minps) && __has_builtin(__builtin_ia32_maxps) && \
    __has_builtin(__builtin_ia32_minpd) && __has_builtin(__builtin_ia32_maxpd) &&   \
    __has_builtin(__builtin_ia32_sqrtps) && __has_builtin(__builtin_ia32_sqrtpd) && \
    __has_builtin(__builtin_ia32_roundps)
#define ASC_HAS_128 1
#endif
#if !defined(__F16C__)
#define ASC_HAS_F16C 1
#elif __has_builtin(__builtin_ia32_vcvtph2ps256) && __has_builtin(__builtin_ia32_vcvtps2ph256)
#define ASC_HAS_F16C 1
#endif
#endif

#if defined(ASC_HAS_512) && defined(ASC_HAS_256) && defined(ASC_HAS_128) && defined(ASC_HAS_F16C)
#include <stdint.h>

typedef int __m64 __attribute__((vector_size(8), may_alias));
typedef float __m128 __attribute__((vector_size(16), may_alias));
typedef double __m128d __attribute__((vector_size(16), may_alias));
typedef float __m256 __attribute__((vector_size(32), may_alias));
typedef double __m256d __attribute__((vector_size(32), may_alias));
typedef float __m512 __attribute__((vector_size(64), may_alias));
typedef long long __m128i __attribute__((vector_size(16), may_alias));
typedef long long __m256i __attribute__((vector_size(32), may_alias));
typedef long long __m512i __attribute__((vector_size(64), may_alias));
typedef short asc_v8hi __attribute__((vector_size(16)));
typedef short asc_v16hi __attribute__((vector_size(32)));
typedef int asc_v16si __attribute__((vector_size(64)));
typedef float asc_v16sf __attribute__((vector_size(64)));
typedef float asc_v8sf __attribute__((vector_size(32)));
typedef float asc_v4sf __attribute__((vector_size(16)));
typedef double asc_v4df __attribute__((vector_size(32)));
typedef double asc_v2df __attribute__((vector_size(16)));
typedef char asc_v32qi __attribute__((vector_size(32)));
typedef int asc_v8si __attribute__((vector_size(32)));
typedef long long asc_v4di __attribute__((vector_size(32)));
typedef long long asc_v2di __attribute__((vector_size(16)));
typedef uint16_t __mmask16;

/* The rounding of the environment, and immediate operands by their names. */
#define ASC_CURRENT 4
#define ASC_ALL ((__mmask16) - 1)
#define _MM_FROUND_TO_NEAREST_INT 0
#define _MM_FROUND_RINT 4
#define _MM_MANT_NORM_p75_1p5 3
#define _MM_MANT_SIGN_zero 1
#define _CMP_ORD_Q 7
#define ASC_INTRINSIC static inline __attribute__((always_inline, unused))

ASC_INTRINSIC __m128i _mm_loadu_si128(const void *p) {
    __m128i v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
ASC_INTRINSIC void _mm_storeu_si128(void *p, __m128i v) {
    __builtin_memcpy(p, &v, sizeof v);
}
ASC_INTRINSIC __m256i _mm256_loadu_si256(const void *p) {
    __m256i v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
ASC_INTRINSIC void _mm256_storeu_si256(void *p, __m256i v) {
    __builtin_memcpy(p, &v, sizeof v);
}
ASC_INTRINSIC void _mm_storeu_ps(void *p, __m128 v) {
    __builtin_memcpy(p, &v, sizeof v);
}
ASC_INTRINSIC void _mm_storel_pi(void *p, __m128 v) {
    __builtin_memcpy(p, &v, 8);
}
ASC_INTRINSIC void _mm_store_ss(void *p, __m128 v) {
    __builtin_memcpy(p, &v, 4);
}
ASC_INTRINSIC __m128 _mm_movehl_ps(__m128 a, __m128 b) {
    return (__m128){b[2], b[3], a[2], a[3]};
}
#define _mm_or_si128(a, b) ((__m128i)((asc_v2di)(a) | (asc_v2di)(b)))
#define _mm_cvtsi128_si64(a) (((asc_v2di)(a))[0])
#define _mm_min_ps(a, b) ((__m128)__builtin_ia32_minps((asc_v4sf)(a), (asc_v4sf)(b)))
#define _mm_max_ps(a, b) ((__m128)__builtin_ia32_maxps((asc_v4sf)(a), (asc_v4sf)(b)))
#define _mm_min_pd(a, b) ((__m128d)__builtin_ia32_minpd((asc_v2df)(a), (asc_v2df)(b)))
#define _mm_max_pd(a, b) ((__m128d)__builtin_ia32_maxpd((asc_v2df)(a), (asc_v2df)(b)))
#define _mm_sqrt_ps(a) ((__m128)__builtin_ia32_sqrtps((asc_v4sf)(a)))
#define _mm_sqrt_pd(a) ((__m128d)__builtin_ia32_sqrtpd((asc_v2df)(a)))
#define _mm_round_ps(a, how) ((__m128)__builtin_ia32_roundps((asc_v4sf)(a), how))

ASC_INTRINSIC __m128 _mm256_castps256_ps128(__m256 v) {
    return (__m128){v[0], v[1], v[2], v[3]};
}
ASC_INTRINSIC __m128 _mm256_extractf128_ps(__m256 v, const int high) {
    return high ? (__m128){v[4], v[5], v[6], v[7]} : (__m128){v[0], v[1], v[2], v[3]};
}
ASC_INTRINSIC __m128i _mm256_castsi256_si128(__m256i v) {
    return (__m128i){v[0], v[1]};
}
ASC_INTRINSIC __m128i _mm256_extracti128_si256(__m256i v, const int high) {
    return high ? (__m128i){v[2], v[3]} : (__m128i){v[0], v[1]};
}
#define _mm256_set1_ps(x) ((__m256)((float)(x) - (asc_v8sf){0}))
#define _mm256_setr_epi8(...) ((__m256i)(asc_v32qi){__VA_ARGS__})
#define _mm256_min_ps(a, b) ((__m256)__builtin_ia32_minps256((asc_v8sf)(a), (asc_v8sf)(b)))
#define _mm256_max_ps(a, b) ((__m256)__builtin_ia32_maxps256((asc_v8sf)(a), (asc_v8sf)(b)))
#define _mm256_min_pd(a, b) ((__m256d)__builtin_ia32_minpd256((asc_v4df)(a), (asc_v4df)(b)))
#define _mm256_max_pd(a, b) ((__m256d)__builtin_ia32_maxpd256((asc_v4df)(a), (asc_v4df)(b)))
#define _mm256_sqrt_ps(a) ((__m256)__builtin_ia32_sqrtps256((asc_v8sf)(a)))
#define _mm256_sqrt_pd(a) ((__m256d)__builtin_ia32_sqrtpd256((asc_v4df)(a)))
#define _mm256_round_ps(a, how) ((__m256)__builtin_ia32_roundps256((asc_v8sf)(a), how))
#define _mm256_blendv_ps(a, b, mask) \
    ((__m256)__builtin_ia32_blendvps256((asc_v8sf)(a), (asc_v8sf)(b), (asc_v8sf)(mask)))
#define _mm256_maskload_ps(p, mask) ((__m256)__builtin_ia32_maskloadps256((const asc_v8sf *)(p), (asc_v8si)(mask)))
#define _mm256_testz_si256(a, b) __builtin_ia32_ptestz256((asc_v4di)(a), (asc_v4di)(b))
#define _mm256_shuffle_epi8(a, at) ((__m256i)__builtin_ia32_pshufb256((asc_v32qi)(a), (asc_v32qi)(at)))

#define _mm256_cvtph_ps(h) ((__m256)__builtin_ia32_vcvtph2ps256((asc_v8hi)(h)))
#define _mm256_cvtps_ph(v, rounding) ((__m128i)__builtin_ia32_vcvtps2ph256((asc_v8sf)(v), rounding))

#define _mm512_set1_ps(x) ((__m512)((float)(x) - (asc_v16sf){0}))
#define _mm512_sub_ps(a, b) ((__m512)((asc_v16sf)(a) - (asc_v16sf)(b)))
#define _mm512_mask_loadu_ps(rest, mask, p) \
    ((__m512)__builtin_ia32_loadups512_mask((const float *)(p), (asc_v16sf)(rest), mask))
#define _mm512_maskz_loadu_ps(mask, p) _mm512_mask_loadu_ps((asc_v16sf){0}, mask, p)
#define _mm512_mask_storeu_ps(p, mask, v) __builtin_ia32_storeups512_mask((float *)(p), (asc_v16sf)(v), mask)
#define _mm512_min_ps(a, b) \
    ((__m512)__builtin_ia32_minps512_mask((asc_v16sf)(a), (asc_v16sf)(b), (asc_v16sf){0}, ASC_ALL, ASC_CURRENT))
#define _mm512_max_ps(a, b) \
    ((__m512)__builtin_ia32_maxps512_mask((asc_v16sf)(a), (asc_v16sf)(b), (asc_v16sf){0}, ASC_ALL, ASC_CURRENT))
#define _mm512_mask_min_ps(rest, mask, a, b) \
    ((__m512)__builtin_ia32_minps512_mask((asc_v16sf)(a), (asc_v16sf)(b), (asc_v16sf)(rest), mask, ASC_CURRENT))
#define _mm512_mask_max_ps(rest, mask, a, b) \
    ((__m512)__builtin_ia32_maxps512_mask((asc_v16sf)(a), (asc_v16sf)(b), (asc_v16sf)(rest), mask, ASC_CURRENT))
#define _mm512_cmp_ps_mask(a, b, how) \
    ((__mmask16)__builtin_ia32_cmpps512_mask((asc_v16sf)(a), (asc_v16sf)(b), how, ASC_ALL, ASC_CURRENT))
#define _mm512_scalef_ps(a, b) \
    ((__m512)__builtin_ia32_scalefps512_mask((asc_v16sf)(a), (asc_v16sf)(b), (asc_v16sf){0}, ASC_ALL, ASC_CURRENT))
#define _mm512_permutex2var_ps(a, at, b) ((__m512)__builtin_shuffle((asc_v16sf)(a), (asc_v16sf)(b), (asc_v16si)(at)))
#define _mm512_getexp_ps(a) \
    ((__m512)__builtin_ia32_getexpps512_mask((asc_v16sf)(a), (asc_v16sf){0}, ASC_ALL, ASC_CURRENT))
#define _mm512_getmant_ps(a, range, sign)                                                                     \
    ((__m512)__builtin_ia32_getmantps512_mask((asc_v16sf)(a), (sign) << 2 | (range), (asc_v16sf){0}, ASC_ALL, \
                                              ASC_CURRENT))
#define _mm512_test_epi32_mask(a, b) __builtin_ia32_ptestmd512((asc_v16si)(a), (asc_v16si)(b), ASC_ALL)
#define _mm512_cvtph_ps(h) \
    ((__m512)__builtin_ia32_vcvtph2ps512_mask((asc_v16hi)(h), (asc_v16sf){0}, ASC_ALL, ASC_CURRENT))
#define _mm512_cvtps_ph(v, rounding) \
    ((__m256i)__builtin_ia32_vcvtps2ph512_mask((asc_v16sf)(v), rounding, (asc_v16hi){0}, ASC_ALL))

#else
#include <immintrin.h>
#endif

#endif
