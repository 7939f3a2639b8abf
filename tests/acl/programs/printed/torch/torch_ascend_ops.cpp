// clang-format off: printed so; what it leaves out as ... is here behind FILLED IN.
// torch_ascend_ops.cpp
#include "acl/acl.h"
#include <torch/extension.h>
static aclmdlDataset* set_of(std::initializer_list<void*> buffers, size_t bytes); // FILLED IN: below
torch::Tensor run_custom_op(torch::Tensor input1, torch::Tensor input2) {
    // 1. 获取 ACL context
    aclrtSetDevice(0);
    // 2. 将 Tensor 数据拷贝到 Device
    void* dev_input1 = aclrtMalloc(input1.nbytes(), ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemcpy(dev_input1, input1.nbytes(), input1.data_ptr(), input1.nbytes(), ACL_MEMCPY_HOST_TO_DEVICE);
    void* dev_input2 = aclrtMalloc(input2.nbytes(), ACL_MEM_MALLOC_HUGE_FIRST); // FILLED IN: the second
    aclrtMemcpy(dev_input2, input2.nbytes(), input2.data_ptr(), input2.nbytes(), ACL_MEMCPY_HOST_TO_DEVICE);
    void* dev_output = aclrtMalloc(input1.nbytes(), ACL_MEM_MALLOC_HUGE_FIRST); // FILLED IN
    // 3. 加载 .om 模型
    aclmdlDesc* modelDesc = aclmdlCreateDesc();
    uint32_t modelId; // FILLED IN
    aclmdlLoadFromFile("custom_add.om", &modelId);
    aclmdlGetDesc(modelDesc, modelId); // FILLED IN
    // 4. 执行推理
    aclmdlExecute(modelId, set_of({dev_input1, dev_input2}, input1.nbytes()), set_of({dev_output}, input1.nbytes()));
    // 5. 拷贝结果回 Host
    torch::Tensor output = torch::empty_like(input1);
    aclrtMemcpy(output.data_ptr(), output.nbytes(), dev_output, output.nbytes(), ACL_MEMCPY_DEVICE_TO_HOST);
    return output;
}
static aclmdlDataset* set_of(std::initializer_list<void*> buffers, size_t bytes) { // FILLED IN
    aclmdlDataset* set = aclmdlCreateDataset();
    for (void* b : buffers) aclmdlAddDatasetBuffer(set, aclCreateDataBuffer(b, bytes));
    return set;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("custom_add", &run_custom_op, "Ascend C Add Op");
}
