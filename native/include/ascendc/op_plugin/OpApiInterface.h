/* op_plugin/OpApiInterface.h - of op-plugin's sources, which torch_npu's wheel leaves out. Pages include it for
 * EXEC_NPU_CMD and OpPreparation, which the wheel has in its include and its include/third_party/op-plugin. */
#pragma once

#include <torch/version.h>

/* What op-plugin's build says of the PyTorch at hand: 0 is 2.1. */
#ifndef CURRENT_VERSION
#define CURRENT_VERSION (TORCH_VERSION_MINOR - 1)
#endif

#include "op_plugin/utils/op_api_common.h"
#include "torch_npu/csrc/framework/utils/OpPreparation.h"
