/* ops::OpDef: what an operator takes and gives, and its functions on the host. Our own implementation of public names.
 */
#pragma once
#pragma GCC system_header

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../exe_graph/runtime/infer_shape_context.h"
#include "../exe_graph/runtime/tiling_context.h"
#include "../graph/ascend_string.h"
#include "../graph/operator.h"

namespace ops {

enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3, VIRTUAL = 4 };
enum class DependScope { ALL, TILING, INVALID_SCOPE };
/* What an output takes from the input that it follows. */
enum class FollowType { ALL, DTYPE, FORMAT, SHAPE, INVALID_TYPE };
enum class FormatCheckOption { DEFAULT, STRICT, MAX };
enum class ItemFindStatus { ITEM_FIND, ITEM_NOEXIST };

/* What an output's memory is set to: a number of a type, which is of integers and floats what it is given. */
enum class ScalarType : uint32_t {
    UINT64,
    INT64,
    UINT32,
    INT32,
    UINT16,
    INT16,
    UINT8,
    INT8,
    FLOAT32,
    FLOAT16,
    INVALID_DTYPE = 0xFFFFFFFF
};
union ScalarNum {
    uint64_t value_u64;
    int64_t value_i64;
    float value_f32;
    ScalarNum() : value_u64(0) {}
    explicit ScalarNum(uint64_t v) : value_u64(v) {}
    explicit ScalarNum(int64_t v) : value_i64(v) {}
    explicit ScalarNum(float v) : value_f32(v) {}
};
struct ScalarVar {
    ScalarType scalar_type = ScalarType::UINT64;
    ScalarNum scalar_num;
    ScalarVar() = default;
    ScalarVar(ScalarType type, uint64_t v) : scalar_type(type), scalar_num(v) { convert(float(v)); }
    ScalarVar(ScalarType type, int64_t v) : scalar_type(type), scalar_num(v) { convert(float(v)); }
    ScalarVar(ScalarType type, int v) : ScalarVar(type, int64_t(v)) {}
    ScalarVar(ScalarType type, unsigned v) : ScalarVar(type, uint64_t(v)) {}
    ScalarVar(ScalarType type, float v) : scalar_type(type), scalar_num(int64_t(v)) { convert(v); }
    ScalarVar(ScalarType type, double v) : ScalarVar(type, float(v)) {}
    bool operator==(const ScalarVar &other) const {
        return scalar_type == other.scalar_type && scalar_num.value_u64 == other.scalar_num.value_u64;
    }

   private:
    void convert(float v) {
        if (scalar_type != ScalarType::FLOAT32 && scalar_type != ScalarType::FLOAT16) return;
        scalar_num.value_u64 = 0;
        scalar_num.value_f32 = v;
    }
};
/* Bytes of a number of that type; 0: it is none. */
inline size_t asc_bytes_of(ScalarType type) {
    const size_t bytes[] = {8, 8, 4, 4, 2, 2, 1, 1, 4, 2};
    return uint32_t(type) < sizeof bytes / sizeof *bytes ? bytes[uint32_t(type)] : 0;
}

/* An input or output. Columns: types[i] of all tensors belong together; a list is free of the others. */
class OpParamDef {
   public:
    explicit OpParamDef(const char *tensor) : name(tensor) {}
    OpParamDef &ParamType(Option how) { return occurrence = how, *this; }
    OpParamDef &DataType(std::vector<ge::DataType> columns) { return types = std::move(columns), *this; }
    OpParamDef &DataTypeForBinQuery(std::vector<ge::DataType>) { return *this; }
    OpParamDef &DataTypeList(std::vector<ge::DataType> list) {
        free_types = true;
        return DataType(std::move(list));
    }
    OpParamDef &Format(std::vector<ge::Format> columns) { return formats = std::move(columns), *this; }
    OpParamDef &FormatForBinQuery(std::vector<ge::Format>) { return *this; }
    OpParamDef &FormatList(std::vector<ge::Format> list) {
        free_formats = true;
        return Format(std::move(list));
    }
    OpParamDef &UnknownShapeFormat(std::vector<ge::Format>) { return *this; }
    OpParamDef &ValueDepend(Option how, DependScope = DependScope::ALL) { return value_depends = how != IGNORE, *this; }
    OpParamDef &AutoContiguous() { return *this; }
    OpParamDef &IgnoreContiguous() { return *this; }
    OpParamDef &Scalar() { return *this; }
    OpParamDef &ScalarList() { return *this; }
    OpParamDef &To(ge::DataType) { return *this; }
    OpParamDef &To(const char *) { return *this; }
    OpParamDef &Version(uint32_t) { return *this; }
    OpParamDef &Comment(...) { return *this; }
    /* What an output's memory is set to before the launch, where tiling calls SetNeedAtomic(true): zeros (the first
     * form takes no other), one value, or one for each column of types. */
    OpParamDef &InitValue(uint64_t value) {
        InitValue(ScalarVar(ScalarType::UINT64, value));
        return initial_is_number = true, *this;
    }
    OpParamDef &InitValue(const ScalarVar &value) { return InitValue(std::vector<ScalarVar>{value}); }
    OpParamDef &InitValue(std::vector<ScalarVar> columns) {
        initial = std::move(columns), initial_is_number = false;
        return *this;
    }
    OpParamDef &OutputShapeDependOnCompute() { return shape_computed = true, *this; }
    /* An output's types are those of this input. */
    OpParamDef &Follow(const char *tensor) { return followed = tensor, *this; }
    template <typename Kind>
    OpParamDef &Follow(const char *tensor, Kind) {
        return Follow(tensor);
    }

