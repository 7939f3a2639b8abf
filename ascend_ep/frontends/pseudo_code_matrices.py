"""Matrices in pseudo-code: products, transposition, and what is made of them."""

from __future__ import annotations

import ast

from ascend_ep.frontends.pseudo_code_functions import OwnFunctions
from ascend_ep.frontends.pseudo_code_things import NOTHING, Thing
from ascend_ep.opdef.expression import Chunk, Concat, Index
from ascend_ep.opdef.formula_nodes import Value


class Matrices(OwnFunctions):
    """call_<name>(module, name, call, receiver) reads one call."""

    def call_matmul(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "other"), receiver)
        a, b = (self.required(bound, n, call) for n in ("input", "other"))
        return self.matmul(a, b, self.position(call))

    call_bmm = call_mm = call_matmul

    def call_transpose(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        """PyTorch's: two axes; NumPy's takes them all."""
        if module in ("np", "numpy"):
            return self.call_permute(module, name, call, receiver)
        bound = self.bind(call, ("input", "dim0", "dim1"), receiver)
        value = self.numeric(self.required(bound, "input", call))
        axes = tuple(self.axis(self.required(bound, n, call)) for n in ("dim0", "dim1"))
        return self.swapped(value, axes, call)

    call_swapaxes = call_swapdims = call_transpose

    def call_t(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        value = self.numeric(self.required(self.bind(call, ("input",), receiver), "input", call))
        return self.transpose(value, (-2, -1), self.position(call))

    def call_permute(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        """Every axis, in its new order, as swaps of two."""
        given: list[ast.expr | Value] = [*([receiver] if receiver else []), *call.args]
        given += [k.value for k in call.keywords]
        if not given:
            self.refuse(call, "the argument input is missing")
        value = self.numeric(self.value(given[0]))
        things = [self.thing(g) if isinstance(g, ast.expr) else g for g in given[1:]]
        listed = things[0] if len(things) == 1 and isinstance(things[0], tuple) else tuple(things)
        order = [self.integer(self.only_value(t, call)) for t in listed]
        rank = len(order)
        if sorted(a % rank if rank else a for a in order) != list(range(rank)) or not rank:
            self.refuse(call, "permute takes each axis once")
        wanted = [a % rank for a in order]
        now = list(range(rank))
        for at in range(rank):
            other = now.index(wanted[at])
            if other != at:
                now[at], now[other] = now[other], now[at]
                value = self.swapped(value, (at - rank, other - rank), call)
        return value

    def swapped(self, value: Value, axes: tuple[object, ...], call: ast.Call) -> Value:
        numbers = [a for a in axes if isinstance(a, int)]
        if len(numbers) != len(axes):
            self.refuse(call, "the axes to swap are numbers")
        return self.transpose(value, tuple(numbers), self.position(call))

    def call_chunk(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Thing:
        """The parts of an axis, as many as are asked for."""
        bound = self.bind(call, ("input", "chunks", "dim"), receiver)
        value = self.shared(self.numeric(self.required(bound, "input", call)))
        count = self.integer(self.required(bound, "chunks", call))
        axis = self.axis(bound["dim"]) if "dim" in bound else 0
        if count < 1:
            self.refuse(call, "chunk makes one part or more")
        at = self.position(call)
        parts = [Chunk(value.node, count, i, axis) for i in range(count)]
        return tuple(self.build(part, "number", at, [value]) for part in parts)

    def call_cat(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        """Tensors one behind the other."""
        bound = self.bind(call, ("tensors", "dim"), receiver)
        given = bound.get("tensors")
        things = self.thing(given) if isinstance(given, ast.expr) else None
        if not isinstance(things, tuple) or not things:
            self.refuse(call, f"{name} takes a list of tensors")
        values = [self.numeric(self.only_value(t, call)) for t in things]
        axis = self.axis(bound["dim"]) if "dim" in bound else 0
        node = Concat(tuple(v.node for v in values), axis)
        return self.build(node, "number", self.position(call), values)

    call_concat = call_concatenate = call_cat

    def call_linear(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        """x W' + b."""
        bound = self.bind(call, ("input", "weight", "bias"), receiver)
        at = self.position(call)
        x, weight = (self.numeric(self.required(bound, n, call)) for n in ("input", "weight"))
        result = self.matmul(x, self.transpose(weight, (-2, -1), at), at)
        bias = bound.get("bias")
        if bias is None or (not isinstance(bias, Value) and self.thing(bias) is NOTHING):
            return result
        return self.with_optional("add", result, self.value(bias), at)

    def call_scaled_dot_product_attention(
        self, module: str, name: str, call: ast.Call, receiver: Value | None
    ) -> Thing:
        """softmax(q k' scale + mask) v; the mask adds, or says where it is true."""
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale")
        bound = self.bind(call, names, receiver)
        at = self.position(call)
        q, k, v = (self.shared(self.numeric(self.required(bound, n, call))) for n in names[:3])
        if "dropout_p" in bound and self.known(self.value(bound["dropout_p"])) != 0.0:
            self.refuse(call, "dropout does nothing at inference: leave it out")
        scores = self.matmul(q, self.transpose(k, (-2, -1), at), at)
        if "scale" in bound and (
            not isinstance(n := bound["scale"], ast.expr) or self.thing(n) is not NOTHING
        ):
            scores = self.apply("mul", [scores, self.value(bound["scale"])], at)
        else:
            width = self.build(Index(q.node, -1, True), "number", at, [q])
            scores = self.apply("div", [scores, self.apply("sqrt", [width], at)], at)
        low = self.constant(float("-inf"), at)
        if self.flag(bound.get("is_causal"), False):
            scores = self.shared(scores)
            rows, columns = (self.build(Index(scores.node, a), "number", at, [scores]) for a in (-2, -1))
            scores = self.select(self.apply("le", [columns, rows], at), scores, low)
        if (given := bound.get("attn_mask")) is not None and self.thing_of(given) is not NOTHING:
            mask = self.value(given)
            is_truth = mask.kind == "bool"
            scores = self.select(mask, scores, low) if is_truth else self.apply("add", [scores, mask], at)
        return self.matmul(self.softmax(scores, (-1,), at), v, at)

    def thing_of(self, given: ast.expr | Value) -> Thing:
        return given if isinstance(given, Value) else self.thing(given)
