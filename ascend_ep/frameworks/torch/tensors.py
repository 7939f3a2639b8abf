"""An operator on tensors, real and fake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ascend_ep.frameworks import runner
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import OpDef
from ascend_ep.runtime.element_types import numpy_dtype


def run(opdef: OpDef, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> list[Any]:
    """The outputs as new tensors."""
    arrays = [None if t is None else _array(t) for t in inputs]
    return [_tensor(y) for y in runner.run(opdef, arrays, attributes)]


def describe(opdef: OpDef, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> list[Any]:
    """Empty tensors of the outputs' shapes and types. An output that the definition gives an input's shape
    keeps symbolic sizes; other rules are evaluated for the sizes at hand."""
    kinds = [None if t is None else (_number(t.dtype), tuple(int(d) for d in t.shape)) for t in inputs]
    named = {spec.name: t for spec, t in zip(opdef.inputs, inputs, strict=False) if t is not None}
    some = next(t for t in inputs if t is not None)
    results = []
    for spec, (dtype, dims) in zip(opdef.outputs, runner.output_kinds(opdef, kinds, attributes), strict=True):
        like = named.get(opdef.shape.get(spec.name, "").strip())
        results.append(some.new_empty(dims if like is None else like.shape, dtype=_torch_types()[dtype]))
    return results


def _torch_types() -> dict[int, Any]:
    import torch

    names = {dtypes.BFLOAT16: "bfloat16", **{n: str(numpy_dtype(n)) for n in dtypes.NUMPY}}
    return {n: getattr(torch, name) for n, name in names.items() if hasattr(torch, name)}


def _number(dtype: Any) -> int:
    return next(n for n, kind in _torch_types().items() if kind == dtype)


def _array(tensor: Any) -> Any:
    import torch

    plain = tensor.detach().contiguous()
    if plain.dtype == torch.bfloat16:
        return plain.view(torch.int16).numpy().view(numpy_dtype(dtypes.BFLOAT16))
    return plain.numpy()


def _tensor(array: Any) -> Any:
    import numpy as np
    import torch

    if array.dtype == numpy_dtype(dtypes.BFLOAT16):
        return torch.from_numpy(np.ascontiguousarray(array).view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))
