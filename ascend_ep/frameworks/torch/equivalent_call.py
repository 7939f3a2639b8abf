"""An operator of ONNX computed by PyTorch's own functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch.onnx_equivalents import EQUIVALENTS
from ascend_ep.frameworks.torch.schema import takes_a_list
from ascend_ep.opdef.definition import OpDef


def has_equivalent(opdef: OpDef) -> bool:
    """Whether PyTorch has the function."""
    return opdef.standard and opdef.op in EQUIVALENTS


def outputs(opdef: OpDef, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Sequence[Any]:
    """The outputs on tensors, None where one is absent; trailing ones may be missing.

    Raises NotImplementedError for a form that the equivalent hasn't; AscendError E40011 for what PyTorch
    refuses, E40008 where memory doesn't suffice.
    """
    missing = 0 if takes_a_list(opdef) else len(opdef.inputs) - len(inputs)
    defaults = {a.name: a.default for a in opdef.attributes if a.default is not None}
    known = {name: _rounded(value) for name, value in {**defaults, **attributes}.items()}
    try:
        made = EQUIVALENTS[opdef.op](*inputs, *[None] * missing, a=known)
    except NotImplementedError:
        raise
    except (IndexError, RuntimeError) as error:
        if are_unknown(inputs):  # a trace's own, which it catches
            raise
        raise refusal(opdef, error) from None
    return made if isinstance(made, tuple | list) else (made,)


def _rounded(value: Any) -> Any:
    """An attribute as a model has it: floats are float32."""
    if isinstance(value, list | tuple):
        return [_rounded(v) for v in value]
    return float(np.float32(value)) if isinstance(value, float) else value


def refusal(opdef: OpDef, error: Exception, code: str = "E40011") -> AscendError:
    """What PyTorch refuses, as an error of ours."""
    reason = str(error).partition("\n")[0]
    if "allocate memory" in reason or isinstance(error, MemoryError):
        return AscendError("E40008", f"{opdef.op}: {reason}")
    if code == "E42006":
        return AscendError(code, opdef.op, reason, where=opdef.origin)
    return AscendError(code, f"{opdef.op}: {reason}")


def are_unknown(inputs: Sequence[Any]) -> bool:
    """Whether the tensors' elements can't be read: they are traced, or have none."""
    import torch
    from torch._C import _TorchDispatchModeKey as Key
    from torch._subclasses import FakeTensor
    from torch._subclasses.functional_tensor import FunctionalTensor

    modes = (Key.FAKE, Key.PROXY, Key.FUNCTIONAL)
    if torch._C._len_torch_dispatch_stack() and any(torch._C._get_dispatch_mode(m) for m in modes):
        return True
    return any(t is not None and (isinstance(t, FakeTensor | FunctionalTensor) or t.is_meta) for t in inputs)
