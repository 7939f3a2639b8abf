"""Reductions in pseudo-code, and what is made of them: softmax, norms, layer_norm, rms_norm."""

from __future__ import annotations

import ast

from ascend_ep.frontends.functions import inline
from ascend_ep.frontends.pseudo_code_arguments import Arguments
from ascend_ep.frontends.pseudo_code_things import NOTHING, Dims, Thing
from ascend_ep.opdef.expression import AttributeRef, Given, Index
from ascend_ep.opdef.formula_nodes import Axes, Value


class Reductions(Arguments):
    """Reductions with PyTorch's meaning; call_<name>(module, name, call, receiver) reads one call."""

    def reduced(self, op: str, bound: dict[str, ast.expr | Value], call: ast.Call) -> Value:
        value = self.numeric(self.required(bound, "input", call))
        axes = self.axes(bound.get("dim"), call)
        keep = self.flag(bound.get("keepdim"), False)
        return self.reduction(op, value, axes, self.position(call), keep)

    def spread(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        """var and std; torch's divide by n - 1 unless correction=0."""
        numpy = module in ("np", "numpy")
        names = (
            ("input", "dim", "keepdim", "ddof")
            if numpy
            else ("input", "dim", "unbiased", "keepdim", "correction")
        )
        bound = self.bind(call, names, receiver)
        value = self.shared(self.numeric(self.required(bound, "input", call)))
        axes = self.axes(bound.get("dim"), call)
        keep = self.flag(bound.get("keepdim"), False)
        less = 0 if numpy else 1
        if (given := bound.get("ddof", bound.get("correction"))) is not None:
            less = self.integer(given)
        elif "unbiased" in bound:
            less = int(self.flag(bound["unbiased"], True))
        at = self.position(call)
        result = self.reduction("var", value, axes, at, keep)
        if less:
            count = self.element_count(value, axes, call)
            rest = self.apply("sub", [count, self.constant(float(less), at)], at)
            result = self.apply("mul", [result, self.apply("div", [count, rest], at)], at)
        return self.apply("sqrt", [result], at) if name == "std" else result

    def element_count(self, value: Value, axes: Axes, call: ast.Call) -> Value:
        assert isinstance(axes, tuple | AttributeRef), "axes() gives numbers or an attribute"
        at = self.position(call)
        listed: tuple[int | AttributeRef, ...] = (axes,) if isinstance(axes, AttributeRef) else axes
        sizes = [self.build(Index(value.node, a, True), "number", at, [value]) for a in listed]
        count = sizes[0]
        for size in sizes[1:]:
            count = self.apply("mul", [count, size], at)
        return count

    def call_softmax(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "dim", "dtype"), receiver)
        value = self.numeric(self.required(bound, "input", call))
        if "dtype" in bound:
            value = self.converted(value, bound["dtype"], call)
        return self.softmax(value, self.axes(bound.get("dim"), call), self.position(call))

    def call_logsumexp(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        return self.reduced(name, self.bind(call, ("input", "dim", "keepdim"), receiver), call)

    def call_norm(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "p", "dim", "keepdim"), receiver)
        if "p" in bound and self.integer(bound["p"]) != 2:
            self.refuse(call, "only the norm p=2 is known")
        x = self.shared(self.numeric(self.required(bound, "input", call)))
        squares = self.apply("mul", [x, x], self.position(call))
        total = self.reduced("sum", {**bound, "input": squares}, call)
        return self.apply("sqrt", [total], self.position(call))

    def call_any(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "dim", "keepdim"), receiver)
        truth = self.truth(self.required(bound, "input", call))
        axes, keep = self.axes(bound.get("dim"), call), self.flag(bound.get("keepdim"), False)
        return self.reduction(name, truth, axes, self.position(call), keep)

    call_all = call_any

    def call_layer_norm(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "normalized_shape", "weight", "bias", "eps"), receiver)
        return self.weighted_norm("layer_norm", bound, call)

    def call_rms_norm(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "normalized_shape", "weight", "eps"), receiver)
        if "eps" not in bound:
            self.refuse(
                call, "rms_norm needs eps here: PyTorch's default depends on the type", "Add eps=1e-6."
            )
        return self.weighted_norm("rms_norm", bound, call)

    def weighted_norm(self, name: str, bound: dict[str, ast.expr | Value], call: ast.Call) -> Value:
        x = self.numeric(self.required(bound, "input", call))
        arguments = {"x": x} | ({"eps": self.value(bound["eps"])} if "eps" in bound else {})
        axes = self.normalized_axes(bound.get("normalized_shape"), call)
        at = self.position(call)
        result = inline(self, name, arguments, {"dim": axes}, at)
        for key, op in (("weight", "mul"), ("bias", "add")):
            given = bound.get(key)
            if given is None or (not isinstance(given, Value) and self.thing(given) is NOTHING):
                continue
            result = self.with_optional(op, result, self.value(given), at)
        return result

    def with_optional(self, op: str, result: Value, operand: Value, at: int) -> Value:
        """result op operand; just result when the operand is an optional input that isn't given."""
        name = getattr(operand.node, "name", "")
        if name not in self.names.optional:
            return self.apply(op, [result, operand], at)
        result = self.shared(result)
        return self.select(self.given_input(name, at), self.apply(op, [result, operand], at), result)

    def given_input(self, name: str, at: int) -> Value:
        return self.build(Given(name), "bool", at)

    def normalized_axes(self, node: ast.expr | Value | None, call: ast.Call) -> tuple[int, ...]:
        """`x.shape[-n:]`, `(x.shape[-1],)` or `x.size(-1)`: the last axes."""
        thing: Thing = NOTHING if node is None else node if isinstance(node, Value) else self.thing(node)
        if isinstance(thing, Dims) and thing.axes:
            return thing.axes
        sizes = thing if isinstance(thing, tuple) else (thing,)
        axes = [
            t.node.axis for t in sizes if isinstance(t, Value) and isinstance(t.node, Index) and t.node.size
        ]
        wanted = list(range(-len(sizes), 0))
        if axes != wanted:
            self.refuse(call, "the axes to normalize must be the last ones", "Write x.shape[-1:].")
        return tuple(wanted)
