/* TPipe, which divides a core's memories into buffers, TBufPool, which divides a part of one, and LocalMemAllocator. */
#pragma once

#include "queue.h"

namespace asc_cpu {

/* Takes `bytes` of a memory, rounded up to blocks. */
inline uint32_t reserve(Space space, uint64_t bytes, uint32_t owner, uint32_t part) {
    Memory &m = core().in(space);
    const uint64_t rounded = (bytes + BLOCK - 1) / BLOCK * BLOCK;
    if (rounded > m.size() - m.used)
        fail_with("ErrorBuffer0", "make tiles smaller or reuse buffers",
                  "buffer %u (part %u) of %llu bytes: the %s holds %u bytes, %u are taken", owner, part,
                  (unsigned long long)rounded, name_of(space), m.size(), m.used);
    const uint32_t begin = m.used;
    m.used += uint32_t(rounded);
    if (space == Space::UB && m.used > core().ub_most) core().ub_most = m.used, core().last_buffer = place().where;
    return begin;
}

/* Buffers are another's from here on; SyncAll still wants a barrier of the kernel's own. */
inline void settle_buffers() {
    const bool storing = core().storing;
    core().barrier_all();
    core().storing = storing && settings().strict;
}

/* Event numbers in use, per pair of pipes. */
struct EventIds {
    uint8_t taken[PIPES][PIPES] = {};
    int32_t free(AscendC::HardEvent event) const {
        const Ends e = ends_of(event);
        const uint8_t bits = taken[index_of(e.from)][index_of(e.to)];
        for (int32_t id = 0; id < 8; id++)
            if (!(bits >> id & 1)) return id;
        fail_with("ErrorSync7", "call ReleaseEventID", "all eight events of %s_%s are in use",
                  name_of_pipe(index_of(e.from)), name_of_pipe(index_of(e.to)));
    }
    uint8_t &of(AscendC::HardEvent event) {
        const Ends e = ends_of(event);
        return taken[index_of(e.from)][index_of(e.to)];
    }
};

}  // namespace asc_cpu

namespace AscendC {

class TPipe;

/* A part of a memory that is divided again. */
template <TPosition position, uint32_t buffers = 4>
class TBufPool {
   public:
    template <TPosition from, TPosition to, int32_t depth, auto mask>
    bool InitBuffer(TQueBind<from, to, depth, mask> &queue, uint8_t count, uint32_t bytes,
                    asc_cpu::Where w = asc_cpu::Where::here()) {
        asc_cpu::at(w);
        queue.init(asc_cpu::core().owners++);
        for (uint32_t part = 0; part < count; part++) queue.add(part, take(bytes), rounded(bytes));
        return true;
    }
    template <TPosition where>
    bool InitBuffer(TBuf<where> &buffer, uint32_t bytes, asc_cpu::Where w = asc_cpu::Where::here()) {
        asc_cpu::at(w);
        const uint32_t begin = take(bytes);
        buffer.init(asc_cpu::core().owners++, begin, rounded(bytes));
        return true;
    }
    template <TPosition where, uint32_t n>
    bool InitBufPool(TBufPool<where, n> &pool, uint32_t bytes, asc_cpu::Where w = asc_cpu::Where::here()) {
        asc_cpu::at(w);
        pool.init(take(bytes), rounded(bytes));
        return true;
    }
    template <TPosition where, uint32_t n, typename P>
    bool InitBufPool(TBufPool<where, n> &pool, uint32_t bytes, P &shared) {
        pool.init(shared.begin(), rounded(bytes));
        return true;
    }
    /* What its queues still do ends before another pool takes the memory. */
    void Reset() {
        asc_cpu::settle_buffers();
        used_ = 0;
    }
    void init(uint32_t begin, uint32_t bytes) { begin_ = begin, bytes_ = bytes, used_ = 0; }
    uint32_t begin() const { return begin_; }

