/* Kernels of test_high_level_*.py: one function of the library each, on arrays that lie in the unified buffer. The
 * request's first number says which; the second is the element type, 0 float, 1 half. */
#include "launch_program.h"
#include "tiling/tiling_api.h"

using namespace AscendC;

/* Arrays in the unified buffer: the first `inputs` are copied in, the others copied out by finish(). */
class Buffers {
   public:
    Buffers(Request &r, size_t inputs) : r_(r), inputs_(inputs) {
        for (const auto &array : r.arrays) size_ += rounded(array.size());
        pipe_.InitBuffer(buffer_, uint32_t(size_ + SCRATCH));
        for (const auto &array : r.arrays) {
            begins_.push_back(at_);
            at_ += rounded(array.size());
        }
        for (size_t i = 0; i < inputs; i++) DataCopyPad(bytes(i), global(i), copy(i), {false, 0, 0, 0});
        PipeBarrier<PIPE_ALL>();
    }
    template <typename T>
    LocalTensor<T> at(size_t i) {
        return bytes(i).template ReinterpretCast<T>();
    }
    LocalTensor<uint8_t> scratch() { return buffer_.GetWithOffset<uint8_t>(SCRATCH, size_); }
    void finish() {
        PipeBarrier<PIPE_ALL>();
        for (size_t i = inputs_; i < r_.arrays.size(); i++) DataCopyPad(global(i), bytes(i), copy(i));
    }

   private:
    static constexpr uint32_t SCRATCH = 4096;
    static uint32_t rounded(size_t bytes) { return uint32_t((bytes + 31) / 32 * 32); }
    LocalTensor<uint8_t> bytes(size_t i) {
        return buffer_.GetWithOffset<uint8_t>(rounded(r_.arrays[i].size()), begins_[i]);
    }
    GlobalTensor<uint8_t> global(size_t i) {
        GlobalTensor<uint8_t> tensor;
        tensor.SetGlobalBuffer(r_.arrays[i].data(), r_.arrays[i].size());
        return tensor;
    }
    DataCopyExtParams copy(size_t i) { return {1, uint32_t(r_.arrays[i].size()), 0, 0, 0}; }

    Request &r_;
    size_t inputs_;
    uint32_t size_ = 0, at_ = 0;
    std::vector<uint32_t> begins_;
    TPipe pipe_;
    TBuf<TPosition::VECCALC> buffer_;
};

template <typename T>
void softmaxes(Request &r) {
    const uint32_t m = uint32_t(r.numbers[2]), k = uint32_t(r.numbers[3]), used = uint32_t(r.numbers[4]);
    const SoftMaxShapeInfo info{m, k, m, used};
    const SoftMaxTiling tiling;
    switch (r.numbers[0]) {
        case 0: {
            Buffers b(r, 1);
            SoftMax<T>(b.at<T>(1), b.at<T>(2), b.at<T>(3), b.at<T>(0), b.scratch(), tiling, info);
            return b.finish();
        }
        case 1: {
            Buffers b(r, 1);
            LogSoftMax<T>(b.at<T>(1), b.at<T>(2), b.at<T>(3), b.at<T>(0), b.scratch(), tiling, info);
            return b.finish();
        }
        case 2: {
            Buffers b(r, 3);
            SimpleSoftMax<T>(b.at<T>(3), b.at<T>(1), b.at<T>(2), b.at<T>(0), tiling, info);
            return b.finish();
        }
        case 3: { /* two steps over the columns of the first two arrays */
            Buffers b(r, 2);
            LocalTensor<T> first = b.at<T>(2), second = b.at<T>(3), sums = b.at<T>(4), maxima = b.at<T>(5),
                           factors = b.at<T>(6);
            SoftmaxFlashV2<T, false>(first, sums, maxima, b.at<T>(0), factors, sums, maxima, b.scratch(), tiling, info);
            PipeBarrier<PIPE_V>();
            SoftmaxFlashV2<T, true>(second, sums, maxima, b.at<T>(1), factors, sums, maxima, b.scratch(), tiling, info);
            return b.finish();
        }
        default: {
            Buffers b(r, 2);
            SoftmaxGrad<T>(b.at<T>(2), b.at<T>(0), b.at<T>(1), tiling, false, info);
            return b.finish();
        }
    }
}

