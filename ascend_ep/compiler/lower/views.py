"""Views of a value that several lowerings need."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_ep.compiler.lowering import Dim, PlanBuilder, Ref, Unsupported
from ascend_ep.opdef.dims import static


def permuted(b: PlanBuilder, x: Ref, perm: Sequence[int]) -> Ref:
    """The axes of x in another order; perm is a permutation of them."""
    strides = b.strides(x)
    return b.view(x, [x.dims[p] for p in perm], 0, [strides[p] for p in perm])


def broadcast(b: PlanBuilder, x: Ref, dims: Sequence[Dim]) -> Ref:
    """x repeated to `dims` by the rules of ONNX: stride 0 along every axis that is repeated."""
    if list(x.dims) == list(dims):
        return x
    added, own = len(dims) - x.rank, b.strides(x)
    if added < 0:
        raise Unsupported(f"{x.name!r} has more axes than it may")
    strides: list[Dim] = [0] * added
    for i, (have, want) in enumerate(zip(x.dims, dims[added:], strict=True)):
        if have != want and static(have) is None:
            raise Unsupported(f"whether dim {have} is repeated is known only at run time")
        if have != want and have != 1:
            raise Unsupported(f"a dim of {have} can't be repeated to {want}")
        strides.append(own[i] if have == want else 0)
    return b.view(x, dims, 0, strides)
