/* torch_npu/npu_functions.h - a header that pages print and torch_npu lacks, with what they go on to write. */
#pragma once

#include <torch/extension.h>

#include "op_plugin/OpApiInterface.h"

#warning \
    "torch_npu has no npu_functions.h; include torch_npu/csrc/framework/utils/OpPreparation.h and its op_api_common.h"

/* x.is_npu(). torch_npu's own function of that name has an argument. */
#define ASC_THIRD(a, b, name, ...) name
#define ASC_IS_NPU() is_privateuseone() _Pragma("GCC warning \"at::Tensor has no is_npu(); write is_privateuseone()\"")
#define is_npu(...) ASC_THIRD(_ __VA_OPT__(, ) __VA_ARGS__, is_npu, ASC_IS_NPU)(__VA_ARGS__)
/* c10::DispatchKey::NPU. */
#define NPU PrivateUse1 _Pragma("GCC warning \"c10::DispatchKey has no NPU; write PrivateUse1\"")
