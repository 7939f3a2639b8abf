/* Kernels of test_cube_instructions.py; the request's first number says which. */
#include "launch_program.h"
using namespace AscendC;

constexpr int up(int a, int b) {
    return (a + b - 1) / b * b;
}

template <typename T>
struct Tensors {
    GlobalTensor<T> a, b;
    GlobalTensor<float> c;
};

/* C[m, n] = A[m, k] B[k, n] + bias in one tile. */
template <typename T, typename Out>
void product(Request &r, bool with_bias, bool wait) {
    const int m = int(r.numbers[1]), n = int(r.numbers[2]), k = int(r.numbers[3]);
    constexpr int c0 = 32 / sizeof(T);
    constexpr int square = c0 > 16 ? c0 : 16;
    const int m16 = up(m, 16), n16 = up(n, square), k16 = up(k, square), n_nz = up(n, square);
    GlobalTensor<T> ga, gb;
    GlobalTensor<Out> gc;
    ga.SetGlobalBuffer(r.of<T>(0), uint64_t(m * k));
    gb.SetGlobalBuffer(r.of<T>(1), uint64_t(k * n));
    gc.SetGlobalBuffer(r.of<Out>(r.arrays.size() - 1), uint64_t(m * n));
    TPipe pipe;
    TQue<TPosition::A1, 1> a1;
    TQue<TPosition::B1, 1> b1;
    TQue<TPosition::C1, 1> c1;
    TQue<TPosition::A2, 1> a2;
    TQue<TPosition::B2, 1> b2;
    TQue<TPosition::C2, 1> c2;
    TQue<TPosition::CO1, 1> co1;
    using Sum = std::conditional_t<sizeof(T) == 1, int32_t, float>;
    pipe.InitBuffer(a1, 1, m16 * k16 * sizeof(T));
    pipe.InitBuffer(b1, 1, k16 * n_nz * sizeof(T));
    pipe.InitBuffer(c1, 1, uint32_t(up(n, 32) * 4));
    pipe.InitBuffer(a2, 1, m16 * k16 * sizeof(T));
    pipe.InitBuffer(b2, 1, k16 * n_nz * sizeof(T));
    pipe.InitBuffer(c2, 1, uint32_t(up(n, 32) * 4));
    pipe.InitBuffer(co1, 1, m16 * n16 * 4);

    LocalTensor<T> a = a1.AllocTensor<T>(), b = b1.AllocTensor<T>();
    InitConstValue(a, InitConstValueParams<T>(1, uint16_t(m16 * k16 / c0), 0, T(0)));
    InitConstValue(b, InitConstValueParams<T>(1, uint16_t(k16 * n_nz / c0), 0, T(0)));
    SetFlag<HardEvent::MTE1_MTE2>(EVENT_ID0);
    WaitFlag<HardEvent::MTE1_MTE2>(EVENT_ID0);
    DataCopy(a, ga, Nd2NzParams(1, uint16_t(m), uint16_t(k), 0, uint16_t(k), uint16_t(m16), 1, 0));
    /* Squares of 32-bit elements lie side by side, so each 16 rows are a matrix of their own. */
    if (sizeof(T) == 4)
        for (int row = 0; row < k; row += 16)
            DataCopy(b[row * n_nz], gb[row * n],
                     Nd2NzParams(1, uint16_t(k - row < 16 ? k - row : 16), uint16_t(n), 0, uint16_t(n), 16, 1, 0));
    else
        DataCopy(b, gb, Nd2NzParams(1, uint16_t(k), uint16_t(n), 0, uint16_t(n), uint16_t(k16), 1, 0));
    a1.EnQue(a);
    b1.EnQue(b);
    a = a1.DeQue<T>(), b = b1.DeQue<T>();

    LocalTensor<T> la = a2.AllocTensor<T>(), lb = b2.AllocTensor<T>();
    for (int band = 0; band < m16 / 16; band++) {
        LoadData2DParams p;
        p.repeatTimes = uint8_t(k16 / c0);
        p.srcStride = uint16_t(m16 / 16);
        LoadData(la[band * 16 * k16], a[band * 16 * c0], p);
    }
    for (int band = 0; band < k16 / square; band++) {
        if constexpr (sizeof(T) == 2) {
            LoadData2DParams p(0, uint8_t(n16 / 16), uint16_t(k16 / 16), 0, 0, true, 0);
            LoadData(lb[band * 16 * n16], b[band * 16 * 16], p);
        } else if constexpr (sizeof(T) == 1) {
            /* L0B's band of 32 rows of k has n16 / 16 fractals; a square of 32 columns gives two of them. */
            LoadData2dTransposeParams p(0, uint8_t(n_nz / 32), uint16_t(k16 / 32), 1, 0, 0);
            LoadDataWithTranspose(lb[band * 32 * n_nz], b[band * 32 * 32], p);
        } else {
            LoadData2dTransposeParams p(0, uint8_t(n16 / 16), 1, 0, uint16_t(n16 / 16 - 1), 0);
            LoadDataWithTranspose(lb[band * 16 * n16], b[band * 16 * n_nz], p);
        }
    }
    if (wait) {
        a2.EnQue(la);
        b2.EnQue(lb);
        la = a2.DeQue<T>(), lb = b2.DeQue<T>();
    }
    LocalTensor<Sum> c = co1.AllocTensor<Sum>();
    MmadParams p;
    p.m = uint16_t(m == 1 ? 16 : m), p.n = uint16_t(sizeof(T) == 1 ? n_nz : n), p.k = uint16_t(k);
    p.kDirectionAlign = true;
    if (with_bias) {
        GlobalTensor<Sum> gbias;
        gbias.SetGlobalBuffer(r.of<Sum>(2), uint64_t(up(n, 32)));
        LocalTensor<Sum> bias = c1.AllocTensor<Sum>();
        DataCopy(bias, gbias, uint32_t(up(n, 32)));
        c1.EnQue(bias);
        bias = c1.DeQue<Sum>();
        LocalTensor<Sum> table = c2.AllocTensor<Sum>();
        DataCopy(table, bias, DataCopyParams(1, uint16_t(up(n, 32) / 16), 0, 0));
        c2.EnQue(table);
        table = c2.DeQue<Sum>();
        p.cmatrixInitVal = false;
        Mmad(c, la, lb, table, p);
        c2.FreeTensor(table);
        c1.FreeTensor(bias);
    } else {
        Mmad(c, la, lb, p);
        if (r.numbers.size() > 5) { /* once more, onto what is there */
            p.cmatrixInitVal = false;
            PipeBarrier<PIPE_M>();
            Mmad(c, la, lb, p);
        }
    }
    co1.EnQue(c);
    c = co1.DeQue<Sum>();
    FixpipeParamsV220 f(uint16_t(n), uint16_t(m), uint16_t(up(p.m, 16)), uint32_t(n), r.numbers[4] != 0);
    if constexpr (std::is_same_v<Out, half>) f.quantPre = std::is_same_v<Sum, float> ? F322F16 : DEQF16;
    if constexpr (std::is_same_v<Out, bfloat16_t>) f.quantPre = F322BF16;
    if constexpr (std::is_same_v<Out, int8_t>) f.quantPre = REQ8;
    float scale = 0.5f;
    uint32_t word;
    std::memcpy(&word, &scale, 4);
    f.deqScalar = word;
    if (r.numbers[4] == 2) { /* the older form */
        SetFixpipeNz2ndFlag(1, 0, 0);
        SetFixpipePreQuantFlag(f.deqScalar);
        DataCopy(gc, c, DataCopyCO12DstParams(f.nSize, f.mSize, f.dstStride, f.srcStride, f.quantPre, 0, false, true));
    } else {
        Fixpipe(gc, c, f);
    }
    co1.FreeTensor(c);
    a1.FreeTensor(a), b1.FreeTensor(b), a2.FreeTensor(la), b2.FreeTensor(lb);
}

