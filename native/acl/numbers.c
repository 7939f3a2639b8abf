/* numbers.c - reading and writing elements. */
#include "numbers.h"

#include <math.h>
#include <string.h>

static float from_bf16(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static uint16_t to_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value != value) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

bool asc_is_number(aclDataType type) {
    return (type >= ACL_FLOAT && type <= ACL_BOOL && type != 5) || type == ACL_BF16;
}

double asc_number_at(const void *elements, size_t index, aclDataType type) {
    switch (type) {
        case ACL_FLOAT: return (double)((const float *)elements)[index];
        case ACL_FLOAT16: return (double)aclFloat16ToFloat(((const uint16_t *)elements)[index]);
        case ACL_BF16: return (double)from_bf16(((const uint16_t *)elements)[index]);
        case ACL_DOUBLE: return ((const double *)elements)[index];
        case ACL_INT8: return ((const int8_t *)elements)[index];
        case ACL_UINT8: return ((const uint8_t *)elements)[index];
        case ACL_BOOL: return ((const uint8_t *)elements)[index] != 0;
        case ACL_INT16: return ((const int16_t *)elements)[index];
        case ACL_UINT16: return ((const uint16_t *)elements)[index];
        case ACL_INT32: return ((const int32_t *)elements)[index];
        case ACL_UINT32: return ((const uint32_t *)elements)[index];
        case ACL_INT64: return (double)((const int64_t *)elements)[index];
        case ACL_UINT64: return (double)((const uint64_t *)elements)[index];
        default: return 0;
    }
}

static double within(double value, double least, double most) {
    if (value != value) return 0;
    return value < least ? least : value > most ? most : trunc(value);
}

void asc_set_number(void *elements, size_t index, aclDataType type, double value) {
    switch (type) {
        case ACL_FLOAT: ((float *)elements)[index] = (float)value; break;
        case ACL_FLOAT16: ((uint16_t *)elements)[index] = aclFloatToFloat16((float)value); break;
        case ACL_BF16: ((uint16_t *)elements)[index] = to_bf16((float)value); break;
        case ACL_DOUBLE: ((double *)elements)[index] = value; break;
        case ACL_INT8: ((int8_t *)elements)[index] = (int8_t)within(value, INT8_MIN, INT8_MAX); break;
        case ACL_UINT8: ((uint8_t *)elements)[index] = (uint8_t)within(value, 0, UINT8_MAX); break;
        case ACL_BOOL: ((uint8_t *)elements)[index] = value != 0; break;
        case ACL_INT16: ((int16_t *)elements)[index] = (int16_t)within(value, INT16_MIN, INT16_MAX); break;
        case ACL_UINT16: ((uint16_t *)elements)[index] = (uint16_t)within(value, 0, UINT16_MAX); break;
        case ACL_INT32: ((int32_t *)elements)[index] = (int32_t)within(value, INT32_MIN, INT32_MAX); break;
        case ACL_UINT32: ((uint32_t *)elements)[index] = (uint32_t)within(value, 0, UINT32_MAX); break;
        case ACL_INT64: ((int64_t *)elements)[index] = (int64_t)within(value, -0x1p63, 0x1.fffffffffffffp62); break;
        case ACL_UINT64: ((uint64_t *)elements)[index] = (uint64_t)within(value, 0, 0x1.fffffffffffffp63); break;
        default: break;
    }
}

const char *asc_type_name(aclDataType type) {
    static const char *const names[] = {"float",  "float16", "int8",  "int32",  "uint8",  "UNDEFINED", "int16",
                                        "uint16", "uint32",  "int64", "uint64", "double", "bool",      "string"};
    if (type == ACL_BF16) return "bfloat16";
    return type >= 0 && (size_t)type < sizeof names / sizeof *names ? names[type] : "UNDEFINED";
}
