"""Types and shapes of what a custom-operator library makes, by asking its `infer`.

The library speaks numbers; dims may be symbolic. It is then asked for several sizes of the symbols, and an
output dim is what explains all answers: a number, or one of the inputs' dims. The runtime asks again at
every new shape and refuses a plan that says otherwise (native/core/custom.c), so a coincidence can't pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ascend_ep.codegen.library_call import attribute_records
from ascend_ep.compiler.lowering import Unsupported
from ascend_ep.errors import AscendError
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.dims import Dim, evaluate, symbols
from ascend_ep.opdef.elf_file import ElfFile
from ascend_ep.opdef.installed import ENTRY_POINT
from ascend_ep.opdef.output_types import InputType, OutputType
from ascend_ep.plan.plan import MAX_RANK, AttrValue
from ascend_ep.runtime.binding import ffi, lib, new_status, text_of

from .native_code import library_of
from .native_op import attributes as library_attributes

#: Sizes that symbols are given in turn: even, apart from each other, no two sums or products alike.
PROBES = (2, 6, 22, 58, 106, 166)
ROUNDS = 3
_ERROR_BYTES = 384

Answer = list[tuple[int, tuple[int, ...]]]


def infer_library(
    opdef: OpDef, inputs: Sequence[InputType], given: Mapping[str, Any], where: str = ""
) -> list[OutputType]:
    """(dtype, dims) of every output; nothing when an input's rank is unknown.

    Raises AscendError E41011 with the library's own sentence when it refuses, E10041 when it can't be loaded.
    """
    shapes = [None if i is None else i[1] for i in inputs]
    if any(i is not None and i[1] is None for i in inputs):
        return []
    bound = bind_attributes(opdef, given, where) if opdef.attributes else dict(given)
    try:
        attrs = library_attributes(bound)
    except Unsupported as error:
        raise AscendError("E41011", opdef.op, str(error), where=where) from error
    names = sorted(symbols([d for dims in shapes for d in dims or ()]))
    rounds = [
        {n: PROBES[(i + k) % len(PROBES)] * (1 + i // len(PROBES)) for i, n in enumerate(names)}
        for k in range(ROUNDS if names else 1)
    ]
    answers = [_ask(opdef, inputs, sizes, attrs, where) for sizes in rounds]
    known = list(dict.fromkeys(d for dims in shapes for d in dims or () if not isinstance(d, int)))
    return [
        (dtype, _explain([a[k][1] for a in answers], rounds, known))
        for k, (dtype, _) in enumerate(answers[0])
    ]


def _explain(
    answers: Sequence[tuple[int, ...]], rounds: Sequence[Mapping[str, int]], known: Sequence[Dim]
) -> tuple[Dim, ...] | None:
    """Dims that give each round's answer; None when the rank varies or a dim is none of the inputs'."""
    if len({len(a) for a in answers}) != 1:
        return None
    dims: list[Dim] = []
    for sizes in zip(*answers, strict=True):
        fits = (d for d in known if all(evaluate(d, r) == s for r, s in zip(rounds, sizes, strict=True)))
        found = sizes[0] if len(set(sizes)) == 1 else next(fits, None)
        if found is None:
            return None
        dims.append(found)
    return tuple(dims)


def _ask(
    opdef: OpDef,
    inputs: Sequence[InputType],
    sizes: Mapping[str, int],
    attrs: Mapping[str, AttrValue],
    where: str,
) -> Answer:
    op = _load(str(library_of(opdef)), opdef.op)
    if op.computed:
        reason = "it decides the shape of an output while it runs, and graphs are planned before"
        fix = f"Call aclnn{opdef.op}, or ascend-op run; leave it out of the model."
        raise AscendError("E41011", opdef.op, reason, where=where, fix=fix)
    if not op.min_inputs <= len(inputs) <= op.max_inputs:
        reason = f"its library takes {op.min_inputs} to {op.max_inputs} inputs, not {len(inputs)}"
        raise AscendError("E41011", opdef.op, reason, where=where)
    keep: list[Any] = []
    error = ffi.new("char[]", _ERROR_BYTES)
    tensors = ffi.new("asc_tensor[]", max(len(inputs), 1))
    for tensor, given in zip(tensors, inputs, strict=False):
        if given is not None:
            _fill(tensor, given[0], [evaluate(d, sizes) for d in given[1] or ()])
    outputs = ffi.new("asc_tensor[]", op.n_outputs)
    call = ffi.new(
        "asc_custom_call *",
        {
            "in": tensors,
            "out": outputs,
            "n_in": len(inputs),
            "n_out": op.n_outputs,
            "attrs": attribute_records(attrs, keep),
            "n_attrs": len(attrs),
            "threads": 1,
            "error": error,
            "error_bytes": _ERROR_BYTES,
        },
    )
    if op.infer(call) != 0:
        reason = text_of(error) or "its library refuses these shapes without a reason"
        raise AscendError("E41011", opdef.op, reason, where=where)
    for made in outputs:
        if not 0 <= made.rank <= MAX_RANK or not lib.asc_dtype_bytes(made.dtype):
            raise AscendError("E41011", opdef.op, "its library infers an impossible output", where=where)
    return [(made.dtype, tuple(made.dims[i] for i in range(made.rank))) for made in outputs]


def _fill(tensor: Any, dtype: int, dims: Sequence[int]) -> None:
    if len(dims) > MAX_RANK:
        raise AscendError("E41011", "a library's operator", f"an input has more than {MAX_RANK} dims")
    tensor.dtype, tensor.rank = dtype, len(dims)
    step = 1
    for axis in reversed(range(len(dims))):
        tensor.dims[axis], tensor.strides[axis] = dims[axis], step
        step *= dims[axis]


@lru_cache(maxsize=256)
def _load(path: str, op_type: str) -> Any:
    """The asc_custom_op of a library; libraries stay open. One that exports none isn't loaded: that would run
    its constructors."""
    where, fix = f"--custom_op={op_type}", "Give a shared library that was built for this machine."
    if reason := why_not_loaded(Path(path)):
        raise AscendError("E10041", path, reason, where=where, fix=fix)
    status = new_status()
    op = lib.asc_custom_op_load(path.encode(), op_type.encode(), status)
    if op == ffi.NULL:
        raise AscendError("E10041", path, text_of(status.text), where=where, fix=fix)
    return op


def why_not_loaded(path: Path) -> str:
    """Why a file can't be a library of operators; "" when it can."""
    try:
        file = ElfFile(path.read_bytes())
        if ENTRY_POINT not in file.exports():
            return f"it does not export {ENTRY_POINT}"
    except (OSError, ValueError) as error:
        return str(error)
    return "" if file.is_for_here else "it is code for another kind of processor"
