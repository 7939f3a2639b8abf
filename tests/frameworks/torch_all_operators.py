"""A call of every operator that has a gradient, as a function of its tensors of floats."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from test_torch_gradients import KERNELS
from test_torch_onnx_gradients import CASES, NARROW, wide
from torch_gradient_checks import DOMAINS, floats, listed, standard

from ascend_ep.element_types import BFLOAT16, FLOAT16, FLOAT32
from ascend_ep.frameworks.torch import register
from ascend_ep.frameworks.torch.extension.sample_inputs import Sample, sample_inputs
from ascend_ep.frameworks.torch.gradients import gradient_of
from ascend_ep.frameworks.torch.schema import parameters
from ascend_ep.frameworks.torch.torch_library import definition_of
from ascend_ep.opdef.declared_types import spec_of_input
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.registry import Registry

#: Inputs of those whose results are infinite in places, or whose formula takes more than the operator.
FOUND = {op: Sample(((2, 3, 4),), -1.0, 1.0, {}) for op in ("CausalMask", "SlidingWindowMask")}
FOUND |= {
    "Gemm": Sample(((2, 3), (3, 4), (4,)), -1.0, 1.0, {}),
    "MatMul": Sample(((2, 3), (3, 4)), -1.0, 1.0, {}),
}
#: The types of inputs, where the definition wants particular ones.
NEEDED = {
    "DequantBias": {0: torch.int32},
    "ImageNormalize": {0: torch.uint8},
    "PerChannelDequant": {0: torch.int8, 2: torch.int8},
    "Celu": {0: torch.float32},
}


KINDS = {torch.float32: FLOAT32, torch.float16: FLOAT16, torch.bfloat16: BFLOAT16}


@dataclass(frozen=True)
class Call:
    """`arguments`: as the function takes them; those that require a gradient are the inputs. `formula`:
    whether the gradient is the definition's, which has forward mode too."""

    name: str
    opdef: OpDef
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    attributes: dict[str, Any]
    formula: bool

    @property
    def inputs(self) -> list[torch.Tensor]:
        """The tensors of floats, detached."""
        return [t.detach() for t in listed(self.arguments) if isinstance(t, torch.Tensor) and t.requires_grad]

    def __call__(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The outputs of floats."""
        left = list(inputs)

        def one(value: Any) -> Any:
            if isinstance(value, list):
                return [one(v) for v in value]
            return left.pop(0) if isinstance(value, torch.Tensor) and value.requires_grad else value

        return tuple(floats(self.function(*map(one, self.arguments), **self.attributes)))

    def takes(self, dtype: torch.dtype) -> bool:
        """Whether the definition has it in the place of float64."""
        kind = KINDS[dtype]
        wide = {k for k, a in enumerate(self.arguments) if any(map(is_wide, listed([a])))}
        types = [spec_of_input(self.opdef, k).types for k in wide]
        return all(not allowed or kind in allowed for allowed in types)

    def rounded(self, dtype: torch.dtype, stored: torch.dtype) -> Call:
        """Of the numbers that a narrower type has of those in float64, stored in another."""

        def one(value: Any) -> Any:
            if isinstance(value, list):
                return [one(v) for v in value]
            if not is_wide(value):
                return value
            return value.detach().to(dtype).to(stored).requires_grad_(value.requires_grad)

        return replace(self, arguments=tuple(map(one, self.arguments)))

    def total(self, *inputs: torch.Tensor) -> torch.Tensor:
        """A number that every finite output changes, each element in another way."""
        found = [torch.where(y.isinf(), 0, y) for y in self(*inputs)]
        parts = [(y + 0.5 * y * y).sum() for y in found]
        return sum(p.to(parts[0].dtype) for p in parts)  # type: ignore[return-value]


def is_wide(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == torch.float64


@cache
def calls(only: tuple[str, ...] = ()) -> list[Call]:
    """One of each operator and form: in float64, in float32 what ONNX has no float64 of. `only`: those whose
    names begin so."""
    made = [*_library({w.removeprefix("ONNX's ").split()[0] for w in only}), *_equivalents()]
    made = [c for c in made if c.name.startswith(only or "")]
    return [c for c in made if c.inputs]


def _library(only: Container[str]) -> Iterator[Call]:
    ours = {d.op for _, d in Registry().definitions() if d.domain is None}
    for _, found in Registry().definitions():
        if only and found.op not in only:
            continue
        opdef = definition_of(found.op, found.domain)
        gradient = gradient_of(opdef)
        if gradient is None or gradient.source != "formula":
            continue
        contributed = found.domain == "com.microsoft" and found.op in ours
        namespace = "standard" if opdef.standard else "contributed" if contributed else "ascend_ep"
        function = register(opdef, namespace=namespace)
        if not opdef.standard and not contributed and opdef.op in KERNELS:
            for k, make in enumerate(KERNELS[opdef.op]):
                torch.manual_seed(k)
                yield Call(f"{opdef.op} {k}", opdef, function, make(), {}, True)
            continue
        sample = FOUND.get(opdef.op) or sample_inputs(opdef)
        assert sample is not None, opdef.op
        types = NEEDED.get(opdef.op, {})
        tensors = [
            None if a is None else _input(torch.from_numpy(a), types.get(k))
            for k, a in enumerate(sample.arrays(opdef))
        ]
        required = [a.name for a in parameters(opdef) if a.required]
        arguments = (*tensors, *(sample.attributes[n] for n in required))
        named = {n: v for n, v in sample.attributes.items() if n not in required}
        whose = "ONNX's " if opdef.standard else "onnxruntime's " if contributed else ""
        yield Call(f"{whose}{opdef.op}", opdef, function, arguments, named, True)


def _input(tensor: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    tensor = tensor if dtype is None else tensor.to(dtype)
    return tensor.requires_grad_() if tensor.is_floating_point() else tensor


def _equivalents() -> Iterator[Call]:
    for k, (op, make, attributes) in enumerate(CASES):
        torch.manual_seed(k)
        made = make() if op in NARROW else tuple(wide(t, op) for t in make())
        opdef = definition_of(op, DOMAINS.get(op, ""))
        yield Call(f"ONNX's {op} {k}", opdef, standard(op), made, attributes, False)
