"""Expressions of pseudo-code: which syntax is let through, and what it means."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any, TypeVar

from ascend_ep.errors import did_you_mean
from ascend_ep.frontends.pseudo_code_calls import Calls
from ascend_ep.frontends.pseudo_code_things import (
    NOTHING,
    Dims,
    ElementType,
    Ranked,
    Thing,
    dtype_of,
)
from ascend_ep.opdef.expression import AttributeRef, Constant, Given, Index, Input
from ascend_ep.opdef.formula import MAX_DEPTH
from ascend_ep.opdef.formula_nodes import Value

_T = TypeVar("_T")
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.MatMult: "matmul",
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
#: Numbers that modules have names for.
NUMBERS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
MODULES = ("torch", "np", "numpy", "math", "F", "nn", "torch.nn", "torch.nn.functional", "nn.functional")


class Expressions(Calls):
    """Reads expressions in the scope of one function."""

    def nested(self, read: Callable[[], _T], node: ast.AST) -> _T:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(
                "E42004", "pseudo-code", f"it is nested deeper than {MAX_DEPTH}", at=self.position(node)
            )
        result = read()
        self.depth -= 1
        return result

    def thing(self, node: ast.expr) -> Thing:
        return self.nested(lambda: self.read_thing(node), node)

    def read_thing(self, node: ast.expr) -> Thing:
        if isinstance(node, ast.Constant):
            return self.literal(node)
        if isinstance(node, ast.Name):
            return self.named(node)
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.Subscript):
            return self.subscript(node)
        if isinstance(node, ast.Tuple | ast.List):
            return tuple(self.thing(e) for e in node.elts)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.BinOp):
            return self.binary(node)
        if isinstance(node, ast.UnaryOp):
            return self.unary(node)
        if isinstance(node, ast.BoolOp):
            return self.truths(node)
        if isinstance(node, ast.Compare):
            return self.comparison(node)
        if isinstance(node, ast.IfExp):
            condition = self.condition(node.test)
            return self.choose(condition, self.thing(node.body), self.thing(node.orelse), node)
        return self.refuse(node, f"{type(node).__name__} isn't allowed in an expression")

    def literal(self, node: ast.Constant) -> Thing:
        value, at = node.value, self.position(node)
        if value is None:
            return NOTHING
        if isinstance(value, bool):
            return self.build(Constant(value), "bool", at)
        if isinstance(value, int | float):
            return self.constant(self.finite(value, node), at)
        if isinstance(value, str):
            if len(value) > 100 or '"' in value or "\n" in value:
                self.refuse(node, "a text is short and has no quotes")
            return self.build(Constant(value), "text", at)
        return self.refuse(node, f"{type(value).__name__} isn't allowed")

    def finite(self, value: float, node: ast.AST) -> float:
        try:
            return float(value)
        except OverflowError:
            self.refuse(node, "this number is no finite double")

    def named(self, node: ast.Name) -> Thing:
        if node.id in self.scope:
            return self.scope[node.id]
        if node.id in MODULES:
            self.refuse(node, f"the module {node.id} is no value")
        known = did_you_mean(node.id, [*self.scope])
        fix = f"Make {node.id[:40]} a parameter, or assign it before."
        return self.fail("E42002", node.id[:80], known, at=self.position(node), fix=fix)

    def attribute(self, node: ast.Attribute) -> Thing:
        module, name = self.dotted(node)
        if module in MODULES:
            if name in NUMBERS:
                return self.constant(NUMBERS[name], self.position(node))
            if (dtype := dtype_of(name)) is not None:
                return ElementType(dtype)
            self.refuse(node, f"{module}.{name[:60]} is no number or type that is known")
        thing = self.thing(node.value)
        if isinstance(thing, Ranked) and node.attr in ("values", "indices"):
            return thing[node.attr == "indices"]
        if isinstance(thing, Value) and node.attr == "dtype":
            return ElementType(None)
        if isinstance(thing, Value) and node.attr in ("T", "mT"):
            return self.transpose(self.numeric(thing), (-2, -1), self.position(node))
        if isinstance(thing, Value) and node.attr == "shape":
            return Dims(self.shared(thing), ())
        allowed = "Of a tensor .shape[axis], .dtype, .T, .mT and methods are known."
        return self.refuse(node, f".{node.attr[:60]} isn't allowed", allowed)

    def dotted(self, node: ast.expr) -> tuple[str, str]:
        """`torch.nn.functional.silu` as ("torch.nn.functional", "silu"); ("", ...) for no module's name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute) and len(parts) < 8:
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.scope:
            return "", parts[0] if parts else ""
        return ".".join([node.id, *reversed(parts[1:])]), parts[0] if parts else ""

    def subscript(self, node: ast.Subscript) -> Thing:
        thing = self.thing(node.value)
        if isinstance(thing, Dims) and not thing.axes:
            if isinstance(node.slice, ast.Slice):
                start, stop = node.slice.lower, node.slice.upper
                if start is None or stop is not None or node.slice.step is not None:
                    self.refuse(node, "of a shape only [axis] and [-n:] are known")
                count = self.integer(start)
                if not -8 <= count < 0:
                    self.refuse(node, "of a shape only [axis] and [-n:] are known")
                return Dims(thing.like, tuple(range(count, 0)))
            return self.size(thing.like, self.axis(node.slice), node)
        if isinstance(thing, tuple):
            index = self.integer(node.slice)
            if not -len(thing) <= index < len(thing):
                self.refuse(node, f"there are only {len(thing)} values")
            return thing[index]
        if isinstance(thing, Value):
            return self.picked(thing, node.slice)
        return self.refuse(node, "this can't be indexed")

    def size(self, like: Value, axis: int | AttributeRef, node: ast.AST) -> Value:
        return self.build(Index(like.node, axis, True), "number", self.position(node), [like])

    def binary(self, node: ast.BinOp) -> Value:
        """A chain of operators is read along its left side, however long it is."""
        chain: list[ast.BinOp] = []
        leftmost: ast.expr = node
        while isinstance(leftmost, ast.BinOp):
            chain.append(leftmost)
            leftmost = leftmost.left
        value = self.value(leftmost)
        for part in reversed(chain):
            value = self.calculate(self.operation(part.op, part), value, self.value(part.right), part)
        return value

    def operation(self, operator: ast.operator, node: ast.AST) -> str:
        name = _BINARY.get(type(operator))
        if name is None:
            self.refuse(node, f"{type(operator).__name__} isn't allowed")
        return name

    def calculate(self, op: str, a: Value, b: Value, node: ast.AST) -> Value:
        if op in ("and", "or") and "bool" != a.kind != b.kind:
            self.refuse(node, "& and | take conditions", "Write (a > 0) & (b > 0).")
        if op == "matmul":
            return self.matmul(a, b, self.position(node))
        return self.apply(op, [a, b], self.position(node))

    def unary(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        at = self.position(node)
        if isinstance(node.op, ast.USub):
            return self.apply("neg", [value], at)
        if isinstance(node.op, ast.UAdd):
            return self.numeric(value)
        if isinstance(node.op, ast.Invert) and value.kind != "bool":
            self.refuse(node, "~ takes a condition")
        return self.apply("not", [value], at)

    def truths(self, node: ast.BoolOp) -> Value:
        values = [self.value(v) for v in node.values]
        if any(v.kind != "bool" for v in values):
            self.refuse(node, "`and` and `or` join conditions", "Compare explicitly: x != 0.")
        result = values[0]
        for value in values[1:]:
            op = "and" if isinstance(node.op, ast.And) else "or"
            result = self.apply(op, [result, value], self.position(node))
        return result

    def comparison(self, node: ast.Compare) -> Value:
        if isinstance(node.ops[0], ast.Is | ast.IsNot):
            return self.presence(node)
        values = [self.value(node.left)]
        values += [
            self.shared(self.value(c)) if len(node.ops) > 1 else self.value(c) for c in node.comparators
        ]
        result: Value | None = None
        for op, a, b in zip(node.ops, values, values[1:], strict=False):
            name = _COMPARE.get(type(op))
            if name is None:
                self.refuse(node, "this comparison isn't allowed", "Use < <= > >= == !=.")
            at = self.position(node)
            texts = "text" in (a.kind, b.kind)
            part = self.compare_texts(name, a, b, at) if texts else self.apply(name, [a, b], at)
            result = part if result is None else self.apply("and", [result, part], at)
        assert result is not None
        return result

    def presence(self, node: ast.Compare) -> Value:
        """`bias is None` of an optional input."""
        thing = self.thing(node.left)
        nothing = len(node.ops) == 1 and self.thing(node.comparators[0]) is NOTHING
        optional = isinstance(thing, Value) and isinstance(thing.node, Input) and thing.node.name
        if not nothing or optional not in self.names.optional:
            self.refuse(node, "`is` only asks whether an input with the default None is given")
        given = self.build(Given(str(optional)), "bool", self.position(node))
        absent = isinstance(node.ops[0], ast.Is)
        return self.apply("not", [given], given.at) if absent else given

    def condition(self, node: ast.expr) -> Value:
        """A condition of `if`. One of tensors, an error in PyTorch, is read for each element."""
        value = self.truth(self.value(node))
        tensors = any(isinstance(n, ast.Name) and self.is_tensor(n.id) for n in ast.walk(node))
        if tensors and not _asks_presence(node):
            line = getattr(node, "lineno", 1)
            self.warnings.append(
                f"line {line}: a condition of tensors is read for each element, as torch.where"
            )
        return value

    def is_tensor(self, name: str) -> bool:
        thing: Any = self.scope.get(name)
        return isinstance(thing, Value) and not isinstance(thing.node, AttributeRef | Constant)

    def choose(self, condition: Value, a: Thing, b: Thing, node: ast.AST) -> Thing:
        if not isinstance(a, Value) or not isinstance(b, Value):
            self.refuse(node, "only tensors and numbers can be chosen between")
        return self.select(condition, a, b)


def _asks_presence(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot)
