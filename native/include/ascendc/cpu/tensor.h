/* LocalTensor and GlobalTensor: typed views with their bounds. */
#pragma once

#include "params.h"
#include "position.h"
#include "tensor_address.h"

namespace AscendC {

/* A, B: IsSameType<A, B>::value, as std::is_same_v. */
template <typename A, typename B>
struct IsSameType {
    static constexpr bool value = std::is_same_v<A, B>;
};

enum class CacheMode : uint8_t { CACHE_MODE_DISABLE, CACHE_MODE_NORMAL, CACHE_MODE_LAST, CACHE_MODE_PERSISTENT };
enum class CacheRwMode : uint8_t { READ = 1, WRITE = 2, RW = 3 };

/* What a tensor may be told about its shape. */
struct ShapeInfo {
    uint8_t shapeDim = 0, originalShapeDim = 0;
    uint32_t shape[8] = {}, originalShape[8] = {};
    int dataFormat = 0;
    ShapeInfo() = default;
    /* format: an int or DataFormat */
    template <typename F = int>
    ShapeInfo(uint8_t dims, const uint32_t *sizes, F format = F(0))
        : shapeDim(dims), originalShapeDim(dims), dataFormat(int(format)) {
        for (uint32_t i = 0; i < dims && i < 8; i++) shape[i] = originalShape[i] = sizes[i];
    }
    template <typename F = int>
    ShapeInfo(uint8_t dims, const uint32_t *sizes, uint8_t originals, const uint32_t *original, F format = F(0))
        : shapeDim(dims), originalShapeDim(originals), dataFormat(int(format)) {
        for (uint32_t i = 0; i < dims && i < 8; i++) shape[i] = sizes[i];
        for (uint32_t i = 0; i < originals && i < 8; i++) originalShape[i] = original[i];
    }
};

/* Shapes live as long as the run, so that tensors stay small. */
inline const ShapeInfo *keep_shape(const ShapeInfo &info) {
    static std::deque<ShapeInfo> shapes;
    shapes.push_back(info);
    return &shapes.back();
}

template <typename T>
class LocalTensor;

/* An index in brackets, and where they stand. */
struct Offset {
    uint64_t value;
    asc_cpu::Where where;
    template <typename I>
    Offset(I i, asc_cpu::Where w = asc_cpu::Where::here()) : value(uint64_t(i)), where(w) {}
};

/* t(i) = x: an element as something to assign to. */
template <typename T>
struct Element {
    const LocalTensor<T> tensor;
    uint32_t index;
    operator T() const { return tensor.GetValue(index); }
    Element(const LocalTensor<T> &of, uint32_t offset) : tensor(of), index(offset) {}
    Element(const Element &) = default;
    const Element &operator=(T value) const {
        tensor.SetValue(index, value);
        return *this;
    }
    const Element &operator=(const Element &other) const { return *this = T(other); }
    const Element &operator+=(T value) const { return *this = T(T(*this) + value); }
    const Element &operator-=(T value) const { return *this = T(T(*this) - value); }
    const Element &operator*=(T value) const { return *this = T(T(*this) * value); }
    const Element &operator/=(T value) const { return *this = T(T(*this) / value); }
    const Element &operator++() const { return *this += T(1); }
    const Element &operator--() const { return *this -= T(1); }
};

/* z = x + y of tensors: computed by the assignment, which knows where to. */
template <typename T>
struct Expression {
    void (*compute)(const LocalTensor<T> &to, const LocalTensor<T> &left, const LocalTensor<T> &right);
    const LocalTensor<T> &left, &right;
};

/* mask = x < y of tensors: a bit for each element of x. */
template <typename T>
struct Comparison {
    CMPMODE mode;
    const LocalTensor<T> &left, &right;
};

template <typename T>
class LocalTensor {
   public:
    using PrimType = T;
    [[no_unique_address]] asc_cpu::TensorAddress<LocalTensor> address_;

    LocalTensor() = default;
    LocalTensor(asc_cpu::Space space, asc_cpu::Buffer *buffer, uint32_t begin, uint32_t bytes)
        : buffer_(buffer), at_(asc_cpu::core().in(space).data() + begin), bytes_(bytes), space_(space) {}
    /* `size` elements at an address of a position's memory, without a queue or buffer. */
    LocalTensor(TPosition position, uint32_t address, uint32_t size)
        : LocalTensor(asc_cpu::space_of(position), nullptr, address, uint32_t(asc_cpu::bytes_of<T>(size))) {
        position_ = position;
    }
    explicit LocalTensor(uint32_t address)
        : LocalTensor(asc_cpu::Space::UB, nullptr, address, asc_cpu::core().in(asc_cpu::Space::UB).size() - address) {}
    LocalTensor(const LocalTensor &) = default;
    LocalTensor &operator=(const LocalTensor &other) {
        buffer_ = other.buffer_, at_ = other.at_, bytes_ = other.bytes_;
        space_ = other.space_, position_ = other.position_, shape_ = other.shape_;
        return *this;
    }
    void operator=(const Expression<T> &value) { value.compute(*this, value.left, value.right); }
    template <typename S>
    void operator=(const Comparison<S> &value) {
        Compare(*this, value.left, value.right, value.mode, value.left.GetSize(), asc_cpu::Where::nowhere());
    }

