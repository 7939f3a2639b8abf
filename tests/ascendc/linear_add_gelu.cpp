/* GELU(x w + bias) as a mixed kernel: the cube core multiplies blocks of x and w, its two vector cores add the bias and
 * apply GELU to a part of the rows each. */
#include "launch_program.h"

using namespace AscendC;

namespace {

constexpr int BM = 16, BN = 64, BK = 32;
constexpr uint16_t MULTIPLIED = 3, TAKEN = 4;

class LinearAddGelu {
   public:
    explicit LinearAddGelu(Request &r) : m_(int(r.numbers[1])), n_(int(r.numbers[2])), k_(int(r.numbers[3])) {
        waits_ = r.numbers[0] == 0;
        x_.SetGlobalBuffer(r.of<half>(0), uint64_t(m_ * k_));
        w_.SetGlobalBuffer(r.of<half>(1), uint64_t(k_ * n_));
        bias_.SetGlobalBuffer(r.of<float>(2), uint64_t(n_));
        out_.SetGlobalBuffer(r.of<float>(3), uint64_t(m_ * n_));
        sums_.SetGlobalBuffer(r.of<float>(4), uint64_t(m_ * n_));
        tiles_ = (m_ + BM - 1) / BM * (n_ / BN);
    }
    void Process() {
        const int block = int(ASCEND_IS_AIC ? GetBlockIdx() : GetBlockIdx() / GetSubBlockNum());
        if ASCEND_IS_AIC {
            prepare_cube();
            for (int tile = block; tile < tiles_; tile += int(GetBlockNum())) Multiply(tile);
        }
        if ASCEND_IS_AIV {
            prepare_vector();
            for (int tile = block; tile < tiles_; tile += int(GetBlockNum())) AddGelu(tile);
        }
    }

   private:
    void prepare_cube() {
        pipe_.InitBuffer(a1_, 2, BM * BK * sizeof(half));
        pipe_.InitBuffer(b1_, 2, BK * BN * sizeof(half));
        pipe_.InitBuffer(a2_, 2, BM * BK * sizeof(half));
        pipe_.InitBuffer(b2_, 2, BK * BN * sizeof(half));
        pipe_.InitBuffer(co1_, 1, BM * BN * sizeof(float));
    }
    void prepare_vector() {
        pipe_.InitBuffer(in_, 1, BM / 2 * BN * sizeof(float));
        pipe_.InitBuffer(row_, 1, BN * sizeof(float));
        pipe_.InitBuffer(result_, 1, BM / 2 * BN * sizeof(float));
    }
    int row_of(int tile) const { return tile / (n_ / BN) * BM; }
    int column_of(int tile) const { return tile % (n_ / BN) * BN; }

    void Multiply(int tile) {
        const int rows = std::min(BM, m_ - row_of(tile));
        LocalTensor<float> c = co1_.AllocTensor<float>();
        for (int k = 0; k < k_; k += BK) {
            CopyIn(tile, k, rows);
            Split();
            LocalTensor<half> a = a2_.DeQue<half>(), b = b2_.DeQue<half>();
            MmadParams p;
            p.m = BM, p.n = BN, p.k = BK, p.cmatrixInitVal = k == 0;
            Mmad(c, a, b, p);
            PipeBarrier<PIPE_M>();
            a2_.FreeTensor(a);
            b2_.FreeTensor(b);
        }
        co1_.EnQue(c);
        c = co1_.DeQue<float>();
        Fixpipe(sums_[uint64_t(row_of(tile) * n_ + column_of(tile))], c,
                FixpipeParamsV220(BN, uint16_t(rows), BM, uint32_t(n_), false));
        co1_.FreeTensor(c);
        CrossCoreSetFlag<2, PIPE_FIX>(MULTIPLIED);
        CrossCoreWaitFlag(TAKEN);
    }
    void CopyIn(int tile, int k, int rows) {
        LocalTensor<half> a = a1_.AllocTensor<half>(), b = b1_.AllocTensor<half>();
        DataCopy(a, x_[uint64_t(row_of(tile) * k_ + k)], Nd2NzParams(1, uint16_t(rows), BK, 0, uint16_t(k_), BM, 1, 0));
        DataCopy(b, w_[uint64_t(k * n_ + column_of(tile))], Nd2NzParams(1, BK, BN, 0, uint16_t(n_), BK, 1, 0));
        a1_.EnQue(a);
        b1_.EnQue(b);
    }
    void Split() {
        LocalTensor<half> a = a1_.DeQue<half>(), b = b1_.DeQue<half>();
        LocalTensor<half> left = a2_.AllocTensor<half>(), right = b2_.AllocTensor<half>();
        LoadData(left, a, LoadData2DParams(0, BK / 16, BM / 16, 0, 0, false, 0));
        for (int band = 0; band < BK / 16; band++)
            LoadData(right[uint32_t(band * 16 * BN)], b[uint32_t(band * 256)],
                     LoadData2DParams(0, BN / 16, BK / 16, 0, 0, true, 0));
        a2_.EnQue(left);
        b2_.EnQue(right);
        a1_.FreeTensor(a);
        b1_.FreeTensor(b);
    }

    void AddGelu(int tile) {
        if (waits_) CrossCoreWaitFlag(MULTIPLIED);
        const int first = row_of(tile) + int(GetSubBlockIdx()) * BM / 2, rows = std::min(BM / 2, m_ - first);
        if (rows > 0) {
            const GlobalTensor<float> sums = sums_[uint64_t(first * n_ + column_of(tile))];
            const GlobalTensor<float> out = out_[uint64_t(first * n_ + column_of(tile))];
            LocalTensor<float> y = in_.AllocTensor<float>(), bias = row_.AllocTensor<float>();
            DataCopy(y, sums, DataCopyParams(uint16_t(rows), BN / 8, uint16_t((n_ - BN) / 8), 0));
            DataCopy(bias, bias_[uint64_t(column_of(tile))], BN);
            in_.EnQue(y);
            row_.EnQue(bias);
            y = in_.DeQue<float>(), bias = row_.DeQue<float>();
            LocalTensor<float> z = result_.AllocTensor<float>();
            for (int i = 0; i < rows; i++) Add(y[uint32_t(i * BN)], y[uint32_t(i * BN)], bias, BN);
            PipeBarrier<PIPE_V>();
            Gelu(z, y, uint32_t(rows * BN));
            result_.EnQue(z);
            z = result_.DeQue<float>();
            DataCopy(out, z, DataCopyParams(uint16_t(rows), BN / 8, 0, uint16_t((n_ - BN) / 8)));
            in_.FreeTensor(y);
            row_.FreeTensor(bias);
            result_.FreeTensor(z);
        }
        CrossCoreSetFlag<2, PIPE_MTE2>(TAKEN);
    }

    int m_, n_, k_, tiles_;
    bool waits_;
    GlobalTensor<half> x_, w_;
    GlobalTensor<float> bias_, out_, sums_;
    TPipe pipe_;
    TQue<TPosition::A1, 2> a1_;
    TQue<TPosition::B1, 2> b1_;
    TQue<TPosition::A2, 2> a2_;
    TQue<TPosition::B2, 2> b2_;
    TQue<TPosition::CO1, 1> co1_;
    TQue<TPosition::VECIN, 1> in_, row_;
    TQue<TPosition::VECOUT, 1> result_;
};

}  // namespace

int main() {
    return serve([](Request &r) {
        KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
        LinearAddGelu op(r);
        op.Process();
    });
}
