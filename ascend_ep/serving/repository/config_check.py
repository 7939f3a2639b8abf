"""Whether a model's configuration and its bundle agree."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.serving.signature import Signature, TensorSpec

from .config import DeclaredTensor, ModelConfig


def check_config(name: str, config: ModelConfig, signature: Signature) -> None:
    """Raises AscendError E50041 with the line of what the bundle contradicts."""
    declared, batched = config.declared, bool(config.max_batch_size)
    tensors = (*signature.inputs, *signature.outputs)
    if batched and not all(spec.dims and isinstance(spec.dims[0], str) for spec in tensors):
        _refuse(
            name,
            declared.batch_line,
            f"max_batch_size is {config.max_batch_size}, but the bundle's inputs and outputs don't all begin "
            "with a size that requests choose",
        )
    _check_tensors(name, "input", declared.inputs, signature.inputs, batched)
    _check_tensors(name, "output", declared.outputs, signature.outputs, batched)
    named = {tensor.name for tensor in declared.inputs}
    missing = [spec.name for spec in signature.inputs if spec.name not in named]
    if named and missing:
        _refuse(name, declared.inputs[0].line, f"the bundle has another input, [{missing[0]}]")


def _check_tensors(
    name: str, kind: str, declared: Sequence[DeclaredTensor], specs: Sequence[TensorSpec], batched: bool
) -> None:
    known = {spec.name: spec for spec in specs}
    for tensor in declared:
        spec = known.get(tensor.name)
        if spec is None:
            near = did_you_mean(tensor.name, known)
            _refuse(name, tensor.line, f"the bundle has no {kind} [{tensor.name}]{near and '.' + near}")
            continue
        if tensor.datatype not in ("", spec.datatype):
            _refuse(
                name,
                tensor.line,
                f"{kind} [{tensor.name}] is {tensor.datatype}; the bundle's is {spec.datatype}",
            )
        dims = (-1, *tensor.dims) if batched else tensor.dims
        if tensor.dims and not _fit(dims, spec):
            _refuse(
                name,
                tensor.line,
                f"{kind} [{tensor.name}] has sizes {list(dims)}; the bundle's has {list(spec.dims)}",
            )


def _fit(dims: Sequence[int], spec: TensorSpec) -> bool:
    if len(dims) != len(spec.dims):
        return False
    return all(isinstance(own, str) or own == size for size, own in zip(dims, spec.dims, strict=True))


def _refuse(name: str, line: int, why: str) -> None:
    raise AscendError("E50041", name, f"line {line}: {why}")