    std::string name, followed;
    Option occurrence = REQUIRED;
    std::vector<ge::DataType> types;
    std::vector<ge::Format> formats;
    std::vector<ScalarVar> initial;
    bool free_types = false, free_formats = false, value_depends = false, initial_is_number = false;
    bool shape_computed = false; /* by the kernel */
};

/* An attribute: its kind, as opdef's JSON names it, and its default as the text of a JSON value. */
class OpAttrDef {
   public:
    explicit OpAttrDef(const char *attribute) : name(attribute) {}
    OpAttrDef &AttrType(Option how) { return occurrence = how, *this; }
    OpAttrDef &Bool() { return of("bool"); }
    OpAttrDef &Bool(bool v) { return of("bool", v ? "true" : "false"); }
    OpAttrDef &Int() { return of("int"); }
    OpAttrDef &Int(int64_t v) { return of("int", std::to_string(v)); }
    OpAttrDef &Float() { return of("float"); }
    OpAttrDef &Float(float v) { return of("float", number(v)); }
    OpAttrDef &String() { return of("string"); }
    OpAttrDef &String(const char *v) { return of("string", quoted(v)); }
    OpAttrDef &ListInt() { return of("ints"); }
    OpAttrDef &ListInt(const std::vector<int64_t> &v) {
        return of("ints", list(v, [](int64_t x) { return std::to_string(x); }));
    }
    OpAttrDef &ListFloat() { return of("floats"); }
    OpAttrDef &ListFloat(const std::vector<float> &v) { return of("floats", list(v, number)); }
    OpAttrDef &ListBool() { return of("bools"); }
    OpAttrDef &ListBool(const std::vector<bool> &v) {
        return of("bools", list(v, [](bool x) { return std::string(x ? "true" : "false"); }));
    }
    OpAttrDef &ListListInt() { return of("lists"); }
    OpAttrDef &ListListInt(const std::vector<std::vector<int64_t>> &) { return of("lists"); }
    OpAttrDef &Version(uint32_t) { return *this; }
    template <typename... T>
    OpAttrDef &Comment(T...) {
        return *this;
    }

    std::string name, kind, value;
    Option occurrence = REQUIRED;

   private:
    OpAttrDef &of(const char *which, std::string text = "") {
        kind = which;
        value = std::move(text);
        return *this;
    }
    static std::string number(float v) {
        char text[40];
        std::snprintf(text, sizeof text, "%.9g", double(v));
        return text;
    }
    static std::string quoted(const char *v) {
        std::string text = "\"";
        for (const char *c = v ? v : ""; *c; c++) {
            if (*c == '"' || *c == '\\') text += '\\';
            text += *c;
        }
        return text + "\"";
    }
    template <typename T, typename F>
    static std::string list(const std::vector<T> &values, F one) {
        std::string text = "[";
        for (size_t i = 0; i < values.size(); i++) text += (i ? "," : "") + one(values[i]);
        return text + "]";
    }
};

/* What holds for one chip. Its tensors, where it names them, take the place of the operator's. */
class OpAICoreConfig {
   public:
    OpAICoreConfig() = default;
    explicit OpAICoreConfig(const char *) {}
    OpParamDef &Input(const char *tensor) { return inputs.emplace_back(tensor), inputs.back(); }
    OpParamDef &Output(const char *tensor) { return outputs.emplace_back(tensor), outputs.back(); }
    OpAICoreConfig &AsyncFlag(bool) { return *this; }
    OpAICoreConfig &RangeLimitValue(const char *) { return *this; }
    OpAICoreConfig &HeavyOpFlag(bool) { return *this; }
    OpAICoreConfig &DynamicCompileStaticFlag(bool) { return *this; }
    OpAICoreConfig &DynamicFormatFlag(bool) { return *this; }
    OpAICoreConfig &DynamicRankSupportFlag(bool) { return *this; }
    OpAICoreConfig &DynamicShapeSupportFlag(bool) { return *this; }
    OpAICoreConfig &NeedCheckSupportFlag(bool) { return *this; }
    OpAICoreConfig &PrecisionReduceFlag(bool) { return *this; }
    OpAICoreConfig &ExtendCfgInfo(const char *key, const char *value) {
        return extended.emplace_back(key, value), *this;
    }

