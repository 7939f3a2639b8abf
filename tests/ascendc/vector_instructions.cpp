/* Instructions of the vector unit with the parameters of a request, one case after the other.
 *
 * Numbers: cases, bytes of an operand, bytes of an element, then WIDTH of each case: instruction, form (0 count, 1 mask
 * as a number, 2 bits, 3 counter mode), two words of the mask, repeats, block strides and repeat strides of dst, src0,
 * src1, a number. Arrays: src0, src1, dst, each with the cases behind one another; dst is loaded before the
 * instruction. */
#include "launch_program.h"

using namespace AscendC;

constexpr uint64_t WIDTH = 12;

struct Case {
    int64_t instruction, form, low, high, repeats, d_block, a_block, b_block, d_repeat, a_repeat, b_repeat, number;

    BinaryRepeatParams binary() const {
        return {uint8_t(d_block),  uint8_t(a_block),  uint8_t(b_block),
                uint8_t(d_repeat), uint8_t(a_repeat), uint8_t(b_repeat)};
    }
    UnaryRepeatParams unary() const {
        return {uint16_t(d_block), uint16_t(a_block), uint8_t(d_repeat), uint8_t(a_repeat)};
    }
};

/* Calls f(count) or f(mask, repeats, params) as the case says. */
template <typename Params, typename F>
void in_its_form(const Case &c, const Params &params, F f) {
    const uint64_t bits[2] = {uint64_t(c.low), uint64_t(c.high)};
    if (c.form == 3) SetMaskCount();
    if (c.form == 0)
        f(int32_t(c.low));
    else if (c.form == 2)
        f(bits, uint8_t(c.repeats), params);
    else
        f(uint64_t(c.low), uint8_t(c.repeats), params);
    if (c.form == 3) SetMaskNorm();
}

#define IN_FORM(params, name, ...) in_its_form(c, c.params(), [&](auto... form) { name(__VA_ARGS__, form...); })

template <typename T>
void elementwise(const Case &c, const LocalTensor<T> &d, const LocalTensor<T> &a, const LocalTensor<T> &b) {
    const T number = T(float(c.number));
    switch (c.instruction) {
        case 0: IN_FORM(binary, Add, d, a, b); break;
        case 1: IN_FORM(binary, Sub, d, a, b); break;
        case 2: IN_FORM(binary, Mul, d, a, b); break;
        case 3: IN_FORM(binary, Max, d, a, b); break;
        case 4: IN_FORM(binary, Min, d, a, b); break;
        case 5: IN_FORM(binary, MulAddDst, d, a, b); break;
        case 6: IN_FORM(binary, FusedMulAdd, d, a, b); break;
        case 7: IN_FORM(unary, Adds, d, a, number); break;
        case 8: IN_FORM(unary, Muls, d, a, number); break;
        case 9: IN_FORM(unary, Maxs, d, a, number); break;
        case 10: IN_FORM(unary, LeakyRelu, d, a, number); break;
        case 11: IN_FORM(unary, Abs, d, a); break;
        case 12: IN_FORM(unary, Relu, d, a); break;
        case 13: IN_FORM(unary, Axpy, d, a, number); break;
        default: std::exit(4);
    }
}

template <typename T>
void one(const Case &c, const LocalTensor<T> &d, const LocalTensor<T> &a, const LocalTensor<T> &b) {
    const int32_t mask = int32_t(c.low), repeats = int32_t(c.repeats), to = int32_t(c.d_repeat),
                  block = int32_t(c.a_block), from = int32_t(c.a_repeat);
    const uint64_t bits[2] = {uint64_t(c.low), uint64_t(c.high)};
    switch (c.instruction) {
        case 20:
            if (c.form == 1)
                Duplicate(d, T(float(c.number)), uint64_t(c.low), uint8_t(repeats), uint16_t(c.d_block), uint8_t(to));
            else
                Duplicate(d, T(float(c.number)), bits, uint8_t(repeats), uint16_t(c.d_block), uint8_t(to));
            break;
        case 21:
            Copy(d, a, uint64_t(c.low), uint8_t(repeats),
                 {uint16_t(c.d_block), uint16_t(block), uint16_t(to), uint16_t(from)});
            break;
        case 22: Brcb(d, a, uint8_t(repeats), {uint16_t(c.d_block), uint16_t(to)}); break;
        case 23: WholeReduceSum(d, a, mask, repeats, to, block, from); break;
        case 24: WholeReduceMax(d, a, mask, repeats, to, block, from); break;
        case 25: WholeReduceMin(d, a, bits, repeats, to, block, from, ReduceOrder::ORDER_ONLY_VALUE); break;
        case 26: BlockReduceSum(d, a, repeats, mask, to, block, from); break;
        case 27: BlockReduceMax(d, a, repeats, bits, to, block, from); break;
        case 28: PairReduceSum(d, a, repeats, mask, to, block, from); break;
        case 29: Compare(d.template ReinterpretCast<uint8_t>(), a, b, CMPMODE(c.number), uint32_t(c.low)); break;
        case 30:
            Select(d, b.template ReinterpretCast<uint8_t>(), a, T(7), SELMODE::VSEL_TENSOR_SCALAR_MODE,
                   uint32_t(c.low));
            break;
        case 31: {
            uint64_t taken = 0;
            GatherMask(d, a, uint8_t(c.number), true, uint32_t(c.low),
                       {uint8_t(block), uint16_t(repeats), uint16_t(from), 0}, taken);
            d.SetValue(d.GetSize() - 1, T(float(taken)));
            break;
        }
        case 32: ReduceMax(d, a, b, mask, true); break;
        default: elementwise(c, d, a, b);
    }
}

template <typename T>
void cases(Request &r) {
    const uint64_t n = uint64_t(r.numbers[0]), bytes = uint64_t(r.numbers[1]), size = bytes / sizeof(T);
    TPipe pipe;
    TBuf<> buffers[3];
    LocalTensor<T> t[3];
    GlobalTensor<T> g[3];
    for (uint32_t i = 0; i < 3; i++) {
        pipe.InitBuffer(buffers[i], uint32_t(bytes));
        t[i] = buffers[i].Get<T>();
        g[i].SetGlobalBuffer(r.of<T>(i), n * size);
    }
    for (uint64_t i = 0; i < n; i++) {
        Case c;
        std::memcpy(&c, &r.numbers[3 + i * WIDTH], sizeof c);
        for (uint32_t k = 0; k < 3; k++) DataCopy(t[k], g[k][i * size], uint32_t(size));
        PipeBarrier<PIPE_ALL>();
        one(c, t[2], t[0], t[1]);
        PipeBarrier<PIPE_ALL>();
        DataCopy(g[2][i * size], t[2], uint32_t(size));
        for (uint32_t k = 0; k < 3; k++) (void)t[k].GetValue(0); /* loading over what nobody read is a fault */
        PipeBarrier<PIPE_ALL>();
    }
}

int main() {
    return serve([](Request &r) { r.numbers[2] == 4 ? cases<float>(r) : cases<half>(r); });
}
