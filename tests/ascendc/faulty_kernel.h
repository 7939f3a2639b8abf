/* What kernels with one fault each have in common. The request's numbers are the kernel's and whether it is mended.
 * Above the line that is named stands a comment: the kernel's number, its kind of fault, and how it is launched, if
 * not as usual. Arrays: x of 1024 half, another of 4096 half, y and a workspace of 1024 half. */
#pragma once

#include "launch_program.h"

namespace faulty {
using namespace AscendC;

struct Kernel {
    static constexpr uint32_t N = 256;

    explicit Kernel(Request &r) : number(r.numbers[0]), mended(r.numbers[1] != 0) {
        x.SetGlobalBuffer(r.of<half>(0), 1024);
        y.SetGlobalBuffer(r.of<half>(2), 1024);
        workspace.SetGlobalBuffer(r.of<half>(3), 1024);
        wide.SetGlobalBuffer(r.of<half>(1), 4096);
        pipe.InitBuffer(in, 2, N * sizeof(half));
        pipe.InitBuffer(out, 2, N * sizeof(half));
        pipe.InitBuffer(room, 2 * N * sizeof(half));
        pipe.InitBuffer(second, 2 * N * sizeof(half));
    }
    bool is(int64_t wanted) const { return number == wanted; }
    bool broken(int64_t wanted) const { return number == wanted && !mended; }
    LocalTensor<half> loaded() {
        LocalTensor<half> t = in.AllocTensor<half>();
        DataCopy(t, x, N);
        in.EnQue(t);
        return in.DeQue<half>();
    }
    void store(const LocalTensor<half> &t, uint32_t n = N, uint64_t at = 0) {
        out.EnQue(t);
        LocalTensor<half> ready = out.DeQue<half>();
        DataCopy(y[at], ready, n);
        out.FreeTensor(ready);
    }

    int64_t number;
    bool mended;
    TPipe pipe;
    TQue<TPosition::VECIN, 2> in;
    TQue<TPosition::VECOUT, 2> out;
    TQue<TPosition::VECIN, 2> never;
    TBuf<> room, second, large;
    TBufPool<TPosition::VECCALC, 2> pool;
    GlobalTensor<half> x, y, workspace, nowhere, wide;
};

/* Launches the kernels of a class. */
template <typename Kernels>
int serve_all() {
    return serve([](Request &r) { Kernels(r).run(); }, true);
}
}  // namespace faulty