    LocalTensor operator[](Offset index) const {
        const uint32_t offset = uint32_t(index.value);
        const uint64_t bytes = asc_cpu::bytes_of<T>(offset);
        if (asc_cpu::CHECKED && bytes > bytes_) asc_cpu::at(index.where);
        if (asc_cpu::CHECKED && bytes > bytes_)
            asc_cpu::fail_with("ErrorRead3", "check the offset and the size of the buffer",
                               "%s: element %u of a tensor of %u", where(), offset, GetSize());
        LocalTensor part = *this;
        part.at_ += bytes, part.bytes_ -= uint32_t(bytes);
        return part;
    }
    Element<T> operator()(uint32_t offset) const { return {*this, offset}; }
    template <typename U>
    LocalTensor<U> ReinterpretCast() const {
        if (!at_) return LocalTensor<U>();
        LocalTensor<U> other(space_, buffer_, begin(), bytes_);
        other.SetPosition(position_);
        return other;
    }
    uint32_t GetSize() const { return uint32_t(uint64_t(bytes_) * 8 / asc_cpu::bits_of<T>); }
    uint32_t GetLength() const { return bytes_; }
    void SetSize(uint32_t size) { bytes_ = uint32_t(asc_cpu::bytes_of<T>(size)); }
    void SetBufferLen(uint32_t bytes) { bytes_ = bytes; }
    void SetAddr(uint32_t address) { at_ = asc_cpu::core().in(space_).data() + address; }
    void SetAddr(const TBuffAddr &address) {
        const TPosition position = TPosition(address.logicPos);
        const asc_cpu::Space wanted = position == TPosition::GM ? space_ : asc_cpu::space_of(position);
        const bool moves = wanted != space_ && there() && address.bufferAddr == GetPhyAddr();
        const asc_cpu::Spot at = moves ? asc_cpu::Spot{wanted, begin()} : asc_cpu::spot_of(address.bufferAddr, wanted);
        const uint32_t rest = asc_cpu::core().in(at.space).size() - at.begin;
        const uint32_t bytes = address.dataLen && address.dataLen < rest ? address.dataLen : rest;
        *this = LocalTensor(at.space, at.space == space_ ? buffer_ : nullptr, at.begin, bytes);
        position_ = position;
    }
    TBuffAddr GetAddress() const {
        return {uint8_t(there() ? position_ : TPosition::GM), 0, bytes_, there() ? GetPhyAddr() : 0, begin_if_there()};
    }
    /* `size` elements at `offset` bytes of the tensor's memory. */
    void InitBuffer(uint32_t offset, uint32_t size) {
        *this = LocalTensor(space_, nullptr, offset, uint32_t(asc_cpu::bytes_of<T>(size)));
    }
    void SetAddrWithOffset(const LocalTensor &other, uint32_t offset) { *this = other[offset]; }
    /* An address that the snake_case instructions take. */
    uint64_t GetPhyAddr(uint32_t offset = 0) const {
        return uint64_t(reinterpret_cast<uintptr_t>(data() + asc_cpu::bytes_of<T>(offset) / sizeof(T)));
    }
    TPosition GetPosition() const { return position_; }
    void SetPosition(TPosition position) { position_ = position; }
    void SetUserTag(uint32_t tag) {
        if (buffer_) buffer_->user = tag;
    }
    uint32_t GetUserTag() const { return buffer_ ? buffer_->user : 0; }
    void SetShapeInfo(const ShapeInfo &info) { shape_ = keep_shape(info); }
    ShapeInfo GetShapeInfo() const { return shape_ ? *shape_ : ShapeInfo(); }

