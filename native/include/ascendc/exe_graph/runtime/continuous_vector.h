/* Lists that attributes hold. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include <cstdint>
#include <cstring>
#include <vector>

namespace gert {

/* Elements of one type, which whoever reads it knows. */
class ContinuousVector {
   public:
    size_t GetSize() const { return count_; }
    size_t GetCapacity() const { return count_; }
    const void *GetData() const { return words_.data(); }
    void asc_set(const void *values, size_t count, size_t bytes) {
        count_ = count;
        words_.assign((count * bytes + 7) / 8, 0);
        if (count) std::memcpy(words_.data(), values, count * bytes);
    }

   private:
    size_t count_ = 0;
    std::vector<uint64_t> words_;
};

template <typename T>
class TypedContinuousVector : public ContinuousVector {
   public:
    const T *GetData() const { return static_cast<const T *>(ContinuousVector::GetData()); }
};

/* Lists of lists. */
class ContinuousVectorVector {
   public:
    size_t GetSize() const { return lists_.size(); }
    const ContinuousVector *Get(size_t i) const { return i < lists_.size() ? &lists_[i] : nullptr; }
    ContinuousVector &asc_append() { return lists_.emplace_back(), lists_.back(); }

   private:
    std::vector<ContinuousVector> lists_;
};

}  // namespace gert