template <typename T>
void activations(Request &r) {
    const uint32_t n = uint32_t(r.numbers[2]);
    const int64_t which = r.numbers[0];
    Buffers b(r, which >= 14 ? 2 : 1);
    const LocalTensor<T> x = b.at<T>(0), y = b.at<T>(1), d = which >= 14 ? b.at<T>(2) : y;
    const float beta = 0.75f;
    switch (which) {
        case 10: Gelu(d, x, b.scratch(), n); break;
        case 11: FasterGelu(d, x, n); break;
        case 12: FasterGeluV2(d, x, n); break;
        case 13:
            if (r.numbers[3])
                Swish(d, x, n, T(0.75f));
            else
                Silu(d, x, n);
            break;
        case 14: SwiGLU<T>(d, x, y, beta, b.scratch(), n); break;
        case 15: GeGLU(d, x, y, n); break;
        case 16: ReGlu(d, x, y, b.scratch(), n); break;
        case 17: Hypot(d, x, y, n); break;
        default: std::abort();
    }
    b.finish();
}

template <typename T>
void powers(Request &r) {
    const uint32_t n = uint32_t(r.numbers[2]);
    Buffers b(r, 1);
    const LocalTensor<T> x = b.at<T>(0), d = b.at<T>(1);
    switch (r.numbers[0]) {
        case 20: Power<T>(d, x, T(1.5f), n); break;
        case 21: Power<T>(d, T(2), x, b.scratch(), n); break;
        case 22: Exp<T, 5, false>(d, x, n); break;
        case 23: ClampMax<T>(d, x, T(1), n); break;
        case 24: ClampMin<T>(d, x, b.scratch(), T(1), n); break;
        default: std::abort();
    }
    b.finish();
}

/* Of m images, batches or rows of k elements, of which `used` count; numbers 5 and 6: channels and groups. */
template <typename T>
void more_norms(Request &r) {
    const uint32_t m = uint32_t(r.numbers[2]), k = uint32_t(r.numbers[3]), used = uint32_t(r.numbers[4]);
    switch (r.numbers[0]) {
        case 35: {
            Buffers b(r, 3);
            BatchNormTiling t;
            const ge::Shape shape({int64_t(m), 1, int64_t(k)});
            GetBatchNormNDTilingInfo(shape, shape, 1024, sizeof(T), false, t);
            BatchNorm<T>(b.at<T>(3), b.at<T>(4), b.at<T>(5), b.at<T>(0), b.at<T>(1), b.at<T>(2), b.scratch(), T(1e-3f),
                         t);
            return b.finish();
        }
        case 36: {
            Buffers b(r, 3);
            GroupNormTiling t;
            const uint32_t channels = uint32_t(r.numbers[5]);
            const ge::Shape shape({int64_t(m), int64_t(channels), 1, int64_t(used)});
            GetGroupNormNDTilingInfo(shape, 1024, sizeof(T), false, uint32_t(r.numbers[6]), t);
            GroupNorm<T>(b.at<T>(3), b.at<T>(4), b.at<T>(5), b.at<T>(0), b.at<T>(1), b.at<T>(2), b.scratch(), T(1e-3f),
                         t);
            return b.finish();
        }
        case 37: { /* m steps over k elements, of which the last has `used` */
            Buffers b(r, 1);
            const LocalTensor<float> mean = b.at<float>(1), squares = b.at<float>(2);
            const LocalTensor<T> x = b.at<T>(0);
            Duplicate(mean, 0.0f, int32_t(k));
            Duplicate(squares, 0.0f, int32_t(k));
            for (uint32_t row = 0; row < m; row++) {
                PipeBarrier<PIPE_V>();
                const WelfordUpdateParam p{1, k, row + 1 < m ? k : used, 1.0f / float(row + 1)};
                WelfordUpdate<T, float>(mean, squares, mean, squares, x[row * k], b.scratch(), p);
            }
            PipeBarrier<PIPE_V>();
            WelfordFinalizePara p{m, k, m, used, m - 1, k - used, 1.0f / float(k), 1.0f / float((m - 1) * k + used)};
            WelfordFinalize(b.at<float>(3), b.at<float>(4), mean, squares, b.scratch(), p);
            return b.finish();
        }
        default: {
            Buffers b(r, 3);
            const LayerNormPara p{m, used, k};
            LayerNorm<T, T>(b.at<T>(3), b.at<float>(4), b.at<float>(5), b.at<T>(0), b.at<T>(1), b.at<T>(2), b.scratch(),
                            1e-3f, p, LayerNormSeparateTiling());
            return b.finish();
        }
    }
}

