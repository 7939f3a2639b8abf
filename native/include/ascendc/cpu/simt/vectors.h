/* Vectors of two, three and four numbers, as SIMT functions load them at once: float4, uint2 and such. */
#pragma once

#include "../types.h"

#define ASC_VECTORS(T, name)                                          \
    struct name##2 {                                                  \
        T x, y;                                                       \
    };                                                                \
    struct name##3 {                                                  \
        T x, y, z;                                                    \
    };                                                                \
    struct alignas(sizeof(T) * 4 < 16 ? sizeof(T) * 4 : 16) name##4 { \
        T x, y, z, w;                                                 \
    };                                                                \
    inline name##2 make_##name##2(T x, T y) {                         \
        return {x, y};                                                \
    }                                                                 \
    inline name##3 make_##name##3(T x, T y, T z) {                    \
        return {x, y, z};                                             \
    }                                                                 \
    inline name##4 make_##name##4(T x, T y, T z, T w) {               \
        return {x, y, z, w};                                          \
    }
ASC_VECTORS(signed char, char)
ASC_VECTORS(unsigned char, uchar)
ASC_VECTORS(short, short)
ASC_VECTORS(unsigned short, ushort)
ASC_VECTORS(int, int)
ASC_VECTORS(unsigned, uint)
ASC_VECTORS(long, long)
ASC_VECTORS(unsigned long, ulong)
ASC_VECTORS(long long, longlong)
ASC_VECTORS(unsigned long long, ulonglong)
ASC_VECTORS(float, float)
#undef ASC_VECTORS
struct half2 {
    half x, y;
};
inline half2 make_half2(half x, half y) {
    return {x, y};
}
struct bfloat16x2_t {
    bfloat16_t x, y;
};
inline bfloat16x2_t make_bfloat162(bfloat16_t x, bfloat16_t y) {
    return {x, y};
}
