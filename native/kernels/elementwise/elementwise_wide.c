/* The rarer float32 functions, computed in float64 and rounded once: at most 0.51 ulp, whatever the
 * argument (vmath_wide.h). */
#include "elementwise.h"
#include "vmath_wide.h"

/* ---- over tiles --------------------------------------------------------------------------- */

#define UNARY(name, ...)                                                                                 \
    void ASC_FN(asc_ew_wide_##name)(void *dst, const void *a, const void *b, const void *c, int64_t n) { \
        (void)b, (void)c;                                                                                \
        for (int64_t i = 0; i < n; i += ASC_VD)                                                          \
            vd_store_f32((float *)dst + i, vd_##name(vd_load_f32((const float *)a + i)));                \
    }
VD_FUNCTIONS(UNARY)

static int any_large(const float *a, int64_t n) {
    int32_t most = 0, limit;
    float largest = LARGEST_REDUCED;
    memcpy(&limit, &largest, sizeof limit);
    for (int64_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, a + i, sizeof bits);
        bits &= INT32_MAX;
        most = bits > most ? bits : most;
    }
    return most > limit;
}

/* Lanes above LARGEST_REDUCED, if there are any, come from the C library. */
#define CIRCULAR(name)                                                                                            \
    void ASC_FN(asc_ew_wide_##name)(void *dst, const void *src, const void *b, const void *c, int64_t n) {        \
        (void)b, (void)c;                                                                                         \
        const float *a = src;                                                                                     \
        float *d = dst;                                                                                           \
        for (int64_t from = 0; from < n; from += EW_LANES) {                                                      \
            float x[EW_LANES];                                                                                    \
            memcpy(x, a + from, sizeof x);                                                                        \
            for (int i = 0; i < EW_LANES; i += ASC_VD) vd_store_f32(d + from + i, vd_##name(vd_load_f32(x + i))); \
            if (any_large(x, EW_LANES))                                                                           \
                for (int i = 0; i < EW_LANES; i++)                                                                \
                    if (!(fabsf(x[i]) <= LARGEST_REDUCED)) d[from + i] = name##f(x[i]);                           \
        }                                                                                                         \
    }
CIRCULAR(sin)
CIRCULAR(cos)
CIRCULAR(tan)

#define BINARY(name)                                                                                     \
    void ASC_FN(asc_ew_wide_##name)(void *dst, const void *a, const void *b, const void *c, int64_t n) { \
        (void)c;                                                                                         \
        for (int64_t i = 0; i < n; i += ASC_VD) {                                                        \
            vd x = vd_load_f32((const float *)a + i), y = vd_load_f32((const float *)b + i);             \
            vd_store_f32((float *)dst + i, vd_##name(x, y));                                             \
        }                                                                                                \
    }
BINARY(pow)
BINARY(atan2)
