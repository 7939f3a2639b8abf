/* Plugins of frameworks: which operators of a framework are which of ours. Conversion here goes by an operator's name;
 * a plugin is compiled and not called. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../graph/ascend_string.h"
#include "../graph/operator.h"
#include "../graph/types.h"

namespace google {
namespace protobuf {
class Message {
   public:
    virtual ~Message() = default;
};
}  // namespace protobuf
}  // namespace google

namespace domi {

using Status = uint32_t;
const Status SUCCESS = 0;
const Status FAILED = 1;
const Status PARAM_INVALID = 2;

enum FrameworkType { CAFFE = 0, MINDSPORE = 1, TENSORFLOW = 3, ANDROID_NN = 4, ONNX = 5, FRAMEWORK_RESERVED = 6 };
enum class ImplyType : unsigned { BUILDIN = 0, TVM, CUSTOM, AI_CPU, CCE, GELOCAL, HCCL, INVALID };

struct DynamicInputOutputInfo {};
using ParseParamFunc = std::function<Status(const google::protobuf::Message *, ge::Operator &)>;
using ParseParamByOpFunc = std::function<Status(const ge::Operator &, ge::Operator &)>;

inline Status AutoMappingFn(const google::protobuf::Message *, ge::Operator &) {
    return SUCCESS;
}
inline Status AutoMappingByOpFn(const ge::Operator &, ge::Operator &) {
    return SUCCESS;
}
inline Status AutoMappingFnDynamic(const google::protobuf::Message *, ge::Operator &,
                                   std::map<std::string, std::pair<std::string, std::string>>, int = -1, int = -1) {
    return SUCCESS;
}
inline Status AutoMappingByOpFnDynamic(const ge::Operator &, ge::Operator &,
                                       const std::vector<DynamicInputOutputInfo> &) {
    return SUCCESS;
}

/* One REGISTER_CUSTOM_OP. */
class OpRegistrationData {
   public:
    explicit OpRegistrationData(const char *type) : type_(type) {}
    explicit OpRegistrationData(const std::string &type) : type_(type) {}
    OpRegistrationData &FrameworkType(domi::FrameworkType framework) { return framework_ = framework, *this; }
    OpRegistrationData &OriginOpType(const char *type) { return origins_.push_back(type), *this; }
    OpRegistrationData &OriginOpType(const std::string &type) { return origins_.push_back(type), *this; }
    OpRegistrationData &OriginOpType(const std::vector<ge::AscendString> &types) {
        for (const ge::AscendString &type : types) origins_.push_back(type.GetString());
        return *this;
    }
    OpRegistrationData &OriginOpType(std::initializer_list<std::string> types) {
        origins_.insert(origins_.end(), types.begin(), types.end());
        return *this;
    }
    template <typename F>
    OpRegistrationData &ParseParamsFn(F) {
        return *this;
    }
    template <typename F>
    OpRegistrationData &ParseParamsByOperatorFn(F) {
        return *this;
    }
    template <typename F>
    OpRegistrationData &FusionParseParamsFn(F) {
        return *this;
    }
    template <typename F>
    OpRegistrationData &ParseSubgraphPostFn(F) {
        return *this;
    }
    template <typename F>
    OpRegistrationData &ParseOpToGraphFn(F) {
        return *this;
    }
    OpRegistrationData &ImplyType(domi::ImplyType) { return *this; }
    OpRegistrationData &DelInputWithCond(int, const std::string &, bool) { return *this; }
    OpRegistrationData &InputReorderVector(const std::vector<int> &) { return *this; }

   private:
    std::string type_;
    std::vector<std::string> origins_;
    domi::FrameworkType framework_ = ONNX;
};

}  // namespace domi

#define ASC_PLUGIN_JOIN_(a, b) a##b
#define ASC_PLUGIN_JOIN(a, b) ASC_PLUGIN_JOIN_(a, b)
#define REGISTER_CUSTOM_OP(name)                                                                          \
    __attribute__((unused)) static ::domi::OpRegistrationData ASC_PLUGIN_JOIN(asc_plugin_, __COUNTER__) = \
        ::domi::OpRegistrationData(name)
