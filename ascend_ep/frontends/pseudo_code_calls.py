"""Calls in pseudo-code: the functions of torch, torch.nn.functional, numpy and math, and tensor methods.

A method is the function of its name with the tensor first, as in PyTorch. NumPy's own meaning is kept where
it differs: np.max(x, axis) is a tensor, np.var divides by n.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from ascend_ep.errors import nearest
from ascend_ep.frontends.functions import LIBRARY, inline
from ascend_ep.frontends.pseudo_code_parts import Parts
from ascend_ep.frontends.pseudo_code_things import Dims, Helper, Thing
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.formula_nodes import Options, Value
from ascend_ep.opdef.formula_text import Token
from ascend_ep.opdef.operations import OPERATIONS

#: Names of torch and numpy for operations of the expression form.
_OPERATIONS = {
    **{name: name for name in OPERATIONS if name not in ("select", "and", "or", "not", "min", "max")},
    **{other: name for name, o in OPERATIONS.items() for other in o.names},
}
_SYNONYMS = {
    "log_sigmoid": "logsigmoid",
    "hard_swish": "hardswish",
    "hard_sigmoid": "hardsigmoid",
    "leakyrelu": "leaky_relu",
}
#: Calls that return their tensor: nothing of them is left in an expression.
_IDENTITIES = ("contiguous", "clone", "detach", "asarray", "as_tensor", "tensor", "array", "copy")
_COMPUTE = ("float", "double", "type_as")
_CASTS = {"half": dtypes.FLOAT16, "bfloat16": dtypes.BFLOAT16, "int": dtypes.INT32, "long": dtypes.INT64}
_REDUCTIONS = {
    "sum": "sum",
    "nansum": "",
    "mean": "mean",
    "average": "mean",
    "prod": "prod",
    "amax": "max",
    "amin": "min",
}
_FIXES = {
    "squeeze": "Drop the axis where it is reduced: keepdim=False.",
    "view": "An operator keeps the axes of its inputs.",
    "reshape": "An operator keeps the axes of its inputs.",
    "split": "Take the parts as two inputs.",
    "dropout": "It does nothing at inference: leave it out.",
    "prelu": "Its weight is along axis 1: write torch.where(x > 0, x, weight*x), weight of shape [C, 1, 1].",
    "print": "Leave it out.",
}


class Calls(Parts):
    """Finds what a call means by its name."""

    def dotted(self, node: ast.expr) -> tuple[str, str]:
        raise NotImplementedError

    def inlined(self, helper: Helper, call: ast.Call) -> Thing:
        raise NotImplementedError

    def call(self, node: ast.Call) -> Thing:
        function = node.func
        if isinstance(function, ast.Name):
            thing = self.scope.get(function.id)
            if isinstance(thing, Helper):
                return self.inlined(thing, node)
            if thing is not None:
                self.refuse(node, f"{function.id} is no function")
            return self.known_function("", function.id, node, None)
        if not isinstance(function, ast.Attribute):
            self.refuse(node, "only functions and methods with a name can be called")
        module, name = self.dotted(function)
        if module and module.split(".")[0] in ("torch", "np", "numpy", "math", "F", "nn"):
            return self.known_function(module, name, node, None)
        root = function.value
        if isinstance(root, ast.Name) and root.id not in self.scope:
            fix = "Known are torch, F, np and math; tensors are parameters."
            self.fail("E42002", root.id[:80], "", at=self.position(root), fix=fix)
        thing = self.thing(root)
        if isinstance(thing, Dims) or not isinstance(thing, Value):
            self.refuse(node, f"there is no method {function.attr[:60]} of this")
        return self.known_function("", function.attr, node, thing)

    def known_function(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Thing:
        """The call of a known function, by its name."""
        name = _SYNONYMS.get(name, name)
        at = self.position(call)
        special: Callable[[str, str, ast.Call, Value | None], Thing] | None = getattr(
            self, f"call_{name}", None
        )
        if name in ("max", "min"):
            return self.extreme(module, name, call, receiver)
        if _REDUCTIONS.get(name):
            bound = self.bind(call, ("input", "dim", "keepdim"), receiver)
            return self.reduced(_REDUCTIONS[name], bound, call)
        if name in ("var", "std"):
            return self.spread(module, name, call, receiver)
        if special is not None:
            return special(module, name, call, receiver)
        if name in _COMPUTE or name in _IDENTITIES:
            takes = {"type_as": ("input", "other"), "tensor": ("input", "dtype"), "array": ("input", "dtype")}
            bound = self.bind(call, takes.get(name, ("input",)), receiver)
            value = self.required(bound, "input", call)
            return self.converted(value, bound.get("dtype"), call) if "dtype" in bound else value
        if name in _CASTS:
            value = self.required(self.bind(call, ("input",), receiver), "input", call)
            return self.cast(value, _CASTS[name], at)
        if name == "equal" and module not in ("np", "numpy"):
            return self.refuse(call, "torch.equal compares whole tensors", "Use == or torch.eq.")
        if name in _OPERATIONS:
            return self.operation_call(_OPERATIONS[name], call, receiver)
        if name in LIBRARY:
            return self.library(name, call, receiver)
        if name in ("relu", "silu", "square", "reciprocal"):
            value = self.required(self.bind(call, ("input", "inplace"), receiver), "input", call)
            return self.function(name, [value], Options(), Token("name", name, at))
        return self.unknown(name, call)

    def unknown(self, name: str, call: ast.Call) -> Thing:
        specials = [n.removeprefix("call_") for n in dir(self) if n.startswith("call_")]
        known = [
            *_OPERATIONS,
            *LIBRARY,
            *_REDUCTIONS,
            *specials,
            "relu",
            "silu",
            "square",
            "max",
            "min",
            "var",
            "std",
        ]
        fix = _FIXES.get(name) or "Use the functions of torch, F, np and math on whole tensors."
        if name in self.active and isinstance(call.func, ast.Name):
            reason = f"{name[:60]} calls itself, which never ends"
            return self.refuse(call, reason, "Write it without recursion.")
        near = nearest(name, known, 1)
        suggestion = f" (did you mean {near[0]}?)" if near else ""
        return self.refuse(call, f"{name[:60]} isn't known{suggestion}", fix)

    def operation_call(self, op: str, call: ast.Call, receiver: Value | None) -> Value:
        takes = OPERATIONS[op].takes
        names = ("input", "other", "third")[: len(takes)]
        if op in ("add", "sub"):
            names = (*names, "alpha")
        if op == "pow":
            names = ("input", "exponent")
        bound = self.bind(call, names, receiver)
        operands = [self.required(bound, n, call) for n in names[: len(takes)]]
        at = self.position(call)
        if "alpha" in bound:
            operands[1] = self.apply("mul", [self.value(bound["alpha"]), operands[1]], at)
        return self.apply(op, operands, at)

    def library(self, name: str, call: ast.Call, receiver: Value | None) -> Value:
        parameters = list(LIBRARY[name].parameters)
        spelled = ["input" if p == "x" else p for p in parameters]
        bound = self.bind(call, [*spelled, "inplace"] if "inplace" not in spelled else spelled, receiver)
        bound.pop("inplace", None)
        axes = {"dim": self.axes(bound.pop("dim"), call)} if "dim" in bound else {}
        arguments = {
            p: self.numeric(self.required(bound, s, call))
            for p, s in zip(parameters, spelled, strict=True)
            if p != "dim" and (s in bound or LIBRARY[name].parameters[p] is None)
        }
        return inline(self, name, arguments, axes, self.position(call))
