"""The dims that a shape rule gives, over inputs' dims and attributes (shape_rule_text.py has its grammar)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ascend_ep.opdef.broadcast import broadcast
from ascend_ep.opdef.dims import Dim, DimExpr, DimTooComplex, max_, min_, product
from ascend_ep.opdef.shape_rule_text import ARITHMETIC, COMPARISONS

MAX_RANK = 64

Shape = tuple[Dim, ...]


class Unknown(Exception):
    """The rule needs dims or values that aren't known at conversion."""


class Inapplicable(Exception):
    """The rule can't hold for these inputs; the text says why."""


@dataclass(frozen=True)
class Environment:
    """What a rule is evaluated in. A shape is None when it is unknown; `values` holds known int elements."""

    shapes: Mapping[str, Shape | None]
    attributes: Mapping[str, Any]
    values: Mapping[str, Shape]
    given: frozenset[str]


def evaluate_rule(tree: ast.expr, environment: Environment) -> Shape:
    """The dims a checked rule gives. Raises Unknown or Inapplicable."""
    try:
        result = _Evaluator(environment).value(tree)
    except DimTooComplex:
        raise Unknown from None
    except ZeroDivisionError:
        raise Inapplicable("it divides by zero") from None
    if not isinstance(result, tuple):
        raise Inapplicable("it gives one dimension, not a list")
    if len(result) > MAX_RANK:
        raise Inapplicable(f"it gives {len(result)} dimensions")
    for dim in result:
        if isinstance(dim, int) and not 0 <= dim < 2**63:
            raise Inapplicable(f"it gives the dimension {dim}")
    return result


class _Evaluator:
    """Values are shapes (tuples of dims), dims, and truth values. A method `of_X` for each node class X."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment

    def value(self, node: ast.expr) -> Any:
        handler: Callable[[Any], Any] = getattr(self, "of_" + type(node).__name__)
        return handler(node)

    def of_Constant(self, node: ast.Constant) -> int:
        assert isinstance(node.value, int)
        return node.value

    def of_Name(self, node: ast.Name) -> Any:
        if node.id in self.environment.attributes:
            return self.environment.attributes[node.id]
        if node.id in self.environment.shapes:
            shape = self.environment.shapes[node.id]
            if shape is None:
                raise Unknown
            return shape
        raise Inapplicable(f"[{node.id}] is not given")

    def of_Attribute(self, node: ast.Attribute) -> Any:
        return self.value(node.value)

    def of_List(self, node: ast.List) -> Shape:
        result: list[Dim] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                result += self.shape(element.value)
            else:
                result.append(self.dim(element))
        return tuple(result)

    def of_Subscript(self, node: ast.Subscript) -> Any:
        shape = self.shape(node.value)
        if isinstance(node.slice, ast.Slice):
            if node.slice.step is not None:
                raise Inapplicable("a slice has no step")
            low, high = (None if b is None else self.static(b) for b in (node.slice.lower, node.slice.upper))
            return shape[low:high]
        return shape[self.axis(self.static(node.slice), len(shape))]

    def of_BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Add) and isinstance(left, tuple) and isinstance(right, tuple):
            return left + right
        return ARITHMETIC[type(node.op)](_dim(left), _dim(right))

    def of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return not self.truth(node.operand)
        return self.dim(node.operand) * -1

    def of_Compare(self, node: ast.Compare) -> bool:
        left, right = self.value(node.left), self.value(node.comparators[0])
        compare = COMPARISONS[type(node.ops[0])]
        if isinstance(left, tuple) != isinstance(right, tuple):
            raise Inapplicable("it compares a list with a dimension")
        if isinstance(left, int) and isinstance(right, int):
            return compare(left, right)
        if left == right or (isinstance(left, tuple) and len(left) != len(right)):
            return compare(0, 0 if left == right else 1)
        raise Unknown

    def of_BoolOp(self, node: ast.BoolOp) -> bool:
        values = (self.truth(v) for v in node.values)
        return all(values) if isinstance(node.op, ast.And) else any(values)

    def of_IfExp(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.truth(node.test) else node.orelse)

    def of_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            return self.method(node.func.attr, self.shape(node.func.value), node.args)
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        if name in ("given", "value", "values"):
            assert isinstance(node.args[0], ast.Name)
            return self.of_input(name, node.args[0].id)
        if name in ("rank", "len"):
            return len(self.shape(node.args[0]))
        if name == "prod":
            return product(self.shape(node.args[0]))
        if name == "broadcast":
            try:
                return broadcast(*map(self.shape, node.args))
            except ValueError as error:
                raise Inapplicable(str(error)) from None
        result = self.dim(node.args[0])
        for argument in node.args[1:]:
            result = (max_ if name == "max" else min_)(result, self.dim(argument))
        return result

    def of_input(self, function: str, name: str) -> Any:
        if function == "given":
            return name in self.environment.given
        if name not in self.environment.given:
            raise Inapplicable(f"input [{name}] is not given")
        if name not in self.environment.values:
            raise Unknown
        values = self.environment.values[name]
        if function == "values":
            return values
        if len(values) != 1:
            raise Inapplicable(f"input [{name}] has {len(values)} elements, not one")
        return values[0]

    def method(self, name: str, shape: Shape, arguments: Sequence[ast.expr]) -> Shape:
        if name == "require":
            return _required(shape, self.shape(arguments[0]))
        rank = len(shape) + (name == "insert_dim")
        axis = self.axis(self.static(arguments[0]), rank)
        if name == "without_dim":
            return shape[:axis] + shape[axis + 1 :]
        tail = shape[axis + 1 :] if name == "with_dim" else shape[axis:]
        return (*shape[:axis], self.dim(arguments[1]), *tail)

    def axis(self, axis: int, rank: int) -> int:
        if not -rank <= axis < rank:
            raise Inapplicable(f"axis {axis} is outside a tensor of rank {rank}")
        return axis % rank

    def shape(self, node: ast.expr) -> Shape:
        value = self.value(node)
        if not isinstance(value, tuple):
            raise Inapplicable("a dimension stands where a list of dims must")
        return value

    def dim(self, node: ast.expr) -> Dim:
        return _dim(self.value(node))

    def static(self, node: ast.expr) -> int:
        value = self.dim(node)
        if isinstance(value, DimExpr):
            raise Unknown
        return value

    def truth(self, node: ast.expr) -> bool:
        value = self.value(node)
        if isinstance(value, DimExpr):
            raise Unknown
        return bool(value)


def _required(shape: Shape, wanted: Shape) -> Shape:
    if len(shape) != len(wanted) or any(w not in (-1, d) for d, w in zip(shape, wanted, strict=True)):
        texts = [f"[{', '.join('?' if d == -1 else str(d) for d in dims)}]" for dims in (wanted, shape)]
        raise Inapplicable(f"the operator is for the shape {texts[0]} only, not {texts[1]}")
    return shape


def _dim(value: Any) -> Dim:
    if isinstance(value, tuple):
        raise Inapplicable("a list of dims stands where one dimension must")
    return value if isinstance(value, DimExpr) else int(value)
