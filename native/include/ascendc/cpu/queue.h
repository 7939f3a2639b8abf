/* TPipe, TQue, TBuf: who holds which buffer; and the core's numbers, barriers and event flags. */
#pragma once

#include <deque>
#include <exception>
#include <memory>

#include "blocks.h"
#include "tensor.h"

namespace AscendC {

enum pipe_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_ALL };
enum class HardEvent : uint8_t {
    MTE2_V,
    V_MTE2,
    MTE3_V,
    V_MTE3,
    V_S,
    S_V,
    MTE2_S,
    S_MTE2,
    S_MTE3,
    MTE3_S,
    V_V,
    MTE3_MTE2,
    MTE2_MTE3
};
using event_t = int32_t;

inline int64_t GetBlockIdx() {
    return asc_cpu::core().block_idx;
}
inline int64_t GetBlockNum() {
    return asc_cpu::core().block_num;
}
inline int64_t GetSubBlockIdx() {
    return 0;
}
inline int64_t GetSubBlockNum() {
    return 1;
}

template <pipe_t pipe>
inline void PipeBarrier() {
    asc_cpu::Core &c = asc_cpu::core();
    if (pipe == PIPE_V || pipe == PIPE_ALL) c.epoch++;
    if (pipe == PIPE_ALL) {
        c.drains++;
        c.storing = false;
    }
}
template <bool vector_only = true>
inline void SyncAll() {
    asc_cpu::Blocks::the_blocks()->sync();
}
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace) {
    return workspace + asc_cpu::LIBRARY_WORKSPACE;
}
template <HardEvent event>
inline void SetFlag(event_t) {
    asc_cpu::core().flags++;
    if (event == HardEvent::V_S || event == HardEvent::V_MTE3 || event == HardEvent::V_MTE2) asc_cpu::core().epoch++;
}
template <HardEvent event>
inline void WaitFlag(event_t) {
    if (asc_cpu::core().flags-- <= 0) asc_cpu::fail("ErrorSync3", "WaitFlag without SetFlag");
}

template <TPosition position, int32_t depth, auto mask = 0>
class TQue {
   public:
    static constexpr TPosition POSITION = position;

    template <typename T>
    LocalTensor<T> AllocTensor() {
        need_buffers();
        for (auto &b : buffers_)
            if (b->stage == Stage::Free) {
                b->stage = Stage::Allocated;
                std::memset(asc_cpu::core().written.data() + b->begin, 0, b->bytes);
                return LocalTensor<T>(b.get(), b->begin, b->bytes);
            }
        asc_cpu::fail("ErrorBuffer3", "queue %u: AllocTensor, but all of its %zu buffers are in use", owner_,
                      buffers_.size());
    }
    template <typename T>
    bool EnQue(const LocalTensor<T> &tensor) {
        Buffer *b = mine(tensor.buffer(), "EnQue");
        if (b->stage != Stage::Allocated)
            asc_cpu::fail("ErrorBuffer3", "queue %u: EnQue of a tensor that is not freshly allocated", owner_);
        b->stage = Stage::Queued;
        waiting_.push_back(b);
        asc_cpu::core().epoch++;
        return true;
    }
    template <typename T>
    LocalTensor<T> DeQue() {
        need_buffers();
        if (waiting_.empty())
            asc_cpu::fail("ErrorBuffer3", "queue %u: DeQue, but nothing is queued (is an EnQue missing?)", owner_);
        Buffer *b = waiting_.front();
        waiting_.pop_front();
        b->stage = Stage::Taken;
        return LocalTensor<T>(b, b->begin, b->bytes);
    }
    template <typename T>
    void FreeTensor(const LocalTensor<T> &tensor) {
        Buffer *b = mine(tensor.buffer(), "FreeTensor");
        if (b->stage == Stage::Free)
            asc_cpu::fail("ErrorFree", "queue %u: FreeTensor of a tensor that is free", owner_);
        if (b->stage == Stage::Queued)
            asc_cpu::fail("ErrorFree", "queue %u: FreeTensor of a tensor that is queued", owner_);
        b->stage = Stage::Free;
    }
    void init(uint8_t count, uint32_t bytes) {
        asc_cpu::Core &c = asc_cpu::core();
        owner_ = c.owners++;
        for (uint32_t part = 0; part < count; part++) {
            uint32_t begin = asc_cpu::reserve(bytes, owner_, part);
            buffers_.push_back(
                std::make_unique<Buffer>(Buffer{Stage::Free, position, begin, c.ub_used - begin, owner_, part}));
        }
    }
    ~TQue() noexcept(false) {
        for (auto &b : buffers_)
            if (b->stage != Stage::Free && !std::uncaught_exceptions())
                asc_cpu::fail("ErrorLeak", "queue %u: a tensor was never freed", owner_);
    }

