/* op_plugin/exec_npu_cmd.h - EXEC_NPU_CMD(aclnnName, arguments...): both phases of an operator on the stream at hand.
 * torch_npu's wheel has one in its headers that links to what its libraries keep to themselves.
 *
 * The operator is of a package in $ASCEND_CUSTOM_OPP_PATH, or of libopapi.so. */
#pragma once

#include <dlfcn.h>
#include <torch/extension.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "torch_npu/csrc/core/npu/NPUStream.h"

namespace asc_npu {

inline std::vector<void *> libraries() {
    std::vector<void *> found;
    const char *named = std::getenv("ASCEND_CUSTOM_OPP_PATH");
    std::istringstream folders(named ? named : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string path = folder + "/op_api/lib/libcust_opapi.so";
        if (access(path.c_str(), F_OK) != 0) continue;
        found.push_back(dlopen(path.c_str(), RTLD_LAZY));
        TORCH_CHECK(found.back(), path, " can't be loaded: ", dlerror());
    }
    if (void *library = dlopen("libopapi.so", RTLD_LAZY)) found.push_back(library);
    return found;
}

inline void *function_of(const std::string &name) {
    static const std::vector<void *> all = libraries();
    for (void *library : all)
        if (void *function = dlsym(library, name.c_str())) return function;
    TORCH_CHECK(false, name, " is in no package of $ASCEND_CUSTOM_OPP_PATH, nor in libopapi.so");
}

template <typename Result = int, typename... A>
Result call(const char *name, A... arguments) {
    return reinterpret_cast<Result (*)(A...)>(function_of(name))(arguments...);
}

inline int type_of(at::ScalarType type) {
    static const std::pair<at::ScalarType, int> types[] = {
        {at::kFloat, 0}, {at::kHalf, 1},          {at::kChar, 2},      {at::kInt, 3},
        {at::kByte, 4},  {at::kShort, 6},         {at::kLong, 9},      {at::kDouble, 11},
        {at::kBool, 12}, {at::kComplexFloat, 16}, {at::kBFloat16, 27}, {at::kComplexDouble, 17},
    };
    for (const auto &[known, number] : types)
        if (known == type) return number;
    TORCH_CHECK(false, "no operator has elements of ", type);
}

/* What a call's arguments become, until it was launched. */
class Handles {
   public:
    ~Handles() {
        for (const auto &[destroy, handle] : kept_) call(destroy, handle);
    }
    void *of(const at::Tensor &t) {
        if (!t.defined()) return nullptr;
        const int64_t elements = int64_t(t.storage().nbytes() / t.element_size());
        constexpr int ND = 2;
        return keep("aclDestroyTensor",
                    call<void *>("aclCreateTensor", t.sizes().data(), uint64_t(t.dim()), type_of(t.scalar_type()),
                                 t.strides().data(), t.storage_offset(), ND, &elements, uint64_t(1),
                                 const_cast<void *>(t.storage().data())));
    }
    void *of(const std::optional<at::Tensor> &t) { return t ? of(*t) : nullptr; }
    void *of(at::TensorList list) {
        std::vector<void *> all;
        for (const at::Tensor &t : list) all.push_back(of(t));
        kept_.resize(kept_.size() - all.size()); /* the list has them */
        return keep("aclDestroyTensorList", call<void *>("aclCreateTensorList", all.data(), uint64_t(all.size())));
    }
    void *of(const at::Scalar &s) {
        double real = s.isFloatingPoint() ? s.toDouble() : 0;
        int64_t whole = s.isFloatingPoint() ? 0 : s.toLong();
        bool truth = s.isBoolean() && s.toBool();
        void *value = s.isBoolean()         ? static_cast<void *>(&truth)
                      : s.isFloatingPoint() ? static_cast<void *>(&real)
                                            : static_cast<void *>(&whole);
        return keep("aclDestroyScalar", call<void *>("aclCreateScalar", value, type_of(s.type())));
    }
    void *of(at::IntArrayRef a) {
        return keep("aclDestroyIntArray", call<void *>("aclCreateIntArray", a.data(), uint64_t(a.size())));
    }
    void *of(at::ArrayRef<bool> a) {
        return keep("aclDestroyBoolArray", call<void *>("aclCreateBoolArray", a.data(), uint64_t(a.size())));
    }
    template <typename T>
    void *of(const std::optional<T> &a) {
        return a ? of(*a) : nullptr;
    }
    int of(at::ScalarType type) { return type_of(type); }
    const char *of(const std::string &text) { return text.c_str(); }
    const char *of(const char *text) { return text; }
    template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
    T of(T number) {
        return number;
    }

   private:
    void *keep(const char *destroy, void *handle) {
        TORCH_CHECK(handle, destroy, ": an argument can't be made");
        kept_.emplace_back(destroy, handle);
        return handle;
    }
    std::vector<std::pair<const char *, void *>> kept_;
};

inline void check(const std::string &name, int code) {
    TORCH_CHECK(code == 0, name, " failed with ", code, ": ", call<const char *>("aclGetRecentErrMsg"));
}

template <typename... A>
void execute(const std::string &name, const A &...arguments) {
    uint64_t bytes = 0;
    void *executor = nullptr;
    Handles handles;
    const auto stream = static_cast<void *>(c10_npu::getCurrentNPUStream().stream(true)); /* behind what it has */
    std::tuple made{handles.of(arguments)...};
    std::apply(
        [&](auto... given) {
            using First = int (*)(decltype(given)..., uint64_t *, void **);
            check(name, reinterpret_cast<First>(function_of(name + "GetWorkspaceSize"))(given..., &bytes, &executor));
        },
        made);
    at::Tensor workspace;
    if (bytes) workspace = at::empty({int64_t(bytes)}, at::dtype(at::kByte).device(c10::DeviceType::PrivateUse1));
    using Second = int (*)(void *, uint64_t, void *, void *);
    check(name,
          reinterpret_cast<Second>(function_of(name))(bytes ? workspace.data_ptr() : nullptr, bytes, executor, stream));
}

}  // namespace asc_npu

#define EXEC_NPU_CMD(name, ...) ::asc_npu::execute(#name, __VA_ARGS__)
