/* The instructions under the compiler's names, on addresses: vadd, copy_gm_to_ubuf and such. An address of the unified
 * buffer is what GetPhyAddr gives, or a number of bytes from its begin. Their masks are those of set_vector_mask. Each
 * is a template, if need be of nothing: in every unit a function that is none has what it calls instantiated, called or
 * not. */
#pragma once

#include "control.h"
#include "copy.h"
#include "gather.h"
#include "vector_binary.h"
#include "vector_select.h"

namespace asc_cpu {

/* All of a memory from an address on. */
template <typename T>
inline LocalTensor<T> local_at(const T *address, Space space = Space::UB) {
    Memory &m = core().in(space);
    const uintptr_t number = reinterpret_cast<uintptr_t>(address);
    const bool offset = number < m.size();
    if (!offset && !(m.begun() && m.holds(address)))
        fail_with("ErrorRead1", "take a number of bytes from its begin, or GetPhyAddr of a tensor",
                  "an address outside of the %s", name_of(space));
    const uint32_t begin = offset ? uint32_t(number) : uint32_t(reinterpret_cast<const uint8_t *>(address) - m.data());
    return LocalTensor<T>(space, nullptr, begin, m.size() - begin);
}
template <typename T>
inline GlobalTensor<T> global_from(const T *address) {
    GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(const_cast<T *>(address));
    return tensor;
}
using Bytes = uint8_t;
inline const Bytes *bytes_at(const void *address) {
    return static_cast<const Bytes *>(address);
}

}  // namespace asc_cpu

/* lenBurst and gaps in blocks of 32 bytes. */
template <int = 0>
inline void copy_gm_to_ubuf(void *dst, const void *src, uint8_t, uint16_t nBurst, uint16_t lenBurst, uint16_t srcGap,
                            uint16_t dstGap, asc_cpu::Where w = asc_cpu::Where::here()) {
    AscendC::DataCopy(asc_cpu::local_at(asc_cpu::bytes_at(dst)), asc_cpu::global_from(asc_cpu::bytes_at(src)),
                      AscendC::DataCopyParams(nBurst, lenBurst, srcGap, dstGap), w);
}
template <int = 0>
inline void copy_ubuf_to_gm(void *dst, const void *src, uint8_t, uint16_t nBurst, uint16_t lenBurst, uint16_t srcGap,
                            uint16_t dstGap, asc_cpu::Where w = asc_cpu::Where::here()) {
    AscendC::DataCopy(asc_cpu::global_from(asc_cpu::bytes_at(dst)), asc_cpu::local_at(asc_cpu::bytes_at(src)),
                      AscendC::DataCopyParams(nBurst, lenBurst, srcGap, dstGap), w);
}
template <int = 0>
inline void copy_ubuf_to_ubuf(void *dst, const void *src, uint8_t, uint16_t nBurst, uint16_t lenBurst, uint16_t srcGap,
                              uint16_t dstGap, asc_cpu::Where w = asc_cpu::Where::here()) {
    AscendC::DataCopy(asc_cpu::local_at(asc_cpu::bytes_at(dst)), asc_cpu::local_at(asc_cpu::bytes_at(src)),
                      AscendC::DataCopyParams(nBurst, lenBurst, srcGap, dstGap), w);
}
/* lenBurst in bytes; a gap of global memory in bytes, of the unified buffer in blocks. */
#define ASC_ALIGNED(type, suffix)                                                                                     \
    template <int = 0>                                                                                                \
    inline void copy_gm_to_ubuf_align_##suffix(void *dst, const void *src, uint8_t, uint16_t nBurst,                  \
                                               uint32_t lenBurst, uint8_t left, uint8_t right, uint32_t srcGap,       \
                                               uint32_t dstGap, asc_cpu::Where w = asc_cpu::Where::here()) {          \
        asc_cpu::copy_padded(w, asc_cpu::local_at(static_cast<const type *>(dst)),                                    \
                             asc_cpu::global_from(static_cast<const type *>(src)),                                    \
                             AscendC::DataCopyExtParams(nBurst, lenBurst, srcGap, dstGap, 0), left || right, left,    \
                             right, type(0));                                                                         \
    }                                                                                                                 \
    template <int = 0>                                                                                                \
    inline void copy_ubuf_to_gm_align_##suffix(void *dst, const void *src, uint8_t, uint16_t nBurst,                  \
                                               uint32_t lenBurst, uint8_t, uint8_t, uint32_t srcGap, uint32_t dstGap, \
                                               asc_cpu::Where w = asc_cpu::Where::here()) {                           \
        AscendC::DataCopyPad(asc_cpu::global_from(static_cast<const type *>(dst)),                                    \
                             asc_cpu::local_at(static_cast<const type *>(src)),                                       \
                             AscendC::DataCopyExtParams(nBurst, lenBurst, srcGap, dstGap, 0), w);                     \
    }
