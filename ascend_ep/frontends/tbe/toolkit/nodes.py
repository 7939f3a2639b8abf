"""What was computed, as a graph: operations of opdef.expression by name, compared by identity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Node:
    """One operation. `op` is const, placeholder, extent, size, attribute, number, cast, reduce, unsqueeze,
    sum_to, index, transpose, slice, chunk, windows, concat, matmul or the name of an elementwise operation;
    `data` is what it takes besides operands."""

    __slots__ = ("args", "data", "op")

    def __init__(self, op: str, args: tuple[Node, ...] = (), data: Any = None) -> None:
        self.op = op
        self.args = args
        self.data = data


def constant(value: float | bool) -> Node:
    """A literal."""
    return Node("const", (), value)


def apply(op: str, *args: Node) -> Node:
    """An elementwise operation; what adds nothing or changes only a sign is written as one would by hand."""
    if op == "add" and _is_negative(args[1]):
        return Node("sub", (args[0], constant(-args[1].data)))
    if op == "mul" and args[1].op == "const" and args[1].data in (1, -1) and args[1].data is not True:
        return args[0] if args[1].data == 1 else Node("neg", (args[0],))
    return Node(op, args)


def transposed(node: Node, places: Sequence[int]) -> Node:
    """The dimensions of a node, of which the i-th belongs at places[i], in ascending order."""
    now = list(places)
    for i in range(len(now)):
        least = min(range(i, len(now)), key=now.__getitem__)
        if least != i:
            now[i], now[least] = now[least], now[i]
            node = Node("transpose", (node,), (i - len(now), least - len(now)))
    return node


def _is_negative(node: Node) -> bool:
    return node.op == "const" and not isinstance(node.data, bool) and node.data < 0


class Comparisons:
    """What attributes were compared with while the file ran: where its path may depend on their values."""

    def __init__(self) -> None:
        self.found: dict[str, set[float]] = {}

    def note(self, node: Node, other: object) -> None:
        if node.op == "attribute" and isinstance(other, int | float):
            self.found.setdefault(node.data, set()).add(float(other))


COMPARISONS = Comparisons()


def node_of(value: object) -> Node | None:
    """The node of a number, which a plain one gets now; None for what is no number."""
    if isinstance(value, _Traced):
        return value.node
    if isinstance(value, bool | int | float):
        return constant(value)
    try:  # numpy's scalars
        return constant(float(value)) if type(value).__module__ == "numpy" else None  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


class _Traced:
    """A number that knows where it comes from: a dimension of an input or an attribute."""

    node: Node

    @property
    def value(self) -> Any:
        """The plain number, as tvm's constants have it."""
        return _plain(self)

    def __copy__(self) -> _Traced:
        return self

    def __deepcopy__(self, memo: object) -> _Traced:
        return self

    def __bool__(self) -> bool:
        COMPARISONS.note(self.node, 0.0)
        return bool(_plain(self))


class TracedInt(_Traced, int):
    """A whole number from a shape or an attribute."""


class TracedFloat(_Traced, float):
    """A number computed from shapes or attributes."""


def traced(value: int | float, node: Node) -> Any:
    """`value`, remembering that it is `node`."""
    made: Any = (TracedInt if isinstance(value, int) else TracedFloat)(value)
    made.node = node
    return made


def _plain(value: Any) -> int | float:
    return int(value) if isinstance(value, int) else float(value)


def _arithmetic(method: str, op: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    def combine(self: Any, other: Any) -> Any:
        if isinstance(other, complex) or not isinstance(other, int | float):
            return NotImplemented
        result = getattr(_plain(self), method)(_plain(other))
        if result is NotImplemented:  # int with float
            result = getattr(float(self), method)(float(other))
        if not isinstance(result, int | float):
            return result
        nodes = (node_of(self), node_of(other))
        return traced(result, Node(op, nodes[::-1] if swapped else nodes))  # type: ignore[arg-type]

    return combine


def _comparison(method: str) -> Callable[[Any, Any], Any]:
    def compare(self: Any, other: Any) -> Any:
        COMPARISONS.note(self.node, other)
        if isinstance(other, _Traced):
            COMPARISONS.note(other.node, _plain(self))
        if not isinstance(other, int | float):
            return NotImplemented
        return getattr(float(self), method)(float(other))

    return compare


def _unary(method: str, op: str) -> Callable[[Any], Any]:
    return lambda self: traced(getattr(_plain(self), method)(), Node(op, (self.node,)))


def _equip(kind: type) -> None:
    base = int if issubclass(kind, int) else float
    operations = {
        "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floordiv", "mod": "mod",
        "pow": "pow",
    }  # fmt: skip
    for name, op in operations.items():
        setattr(kind, f"__{name}__", _arithmetic(f"__{name}__", op))
        setattr(kind, f"__r{name}__", _arithmetic(f"__r{name}__", op, swapped=True))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(kind, f"__{name}__", _comparison(f"__{name}__"))
    setattr(kind, "__hash__", base.__hash__)  # noqa: B010  (mypy takes no assignment to a method)
    for name, op in {"neg": "neg", "abs": "abs"}.items():
        setattr(kind, f"__{name}__", _unary(f"__{name}__", op))


_equip(TracedInt)
_equip(TracedFloat)
