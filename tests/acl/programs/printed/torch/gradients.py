"""Gradients through the printed extension, on npu:0 beside PyTorch's on the CPU."""

import importlib

import torch
import torch_npu  # noqa: F401

extension = importlib.import_module("gelu_extension")  # behind PyTorch, whose libraries it needs
x = torch.randn(3, 256).half()
there = x.npu().requires_grad_()
extension.GeluCustomFunction.apply(there).sum().backward()
here = x.float().requires_grad_()
torch.nn.functional.gelu(here, approximate="tanh").sum().backward()
print((there.grad.cpu().float() - here.grad).abs().max().item())
