/* Queues and buffers: who holds which buffer, and which pipe has to wait for which. */
#pragma once

#include <exception>
#include <memory>

#include "blocks.h"

namespace AscendC {

struct TQueConfig {
    bool nd2nz = false, nz2nd = false, scmBlockGroup = false;
    uint32_t bufferLen = 0, bufferNumber = 0, consumerSize = 0;
    TPosition consumer[8] = {};
    bool enableStaticEvtId = false, enableLoopQueue = false;
};
constexpr TQueConfig GetTQueConfig(bool nd2nz, bool nz2nd = false, bool scm = false, uint32_t length = 0,
                                   uint32_t number = 0) {
    return {nd2nz, nz2nd, scm, length, number, 0, {}, false, false};
}

/* A queue of tensors between two positions. A copy is the same queue. */
template <TPosition from, TPosition to, int32_t depth, auto mask = 0>
class TQueBind {
   public:
    static constexpr TPosition POSITION = asc_cpu::home_of(from, to);
    template <typename T>
    LocalTensor<T> AllocTensor(asc_cpu::Where w = asc_cpu::Where::here()) {
        at(w);
        for (auto &b : need_buffers().buffers)
            if (b->stage == Stage::Free) {
                b->stage = Stage::Allocated;
                b->where = asc_cpu::place().where;
                b->user = 0;
                if constexpr (asc_cpu::CHECKED) {
                    asc_cpu::core().in(b->space).clear(b->begin, b->bytes);
                    asc_cpu::core().learn(filler, b->ready);
                }
                return tensor<T>(b.get());
            }
        asc_cpu::fail_with("ErrorBuffer3", "call FreeTensor after use, or give the queue more buffers",
                           "queue %u: AllocTensor, but all of its %zu buffers are in use", state_->owner,
                           state_->buffers.size());
    }
    template <typename T>
    void AllocTensor(LocalTensor<T> &to_fill, asc_cpu::Where w = asc_cpu::Where::here()) {
        to_fill = AllocTensor<T>(w);
    }
    template <typename T>
    bool EnQue(const LocalTensor<T> &tensor, asc_cpu::Where w = asc_cpu::Where::here()) {
        at(w);
        asc_cpu::Buffer *b = mine(tensor.buffer(), "EnQue");
        if (b->stage != Stage::Allocated && !(b->stage == Stage::Taken && !asc_cpu::settings().strict))
            asc_cpu::fail_with("ErrorBuffer3", "EnQue what AllocTensor returned, once",
                               "queue %u: EnQue of a tensor that is not freshly allocated", state_->owner);
        b->stage = Stage::Queued;
        state_->waiting.push_back(b);
        if constexpr (asc_cpu::CHECKED) {
            b->ready = asc_cpu::signal(filler);
            asc_cpu::merge(b->ready, asc_cpu::signal(scalar_too() ? 0 : filler));
        }
        return true;
    }
    template <TPosition, TPosition, typename T>
    bool EnQue(const LocalTensor<T> &tensor, asc_cpu::Where w = asc_cpu::Where::here()) {
        return EnQue(tensor, w);
    }
    template <typename T>
    LocalTensor<T> DeQue(asc_cpu::Where w = asc_cpu::Where::here()) {
        at(w);
        auto &waiting = need_buffers().waiting;
        if (waiting.empty())
            asc_cpu::fail_with("ErrorBuffer3", "EnQue the tensor first",
                               "queue %u: DeQue, but nothing is queued (is an EnQue missing?)", state_->owner);
        asc_cpu::Buffer *b = waiting.front();
        waiting.pop_front();
        b->stage = Stage::Taken;
        if constexpr (asc_cpu::CHECKED) asc_cpu::core().learn(user, b->ready);
        return tensor<T>(b);
    }
    template <TPosition, TPosition, typename T>
    LocalTensor<T> DeQue(asc_cpu::Where w = asc_cpu::Where::here()) {
        return DeQue<T>(w);
    }
    template <typename T>
    void DeQue(LocalTensor<T> &taken, asc_cpu::Where w = asc_cpu::Where::here()) {
        taken = DeQue<T>(w);
    }
    template <typename T>
    void FreeTensor(const LocalTensor<T> &tensor, asc_cpu::Where w = asc_cpu::Where::here()) {
        at(w);
        asc_cpu::Buffer *b = mine(tensor.buffer(), "FreeTensor");
        if (b->stage == Stage::Free)
            asc_cpu::fail_with("ErrorFree", "free it once", "queue %u: FreeTensor of a tensor that is free",
                               state_->owner);
        if (b->stage == Stage::Queued)
            asc_cpu::fail_with("ErrorFree", "free what DeQue returns",
                               "queue %u: FreeTensor of a tensor that is queued", state_->owner);
        b->stage = Stage::Free;
        if constexpr (asc_cpu::CHECKED) {
            b->ready = asc_cpu::signal(user);
            asc_cpu::merge(b->ready, asc_cpu::signal(filler));
        }
    }
    bool VacantInQue() const { return state_ && state_->waiting.size() < state_->buffers.size(); }
    bool HasTensorInQue() const { return state_ && !state_->waiting.empty(); }
    int32_t GetTensorCountInQue() const { return state_ ? int32_t(state_->waiting.size()) : 0; }
    bool HasIdleBuffer() const {
        if (!state_) return false;
        for (auto &b : state_->buffers)
            if (b->stage == Stage::Free) return true;
        return false;
    }
    void FreeAllEvent() {}
    template <typename T>
    LocalTensor<T> alloc_tensor(asc_cpu::Where w = asc_cpu::Where::here()) {
        return AllocTensor<T>(w);
    }
    template <typename T>
    bool enque(const LocalTensor<T> &tensor, asc_cpu::Where w = asc_cpu::Where::here()) {
        return EnQue(tensor, w);
    }
    template <typename T>
    LocalTensor<T> deque(asc_cpu::Where w = asc_cpu::Where::here()) {
        return DeQue<T>(w);
    }
    template <typename T>
    void free_tensor(const LocalTensor<T> &tensor, asc_cpu::Where w = asc_cpu::Where::here()) {
        FreeTensor(tensor, w);
    }