ASC_ALIGNED(uint8_t, b8)
ASC_ALIGNED(uint16_t, b16)
ASC_ALIGNED(uint32_t, b32)
#undef ASC_ALIGNED

namespace AscendC {

/* Of the library's own functions, those that kernels call. */
template <typename T, typename Params, typename Pad>
inline void DataCopyPadGm2UBImpl(T *dst, const T *src, const Params &params, const Pad &pad,
                                 asc_cpu::Where w = asc_cpu::Where::here()) {
    DataCopyPad(asc_cpu::local_at(dst), asc_cpu::global_from(src), params, pad, w);
}
template <typename T, typename Params>
inline void DataCopyPadUB2GMImpl(T *dst, const T *src, const Params &params,
                                 asc_cpu::Where w = asc_cpu::Where::here()) {
    DataCopyPad(asc_cpu::global_from(static_cast<const T *>(dst)), asc_cpu::local_at(src), params, w);
}

}  // namespace AscendC

#define ASC_TWO(intrinsic, name)                                                                                      \
    template <typename T>                                                                                             \
    inline void intrinsic(T *dst, T *src0, T *src1, uint8_t repeat, uint8_t dstBlk, uint8_t src0Blk, uint8_t src1Blk, \
                          uint8_t dstRep, uint8_t src0Rep, uint8_t src1Rep,                                           \
                          asc_cpu::Where w = asc_cpu::Where::here()) {                                                \
        AscendC::name<T, false>(asc_cpu::local_at(dst), asc_cpu::local_at(src0), asc_cpu::local_at(src1),             \
                                AscendC::MASK_PLACEHOLDER, repeat,                                                    \
                                {dstBlk, src0Blk, src1Blk, dstRep, src0Rep, src1Rep}, w);                             \
    }
ASC_TWO(vadd, Add)
ASC_TWO(vsub, Sub)
ASC_TWO(vmul, Mul)
ASC_TWO(vdiv, Div)
ASC_TWO(vmax, Max)
ASC_TWO(vmin, Min)
ASC_TWO(vand, And)
ASC_TWO(vor, Or)
ASC_TWO(vmla, MulAddDst)
ASC_TWO(vmadd, FusedMulAdd)
ASC_TWO(vaddrelu, AddRelu)
ASC_TWO(vsubrelu, SubRelu)
#undef ASC_TWO

#define ASC_ONE(intrinsic, name)                                                                                   \
    template <typename T>                                                                                          \
    inline void intrinsic(T *dst, T *src, uint8_t repeat, uint16_t dstBlk, uint16_t srcBlk, uint8_t dstRep,        \
                          uint8_t srcRep, asc_cpu::Where w = asc_cpu::Where::here()) {                             \
        AscendC::name<T, false>(asc_cpu::local_at(dst), asc_cpu::local_at(src), AscendC::MASK_PLACEHOLDER, repeat, \
                                {dstBlk, srcBlk, dstRep, srcRep}, w);                                              \
    }
