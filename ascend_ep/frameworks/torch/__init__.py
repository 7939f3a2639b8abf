"""Operators as PyTorch functions: `register("Swish")` gives one with fake tensors, autograd and ONNX export.

    swish = ascend_ep.frameworks.torch.register("Swish")
    y = swish(x, alpha=2.0)                                          # eager, autograd, torch.compile
    torch.onnx.export(model, args, "m.onnx", dynamo=False)           # the ONNX operator ai.ascend::Swish
    torch.onnx.export(model, args, "m.onnx", dynamo=True, custom_translation_table=translations())
    program = ascend_ep.frameworks.torch.compile(torch.export.export(model, args))  # and .save()

PyTorch is imported when something is registered.
"""

from ascend_ep.extras import named

with named("torch"):
    from ascend_ep.frameworks.torch.exported import compile
    from ascend_ep.frameworks.torch.torch_library import register, translations

__all__ = ["compile", "register", "translations"]
