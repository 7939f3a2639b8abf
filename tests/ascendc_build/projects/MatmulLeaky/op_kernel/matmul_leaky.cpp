#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace AscendC;

class MatmulLeaky {
   public:
    __aicore__ inline void Init(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, const TCubeTiling &tiling, float alpha,
                                TPipe *pipe) {
        tiling_ = tiling, alpha_ = alpha;
        a_.SetGlobalBuffer(reinterpret_cast<__gm__ half *>(a), tiling.M * tiling.Ka);
        b_.SetGlobalBuffer(reinterpret_cast<__gm__ half *>(b), tiling.Kb * tiling.N);
        bias_.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(bias), tiling.N);
        c_.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(c), tiling.M * tiling.N);
        const int32_t down = Ceil(tiling.M, tiling.singleCoreM);
        row_ = GetBlockIdx() % down * tiling.singleCoreM, column_ = GetBlockIdx() / down * tiling.singleCoreN;
        pipe->InitBuffer(out_, 1, tiling.baseM * tiling.baseN * sizeof(float));
    }
    __aicore__ inline void Process() {
        if (GetBlockIdx() >= tiling_.usedCoreNum) return;
        const int32_t rows = tiling_.M - row_, columns = tiling_.N - column_;
        mm.SetTail(rows < tiling_.singleCoreM ? rows : tiling_.singleCoreM,
                   columns < tiling_.singleCoreN ? columns : tiling_.singleCoreN);
        mm.SetTensorA(a_[row_ * tiling_.Ka]);
        mm.SetTensorB(b_[column_]);
        mm.SetBias(bias_[column_]);
        while (mm.template Iterate<true>()) {
            LocalTensor<float> tile = out_.AllocTensor<float>();
            mm.template GetTensorC<true>(tile, false, true);
            const MatrixOffset at = mm.GetOffsetC();
            LeakyRelu(tile, tile, alpha_, at.height * Ceil(at.width, 8) * 8);
            out_.EnQue(tile);
            tile = out_.DeQue<float>();
            DataCopyExtParams copy(at.height, at.width * sizeof(float), 0, (tiling_.N - at.width) * sizeof(float), 0);
            DataCopyPad(c_[(row_ + at.row) * tiling_.N + column_ + at.col], tile, copy);
            out_.FreeTensor(tile);
        }
        mm.End();
    }
    Matmul<MatmulType<TPosition::GM, CubeFormat::ND, half>, MatmulType<TPosition::GM, CubeFormat::ND, half>,
           MatmulType<TPosition::VECIN, CubeFormat::ND, float>, MatmulType<TPosition::GM, CubeFormat::ND, float>>
        mm;

   private:
    TCubeTiling tiling_;
    float alpha_;
    int32_t row_, column_;
    GlobalTensor<half> a_, b_;
    GlobalTensor<float> bias_, c_;
    TQue<TPosition::VECOUT, 1> out_;
};

extern "C" __global__ __aicore__ void matmul_leaky(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR workspace,
                                                   GM_ADDR tiling) {
    GET_TILING_DATA(data, tiling);
    TPipe pipe;
    MatmulLeaky op;
    op.Init(a, b, bias, c, data.cubeTilingData, data.alpha, &pipe);
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), op.mm, &data.cubeTilingData);
    if (TILING_KEY_IS(1)) op.Process();
}
