/* promotion.c - the type that an operation on two types has. */
#include "operator.h"

bool asc_is_float(int32_t dtype) {
    switch (dtype) {
        case ASC_FLOAT16:
        case ASC_BFLOAT16:
        case ASC_FLOAT32:
        case ASC_FLOAT64:
        case ASC_FLOAT8E4M3FN:
        case ASC_FLOAT8E5M2: return true;
        default: return false;
    }
}

bool asc_is_integer(int32_t dtype) {
    return dtype != ASC_BOOL && !asc_is_float(dtype);
}

/* Bool below integers below floats; among those, the one that holds more. Signed and unsigned of one width give the
 * next signed width, float16 and bfloat16 give float32. */
int32_t asc_promote(int32_t a, int32_t b) {
    if (a == b || b == ASC_BOOL) return a;
    if (a == ASC_BOOL) return b;
    if (asc_is_float(a) != asc_is_float(b)) return asc_is_float(a) ? a : b;
    size_t x = asc_dtype_bytes(a), y = asc_dtype_bytes(b);
    if (asc_is_float(a)) return x == y ? ASC_FLOAT32 : x > y ? a : b;
    bool a_unsigned = a == ASC_UINT8 || a == ASC_UINT16 || a == ASC_UINT32 || a == ASC_UINT64;
    bool b_unsigned = b == ASC_UINT8 || b == ASC_UINT16 || b == ASC_UINT32 || b == ASC_UINT64;
    if (a_unsigned == b_unsigned || (x > y && !a_unsigned) || (y > x && !b_unsigned)) return x > y ? a : b;
    size_t widest = x > y ? x : y;
    return widest == 1 ? ASC_INT16 : widest == 2 ? ASC_INT32 : ASC_INT64;
}