    /* Buffers [begin, begin + bytes) each, of which InitBuffer says where they lie. */
    void init(uint32_t owner) {
        if (state_) state_->check_leaks();
        state_ = std::make_shared<State>();
        state_->owner = owner;
    }
    void add(uint32_t part, uint32_t begin, uint32_t bytes) {
        state_->buffers.push_back(
            asc_cpu::made({Stage::Free, space, POSITION == TPosition::VECIN, begin, bytes, state_->owner, part}));
    }
    static constexpr asc_cpu::Space space = asc_cpu::space_of(POSITION);

   private:
    using Stage = asc_cpu::Stage;
    static constexpr uint32_t filler = asc_cpu::index_of(asc_cpu::filler_of(from, to));
    static constexpr uint32_t user = asc_cpu::index_of(asc_cpu::user_of(from, to));
    static bool scalar_too() { return !asc_cpu::settings().strict; }
    static void at(asc_cpu::Where w) {
        if (w.line) asc_cpu::place().where = w;
    }
    template <typename T>
    static LocalTensor<T> tensor(asc_cpu::Buffer *b) {
        LocalTensor<T> made(b->space, b, b->begin, b->bytes);
        made.SetPosition(POSITION);
        return made;
    }
    struct State {
        std::vector<std::shared_ptr<asc_cpu::Buffer>> buffers;
        std::deque<asc_cpu::Buffer *> waiting;
        uint32_t owner = 0;
        ~State() {
            if (!std::uncaught_exceptions() && asc_cpu::the_core) check_leaks();
        }
        void check_leaks() const {
            if constexpr (!asc_cpu::CHECKED) return;
            for (auto &b : buffers)
                if (b->stage != Stage::Free) {
                    asc_cpu::place().where = b->where;
                    b->stage = Stage::Free;
                    asc_cpu::report("ErrorLeak", "call FreeTensor when it is used up", nullptr, -1,
                                    "queue %u: a tensor was never freed", owner);
                }
        }
    };
    State &need_buffers() const {
        if (!state_ || state_->buffers.empty())
            asc_cpu::fail_with("ErrorBuffer0", "call TPipe::InitBuffer first", "a queue without InitBuffer");
        return *state_;
    }
    asc_cpu::Buffer *mine(asc_cpu::Buffer *b, const char *what) const {
        if (state_)
            for (auto &own : state_->buffers)
                if (own.get() == b) return b;
        asc_cpu::fail_with("ErrorBuffer4", "give it back to the queue it came from",
                           "queue %u: %s of a tensor of another queue", state_ ? state_->owner : 0, what);
    }

