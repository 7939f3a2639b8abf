/* gert::Shape and StorageShape. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace gert {

class Shape {
   public:
    static constexpr size_t kMaxDimNum = 25;
    static constexpr int64_t kInvalidDimValue = INT64_MIN;

    Shape() = default;
    Shape(std::initializer_list<int64_t> dims) {
        for (int64_t d : dims) AppendDim(d);
    }
    size_t GetDimNum() const { return count_; }
    void SetDimNum(size_t n) { count_ = n < kMaxDimNum ? n : kMaxDimNum; }
    int64_t GetDim(size_t i) const { return i < count_ ? dims_[i] : kInvalidDimValue; }
    int64_t operator[](size_t i) const { return GetDim(i); }
    int64_t &operator[](size_t i) { return dims_[i < kMaxDimNum ? i : 0]; }
    void SetDim(size_t i, int64_t value) {
        if (i < kMaxDimNum) dims_[i] = value;
    }
    Shape &AppendDim(int64_t value) {
        if (count_ < kMaxDimNum) dims_[count_++] = value;
        return *this;
    }
    bool IsScalar() const { return count_ == 0; }
    void SetScalar() { count_ = 0; }
    /* The number of elements; 1 for a scalar. */
    int64_t GetShapeSize() const {
        int64_t size = 1;
        for (size_t i = 0; i < count_; i++) size *= dims_[i];
        return size;
    }
    bool operator==(const Shape &other) const {
        if (count_ != other.count_) return false;
        for (size_t i = 0; i < count_; i++)
            if (dims_[i] != other.dims_[i]) return false;
        return true;
    }
    bool operator!=(const Shape &other) const { return !(*this == other); }

   private:
    size_t count_ = 0;
    int64_t dims_[kMaxDimNum] = {};
};

/* How many elements lie between neighbours of each dimension. */
class Stride {
   public:
    Stride() = default;
    Stride(std::initializer_list<int64_t> strides) : strides_(strides) {}
    size_t GetDimNum() const { return strides_.GetDimNum(); }
    int64_t GetStride(size_t i) const { return strides_.GetDim(i); }
    int64_t operator[](size_t i) const { return strides_.GetDim(i); }

   private:
    Shape strides_;
};

/* The shape a tensor has in memory, and the one it had in the model. Here both are one. */
class StorageShape {
   public:
    StorageShape() = default;
    StorageShape(std::initializer_list<int64_t> origin, std::initializer_list<int64_t> storage)
        : origin_(origin), storage_(storage) {}
    explicit StorageShape(const Shape &shape) : origin_(shape), storage_(shape) {}
    const Shape &GetOriginShape() const { return origin_; }
    const Shape &GetStorageShape() const { return storage_; }
    Shape &MutableOriginShape() { return origin_; }
    Shape &MutableStorageShape() { return storage_; }
    bool operator==(const StorageShape &other) const { return origin_ == other.origin_ && storage_ == other.storage_; }
    bool operator!=(const StorageShape &other) const { return !(*this == other); }

   private:
    Shape origin_, storage_;
};

}  // namespace gert
