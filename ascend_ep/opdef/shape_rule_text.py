"""Reading and checking the text of a shape rule.

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
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn

from ascend_ep.errors import AscendError, did_you_mean

MAX_TEXT = 2000
MAX_DEPTH = 40

_METHODS = {"with_dim": 2, "without_dim": 1, "insert_dim": 2, "require": 1}
_FUNCTIONS = ("broadcast", "max", "min", "prod", "rank", "len", "given", "value", "values")
ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


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
            return type(node.op) in ARITHMETIC
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.USub | ast.Not)
        if isinstance(node, ast.Compare):
            return len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS
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
