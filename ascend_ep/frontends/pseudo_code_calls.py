"""Calls in pseudo-code: the functions of torch, torch.nn.functional, numpy and math, and tensor methods.

A method is the function of its name with the tensor first, as in PyTorch. NumPy's own meaning is kept where
it differs: np.max(x, axis) is a tensor, np.var divides by n.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ascend_ep.errors import nearest
from ascend_ep.frontends.functions import LIBRARY, inline
from ascend_ep.frontends.pseudo_code_text import CodeReader
from ascend_ep.frontends.pseudo_code_things import NOTHING, Dims, ElementType, Helper, Scope, Thing
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import OPERATIONS, AttributeRef, Cast, Constant, Given, Index
from ascend_ep.opdef.formula_nodes import Axes, Options, Value
from ascend_ep.opdef.formula_text import Token

#: Names of torch and numpy for operations of the expression form.
_OPERATIONS = {
    **{name: name for name in OPERATIONS if name not in ("select", "and", "or", "not", "min", "max")},
    "absolute": "abs",
    "negative": "neg",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "expit": "sigmoid",
    "fabs": "abs",
    "sgn": "sign",
    "fix": "trunc",
    "rint": "round",
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "subtract": "sub",
    "power": "pow",
    "maximum": "max",
    "minimum": "min",
    "fmax": "max",
    "fmin": "min",
    "remainder": "mod",
    "floor_divide": "floordiv",
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "logical_and": "and",
    "logical_or": "or",
    "logical_not": "not",
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
    "matmul": "A matrix product is no elementwise operation: use the operator MatMul.",
    "unsqueeze": "Keep the axis where it is reduced: keepdim=True.",
    "squeeze": "Drop the axis where it is reduced: keepdim=False.",
    "view": "An operator keeps the axes of its inputs.",
    "reshape": "An operator keeps the axes of its inputs.",
    "transpose": "An operator keeps the axes of its inputs.",
    "permute": "An operator keeps the axes of its inputs.",
    "cat": "Return several values instead.",
    "chunk": "Take the parts as two inputs.",
    "split": "Take the parts as two inputs.",
    "dropout": "It does nothing at inference: leave it out.",
    "prelu": "Its weight is along axis 1: write torch.where(x > 0, x, weight*x), weight of shape [C, 1, 1].",
    "print": "Leave it out.",
}


class Calls(CodeReader):
    """Reads calls; what else an expression can be is read by the subclass."""

    def __init__(self, text: str, where: str) -> None:
        super().__init__(text, where)
        self.scope = Scope()
        self.spelled: dict[str, str] = {}
        self.active: list[str] = []
        self.warnings: list[str] = []
        self.depth = 0

    def thing(self, node: ast.expr) -> Thing:
        raise NotImplementedError

    def dotted(self, node: ast.expr) -> tuple[str, str]:
        raise NotImplementedError

    def inlined(self, helper: Helper, call: ast.Call) -> Thing:
        raise NotImplementedError

    # -- arguments --

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

    # -- calls --

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
        if name in self.active:
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

    def cast(self, value: Value, dtype: int, at: int) -> Value:
        if dtype == dtypes.BOOL:
            return self.truth(value)
        if dtype in (dtypes.FLOAT32, dtypes.FLOAT64):
            return self.numeric(value)
        value = self.numeric(value)
        return self.build(Cast(dtype, value.node), "number", at, [value])

    # -- reductions --

    def reduced(self, op: str, bound: dict[str, ast.expr | Value], call: ast.Call) -> Value:
        value = self.numeric(self.required(bound, "input", call))
        axes = self.axes(bound.get("dim"), call)
        keep = self.flag(bound.get("keepdim"), False)
        return self.reduction(op, value, axes, self.position(call), keep)

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
        value = self.reduced(name, bound, call)
        return value if numpy else (value, NOTHING)

    def whole_number(self, node: ast.expr | Value) -> object:
        value = self.value(node)
        if isinstance(value.node, AttributeRef) and self.names.attributes.get(value.node.name) != "int":
            return None
        leaf = getattr(value.node, "args", (value.node,))[0]
        return self.axis(value) if isinstance(leaf, Constant | AttributeRef) else None

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
        at = self.position(call)
        listed: tuple[int | AttributeRef, ...] = (axes,) if isinstance(axes, AttributeRef) else axes
        sizes = [self.build(Index(value.node, a, True), "number", at, [value]) for a in listed]
        count = sizes[0]
        for size in sizes[1:]:
            count = self.apply("mul", [count, size], at)
        return count

    # -- functions of their own: call_<name>(module, name, call, receiver) --

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

    def call_softmax(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "dim", "dtype"), receiver)
        value = self.numeric(self.required(bound, "input", call))
        if "dtype" in bound:
            value = self.converted(value, bound["dtype"], call)
        return self.softmax(value, self.axes(bound.get("dim"), call), self.position(call))

    def call_logsumexp(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "dim", "keepdim"), receiver)
        x = self.shared(self.numeric(self.required(bound, "input", call)))
        axes, keep = self.axes(bound.get("dim"), call), self.flag(bound.get("keepdim"), False)
        at = self.position(call)
        shifted = self.apply("sub", [x, self.reduction("max", x, axes, at)], at)
        total = self.reduction("sum", self.apply("exp", [shifted], at), axes, at, keep)
        return self.apply(
            "add", [self.apply("log", [total], at), self.reduction("max", x, axes, at, keep)], at
        )

    def call_norm(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "p", "dim", "keepdim"), receiver)
        if "p" in bound and self.integer(bound["p"]) != 2:
            self.refuse(call, "only the norm p=2 is known")
        x = self.shared(self.numeric(self.required(bound, "input", call)))
        squares = self.apply("mul", [x, x], self.position(call))
        total = self.reduced("sum", {**bound, "input": squares}, call)
        return self.apply("sqrt", [total], self.position(call))

    def call_any(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        """any and all, as the maximum and minimum of 1 and 0."""
        bound = self.bind(call, ("input", "dim", "keepdim"), receiver)
        truth = self.truth(self.required(bound, "input", call))
        op = "max" if name == "any" else "min"
        return self.truth(self.reduced(op, {**bound, "input": self.numeric(truth)}, call))

    call_all = call_any

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

    def call_layer_norm(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "normalized_shape", "weight", "bias", "eps"), receiver)
        return self.normalized("layer_norm", bound, call)

    def call_rms_norm(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "normalized_shape", "weight", "eps"), receiver)
        if "eps" not in bound:
            self.refuse(
                call, "rms_norm needs eps here: PyTorch's default depends on the type", "Add eps=1e-6."
            )
        return self.normalized("rms_norm", bound, call)

    def normalized(self, name: str, bound: dict[str, ast.expr | Value], call: ast.Call) -> Value:
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

    def call_size(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Thing:
        bound = self.bind(call, ("input", "dim"), receiver)
        value = self.required(bound, "input", call)
        if "dim" not in bound:
            return Dims(value, ())
        return self.build(
            Index(value.node, self.axis(bound["dim"]), True), "number", self.position(call), [value]
        )

    def call_to(self, module: str, name: str, call: ast.Call, receiver: Value | None) -> Value:
        bound = self.bind(call, ("input", "dtype", "copy"), receiver)
        value = self.required(bound, "input", call)
        return self.converted(value, bound.get("dtype"), call)

    def converted(self, value: Value, given: ast.expr | Value | None, call: ast.Call) -> Value:
        """The value as an element type, which is the compute type for the wide ones."""
        thing = NOTHING if given is None else given if isinstance(given, Value) else self.thing(given)
        if isinstance(thing, Value) and thing.kind == "number" and not isinstance(thing.node, Constant):
            return value  # x.to(other): the type of another tensor
        if not isinstance(thing, ElementType):
            self.refuse(call, "expected an element type", "Write x.to(torch.float16).")
        return value if thing.dtype is None else self.cast(value, thing.dtype, self.position(call))

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
