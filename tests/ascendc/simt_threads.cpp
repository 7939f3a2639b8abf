/* SIMT functions of test_simt_threads.py: the request's first number says which. */
#include "launch_program.h"
#include "simt_api/asc_simt.h"

using namespace AscendC;

namespace {

__simt_vf__ LAUNCH_BOUND(1024) inline void add_rows(__gm__ float *y, __gm__ float *x, __ubuf__ float *bias, uint32_t n,
                                                    uint32_t columns) {
    for (uint32_t i = Simt::GetThreadIdx<1>() * Simt::GetThreadNum<0>() + Simt::GetThreadIdx<0>(); i < n;
         i += Simt::GetThreadNum<0>() * Simt::GetThreadNum<1>())
        y[i] = x[i] + bias[i % columns];
}

/* Prefix sums of the whole in two steps, with a barrier between them. */
__simt_vf__ __launch_bounds__(1024) inline void prefix(__gm__ int32_t *y, __gm__ int32_t *x, __ubuf__ int32_t *sums) {
    int32_t value = x[threadIdx.x];
    for (int32_t step = 1; step < warpSize; step *= 2) {
        const int32_t other = asc_shfl_up(value, step);
        if (int32_t(threadIdx.x) % warpSize >= step) value += other;
    }
    if (threadIdx.x % warpSize == 31) sums[threadIdx.x / warpSize] = value;
    asc_syncthreads();
    for (uint32_t i = 0; i < threadIdx.x / warpSize; i++) value += sums[i];
    y[threadIdx.x] = value;
}

/* How often each value is there, and the largest and the number of odd ones of each warp. */
__simt_vf__ inline void histogram(__gm__ int32_t *bins, __gm__ int32_t *best, __gm__ int32_t *odd, __gm__ int32_t *x) {
    const int32_t value = x[threadIdx.x];
    asc_atomic_add(bins + value, 1);
    const int32_t most = Simt::WarpReduceMaxSync(value);
    const uint32_t votes = asc_ballot(value & 1);
    if (threadIdx.x % 32 == 0) best[threadIdx.x / 32] = most, odd[threadIdx.x / 32] = Simt::Popc(votes);
}

__simt_vf__ inline void divide(__gm__ uint32_t *y, __gm__ uint32_t *x, uint32_t magic, uint32_t shift) {
    const uint32_t n = x[threadIdx.x], q = uint32_t((uint64_t(__umulhi(n, magic)) + n) >> shift);
    const bool is_right = __umul64hi(~0ull, n) + (n != 0) == n && __mul64hi(-5, int64_t(n)) == (n ? -1 : 0);
    y[threadIdx.x] = threadIdx.x % 2 ? Simt::UintDiv(n, magic, shift) : is_right ? q : ~0u;
}

/* Half of the threads never reach the barrier. */
__simt_vf__ inline void divergent(__gm__ int32_t *y) {
    if (threadIdx.x < blockDim.x / 2) asc_syncthreads();
    y[threadIdx.x] = 1;
}
/* The last element is left out. */
__simt_vf__ inline void all_but_one(__gm__ int32_t *y, uint32_t n) {
    if (threadIdx.x + 1 < n) y[threadIdx.x] = 0;
}

/* Every value but the first, which the kernel has written by an address. */
__simt_vf__ inline void others(__gm__ int32_t *y) {
    if (threadIdx.x) y[threadIdx.x] = 1;
}
__SIMT_DEVICE_FUNCTIONS_DECL__ inline int32_t place() {
    return int32_t(threadIdx.x);
}
__simt_vf__ inline void first_of_groups(__gm__ int32_t *y, int32_t width) {
    y[threadIdx.x] = __shfl(asc_shfl(place(), 0, width), 0, width);
}

/* Doubles what a copy brings, in the unified buffer. `waits`: with the flag between them. */
__simt_vf__ inline void twice(__ubuf__ float *y, __ubuf__ float *x) {
    y[threadIdx.x] = 2 * x[threadIdx.x];
}
void copied(Request &r, bool waits) {
    const uint32_t n = uint32_t(r.numbers[1]);
    TPipe pipe;
    TBuf<> in, out;
    pipe.InitBuffer(in, n * 4), pipe.InitBuffer(out, n * 4 + 32);
    LocalTensor<float> x = in.Get<float>(), y = out.Get<float>();
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer(r.of<float>(0), n), to.SetGlobalBuffer(r.of<float>(1), n);
    DataCopy(x, from, n);
    if (waits) SetFlag<HardEvent::MTE2_V>(EVENT_ID0), WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Simt::VF_CALL<twice>(Simt::Dim3{n}, (__ubuf__ float *)y.GetPhyAddr(), (__ubuf__ float *)x.GetPhyAddr());
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0), WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(to, y, n);
    if (r.numbers[0] != 8) return;
    if (r.numbers[2]) SetFlag<HardEvent::MTE3_V>(EVENT_ID0), WaitFlag<HardEvent::MTE3_V>(EVENT_ID0);
    Simt::VF_CALL<twice>(Simt::Dim3{n}, (__ubuf__ float *)y.GetPhyAddr() + 8, (__ubuf__ float *)x.GetPhyAddr());
}

