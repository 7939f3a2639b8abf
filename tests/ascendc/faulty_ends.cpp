/* Destructors, which let no exception out, and one of a class with virtual functions. */
#include "faulty_kernel.h"

using namespace AscendC;

struct Waiting {
    explicit Waiting(bool has) : flagged(has) {}
    virtual ~Waiting() = default;
    bool flagged;
};
struct WaitsAtEnd : Waiting {
    using Waiting::Waiting;
    ~WaitsAtEnd() override {
        if (flagged) SetFlag<HardEvent::MTE3_MTE2>(EVENT_ID3);
        // 90 ErrorSync3
        WaitFlag<HardEvent::MTE3_MTE2>(EVENT_ID3);
    }
    TQue<TPosition::VECIN, 1> queue;
};
struct SyncsAtEnd {
    ~SyncsAtEnd() {
        // 67 ErrorSync6, 2 cores
        SyncAll();
    }
};

struct Ends : faulty::Kernel {
    using Kernel::Kernel;
    void run();
};

void Ends::run() {
    if (is(90)) WaitsAtEnd w(mended);
    if (is(91)) {
        WaitsAtEnd w(mended); /* fails, too, and isn't told */
        // 91 ErrorRead3
        DataCopy(room.Get<half>(), x[mended ? 0 : 1024], N);
    }
    if (is(66)) {
        SyncsAtEnd s;
        if (broken(66) && GetBlockIdx() == 1) {
            GlobalTensor<half> z = x[512];
            LocalTensor<half> t = room.Get<half>();
            // 66 ErrorWrite2, 2 cores
            DataCopy(t, z, 1024);
        }
    }
    if (is(67)) {
        SyncsAtEnd s;
        if (!mended && GetBlockIdx() == 1) SyncAll();
    }
}

int main() {
    return faulty::serve_all<Ends>();
}
