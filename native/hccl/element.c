/* element.c - one loop for each type and reduction. */
#include "element.h"

#include <string.h>

#include "acl/acl_base.h"
#include "ascend_rt.h"

typedef struct element_type {
    size_t bytes;
    bool reduces;
    const char *name;
    int32_t dtype; /* of tensors (ascend_rt.h); 0: none holds it */
} element_type;

static const element_type types[] = {
    [HCCL_DATA_TYPE_INT8] = {1, true, "int8", ASC_INT8},
    [HCCL_DATA_TYPE_INT16] = {2, true, "int16", ASC_INT16},
    [HCCL_DATA_TYPE_INT32] = {4, true, "int32", ASC_INT32},
    [HCCL_DATA_TYPE_FP16] = {2, true, "float16", ASC_FLOAT16},
    [HCCL_DATA_TYPE_FP32] = {4, true, "float32", ASC_FLOAT32},
    [HCCL_DATA_TYPE_INT64] = {8, true, "int64", ASC_INT64},
    [HCCL_DATA_TYPE_UINT64] = {8, true, "uint64", ASC_UINT64},
    [HCCL_DATA_TYPE_UINT8] = {1, true, "uint8", ASC_UINT8},
    [HCCL_DATA_TYPE_UINT16] = {2, true, "uint16", ASC_UINT16},
    [HCCL_DATA_TYPE_UINT32] = {4, true, "uint32", ASC_UINT32},
    [HCCL_DATA_TYPE_FP64] = {8, true, "float64", ASC_FLOAT64},
    [HCCL_DATA_TYPE_BFP16] = {2, true, "bfloat16", ASC_BFLOAT16},
    [HCCL_DATA_TYPE_INT128] = {16, false, "int128", 0},
    [HCCL_DATA_TYPE_HIF8] = {1, false, "hif8", 0},
    [HCCL_DATA_TYPE_FP8E4M3] = {1, false, "float8_e4m3", ASC_FLOAT8E4M3FN},
    [HCCL_DATA_TYPE_FP8E5M2] = {1, false, "float8_e5m2", ASC_FLOAT8E5M2},
    [HCCL_DATA_TYPE_FP8E8M0] = {1, false, "float8_e8m0", 0},
};

static const element_type *type_of(HcclDataType type) {
    static const element_type none = {0, false, "unknown", 0};
    bool known = (size_t)type < sizeof types / sizeof *types && types[type].bytes;
    return known ? &types[type] : &none;
}

size_t asc_element_bytes(HcclDataType type) {
    return type_of(type)->bytes;
}

int32_t asc_element_dtype(HcclDataType type) {
    return type_of(type)->dtype;
}

const char *asc_element_name(HcclDataType type) {
    return type_of(type)->name;
}

bool asc_element_reduces(HcclDataType type) {
    return type_of(type)->reduces;
}

const char *asc_reduction_name(HcclReduceOp op) {
    static const char *const names[] = {
        [HCCL_REDUCE_SUM] = "sum", [HCCL_REDUCE_PROD] = "prod", [HCCL_REDUCE_MAX] = "max", [HCCL_REDUCE_MIN] = "min"};
    return (size_t)op < sizeof names / sizeof *names ? names[op] : NULL;
}

/* ---- two arrays of one type ------------------------------------------------------------------------------- */

/* Signed integers are added and multiplied without a sign, which wraps around. A NaN stays one. */
#define SUM(wide, a, b) ((wide)(a) + (wide)(b))
#define PROD(wide, a, b) ((wide)(a) * (wide)(b))
#define MAX(wide, a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define MIN(wide, a, b) ((a) < (b) || (a) != (a) ? (a) : (b))

#define LOOP(type, wide, operation)                                                      \
    for (size_t i = 0; i < elements; i++) to[i] = (type)operation(wide, to[i], from[i]); \
    break

#define DEFINE(name, type, wide)                                                    \
    static void name(void *out, const void *in, size_t elements, HcclReduceOp op) { \
        type *to = out;                                                             \
        const type *from = in;                                                      \
        switch (op) {                                                               \
            case HCCL_REDUCE_SUM: LOOP(type, wide, SUM);                            \
            case HCCL_REDUCE_PROD: LOOP(type, wide, PROD);                          \
            case HCCL_REDUCE_MAX: LOOP(type, wide, MAX);                            \
            default: LOOP(type, wide, MIN);                                         \
        }                                                                           \
    }