    std::shared_ptr<State> state_;
};

}  // namespace AscendC

namespace asc_cpu {
constexpr TPosition queue_from(TPosition p) {
    return p == TPosition::VECIN || p == TPosition::A1 || p == TPosition::B1 || p == TPosition::C1 ? TPosition::GM
           : p == TPosition::A2                                                                    ? TPosition::A1
           : p == TPosition::B2                                                                    ? TPosition::B1
           : p == TPosition::C2                                                                    ? TPosition::C1
                                                                                                   : p;
}
constexpr TPosition queue_to(TPosition p) {
    return p == TPosition::VECOUT ? TPosition::GM : p == TPosition::CO1 ? TPosition::CO2 : p;
}
}  // namespace asc_cpu

namespace AscendC {

template <TPosition position, int32_t depth = 1, auto mask = 0>
class TQue : public TQueBind<asc_cpu::queue_from(position), asc_cpu::queue_to(position), depth, mask> {
   public:
    static constexpr TPosition POSITION = position;
};
template <TPosition position, int32_t depth = 1>
using TSCM = TQueBind<position, TPosition::TSCM, depth>;

/* A buffer that is always there. A copy is the same buffer, and tensors outlive both. */
template <TPosition position = TPosition::LCM>
class TBuf {
   public:
    static constexpr TPosition POSITION = position;
    static constexpr asc_cpu::Space space = asc_cpu::space_of(position);

    template <typename T>
    LocalTensor<T> Get(asc_cpu::Where w = asc_cpu::Where::here()) {
        there(w);
        LocalTensor<T> made(space, buffer_.get(), buffer_->begin, buffer_->bytes);
        made.SetPosition(position);
        return made;
    }
    template <typename T>
    LocalTensor<T> Get(uint32_t length, asc_cpu::Where w = asc_cpu::Where::here()) {
        return GetWithOffset<T>(length, 0, w);
    }
    template <typename T>
    LocalTensor<T> GetWithOffset(uint32_t length, uint32_t offset, asc_cpu::Where w = asc_cpu::Where::here()) {
        there(w);
        if (asc_cpu::CHECKED && asc_cpu::bytes_of<T>(length) + offset > buffer_->bytes)
            asc_cpu::fail_with("ErrorRead3", "make it larger in InitBuffer", "buffer %u has %u bytes, not %llu",
                               buffer_->owner, buffer_->bytes,
                               (unsigned long long)(asc_cpu::bytes_of<T>(length) + offset));
        LocalTensor<T> made(space, buffer_.get(), buffer_->begin + offset, uint32_t(asc_cpu::bytes_of<T>(length)));
        made.SetPosition(position);
        return made;
    }
    /* A TBuf answers as a queue of one tensor that is always there. */
    template <typename T>
    LocalTensor<T> AllocTensor(asc_cpu::Where w = asc_cpu::Where::here()) {
        return Get<T>(w);
    }
    template <typename T>
    bool EnQue(const LocalTensor<T> &) {
        return true;
    }
    template <typename T>
    LocalTensor<T> DeQue(asc_cpu::Where w = asc_cpu::Where::here()) {
        return Get<T>(w);
    }
    template <typename T>
    void FreeTensor(const LocalTensor<T> &) {}
    uint32_t GetBufLen() const { return buffer_ ? buffer_->bytes : 0; }

    void init(uint32_t owner, uint32_t begin, uint32_t bytes) {
        buffer_ = asc_cpu::made({asc_cpu::Stage::Calc, space, false, begin, bytes, owner, 0});
        buffer_->where = asc_cpu::place().where;
    }

   private:
    void there(asc_cpu::Where w) const {
        if (w.line) asc_cpu::place().where = w;
        if (!buffer_) asc_cpu::fail_with("ErrorBuffer0", "call TPipe::InitBuffer first", "a TBuf without InitBuffer");
    }
    std::shared_ptr<asc_cpu::Buffer> buffer_;
};

}  // namespace AscendC
