"""The gradient of an operator by its equivalent, as a PyTorch operator of its own, for traces.

A trace doesn't know the elements of axes, sizes and scales, which an equivalent reads. The operator stands in
the traced graph in its place, and reads them when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch.batches import is_batched, one_by_one
from ascend_ep.frameworks.torch.equivalent_call import are_unknown
from ascend_ep.frameworks.torch.schema import argument, given, parameters
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

#: Those of them that read floats; the others read integers alone.
FLOAT_READERS = frozenset({"Dropout", "Range", "Resize", "Upsample"})


def is_needed(opdef: OpDef, saved: Sequence[Any]) -> bool:
    """Whether the equivalent would read elements that a trace doesn't know or a vmap has several of, or there
    are none."""
    if any(t is not None and t.is_meta for t in saved):
        return True
    if opdef.op not in READERS:
        return False
    read = [t for t in (saved if opdef.op == "Range" else saved[1:]) if t is not None]
    whole = [t for t in read if opdef.op in FLOAT_READERS or not t.is_floating_point()]
    return any(map(is_batched, whole)) or (bool(read) and are_unknown(saved))


def define(library: Any, name: str, opdef: OpDef, slopes: Any) -> None:
    """Defines <name>_slopes. slopes(inputs, grads, places, attributes): the slopes by inputs at places."""
    import torch

    attributes = parameters(opdef)
    listed = "".join(f", {argument(a)}" for a in attributes)
    signature = f"(Tensor?[] inputs, Tensor?[] grads, int[] places{listed}) -> Tensor[]"
    library.define(f"{name}{SUFFIX}{signature}", tags=[torch.Tag.pt2_compliant_tag])

    def compute(inputs: Sequence[Any], grads: Sequence[Any], places: Sequence[int], *rest: Any) -> list[Any]:
        named = given([a.name for a in attributes], rest)
        with _above_autograd():
            known = [
                None if t is None else t.detach().requires_grad_(i in places) for i, t in enumerate(inputs)
            ]
            found = slopes(known, grads, places, named)
        return [s.detach().clone(memory_format=torch.contiguous_format) for s in found]

    def describe(inputs: Sequence[Any], grads: Sequence[Any], places: Sequence[int], *_: Any) -> list[Any]:
        return [torch.empty(inputs[i].shape, dtype=inputs[i].dtype, device=inputs[i].device) for i in places]

    library.impl(f"{name}{SUFFIX}", compute, "CPU")
    library.impl(f"{name}{SUFFIX}", _without_slopes(library, name, opdef), "Autograd", with_keyset=True)
    torch.library.register_fake(f"{library.ns}::{name}{SUFFIX}", describe, lib=library)
    overload = getattr(getattr(torch.ops, library.ns), f"{name}{SUFFIX}").default
    torch.library.register_vmap(f"{library.ns}::{name}{SUFFIX}", one_by_one(overload, True), lib=library)


def _above_autograd() -> Any:
    """Where PyTorch records: what runs a compiled graph may have switched that off. All else stays as it is:
    autocast is on wherever nothing excludes it."""
    import torch

    keys = torch._C.DispatchKey
    excluded = torch._C._dispatch_tls_local_exclude_set()
    for key in (keys.AutogradFunctionality, keys.AutogradOther, keys.AutogradNestedTensor):
        excluded = excluded.remove(key)
    return torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded)


def _without_slopes(library: Any, name: str, opdef: OpDef) -> Callable[..., Any]:
    """The autograd kernel: to differentiate the slopes is AscendError E42006, and not 0."""
    import torch
    from torch._functorch.utils import enable_single_level_autograd_function

    after = torch._C._after_autograd_keyset

    def overload() -> Any:
        return getattr(getattr(torch.ops, library.ns), f"{name}{SUFFIX}").default

    def forward(ctx: Any, call: Any, *flat: Any) -> Any:
        keyset, count, rest = call
        with torch.enable_grad():  # of the transforms around this one
            return tuple(overload().redispatch(keyset & after, flat[:count], flat[count:], *rest))

    def backward(ctx: Any, *_: Any) -> Any:
        raise AscendError(
            "E42006", f"{opdef.op}'s gradient in a trace", "it is one already", where=opdef.origin
        )

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    function: Any = type(f"{opdef.op}SlopesBackward", (torch.autograd.Function,), members)
    apply = super(torch.autograd.Function, function).apply

    def kernel(keyset: Any, inputs: Sequence[Any], grads: Sequence[Any], *rest: Any) -> Any:
        flat = [*inputs, *grads]
        if not (torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in flat)):
            return overload().redispatch(keyset & after, inputs, grads, *rest)
        call = (keyset, len(inputs), rest)
        if torch._C._functorch.peek_interpreter_stack() is None:
            return list(apply(call, *flat))
        with enable_single_level_autograd_function():
            return list(apply(call, *flat))

    return kernel
