/* ge::Operator as the functions of a host file may ask it: tensors by name or place. Our own implementation of public
 * names. */
#pragma once
#pragma GCC system_header

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ascend_string.h"
#include "types.h"

namespace ge {

using std::string; /* plugins say it behind `using namespace ge` */

class Shape {
   public:
    Shape() = default;
    explicit Shape(const std::vector<int64_t> &dims) : dims_(dims) {}
    size_t GetDimNum() const { return dims_.size(); }
    int64_t GetDim(size_t i) const { return i < dims_.size() ? dims_[i] : 0; }
    std::vector<int64_t> GetDims() const { return dims_; }
    int64_t GetShapeSize() const {
        int64_t size = 1;
        for (int64_t d : dims_) size *= d;
        return size;
    }

   private:
    std::vector<int64_t> dims_;
};

class TensorDesc {
   public:
    TensorDesc() = default;
    explicit TensorDesc(Shape shape, Format format = FORMAT_ND, DataType type = DT_FLOAT)
        : shape_(shape), format_(format), type_(type) {}
    Shape GetShape() const { return shape_; }
    Shape GetOriginShape() const { return shape_; }
    Format GetFormat() const { return format_; }
    Format GetOriginFormat() const { return format_; }
    DataType GetDataType() const { return type_; }
    void SetShape(const Shape &shape) { shape_ = shape; }
    void SetDataType(DataType type) { type_ = type; }
    void SetFormat(Format format) { format_ = format; }

   private:
    Shape shape_;
    Format format_ = FORMAT_ND;
    DataType type_ = DT_UNDEFINED;
};

class Operator {
   public:
    Operator() = default;
    Operator(const char *name, const char *type) : name_(name), type_(type) {}
    graphStatus GetName(AscendString &name) const { return name = name_.c_str(), GRAPH_SUCCESS; }
    graphStatus GetOpType(AscendString &type) const { return type = type_.c_str(), GRAPH_SUCCESS; }
    TensorDesc GetInputDesc(uint32_t i) const { return i < inputs_.size() ? inputs_[i].second : TensorDesc(); }
    TensorDesc GetOutputDesc(uint32_t i) const { return i < outputs_.size() ? outputs_[i].second : TensorDesc(); }
    TensorDesc GetInputDescByName(const char *name) const { return named(inputs_, name); }
    TensorDesc GetOutputDescByName(const char *name) const { return named(outputs_, name); }
    size_t GetInputsSize() const { return inputs_.size(); }
    size_t GetOutputsSize() const { return outputs_.size(); }
    /* What SetAttr gave this operator, of the same type. */
    template <typename T>
    graphStatus GetAttr(const char *name, T &value) const {
        const auto found = attributes_.find(name);
        if (found == attributes_.end() || found->second.type != type_of<T>()) return GRAPH_FAILED;
        value = *static_cast<const T *>(found->second.value.get());
        return GRAPH_SUCCESS;
    }
    template <typename T>
    graphStatus GetAttr(const std::string &name, T &value) const {
        return GetAttr(name.c_str(), value);
    }
    template <typename T>
    Operator &SetAttr(const char *name, const T &value) {
        attributes_[name] = {type_of<T>(), std::make_shared<T>(value)};
        return *this;
    }
    Operator &SetAttr(const char *name, const char *value) { return SetAttr(name, AscendString(value)); }
    template <typename T>
    Operator &SetAttr(const std::string &name, const T &value) {
        return SetAttr(name.c_str(), value);
    }

   private:
    struct Attribute {
        const void *type;
        std::shared_ptr<void> value;
    };
    template <typename T>
    static const void *type_of() {
        static const char key = 0;
        return &key;
    }
    using Tensors = std::vector<std::pair<std::string, TensorDesc>>;
    static TensorDesc named(const Tensors &tensors, const char *name) {
        for (const auto &tensor : tensors)
            if (tensor.first == name) return tensor.second;
        return TensorDesc();
    }
    std::string name_, type_;
    Tensors inputs_, outputs_;
    std::map<std::string, Attribute> attributes_;
};

}  // namespace ge
