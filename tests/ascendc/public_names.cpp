/* Each name that independent kernels use, once or more, in the forms that they use it in. */
#include "__clang_cce_types.h"
#include "adv_api/normalization/layernorm.h"
#include "adv_api/reduce/sum.h"
#include "ascendc/basic_api/interface/kernel_operator_list_tensor_intf.h"
#include "ascendc/basic_api/kernel_operator.h"
#include "basic_api/kernel_operator_vec_unary_intf.h"
#include "kernel_basic_intf.h"
#include "kernel_operator.h"
#include "kernel_tpipe_impl.h"
#include "lib/activation/softmax.h"
#include "lib/math/kernel_operator_power_intf.h"
#include "lib/matmul/matmul.h"
#include "lib/matmul_intf.h"
#include "lib/matrix/matmul/tiling.h"
#include "lib/sort/topk.h"
#include "simt_api/asc_simt.h"
#include "stub_def.h"
#include "stub_fun.h"
using namespace AscendC;

struct Tiling {
    uint32_t n;
    TCubeTiling cube;
    SoftMaxTiling soft;
};

__BLOCK_LOCAL__ __inline__ uint64_t of_a_block;

using A = matmul::MatmulType<TPosition::GM, CubeFormat::ND, half>;
using C = matmul::MatmulType<TPosition::GM, CubeFormat::ND, float>;

inline void queues(GM_ADDR x, TPipe &pipe) {
    GlobalTensor<half> g;
    g.SetGlobalBuffer((__gm__ half *)x, 1024);
    TQue<TPosition::VECIN, 2> in;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> bound;
    TBuf<TPosition::VECCALC> room;
    pipe.InitBuffer(in, 2, 512);
    pipe.InitBuffer(bound, 1, 512);
    pipe.InitBuffer(room, 4096);
    LocalTensor<half> t = in.AllocTensor<half>();
    DataCopy(t, g, 256);
    in.EnQue(t);
    t = in.DeQue<half>();
    in.FreeTensor(t);
    LocalTensor<half> r = room.Get<half>(), part = room.GetWithOffset<half>(64, 64);
    DataCopy(r, g, {1, 8, 0, 0});
    DataCopyPad(r, g, {1, 20, 0, 0, 0}, {false, 0, 0, 0});
    DataCopyPad(r, g, {1, 20, 0, 0}, {false, 0, 0, 0});
    DataCopyPad(g, r, {1, 20, 0, 0, 0});
    const DataCopyParams runs{1, 8, 0, 0};
    DataCopy(r, g, runs, {});
    DataCopyPad(r, g, runs, {});
    r.SetValue(0, part.GetValue(1));
    r.SetSize(64);
    r.SetShapeInfo(ShapeInfo(1, (const uint32_t[]){64}));
    (void)r.ReinterpretCast<int16_t>().GetPhyAddr();
    (void)(r.GetSize() + GetBlockIdx() + GetBlockNum() + GetSubBlockIdx() + GetSubBlockNum());
    g.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
    DataCacheCleanAndInvalid<half, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(g);
    InitOutput<half>(g, 64, half(0));
    InitGlobalMemory(g, 64, half(0));
    ListTensorDesc list((__gm__ void *)x);
    (void)list.GetDataPtr<half>(0);
    ICachePreLoad(1);
    PRELOAD(8);
    icache_preload(8);
    assert(x != nullptr);
    assert(x != nullptr, "no data for %u blocks", 8u);
    GetTPipePtr()->Reset();
    pipe.Destroy();
}

inline void order(TPipe &pipe, GlobalTensor<int32_t> g, LocalTensor<int32_t> t) {
    const TEventID id = pipe.AllocEventID<HardEvent::MTE2_V>(), other = GetTPipePtr()->FetchEventID(HardEvent::MTE2_V);
    SetFlag<HardEvent::MTE2_V>(id);
    WaitFlag<HardEvent::MTE2_V>(id);
    TQueSync<PIPE_MTE2, PIPE_V> sync;
    sync.SetFlag(other);
    sync.WaitFlag(other);
    pipe.ReleaseEventID<HardEvent::MTE2_V>(id);
    PipeBarrier<PIPE_ALL>();
    SyncAll();
    SyncAll(g, t);
    CrossCoreSetFlag<0x2, PIPE_MTE3>(1);
    CrossCoreWaitFlag(1);
    IBSet(g, t, 0, 0);
    IBWait(g, t, 0, 0);
    SetAtomicAdd<float>();
    SetAtomicNone();
    SetMaskNorm();
    SetMaskCount();
    SetVectorMask<float, MaskMode::NORMAL>(0, 64);
    AscendCUtils::SetMask<float>(64);
    AscendCUtils::ResetMask();
    ResetMask();
    DumpTensor(t, 1, 8);
    ASSERT(GetBlockNum() > 0);
    dcci(reinterpret_cast<__gm__ void *>(g.GetPhyAddr()), 0);
    dcci(reinterpret_cast<__gm__ void *>(g.GetPhyAddr()), SINGLE_CACHE_LINE);
    of_a_block = sbitset1(sbitset0(of_a_block, 3), ONE_REPEAT_FLOAT_SIZE - 1);
}

