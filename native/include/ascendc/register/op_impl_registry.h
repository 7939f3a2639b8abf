/* IMPL_OP...: an operator's functions, registered apart from its definition. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../base/branch_hints.h"
#include "../securec.h"
#include "op_def.h"

namespace gert {

/* What is registered of one operator type, by all of its IMPL_OP... together. */
struct OpImpl {
    ops::TilingFunction tiling = nullptr;
    ops::ParseFunction parse = nullptr;
    std::shared_ptr<void> (*compile_info)() = nullptr;
    ops::ShapeFunction infer_shape = nullptr;
    ops::RangeFunction infer_range = nullptr;
    ops::TypeFunction infer_type = nullptr;
    std::vector<size_t> read_inputs; /* whose values the host reads */
    std::vector<size_t> computed;    /* outputs whose shapes the kernel says */
};

inline std::map<std::string, OpImpl> &asc_implementations() {
    static std::map<std::string, OpImpl> all;
    return all;
}

class OpImplRegisterV2 {
   public:
    explicit OpImplRegisterV2(const char *type) : impl_(&asc_implementations()[type]) {}
    OpImplRegisterV2 &Tiling(ops::TilingFunction f) { return impl_->tiling = f, *this; }
    OpImplRegisterV2 &Tiling(ops::TilingFunction f, size_t) { return Tiling(f); }
    template <typename T>
    OpImplRegisterV2 &TilingParse(ops::ParseFunction f) {
        impl_->parse = f;
        impl_->compile_info = [] { return std::shared_ptr<void>(std::make_shared<T>()); };
        return *this;
    }
    OpImplRegisterV2 &InferShape(ops::ShapeFunction f) { return impl_->infer_shape = f, *this; }
    OpImplRegisterV2 &InferDataType(ops::TypeFunction f) { return impl_->infer_type = f, *this; }
    OpImplRegisterV2 &InferShapeRange(ops::RangeFunction f) { return impl_->infer_range = f, *this; }
    OpImplRegisterV2 &OutputShapeDependOnCompute(std::initializer_list<int32_t> outputs) {
        impl_->computed.assign(outputs.begin(), outputs.end());
        return *this;
    }
    OpImplRegisterV2 &InputsDataDependency(std::initializer_list<int32_t> inputs) {
        impl_->read_inputs.assign(inputs.begin(), inputs.end());
        return *this;
    }
    OpImplRegisterV2 &TilingInputsDataDependency(std::initializer_list<int32_t> inputs) {
        return InputsDataDependency(inputs);
    }
    template <typename... T>
    OpImplRegisterV2 &TilingInputsDataDependency(std::initializer_list<int32_t> inputs, T...) {
        return InputsDataDependency(inputs);
    }

   private:
    OpImpl *impl_;
};
using OpImplRegister = OpImplRegisterV2;

}  // namespace gert

#define ASC_IMPL_JOIN_(a, b) a##b
#define ASC_IMPL_JOIN(a, b) ASC_IMPL_JOIN_(a, b)
#define IMPL_OP(type)                                                                              \
    [[maybe_unused]] static ::gert::OpImplRegisterV2 ASC_IMPL_JOIN(asc_impl_##type, __COUNTER__) = \
        ::gert::OpImplRegisterV2(#type)
#define IMPL_OP_OPTILING(type) IMPL_OP(type)
#define IMPL_OP_INFERSHAPE(type) IMPL_OP(type)
#define IMPL_OP_INFERDATATYPE(type) IMPL_OP(type)
#define IMPL_OP_DEFAULT() IMPL_OP(asc_default)