   private:
    static uint32_t rounded(uint32_t bytes) { return (bytes + 31) / 32 * 32; }
    uint32_t take(uint32_t bytes) {
        if (rounded(bytes) > bytes_ - used_)
            asc_cpu::fail_with("ErrorBuffer0", "make the pool larger",
                               "%u bytes of a TBufPool of %u, of which %u are taken", bytes, bytes_, used_);
        used_ += rounded(bytes);
        return begin_ + used_ - rounded(bytes);
    }
    uint32_t begin_ = 0, bytes_ = 0, used_ = 0;
};

class TPipe {
   public:
    TPipe(asc_cpu::Where w = asc_cpu::Where::here()) { Init(w); }
    TPipe(const TPipe &) = delete;
    ~TPipe() { Destroy(); }
    void Init(asc_cpu::Where w = asc_cpu::Where::here()) {
        at(w);
        asc_cpu::Core &c = asc_cpu::core();
        if (c.tpipe == this) return;
        if (c.tpipe && asc_cpu::settings().strict)
            asc_cpu::fail_with("ErrorBuffer5", "call Destroy on the first", "a TPipe while another one is in use");
        before_ = static_cast<TPipe *>(c.tpipe);
        c.tpipe = this;
        if (!before_) c.empty();
    }
    template <TPosition from, TPosition to, int32_t depth, auto mask>
    bool InitBuffer(TQueBind<from, to, depth, mask> &queue, uint8_t count, uint32_t bytes,
                    asc_cpu::Where w = asc_cpu::Where::here()) {
        return at(w), make(queue, count, bytes);
    }
    template <TPosition position>
    bool InitBuffer(TBuf<position> &buffer, uint32_t bytes, asc_cpu::Where w = asc_cpu::Where::here()) {
        at(w);
        const uint32_t owner = asc_cpu::core().owners++,
                       begin = asc_cpu::reserve(TBuf<position>::space, bytes, owner, 0);
        buffer.init(owner, begin, (bytes + 31) / 32 * 32);
        return true;
    }
    /* A buffer as a queue of `count` parts, one behind the other. */
    template <TPosition position>
    bool InitBuffer(TBuf<position> &buffer, uint8_t count, uint32_t bytes, asc_cpu::Where w = asc_cpu::Where::here()) {
        return InitBuffer(buffer, count * ((bytes + 31) / 32 * 32), w);
    }
    template <TPosition position, uint32_t n>
    bool InitBufPool(TBufPool<position, n> &pool, uint32_t bytes, asc_cpu::Where w = asc_cpu::Where::here()) {
        at(w);
        const uint32_t owner = asc_cpu::core().owners++;
        pool.init(asc_cpu::reserve(asc_cpu::space_of(position), bytes, owner, 0), (bytes + 31) / 32 * 32);
        return true;
    }
    template <TPosition position, uint32_t n, typename P>
    bool InitBufPool(TBufPool<position, n> &pool, uint32_t bytes, P &shared) {
        pool.init(shared.begin(), (bytes + 31) / 32 * 32);
        return true;
    }
    template <typename Q>
    bool init_buffer(Q &queue, uint8_t count, uint32_t bytes, asc_cpu::Where w = asc_cpu::Where::here()) {
        return InitBuffer(queue, count, bytes, w);
    }
    template <typename B>
    bool init_buffer(B &buffer, uint32_t bytes, asc_cpu::Where w = asc_cpu::Where::here()) {
        return InitBuffer(buffer, bytes, w);
    }
    /* The first event that nothing holds; Fetch does not take it. */
    TEventID FetchEventID(HardEvent event, asc_cpu::Where w = asc_cpu::Where::here()) {
        at(w);
        return TEventID(ids_.free(event));
    }
    TEventID AllocEventID(HardEvent event, asc_cpu::Where w = asc_cpu::Where::here()) {
        at(w);
        const int32_t id = ids_.free(event);
        ids_.of(event) = uint8_t(ids_.of(event) | 1 << id);
        return TEventID(id);
    }
    void ReleaseEventID(HardEvent event, int32_t id) { ids_.of(event) = uint8_t(ids_.of(event) & ~(1 << (id & 7))); }
    template <HardEvent event>
    TEventID FetchEventID(asc_cpu::Where w = asc_cpu::Where::here()) {
        return FetchEventID(event, w);
    }
    template <HardEvent event>
    TEventID AllocEventID(asc_cpu::Where w = asc_cpu::Where::here()) {
        return AllocEventID(event, w);
    }
    template <HardEvent event>
    void ReleaseEventID(int32_t id) {
        ReleaseEventID(event, id);
    }
    /* All buffers are given back. */
    void Reset() {
        asc_cpu::core().barrier_all();
        for (asc_cpu::Memory &m : asc_cpu::core().memory) m.used = 0;
        ids_ = {};
    }
    void Destroy() {
        if (!asc_cpu::the_core || asc_cpu::core().tpipe != this) return;
        asc_cpu::core().tpipe = before_;
        if (before_ || std::uncaught_exceptions()) return;
        asc_cpu::settle_buffers();
    }
    /* `length` elements at an address of a position's memory. */
    template <TPosition position, typename T>
    LocalTensor<T> GetAbsAddr(int32_t offset, int32_t length) const {
        return LocalTensor<T>(position, uint32_t(offset), uint32_t(length));
    }