DEFINE(join_int8, int8_t, uint32_t)
DEFINE(join_int16, int16_t, uint32_t)
DEFINE(join_int32, int32_t, uint32_t)
DEFINE(join_int64, int64_t, uint64_t)
DEFINE(join_uint8, uint8_t, uint32_t)
DEFINE(join_uint16, uint16_t, uint32_t)
DEFINE(join_uint32, uint32_t, uint32_t)
DEFINE(join_uint64, uint64_t, uint64_t)
DEFINE(join_float, float, float)
DEFINE(join_double, double, double)

static void join(void *out, const void *in, size_t elements, HcclDataType type, HcclReduceOp op) {
    switch (type) {
        case HCCL_DATA_TYPE_INT8: join_int8(out, in, elements, op); break;
        case HCCL_DATA_TYPE_INT16: join_int16(out, in, elements, op); break;
        case HCCL_DATA_TYPE_INT32: join_int32(out, in, elements, op); break;
        case HCCL_DATA_TYPE_INT64: join_int64(out, in, elements, op); break;
        case HCCL_DATA_TYPE_UINT8: join_uint8(out, in, elements, op); break;
        case HCCL_DATA_TYPE_UINT16: join_uint16(out, in, elements, op); break;
        case HCCL_DATA_TYPE_UINT32: join_uint32(out, in, elements, op); break;
        case HCCL_DATA_TYPE_UINT64: join_uint64(out, in, elements, op); break;
        case HCCL_DATA_TYPE_FP64: join_double(out, in, elements, op); break;
        default: join_float(out, in, elements, op);
    }
}

/* ---- 16-bit floats, widened block by block ------------------------------------------------------------------ */

#define BLOCK 512

static void widen(float *out, const uint16_t *in, size_t elements, HcclDataType type) {
    if (type == HCCL_DATA_TYPE_FP16) {
        for (size_t i = 0; i < elements; i++) out[i] = aclFloat16ToFloat(in[i]);
        return;
    }
    for (size_t i = 0; i < elements; i++) {
        uint32_t bits = (uint32_t)in[i] << 16;
        memcpy(&out[i], &bits, sizeof bits);
    }
}

static void narrow(uint16_t *out, const float *in, size_t elements, HcclDataType type) {
    if (type == HCCL_DATA_TYPE_FP16) {
        for (size_t i = 0; i < elements; i++) out[i] = aclFloatToFloat16(in[i]);
        return;
    }
    for (size_t i = 0; i < elements; i++) {
        uint32_t bits;
        memcpy(&bits, &in[i], sizeof bits);
        bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
        out[i] = (uint16_t)(nan ? bits >> 16 | 0x40 : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
    }
}

static void reduce_narrow(uint16_t *out, const void *const *parts, uint32_t count, size_t elements, HcclDataType type,
                          HcclReduceOp op) {
    float sum[BLOCK], next[BLOCK];
    for (size_t at = 0; at < elements; at += BLOCK) {
        size_t n = elements - at < BLOCK ? elements - at : BLOCK;
        widen(sum, (const uint16_t *)parts[0] + at, n, type);
        for (uint32_t part = 1; part < count; part++) {
            widen(next, (const uint16_t *)parts[part] + at, n, type);
            join_float(sum, next, n, op);
        }
        narrow(out + at, sum, n, type);
    }
}

/* Elements of a block of wider types: small enough to stay in the first cache. */
#define WIDE_BLOCK_BYTES 8192

void asc_reduce(void *out, const void *const *parts, uint32_t count, size_t elements, HcclDataType type,
                HcclReduceOp op) {
    if (type == HCCL_DATA_TYPE_FP16 || type == HCCL_DATA_TYPE_BFP16) {
        reduce_narrow(out, parts, count, elements, type, op);
        return;
    }
    _Alignas(16) char sum[WIDE_BLOCK_BYTES];
    size_t size = asc_element_bytes(type), block = WIDE_BLOCK_BYTES / size;
    for (size_t at = 0; at < elements; at += block) {
        size_t n = elements - at < block ? elements - at : block;
        memcpy(sum, (const char *)parts[0] + at * size, n * size);
        for (uint32_t part = 1; part < count; part++) join(sum, (const char *)parts[part] + at * size, n, type, op);
        memcpy((char *)out + at * size, sum, n * size);
    }
}
