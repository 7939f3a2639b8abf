"""tvm.compute: a function of indices as operations on whole tensors.

The indices of the result and of reductions are put into one order in which every tensor is read forwards, or
that of the result when there is none: then tensors are transposed. A tensor takes dimensions of 1 for the
indices it isn't read with. Sums of indices are windows and parts (positions.py); other computed places would
be a gather, which is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from ascend_ep.frontends.tbe.toolkit.elements import Element, IndexVariable, Number, element_of
from ascend_ep.frontends.tbe.toolkit.failure import DSL, DslError, Inexpressible
from ascend_ep.frontends.tbe.toolkit.nodes import Node, apply, transposed
from ascend_ep.frontends.tbe.toolkit.positions import position_of, read_along
from ascend_ep.frontends.tbe.toolkit.tensors import (
    SESSION,
    Tensor,
    broadcast_dims,
    materialized,
    shape_list,
)
from ascend_ep.frontends.tbe.toolkit.variables import resolve_variables

_TAGS: list[str] = []
#: The code generator takes the first operand for the whole: the other is there for its shape, or its order.
_FIRST_OPERAND = "phony"


@contextmanager
def tag_scope(tag: Any) -> Iterator[None]:
    """tvm.tag_scope: what is computed within has the tag."""
    _TAGS.append(str(tag))
    try:
        yield
    finally:
        _TAGS.pop()


def compute(
    shape: Any, fcompute: Callable[..., Any], name: str = "compute", tag: Any = "", **_ignored: object
) -> Any:
    """tvm.compute: a tensor of `shape` whose element at i, j, ... is fcompute(i, j, ...)."""
    dims = resolve_variables(shape_list(shape), SESSION.shape(0), 0)
    variables = [IndexVariable(d, f"i{k}") for k, d in enumerate(dims)]
    value = fcompute(*_arguments(fcompute, variables))
    if _FIRST_OPERAND in (str(tag) or (_TAGS[-1] if _TAGS else "")) and isinstance(value, Element):
        value = value.args[0] if len(value.args) == 2 else value
    if isinstance(value, list | tuple):
        return [_Reading(variables, element_of(v)).tensor(name) for v in value]
    return _Reading(variables, element_of(value)).tensor(name)


def scalar(element: Element) -> Tensor:
    """What is computed from elements at fixed positions alone, lr[0] * beta[0]: a tensor without dimensions.
    Raises E90001 when positions are left open."""
    if any(isinstance(i, IndexVariable) for e in element.walk() if e.op == "read" for i in e.data[1]):
        raise DslError(DSL, "an element stands where a tensor must: use tvm.compute for elements")
    return _Reading([], element).tensor("scalar")


def _arguments(function: Callable[..., Any], variables: Sequence[IndexVariable]) -> Sequence[IndexVariable]:
    parameters = list(inspect.signature(function).parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return variables
    if len(parameters) != len(variables):
        text = f"tvm.compute of {len(variables)} dimensions calls its function with {len(variables)} indices"
        raise DslError(DSL, f"{text}, which takes {len(parameters)}")
    return variables


class _Reading:
    """One result: its indices in their order, and the elements read so far."""

    def __init__(self, variables: Sequence[IndexVariable], value: Element) -> None:
        self.result = list(variables)
        self.value = value
        self.order = self._ordered()
        self.done: dict[int, Tensor] = {}

    def tensor(self, name: str) -> Tensor:
        made = self.convert(self.value)
        reduced = [v for v in self.order if v.reduced]
        if reduced:  # dimensions of 1 now
            made = self.drop(made, reduced)
        shape = [v.extent for v in self.result]
        return Tensor(made.node, shape, self.value.dtype, made.actual, name=name)

    # -- the order of indices --

    def _ordered(self) -> list[IndexVariable]:
        """Result indices in order, with those of reductions where the reads need them."""
        elements = list(self.value.walk())
        reduced: list[IndexVariable] = []
        for element in elements:
            if element.op == "reduce":
                reduced += [v for v in element.data[1] if all(v is not r for r in reduced)]
        all_variables = [*self.result, *reduced]
        chains = [self.result]
        for element in elements:
            if element.op == "read":
                chains.append(_read_with(*element.data))
        for chain in chains:
            if len({id(v) for v in chain}) < len(chain):
                raise Inexpressible("a tensor is read along its diagonal")
            for v in chain:
                if all(v is not known for known in all_variables):
                    raise DslError(
                        DSL, f"the index {v.name} belongs to no dimension of this compute and no reduction"
                    )
        after: dict[int, set[int]] = {id(v): set() for v in all_variables}
        for chain in chains:
            for first, second in pairwise(chain):
                after[id(second)].add(id(first))
        ordered: list[IndexVariable] = []
        left = list(all_variables)
        while left:
            placed = {id(v) for v in ordered}
            ready = next((v for v in left if after[id(v)] <= placed), None)
            if ready is None:
                return all_variables
            ordered.append(ready)
            left = [v for v in left if v is not ready]
        return ordered

    def place(self, variable: IndexVariable) -> int:
        """The axis of an index, from the end."""
        return next(i for i, v in enumerate(self.order) if v is variable) - len(self.order)

    # -- elements to tensors --

    def convert(self, element: Element) -> Tensor:
        if id(element) not in self.done:
            self.done[id(element)] = self._convert(element)
        return self.done[id(element)]

    def _convert(self, element: Element) -> Tensor:
        if isinstance(element, Number):
            return Tensor(element.node, [], element.dtype)
        if element.op == "read":
            return self.read(*element.data)
        if element.op == "whole":
            if any(v.reduced for v in self.order) and element.data.shape:
                raise Inexpressible(f"{_named(element.data)} stands without indices in a reduction")
            return materialized(element.data)
        if element.op == "index":
            return self.index(element)
        if element.op == "reduce":
            return self.reduce(element)
        operands = [self.convert(a) for a in element.args]
        if element.op == "cast":
            from ascend_ep.frontends.tbe.toolkit.casts import cast

            return cast(operands[0], element.data)
        nodes = [o.node for o in operands]
        shape = broadcast_dims(*(o.shape for o in operands))
        return Tensor(apply(element.op, *nodes), shape, element.dtype)

    def read(self, tensor: Tensor, indices: Sequence[Any]) -> Tensor:
        tensor = materialized(tensor)
        node, rank = tensor.node, len(indices)
        kept: list[IndexVariable | None] = []
        inner: list[IndexVariable] = []
        for axis, (index, extent) in enumerate(zip(indices, tensor.shape, strict=True)):
            at = position_of(index)
            if at is None:
                raise Inexpressible(
                    f"{_named(tensor)} is read at computed positions of axis {axis} (a gather)"
                )
            node = read_along(node, axis - rank - len(inner), int(extent), at, _named(tensor))
            kept.append(at.index)
            inner += [] if at.inner is None else [at.inner]
        variables = [*kept, *inner]
        dropped = tuple(i - len(variables) for i, v in enumerate(variables) if v is None)
        if dropped:
            node = Node("reduce", (node,), ("max", dropped, False))
        found = [v for v in variables if v is not None]
        places = [self.place(v) for v in found]
        node = transposed(node, places)
        extents = [v.extent for _, v in sorted(zip(places, found, strict=True), key=lambda pair: pair[0])]
        return self.placed(Tensor(node, extents, tensor.dtype), sorted(places))

    def placed(self, tensor: Tensor, places: Sequence[int]) -> Tensor:
        """The tensor with its dimensions at these axes of the common order."""
        if not places:
            return tensor
        missing = tuple(a for a in range(places[0], 0) if a not in places)
        node = Node("unsqueeze", (tensor.node,), missing) if missing else tensor.node
        dims = iter(tensor.shape)
        shape = [1 if a in missing else next(dims) for a in range(places[0], 0)]
        return Tensor(node, shape, tensor.dtype)

    def index(self, element: Element) -> Tensor:
        """Positions along an index, from a tensor that is read with it."""
        for other in self.value.walk():
            if other.op == "read":
                tensor, indices = other.data
                for axis, i in enumerate(indices):
                    if i is element:
                        length = len(indices)
                        like = materialized(tensor).node
                        flat = Node("index", (like,), axis - length)
                        others = tuple(a - length for a in range(length) if a != axis)
                        if others:
                            flat = Node("reduce", (flat,), ("max", others, False))
                        made = Tensor(flat, [tensor.shape[axis]], "int32")
                        return self.placed(made, [self.place(element)])
        raise Inexpressible(
            f"the index {getattr(element, 'name', '')} is used as a value, but no tensor is read with it"
        )

    def reduce(self, element: Element) -> Tensor:
        op, axes = element.data
        body = self.convert(element.args[0])
        places = tuple(sorted(self.place(v) for v in axes))
        for axis, variable in ((self.place(v), v) for v in axes):
            if len(body.shape) < -axis or int(body.shape[axis]) != int(variable.extent):
                raise Inexpressible(f"nothing is read along the reduced index {variable.name}")
        node = Node("reduce", (body.node,), (op, places, True))
        rank = len(body.shape)
        shape = [1 if a - rank in places else d for a, d in enumerate(body.shape)]
        return Tensor(node, shape, body.dtype)

    def drop(self, tensor: Tensor, variables: Sequence[IndexVariable]) -> Tensor:
        """Without the dimensions of 1 that reductions left."""
        places = tuple(sorted(p for p in map(self.place, variables) if len(tensor.shape) >= -p))
        if not places:
            return tensor
        rank = len(tensor.shape)
        shape = [d for a, d in enumerate(tensor.shape) if a - rank not in places]
        node = tensor.node
        if node.op == "reduce" and node.data[1] == places:
            return Tensor(Node("reduce", node.args, (node.data[0], places, False)), shape, tensor.dtype)
        return Tensor(Node("reduce", (node,), ("max", places, False)), shape, tensor.dtype)


def _read_with(tensor: Tensor, indices: Sequence[Any]) -> list[IndexVariable]:
    """The indices that a tensor is read with, in the order of its dimensions; those within windows last."""
    found = [at for at in map(position_of, indices) if at is not None]
    outer = [at.index for at in found if at.index is not None]
    return [*outer, *(at.inner for at in found if at.inner is not None)]


def _named(tensor: Tensor) -> str:
    return tensor.name or "a tensor"