/* A feature map [C1, h, w, C0] unrolled into L0A, and into L0B; both come out through products with the identity. */
/* C = A B of 16 x 16 with sums of half in L0C, and the way out through the unified buffer: of older chips. */
void half_sums(Request &r) {
    GlobalTensor<half> ga, gb, gc;
    ga.SetGlobalBuffer(r.of<half>(0), 256);
    gb.SetGlobalBuffer(r.of<half>(1), 256);
    gc.SetGlobalBuffer(r.of<half>(2), 256);
    const LocalTensor<half> a1(TPosition::A1, 0, 256), b1(TPosition::B1, 512, 256), a2(TPosition::A2, 0, 256);
    const LocalTensor<half> b2(TPosition::B2, 0, 256), c1(TPosition::CO1, 0, 256), c2(TPosition::CO2, 0, 256);
    DataCopy(a1, ga, Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
    DataCopy(b1, gb, Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
    PipeBarrier<PIPE_ALL>();
    LoadData(a2, a1, LoadData2DParams(0, 1, 0, 0, 0, false, 0));
    LoadData(b2, b1, LoadData2DParams(0, 1, 0, 0, 0, true, 0));
    PipeBarrier<PIPE_ALL>();
    MmadParams p;
    p.m = p.n = p.k = 16;
    for (int64_t i = 0; i < r.numbers[1]; i++) {
        p.cmatrixInitVal = i == 0;
        Mmad(c1, a2, b2, p);
        PipeBarrier<PIPE_ALL>();
    }
    DataCopyEnhancedParams whole;
    whole.blockMode = BlockMode::BLOCK_MODE_MATRIX;
    DataCopy(c2, c1, DataCopyParams(1, 1, 0, 0), whole);
    PipeBarrier<PIPE_ALL>();
    DataCopy(gc, c2, 256);
}

void im2col(Request &r) {
    const auto &v = r.numbers;
    const int h = int(v[1]), w = int(v[2]), channels = int(v[3]), filter_h = int(v[4]), filter_w = int(v[5]);
    const int stride = int(v[6]), pad = int(v[7]), dilation = int(v[8]), m = int(v[9]), k = int(v[10]);
    const int m16 = up(m, 16);
    GlobalTensor<half> map, identity;
    GlobalTensor<float> c;
    map.SetGlobalBuffer(r.of<half>(0), uint64_t(channels * h * w));
    identity.SetGlobalBuffer(r.of<half>(1), 256);
    c.SetGlobalBuffer(r.of<float>(2), uint64_t(m16 * k));
    TPipe pipe;
    TBuf<TPosition::A1> l1;
    TBuf<TPosition::A2> l0a;
    TBuf<TPosition::B2> l0b;
    TBuf<TPosition::CO1> l0c;
    pipe.InitBuffer(l1, uint32_t(up(channels * h * w, 256) * 2 + 512));
    pipe.InitBuffer(l0a, uint32_t(m16 * k * 2));
    pipe.InitBuffer(l0b, 512);
    pipe.InitBuffer(l0c, uint32_t(m16 * 16 * 4));
    LocalTensor<half> in = l1.Get<half>(), one = in[up(channels * h * w, 256)];
    DataCopy(in, map, uint32_t(channels * h * w));
    DataCopy(one, identity, 256);
    PipeBarrier<PIPE_ALL>();
    const uint8_t pads[4] = {uint8_t(pad), uint8_t(pad), uint8_t(pad), uint8_t(pad)};
    LoadData3DParamsV2<half> p(pads, uint16_t(h), uint16_t(w), uint16_t(channels), uint16_t(k), uint16_t(m), 0, 0,
                               uint8_t(stride), uint8_t(stride), uint8_t(filter_w), uint8_t(filter_h),
                               uint8_t(dilation), uint8_t(dilation), false, false, half(0));
    LocalTensor<half> a = l0a.Get<half>(), b = l0b.Get<half>();
    LoadData(a, in, p);
    LoadData(b, one, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
    PipeBarrier<PIPE_ALL>();
    /* C[:, 16 columns] = A[:, 16 columns] * I, by fractals: A's columns are picked by loading them one strip at a time.
     */
    for (int strip = 0; strip < k / 16; strip++) {
        p.kStartPt = uint16_t(strip * 16), p.kExtension = 16;
        LoadData(a, in, p);
        PipeBarrier<PIPE_ALL>();
        LocalTensor<float> out = l0c.Get<float>();
        Mmad(out, a, b, MmadParams(uint16_t(m16), 16, 16, 0, false, true));
        PipeBarrier<PIPE_ALL>();
        Fixpipe(c[strip * 16], out, FixpipeParamsV220(16, uint16_t(m16), uint16_t(m16), uint32_t(k), false));
        PipeBarrier<PIPE_ALL>();
    }
}

/* C = 2 A B of whole fractals in the names of the compiler, on addresses. */
template <typename Out>
void by_addresses(Request &r, QuantMode_t mode) {
    const int m = int(r.numbers[1]), n = int(r.numbers[2]), k = int(r.numbers[3]);
    auto *a1 = reinterpret_cast<__cbuf__ half *>(uintptr_t(0)),
         *b1 = reinterpret_cast<__cbuf__ half *>(uintptr_t(131072));
    auto *a2 = reinterpret_cast<__ca__ half *>(uintptr_t(1024));
    auto *b2 = reinterpret_cast<__cb__ half *>(uintptr_t(0));
    auto *c = reinterpret_cast<__cc__ float *>(uintptr_t(4096));
    copy_gm_to_cbuf_multi_nd2nz_b16(a1, r.of<half>(0), 0, 1, m, k, 0, k, m, 1, 0);
    copy_gm_to_cbuf_multi_nd2nz_b16(b1, r.of<half>(1), 0, 1, k, n, 0, n, k, 1, 0);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    for (int band = 0; band < m / 16; band++)
        load_cbuf_to_ca(a2 + band * 16 * k, a1 + band * 256, 0, k / 16, m / 16, 0, 0, false, inc);
    for (int band = 0; band < k / 16; band++)
        load_cbuf_to_cb(b2 + band * 16 * n, b1 + band * 256, 0, n / 16, k / 16, 0, 0, true, inc);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    mad(c, a2, b2, m, k, n, 0, false, false, true);
    pipe_barrier(PIPE_M);
    mad(c, a2, b2, m, k, n, 0, false, false, false);
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    set_nd_para(1);
    copy_matrix_cc_to_gm(r.of<Out>(2), c, 0, n, m, n, m, 0, mode, 0, false, true);
}

int main() {
    return serve([](Request &r) {
        switch (r.numbers[0]) {
            case 0: return product<half, float>(r, false, true);
            case 1: return product<bfloat16_t, float>(r, false, true);
            case 2: return product<float, float>(r, false, true);
            case 3: return product<int8_t, int32_t>(r, false, true);
            case 4: return product<half, half>(r, true, true);
            case 5: return product<half, bfloat16_t>(r, false, true);
            case 6: return product<int8_t, half>(r, true, true);
            case 7: return product<int8_t, int8_t>(r, false, true);
            case 8: return product<half, float>(r, false, false);
            case 9: return im2col(r);
            case 10: return half_sums(r);
            case 11: return by_addresses<float>(r, NoQuant);
            case 12: return by_addresses<half>(r, QuantMode_t::F322F16);
            default: std::abort();
        }
    });
}