template <typename T>
inline void vectors(LocalTensor<T> d, LocalTensor<T> a, LocalTensor<T> b, LocalTensor<uint8_t> m, uint32_t n) {
    const int32_t count = int32_t(n);
    const uint64_t bits[2] = {~uint64_t(0), 0};
    const BinaryRepeatParams two{1, 1, 1, 8, 8, 8};
    const UnaryRepeatParams one{1, 1, 8, 8};
    Add(d, a, b, count), Add(d, a, b, 64, 1, two), Add(d, a, b, bits, 1, {1, 1, 1, 8, 8, 8}), Sub(d, a, b, count);
    Mul(d, a, b, count), Div(d, a, b, count), Max(d, a, b, count), Min(d, a, b, count);
    Adds(d, a, T(1), count), Adds(d, a, T(1), 64, 1, one), Muls(d, a, T(1), count), Mins(d, a, T(1), count);
    Maxs(d, a, T(1), count), Exp(d, a, count), Abs(d, a, count), Sqrt(d, a, count), Rsqrt(d, a, count);
    Relu(d, a, count), Ln(d, a, count), Axpy(d, a, T(2), count), MulAddDst(d, a, b, count);
    d = a + b, d = a - b, d = a * b, d = a / b;
    m = a<b, m = a> b, m = a == b, m = a <= b, m = a >= b, m = a != b;
    Duplicate(d, T(0), count), Duplicate(d, T(0), 64, 1, 1, 8), Copy(d, a, 64, 1, {1, 1, 8, 8}), Brcb(d, a, 1, {1, 8});
    ReduceSum<T>(d, a, b, count), ReduceMax<T>(d, a, b, count, true), ReduceMin<T>(d, a, b, count);
    ReduceSum<T>(d, a, b, 64, 1, 8), BlockReduceSum<T>(d, a, 1, 64, 1, 1, 8), BlockReduceMax<T>(d, a, 1, 64, 1, 1, 8);
    WholeReduceSum<T>(d, a, 64, 1, 1, 1, 8), WholeReduceMax<T>(d, a, 64, 1, 1, 1, 8);
    WholeReduceMin<T>(d, a, 64, 1, 1, 1, 8), PairReduceSum<T>(d, a, 1, 64, 1, 1, 8);
    RepeatReduceSum<T>(d, a, 1, 64, 0, 1, 1, 8);
    Compare(m, a, b, CMPMODE::LT, n), Compare(m, a, b, CMPMODE::LT, bits, 1, two);
    CompareScalar(m, a, T(0), CMPMODE::GE, n), Select(d, m, a, T(0), SELMODE::VSEL_TENSOR_SCALAR_MODE, n);
    Select(d, m, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, n);
    CreateVecIndex(d, T(0), n), ArithProgression<T>(d, T(0), T(1), count);
    uint64_t taken = 0;
    GatherMask(d, a, uint8_t(1), false, 0, {1, 1, 8, 0}, taken);
    GatherMask(d, a, m.ReinterpretCast<std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>(), true, 64,
               {1, 1, 8, 8}, taken);
    Gather(d, a, m.ReinterpretCast<uint32_t>(), 0, n);
    Power(d, a, b, n), Sigmoid(d, a, m, n), Silu(d, a, n), Tanh(d, a, n), Sign(d, a, n), Log(d, a, n), Log2(d, a, n);
    Log10(d, a, n), Ceil(d, a, n), SwiGLU(d, a, b, 1.0f, n);
    Sum(d, a, SumParams{1, 64, 64}), Mean(d, a, MeanParams{1, 64, 64});
    const uint32_t wide[2] = {8, 8}, narrow[2] = {8, 1};
    Broadcast<T, 2, 1>(d, a, wide, narrow);
    const uint64_t sum = GetAccVal();
    T best = GetAccVal<T>(), place;
    GetReduceMaxMinCount<T>(best, place);
    GetReduceMaxMinCount<T>(best);
    (void)sum;
}

