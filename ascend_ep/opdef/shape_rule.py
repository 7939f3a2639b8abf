"""Shape rules: the dims of an output, as a text over the inputs' dims and the attributes.

    x                                  the shape of input x          broadcast(x, y)
    [*x.shape[:-1], k]                 a list of dims                x.with_dim(axis, k)
    x.without_dim(axis)                                              x.insert_dim(axis, 1)
    x.shape[0] * 2 + pad // stride     one dimension                 max(a, b)  min(a, b)  prod(x.shape[1:])
    gate if given(up) else ...         choices known at conversion   rank(x)  len(axes)
    value(K)  values(K)                elements of a small integer input known at conversion
    x.require([4, -1])                 x's shape, which must be this; -1 is any size

The grammar is Python's, read with `ast` and never evaluated by Python; what isn't listed here is refused.
Attributes of type int and ints are names. Axes may be negative.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.opdef.broadcast import broadcast
from ascend_ep.opdef.dims import Dim, DimExpr, DimTooComplex, max_, min_, product

MAX_TEXT = 2000
MAX_DEPTH = 40
MAX_RANK = 64

Shape = tuple[Dim, ...]
_METHODS = {"with_dim": 2, "without_dim": 1, "insert_dim": 2, "require": 1}
_FUNCTIONS = ("broadcast", "max", "min", "prod", "rank", "len", "given", "value", "values")
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


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


@lru_cache(maxsize=1024)
def parse_rule(text: str, inputs: frozenset[str], attributes: frozenset[str], where: str = "") -> ast.expr:
    """Reads and checks a rule; raises E42001, E42002 or E42004 with a caret."""
    if len(text) > MAX_TEXT:
        raise AscendError("E42004", "shape rule", f"it has more than {MAX_TEXT} characters", where=where)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        at = getattr(error, "offset", None) or 1
        reason = getattr(error, "msg", None) or "it is nested too deeply"
        raise AscendError(
            "E42001", "shape rule", reason, where=where, details=[text[:200], " " * (at - 1) + "^"]
        ) from None
    _Checker(text.strip(), inputs, attributes, where).check(tree, 0)
    return tree


class _Checker:
    def __init__(self, text: str, inputs: frozenset[str], attributes: frozenset[str], where: str) -> None:
        self.text, self.inputs, self.attributes, self.where = text, inputs, attributes, where

    def fail(self, node: ast.AST, reason: str, code: str = "E42001", *arguments: object) -> NoReturn:
        at = int(getattr(node, "col_offset", 0))
        details = [self.text[:200], " " * at + "^"]
        raise AscendError(code, *(arguments or ("shape rule", reason)), where=self.where, details=details)

    def check(self, node: ast.AST, depth: int) -> None:
        if depth > MAX_DEPTH:
            self.fail(node, f"it is nested deeper than {MAX_DEPTH}")
        if isinstance(node, ast.Name):
            self.check_name(node, self.inputs | self.attributes)
            return
        if isinstance(node, ast.Constant):
            if type(node.value) is not int or abs(node.value) > 2**31:
                self.fail(node, "only integers may stand here")
            return
        if isinstance(node, ast.Call):
            self.check_call(node, depth)
            return
        if isinstance(node, ast.List):
            for element in node.elts:
                self.check(element.value if isinstance(element, ast.Starred) else element, depth + 1)
            return
        if isinstance(node, ast.Attribute):
            if node.attr != "shape" or not isinstance(node.value, ast.Name):
                self.fail(node, f".{node.attr} is not known; of a tensor there is .shape")
            self.check_name(node.value, self.inputs)
            return
        if not self.allowed(node):
            self.fail(node, f"{type(node).__name__} may not stand here")
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr_context | ast.operator | ast.unaryop | ast.cmpop | ast.boolop):
                self.check(child, depth + 1)

    def allowed(self, node: ast.AST) -> bool:
        if isinstance(node, ast.BinOp):
            return type(node.op) in _ARITHMETIC
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.USub | ast.Not)
        if isinstance(node, ast.Compare):
            return len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS
        return isinstance(node, ast.BoolOp | ast.IfExp | ast.Subscript | ast.Slice)

    def check_name(self, node: ast.Name, known: frozenset[str]) -> None:
        if node.id not in known:
            self.fail(node, "", "E42002", node.id[:80], did_you_mean(node.id, known))

    def check_call(self, node: ast.Call, depth: int) -> None:
        if node.keywords:
            self.fail(node, "functions take no keywords")
        if isinstance(node.func, ast.Attribute):
            count = _METHODS.get(node.func.attr)
            if count is None:
                known = ", ".join(_METHODS)
                self.fail(node.func, f".{node.func.attr}() is not known; there are {known}")
            if len(node.args) != count:
                self.fail(node, f".{node.func.attr}() takes {count} arguments")
            self.check(node.func.value, depth + 1)
        elif isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            if node.func.id in ("given", "value", "values"):
                if len(node.args) != 1 or not isinstance(node.args[0], ast.Name):
                    self.fail(node, f"{node.func.id}() takes the name of an input")
                self.check_name(node.args[0], self.inputs)
            if not node.args:
                self.fail(node, f"{node.func.id}() needs an argument")
        else:
            name = node.func.id if isinstance(node.func, ast.Name) else "this"
            self.fail(node, "", "E42002", f"{name}()", did_you_mean(name, [*_FUNCTIONS, *_METHODS]))
        for argument in node.args:
            self.check(argument, depth + 1)


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
        return _ARITHMETIC[type(node.op)](_dim(left), _dim(right))

    def of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return not self.truth(node.operand)
        return self.dim(node.operand) * -1

    def of_Compare(self, node: ast.Compare) -> bool:
        left, right = self.value(node.left), self.value(node.comparators[0])
        compare = _COMPARISONS[type(node.ops[0])]
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
