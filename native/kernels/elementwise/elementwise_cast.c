/* Between memory and registers, and between register classes. */
#include <limits.h>

#include "elementwise.h"
#include "float16.h"

#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#include <arm_neon.h>
#endif

/* ---- float16 and bfloat16 ----------------------------------------------------------------- */

static void load_f16(void *dst, const void *src, int64_t n) {
    for (int64_t i = 0; i < n; i += ASC_VF) vf_store((float *)dst + i, vf_load_f16((const uint16_t *)src + i));
}
static void store_f16(void *dst, const void *src, int64_t n) {
    for (int64_t i = 0; i < n; i += ASC_VF) vf_store_f16((uint16_t *)dst + i, vf_load((const float *)src + i));
}

static inline uint16_t f32_to_bf16(float x) {
    uint32_t u = ew_bits(x);
    uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? (u >> 16) | 0x40 : rounded);
}
EW_CONVERT(load_bf16, uint16_t, float, ew_float((uint32_t)x << 16))
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
static void store_bf16(void *dst, const void *src, int64_t n) {
    for (int64_t i = 0; i < n; i += ASC_VF) {
        bfloat16x4_t narrow = vcvt_bf16_f32((float32x4_t)vf_load((const float *)src + i));
        memcpy((uint16_t *)dst + i, &narrow, sizeof narrow);
    }
}
#else
EW_CONVERT(store_bf16, float, uint16_t, f32_to_bf16(x))
#endif
EW_CONVERT(narrow_bf16, float, float, ew_float((uint32_t)f32_to_bf16(x) << 16))

static void narrow_f16(void *dst, const void *src, int64_t n) {
    uint16_t half[EW_LANES];
    for (int64_t i = 0; i < n; i += EW_LANES) {
        store_f16(half, (const float *)src + i, EW_LANES);
        load_f16((float *)dst + i, half, EW_LANES);
    }
}

/* ---- integers of other widths ------------------------------------------------------------- */

EW_CONVERT(load_i8, int8_t, int32_t, x)
EW_CONVERT(load_u8, uint8_t, int32_t, x)
EW_CONVERT(load_i16, int16_t, int32_t, x)
EW_CONVERT(load_u16, uint16_t, int32_t, x)
EW_CONVERT(load_u32, uint32_t, int64_t, x)
EW_CONVERT(store_8, int32_t, uint8_t, x)
EW_CONVERT(store_16, int32_t, uint16_t, x)
EW_CONVERT(store_32, int64_t, uint32_t, x)
EW_CONVERT(narrow_i8, int32_t, int32_t, (int8_t)x)
EW_CONVERT(narrow_u8, int32_t, int32_t, (uint8_t)x)
EW_CONVERT(narrow_i16, int32_t, int32_t, (int16_t)x)
EW_CONVERT(narrow_u16, int32_t, int32_t, (uint16_t)x)
EW_CONVERT(narrow_u32, int64_t, int64_t, (uint32_t)x)

ew_class ASC_FN(asc_ew_class)(int64_t dtype) {
    switch (dtype) {
        case ASC_FLOAT32:
        case ASC_FLOAT16:
        case ASC_BFLOAT16: return EW_F32;
        case ASC_FLOAT64: return EW_F64;
        case ASC_INT8:
        case ASC_UINT8:
        case ASC_INT16:
        case ASC_UINT16:
        case ASC_INT32: return EW_I32;
        case ASC_UINT32:
        case ASC_INT64:
        case ASC_UINT64: return EW_I64;
        case ASC_BOOL: return EW_B8;
        default: return ASC_FN(asc_ew_narrow_type)(dtype).class;
    }
}

ew_convert ASC_FN(asc_ew_load)(int32_t dtype) {
    switch (dtype) {
        case ASC_FLOAT16: return load_f16;
        case ASC_BFLOAT16: return load_bf16;
        case ASC_INT8: return load_i8;
        case ASC_UINT8: return load_u8;
        case ASC_INT16: return load_i16;
        case ASC_UINT16: return load_u16;
        case ASC_UINT32: return load_u32;
        default: return ASC_FN(asc_ew_narrow_type)(dtype).load;
    }
}

ew_convert ASC_FN(asc_ew_store)(int32_t dtype) {
    switch (dtype) {
        case ASC_FLOAT16: return store_f16;
        case ASC_BFLOAT16: return store_bf16;
        case ASC_INT8:
        case ASC_UINT8: return store_8;
        case ASC_INT16:
        case ASC_UINT16: return store_16;
        case ASC_UINT32: return store_32;
        default: return ASC_FN(asc_ew_narrow_type)(dtype).store;
    }
}

