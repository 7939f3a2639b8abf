/* Functions on registers of test_registers.py: the request's first number says which. */
#include "launch_program.h"

using namespace AscendC;

namespace {

/* y = relu(x + s) of `count` elements, in steps of a register. */
template <typename T>
void add_relu(T *y, T *x, float s, uint32_t count) {
    const uint16_t steps = uint16_t((count + VECTOR_REG_WIDTH / sizeof(T) - 1) / (VECTOR_REG_WIDTH / sizeof(T)));
    constexpr uint32_t lanes = VECTOR_REG_WIDTH / sizeof(T);
    __VEC_SCOPE__ {
        MicroAPI::RegTensor<T> value, zero;
        MicroAPI::Duplicate(zero, T(0));
        for (uint16_t i = 0; i < steps; i++) {
            MicroAPI::MaskReg mask = MicroAPI::UpdateMask<T>(count);
            MicroAPI::DataCopy(value, x + i * lanes);
            MicroAPI::Adds(value, value, T(s), mask);
            MicroAPI::Max(value, value, zero, mask);
            MicroAPI::DataCopy(y + i * lanes, value, mask);
        }
    }
}

/* The mean of 128 halves, and where their maximum is: as float, by halves of a register. */
constexpr MicroAPI::CastTrait EVEN = {MicroAPI::RegLayout::ZERO, MicroAPI::SatMode::UNKNOWN,
                                      MicroAPI::MaskMergeMode::ZEROING, RoundMode::CAST_NONE};
constexpr MicroAPI::CastTrait ODD = {MicroAPI::RegLayout::ONE, MicroAPI::SatMode::UNKNOWN,
                                     MicroAPI::MaskMergeMode::ZEROING, RoundMode::CAST_NONE};
constexpr MicroAPI::CastTrait NARROW = {MicroAPI::RegLayout::ZERO, MicroAPI::SatMode::SAT,
                                        MicroAPI::MaskMergeMode::ZEROING, RoundMode::CAST_RINT};
__simd_vf__ inline void statistics(float *y, half *packed, half *x) {
    using namespace AscendC::MicroAPI;
    const MaskReg all = CreateMask<float, MaskPattern::ALL>(), first = CreateMask<float, MaskPattern::VL2>();
    RegTensor<half> values, small;
    RegTensor<float> even, odd, low, high, sum, best, square;
    DataCopy(values, x);
    Cast<float, half, EVEN>(even, values, all);
    Cast<float, half, ODD>(odd, values, all);
    Add(sum, even, odd, all);
    ReduceSum(sum, sum, all);
    Muls(sum, sum, 1.0f / 128, all);
    DataCopy<float, StoreDist::DIST_FIRST_ELEMENT_B32>(y, sum, first);
    Interleave(low, high, even, odd);
    ReduceMax(best, low, all);
    DataCopy(y + 8, best, first);
    Mul(square, even, even, all);
    Cast<half, float, NARROW>(small, square, all);
    DataCopy<half, StoreDist::DIST_PACK_B32>(packed, small, all);
    MaskReg positive;
    CompareScalar<float, CMPMODE::GT>(positive, even, 0.0f, all);
    Select(even, odd, even, positive);
    DataCopy(y + 64, even, all);
    DataCopy<float, LoadDist::DIST_BRC_B32>(odd, y + 64);
    DataCopy(y + 128, odd, all);
}

/* What is too large for the narrower type, saturated or not. */
template <MicroAPI::SatMode mode>
constexpr MicroAPI::CastTrait LARGE = {MicroAPI::RegLayout::ZERO, mode, MicroAPI::MaskMergeMode::ZEROING,
                                       RoundMode::CAST_RINT};
template <MicroAPI::SatMode mode, typename D, typename S>
inline void cast_large(D *to, S value) {
    using namespace AscendC::MicroAPI;
    RegTensor<S> from;
    RegTensor<D> made;
    Duplicate(from, value);
    static constexpr CastTrait trait = LARGE<mode>;
    Cast<D, S, trait>(made, from, CreateMask<S>());
    DataCopy(to, made, CreateMask<D, MaskPattern::VL2>());
}
void cast_all(Request &r) {
    using MicroAPI::SatMode;
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 256);
    const LocalTensor<int16_t> t = buffer.Get<int16_t>();
    auto *const at = reinterpret_cast<int16_t *>(t.GetPhyAddr());
    Duplicate(t, int16_t(0), 128);
    __VEC_SCOPE__ {
        cast_large<SatMode::SAT>(at, 100000.0f);
        cast_large<SatMode::SAT>(at + 16, int32_t(100000));
        cast_large<SatMode::NO_SAT>(at + 32, int32_t(100000));
        cast_large<SatMode::NO_SAT>(at + 48, -7.0f);
        cast_large<SatMode::SAT>(reinterpret_cast<half *>(at + 64), -100000.0f);
        cast_large<SatMode::NO_SAT>(reinterpret_cast<half *>(at + 80), 100000.0f);
        if (r.numbers[1]) cast_large<SatMode::NO_SAT>(at + 96, 100000.0f);
    }
    PipeBarrier<PIPE_ALL>();
    GlobalTensor<int16_t> to;
    to.SetGlobalBuffer(r.of<int16_t>(0), 128);
    DataCopy(to, t, 128);
}