void rows(Request &r) {
    const uint32_t n = uint32_t(r.numbers[1]), columns = uint32_t(r.numbers[2]);
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, (columns * 4 + 31) / 32 * 32);
    LocalTensor<float> bias = buffer.Get<float>();
    GlobalTensor<float> from;
    from.SetGlobalBuffer(r.of<float>(1), columns);
    DataCopyPad(bias, from, {1, columns * 4, 0, 0, 0}, {false, 0, 0, 0});
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0), WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Simt::VF_CALL<add_rows>(Simt::Dim3{32, 5}, r.of<float>(2), r.of<float>(0), (__ubuf__ float *)bias.GetPhyAddr(), n,
                            columns);
}

void run(Request &r) {
    const uint32_t n = uint32_t(r.numbers[1]);
    switch (r.numbers[0]) {
        case 0: return rows(r);
        case 1: {
            TPipe pipe;
            TBuf<> buffer;
            pipe.InitBuffer(buffer, 128);
            return asc_vf_call<prefix>(dim3{n}, r.of<int32_t>(1), r.of<int32_t>(0),
                                       (__ubuf__ int32_t *)buffer.Get<int32_t>().GetPhyAddr());
        }
        case 2:
            return asc_vf_call<histogram>(dim3{n, 1, 1}, r.of<int32_t>(1), r.of<int32_t>(2), r.of<int32_t>(3),
                                          r.of<int32_t>(0));
        case 3: {
            uint32_t magic, shift;
            GetUintDivMagicAndShift(magic, shift, uint32_t(r.numbers[2]));
            return asc_vf_call<divide>(dim3{n}, r.of<uint32_t>(1), r.of<uint32_t>(0), magic, shift);
        }
        case 4: return asc_vf_call<divergent>(dim3{n}, r.of<int32_t>(0));
        case 5: {
            asc_vf_call<all_but_one>(dim3{n}, r.of<int32_t>(0), n);
            PipeBarrier<PIPE_ALL>();
            TPipe pipe;
            TBuf<> buffer;
            pipe.InitBuffer(buffer, n * 4);
            GlobalTensor<int32_t> from;
            from.SetGlobalBuffer(r.of<int32_t>(0), n);
            return DataCopy(buffer.Get<int32_t>(), from, n);
        }
        case 6:
        case 8: return copied(r, true);
        case 9: {
            __gm__ int32_t *const y = r.of<int32_t>(0);
            y[0] = 5;
            return asc_vf_call<others>(dim3{n}, y);
        }
        case 10: return asc_vf_call<first_of_groups>(dim3{n}, r.of<int32_t>(0), int32_t(r.numbers[2]));
        default: return copied(r, false);
    }
}

}  // namespace

int main() {
    return serve(run);
}
