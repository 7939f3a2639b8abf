/* The host side of an operator on a CPU: shapes, contexts and registration. Our own implementation of public names. */
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../tiling/platform/platform_ascendc.h"

namespace ge {

using graphStatus = uint32_t;
constexpr graphStatus GRAPH_SUCCESS = 0, GRAPH_FAILED = 0xFFFFFFFF;

enum DataType {
    DT_FLOAT,
    DT_FLOAT16,
    DT_INT8,
    DT_INT32,
    DT_UINT8,
    DT_INT16 = 6,
    DT_UINT16,
    DT_UINT32,
    DT_INT64,
    DT_UINT64,
    DT_DOUBLE,
    DT_BOOL,
    DT_STRING,
    DT_COMPLEX64 = 16,
    DT_COMPLEX128,
    DT_BF16 = 27,
    DT_UNDEFINED
};
enum Format { FORMAT_NCHW, FORMAT_NHWC, FORMAT_ND, FORMAT_NC1HWC0, FORMAT_FRACTAL_Z, FORMAT_FRACTAL_NZ = 29 };

inline int GetSizeByDataType(DataType type) {
    switch (type) {
        case DT_INT8:
        case DT_UINT8:
        case DT_BOOL: return 1;
        case DT_FLOAT16:
        case DT_BF16:
        case DT_INT16:
        case DT_UINT16: return 2;
        case DT_FLOAT:
        case DT_INT32:
        case DT_UINT32: return 4;
        case DT_COMPLEX128: return 16;
        default: return 8;
    }
}

}  // namespace ge

namespace gert {

class Shape {
   public:
    size_t GetDimNum() const { return dims_.size(); }
    int64_t GetDim(size_t i) const { return i < dims_.size() ? dims_[i] : 0; }
    int64_t operator[](size_t i) const { return GetDim(i); }
    void SetDimNum(size_t n) { dims_.resize(n); }
    void SetDim(size_t i, int64_t value) { dims_.at(i) = value; }
    void AppendDim(int64_t value) { dims_.push_back(value); }
    int64_t GetShapeSize() const {
        int64_t size = 1;
        for (int64_t d : dims_) size *= d;
        return size;
    }

   private:
    std::vector<int64_t> dims_;
};

struct StorageShape {
    Shape shape;
    const Shape &GetStorageShape() const { return shape; }
    const Shape &GetOriginShape() const { return shape; }
};

struct CompileTimeTensorDesc {
    ge::DataType type = ge::DT_UNDEFINED;
    ge::DataType GetDataType() const { return type; }
};

/* Attributes by their place in the definition; each of one kind. */
struct RuntimeAttrs {
    std::vector<float> floats;
    std::vector<int64_t> ints;
    std::unique_ptr<bool[]> bools;
    const float *GetFloat(size_t i) const { return i < floats.size() ? &floats[i] : nullptr; }
    const int64_t *GetInt(size_t i) const { return i < ints.size() ? &ints[i] : nullptr; }
    const bool *GetBool(size_t i) const { return i < ints.size() ? &bools[i] : nullptr; }
    void set(const double *values, size_t n) {
        bools = std::make_unique<bool[]>(n);
        for (size_t i = 0; i < n; i++) {
            floats.push_back(float(values[i]));
            ints.push_back(int64_t(values[i]));
            bools[i] = values[i] != 0;
        }
    }
};

struct TilingData {
    std::vector<uint64_t> room = std::vector<uint64_t>(8192);
    size_t used = 0;
    void *GetData() { return room.data(); }
    size_t GetCapacity() const { return room.size() * sizeof room[0]; }
    void SetDataSize(size_t n) { used = n; }
};

struct TilingContext {
    std::vector<StorageShape> inputs, outputs;
    std::vector<CompileTimeTensorDesc> input_types, output_types;
    RuntimeAttrs attributes;
    TilingData tiling;
    fe::PlatFormInfos platform;
    std::vector<size_t> workspaces;
    uint32_t block_dim = 0, schedule_mode = 0;
    uint64_t key = 0;

