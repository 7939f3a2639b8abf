"""An operator on tensors, real and fake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ascend_ep.element_types import numpy_dtype
from ascend_ep.errors import AscendError
from ascend_ep.frameworks import runner
from ascend_ep.frameworks.described import Operand, output_kinds, with_its_outputs
from ascend_ep.frameworks.torch import equivalent_call
from ascend_ep.frameworks.torch.schema import gives_a_list
from ascend_ep.frameworks.torch.sizes import Sizes
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.attributes import with_elements
from ascend_ep.opdef.definition import Formula, Kernel, OpDef
from ascend_ep.opdef.kernel_references import KERNEL_REFERENCES


def run(opdef: OpDef, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> list[Any]:
    """The outputs as new tensors."""
    for tensor in inputs:
        if tensor is not None:
            _number(tensor.dtype, opdef.op)
    if is_wide(opdef, inputs) and (made := _in_float64(opdef, inputs, attributes)) is not None:
        return made
    arrays = [None if t is None else array_of(t, opdef.op) for t in inputs]
    return [tensor_of(np.array(y)) for y in runner.run(opdef, arrays, attributes)]


def is_wide(opdef: OpDef, inputs: Sequence[Any]) -> bool:
    """Whether an operator of ONNX is computed by its equivalent: few kernels have float64."""
    import torch

    wide = any(t is not None and t.dtype == torch.float64 for t in inputs)
    return wide and equivalent_call.has_equivalent(opdef)


def _in_float64(opdef: OpDef, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> list[Any] | None:
    """The outputs by the equivalent; None where it has none for this form."""
    import torch

    operands = tuple(None if t is None else Operand.of(array_of(t, opdef.op), opdef.op) for t in inputs)
    kinds = output_kinds(with_its_outputs(opdef, operands, attributes), operands, attributes)
    try:
        with torch.no_grad():
            made = equivalent_call.outputs(opdef, inputs, attributes)
    except NotImplementedError:
        return None
    return [
        y.to(_torch_types()[t], copy=True, memory_format=torch.contiguous_format)
        for y, (t, _) in zip(made, kinds, strict=False)
    ]


def describe(opdef: OpDef, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> list[Any]:
    """Empty tensors of the outputs' shapes and types. Symbolic sizes stay symbolic: an output's are
    expressions of the inputs', and sizes that must be equal are made so by a guard. A size that elements
    decide is one that nobody knows yet, unless the trace has the elements as constants."""
    import torch

    sizes = Sizes()
    operands = tuple(None if t is None else _operand(t, opdef.op, sizes) for t in inputs)
    if gives_a_list(opdef) and len(operands) > 1 and (parts := operands[1]) is not None:
        fixed = replace(parts, dims=(int(inputs[1].shape[0]),))  # a guard, while it is traced
        operands = (operands[0], fixed, *operands[2:])
    opdef = with_its_outputs(opdef, operands, attributes)
    kinds = sizes.solved(operands, lambda known: output_kinds(opdef, known, attributes))
    device = next((t.device for t in inputs if t is not None), "cpu")
    return [
        torch.empty(sizes.torch_shape(dims), dtype=_torch_types()[dtype], device=device)
        for dtype, dims in kinds
    ]


def are_numpys(tensors: Sequence[Any]) -> bool:
    """Whether NumPy has the types of all tensors."""
    import torch

    return not any(t is not None and t.dtype == torch.bfloat16 for t in tensors)


def says_less(opdef: OpDef) -> bool:
    """Whether a kernel takes more than the formula beside it: it has a reference of its own."""
    return isinstance(opdef.semantics, Kernel) and opdef.semantics.name in KERNEL_REFERENCES


def check_ranks(opdef: OpDef, inputs: Sequence[Any], attributes: Mapping[str, Any], ranks: list[int]) -> None:
    """That the formula of `says_less` gives outputs of these ranks. Raises AscendError E42006: its gradient
    would be another operator's."""
    assert isinstance(opdef.semantics, Kernel), "formulas say less than kernels only"
    said = replace(opdef, shape={}, semantics=Formula(opdef.semantics.formula))
    sizes = Sizes()
    operands = tuple(None if t is None else _operand(t, opdef.op, sizes) for t in inputs)
    attributes = with_elements(said, [None if o is None else o.array for o in operands], attributes)
    unknown = {a.name: 0 for a in said.attributes if a.input and a.name not in attributes}  # while tracing
    given = {**unknown, **attributes}
    kinds = sizes.solved(operands, lambda known: output_kinds(said, known, given))
    if [len(dims) for _, dims in kinds] != ranks:
        shapes = ", ".join(str(list(t.shape)) for t in inputs if t is not None)
        raise AscendError("E42006", opdef.op, f"its formula isn't for inputs of {shapes}", where=opdef.origin)


