/* Vector registers of the chips of 2025: 256 bytes of elements, masks of a bit for each byte, and the code that uses
 * them, which is one instruction of the vector pipe. */
#pragma once

#include <optional>

#include "../simt/call.h"

namespace AscendC {

constexpr uint32_t VECTOR_REG_WIDTH = 256;

}  // namespace AscendC

namespace AscendC::MicroAPI {

struct RegTraitNumOne {};
template <typename T, typename Trait = RegTraitNumOne>
struct RegTensor {
    using ActualT = T;
    static constexpr uint32_t LANES = VECTOR_REG_WIDTH / sizeof(T);
    T lane[LANES] = {};
};

enum class MaskPattern : uint8_t { ALL, VL1, VL2, VL3, VL4, VL8, VL16, VL32, VL64, VL128, M3, M4, H, Q, ALLF };
enum class MaskMergeMode : uint8_t { ZEROING, MERGING, UNKNOWN };
struct MaskReg {
    uint64_t bits[4] = {};
    bool at(uint32_t byte) const { return bits[byte / 64] >> byte % 64 & 1; }
    void set(uint32_t byte, bool on) {
        const uint64_t bit = uint64_t(1) << byte % 64;
        bits[byte / 64] = on ? bits[byte / 64] | bit : bits[byte / 64] & ~bit;
    }
    /* Whether element i of elements of `size` bytes takes part. */
    bool has(uint32_t i, size_t size) const { return at(i * uint32_t(size)); }
};

}  // namespace AscendC::MicroAPI

namespace asc_cpu::registers {

using AscendC::MicroAPI::MaskPattern;
using AscendC::MicroAPI::MaskReg;

/* The first n elements. */
template <typename T>
inline MaskReg first_lanes(uint32_t n) {
    MaskReg mask;
    const uint32_t bytes = uint32_t(std::min<uint64_t>(uint64_t(n) * sizeof(T), 256));
    for (uint32_t i = 0; i < bytes; i++) mask.set(i, true);
    return mask;
}
template <typename T>
inline MaskReg pattern_lanes(MaskPattern pattern) {
    constexpr uint32_t lanes = 256 / sizeof(T);
    switch (pattern) {
        case MaskPattern::ALL: return first_lanes<T>(lanes);
        case MaskPattern::VL1: return first_lanes<T>(1);
        case MaskPattern::VL2: return first_lanes<T>(2);
        case MaskPattern::VL3: return first_lanes<T>(3);
        case MaskPattern::VL4: return first_lanes<T>(4);
        case MaskPattern::VL8: return first_lanes<T>(8);
        case MaskPattern::VL16: return first_lanes<T>(16);
        case MaskPattern::VL32: return first_lanes<T>(32);
        case MaskPattern::VL64: return first_lanes<T>(64);
        case MaskPattern::VL128: return first_lanes<T>(128);
        case MaskPattern::H: return first_lanes<T>(lanes / 2);
        case MaskPattern::Q: return first_lanes<T>(lanes / 4);
        case MaskPattern::M3:
        case MaskPattern::M4: {
            MaskReg mask;
            const uint32_t step = pattern == MaskPattern::M3 ? 3 : 4;
            for (uint32_t i = 0; i < lanes; i += step)
                for (uint32_t b = 0; b < sizeof(T); b++) mask.set(i * uint32_t(sizeof(T)) + b, true);
            return mask;
        }
        default: return {};
    }
}

/* Code on registers, in the order of the vector pipe: what was issued before has taken effect, and what it has written
 * is known behind it. */
class Scope {
   public:
    explicit Scope(Where w = Where::here()) {
        if constexpr (CHECKED) {
            now_ = {index_of(PIPE_V), 0, "a vector function", check(PIPE_V, "", w, nullptr, 0, false), false};
            now_.id = uint32_t(core().log.size() - 1);
            core().log.back().name = now_.name;
            later(PIPE_V, now_.known, [] {});
            after_vectors();
            changes_.emplace(core().in(Space::UB));
        }
    }
    ~Scope() noexcept(false) {
        if (changes_ && !std::uncaught_exceptions()) changes_->mark(now_);
    }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

   private:
    Now now_{};
    std::optional<simt::Changes> changes_;
};

}  // namespace asc_cpu::registers

#define __VEC_SCOPE__ if (asc_cpu::registers::Scope asc_cpu_vector_scope; true)

namespace AscendC::MicroAPI {

template <typename T, MaskPattern pattern = MaskPattern::ALL, typename Trait = RegTraitNumOne>
inline MaskReg CreateMask() {
    return asc_cpu::registers::pattern_lanes<T>(pattern);
}
/* The next `count` elements, of which a register takes its lanes. */
template <typename T, typename Trait = RegTraitNumOne>
inline MaskReg UpdateMask(uint32_t &count) {
    constexpr uint32_t lanes = RegTensor<T>::LANES;
    const uint32_t n = std::min(count, lanes);
    count -= n;
    return asc_cpu::registers::first_lanes<T>(n);
}
#define ASC_MASKS(name, ...)                                                                        \
    inline void name(MaskReg &dst, const MaskReg &src0, const MaskReg &src1, const MaskReg &mask) { \
        for (uint32_t i = 0; i < 4; i++) {                                                          \
            const uint64_t a = src0.bits[i], b = src1.bits[i];                                      \
            dst.bits[i] = (__VA_ARGS__) & mask.bits[i];                                             \
        }                                                                                           \
    }
ASC_MASKS(MaskAnd, a &b)
ASC_MASKS(MaskOr, a | b)
ASC_MASKS(MaskXor, a ^ b)
/* The later names. */
ASC_MASKS(And, a &b)
ASC_MASKS(Or, a | b)
ASC_MASKS(Xor, a ^ b)
#undef ASC_MASKS
inline void Not(MaskReg &dst, const MaskReg &src, const MaskReg &mask) {
    for (uint32_t i = 0; i < 4; i++) dst.bits[i] = ~src.bits[i] & mask.bits[i];
}
inline void MaskNot(MaskReg &dst, const MaskReg &src, const MaskReg &mask) {
    for (uint32_t i = 0; i < 4; i++) dst.bits[i] = ~src.bits[i] & mask.bits[i];
}
inline void MaskMov(MaskReg &dst, const MaskReg &src) {
    dst = src;
}
enum class MemType : uint8_t { VEC_STORE, VEC_LOAD, SCALAR_STORE, SCALAR_LOAD, VEC_ALL, SCALAR_ALL };
/* Accesses take effect in the order of the code. */
template <MemType before, MemType behind>
inline void LocalMemBar() {}

}  // namespace AscendC::MicroAPI

namespace AscendC {
namespace Reg = MicroAPI;

/* A function on registers. */
template <auto function, typename... Args>
inline void VF_CALL(Args &&...args) {
    if (asc_cpu::core().apart && asc_cpu::core().kind == asc_cpu::CoreKind::Cube) return;
    const asc_cpu::registers::Scope scope{asc_cpu::Where::nowhere()};
    function(args...);
}

}  // namespace AscendC
