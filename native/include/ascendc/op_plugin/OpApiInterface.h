/* op_plugin/OpApiInterface.h - of op-plugin's sources, which torch_npu's wheel leaves out. Pages include it for
 * EXEC_NPU_CMD and OpPreparation. */
#pragma once

#include <torch/extension.h>

#include "exec_npu_cmd.h"
#include "torch_npu/csrc/framework/utils/OpPreparation.h"

/* The wheel declares it, and its libraries keep it to themselves. */
inline at::Tensor at_npu::native::OpPreparation::apply_tensor(const at::Tensor &src) {
    return apply_tensor_without_format(src);
}
