"""A program as calls of the tensor DSL on float32 tensors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ascend_ep.codegen.c_source import NotGenerated
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import OpDef, TensorSpec
from ascend_ep.opdef.expression import (
    Apply,
    AttributeRef,
    AxisRange,
    Cast,
    Constant,
    Expression,
    Given,
    Index,
    Input,
    Local,
    Program,
    Reduce,
)
from ascend_ep.opdef.operations import OPERATIONS
from ascend_ep.opdef.reductions import ELEMENTARY, expanded

#: number and fact are Python's, known while the file runs; tensor and truth are tensors of float32 and bool.
Kind = Literal["number", "fact", "tensor", "truth"]
_TWO = {"add": "vadd", "sub": "vsub", "mul": "vmul", "div": "vdiv", "max": "vmax", "min": "vmin"}
_WITH_NUMBER = {"add": "vadds", "mul": "vmuls", "max": "vmaxs", "min": "vmins"}
_ONE = {"exp": "vexp", "abs": "vabs", "sqrt": "vsqrt", "log": "vlog"}
_ROUNDINGS = ("floor", "ceil", "round", "trunc")
_OWN_TWO = ("pow", "mod", "floordiv")
_COMPARISONS = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_PYTHON = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "mod": "%", "floordiv": "//",
           "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "and": "and", "or": "or"}  # fmt: skip
_LOGARITHMS = {"log2": 1.4426950408889634, "log10": 0.4342944819032518}
_FACTS = ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "isnan", "isinf")
_MAX_LINE = 90


@dataclass(frozen=True)
class Part:
    """A value as Python text. Tensors with the same `shape` have one shape; the text of it says nothing."""

    text: str
    kind: Kind
    shape: str = ""


class Calls:
    """The lines of a compute function, and the helpers of tbe_functions that they call."""

    def __init__(self, opdef: OpDef, program: Program) -> None:
        self.opdef = opdef
        self.lines: list[str] = []
        self.helpers: set[str] = set()
        self.locals: dict[str, Part] = {}
        self.taken = {t.name for t in (*opdef.inputs, *opdef.outputs)} | {a.name for a in opdef.attributes}
        for name, value in program.lets:
            self.locals[name] = self.kept(self.part(value))
        self.results = [(name, self.tensor(self.part(value))) for name, value in program.outputs]

    def kept(self, part: Part) -> Part:
        """The part under a name: long texts, and what is used more than once."""
        if re.fullmatch(r"\w+", part.text):
            return part
        name = f"v{len(self.lines)}"
        while name in self.taken:
            name += "_"
        self.lines.append(f"{name} = {part.text}")
        return Part(name, part.kind, part.shape)

    def call(self, text: str, shape: str, kind: Kind = "tensor") -> Part:
        part = Part(text, kind, shape)
        return self.kept(part) if len(text) > _MAX_LINE else part

    # -- expressions --

    def part(self, node: Expression) -> Part:
        if isinstance(node, Constant):
            return self.constant(node)
        if isinstance(node, Input):
            return Part(node.name, "tensor", node.name)
        if isinstance(node, Local):
            return self.locals[node.name]
        if isinstance(node, AttributeRef):
            attribute = self.opdef.attribute(node.name)
            fact = attribute is not None and attribute.type == "bool"
            return Part(node.name, "fact" if fact else "number")
        if isinstance(node, Given):
            return Part("True", "fact")
        if isinstance(node, Cast):
            return self.cast(node)
        if isinstance(node, Reduce):
            return self.reduce(node)
        if isinstance(node, Index) and node.size and isinstance(node.axis, int):
            return Part(f"float({self.tensor(self.part(node.like)).text}.shape[{node.axis}])", "number")
        if isinstance(node, Apply):
            return self.apply(node)
        raise NotGenerated(f"the tensor DSL has nothing for {type(node).__name__.lower()}")

    def constant(self, node: Constant) -> Part:
        if isinstance(node.value, bool):
            return Part(str(node.value), "fact")
        text = repr(node.value)
        return Part(f'float("{text}")' if text in ("inf", "-inf", "nan") else text, "number")

    def apply(self, node: Apply) -> Part:
        args = [self.part(a) for a in node.args]
        if all(a.kind in ("number", "fact") for a in args):
            return self.python(node.op, args)
        if node.op == "select":
            return self.select(*args)
        if node.op in _COMPARISONS:
            return self.compare(node.op, self.numeric(args[0]), self.numeric(args[1]))
        if node.op in ("and", "or", "not"):
            truths = self.alike([self.truth(a, args) for a in args])
            listed = f"{truths[0].text}, " + ("" if node.op == "not" else f"{truths[1].text}, ")
            return self.call(f'dsl.vlogic({listed}operation="logic_{node.op}")', truths[0].shape, "truth")
        operands = [self.numeric(a) for a in args]
        return self.one(node.op, operands[0]) if len(operands) == 1 else self.two(node.op, *operands)

    def python(self, op: str, args: list[Part]) -> Part:
        texts = [f"({a.text})" if " " in a.text else a.text for a in args]
        kind: Kind = "fact" if op in _FACTS else "number"
        if op == "select":
            return Part(f"{texts[1]} if {texts[0]} else {texts[2]}", args[1].kind)
        if op in ("min", "max"):
            return Part(f"{op}({', '.join(texts)})", kind)
        if op in _PYTHON:
            return Part(f" {_PYTHON[op]} ".join(texts), kind)
        if op in ("neg", "not"):
            return Part(f"{'-' if op == 'neg' else 'not '}{texts[0]}", kind)
        if op == "abs":
            return Part(f"abs({texts[0]})", kind)
        if op == "rsqrt":
            return Part(f"1.0 / math.sqrt({texts[0]})", kind)
        if function := OPERATIONS[op].math:
            return Part(f"math.{function}({texts[0]})", kind)
        if op in ("isnan", "isinf"):
            return Part(f"math.{op}({texts[0]})", kind)
        raise NotGenerated(f"the tensor DSL has no {op} of numbers")

    def one(self, op: str, x: Part) -> Part:
        if op == "neg":
            return self.call(f"dsl.vmuls({x.text}, -1.0)", x.shape)
        if op in _ONE:
            return self.call(f"dsl.{_ONE[op]}({x.text})", x.shape)
        if op in _LOGARITHMS:
            return self.call(f"dsl.vmuls(dsl.vlog({x.text}), {_LOGARITHMS[op]!r})", x.shape)
        if op == "rsqrt":
            return self.helped("_reciprocal", f"dsl.vsqrt({x.text})", x.shape)
        if op in _ROUNDINGS:
            return self.helped("_rounded", f"{x.text}, dsl.{op}", x.shape)
        if OPERATIONS[op].tbe_helper:
            return self.helped(f"_{op}", x.text, x.shape)
        if op == "isnan":
            x = self.kept(x)
            return self.call(f'dsl.vcmp({x.text}, {x.text}, "ne", "bool")', x.shape, "truth")
        if op == "isinf":
            return self.call(f'dsl.vcmp(dsl.vabs({x.text}), float("inf"), "eq", "bool")', x.shape, "truth")
        raise NotGenerated(f"the tensor DSL has no {op}")

    def two(self, op: str, a: Part, b: Part) -> Part:
        if op == "pow" and b.kind == "number" and (power := self.power(a, b.text)):
            return power
        if op == "sub" and b.kind == "number":
            return self.two("add", a, self.python("neg", [b]))
        if op == "div" and b.kind == "number":
            return self.two("mul", a, self.python("div", [Part("1.0", "number"), b]))
        if op in ("sub", "div") and a.kind == "number":
            negated = self.one("neg", b) if op == "sub" else self.helped("_reciprocal", b.text, b.shape)
            return (
                negated
                if op == "div" and a.text == "1.0"
                else self.two("add" if op == "sub" else "mul", negated, a)
            )
        if op in _WITH_NUMBER and "number" in (a.kind, b.kind):
            tensor, number = (a, b) if b.kind == "number" else (b, a)
            return self.call(f"dsl.{_WITH_NUMBER[op]}({tensor.text}, {number.text})", tensor.shape)
        if op not in _TWO and op not in _OWN_TWO:
            raise NotGenerated(f"the tensor DSL has no {op}")
        a, b = self.alike([self.filled(a, b), self.filled(b, a)])
        if op in _TWO:
            return self.call(f"dsl.{_TWO[op]}({a.text}, {b.text})", a.shape)
        return self.helped(f"_{op}", f"{self.kept(a).text}, {self.kept(b).text}", a.shape)

    def power(self, a: Part, exponent: str) -> Part | None:
        """Powers that are a few multiplications, or roots."""
        a = self.kept(a)
        roots = {"0.5": "dsl.vsqrt({})", "1.0": "{}", "-1.0": "", "-0.5": ""}
        if exponent in roots:
            root = Part(f"dsl.vsqrt({a.text})" if exponent.endswith("0.5") else a.text, "tensor", a.shape)
            return self.helped("_reciprocal", root.text, a.shape) if exponent[0] == "-" else root
        if exponent in ("2.0", "3.0", "4.0"):
            square = self.kept(Part(f"dsl.vmul({a.text}, {a.text})", "tensor", a.shape))
            other = {"2.0": "", "3.0": a.text, "4.0": square.text}[exponent]
            return self.call(f"dsl.vmul({square.text}, {other})", a.shape) if other else square
        return None

    def compare(self, op: str, a: Part, b: Part) -> Part:
        if a.kind == "number":
            a, b, op = b, a, _COMPARISONS[op]
        if b.kind == "number":
            return self.call(
                f'dsl.vcmp({a.text}, tvm.const({b.text}, "float32"), "{op}", "bool")', a.shape, "truth"
            )
        a, b = self.alike([a, b])
        return self.call(f'dsl.vcmp({a.text}, {b.text}, "{op}", "bool")', a.shape, "truth")

    def select(self, condition: Part, a: Part, b: Part) -> Part:
        if condition.kind == "fact":
            a, b = self.filled(self.numeric(a), b), self.filled(self.numeric(b), a)
            shape = a.shape if a.shape == b.shape else f"{a.shape}|{b.shape}"
            return self.kept(Part(f"{a.text} if {condition.text} else {b.text}", "tensor", shape))
        condition = condition if condition.kind == "truth" else self.truth(condition, [condition])
        a, b = self.numeric(a), self.numeric(b)
        tensors = self.alike([condition, *(p for p in (a, b) if p.kind == "tensor")])
        rest = iter(tensors[1:])
        texts = [next(rest).text if p.kind == "tensor" else f'tvm.const({p.text}, "float32")' for p in (a, b)]
        return self.call(f"dsl.vsel({tensors[0].text}, {texts[0]}, {texts[1]})", tensors[0].shape)

    def cast(self, node: Cast) -> Part:
        x = self.tensor(self.numeric(self.part(node.arg)))
        name = dtypes.name(node.dtype)
        if name in ("float32", "float64"):
            return x
        if name == "bool":
            return self.compare("ne", x, Part("0.0", "number"))
        if name in ("uint32", "int64", "uint64", "uint16", "int16"):
            raise NotGenerated(f"the tensor DSL has no conversion to {name}")
        return self.call(f'dsl.cast_to(dsl.cast_to({x.text}, "{name}"), "float32")', x.shape)

    def reduce(self, node: Reduce) -> Part:
        if node.op not in ELEMENTARY:
            return self.part(expanded(node))
        x = self.kept(self.tensor(self.numeric(self.part(node.arg))))
        if node.axes == "all":
            axes = f"list(range(len({x.text}.shape)))"
        elif isinstance(node.axes, AxisRange):
            first = node.axes.first.name if isinstance(node.axes.first, AttributeRef) else node.axes.first
            stop = "" if node.axes.stop is None else node.axes.stop
            axes = f"list(range(len({x.text}.shape)))[{first}:{stop}]"
        else:
            axes = node.axes.name if isinstance(node.axes, AttributeRef) else str(list(node.axes))
        text = f"dsl.reduce_{node.op}({x.text}, axis={axes}, keepdims={node.keepdims})"
        return self.call(text, f"{x.shape}/{axes}/{node.keepdims}")

    # -- conversions --

    def helped(self, helper: str, arguments: str, shape: str) -> Part:
        self.helpers.add(helper)
        return self.call(f"{helper}({arguments})", shape)

    def numeric(self, part: Part) -> Part:
        if part.kind == "truth":
            return self.call(f'dsl.cast_to({part.text}, "float32")', part.shape)
        return Part(f"float({part.text})", "number") if part.kind == "fact" else part

    def truth(self, part: Part, others: list[Part]) -> Part:
        if part.kind == "truth":
            return part
        like = next((o for o in others if o.kind in ("truth", "tensor")), part)
        if part.kind == "fact":
            text = f'dsl.broadcast(tvm.const(float({part.text}), "float32"), {self.kept(like).text}.shape)'
            part = Part(text, "tensor", like.shape)
        return self.compare("ne", part, Part("0.0", "number"))

    def tensor(self, part: Part) -> Part:
        """A number fills a tensor of the first input's shape."""
        if part.kind in ("number", "fact"):
            return self.filled(
                self.numeric(part), Part(self.opdef.inputs[0].name, "tensor", self.opdef.inputs[0].name)
            )
        return part

    def filled(self, part: Part, like: Part) -> Part:
        if part.kind != "number":
            return part
        self.helpers.add("_filled")
        like = self.kept(like)
        return self.call(f"_filled({like.text}, {part.text})", like.shape)

    def alike(self, parts: list[Part]) -> list[Part]:
        """Tensors in the shape of their broadcast, which the DSL wants said."""
        if len({p.shape for p in parts}) == 1:
            return parts
        self.helpers.add("_alike")
        kept = [self.kept(p) for p in parts]
        names = [f"w{len(self.lines)}_{i}" for i in range(len(kept))]
        self.lines.append(f"{', '.join(names)} = _alike({', '.join(p.text for p in kept)})")
        shape = "&".join(sorted({p.shape for p in kept}))
        return [Part(n, p.kind, shape) for n, p in zip(names, kept, strict=True)]


