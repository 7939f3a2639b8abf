"""topk, argmax and argmin in pseudo-code, and torch's max and min along an axis, which say where too."""

from __future__ import annotations

import ast

from ascend_ep.frontends.pseudo_code_reductions import Reductions
from ascend_ep.frontends.pseudo_code_things import Ranked, Thing
from ascend_ep.opdef.expression import AttributeRef, Constant, TopK
from ascend_ep.opdef.formula_nodes import MAX_K, Value


class Rankings(Reductions):
    """Functions that order the elements along an axis, with PyTorch's meaning."""

    def call_topk(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Thing:
        bound = self.bind(call, ("input", "k", "dim", "largest", "sorted"), receiver)
        value = self.shared(self.numeric(self.required(bound, "input", call)))
        k = self.count(self.required(bound, "k", call), call)
        axis = self.axis(bound["dim"]) if "dim" in bound else -1
        largest = self.flag(bound.get("largest"), True)
        self.flag(bound.get("sorted"), True)
        at = self.position(call)
        values, indices = (
            self.build(TopK(value.node, k, axis, largest, where), "number", at, [value])
            for where in (False, True)
        )
        return Ranked((values, indices))

    def count(self, value: Value, call: ast.Call) -> int | AttributeRef:
        """k: a whole number or an attribute."""
        node = value.node
        if isinstance(node, AttributeRef) and self.names.attributes.get(node.name) == "int":
            return node
        known = node.value if isinstance(node, Constant) and value.kind == "number" else None
        if known is None or float(known) not in range(MAX_K):
            self.refuse(call, f"k is a whole number below {MAX_K}, or a parameter with such a default")
        return int(known)

    def call_argmax(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        return self.reduced(name, self.bind(call, ("input", "dim", "keepdim"), receiver), call)

    call_argmin = call_argmax

    def extreme(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Thing:
        """max and min: of two tensors, or over an axis; torch's own gives (values, indices)."""
        count = len(call.args) + (receiver is not None)
        named = {k.arg for k in call.keywords}
        at = self.position(call)
        if not module and receiver is None:
            values = [self.value(a) for a in call.args]
            if len(values) < 2 or call.keywords:
                self.refuse(call, f"{name} takes two values or more", "Over an axis: x.amax(dim=-1).")
            result = values[0]
            for value in values[1:]:
                result = self.apply(name, [result, value], at)
            return result
        numpy = module in ("np", "numpy") or "axis" in named
        bound = self.bind(call, ("input", "dim", "keepdim"), receiver)
        if count >= 2 and not numpy and not isinstance(self.whole_number(bound["dim"]), int | AttributeRef):
            return self.apply(name, [self.value(bound["input"]), self.value(bound["dim"])], at)
        bound["input"] = self.shared(self.numeric(self.required(bound, "input", call)))
        best = self.reduced(name, bound, call)
        return best if numpy else Ranked((best, self.reduced(f"arg{name}", bound, call)))

    def whole_number(self, node: ast.expr | Value) -> object:
        value = self.value(node)
        if isinstance(value.node, AttributeRef) and self.names.attributes.get(value.node.name) != "int":
            return None
        leaf = getattr(value.node, "args", (value.node,))[0]
        return self.axis(value) if isinstance(leaf, Constant | AttributeRef) else None