template <typename T>
void norms(Request &r) {
    const uint32_t m = uint32_t(r.numbers[2]), k = uint32_t(r.numbers[3]), used = uint32_t(r.numbers[4]);
    if (r.numbers[0] == 30) {
        Buffers b(r, 3);
        LayerNormTiling t;
        t.bLength = 1, t.sLength = m, t.hLength = k, t.originalHLength = used;
        LayerNorm<T>(b.at<T>(3), b.at<T>(4), b.at<T>(5), b.at<T>(0), b.at<T>(1), b.at<T>(2), b.scratch(), T(1e-3f), t);
        return b.finish();
    }
    if (r.numbers[0] == 31) {
        Buffers b(r, 2);
        RmsNormTiling t;
        t.bLength = 1, t.sLength = m, t.hLength = k, t.originalHLength = used;
        RmsNorm<T>(b.at<T>(2), b.at<T>(0), b.at<T>(1), b.scratch(), T(1e-3f), t);
        return b.finish();
    }
    if (r.numbers[0] == 33) {
        Buffers b(r, 5);
        LayerNormGradTiling t;
        t.bLength = 1, t.sLength = m, t.hLength = k, t.originalHLength = used;
        LayerNormGrad<T>(b.at<T>(5), b.at<T>(6), b.at<T>(0), b.at<T>(1), b.at<T>(2), b.at<T>(3), b.at<T>(4),
                         b.scratch(), T(1e-3f), t);
        return b.finish();
    }
    if (r.numbers[0] == 34) {
        Buffers b(r, 2);
        LayerNormGradBetaTiling t;
        t.bsLength = m, t.hLength = k, t.originalHLength = used;
        LayerNormGradBeta<T>(b.at<T>(2), b.at<T>(3), b.at<T>(0), b.at<T>(1), t);
        return b.finish();
    }
    if (r.numbers[0] != 32) return more_norms<T>(r);
    /* Welford's steps over the rows of x, then Normalize of them all. */
    Buffers b(r, 3);
    const LocalTensor<float> mean = b.at<float>(4), variance = b.at<float>(5), rstd = b.at<float>(6);
    const LocalTensor<T> x = b.at<T>(0);
    WelfordUpdateParam p{1, k, k, 0};
    Duplicate(mean, 0.0f, int32_t(k));
    Duplicate(variance, 0.0f, int32_t(k));
    for (uint32_t row = 0; row < m; row++) {
        PipeBarrier<PIPE_V>();
        p.nRec = 1.0f / float(row + 1);
        WelfordUpdate<T, float>(mean, variance, mean, variance, x[row * k], p);
    }
    PipeBarrier<PIPE_V>();
    Muls(variance, variance, 1.0f / float(m), int32_t(k));
    PipeBarrier<PIPE_V>();
    Normalize<T, T>(b.at<T>(3), rstd, mean, variance, x, b.at<T>(1), b.at<T>(2), 1e-3f, NormalizePara{k, 1, 1});
    b.finish();
}

template <typename T>
void rows(Request &r) {
    const uint32_t m = uint32_t(r.numbers[2]), k = uint32_t(r.numbers[3]), used = uint32_t(r.numbers[4]);
    const uint32_t shape[2] = {m, used};
    Buffers b(r, 1);
    const LocalTensor<T> x = b.at<T>(0), y = b.at<T>(1);
    static constexpr CumSumConfig DOWN{false, false, true};
    switch (r.numbers[0]) {
        case 40: Sum(y, x, b.scratch(), SumParams{m, k, used}); break;
        case 41: Mean(y, x, MeanParams{m, k, used}); break;
        case 42: ReduceSum<T, Pattern::Reduce::AR>(y, x, b.scratch(), shape, true); break;
        case 43: ReduceMax<T, Pattern::Reduce::RA>(y, x, b.scratch(), shape, true); break;
        case 44: ReduceMean<T, Pattern::Reduce::AR>(y, x, shape, true); break;
        case 45: {
            static constexpr CumSumConfig local{true, false, true}; /* as kernels keep theirs */
            CumSum<T, local>(y, b.at<T>(2), x, CumSumInfo{m, k});
            break;
        }
        case 46: CumSum<T, DOWN>(y, b.at<T>(2), x, b.scratch(), CumSumInfo{m, k}); break;
        case 47: ReduceProd<T, Pattern::Reduce::RA>(y, x, shape, true); break;
        default: std::abort();
    }
    b.finish();
}