    T GetValue(uint32_t i, asc_cpu::Where w = asc_cpu::Where::here()) const {
        if constexpr (asc_cpu::CHECKED) {
            if (!asc_cpu::scalar_reads(w, buffer_, space_, at_, bytes_, uint64_t(i) * sizeof(T), sizeof(T)) ||
                asc_cpu::bits_of<T> == 4)
                asc_cpu::scalar_issue("GetValue", w, reads(i, 1).aligned(1));
        }
        if constexpr (asc_cpu::bits_of<T> == 4) {
            const int8_t both = reinterpret_cast<const int8_t *>(bytes())[i / 2];
            return T(i % 2 ? both >> 4 : int8_t(both << 4) >> 4);
        } else {
            return data()[i];
        }
    }
    template <typename V>
    void SetValue(uint32_t i, V value, asc_cpu::Where w = asc_cpu::Where::here()) const {
        if constexpr (asc_cpu::CHECKED) {
            if (!asc_cpu::scalar_writes(w, buffer_, space_, at_, bytes_, uint64_t(i) * sizeof(T), sizeof(T)) ||
                asc_cpu::bits_of<T> == 4)
                asc_cpu::scalar_issue("SetValue", w, writes(i, 1).aligned(1));
        }
        if constexpr (asc_cpu::bits_of<T> == 4) {
            uint8_t &both = bytes()[i / 2];
            both = uint8_t(i % 2 ? (both & 15) | (int(value) & 15) << 4 : (both & 0xF0) | (int(value) & 15));
        } else {
            data()[i] = T(value);
        }
    }

    /* Operands of an instruction: elements [first, first + n), or runs of bytes. */
    asc_cpu::Operand reads(uint64_t first, uint64_t n) const { return operand(false, run(first, n)); }
    asc_cpu::Operand writes(uint64_t first, uint64_t n) const { return operand(true, run(first, n)); }
    asc_cpu::Operand reads(uint64_t n) const { return reads(0, n); }
    asc_cpu::Operand writes(uint64_t n) const { return writes(0, n); }
    asc_cpu::Operand reads_runs(const std::vector<asc_cpu::Run> &runs) const { return operand(false, runs); }
    asc_cpu::Operand writes_runs(const std::vector<asc_cpu::Run> &runs) const { return operand(true, runs); }

    uint8_t *bytes() const { return at_; }
    T *data() const { return reinterpret_cast<T *>(bytes()); }
    asc_cpu::Space space() const { return space_; }
    asc_cpu::Buffer *buffer() const { return buffer_; }
    uint32_t begin() const { return uint32_t(at_ - asc_cpu::core().in(space_).data()); }
    bool there() const { return at_ != nullptr; }
    const char *where() const {
        static char text[4][128];
        static int next = 0;
        char *t = text[next++ % 4];
        if (at_)
            std::snprintf(t, sizeof text[0], "%s", asc_cpu::Name(operand(false, asc_cpu::Run{})).text);
        else
            std::snprintf(t, sizeof text[0], "an empty LocalTensor");
        return t;
    }

    LocalTensor set_size(uint32_t size) { return SetSize(size), *this; }
    T get_value(uint32_t i, asc_cpu::Where w = asc_cpu::Where::here()) const { return GetValue(i, w); }
    template <typename V>
    void set_value(uint32_t i, V value, asc_cpu::Where w = asc_cpu::Where::here()) const {
        SetValue(i, value, w);
    }
    uint32_t get_size() const { return GetSize(); }
    uint64_t get_phy_addr() const { return GetPhyAddr(); }

   private:
    uint64_t begin_if_there() const { return there() ? begin() : 0; }
    static asc_cpu::Run run(uint64_t first, uint64_t n) {
        const uint64_t begin = asc_cpu::bytes_of<T>(first), end = (n * asc_cpu::bits_of<T> + 7) / 8;
        return {int64_t(begin), end, 1, 0};
    }
    asc_cpu::Operand operand(bool write, const asc_cpu::Run &run) const {
        return {space_, write, asc_cpu::bits_of<T>, asc_cpu::BLOCK, buffer_, bytes(), bytes_, run};
    }
    asc_cpu::Operand operand(bool write, const std::vector<asc_cpu::Run> &runs) const {
        asc_cpu::Operand made = operand(write, runs.empty() ? asc_cpu::Run{} : runs[0]);
        if (runs.size() > 1) made.more = runs.data() + 1, made.n_more = uint32_t(runs.size() - 1);
        return made;
    }

