/* Kernels that ask the compiler which core they are for. Every part of a block writes its line of 8 words. */
#include "tikicpulib.h"
using namespace AscendC;

#define ALWAYS inline[aicore]

/* The same name has other code for either core. */
struct Which {
    ALWAYS int32_t core() {
#if defined(__DAV_C220_CUBE__)
        return 1;
#elif defined(__DAV_C220_VEC__)
        return 2;
#else
        return 0;
#endif
    }
};

template <int32_t CORE = g_coreType>
struct Part;
template <>
struct Part<AscendC::AIC> {
    ALWAYS static int32_t line() { return GetBlockIdx(); }
};
template <>
struct Part<AscendC::AIV> {
    ALWAYS static int32_t line() { return 2 + GetBlockIdx(); }
};

template <typename T>
ALWAYS void discarded(T) {
    static_assert(sizeof(T) == 0, "the cube has no code for this");
}

template <typename T>
ALWAYS void write(GM_ADDR y, T factor) {
    if ASCEND_IS_AIV {
        CrossCoreWaitFlag(0); /* that the cube has set, in the other half of this unit's code */
    }
#ifdef __DAV_C220_CUBE__
    if ASCEND_IS_AIV {
        discarded(factor);
    }
#endif
    GlobalTensor<int32_t> to;
    to.SetGlobalBuffer((__gm__ int32_t *)y, 64);
    for (int i = 0; i < 16; i++) to.SetValue(Part<>::line() * 16 + i, int32_t(factor) * Which().core());
    if ASCEND_IS_AIC {
        CrossCoreSetFlag<2, PIPE_MTE3>(0);
    }
}

/* Declared for every core, with code for the cube alone. */
namespace elsewhere {
template <int32_t n>
int32_t eight();
}
struct OfTheCube {
    template <int32_t CORE = g_coreType>
    ALWAYS void run(GM_ADDR y);
    template <>
    ALWAYS void run<AscendC::AIC>(GM_ADDR y) {
        GlobalTensor<int32_t> to;
        to.SetGlobalBuffer((__gm__ int32_t *)y, 16);
        to.SetValue(1, elsewhere::eight<1>()); /* of a library: no code of a core that is missing here */
    }
    template <int32_t CORE = g_coreType>
    ALWAYS int32_t again(GM_ADDR y);
    template <>
    ALWAYS int32_t again<AscendC::AIC>(GM_ADDR y) {
        return 0;
    }
};

extern "C" __global__ __aicore__ void on_both(GM_ADDR y, int32_t factor) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    write(y, factor);
    OfTheCube().run(y);
    OfTheCube().again(y);
}

template <typename T>
__global__[aicore] void of_type(GM_ADDR y, T factor) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    write(y, factor);
}

#ifdef __DAV_C220_CUBE__
extern "C" __global__ __aicore__ void only_of_the_cube(GM_ADDR y) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
    GlobalTensor<int32_t> to;
    to.SetGlobalBuffer((__gm__ int32_t *)y, 16);
    to.SetValue(0, 7);
    asc_cpu::mark_cube_code<int32_t>();
}
#endif

/* Host code beside the kernels is compiled twice, and there once. */
int launches = 0;
extern int constructions;
static const struct Registration {
    Registration() { constructions++; }
} registration;
extern "C" __attribute__((visibility("default"))) int launch_of_type(uint8_t *y, float factor) {
    ICPU_RUN_KF(of_type<float>, 2, y, factor);
    return ++launches;
}