ASC_ONE(vexp, Exp)
ASC_ONE(vln, Ln)
ASC_ONE(vabs, Abs)
ASC_ONE(vsqrt, Sqrt)
ASC_ONE(vrsqrt, Rsqrt)
ASC_ONE(vrec, Reciprocal)
ASC_ONE(vrelu, Relu)
ASC_ONE(vnot, Not)
#undef ASC_ONE

#define ASC_SCALED(intrinsic, name)                                                                                  \
    template <typename T>                                                                                            \
    inline void intrinsic(T *dst, T *src, asc_cpu::Same<T> scalar, uint8_t repeat, uint16_t dstBlk, uint16_t srcBlk, \
                          uint8_t dstRep, uint8_t srcRep, asc_cpu::Where w = asc_cpu::Where::here()) {               \
        AscendC::name<T, false>(asc_cpu::local_at(dst), asc_cpu::local_at(src), scalar, AscendC::MASK_PLACEHOLDER,   \
                                repeat, {dstBlk, srcBlk, dstRep, srcRep}, w);                                        \
    }
ASC_SCALED(vadds, Adds)
ASC_SCALED(vmuls, Muls)
ASC_SCALED(vmaxs, Maxs)
ASC_SCALED(vmins, Mins)
ASC_SCALED(vlrelu, LeakyRelu)
#undef ASC_SCALED

/* vconv_f322f16 and such: from, to, and the rounding of a suffix. */
#define ASC_CONVERSION(intrinsic, From, To, mode)                                                                \
    template <int = 0>                                                                                           \
    inline void intrinsic(To *dst, From *src, uint8_t repeat, uint16_t dstBlk, uint16_t srcBlk, uint8_t dstRep,  \
                          uint8_t srcRep, asc_cpu::Where w = asc_cpu::Where::here()) {                           \
        AscendC::Cast<To, From, false>(asc_cpu::local_at(dst), asc_cpu::local_at(src), AscendC::RoundMode::mode, \
                                       AscendC::MASK_PLACEHOLDER, repeat, {dstBlk, srcBlk, dstRep, srcRep}, w);  \
    }
ASC_CONVERSION(vconv_f162f32, half, float, CAST_NONE)
ASC_CONVERSION(vconv_bf162f32, bfloat16_t, float, CAST_NONE)
ASC_CONVERSION(vconv_f322f16, float, half, CAST_NONE)
ASC_CONVERSION(vconv_f322f16r, float, half, CAST_RINT)
ASC_CONVERSION(vconv_f322bf16r, float, bfloat16_t, CAST_RINT)
ASC_CONVERSION(vconv_f322s32r, float, int32_t, CAST_RINT)
ASC_CONVERSION(vconv_f322s32f, float, int32_t, CAST_FLOOR)
ASC_CONVERSION(vconv_f322s32c, float, int32_t, CAST_CEIL)
ASC_CONVERSION(vconv_f322s32z, float, int32_t, CAST_TRUNC)
ASC_CONVERSION(vconv_f322f32r, float, float, CAST_RINT)
ASC_CONVERSION(vconv_f322f32f, float, float, CAST_FLOOR)
ASC_CONVERSION(vconv_s322f32, int32_t, float, CAST_NONE)
ASC_CONVERSION(vconv_s82f16, int8_t, half, CAST_NONE)
ASC_CONVERSION(vconv_u82f16, uint8_t, half, CAST_NONE)
ASC_CONVERSION(vconv_f162s8, half, int8_t, CAST_NONE)
ASC_CONVERSION(vconv_f162s8r, half, int8_t, CAST_RINT)
ASC_CONVERSION(vconv_f162s32r, half, int32_t, CAST_RINT)
#undef ASC_CONVERSION

