"""Functions of pseudo-code whose arguments need reading of their own."""

from __future__ import annotations

import ast

from ascend_ep.frontends.functions import inline
from ascend_ep.frontends.pseudo_code_ranking import Rankings
from ascend_ep.frontends.pseudo_code_things import NOTHING, Dims, Thing
from ascend_ep.opdef.expression import AttributeRef, Constant, Index, Unsqueeze
from ascend_ep.opdef.formula_nodes import Options, Value
from ascend_ep.opdef.formula_text import Token


class OwnFunctions(Rankings):
    """call_<name>(module, name, call, receiver) reads a call of the function or method `name`."""

    def call_where(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("condition", "input", "other"), None)
        condition, a, b = (self.required(bound, n, call) for n in ("condition", "input", "other"))
        return self.select(self.truth(condition), a, b)

    def call_masked_fill(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "mask", "value"), receiver)
        x, mask, value = (self.required(bound, n, call) for n in ("input", "mask", "value"))
        return self.select(self.truth(mask), value, x)

    def call_clamp(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        names = ("input", "a_min", "a_max") if module in ("np", "numpy") else ("input", "min", "max")
        bound = self.bind(call, names, receiver)
        value = self.required(bound, "input", call)
        for key, op in ((names[1], "max"), (names[2], "min")):
            limit = bound.get(key)
            if limit is not None and (isinstance(limit, Value) or self.thing(limit) is not NOTHING):
                value = self.apply(op, [value, self.value(limit)], self.position(call))
        return value

    call_clip = call_clamp

    def call_gelu(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "approximate"), receiver)
        value = self.numeric(self.required(bound, "input", call))
        at = self.position(call)
        word = Token("name", "gelu", at)
        if "approximate" not in bound:
            return self.function("gelu", [value], Options(), word)
        given = self.value(bound["approximate"])
        tanh = self.build(Constant("tanh"), "text", at)
        if isinstance(given.node, Constant):
            if given.node.value not in ("tanh", "none"):
                self.refuse(call, "approximate is 'none' or 'tanh'")
            return (
                inline(self, "gelu_tanh", {"x": value}, {}, at)
                if given.node.value == "tanh"
                else self.function("gelu", [value], Options(), word)
            )
        value = self.shared(value)
        condition = self.compare_texts("eq", given, tanh, at)
        return self.select(
            condition,
            inline(self, "gelu_tanh", {"x": value}, {}, at),
            self.function("gelu", [value], Options(), word),
        )

    def call_softplus(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "beta", "threshold"), receiver)
        value = self.required(bound, "input", call)
        at = self.position(call)
        if "beta" not in bound:
            return self.apply("softplus", [value], at)
        beta = self.shared(self.value(bound["beta"]))
        return self.apply(
            "div", [self.apply("softplus", [self.apply("mul", [beta, value], at)], at), beta], at
        )

    def call_size(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Thing:
        bound = self.bind(call, ("input", "dim"), receiver)
        value = self.required(bound, "input", call)
        if "dim" not in bound:
            return Dims(self.shared(value), ())
        return self.build(
            Index(value.node, self.axis(bound["dim"]), True), "number", self.position(call), [value]
        )

    def call_unsqueeze(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "dim"), receiver)
        value = self.numeric(self.required(bound, "input", call))
        axis = self.axis(self.required(bound, "dim", call))
        axes = axis if isinstance(axis, AttributeRef) else (axis,)
        return self.build(Unsqueeze(value.node, axes), "number", self.position(call), [value])

    call_expand_dims = call_unsqueeze

    def call_to(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "dtype", "copy"), receiver)
        value = self.required(bound, "input", call)
        return self.converted(value, bound.get("dtype"), call)

    call_type = call_to
    call_astype = call_to

    def call_bool(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        return self.truth(self.required(self.bind(call, ("input",), receiver), "input", call))

    def call_full_like(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        return self.required(self.bind(call, ("input", "fill_value"), receiver), "fill_value", call)

    def call_zeros_like(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        self.required(self.bind(call, ("input",), receiver), "input", call)
        return self.constant(1.0 if name == "ones_like" else 0.0, self.position(call))

    call_ones_like = call_zeros_like