def _operand(tensor: Any, op: str, sizes: Sizes) -> Operand:
    """What a trace knows of a tensor."""
    from torch.utils._python_dispatch import _disable_current_modes

    constant = getattr(tensor, "constant", None)
    if constant is not None:
        with _disable_current_modes():
            return Operand.of(array_of(constant, op), op)
    return Operand(_number(tensor.dtype, op), tuple(map(sizes.dim, tensor.shape)))


@cache
def _torch_types() -> dict[int, Any]:
    import torch

    names = {dtypes.BFLOAT16: "bfloat16", **{n: str(numpy_dtype(n)) for n in dtypes.NUMPY}}
    return {n: getattr(torch, name) for n, name in names.items() if hasattr(torch, name)}


@cache
def _numbers() -> dict[Any, int]:
    return {kind: number for number, kind in reversed(_torch_types().items())}


def _number(dtype: Any, op: str) -> int:
    number = _numbers().get(dtype)
    if number is None:
        raise AscendError("E41011", op, f"no operator takes tensors of {dtype}")
    return number


class _Elements:
    """A tensor's elements as integers of their size. Its own numpy() would keep it from being resized."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor  # NumPy's array keeps this object
        self.__array_interface__ = {
            "version": 3,
            "shape": tuple(tensor.shape),
            "typestr": f"<i{tensor.element_size()}",
            "data": (tensor.data_ptr(), False),
        }


def array_of(tensor: Any, op: str = "") -> Any:
    """The tensor's elements in memory order, without a copy where they lie so.

    Raises AscendError E41011 for a tensor that has none in the memory of the CPU side by side.
    """
    import torch

    if not is_dense(tensor):
        raise not_dense(tensor, op)
    plain = tensor.detach()
    if torch._is_functional_tensor(plain):
        torch._sync(plain)  # type: ignore[attr-defined,no-untyped-call]
        plain = torch._from_functional_tensor(plain)
    if plain._is_zerotensor():
        plain = torch.zeros(plain.shape, dtype=plain.dtype)
    plain = plain.resolve_conj().resolve_neg().contiguous()
    kind = numpy_dtype(_number(plain.dtype, op))
    if not plain.numel():
        return np.empty(tuple(plain.shape), kind)
    last = plain.storage_offset() + plain.numel()
    if plain.untyped_storage().nbytes() < last * plain.element_size():
        raise AscendError("E41011", op, f"the memory of a tensor of {list(plain.shape)} is gone")
    return np.asarray(_Elements(plain)).view(kind)


def is_dense(tensor: Any) -> bool:
    """Whether its elements lie in the memory of the CPU, each at its place."""
    import torch

    return tensor.layout == torch.strided and tensor.is_cpu and not tensor.is_nested


def not_dense(tensor: Any, op: str) -> AscendError:
    """Why no operator takes a tensor: its layout, or where it is."""
    kind = "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.").lstrip("_")
    what = f"tensors on {tensor.device}" if kind == "strided" else f"{kind} tensors"
    return AscendError("E41011", op, f"it takes dense tensors on the CPU, not {what}")


def tensor_of(array: Any) -> Any:
    """The array as a tensor on its memory."""
    import torch

    if array.dtype == numpy_dtype(dtypes.BFLOAT16):
        bits = np.ascontiguousarray(array).view(np.int16).reshape(array.shape)  # a number has no axis
        return torch.from_numpy(bits).view(torch.bfloat16)
    return torch.from_numpy(array)
