"""How a shape rule is written: `@infers("Softmax")` on a function from a Call to the outputs' facts.

A rule states dims exactly, in terms of those of the inputs, and the elements of small integer tensors. It
leaves dtype 0 where the ONNX schema determines the type. It calls `call.fail` for a node that can't work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from ascend_ep.errors import AscendError
from ascend_ep.graph.facts import MAX_TRACKED, UNKNOWN, Array, Fact
from ascend_ep.graph.naming import fresh_symbol
from ascend_ep.graph.shape_constraints import Constraints
from ascend_ep.opdef.broadcast import broadcast_free
from ascend_ep.opdef.dims import (
    Dim,
    DimExpr,
    DimTooComplex,
    symbol,
)

Rule = Callable[["Call"], "Fact | Sequence[Fact]"]
R = TypeVar("R", bound=Rule)
Objects = npt.NDArray[np.object_]

#: operator type of the default domain -> its rule
RULES: dict[str, Rule] = {}


class UnknownShape(Exception):
    """The rule needs dims or values that aren't known: the outputs have unknown shapes."""


class VaryingRank(UnknownShape):
    """The ranks of the outputs are others at other sizes, whatever the model declares."""


def infers(*op_types: str) -> Callable[[R], R]:
    """Registers a rule for operators of the default domain."""

    def register(rule: R) -> R:
        for op_type in op_types:
            if op_type in RULES:
                raise ValueError(f"{op_type} has two shape rules")
            RULES[op_type] = rule
        return rule

    return register


class Call:
    """A node as its shape rule sees it: facts of the inputs, attributes, opset version in force."""

    def __init__(
        self,
        node: ir.Node,
        version: int,
        inputs: Sequence[Fact | None],
        constraints: Constraints | None = None,
    ) -> None:
        self.node = node
        self.constraints = constraints or Constraints()
        self.version = version
        self.inputs = list(inputs)
        self.n_outputs = len(node.outputs)

    def has(self, index: int) -> bool:
        return index < len(self.inputs) and self.inputs[index] is not None

    def fact(self, index: int) -> Fact:
        """The fact of input `index`; an unknown one when it is absent."""
        if index >= len(self.inputs):
            return UNKNOWN
        return self.inputs[index] or UNKNOWN

    def dtype(self, index: int) -> int:
        return self.fact(index).dtype

    def dims(self, index: int, rank: int | None = None) -> tuple[Dim, ...]:
        """The dims of input `index`. When nothing is known of them: `rank` free ones where the operator takes
        no other rank, else UnknownShape."""
        if index >= len(self.inputs):
            self.fail(f"input {index} is missing")
        dims = self.fact(index).dims
        if dims is None:
            value = self.node.inputs[index]
            if rank is None or value is None:
                raise UnknownShape
            return tuple(fresh_symbol(value, axis) for axis in range(rank))
        if rank is not None and len(dims) != rank:
            self.fail(f"input {index} has rank {len(dims)} where {rank} is needed")
        return dims

    def ints(self, index: int) -> list[int]:
        """The elements of an integer input; UnknownShape unless all are numbers."""
        values = self.fact(index).shape_value
        if values is None:
            raise UnknownShape
        known = [v for v in values if isinstance(v, int)]
        if len(known) != len(values):
            raise UnknownShape
        return known

    def count(self, *indices: int) -> int:
        """How many elements a list has, or each of several equally long ones; VaryingRank where that depends
        on sizes or data."""
        known = [d for i in indices if (d := self.fact(i).dims) is not None]
        counts = [dims[0] if len(dims) == 1 else 1 for dims in known]
        for count in counts:
            if isinstance(count, int):
                return count
        raise VaryingRank if known else UnknownShape

    def values(self, index: int) -> tuple[Dim, ...]:
        """The elements of an integer input, numbers or symbolic; UnknownShape when not tracked."""
        values = self.fact(index).shape_value
        if values is None:
            raise UnknownShape
        return values

    def elements(self, index: int) -> Objects | None:
        """The tracked elements of input `index` as an array of Dims, or None."""
        fact = self.fact(index)
        shape = fact.static_dims
        if fact.shape_value is None or shape is None:
            return None
        array = np.empty(len(fact.shape_value), dtype=object)
        array[:] = fact.shape_value
        return array.reshape(shape)

    def const(self, index: int) -> Array | None:
        return self.fact(index).const

    def attr(self, name: str, default: Any = None) -> Any:
        """The attribute's value: int, float, str, tuple of these, numpy array (tensor), or a graph."""
        attribute = self.node.attributes.get(name)
        if attribute is None or attribute.is_ref():
            return default
        if attribute.type == ir.AttributeType.TENSOR:
            return attribute.value.numpy()
        return attribute.value

    def axis(self, axis: int, rank: int) -> int:
        """`axis` counted from the front; fails when it is outside."""
        if not -rank <= axis < rank:
            self.fail(f"axis {axis} is outside a tensor of rank {rank}")
        return axis + rank if axis < 0 else axis

    def axes(self, axes: Sequence[int], rank: int) -> list[int]:
        """Distinct axes, counted from the front."""
        normal = [self.axis(a, rank) for a in axes]
        if len(set(normal)) != len(normal):
            self.fail(f"axes {list(axes)} repeat")
        return normal

    def fresh(self, output: int, axis: int) -> DimExpr:
        """A dimension that only the data determines."""
        return symbol(f"{self.node.outputs[output].name}:{axis}")

    def fresh_dims(self, output: int, rank: int) -> list[Dim]:
        return [self.fresh(output, axis) for axis in range(rank)]

    def require(self, a: Dim, b: Dim, what: str) -> Dim:
        """The one dimension that `a` and `b` both are, a number if either is; fails when they differ."""
        if a == b:
            return a
        if isinstance(a, int) and isinstance(b, int):
            return self.fail(f"{what}: {a} and {b} differ")
        self.constraints.see_equal(a, b, self.node)
        return b if isinstance(b, int) else a

    def fail(self, reason: str) -> NoReturn:
        """AscendError E19014 that names the node and its input shapes."""
        shapes = ", ".join(repr(f) if f is not None else "-" for f in self.inputs)
        name = f"{self.node.name or '(unnamed)'} ({self.node.op_type})"
        raise AscendError(
            "E19014", f"({shapes})", name, reason, where=f"node {self.node.name or self.node.op_type}"
        )