template <typename T>
void shapes(Request &r) {
    const uint32_t m = uint32_t(r.numbers[2]), k = uint32_t(r.numbers[3]), used = uint32_t(r.numbers[4]);
    if (r.numbers[0] == 52) { /* masks by bytes and by bits */
        Buffers b(r, 2);
        DropOut(b.at<T>(2), b.at<T>(0), b.at<uint8_t>(1), b.scratch(), 0.5f, DropOutShapeInfo{m, k, used});
        return b.finish();
    }
    if (r.numbers[0] == 53) {
        Buffers b(r, 2);
        Duplicate(b.at<T>(2), T(0), int32_t(r.arrays[2].size() / sizeof(T))); /* what lies behind k is undefined */
        PipeBarrier<PIPE_V>();
        TopkTiling t;
        TopK<T, true>(b.at<T>(2), b.at<int32_t>(3), b.at<T>(0), b.at<int32_t>(1), LocalTensor<bool>(), b.scratch(),
                      int32_t(r.numbers[5]), t, TopKInfo{int32_t(m), int32_t(k), int32_t(used)}, r.numbers[6] != 0);
        return b.finish();
    }
    Buffers b(r, 1);
    const LocalTensor<T> x = b.at<T>(0), y = b.at<T>(1);
    const uint32_t whole[2] = {m, k}, column[2] = {m, 1}, row[2] = {1, k};
    PadTiling pad;
    pad.srcHeight = m, pad.srcWidth = k, pad.srcOriWidth = used;
    UnPadTiling unpad;
    unpad.srcHeight = m, unpad.srcWidth = k;
    switch (r.numbers[0]) {
        case 50: Broadcast<T, 2, 1>(y, x, whole, column, b.scratch()); break;
        case 51: BroadCast<T, 2, 0>(y, x, whole, row); break;
        case 54: Pad(y, x, PadParams{2, 3, 7}, b.scratch(), pad); break;
        case 55: UnPad(y, x, UnPadParams{0, 3}, unpad); break;
        case 56: AscendQuant<T>(b.at<int8_t>(1), x, b.scratch(), 0.5f, 3.0f, m * k); break;
        case 57: { /* numbers from 2: the axes, then the type */
            ConfusionTransposeTiling t;
            const ge::Shape four({r.numbers[2], r.numbers[3], r.numbers[4], r.numbers[5]});
            const uint32_t type = uint32_t(r.numbers[6]);
            GetConfusionTransposeTilingInfo(type == 7 ? ge::Shape({r.numbers[2], r.numbers[3]}) : four, 1024, sizeof(T),
                                            type, t);
            ConfusionTranspose(y, x, b.scratch(), TransposeType(type), t);
            break;
        }
        default: std::abort();
    }
    b.finish();
}

template <typename T>
void run(Request &r) {
    switch (r.numbers[0] / 10) {
        case 0: return softmaxes<T>(r);
        case 1: return activations<T>(r);
        case 2: return powers<T>(r);
        case 3: return norms<T>(r);
        case 4: return rows<T>(r);
        default: return shapes<T>(r);
    }
}

/* int32 by a factor for each column, and int8 by an offset and a scale. */
void dequantised(Request &r) {
    const uint32_t m = uint32_t(r.numbers[2]), n = uint32_t(r.numbers[3]);
    Buffers b(r, 2);
    AscendDequant(b.at<half>(2), b.at<int32_t>(0), b.at<float>(1), b.scratch(), DequantParams{m, n, n});
    b.finish();
}

/* Tests and logic: x and y, the results of seven functions as bytes, two of floats, and a sum. */
void logic(Request &r) {
    const uint32_t n = uint32_t(r.numbers[2]);
    Buffers b(r, 2);
    const LocalTensor<float> x = b.at<float>(0), y = b.at<float>(1);
    IsNan(b.at<bool>(2), x, b.scratch(), n);
    IsInf(b.at<bool>(3), x, n);
    IsFinite(b.at<bool>(4), x, n);
    LogicalNot(b.at<bool>(5), y, n);
    LogicalAnd(b.at<bool>(6), x, y, n);
    LogicalOrs(b.at<bool>(7), y, 0.0f, n);
    LogicalXor(b.at<bool>(8), x, y, n);
    PipeBarrier<PIPE_V>();
    Where(b.at<float>(9), y, -1.0f, b.at<bool>(4), n);
    Fma(b.at<float>(10), y, y, x, b.scratch(), n);
    SinCos(b.at<float>(11), b.at<float>(12), y, n);
    BitwiseXor(b.at<int32_t>(13), b.at<int32_t>(0), b.at<int32_t>(1), n);
    ReduceXorSum(b.at<int32_t>(14), b.at<int32_t>(0), b.at<int32_t>(1), n);
    b.finish();
}

void exclusive_or(Request &r) {
    Buffers b(r, 2);
    Xor(b.at<int16_t>(2), b.at<int16_t>(0), b.at<int16_t>(1), b.scratch(), uint32_t(r.numbers[2]));
    b.finish();
}

int main() {
    return serve([](Request &r) {
        if (r.numbers[0] == 60) return dequantised(r);
        if (r.numbers[0] == 61) return exclusive_or(r);
        if (r.numbers[0] == 62) return logic(r);
        r.numbers[1] ? run<half>(r) : run<float>(r);
    });
}
