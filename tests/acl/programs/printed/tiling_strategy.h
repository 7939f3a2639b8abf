#pragma once
#include <cstdint>

typedef struct {
    int32_t M, N, K;
    int32_t BN, BM;
    int32_t gridM, gridN;
    float gelu_const;
} LinearAddGeluTiling;
