// clang-format off: printed so, but for the three lines with MENDED, which no C++ compiler takes as they stood.
// gelu_extension.cpp - PyTorch C++扩展
#include <torch/extension.h>
#include <torch_npu/npu_functions.h>
#include <op_plugin/AclOpsInterface.h>
#include <op_plugin/OpApiInterface.h>
namespace op_api {
using npu_preparation = at_npu::native::OpPreparation;
at::Tensor gelu_custom_backward(const at::Tensor& grad_y, const at::Tensor& x); // MENDED: used before it is declared
at::Tensor gelu_custom(const at::Tensor& x) {
    // 1. 检查输入合法性
    TORCH_CHECK(x.is_npu(), "gelu_custom: input must be NPU tensor");
    TORCH_CHECK(x.scalar_type() == at::kHalf, "gelu_custom: only support FP16 for now");
    // 2. 准备输出Tensor
    at::Tensor y = npu_preparation::apply_tensor(x);
    // 3. 计算输出大小
    int64_t numel = x.numel();
    // 4. 调用ACLNN接口
    EXEC_NPU_CMD(aclnnGeluCustom, x, y);
    return y;
}
// 自动微分支持
class GeluCustomFunction : public torch::autograd::Function<GeluCustomFunction> {
public:
    static at::Tensor forward(
        torch::autograd::AutogradContext* ctx,
        const at::Tensor& x) {
        ctx->save_for_backward({x});
        return gelu_custom(x);
    }
    static torch::autograd::tensor_list backward(
        torch::autograd::AutogradContext* ctx,
        torch::autograd::tensor_list grad_outputs) {
        auto saved = ctx->get_saved_variables();
        auto x = saved[0];
        auto grad_y = grad_outputs[0];
        // GELU导数: grad_x = grad_y * (0.5*(1+tanh(k)) + 0.5*x*(1-tanh^2(k))*k')
        // 其中k = sqrt(2/pi)*(x+0.044715*x^3)
        at::Tensor grad_x = gelu_custom_backward(grad_y, x);
        return {grad_x};
    }
};
at::Tensor gelu_custom_backward(const at::Tensor& grad_y, const at::Tensor& x) {
    // 实现反向传播核函数
    at::Tensor grad_x = npu_preparation::apply_tensor(x);
    EXEC_NPU_CMD(aclnnGeluCustomBackward, grad_y, x, grad_x);
    return grad_x;
}
} // namespace op_api
// PyTorch算子注册
TORCH_LIBRARY_FRAGMENT(op_api, m) {
    m.def("gelu_custom(Tensor x) -> Tensor");
    m.impl("gelu_custom", c10::DispatchKey::NPU, op_api::gelu_custom);
}
// Python绑定
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("gelu_custom", &op_api::gelu_custom, "Custom GELU activation");
    m.def("gelu_custom_backward", &op_api::gelu_custom_backward, "Gradient of custom GELU");
    py::class_<op_api::GeluCustomFunction>(m, "GeluCustomFunction")
        .def_static("apply", [](const at::Tensor& x) { // MENDED: it is a template, which has no address
            return op_api::GeluCustomFunction::apply(x); }); // MENDED
}
