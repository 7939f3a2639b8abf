/* LocalTensor and GlobalTensor: typed views with their bounds. */
#pragma once

#include "core.h"

namespace AscendC {

enum class TPosition : uint8_t { GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC };
using QuePosition = TPosition;

template <typename A, typename B>
struct IsSameType {
    static constexpr bool value = false;
};
template <typename A>
struct IsSameType<A, A> {
    static constexpr bool value = true;
};

/* Where a buffer of a queue is in its cycle; buffers of TBuf are always Free to use. */
enum class Stage : uint8_t { Calc, Free, Allocated, Queued, Taken };

struct Buffer {
    Stage stage = Stage::Calc;
    TPosition position = TPosition::VECCALC;
    uint32_t begin = 0, bytes = 0, owner = 0, part = 0;
};

template <typename T>
class LocalTensor {
   public:
    using PrimType = T;
    LocalTensor() = default;
    LocalTensor(Buffer *buffer, uint32_t begin, uint32_t bytes) : buffer_(buffer), begin_(begin), bytes_(bytes) {}

    LocalTensor operator[](uint32_t offset) const {
        if (uint64_t(offset) * sizeof(T) > bytes_)
            asc_cpu::fail("ErrorRead3", "%s: element %u of a tensor of %u", where(), offset, GetSize());
        return LocalTensor(buffer_, begin_ + offset * uint32_t(sizeof(T)), bytes_ - offset * uint32_t(sizeof(T)));
    }
    template <typename U>
    LocalTensor<U> ReinterpretCast() const {
        return LocalTensor<U>(buffer_, begin_, bytes_);
    }
    uint32_t GetSize() const { return bytes_ / uint32_t(sizeof(T)); }
    uint64_t GetPhyAddr() const { return begin_; }
    T GetValue(uint32_t i) const { return *read(i, 1, false); }
    void SetValue(uint32_t i, T value) const { *write(i, 1, false) = value; }

    /* The elements [first, first + n), checked to be there and written. vector: read by a vector instruction. */
    const T *read(uint32_t first, uint64_t n, bool vector = true) const {
        check(first, n, "ErrorRead", false, vector);
        asc_cpu::Core &c = asc_cpu::core();
        const uint32_t begin = begin_ + first * uint32_t(sizeof(T)), end = begin + uint32_t(n * sizeof(T));
        for (uint32_t i = begin; i < end; i++)
            if (!c.written[i]) asc_cpu::fail("ErrorRead2", "%s: byte %u was never written", where(), i - begin_);
        if (vector && c.strict)
            for (uint32_t b = begin / asc_cpu::BLOCK; b * asc_cpu::BLOCK < end; b++)
                if (c.writer[b] == c.epoch)
                    asc_cpu::fail("ErrorSync1", "%s: read with no PipeBarrier since a vector instruction wrote it",
                                  where());
        return reinterpret_cast<const T *>(c.ub.data() + begin);
    }
    T *write(uint32_t first, uint64_t n, bool vector = true) const {
        check(first, n, "ErrorWrite", true, vector);
        asc_cpu::Core &c = asc_cpu::core();
        const uint32_t begin = begin_ + first * uint32_t(sizeof(T)), end = begin + uint32_t(n * sizeof(T));
        std::memset(c.written.data() + begin, 1, end - begin);
        if (vector)
            for (uint32_t b = begin / asc_cpu::BLOCK; b * asc_cpu::BLOCK < end; b++) c.writer[b] = c.epoch;
        return reinterpret_cast<T *>(c.ub.data() + begin);
    }
    /* Vector instructions and copies start at blocks. */
    void aligned(const char *kind) const {
        if (begin_ % asc_cpu::BLOCK)
            asc_cpu::fail(kind, "%s: address %u is not aligned to %u bytes", where(), begin_, asc_cpu::BLOCK);
    }
    const char *where() const {
        static char text[4][96];
        static int next = 0;
        char *t = text[next++ % 4];
        if (!buffer_) {
            std::snprintf(t, sizeof text[0], "an empty LocalTensor");
            return t;
        }
        std::snprintf(t, sizeof text[0], "buffer %u (part %u) at byte %u of %u (unified buffer %u)", buffer_->owner,
                      buffer_->part, begin_ - buffer_->begin, buffer_->bytes, asc_cpu::core().ub_total);
        return t;
    }
    Buffer *buffer() const { return buffer_; }
    uint32_t begin() const { return begin_; }

   private:
    void check(uint32_t first, uint64_t n, const char *kind, bool write, bool vector) const {
        char full[16];
        std::snprintf(full, sizeof full, "%s%d", kind, 1);
        if (!buffer_) asc_cpu::fail(full, "%s: it was never allocated", where());
        if (buffer_->stage == Stage::Free) asc_cpu::fail(full, "%s: it was freed", where());
        if (buffer_->stage == Stage::Queued) asc_cpu::fail("ErrorBuffer1", "%s: used between EnQue and DeQue", where());
        if (vector && !write && buffer_->stage == Stage::Allocated && buffer_->position == TPosition::VECIN)
            asc_cpu::fail("ErrorBuffer2", "%s: a VECIN tensor is read before EnQue and DeQue", where());
        if ((uint64_t(first) + n) * sizeof(T) > bytes_) {
            std::snprintf(full, sizeof full, "%s%d", kind, write ? 2 : 3);
            asc_cpu::fail(full, "%s: elements %u to %llu of a tensor of %u", where(), first,
                          (unsigned long long)(first + n), GetSize());
        }
    }

    Buffer *buffer_ = nullptr;
    uint32_t begin_ = 0, bytes_ = 0;
};

template <typename T>
class GlobalTensor {
   public:
    using PrimType = T;
    void SetGlobalBuffer(T *address, uint64_t size = ~uint64_t(0) / sizeof(T)) { address_ = address, size_ = size; }
    GlobalTensor operator[](uint64_t offset) const {
        GlobalTensor part;
        if (offset > size_)
            asc_cpu::fail("ErrorRead3", "element %llu of a GlobalTensor of %llu", (unsigned long long)offset,
                          (unsigned long long)size_);
        part.SetGlobalBuffer(address_ + offset, size_ - offset);
        return part;
    }
    T GetValue(uint64_t i) const { return *read(i, 1); }
    void SetValue(uint64_t i, T value) const { *write(i, 1) = value; }
    uint64_t GetSize() const { return size_; }
    T *GetPhyAddr(uint64_t offset = 0) const { return address_ + offset; }

    const T *read(uint64_t first, uint64_t n) const {
        check(first, n, false);
        return address_ + first;
    }
    T *write(uint64_t first, uint64_t n) const {
        check(first, n, true);
        return address_ + first;
    }

   private:
    void check(uint64_t first, uint64_t n, bool write) const {
        if (!address_) asc_cpu::fail(write ? "ErrorWrite1" : "ErrorRead1", "a GlobalTensor without SetGlobalBuffer");
        if (first > size_ || n > size_ - first)
            asc_cpu::fail(write ? "ErrorWrite2" : "ErrorRead3", "elements %llu to %llu of a GlobalTensor of %llu",
                          (unsigned long long)first, (unsigned long long)(first + n), (unsigned long long)size_);
        asc_cpu::check_global(address_ + first, n * sizeof(T), write);
    }

    T *address_ = nullptr;
    uint64_t size_ = 0;
};

}  // namespace AscendC