inline void others(LocalTensor<half> h, LocalTensor<float> f, LocalTensor<int32_t> i, LocalTensor<int16_t> s,
                   LocalTensor<uint32_t> u, LocalTensor<uint8_t> m, const Tiling &tiling) {
    Cast(f, h, RoundMode::CAST_NONE, 64), Cast(h, f, RoundMode::CAST_RINT, 64, 1, {1, 1, 4, 8});
    And(s, s, s, 8), Or(s, s, s, 8), Not(s, s, 8), ShiftLeft(i, i, 1, 8), ShiftRight(i, i, 1, 8);
    SetDeqScale(half(1));
    Transpose(h, h);
    Sort32(f, f, u, 1), Sort<float, true>(f, f, u, f, 1), Concat(f, f, f, 1), Extract(f, u, f, 1);
    RpSort16(h, h, 1), MrgSort4(h, {h, h, h, h}, MrgSort4Info()), ProposalConcat(h, h, 1, 4),
        ProposalExtract(h, h, 1, 4);
    MrgSort<float>(f, MrgSortSrcList<float>(f, f, f, f), MrgSort4Info());
    SoftMax<float>(f, f, f, f, tiling.soft);
    SoftmaxFlashV2<float>(f, f, f, f, f, f, f, tiling.soft);
}

inline void constants(GlobalTensor<int32_t> g, LocalTensor<int32_t> t, uint32_t n) {
    auto place = g(n);
    g(0) = g(1) = t(0);
    n += place * n / 2;
    g(1) += 2, t(1) *= g(1), ++g(0), --t(0);
    static_assert(AscendCUtils::GetBitSize(sizeof(uint8_t)) == 8 && AscendCUtils::GetC0Count(sizeof(half)) == 16);
    static_assert(BRCB_BROADCAST_NUMBER == 8 && TWO == 2 && PI > 3.14f && PI < 3.15f);
    static_assert(Min(3u, 4) == 3 && Max(-1.5f, 2) == 2);
    AscendCUtils::SetOverflow(1);
    t(0) = t(n % 2);
    (void)DataCopyEnhancedParams({BlockMode::BLOCK_MODE_MATRIX, DeqScale::DEQ_NONE, 0, 0, true, pad_t::PAD_NONE, 0});
}

inline void cube(LocalTensor<half> a1, LocalTensor<half> a2, LocalTensor<half> b2, LocalTensor<float> c,
                 GlobalTensor<float> out) {
    LoadData(a2, a1, {0, 1, 1, 0, 0, false, 0});
    LoadDataWithTranspose(a2, a1, {0, 1, 1, 0, 0});
    InitConstValue(a1, {1, 1, 0, half(0)});
    Mmad(c, a2, b2, {16, 16, 16, false, 0, false, false, false});
    SetFixpipeNz2ndFlag(1, 0, 0);
    FixpipeParamsV220 params;
    Fixpipe<float, float, CFG_ROW_MAJOR>(out, c, params);
}

