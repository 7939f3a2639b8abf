/* gert::RuntimeAttrs: attributes by their place in the definition. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include <memory>
#include <string>

#include "continuous_vector.h"

namespace gert {

class RuntimeAttrs {
   public:
    /* A pointer to the attribute's value; null where it is absent. Numbers are read as their first bytes. */
    template <typename T>
    const T *GetAttrPointer(size_t i) const {
        return static_cast<const T *>(i < values_.size() ? values_[i]->pointer : nullptr);
    }
    const int64_t *GetInt(size_t i) const { return GetAttrPointer<int64_t>(i); }
    const float *GetFloat(size_t i) const { return GetAttrPointer<float>(i); }
    const bool *GetBool(size_t i) const { return GetAttrPointer<bool>(i); }
    const char *GetStr(size_t i) const { return GetAttrPointer<char>(i); }
    const TypedContinuousVector<int64_t> *GetListInt(size_t i) const {
        return GetAttrPointer<TypedContinuousVector<int64_t>>(i);
    }
    const TypedContinuousVector<float> *GetListFloat(size_t i) const {
        return GetAttrPointer<TypedContinuousVector<float>>(i);
    }
    const ContinuousVectorVector *GetListListInt(size_t i) const { return GetAttrPointer<ContinuousVectorVector>(i); }
    size_t GetAttrNum() const { return values_.size(); }

    /* Not of the public names: how a caller sets them, in order. */
    void asc_absent() { values_.push_back(std::make_shared<Value>()); }
    void asc_int(int64_t number) {
        Value &value = append();
        std::memcpy(&value.word, &number, sizeof number);
        value.pointer = &value.word;
    }
    void asc_float(float number) {
        Value &value = append();
        std::memcpy(&value.word, &number, sizeof number);
        value.pointer = &value.word;
    }
    void asc_string(const std::string &text) {
        Value &value = append();
        value.text = text;
        value.pointer = value.text.c_str();
    }
    void asc_list(const void *values, size_t count, size_t bytes) {
        Value &value = append();
        value.list.asc_set(values, count, bytes);
        value.pointer = &value.list;
    }

   private:
    struct Value {
        const void *pointer = nullptr;
        uint64_t word = 0;
        std::string text;
        ContinuousVector list;
    };
    Value &append() {
        values_.push_back(std::make_shared<Value>());
        return *values_.back();
    }
    std::vector<std::shared_ptr<Value>> values_;
};

}  // namespace gert
