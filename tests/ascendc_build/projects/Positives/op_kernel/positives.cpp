// positives.cpp - the elements of x above 0, how many they are, and the row and column of each; with a mistake in the
// shape of the first output, if one is asked for
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void positives(GM_ADDR x, GM_ADDR kept, GM_ADDR count, GM_ADDR places,
                                                GM_ADDR shape_out, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(data, tiling);
    GlobalTensor<float> from, to;
    GlobalTensor<int64_t> total;
    GlobalTensor<int32_t> at;
    GlobalTensor<uint64_t> shape;
    const uint32_t most = data.rows * data.columns;
    from.SetGlobalBuffer((__gm__ float *)x, most);
    to.SetGlobalBuffer((__gm__ float *)kept, most);
    total.SetGlobalBuffer((__gm__ int64_t *)count, 1);
    at.SetGlobalBuffer((__gm__ int32_t *)places, 2 * most);
    shape.SetGlobalBuffer((__gm__ uint64_t *)shape_out, 18);
    uint32_t n = 0;
    for (uint32_t i = 0; i < most; i++) {
        const float value = from.GetValue(i);
        if (value <= 0) continue;
        to.SetValue(n, value);
        at.SetValue(2 * n, i / data.columns);
        at.SetValue(2 * n + 1, i % data.columns);
        n++;
    }
    total.SetValue(0, n);
    shape.SetValue(0, data.mistake == 1 ? 9 : 1);
    if (data.mistake != 2) shape.SetValue(1, data.mistake == 3 ? n + 1 : data.mistake == 4 ? most + 1 : n);
    shape.SetValue(9, 0x80000000u | 2);
    shape.SetValue(10, n);
    shape.SetValue(11, 2);
}
