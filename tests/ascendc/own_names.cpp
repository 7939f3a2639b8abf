/* Kernels that define, under common names, what they need: beside `using namespace AscendC`, within AscendC, and
 * without either. Nothing of ours may clash with them. */
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

/* No namespace at all: the device's compiler doesn't read what ASSERT is given. */
template <typename T>
class Plain {
   public:
    __aicore__ inline void Init(uint32_t n) {
        ASSERT(GetBlockNum() != 0 && "block dim can not be zero!");
        ASSERT(n % 2 == 0, "with a text");
        AscendC::PRINTF("%u\n", n);
    }
    constexpr uint32_t of(uint32_t n) const {
        ASSERT(n > 0);
        return n;
    }
};
static_assert(Plain<half>().of(3) == 3);

namespace AscendC {
constexpr MatmulConfig CFG_MDL = GetMDLConfig(false, false, false, true);
constexpr MatmulConfig CFG_NORM = GetNormalConfig();
constexpr uint32_t OWN_BLOCK_SIZE = 32;
template <typename T>
__aicore__ inline T CeilDiv(T a, T b) {
    return b == 0 ? 0 : (a + b - 1) / b;
}
template <typename T, typename U>
__aicore__ inline T CeilAlign(T a, U b) {
    return CeilDiv(a, T(b)) * T(b);
}
template <typename A, typename B>
struct IsSame {
    static constexpr bool value = false;
};
struct true_type {};
struct false_type {};
class Within {
   public:
    __aicore__ inline uint32_t Process(uint32_t n) {
        static_assert(!IsSame<int, int>::value);
        return CFG_MDL.doNorm || CFG_NORM.doMultiDataLoad ? CeilDiv(n, OWN_BLOCK_SIZE) : CeilAlign(n, 8);
    }
};
}  // namespace AscendC

namespace beside {
using namespace AscendC;

constexpr uint32_t BLOCK_SIZE = 32, BUFFER_NUM = 2, UB_BLOCK = 32, TILE = 8, BLOCK = 32, NUM_TWO = 2, ZERO = 0, ONE = 1;
constexpr uint32_t REPEAT = 64, MASK = 64, UB_SIZE = 1024, CORE_NUM = 8, ALIGN_NUM = 8, UB_ALIGN = 32, CHECKED = 1;
struct Tile {
    uint32_t n;
};
template <typename T>
__aicore__ inline T RoundUp(T a, T b) {
    return (a + b - 1) / b * b;
}
template <typename T>
__aicore__ inline T AlignDown(T a, T b) {
    return a / b * b;
}
__aicore__ inline uint32_t use(uint32_t n) {
    const Tile tile{TILE};
    ASSERT(tile.n <= MASK);
    return RoundUp(n, BLOCK_SIZE) + AlignDown(n, BUFFER_NUM) + UB_BLOCK + BLOCK + NUM_TWO + ZERO + ONE + REPEAT +
           UB_SIZE + CORE_NUM + ALIGN_NUM + UB_ALIGN + CHECKED;
}
}  // namespace beside

extern "C" __global__ __aicore__ void own_names(GM_ADDR) {
    Plain<float> plain;
    plain.Init(beside::use(4) + AscendC::Within().Process(5));
}