template <typename T>
inline void vector_dup(T *dst, asc_cpu::Same<T> value, uint8_t repeat, uint16_t dstBlk, uint16_t, uint8_t dstRep,
                       uint8_t, asc_cpu::Where w = asc_cpu::Where::here()) {
    AscendC::Duplicate<T, false>(asc_cpu::local_at(dst), value, AscendC::MASK_PLACEHOLDER, repeat, dstBlk, dstRep, w);
}
template <typename T>
inline void vcadd(T *dst, T *src, uint8_t repeat, uint16_t dstRep, uint16_t srcBlk, uint16_t srcRep, bool = false,
                  asc_cpu::Where w = asc_cpu::Where::here()) {
    AscendC::WholeReduceSum<T, false>(asc_cpu::local_at(dst), asc_cpu::local_at(src), 0, repeat, dstRep, srcBlk, srcRep,
                                      w);
}
/* Which of the value and its place vcmax and vcmin give, and which first. */
enum class Order_t : uint8_t { VALUE_INDEX, INDEX_VALUE, ONLY_VALUE, ONLY_INDEX };
#define ASC_BEST(intrinsic, name)                                                                                  \
    template <typename T>                                                                                          \
    inline void intrinsic(T *dst, T *src, uint8_t repeat, uint16_t dstRep, uint16_t srcBlk, uint16_t srcRep,       \
                          Order_t order = Order_t::VALUE_INDEX, asc_cpu::Where w = asc_cpu::Where::here()) {       \
        AscendC::name<T, false>(asc_cpu::local_at(dst), asc_cpu::local_at(src), 0, repeat, dstRep, srcBlk, srcRep, \
                                AscendC::ReduceOrder(order), w);                                                   \
    }
ASC_BEST(vcmax, WholeReduceMax)
ASC_BEST(vcmin, WholeReduceMin)
#undef ASC_BEST
template <typename T>
inline void vcgadd(T *dst, T *src, uint8_t repeat, uint16_t dstRep, uint16_t srcBlk, uint16_t srcRep,
                   asc_cpu::Where w = asc_cpu::Where::here()) {
    AscendC::BlockReduceSum<T, false>(asc_cpu::local_at(dst), asc_cpu::local_at(src), repeat, 0, dstRep, srcBlk, srcRep,
                                      w);
}
template <typename T>
inline void vcgmax(T *dst, T *src, uint8_t repeat, uint16_t dstRep, uint16_t srcBlk, uint16_t srcRep,
                   asc_cpu::Where w = asc_cpu::Where::here()) {
    AscendC::BlockReduceMax<T, false>(asc_cpu::local_at(dst), asc_cpu::local_at(src), repeat, 0, dstRep, srcBlk, srcRep,
                                      w);
}
template <typename T>
inline void vbrcb(T *dst, T *src, uint16_t dstBlk, uint16_t dstRep, uint8_t repeat,
                  asc_cpu::Where w = asc_cpu::Where::here()) {
    AscendC::Brcb(asc_cpu::local_at(dst), asc_cpu::local_at(src), repeat, {dstBlk, dstRep}, w);
}

template <int = 0>
inline void set_mask_norm() {
    AscendC::SetMaskNorm();
}
template <int = 0>
inline void set_mask_count() {
    AscendC::SetMaskCount();
}
template <int = 0>
inline void set_vector_mask(uint64_t high, uint64_t low) {
    AscendC::SetVectorMask<half>(high, low);
}
template <int = 0>
inline void set_atomic_none() {
    AscendC::SetAtomicNone();
}
template <int = 0>
inline void set_atomic_add() {
    AscendC::SetAtomicAdd<float>();
}
template <int = 0>
inline void set_atomic_f32() {
    AscendC::SetAtomicAdd<float>();
}
template <int = 0>
inline void set_atomic_f16() {
    AscendC::SetAtomicAdd<half>();
}
template <int = 0>
inline void set_atomic_s32() {
    AscendC::SetAtomicAdd<int32_t>();
}