extern "C" __global__ __aicore__ void names(GM_ADDR x, GM_ADDR workspace, GM_ADDR tiling) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    REGISTER_TILING_DEFAULT(Tiling);
    GET_TILING_DATA(data, tiling);
    GET_TILING_DATA_WITH_STRUCT(Tiling, again, tiling);
    TPipe pipe;
    if (TILING_KEY_IS(1)) queues(x, pipe);
    LocalTensor<float> f;
    LocalTensor<half> h;
    LocalTensor<int32_t> i;
    LocalTensor<uint8_t> m;
    if (TILING_KEY_IS(2)) {
        constants(GlobalTensor<int32_t>(), i, data.n);
        order(pipe, GlobalTensor<int32_t>(), i);
        vectors(f, f, f, m, data.n);
        vectors(h, h, h, m, again.n);
        others(h, f, i, LocalTensor<int16_t>(), LocalTensor<uint32_t>(), m, data);
        cube(h, h, h, f, GlobalTensor<float>());
    }
    matmul::Matmul<A, A, C> product;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), product, &data.cube);
    GlobalTensor<half> g;
    GlobalTensor<float> to;
    product.SetOrgShape(16, 16, 16);
    product.SetSingleShape(16, 16, 16);
    product.SetTail(16, 16, 16);
    product.SetTensorA(g);
    product.SetTensorB(g, true);
    product.IterateAll(to);
    while (product.Iterate()) product.GetTensorC(to);
    static constexpr TopKConfig sorted_no{TopKAlgo::RADIX_SELECT, TopKOrder::LARGEST, false};
    TopK<float, true, false, false, TopKMode::TOPK_NORMAL, sorted_no>(f, i, f, i, LocalTensor<bool>(), m, 8,
                                                                      TopkTiling(), TopKInfo{1, 32, 32}, true);
    IbVerbsData *verbs = nullptr;
    __gm__ float4 *four = (__gm__ float4 *)x;
    four[0] = make_float4(1.0f, float2{1, 2}.y, 0, float(matmul::CeilDiv(data.n, 32)));
    four[1] = float4{float(make_ulonglong4(1, 2, 3, 4).w), 0, 0, 0};
    (void)__ldg<LD_L2CacheType::L2_CACHE_HINT_NOTALLOC_CLEAN, CACHEABLE>(four);
    four[2] = float4{float(make_half2(half(1), half(2)).y), 0, 0, __shfl_down(1.0f, 1, 16)};
    (void)verbs;
    auto *numbers = (__ubuf__ float *)f.GetPhyAddr();
    vcmax(numbers, numbers, 1, 1, 1, 8, (Order_t)0b10);
    vcmin(numbers, numbers, 1, 1, 1, 8, Order_t::VALUE_INDEX);
    static_assert(!Std::IsSame<half, float>::value);
    InitSocState();
    SetSyncBaseAddr(0);
    const int64_t bits = GetCtrlSpr<60, 60>();
    SetCtrlSpr<60, 60>(bits);
    DataCopyExtParams few{1, 8, 0, 0, 0};
    DataCopyPadExtParams<float> none{false, 0, 0, 0};
    DataCopyPadGm2UBImpl(numbers, (__gm__ float *)x, few, none);
    DataCopyPadUB2GMImpl((__gm__ float *)x, numbers, few);
    SetFixPipeConfigImpl(LocalTensor<uint64_t>());
    DropOut<float, false, DROPOUT_MODE_BIT_MISALIGN>(f, f, m, m, 0.5f, DropOutShapeInfo{1, 32, 32});
    __stg<ST_L2CacheType::L2_CACHE_HINT_NORMAL_FV, L1CacheType::NON_CACHEABLE>(
        (__gm__ float *)x, __ldg<LD_L2CacheType::L2_CACHE_HINT_NORMAL_FV, L1CacheType::CACHEABLE>((__gm__ float *)x));
    ASSERT_MSG(data.n < AscendC::CACHE_LINE_SIZE, "%u rows of %d", data.n, AscendC::BLOCK_CUBE);
    product.End();
    (void)workspace;
}

/* Shapes, strides and layouts, and what type_traits and tuple have under AscendC's own name. */
inline void layouts() {
    constexpr auto layout =
        MakeLayout(MakeShape(MakeShape(2, 4), MakeShape(3, 5)), MakeStride(MakeStride(3, 6), MakeStride(1, 24)));
    static_assert(Crd2Idx(MakeCoord(11, 12), layout) == 129 && layout(MakeCoord(MakeCoord(1, 5), 12)) == 129);
    static_assert(Crd2Idx(MakeCoord(1, Std::Int<2>{}, 3), MakeShape(3, 4, 5), MakeStride(20, 5, 1)) == 33);
    static_assert(Crd2Idx(MakeCoord(7), MakeShape(MakeShape(MakeShape(2, 2), 3)),
                          MakeStride(MakeStride(MakeStride(1, 8), 100))) == 109);
    static_assert(is_layout<std::remove_const_t<decltype(layout)>>::value && !is_layout_v<Std::tuple<int>>);
    static_assert(Std::get<1>(layout.GetStride<1>()) == 24 && Std::get<0>(layout.layout().GetShape<0>()) == 2);
    static_assert(Std::is_one_of_v<int, float, int> && !Std::is_one_of_v<int, float> && Std::is_tuple_v<Coord<int>>);
    static_assert(Std::is_same_v<Std::add_lvalue_reference_t<Std::remove_cvref_t<const int &>>, int &>);
    static_assert(Std::ceil_division(7, 2) == 4 && Std::is_void<void>::value && Std::is_floating_point_v<float>);
    LocalTensor<uint8_t> rest;
    ascendc_assert((PopStackBuffer<uint8_t, TPosition::LCM>(rest)));
    GroupBarrier<PipeMode::MTE3_MODE> barrier(nullptr, 2, 3);
    barrier.Arrive(0);
    barrier.Wait(1);
    AscendC::PRINTF("%d bytes of %d\n", rest.GetSize(), AscendC::TOTAL_UB_SIZE);
}
