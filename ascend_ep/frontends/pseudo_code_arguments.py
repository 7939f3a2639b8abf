"""Arguments of calls in pseudo-code: bound to parameters, read as tensors, axes, flags or element types."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ascend_ep.errors import AscendError
from ascend_ep.frontends.pseudo_code_text import CodeReader
from ascend_ep.frontends.pseudo_code_things import NOTHING, Dims, ElementType, Helper, Scope, Thing
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import AttributeRef, Cast, Constant, Program
from ascend_ep.opdef.formula_nodes import Axes, Value
from ascend_ep.opdef.specialize import specialize


class Arguments(CodeReader):
    """Reads what calls are given; what an expression is, a subclass knows."""

    def __init__(self, text: str, where: str) -> None:
        super().__init__(text, where)
        self.scope = Scope()
        self.spelled: dict[str, str] = {}
        self.active: list[str] = []
        self.warnings: list[str] = []
        self.depth = 0
        self.rounds_done = 0

    def thing(self, node: ast.expr) -> Thing:
        """What an expression is."""
        raise NotImplementedError

    def value(self, node: ast.expr | Value) -> Value:
        """A tensor or number."""
        thing = node if isinstance(node, Value) else self.thing(node)
        if isinstance(thing, Value):
            return thing
        assert isinstance(node, ast.AST)
        words = {
            Dims: "a shape",
            ElementType: "an element type",
            tuple: "several values",
            Helper: "a function",
        }
        return self.refuse(node, f"expected a tensor or a number instead of {words.get(type(thing), 'None')}")

    def integer(self, node: ast.expr | Value) -> int:
        value = self.value(node)
        inner = value.node
        sign = 1
        while not isinstance(inner, Constant) and getattr(inner, "op", "") == "neg":
            sign, inner = -sign, inner.args[0]  # type: ignore[union-attr]
        number = inner.value if isinstance(inner, Constant) else None
        if not isinstance(number, float) or not number.is_integer() or abs(number) > 100:
            self.fail("E42101", "expected a small whole number", at=value.at)
        return sign * int(number)

    def known(self, value: Value) -> float | bool | str | None:
        """The number or truth value that this always is; None when it depends on inputs or attributes."""
        if isinstance(value.node, Constant):
            return value.node.value
        program = Program(tuple(self.lets), (("known", value.node),))
        try:
            result = specialize(program, {}, ()).outputs[0][1]
        except AscendError:
            return None
        return result.value if isinstance(result, Constant) else None

    def axis(self, node: ast.expr | Value) -> int | AttributeRef:
        """An axis: a number or an attribute of type int."""
        value = self.value(node)
        if isinstance(value.node, AttributeRef) and self.names.attributes.get(value.node.name) == "int":
            return value.node
        return self.integer(value)

    def axes(self, node: ast.expr | Value | None, call: ast.Call) -> Axes:
        thing = NOTHING if node is None else node if isinstance(node, Value) else self.thing(node)
        if thing is NOTHING:
            self.refuse(call, "the axes to reduce must be named", "Add dim=-1, or dim=(-2, -1).")
        if isinstance(thing, tuple):
            found = tuple(self.integer(self.only_value(t, call)) for t in thing)
            if not found:
                self.refuse(call, "the axes to reduce must be named", "Add dim=-1, or dim=(-2, -1).")
            return found
        axis = self.axis(self.only_value(thing, call))
        return axis if isinstance(axis, AttributeRef) else (axis,)

    def only_value(self, thing: Thing, node: ast.AST) -> Value:
        return thing if isinstance(thing, Value) else self.refuse(node, "expected a number")

    def flag(self, node: ast.expr | Value | None, default: bool) -> bool:
        if node is None:
            return default
        value = self.value(node)
        if not isinstance(value.node, Constant) or value.kind == "text":
            self.fail("E42101", "expected True or False", at=value.at)
        return bool(value.node.value)

    def bind(
        self, call: ast.Call, names: Sequence[str], receiver: Value | None
    ) -> dict[str, ast.expr | Value]:
        """The arguments of a call by the names of the parameters; a method's tensor is the first."""
        given: list[ast.expr | Value] = [*([receiver] if receiver else []), *call.args]
        for node in call.args:
            if isinstance(node, ast.Starred):
                self.refuse(node, "* isn't allowed in a call")
        if len(given) > len(names):
            self.refuse(call, f"it takes at most {len(names)} arguments: {', '.join(names)}")
        bound = dict(zip(names, given, strict=False))
        for keyword in call.keywords:
            name = keyword.arg or "**"
            if name not in names and name == "axis" and "dim" in names:
                name = "dim"
            if name not in names and name == "keepdims" and "keepdim" in names:
                name = "keepdim"
            if name not in names or name in bound:
                self.refuse(
                    keyword.value,
                    f"the argument {name[:40]} isn't taken here",
                    f"It takes {', '.join(names)}.",
                )
            bound[name] = keyword.value
        return bound

    def required(self, bound: dict[str, ast.expr | Value], name: str, call: ast.Call) -> Value:
        if name not in bound:
            self.refuse(call, f"the argument {name} is missing")
        return self.value(bound[name])

    def cast(self, value: Value, dtype: int, at: int) -> Value:
        if dtype == dtypes.BOOL:
            return self.truth(value)
        if dtype in (dtypes.FLOAT32, dtypes.FLOAT64):
            return self.numeric(value)
        value = self.numeric(value)
        return self.build(Cast(dtype, value.node), "number", at, [value])

    def converted(self, value: Value, given: ast.expr | Value | None, call: ast.Call) -> Value:
        """The value as an element type, which is the compute type for the wide ones."""
        thing = NOTHING if given is None else given if isinstance(given, Value) else self.thing(given)
        if isinstance(thing, Value) and thing.kind == "number" and not isinstance(thing.node, Constant):
            return value  # x.to(other): the type of another tensor
        if not isinstance(thing, ElementType):
            self.refuse(call, "expected an element type", "Write x.to(torch.float16).")
        return value if thing.dtype is None else self.cast(value, thing.dtype, self.position(call))