    std::vector<bool> absent; /* of optional inputs */
    const StorageShape *GetInputShape(size_t i) const { return &inputs.at(i); }
    const StorageShape *GetOptionalInputShape(size_t i) const { return absent.at(i) ? nullptr : &inputs.at(i); }
    const StorageShape *GetOutputShape(size_t i) const { return &outputs.at(i); }
    const CompileTimeTensorDesc *GetInputDesc(size_t i) const { return &input_types.at(i); }
    const CompileTimeTensorDesc *GetOutputDesc(size_t i) const { return &output_types.at(i); }
    const RuntimeAttrs *GetAttrs() const { return &attributes; }
    TilingData *GetRawTilingData() { return &tiling; }
    fe::PlatFormInfos *GetPlatformInfo() { return &platform; }
    size_t *GetWorkspaceSizes(size_t n) {
        workspaces.resize(n);
        return workspaces.data();
    }
    void SetBlockDim(uint32_t n) { block_dim = n; }
    ge::graphStatus SetScheduleMode(uint32_t mode) { return schedule_mode = mode, ge::GRAPH_SUCCESS; }
    void SetTilingKey(uint64_t value) { key = value; }
};

struct InferShapeContext {
    std::vector<Shape> inputs, outputs;
    RuntimeAttrs attributes;
    std::vector<bool> absent;
    const Shape *GetInputShape(size_t i) const { return &inputs.at(i); }
    const Shape *GetOptionalInputShape(size_t i) const { return absent.at(i) ? nullptr : &inputs.at(i); }
    Shape *GetOutputShape(size_t i) { return &outputs.at(i); }
    const RuntimeAttrs *GetAttrs() const { return &attributes; }
};

struct InferDataTypeContext {
    std::vector<ge::DataType> inputs, outputs;
    ge::DataType GetInputDataType(size_t i) const { return inputs.at(i); }
    void SetOutputDataType(size_t i, ge::DataType type) { outputs.at(i) = type; }
};

}  // namespace gert

namespace ops {

enum Option { REQUIRED, OPTIONAL, DYNAMIC };

struct OpParamDef {
    std::string name;
    Option occurrence = REQUIRED;
    std::vector<ge::DataType> types = {};
    std::vector<ge::Format> formats = {};
    OpParamDef &ParamType(Option how) { return occurrence = how, *this; }
    OpParamDef &DataType(std::vector<ge::DataType> list) { return types = std::move(list), *this; }
    OpParamDef &Format(std::vector<ge::Format> list) { return formats = std::move(list), *this; }
    OpParamDef &UnknownShapeFormat(std::vector<ge::Format>) { return *this; }
    OpParamDef &AutoContiguous() { return *this; }
};

struct OpAttrDef {
    std::string name;
    Option occurrence = REQUIRED;
    OpAttrDef &AttrType(Option how) { return occurrence = how, *this; }
    OpAttrDef &Float(float = 0) { return *this; }
    OpAttrDef &Int(int64_t = 0) { return *this; }
    OpAttrDef &Bool(bool = false) { return *this; }
    OpAttrDef &String(const char * = "") { return *this; }
    OpAttrDef &ListInt(std::vector<int64_t> = {}) { return *this; }
    OpAttrDef &ListFloat(std::vector<float> = {}) { return *this; }
    OpAttrDef &ListBool(std::vector<bool> = {}) { return *this; }
};

using TilingFunction = ge::graphStatus (*)(gert::TilingContext *);
using ShapeFunction = ge::graphStatus (*)(gert::InferShapeContext *);
using TypeFunction = ge::graphStatus (*)(gert::InferDataTypeContext *);

struct OpAICoreDef {
    TilingFunction tiling = nullptr;
    std::vector<std::string> chips;
    OpAICoreDef &SetTiling(TilingFunction f) { return tiling = f, *this; }
    OpAICoreDef &AddConfig(const char *chip) { return chips.push_back(chip), *this; }
};

class OpDef {
   public:
    explicit OpDef(const char *type) : name(type) {}
    OpParamDef &Input(const char *tensor) { return inputs.emplace_back(OpParamDef{tensor}); }
    OpParamDef &Output(const char *tensor) { return outputs.emplace_back(OpParamDef{tensor}); }
    OpAttrDef &Attr(const char *attribute) { return attributes.emplace_back(OpAttrDef{attribute}); }
    OpDef &SetInferShape(ShapeFunction f) { return infer_shape = f, *this; }
    OpDef &SetInferDataType(TypeFunction f) { return infer_type = f, *this; }
    OpAICoreDef &AICore() { return core; }

    std::string name;
    std::vector<OpParamDef> inputs, outputs;
    std::vector<OpAttrDef> attributes;
    ShapeFunction infer_shape = nullptr;
    TypeFunction infer_type = nullptr;
    OpAICoreDef core;
};

inline std::unique_ptr<OpDef> &registered() {
    static std::unique_ptr<OpDef> the_operator;
    return the_operator;
}

}  // namespace ops

#define OP_ADD(type) \
    [[maybe_unused]] static const bool type##_added = (ops::registered() = std::make_unique<type>(#type), true)