   private:
    static void at(asc_cpu::Where w) {
        if (w.line) asc_cpu::place().where = w;
    }
    template <typename Q>
    bool make(Q &queue, uint32_t count, uint32_t bytes) {
        asc_cpu::Core &c = asc_cpu::core();
        const uint32_t owner = c.owners++;
        queue.init(owner);
        for (uint32_t part = 0; part < count; part++) {
            const uint32_t begin = asc_cpu::reserve(Q::space, bytes, owner, part);
            queue.add(part, begin, c.in(Q::space).used - begin);
        }
        return true;
    }
    asc_cpu::EventIds ids_;
    TPipe *before_ = nullptr;
};

}  // namespace AscendC

inline AscendC::TPipe *GetTPipePtr() {
    return static_cast<AscendC::TPipe *>(asc_cpu::core().tpipe);
}

namespace AscendC {
using ::GetTPipePtr;

/* All that is left of a memory, until another buffer takes it. */
template <typename T, TPosition position>
inline bool PopStackBuffer(LocalTensor<T> &tensor) {
    constexpr asc_cpu::Space space = asc_cpu::space_of(position);
    const asc_cpu::Memory &m = asc_cpu::core().in(space);
    tensor = LocalTensor<T>(space, nullptr, m.used, (m.size() - m.used) / asc_cpu::BLOCK * asc_cpu::BLOCK);
    tensor.SetPosition(position);
    return tensor.GetSize() > 0;
}

/* Takes tensors one behind the other from a memory, without queues. */
template <Hardware memory = Hardware::UB>
class LocalMemAllocator {
    static constexpr asc_cpu::Space space = asc_cpu::Space(memory);

   public:
    template <typename T>
    LocalTensor<T> Alloc(uint32_t size, asc_cpu::Where w = asc_cpu::Where::here()) {
        return Alloc<TPosition::VECCALC, T>(size, w);
    }
    template <TPosition position, typename T>
    LocalTensor<T> Alloc(uint32_t size, asc_cpu::Where w = asc_cpu::Where::here()) {
        asc_cpu::at(w);
        const uint32_t bytes = uint32_t(asc_cpu::bytes_of<T>(size));
        const uint32_t begin = asc_cpu::reserve(space, bytes, 0, 0);
        LocalTensor<T> made(space, nullptr, begin, bytes);
        made.SetPosition(position);
        return made;
    }
    template <TPosition position, typename T, uint32_t size>
    LocalTensor<T> Alloc(asc_cpu::Where w = asc_cpu::Where::here()) {
        return Alloc<position, T>(size, w);
    }
    template <typename T, uint32_t size>
    LocalTensor<T> Alloc(asc_cpu::Where w = asc_cpu::Where::here()) {
        return Alloc<TPosition::VECCALC, T>(size, w);
    }
    uint32_t GetCurAddr() const { return asc_cpu::core().in(space).used; }
};

}  // namespace AscendC
