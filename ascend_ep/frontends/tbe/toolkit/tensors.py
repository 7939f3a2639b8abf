"""Tensors of a TBE file while it runs: shape, element type, and the node that computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascend_ep.frontends.tbe.toolkit.elements import DTYPES, Element, IndexVariable, Whole
from ascend_ep.frontends.tbe.toolkit.failure import BROADCAST, DSL, WARNINGS, DslError, Inexpressible
from ascend_ep.frontends.tbe.toolkit.nodes import Node, apply, node_of, traced
from ascend_ep.frontends.tbe.toolkit.unknown import Unknown
from ascend_ep.frontends.tbe.toolkit.variables import resolve_variables

MAX_RANK = 8


class Tensor(Whole):
    """A tensor. `actual` is the shape the node has without the broadcasts that it leaves to later operations:
    `shape` is what the file believes. `packed`: a comparison's bits, eight to an element."""

    def __init__(
        self,
        node: Node,
        shape: Sequence[int],
        dtype: str,
        actual: Sequence[int] | None = None,
        name: str = "",
        packed: Sequence[int] | None = None,
    ) -> None:
        self.node = node
        self.shape = list(shape)
        self.dtype = dtype
        self.actual = plain(shape if actual is None else actual)
        self.name = name
        self.packed = None if packed is None else list(packed)
        self.op = Operation(self)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        return f"Tensor(shape={plain(self.shape)}, dtype={self.dtype})"

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, *indices: Any) -> Any:
        """x(i, j) or x[i, j]."""
        if any(isinstance(i, list | tuple) for i in indices):
            indices = tuple(j for i in indices for j in (i if isinstance(i, list | tuple) else [i]))
        if len(indices) != len(self.shape):
            name = self.name or "the tensor"
            raise DslError(
                DSL, f"{name} has {len(self.shape)} dimensions, but {len(indices)} indices are given"
            )
        return Element("read", (), self.dtype, (self, indices))

    def __getitem__(self, indices: Any) -> Any:
        return self(*(indices if isinstance(indices, tuple) else (indices,)))

    def whole(self) -> Element:
        name = self.name or "a tensor"
        WARNINGS.add(f"{name} stands without indices among elements; it is broadcast (write x(*i))")
        return Element("whole", (), self.dtype, self)


class Operation:
    """`tensor.op`: what schedules ask a tensor for."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self.input_tensors: list[Tensor] = []
        self.attrs: dict[str, Any] = {}
        self.tag = ""

    @property
    def name(self) -> str:
        return self._tensor.name

    @property
    def axis(self) -> list[Any]:
        return [IndexVariable(n, f"i{i}") for i, n in enumerate(self._tensor.shape)]

    reduce_axis = axis

    def output(self, index: int) -> Tensor:
        return self._tensor


class Session:
    """What one run of an operator has made: its placeholders and builds."""

    def __init__(self) -> None:
        self.placeholders: list[Tensor] = []
        self.builds: list[tuple[str, list[Any]]] = []
        #: Shapes of the inputs whose dims are known by name, for placeholders made of run-time variables.
        self.shapes: list[list[int]] = []
        self.exported: list[str] = []

    def shape(self, position: int) -> list[int]:
        """The shape of the input at this position; empty where none is known."""
        return self.shapes[position] if position < len(self.shapes) else []


SESSION = Session()


def plain(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape in plain numbers."""
    return tuple(int(d) for d in shape)


class Text(str):
    """An attribute of a placeholder, as tvm has strings."""

    @property
    def value(self) -> str:
        return str(self)


def _as_tvm_has(value: Any) -> Any:
    """A number or text with .value."""
    if isinstance(value, str):
        return Text(value)
    node = node_of(value) if isinstance(value, int | float) else None
    return value if node is None else traced(value, node)