template <typename T>
void copied(Request &r) {
    const uint32_t n = uint32_t(r.numbers[2]), room = (n * uint32_t(sizeof(T)) + 255) / 256 * 256;
    TPipe pipe;
    TBuf<> in, out;
    pipe.InitBuffer(in, room), pipe.InitBuffer(out, room);
    LocalTensor<T> x = in.Get<T>(), y = out.Get<T>();
    GlobalTensor<T> from, to;
    from.SetGlobalBuffer(r.of<T>(0), n), to.SetGlobalBuffer(r.of<T>(1), n);
    DataCopyPad(x, from, {1, uint32_t(n * sizeof(T)), 0, 0, 0}, {false, 0, 0, 0});
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0), WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    add_relu(reinterpret_cast<T *>(y.GetPhyAddr()), reinterpret_cast<T *>(x.GetPhyAddr()), 1.5f,
             n - uint32_t(r.numbers[3]));
    if (r.numbers[4]) SetFlag<HardEvent::V_MTE3>(EVENT_ID0), WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopyPad(to, y, {1, uint32_t(n * sizeof(T)), 0, 0, 0});
}

void reduced(Request &r) {
    TPipe pipe;
    TBuf<> in, out, small;
    pipe.InitBuffer(in, 256), pipe.InitBuffer(out, 1024), pipe.InitBuffer(small, 128);
    GlobalTensor<half> from, packed;
    GlobalTensor<float> to;
    from.SetGlobalBuffer(r.of<half>(0), 128), to.SetGlobalBuffer(r.of<float>(1), 192);
    packed.SetGlobalBuffer(r.of<half>(2), 64);
    LocalTensor<float> y = out.Get<float>();
    Duplicate(y, -1.0f, 192);
    DataCopy(in.Get<half>(), from, 128);
    PipeBarrier<PIPE_ALL>();
    VF_CALL<statistics>(reinterpret_cast<float *>(y.GetPhyAddr()),
                        reinterpret_cast<half *>(small.Get<half>().GetPhyAddr()),
                        reinterpret_cast<half *>(in.Get<half>().GetPhyAddr()));
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, y, 192);
    DataCopy(packed, small.Get<half>(), 64);
}

}  // namespace

int main() {
    return serve([](Request &r) {
        if (r.numbers[0] == 2) return cast_all(r);
        if (r.numbers[0]) return reduced(r);
        r.numbers[1] ? copied<half>(r) : copied<float>(r);
    });
}