    asc_cpu::Buffer *buffer_ = nullptr;
    uint8_t *at_ = nullptr;
    uint32_t bytes_ = 0;
    asc_cpu::Space space_ = asc_cpu::Space::UB;
    TPosition position_ = TPosition::VECCALC;
    const ShapeInfo *shape_ = nullptr;
};

template <typename T>
struct GlobalElement;

template <typename T>
class GlobalTensor {
   public:
    using PrimType = T;
    void SetGlobalBuffer(T *address, uint64_t size) { address_ = address, size_ = size; }
    void SetGlobalBuffer(T *address) { address_ = address, size_ = ~uint64_t(0) / 16; }
    void set_global_buffer(T *address, uint64_t size = ~uint64_t(0) / 16) { SetGlobalBuffer(address, size); }
    GlobalTensor operator[](Offset index) const {
        const uint64_t offset = index.value;
        const bool outside = asc_cpu::CHECKED && offset > size_ && asc_cpu::settings().strict;
        if (outside) asc_cpu::at(index.where);
        if (outside)
            asc_cpu::fail_with("ErrorRead3", "check the offset of the block", "element %llu of a GlobalTensor of %llu",
                               (unsigned long long)offset, (unsigned long long)size_);
        GlobalTensor part = *this;
        part.address_ += asc_cpu::bytes_of<T>(offset) / sizeof(T), part.size_ = offset > size_ ? 0 : size_ - offset;
        return part;
    }
    GlobalElement<T> operator()(uint64_t offset) const { return {*this, offset}; }
    template <typename U>
    GlobalTensor<U> ReinterpretCast() const {
        GlobalTensor<U> other;
        other.SetGlobalBuffer(reinterpret_cast<U *>(address_), size_ * asc_cpu::bits_of<T> / asc_cpu::bits_of<U>);
        return other;
    }
    T GetValue(uint64_t i, asc_cpu::Where w = asc_cpu::Where::here()) const {
        if constexpr (asc_cpu::CHECKED) asc_cpu::scalar_issue("GetValue", w, reads(i, 1));
        return address_[i];
    }
    template <typename V>
    void SetValue(uint64_t i, V value, asc_cpu::Where w = asc_cpu::Where::here()) const {
        const T stored = T(value);
        if constexpr (asc_cpu::CHECKED) asc_cpu::scalar_issue("SetValue", w, writes(i, 1).storing(&stored));
        address_[i] = stored;
    }
    T get_value(uint64_t i, asc_cpu::Where w = asc_cpu::Where::here()) const { return GetValue(i, w); }
    uint64_t GetSize() const { return size_; }
    T *GetPhyAddr(uint64_t offset = 0) const { return address_ + asc_cpu::bytes_of<T>(offset) / sizeof(T); }
    void SetShapeInfo(const ShapeInfo &info) { shape_ = keep_shape(info); }
    ShapeInfo GetShapeInfo() const { return shape_ ? *shape_ : ShapeInfo(); }
    template <CacheRwMode mode = CacheRwMode::RW>
    void SetL2CacheHint(CacheMode) {}

    asc_cpu::Operand reads(uint64_t first, uint64_t n) const { return operand(false, first, n); }
    asc_cpu::Operand writes(uint64_t first, uint64_t n) const { return operand(true, first, n); }
    asc_cpu::Operand reads_runs(const std::vector<asc_cpu::Run> &runs) const { return operand(false, runs); }
    asc_cpu::Operand writes_runs(const std::vector<asc_cpu::Run> &runs) const { return operand(true, runs); }
    T *data() const { return address_; }
    uint8_t *bytes() const { return reinterpret_cast<uint8_t *>(address_); }

   private:
    asc_cpu::Operand operand(bool write, uint64_t first, uint64_t n) const {
        const asc_cpu::Run run{int64_t(asc_cpu::bytes_of<T>(first)), (n * asc_cpu::bits_of<T> + 7) / 8, 1, 0};
        return {asc_cpu::Space::GM, write, asc_cpu::bits_of<T>, 1, nullptr, bytes(), limit(), run};
    }
    asc_cpu::Operand operand(bool write, const std::vector<asc_cpu::Run> &runs) const {
        asc_cpu::Operand made = operand(write, 0, 0);
        if (!runs.empty()) made.run = runs[0];
        if (runs.size() > 1) made.more = runs.data() + 1, made.n_more = uint32_t(runs.size() - 1);
        return made;
    }
    uint64_t limit() const { return asc_cpu::bytes_of<T>(size_); }

    T *address_ = nullptr;
    uint64_t size_ = 0;
    const ShapeInfo *shape_ = nullptr;
};

/* An element of a tensor in global memory, as a number or as what is assigned to. */
template <typename T>
struct GlobalElement {
    const GlobalTensor<T> tensor;
    uint64_t index;
    GlobalElement(const GlobalTensor<T> &of, uint64_t offset) : tensor(of), index(offset) {}
    GlobalElement(const GlobalElement &) = default;
    operator T() const { return tensor.GetValue(index); }
    const GlobalElement &operator=(T value) const {
        tensor.SetValue(index, value);
        return *this;
    }
    const GlobalElement &operator=(const GlobalElement &other) const { return *this = T(other); }
    const GlobalElement &operator+=(T value) const { return *this = T(T(*this) + value); }
    const GlobalElement &operator-=(T value) const { return *this = T(T(*this) - value); }
    const GlobalElement &operator*=(T value) const { return *this = T(T(*this) * value); }
    const GlobalElement &operator/=(T value) const { return *this = T(T(*this) / value); }
    const GlobalElement &operator++() const { return *this += T(1); }
    const GlobalElement &operator--() const { return *this -= T(1); }
};

}  // namespace AscendC
