/* The parameter structures of vector instructions, with the defaults of a tightly packed operand: blocks of 32 bytes
 * one behind the other, eight of them to a repeat. Strides are in blocks. */
#pragma once

#include "memory.h"

namespace AscendC {

constexpr uint8_t DEFAULT_BLK_NUM = 8, DEFAULT_BLK_STRIDE = 1, DEFAULT_REPEAT_STRIDE = 8,
                  HALF_DEFAULT_REPEAT_STRIDE = 4;
constexpr uint8_t BLK_NUM_PER_REP = 8;
constexpr int32_t DEFAULT_C0_SIZE = 32, ONE_BLK_SIZE = 32, DEFAULT_BLOCK_SIZE = 256, ONE_REPEAT_BYTE_SIZE = 256;
constexpr int32_t MAX_REPEAT_TIMES = 255, ONE_BYTE_BIT_SIZE = 8, BITS_PER_BYTE = 8;
constexpr int32_t BRCB_BROADCAST_NUMBER = 8, TWO = 2;
constexpr float PI = 3.14159265358979f;
constexpr uint64_t FULL_MASK = 0xFFFFFFFFFFFFFFFF;
constexpr int32_t TOTAL_UB_SIZE = asc_cpu::COMPILED_FOR.ub, TOTAL_L1_SIZE = asc_cpu::COMPILED_FOR.l1,
                  TOTAL_L0A_SIZE = asc_cpu::COMPILED_FOR.l0a, TOTAL_L0B_SIZE = asc_cpu::COMPILED_FOR.l0b,
                  TOTAL_L0C_SIZE = asc_cpu::COMPILED_FOR.l0c;
/* Of the unified buffer 8 KB are for functions that need room of their own, the rest is for vectors: figures that users
 * of an Ascend910B3 have published (192 and 184 KB). The other chips are given the same 8. */
constexpr uint32_t TMP_UB_SIZE = 8 * 1024;
constexpr int32_t TOTAL_VEC_LOCAL_SIZE = TOTAL_UB_SIZE - int32_t(TMP_UB_SIZE);

struct UnaryRepeatParams {
    uint16_t dstBlkStride = 1, srcBlkStride = 1;
    uint16_t dstRepStride = 8, srcRepStride = 8;
    bool halfBlock = false;
    UnaryRepeatParams() = default;
    UnaryRepeatParams(uint16_t dstBlk, uint16_t srcBlk, uint8_t dstRep, uint8_t srcRep, bool half_block = false)
        : dstBlkStride(dstBlk),
          srcBlkStride(srcBlk),
          dstRepStride(dstRep),
          srcRepStride(srcRep),
          halfBlock(half_block) {}
};
struct BinaryRepeatParams {
    uint8_t dstBlkStride = 1, src0BlkStride = 1, src1BlkStride = 1;
    uint8_t dstRepStride = 8, src0RepStride = 8, src1RepStride = 8;
    BinaryRepeatParams() = default;
    BinaryRepeatParams(uint8_t dstBlk, uint8_t src0Blk, uint8_t src1Blk, uint8_t dstRep, uint8_t src0Rep,
                       uint8_t src1Rep)
        : dstBlkStride(dstBlk),
          src0BlkStride(src0Blk),
          src1BlkStride(src1Blk),
          dstRepStride(dstRep),
          src0RepStride(src0Rep),
          src1RepStride(src1Rep) {}
};
struct CopyRepeatParams {
    uint16_t dstStride = 1, srcStride = 1;
    uint16_t dstRepeatSize = 8, srcRepeatSize = 8;
    CopyRepeatParams() = default;
    CopyRepeatParams(uint16_t dst, uint16_t src, uint16_t dstRep, uint16_t srcRep)
        : dstStride(dst), srcStride(src), dstRepeatSize(dstRep), srcRepeatSize(srcRep) {}
};
struct BrcbRepeatParams {
    uint16_t dstBlkStride = 1, dstRepStride = 8;
    BrcbRepeatParams() = default;
    BrcbRepeatParams(uint16_t blk, uint16_t rep) : dstBlkStride(blk), dstRepStride(rep) {}
};
struct GatherRepeatParams {
    uint16_t dstBlkStride = 1, dstRepStride = 8;
    GatherRepeatParams() = default;
    GatherRepeatParams(uint8_t blk, uint8_t rep) : dstBlkStride(blk), dstRepStride(rep) {}
};
struct GatherMaskParams {
    uint8_t src0BlockStride = 1;
    uint16_t repeatTimes = 0;
    uint16_t src0RepeatStride = 8;
    uint8_t src1RepeatStride = 8;
    GatherMaskParams() = default;
    GatherMaskParams(uint8_t blk, uint16_t repeats, uint16_t rep0, uint8_t rep1)
        : src0BlockStride(blk), repeatTimes(repeats), src0RepeatStride(rep0), src1RepeatStride(rep1) {}
};

enum class MaskMode : uint8_t { NORMAL, COUNTER };
enum class RoundMode : uint8_t {
    CAST_NONE,
    CAST_RINT,
    CAST_FLOOR,
    CAST_CEIL,
    CAST_ROUND,
    CAST_TRUNC,
    CAST_ODD,
    CAST_HYBRID,
    CAST_EVEN,
    CAST_ZERO
};
enum class CMPMODE : uint8_t { LT, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class DeqScale : uint8_t { DEQ_NONE, DEQ, VDEQ, DEQ8, VDEQ8, DEQ16, VDEQ16 };
enum class ReduceMode : uint8_t { REDUCE_MAX, REDUCE_MIN, REDUCE_SUM };
enum class ReduceOrder : uint8_t { ORDER_VALUE_INDEX, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };

}  // namespace AscendC