def body(calls: Calls) -> Iterator[str]:
    """The lines of the compute: inputs to float32, the calls, results in the types of the outputs."""
    opdef = calls.opdef
    specs = {t.name: t for t in opdef.outputs}
    types = {name: _type(specs[name], opdef) for name, _ in calls.results}
    if any(t.endswith("dtype") for t in types.values()):
        for spec in opdef.inputs:
            if f"{spec.name}.dtype" in types.values():
                yield f"{spec.name}_dtype = {spec.name}.dtype"
    for spec in opdef.inputs:
        yield f'{spec.name} = dsl.cast_to({spec.name}, "float32")'
    yield from calls.lines
    results = []
    for name, part in calls.results:
        kind = types[name].replace(".dtype", "_dtype")
        as_it_is = part.kind == "truth" and kind == '"bool"'
        results.append(part.text if as_it_is else f"dsl.cast_to({part.text}, {kind})")
    yield f"return [{', '.join(results)}]"


def _type(output: TensorSpec, opdef: OpDef) -> str:
    """The text of an output's type: that of the first input of the same type variable, or its first type."""
    if output.variable:
        like = next((t.name for t in opdef.inputs if t.variable == output.variable), "")
        if like:
            return f"{like}.dtype"
    if output.types:
        return f'"{dtypes.name(output.types[0])}"'
    return f"{opdef.inputs[0].name}.dtype"
