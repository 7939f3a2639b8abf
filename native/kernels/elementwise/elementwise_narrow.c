/* Between memory and registers: float8 of four kinds, held as float32, and integers of 4 and 2 bits, one to a
 * byte, held as int32. */
#include "elementwise.h"
#include "simd.h"

/* ---- float8 -------------------------------------------------------------------------------- */

/* A kind of float8: bits of the mantissa, bias of the exponent, the largest finite magnitude, and the
 * magnitudes of infinity and NaN. Kinds without infinity make it NaN; `unsigned_zero` ones have neither -0 nor
 * infinity, and their one NaN is the byte of -0. */
typedef struct float8 {
    uint32_t mantissa, bias, largest, infinity, nan, unsigned_zero;
} float8;
#define E4M3FN ((float8){3, 7, 0x7e, 0x7f, 0x7f, 0})
#define E4M3FNUZ ((float8){3, 8, 0x7f, 0x80, 0x80, 1})
#define E5M2 ((float8){2, 15, 0x7b, 0x7c, 0x7e, 0})
#define E5M2FNUZ ((float8){2, 16, 0x7f, 0x80, 0x80, 1})

/* The exponent is rebiased by a multiplication, which makes subnormals right too. */
static inline float widen(uint8_t byte, float8 k) {
    uint32_t magnitude = byte & 0x7f, sign = (uint32_t)(byte & 0x80) << 24;
    if (k.unsigned_zero && byte == 0x80) return ew_float(0x7fc00000);
    if (magnitude > k.largest)
        return ew_float(sign | (magnitude == k.infinity && k.nan != k.infinity ? 0x7f800000 : 0x7fc00000));
    float scale = ew_float((127 + 127 - k.bias) << 23);
    return ew_float(ew_bits(ew_float(magnitude << (23 - k.mantissa)) * scale) | sign);
}

/* Rounds to nearest even: the smallest normals and below by adding what has the ulp of a subnormal, others in
 * integers. Beyond the largest: infinity or NaN. */
static inline uint8_t narrowed(float x, float8 k) {
    uint32_t a = ew_bits(x) & 0x7fffffff, sign = (ew_bits(x) >> 24) & 0x80, shift = 23 - k.mantissa;
    uint32_t normal = ((a + ((1u << (shift - 1)) - 1) + ((a >> shift) & 1)) >> shift) - ((127 - k.bias) << k.mantissa);
    uint32_t unit = (127 + 1 - k.bias + shift) << 23; /* 2^(1 - bias - mantissa + 23) */
    uint32_t tiny = ew_bits(ew_float(a) + ew_float(unit)) - unit;
    uint32_t code = a < (127 + 1 - k.bias) << 23 ? tiny : normal;
    if (a > 0x7f800000)
        code = k.nan;
    else if (code > k.largest)
        code = k.infinity;
    if (k.unsigned_zero && (code == 0 || code == 0x80)) sign = 0;
    return (uint8_t)(code | sign);
}

#define FLOAT8(kind, k)                                      \
    EW_CONVERT(load_##kind, uint8_t, float, widen(x, k))     \
    EW_CONVERT(store_##kind, float, uint8_t, narrowed(x, k)) \
    EW_CONVERT(narrow_##kind, float, float, widen(narrowed(x, k), k))
FLOAT8(e4m3fn, E4M3FN)
FLOAT8(e4m3fnuz, E4M3FNUZ)
FLOAT8(e5m2, E5M2)
FLOAT8(e5m2fnuz, E5M2FNUZ)

/* ---- 4 and 2 bits -------------------------------------------------------------------------- */

EW_CONVERT(load_u4, uint8_t, int32_t, x & 15)
EW_CONVERT(load_i4, uint8_t, int32_t, ((x & 15) ^ 8) - 8)
EW_CONVERT(load_u2, uint8_t, int32_t, x & 3)
EW_CONVERT(load_i2, uint8_t, int32_t, ((x & 3) ^ 2) - 2)
EW_CONVERT(store_4, int32_t, uint8_t, x & 15)
EW_CONVERT(store_2, int32_t, uint8_t, x & 3)
EW_CONVERT(narrow_u4, int32_t, int32_t, x & 15)
EW_CONVERT(narrow_i4, int32_t, int32_t, ((x & 15) ^ 8) - 8)
EW_CONVERT(narrow_u2, int32_t, int32_t, x & 3)
EW_CONVERT(narrow_i2, int32_t, int32_t, ((x & 3) ^ 2) - 2)

ew_narrow_type ASC_FN(asc_ew_narrow_type)(int64_t dtype) {
    switch (dtype) {
        case ASC_FLOAT8E4M3FN: return (ew_narrow_type){EW_F32, load_e4m3fn, store_e4m3fn, narrow_e4m3fn};
        case ASC_FLOAT8E4M3FNUZ: return (ew_narrow_type){EW_F32, load_e4m3fnuz, store_e4m3fnuz, narrow_e4m3fnuz};
        case ASC_FLOAT8E5M2: return (ew_narrow_type){EW_F32, load_e5m2, store_e5m2, narrow_e5m2};
        case ASC_FLOAT8E5M2FNUZ: return (ew_narrow_type){EW_F32, load_e5m2fnuz, store_e5m2fnuz, narrow_e5m2fnuz};
        case ASC_UINT4: return (ew_narrow_type){EW_I32, load_u4, store_4, narrow_u4};
        case ASC_INT4: return (ew_narrow_type){EW_I32, load_i4, store_4, narrow_i4};
        case ASC_UINT2: return (ew_narrow_type){EW_I32, load_u2, store_2, narrow_u2};
        case ASC_INT2: return (ew_narrow_type){EW_I32, load_i2, store_2, narrow_i2};
        default: return (ew_narrow_type){EW_NONE, NULL, NULL, NULL};
    }
}
