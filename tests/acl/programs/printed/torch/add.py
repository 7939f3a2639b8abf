# ruff: noqa
# fmt: off
import torch
import torch_npu  # FILLED IN: .npu() needs it
import torch_ascend_ops
x = torch.randn(1024).npu()  # 需先转到 NPU
y = torch.randn(1024).npu()
z = torch_ascend_ops.custom_add(x, y)
print(z.device, (z.cpu() - (x.cpu() + y.cpu())).abs().max().item())  # FILLED IN
