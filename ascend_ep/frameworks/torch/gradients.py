"""Which built-in operators have gradients in PyTorch, from what, and why the others have none."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch.equivalent_call import has_equivalent
from ascend_ep.frameworks.torch.torch_library import definition_of
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.derivative import differentiate
from ascend_ep.opdef.registry import Registry


@dataclass(frozen=True)
class Gradient:
    """From a "formula", or "PyTorch", whose equivalent gives it. twice: it has one itself."""

    source: str
    twice: bool


def gradient_of(opdef: OpDef) -> Gradient | None:
    """That of an operator as `register` takes it."""
    try:
        first = differentiate(opdef)
    except AscendError:
        return Gradient("PyTorch", twice=True) if has_equivalent(opdef) else None
    try:
        differentiate(first)
    except AscendError:
        return Gradient("formula", twice=False)
    return Gradient("formula", twice=True)


def all_gradients() -> dict[str, Gradient | None]:
    """Of every built-in operator, by name, with whose it is before one that shares its name with another."""
    made: dict[str, Gradient | None] = {}
    for _, listed in Registry().definitions():
        opdef = definition_of(listed.op, listed.domain)
        whose = "onnxruntime's" if listed.domain == "com.microsoft" else "ONNX's"
        made[f"{whose} {opdef.op}" if opdef.op in made else opdef.op] = gradient_of(opdef)
    return made
