/* A program that launches kernels of core_types.cpp, which is compiled for both kinds of core. */
#include <cstdio>
#include <cstring>

#include "tikicpulib.h"

extern "C" __global__ __aicore__ void on_both(GM_ADDR y, int32_t factor);
extern "C" __global__ __aicore__ void only_of_the_cube(GM_ADDR y);
extern "C" int launch_of_type(uint8_t *y, float factor);
extern int launches;
int constructions = 0;

static void print(const int32_t *y) {
    for (int line = 0; line < 6; line++) std::printf("%d ", y[line * 16 + 15]);
    std::printf("\n");
}

int main() {
    std::printf("%d %d\n", constructions, asc_cpu::has_cube_code());
    auto *y = (uint8_t *)AscendC::GmAlloc(6 * 64);
    ICPU_RUN_KF(on_both, 2, y, 10);
    print((int32_t *)y);
    std::printf("%d\n", ((int32_t *)y)[1]);
    launch_of_type(y, 3.5f);
    std::printf("%d ", launches);
    print((int32_t *)y);
    ICPU_RUN_KF(only_of_the_cube, 1, y);
    print((int32_t *)y - 15);
    AscendC::GmFree(y);
    return 0;
}