def tracked(array: Objects | Array | None, dtype: int = 0) -> Fact | None:
    """The fact of a tensor of these elements (Dims or numbers); None when there are none or too many."""
    if array is None or array.size > MAX_TRACKED:
        return None
    values = [v if isinstance(v, DimExpr) else int(v) for v in array.reshape(-1).tolist()]
    if any(isinstance(v, int) and not -(2**63) <= v < 2**63 for v in values):
        return None
    return Fact(dtype, array.shape, values)


def require_broadcast(call: Call, index: int, dims: Sequence[Dim], what: str) -> None:
    """Input `index` must broadcast to `dims`, not the other way round; nothing is asked of an absent one."""
    if not call.has(index) or call.fact(index).dims is None:
        return
    given = call.dims(index)
    if len(given) > len(dims):
        call.fail(f"{what} has rank {len(given)}, more than {len(dims)}")
    for axis, (have, want) in enumerate(zip(given, dims[len(dims) - len(given) :], strict=True)):
        if have != 1:
            made = have if isinstance(have, int) else broadcast_dim(call, have, want, axis)
            call.require(made, want, f"axis {axis} of {what}")


def broadcast_dim(call: Call, a: Dim, b: Dim, place: int | str) -> Dim:
    """The dimension of an elementwise result: equal ones, or either is 1. `place`: where in the node."""
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if isinstance(a, int) and isinstance(b, int):
        call.fail(f"dimensions {a} and {b} don't broadcast")
    if call.constraints.broadcasts(a, b) or call.constraints.broadcasts(b, a):
        return b if call.constraints.broadcasts(a, b) else a
    try:
        result = broadcast_free(a, b)
    except DimTooComplex:
        result = symbol(f"{call.node.outputs[0].name}:broadcast{place}")
    call.constraints.see_broadcast(a, b, result, call.node)
    return result


def broadcast(call: Call, *shapes: Sequence[Dim]) -> tuple[Dim, ...]:
    """Multidirectional broadcasting of any number of shapes."""
    result: tuple[Dim, ...] = ()
    for shape in shapes:
        rank = max(len(result), len(shape))
        left = (1,) * (rank - len(result)) + result
        right = (1,) * (rank - len(shape)) + tuple(shape)
        pairs = enumerate(zip(left, right, strict=True))
        result = tuple(broadcast_dim(call, a, b, axis - rank) for axis, (a, b) in pairs)
    return result


def same_as_input(call: Call) -> Fact:
    """The rule of operators whose output has the shape of their first input."""
    return Fact(dims=call.dims(0))


def unknown_at(call: Call, dims: list[Dim], axes: Sequence[int]) -> Fact:
    for axis in axes:
        dims[axis] = call.fresh(0, axis)
    return Fact(dims=dims)
