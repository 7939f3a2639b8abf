/* base.c - acl_base's data buffers, element types, half-precision numbers and logging. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acl/acl_base.h"
#include "buffer.h"
#include "handle.h"
#include "log_file.h"

/* ---- data buffers ------------------------------------------------------------------------------- */

aclDataBuffer *aclCreateDataBuffer(void *data, size_t size) {
    ASC_ENTER();
    asc_acl_buffer *buffer = malloc(sizeof *buffer);
    void *handle = buffer ? asc_handle_new(ASC_KIND_DATA_BUFFER, buffer) : NULL;
    if (!handle) {
        free(buffer);
        asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more data buffer");
        return NULL;
    }
    *buffer = (asc_acl_buffer){data, size};
    return handle;
}

aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer) {
    ASC_ENTER();
    ASC_NEED(dataBuffer);
    asc_acl_buffer *buffer = asc_handle_take(ASC_KIND_DATA_BUFFER, dataBuffer);
    if (!buffer) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_DATA_BUFFER, dataBuffer, "dataBuffer");
    free(buffer);
    return ACL_SUCCESS;
}

aclError aclUpdateDataBuffer(aclDataBuffer *dataBuffer, void *data, size_t size) {
    ASC_ENTER();
    ASC_NEED(dataBuffer);
    asc_acl_buffer *buffer = asc_handle_get(ASC_KIND_DATA_BUFFER, dataBuffer);
    if (!buffer) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_DATA_BUFFER, dataBuffer, "dataBuffer");
    *buffer = (asc_acl_buffer){data, size};
    return ACL_SUCCESS;
}

static const asc_acl_buffer *look(const aclDataBuffer *given) {
    const asc_acl_buffer *buffer = asc_handle_get(ASC_KIND_DATA_BUFFER, given);
    if (!buffer) asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_DATA_BUFFER, given, "dataBuffer");
    return buffer;
}

void *aclGetDataBufferAddr(const aclDataBuffer *dataBuffer) {
    ASC_ENTER();
    const asc_acl_buffer *buffer = look(dataBuffer);
    return buffer ? buffer->data : NULL;
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer *dataBuffer) {
    ASC_ENTER();
    const asc_acl_buffer *buffer = look(dataBuffer);
    return buffer ? buffer->bytes : 0;
}

uint32_t aclGetDataBufferSize(const aclDataBuffer *dataBuffer) {
    ASC_ENTER();
    const asc_acl_buffer *buffer = look(dataBuffer);
    return buffer ? (uint32_t)buffer->bytes : 0;
}

/* ---- element types ------------------------------------------------------------------------------- */

size_t aclDataTypeSize(aclDataType dataType) {
    switch (dataType) {
        case ACL_INT8:
        case ACL_UINT8:
        case ACL_BOOL:
        case ACL_HIFLOAT8:
        case ACL_FLOAT8_E5M2:
        case ACL_FLOAT8_E4M3FN:
        case ACL_FLOAT8_E8M0: return 1;
        case ACL_FLOAT16:
        case ACL_BF16:
        case ACL_INT16:
        case ACL_UINT16: return 2;
        case ACL_FLOAT:
        case ACL_INT32:
        case ACL_UINT32:
        case ACL_COMPLEX32: return 4;
        case ACL_DOUBLE:
        case ACL_INT64:
        case ACL_UINT64:
        case ACL_COMPLEX64: return 8;
        case ACL_COMPLEX128: return 16;
        default: return 0; /* text, and types of less than a byte */
    }
}

float aclFloat16ToFloat(aclFloat16 value) {
    uint32_t sign = (uint32_t)(value & 0x8000) << 16, exponent = (value >> 10) & 31, fraction = value & 0x3FF, bits;
    float result;
    if (exponent == 31)
        bits = 0x7F800000 | fraction << 13;
    else if (exponent)
        bits = (exponent + 112) << 23 | fraction << 13;
    else {
        float small = (float)fraction * 0x1p-24f;
        memcpy(&bits, &small, sizeof bits);
    }
    bits |= sign;
    memcpy(&result, &bits, sizeof result);
    return result;
}

aclFloat16 aclFloatToFloat16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return (aclFloat16)(sign | 0x7E00);
    if (magnitude >= 0x477FF000) return (aclFloat16)(sign | 0x7C00); /* rounds beyond the largest */
    if (magnitude >= 0x38800000) {
        uint32_t even = magnitude >> 13 & 1;
        return (aclFloat16)(sign | (magnitude - 0x38000000 + 0xFFF + even) >> 13);
    }
    /* Below the smallest normal: units of 2^-24, rounded to even by the addition. */
    float small, shift = 0.5f;
    memcpy(&small, &magnitude, sizeof small);
    small += shift;
    memcpy(&bits, &small, sizeof bits);
    return (aclFloat16)(sign | (bits - 0x3F000000));
}

/* ---- logging ----------------------------------------------------------------------------------------- */

void aclAppLog(aclLogLevel logLevel, const char *func, const char *file, uint32_t line, const char *fmt, ...) {
    char text[1024], place[256];
    va_list arguments;
    if (!fmt) return;
    int n = snprintf(text, sizeof text, "%.200s: ", func ? func : "");
    va_start(arguments, fmt);
    vsnprintf(text + n, sizeof text - (size_t)n, fmt, arguments);
    va_end(arguments);
    snprintf(place, sizeof place, "%.200s:%u", file ? file : "", line);
    asc_log_line(logLevel, "APP", place, text);
}

aclError aclGetCannAttributeList(const aclCannAttr **cannAttrList, size_t *num) {
    static const aclCannAttr attributes[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_JIT_COMPILE};
    ASC_ENTER();
    ASC_NEED(cannAttrList);
    ASC_NEED(num);
    *cannAttrList = attributes;
    *num = sizeof attributes / sizeof *attributes;
    return ACL_SUCCESS;
}

aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t *value) {
    ASC_ENTER();
    ASC_NEED(value);
    if (cannAttr != ACL_CANN_ATTR_INF_NAN && cannAttr != ACL_CANN_ATTR_JIT_COMPILE)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "cannAttr is %d, no aclCannAttr", (int)cannAttr);
    *value = cannAttr == ACL_CANN_ATTR_INF_NAN; /* infinities and NaN are kept; nothing is compiled at run time */
    return ACL_SUCCESS;
}
