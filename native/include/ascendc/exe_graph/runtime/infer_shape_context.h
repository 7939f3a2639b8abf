/* gert::InferShapeContext and InferDataTypeContext. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include <deque>

#include "kernel_context.h"

namespace gert {

class InferShapeContext : public ShapedContext {
   public:
    using ShapedContext::ShapedContext;
    const Shape *GetInputShape(size_t i) const { return origin(node_->input(i)); }
    const Shape *GetOptionalInputShape(size_t place) const { return origin(node_->input(place, 0)); }
    const Shape *GetRequiredInputShape(size_t place) const { return origin(node_->input(place, 0)); }
    const Shape *GetDynamicInputShape(size_t place, size_t i) const { return origin(node_->input(place, i)); }
    Shape *GetOutputShape(size_t i) {
        Tensor *tensor = node_->output(i);
        return tensor ? &tensor->asc_shape()->MutableOriginShape() : nullptr;
    }

   private:
    static const Shape *origin(const Tensor *tensor) { return tensor ? &tensor->GetOriginShape() : nullptr; }
};

class InferDataTypeContext : public ExtendedKernelContext {
   public:
    using ExtendedKernelContext::ExtendedKernelContext;
    ge::DataType GetInputDataType(size_t i) const { return type(node_->input(i)); }
    ge::DataType GetOptionalInputDataType(size_t place) const { return type(node_->input(place, 0)); }
    ge::DataType GetRequiredInputDataType(size_t place) const { return type(node_->input(place, 0)); }
    ge::DataType GetDynamicInputDataType(size_t place, size_t i) const { return type(node_->input(place, i)); }
    ge::DataType GetOutputDataType(size_t i) const { return type(node_->output(i)); }
    ge::graphStatus SetOutputDataType(size_t i, ge::DataType type) {
        Tensor *tensor = node_->output(i);
        if (!tensor) return ge::GRAPH_FAILED;
        tensor->asc_desc()->SetDataType(type);
        return ge::GRAPH_SUCCESS;
    }

   private:
    static ge::DataType type(const Tensor *tensor) { return tensor ? tensor->GetDataType() : ge::DT_UNDEFINED; }
};

/* The least and the most that a shape may be. */
template <typename T>
class Range {
   public:
    Range() = default;
    Range(T *least, T *most) : least_(least), most_(most) {}
    const T *GetMin() const { return least_; }
    const T *GetMax() const { return most_; }
    T *GetMin() { return least_; }
    T *GetMax() { return most_; }
    void SetMin(T *least) { least_ = least; }
    void SetMax(T *most) { most_ = most; }

   private:
    T *least_ = nullptr, *most_ = nullptr;
};

/* Both ends of an input's range are its shape. Those of an output's begin as the shape that is known of it. */
class InferShapeRangeContext : public InferShapeContext {
   public:
    explicit InferShapeRangeContext(asc_host::Node *node) : InferShapeContext(node) {
        for (size_t i = 0; i < node->outputs.size(); i++) {
            ends_.push_back(*GetOutputShape(i));
            ends_.push_back(*GetOutputShape(i));
            outputs_.push_back(Range<Shape>(&ends_[2 * i], &ends_[2 * i + 1]));
        }
    }
    const Range<Shape> *GetInputShapeRange(size_t i) const { return of(GetInputShape(i)); }
    const Range<Shape> *GetOptionalInputShapeRange(size_t place) const { return of(GetOptionalInputShape(place)); }
    const Range<Shape> *GetRequiredInputShapeRange(size_t place) const { return of(GetRequiredInputShape(place)); }
    const Range<Shape> *GetDynamicInputShapeRange(size_t place, size_t i) const {
        return of(GetDynamicInputShape(place, i));
    }
    Range<Shape> *GetOutputShapeRange(size_t i) { return i < outputs_.size() ? &outputs_[i] : nullptr; }

   private:
    const Range<Shape> *of(const Shape *shape) const {
        if (!shape) return nullptr;
        inputs_.push_back(Range<Shape>(const_cast<Shape *>(shape), const_cast<Shape *>(shape)));
        return &inputs_.back();
    }
    std::deque<Shape> ends_;
    std::deque<Range<Shape>> outputs_;
    mutable std::deque<Range<Shape>> inputs_;
};

}  // namespace gert