def placeholder(
    shape: Any, dtype: str = "float32", name: str = "", attrs: Any = None, **_ignored: object
) -> Tensor:
    """tvm.placeholder."""
    position = len(SESSION.placeholders)
    dims = resolve_variables(shape_list(shape), SESSION.shape(position), position)
    if dtype not in DTYPES:
        raise DslError(DSL, f"placeholder has no element type {str(dtype)[:40]!r}")
    dims = [
        d if hasattr(d, "node") else traced(d, Node("extent", (), (position, i))) for i, d in enumerate(dims)
    ]
    tensor = Tensor(Node("placeholder", (), position), dims, dtype, name=name or f"placeholder{position}")
    if isinstance(attrs, dict):
        tensor.op.attrs = {k: _as_tvm_has(v) for k, v in attrs.items()}
    SESSION.placeholders.append(tensor)
    return tensor


def shape_list(shape: Any) -> list[int]:
    """A shape as a list; the dims keep where they come from."""
    items = [shape] if isinstance(shape, int) else list(shape)
    if len(items) > MAX_RANK:
        raise DslError("E80012", f"a shape has {len(items)} dimensions; {MAX_RANK} is the most")
    for d in items:
        if isinstance(d, int) and d < 1:
            raise DslError("E80012", f"the shape {[int(i) for i in items]} has the size {int(d)}")
    return items


def broadcast_dims(*shapes: Sequence[int]) -> list[int]:
    """The shape that tensors of these shapes take together. Raises E80013."""
    rank = max(map(len, shapes))
    result: list[int] = []
    for i in range(-rank, 0):
        dims = [s[i] for s in shapes if len(s) >= -i]
        wide = [d for d in dims if int(d) != 1]
        if len({int(d) for d in wide}) > 1:
            texts = ", ".join(str(list(plain(s))) for s in shapes)
            raise DslError(BROADCAST, f"the shapes {texts} can't be broadcast to one")
        result.append((wide or dims)[0])
    return result


def elementwise(op: str, dtype: str, *operands: Any) -> Tensor:
    """An operation on tensors and numbers, broadcast as NumPy does."""
    tensors = [t for t in operands if isinstance(t, Tensor)]
    shape = broadcast_dims(*(t.shape for t in tensors)) if tensors else []
    actual = broadcast_dims(*(t.actual for t in tensors)) if tensors else []
    return Tensor(apply(op, *map(operand_node, operands)), shape, dtype, actual)


def operand_node(operand: Any) -> Node:
    """The node of a tensor or number. Raises E90001."""
    if isinstance(operand, Tensor):
        return operand.node
    node = node_of(getattr(operand, "number", operand))
    if isinstance(operand, Unknown):
        raise operand.refuse()
    if node is None:
        raise DslError(DSL, f"a {type(operand).__name__} is neither a tensor nor a number")
    return node


def materialized(tensor: Tensor) -> Tensor:
    """The tensor with its whole shape: what a reduction or an output needs."""
    wanted = plain(tensor.shape)
    if tensor.actual == wanted:
        return tensor
    missing = len(wanted) - len(tensor.actual)
    if missing > 0 and wanted == (1,) * missing + tensor.actual:
        axes = tuple(range(-len(wanted), missing - len(wanted)))
        return Tensor(Node("unsqueeze", (tensor.node,), axes), tensor.shape, tensor.dtype)
    like = _of_shape(wanted)
    if like is None:
        raise Inexpressible(
            f"a tensor is broadcast from {list(tensor.actual)} to {list(wanted)}, which is no input's shape"
        )
    return Tensor(Node("sum_to", (tensor.node, like)), tensor.shape, tensor.dtype)


def _of_shape(shape: tuple[int, ...]) -> Node | None:
    """Something over the placeholders that has this shape."""
    for p in SESSION.placeholders:
        if p.actual == shape:
            return p.node
    fitting = [p for p in SESSION.placeholders if _fits(p.actual, shape)]
    if fitting and plain(broadcast_dims(*(p.actual for p in fitting))) == shape:
        node = fitting[0].node
        for p in fitting[1:]:
            node = Node("add", (node, p.node))
        return node
    return None


def _fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    pairs = zip(reversed(shape), reversed(wanted), strict=False)
    return len(shape) <= len(wanted) and all(a in (1, b) for a, b in pairs)
