"""The gradient of an operator by its equivalent, as a PyTorch operator of its own, for traces.

A trace doesn't know the elements of axes, sizes and scales, which an equivalent reads. The operator stands in
the traced graph in its place, and reads them when it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascend_ep.frameworks.torch.schema import argument, parameters
from ascend_ep.opdef.definition import OpDef

#: What the name of such an operator ends with.
SUFFIX = "_slopes"
#: Operators whose equivalents read elements of inputs behind the first.
READERS = frozenset({
    "AffineGrid", "ArrayFeatureExtractor", "CenterCropPad", "Col2Im", "CumProd", "CumSum", "DFT", "Dropout",
    "Expand", "MaxUnpool", "OneHot", "Pad", "Range", "ReduceL1", "ReduceL2", "ReduceLogSum",
    "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare",
    "Reshape", "Resize", "RoiAlign", "STFT", "Slice", "Split", "Squeeze", "Tile", "TopK", "Trilu",
    "Unsqueeze", "Upsample",
})  # fmt: skip


def is_needed(opdef: OpDef, saved: Sequence[Any]) -> bool:
    """Whether the equivalent would read elements that a trace doesn't know."""
    import torch

    plain = (torch.Tensor, torch.nn.Parameter, type(None))
    return (
        opdef.op in READERS
        and any(t is not None for t in saved[1:])
        and any(type(t) not in plain for t in saved)
    )


def define(library: Any, name: str, opdef: OpDef, slopes: Any) -> None:
    """Defines <name>_slopes. slopes(inputs, grads, places, attributes): the slopes by inputs at places."""
    import torch

    attributes = parameters(opdef)
    rest = "".join(f", {argument(a)}" for a in attributes)
    signature = f"(Tensor?[] inputs, Tensor?[] grads, int[] places{rest}) -> Tensor[]"
    library.define(f"{name}{SUFFIX}{signature}", tags=[torch.Tag.pt2_compliant_tag])

    def compute(inputs: Sequence[Any], grads: Sequence[Any], places: Sequence[int], *given: Any) -> list[Any]:
        named = {a.name: v for a, v in zip(attributes, given, strict=False) if v is not None}
        known = [None if t is None else t.detach().requires_grad_(i in places) for i, t in enumerate(inputs)]
        found = slopes(known, grads, places, named)
        return [
            torch.zeros_like(inputs[i]) if s is None else s.contiguous().clone()
            for i, s in zip(places, found, strict=True)
        ]

    def describe(
        inputs: Sequence[Any], grads: Sequence[Any], places: Sequence[int], *given: Any
    ) -> list[Any]:
        return [torch.empty(inputs[i].shape, dtype=inputs[i].dtype) for i in places]

    library.impl(f"{name}{SUFFIX}", compute, "CPU")
    torch.library.register_fake(f"{library.ns}::{name}{SUFFIX}", describe, lib=library)
