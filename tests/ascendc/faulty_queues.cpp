/* Queues, buffers and their tensors: freed, leaked, out of order, of another queue, without room. */
#include "faulty_kernel.h"

using namespace AscendC;

struct Queues : faulty::Kernel {
    using Kernel::Kernel;
    void run();
};

void Queues::run() {
    if (is(0)) {
        LocalTensor<half> t = loaded(), z = out.AllocTensor<half>();
        if (!mended) in.FreeTensor(t);
        // 0 ErrorRead1
        Adds(z, t, half(1), N);
        if (mended) in.FreeTensor(t);
        store(z);
    }
    if (is(1)) {
        LocalTensor<half> z, t = loaded();
        if (mended) z = out.AllocTensor<half>();
        // 1 ErrorWrite1
        Adds(z, t, half(1), N);
        in.FreeTensor(t);
        store(z);
    }
    if (is(2)) {
        // 2 ErrorLeak
        LocalTensor<half> t = in.AllocTensor<half>();
        if (mended) in.FreeTensor(t);
    }
    if (is(3)) {
        LocalTensor<half> t = loaded();
        in.FreeTensor(t);
        // 3 ErrorFree
        if (!mended) in.FreeTensor(t);
    }
    if (is(4)) {
        if (mended) pipe.InitBuffer(never, 1, 64);
        // 4 ErrorBuffer0
        LocalTensor<half> t = never.AllocTensor<half>();
        never.FreeTensor(t);
    }
    if (is(5)) {
        // 5 ErrorBuffer0
        pipe.InitBuffer(never, 2, mended ? 1024 : 100000);
    }
    if (is(6)) {
        LocalTensor<half> t = in.AllocTensor<half>();
        DataCopy(t, x, N);
        if (mended) in.EnQue(t);
        // 6 ErrorBuffer3
        t = in.DeQue<half>();
        in.FreeTensor(t);
    }
    if (is(7)) {
        LocalTensor<half> a = in.AllocTensor<half>(), b = in.AllocTensor<half>();
        if (mended) in.FreeTensor(a);
        // 7 ErrorBuffer3
        LocalTensor<half> c = in.AllocTensor<half>();
        if (!mended) in.FreeTensor(a);
        in.FreeTensor(b);
        in.FreeTensor(c);
    }
    if (is(8)) {
        LocalTensor<half> t = loaded();
        // 8 ErrorBuffer4
        mended ? in.FreeTensor(t) : out.FreeTensor(t);
    }
    if (is(9)) {
        LocalTensor<half> t = in.AllocTensor<half>(), z = out.AllocTensor<half>();
        DataCopy(t, x, N);
        in.EnQue(t);
        if (mended) t = in.DeQue<half>();
        // 9 ErrorBuffer1
        Adds(z, t, half(1), N);
        in.FreeTensor(t);
        store(z);
    }
    if (is(10)) {
        LocalTensor<half> t = in.AllocTensor<half>();
        DataCopy(t, x, N);
        in.EnQue(t);
        if (mended) t = in.DeQue<half>();
        // 10 ErrorFree
        in.FreeTensor(t);
    }
    if (is(11)) {
        LocalTensor<half> t = in.AllocTensor<half>();
        DataCopy(t, x, N);
        in.EnQue(t);
        // 11 ErrorBuffer3
        if (!mended) in.EnQue(t);
        in.FreeTensor(in.DeQue<half>());
    }
    if (is(12)) {
        if (mended) pipe.InitBuffer(large, 64);
        // 12 ErrorBuffer0
        LocalTensor<half> t = large.Get<half>();
        t.SetUserTag(1);
    }
    if (is(13)) {
        // 13 ErrorRead3
        LocalTensor<half> t = room.Get<half>(mended ? 2 * N : 4 * N);
        t.SetUserTag(1);
    }
    if (is(14)) {
        // 14 ErrorLeak
        LocalTensor<half> t = loaded(), z = out.AllocTensor<half>();
        Adds(z, t, half(1), N);
        in.FreeTensor(t);
        out.EnQue(z);
        z = out.DeQue<half>();
        DataCopy(y, z, N);
        if (mended) out.FreeTensor(z);
    }
    if (is(16)) {
        LocalTensor<half> t = loaded(), z = out.AllocTensor<half>();
        if (!mended) out.FreeTensor(z);
        // 16 ErrorWrite1
        Adds(z, t, half(1), N);
        in.FreeTensor(t);
        if (mended) store(z);
    }
    if (is(17)) {
        // 17 ErrorBuffer0
        pipe.InitBuffer(large, mended ? 1024 : 200000);
    }
    if (is(18)) {
        LocalTensor<half> t = in.AllocTensor<half>(), z = out.AllocTensor<half>();
        DataCopy(t, x, N);
        // 18 ErrorBuffer4
        mended ? in.EnQue(t) : out.EnQue(t);
        in.FreeTensor(in.DeQue<half>());
        out.FreeTensor(z);
    }
    if (is(19)) {
        pipe.InitBufPool(pool, 1024);
        // 19 ErrorBuffer0
        pool.InitBuffer(large, mended ? 512 : 2048);
    }
    if (is(100)) {
        LocalTensor<half> t = loaded(), z = out.AllocTensor<half>();
        Adds(z, t, half(1), N);
        in.FreeTensor(t);
        out.EnQue(z);
        if (mended) z = out.DeQue<half>();
        // 100 ErrorBuffer1
        DataCopy(y, z, N);
        out.FreeTensor(mended ? z : out.DeQue<half>());
    }
    if (is(101)) { /* the second half comes too late */
        LocalTensor<half> t = in.AllocTensor<half>();
        DataCopy(t, x, N / 2);
        if (!mended) in.EnQue(t);
        // 101 ErrorBuffer1
        DataCopy(t[N / 2], x[N / 2], N / 2);
        if (mended) in.EnQue(t);
        in.FreeTensor(in.DeQue<half>());
    }
    if (is(102)) { /* of two tiles under way, the one that is not taken yet */
        LocalTensor<half> tiles[2];
        for (LocalTensor<half> &t : tiles) {
            in.AllocTensor(t);
            DataCopy(t, x, N);
            in.EnQue(t);
        }
        in.DeQue(tiles[0]);
        // 102 ErrorBuffer1
        const half first = tiles[mended ? 0 : 1].GetValue(0);
        in.FreeTensor(tiles[0]);
        in.FreeTensor(in.DeQue<half>());
        if (float(first) != 1) Trap();
    }
    if (is(110)) {
        LocalTensor<half> t = loaded();
        if (!mended) in.FreeTensor(t);
        // 110 ErrorRead1
        const half first = t.GetValue(0);
        if (mended) in.FreeTensor(t);
        if (float(first) != 1) Trap();
    }
    if (is(111)) { /* given only to the first tile's */
        LocalTensor<half> z = out.AllocTensor<half>(), t;
        for (uint32_t i = 0; i < 2; i++) {
            if (mended || i == 0) t = loaded();
            // 111 ErrorRead1
            Muls(z, t, half(2), N);
            in.FreeTensor(t);
        }
        store(z);
    }
    if (is(112)) {
        LocalTensor<half> z;
        for (uint32_t i = 0; i < 2; i++) {
            if (mended || i == 0) z = out.AllocTensor<half>();
            // 112 ErrorFree
            out.FreeTensor(z);
        }
    }
    if (is(113)) { /* a tail that leaves early */
        for (uint32_t at = 0; at < 600; at += N) {
            // 113 ErrorLeak
            LocalTensor<half> t = in.AllocTensor<half>();
            DataCopy(t, x[at], N);
            in.EnQue(t);
            t = in.DeQue<half>();
            if (at + N > 600 && !mended) break;
            in.FreeTensor(t);
        }
    }
    if (is(114)) {
        LocalTensor<half> t = mended ? out.AllocTensor<half>() : room.Get<half>();
        Duplicate(t, half(1), N);
        // 114 ErrorBuffer4
        out.EnQue(t);
        out.FreeTensor(out.DeQue<half>());
    }
}

int main() {
    return faulty::serve_all<Queues>();
}