    std::deque<OpParamDef> inputs, outputs;
    std::vector<std::pair<std::string, std::string>> extended;
};

class OpMC2Def {
   public:
    OpMC2Def &HcclGroup(const char *) { return *this; }
    OpMC2Def &HcclGroup(const std::vector<const char *> &) { return *this; }
    template <typename... T>
    OpMC2Def &HcclServerType(T...) {
        return *this;
    }
};

using TilingFunction = ge::graphStatus (*)(gert::TilingContext *);
using ParseFunction = ge::graphStatus (*)(gert::TilingParseContext *);
using ShapeFunction = ge::graphStatus (*)(gert::InferShapeContext *);
using RangeFunction = ge::graphStatus (*)(gert::InferShapeRangeContext *);
using TypeFunction = ge::graphStatus (*)(gert::InferDataTypeContext *);

class OpAICoreDef {
   public:
    OpAICoreDef &SetTiling(TilingFunction f) { return tiling = f, *this; }
    OpAICoreDef &SetTilingParse(ParseFunction f) { return parse = f, *this; }
    template <typename F>
    OpAICoreDef &SetCheckSupport(F) {
        return *this;
    }
    template <typename F>
    OpAICoreDef &SetOpSelectFormat(F) {
        return *this;
    }
    template <typename F>
    OpAICoreDef &SetOpSupportInfo(F) {
        return *this;
    }
    template <typename F>
    OpAICoreDef &SetOpSpecInfo(F) {
        return *this;
    }
    template <typename F>
    OpAICoreDef &SetParamGeneralize(F) {
        return *this;
    }
    OpAICoreDef &AddConfig(const char *chip) { return AddConfig(chip, OpAICoreConfig()); }
    OpAICoreDef &AddConfig(const char *chip, const OpAICoreConfig &config) {
        return chips.emplace_back(chip, config), *this;
    }

    TilingFunction tiling = nullptr;
    ParseFunction parse = nullptr;
    std::vector<std::pair<std::string, OpAICoreConfig>> chips;
};

class OpDef {
   public:
    explicit OpDef(const char *type) : name(type) {}
    OpParamDef &Input(const char *tensor) { return inputs.emplace_back(tensor), inputs.back(); }
    OpParamDef &Output(const char *tensor) { return outputs.emplace_back(tensor), outputs.back(); }
    OpAttrDef &Attr(const char *attribute) { return attributes.emplace_back(attribute), attributes.back(); }
    template <typename... T>
    OpDef &Comment(T...) {
        return *this;
    }
    OpDef &SetInferShape(ShapeFunction f) { return infer_shape = f, *this; }
    OpDef &SetInferDataType(TypeFunction f) { return infer_type = f, *this; }
    OpDef &SetInferShapeRange(RangeFunction f) { return infer_range = f, *this; }
    OpDef &EnableFallBack() { return *this; }
    template <typename K>
    OpDef &FormatMatchMode(K) {
        return *this;
    }
    OpAICoreDef &AICore() { return core; }
    OpMC2Def &MC2() { return communication; }

    std::string name;
    std::deque<OpParamDef> inputs, outputs;
    std::deque<OpAttrDef> attributes;
    ShapeFunction infer_shape = nullptr;
    RangeFunction infer_range = nullptr;
    TypeFunction infer_type = nullptr;
    OpAICoreDef core;
    OpMC2Def communication;
    std::shared_ptr<void> (*compile_info)() = nullptr; /* makes what TilingParse fills */
};

/* The operators of a program, in the order of their OP_ADD. */
inline std::vector<std::unique_ptr<OpDef>> &registered() {
    static std::vector<std::unique_ptr<OpDef>> all;
    return all;
}
template <typename T, typename CompileInfo = uint64_t>
inline bool add(const char *type) {
    registered().emplace_back(new T(type));
    registered().back()->compile_info = [] { return std::shared_ptr<void>(std::make_shared<CompileInfo>()); };
    return true;
}

}  // namespace ops