   private:
    void need_buffers() const {
        if (buffers_.empty()) asc_cpu::fail("ErrorBuffer0", "a queue without InitBuffer");
    }
    Buffer *mine(Buffer *b, const char *what) const {
        for (auto &own : buffers_)
            if (own.get() == b) return b;
        asc_cpu::fail("ErrorBuffer4", "queue %u: %s of a tensor of another queue", owner_, what);
    }

    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::deque<Buffer *> waiting_;
    uint32_t owner_ = 0;
};

template <TPosition position>
class TBuf {
   public:
    template <typename T>
    LocalTensor<T> Get() {
        if (!buffer_.bytes) asc_cpu::fail("ErrorBuffer0", "a TBuf without InitBuffer");
        return LocalTensor<T>(&buffer_, buffer_.begin, buffer_.bytes);
    }
    template <typename T>
    LocalTensor<T> Get(uint32_t length) {
        return GetWithOffset<T>(length, 0);
    }
    template <typename T>
    LocalTensor<T> GetWithOffset(uint32_t length, uint32_t offset) {
        if (uint64_t(length) * sizeof(T) + offset > buffer_.bytes)
            asc_cpu::fail("ErrorRead3", "buffer %u has %u bytes", buffer_.owner, buffer_.bytes);
        return LocalTensor<T>(&buffer_, buffer_.begin + offset, length * uint32_t(sizeof(T)));
    }
    void init(uint32_t bytes) {
        asc_cpu::Core &c = asc_cpu::core();
        uint32_t owner = c.owners++, begin = asc_cpu::reserve(bytes, owner, 0);
        buffer_ = Buffer{Stage::Calc, position, begin, c.ub_used - begin, owner, 0};
    }

   private:
    Buffer buffer_;
};

class TPipe {
   public:
    TPipe() {
        asc_cpu::Core &c = asc_cpu::core();
        if (c.pipe) asc_cpu::fail("ErrorBuffer5", "a TPipe while another one is in use");
        c.pipe = this;
        c.empty();
    }
    TPipe(const TPipe &) = delete;
    ~TPipe() { Destroy(); }
    template <TPosition position, int32_t depth, auto mask>
    bool InitBuffer(TQue<position, depth, mask> &queue, uint8_t count, uint32_t bytes) {
        queue.init(count, bytes);
        return true;
    }
    template <TPosition position>
    bool InitBuffer(TBuf<position> &buffer, uint32_t bytes) {
        buffer.init(bytes);
        return true;
    }
    event_t FetchEventID(HardEvent) { return 0; }
    event_t AllocEventID(HardEvent) { return 0; }
    void ReleaseEventID(event_t) {}
    void Destroy() {
        if (asc_cpu::core().pipe == this) asc_cpu::core().pipe = nullptr;
    }
};

inline TPipe *GetTPipePtr() {
    return static_cast<TPipe *>(asc_cpu::core().pipe);
}

}  // namespace AscendC

#define GET_TILING_DATA_WITH_STRUCT(type, name, address) \
    type name;                                           \
    std::memcpy(&name, address, sizeof name)
#define GET_TILING_DATA(name, address) GET_TILING_DATA_WITH_STRUCT(ASC_TILING_STRUCT, name, address)
#define KERNEL_TASK_TYPE_DEFAULT(type)
#define TILING_KEY_IS(key) (asc_cpu_tiling_key == (key))