ew_convert ASC_FN(asc_ew_narrow)(int64_t dtype) {
    switch (dtype) {
        case ASC_FLOAT16: return narrow_f16;
        case ASC_BFLOAT16: return narrow_bf16;
        case ASC_INT8: return narrow_i8;
        case ASC_UINT8: return narrow_u8;
        case ASC_INT16: return narrow_i16;
        case ASC_UINT16: return narrow_u16;
        case ASC_UINT32: return narrow_u32;
        default: return ASC_FN(asc_ew_narrow_type)(dtype).narrow;
    }
}

/* ---- between classes: [from]_[to] ---------------------------------------------------------- */

#define FLOAT_TO_INT(x, type, limit, least) ((x) >= -(limit) && (x) < (limit) ? (type)(x) : (least))
/* At and above 2^63 the bits of the uint64. */
#define FLOAT_TO_U64(x, type)                                                              \
    ((x) >= (type)0x1p63 && (x) < (type)0x1p64 ? (int64_t)((x) - (type)0x1p63) ^ INT64_MIN \
                                               : FLOAT_TO_INT(x, int64_t, (type)0x1p63, INT64_MIN))

EW_CONVERT(f32_f32, float, float, x)
EW_CONVERT(f32_f64, float, double, x)
EW_CONVERT(f32_i32, float, int32_t, FLOAT_TO_INT(x, int32_t, 0x1p31f, INT32_MIN))
EW_CONVERT(f32_i64, float, int64_t, FLOAT_TO_INT(x, int64_t, 0x1p63f, INT64_MIN))
EW_CONVERT(f32_u64, float, int64_t, FLOAT_TO_U64(x, float))
EW_CONVERT(f32_b8, float, uint8_t, x != 0.0f)
EW_CONVERT(f64_f32, double, float, x)
EW_CONVERT(f64_f64, double, double, x)
EW_CONVERT(f64_i32, double, int32_t, FLOAT_TO_INT(__builtin_trunc(x), int32_t, 0x1p31, INT32_MIN))
EW_CONVERT(f64_i64, double, int64_t, FLOAT_TO_INT(x, int64_t, 0x1p63, INT64_MIN))
EW_CONVERT(f64_u64, double, int64_t, FLOAT_TO_U64(x, double))
EW_CONVERT(f64_b8, double, uint8_t, x != 0.0)
EW_CONVERT(i32_f32, int32_t, float, x)
EW_CONVERT(i32_f64, int32_t, double, x)
EW_CONVERT(i32_i32, int32_t, int32_t, x)
EW_CONVERT(i32_i64, int32_t, int64_t, x)
EW_CONVERT(i32_b8, int32_t, uint8_t, x != 0)
EW_CONVERT(i64_f32, int64_t, float, x)
EW_CONVERT(u64_f32, uint64_t, float, x)
EW_CONVERT(i64_f64, int64_t, double, x)
EW_CONVERT(u64_f64, uint64_t, double, x)
EW_CONVERT(i64_i32, int64_t, int32_t, x)
EW_CONVERT(i64_i64, int64_t, int64_t, x)
EW_CONVERT(i64_b8, int64_t, uint8_t, x != 0)
EW_CONVERT(b8_f32, uint8_t, float, x != 0)
EW_CONVERT(b8_f64, uint8_t, double, x != 0)
EW_CONVERT(b8_i32, uint8_t, int32_t, x != 0)
EW_CONVERT(b8_i64, uint8_t, int64_t, x != 0)
EW_CONVERT(b8_b8, uint8_t, uint8_t, x != 0)

ew_convert ASC_FN(asc_ew_cast)(ew_class from, int is_unsigned, ew_class to, int to_unsigned) {
    static const ew_convert casts[EW_CLASSES][EW_CLASSES] = {
        [EW_F32] = {NULL, f32_f32, f32_f64, f32_i32, f32_i64, f32_b8},
        [EW_F64] = {NULL, f64_f32, f64_f64, f64_i32, f64_i64, f64_b8},
        [EW_I32] = {NULL, i32_f32, i32_f64, i32_i32, i32_i64, i32_b8},
        [EW_I64] = {NULL, i64_f32, i64_f64, i64_i32, i64_i64, i64_b8},
        [EW_B8] = {NULL, b8_f32, b8_f64, b8_i32, b8_i64, b8_b8},
    };
    if (is_unsigned && from == EW_I64 && to == EW_F32) return u64_f32;
    if (is_unsigned && from == EW_I64 && to == EW_F64) return u64_f64;
    if (to_unsigned && to == EW_I64 && from == EW_F32) return f32_u64;
    if (to_unsigned && to == EW_I64 && from == EW_F64) return f64_u64;
    return casts[from][to];
}
