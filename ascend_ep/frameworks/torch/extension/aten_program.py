"""A formula's program as lines of C++ that call ATen: any rank, sizes known or not, every float type."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch.extension.aten_operations import SPELLINGS
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.decisions import assumed, conditions, with_decisions_in_place
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.expression import (
    AddAt,
    All,
    Apply,
    AttributeRef,
    AxisRange,
    Cast,
    Chunk,
    Concat,
    Constant,
    Expression,
    Given,
    Index,
    Input,
    Local,
    MatMul,
    Program,
    Reduce,
    Slice,
    SumTo,
    Take,
    TopK,
    Transpose,
    Unsqueeze,
    Windows,
    children,
)
from ascend_ep.opdef.formula import formula_program

#: at::ScalarType of element types.
SCALAR_TYPES = {
    dtypes.NUMBERS[name]: f"at::k{kind}"
    for name, kind in (
        ("float32", "Float"), ("float64", "Double"), ("float16", "Half"), ("bfloat16", "BFloat16"),
        ("bool", "Bool"), ("int8", "Char"), ("uint8", "Byte"), ("int16", "Short"), ("int32", "Int"),
        ("int64", "Long"), ("uint16", "UInt16"), ("uint32", "UInt32"), ("uint64", "UInt64"),
    )
}  # fmt: skip
#: Decisions of attributes and optional inputs that code distinguishes at most.
MAX_DECISIONS = 6
#: What names of a formula must not be in C++: its words, and what the generated functions use.
_TAKEN = frozenset(
    [
        "alignas",
        "alignof",
        "and",
        "and_eq",
        "asm",
        "auto",
        "bitand",
        "bitor",
        "bool",
        "break",
        "case",
        "catch",
        "char",
        "class",
        "compl",
        "concept",
        "const",
        "consteval",
        "constexpr",
        "constinit",
        "continue",
        "decltype",
        "default",
        "delete",
        "do",
        "double",
        "else",
        "enum",
        "explicit",
        "export",
        "extern",
        "false",
        "float",
        "for",
        "friend",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "mutable",
        "namespace",
        "new",
        "noexcept",
        "not",
        "not_eq",
        "nullptr",
        "operator",
        "or",
        "or_eq",
        "private",
        "protected",
        "public",
        "register",
        "requires",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "template",
        "this",
        "throw",
        "true",
        "try",
        "typedef",
        "typeid",
        "typename",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "while",
        "xor",
        "xor_eq",
        "at",
        "c10",
        "std",
        "torch",
        "formula",
        "compute",
        "options",
        "ctx",
        "saved",
        "grads",
        "NAN",
        "INFINITY",
        "assert",
    ]
)
_CALL = re.compile(r"[\w:]+\([^()]*\)")


@dataclass(frozen=True)
class Term:
    """C++ text. tensor: an at::Tensor, else a number, truth value or text of C++; atom: needs no brackets."""

    text: str
    tensor: bool
    atom: bool = True

    @property
    def operand(self) -> str:
        return self.text if self.atom else f"({self.text})"


class AtenProgram:
    """The computation of an operator. `names`: the C++ parameters of its inputs and attributes."""

    def __init__(self, opdef: OpDef) -> None:
        self.opdef = opdef
        self.program = with_decisions_in_place(formula_program(opdef))
        self.optional = {t.name for t in opdef.inputs if t.occurrence == "optional"}
        self.attributes = {a.name: a for a in opdef.attributes}
        self.names: dict[str, str] = {}
        for name in (*(t.name for t in opdef.inputs), *self.attributes):
            self.names[name] = self._free(name)
        self.raw = _indices_only(self.program) | {t.name for t in opdef.inputs if t.types == (dtypes.BOOL,)}
        self.values = {t.name: self._free(f"{t.name}_") for t in opdef.inputs if t.name not in self.raw}

    def _free(self, name: str, taken: Iterable[str] = ()) -> str:
        """A name that C++, the parameters and the others don't have."""
        used = _TAKEN | set(self.names.values()) | set(getattr(self, "values", {}).values()) | set(taken)
        while name in used:
            name += "_"
        return name

    def body(self, result: str) -> list[str]:
        """Statements from the inputs, in the type `compute`, to `return`. `result`: of each output its type
        in C++, by commas."""
        return list(self._branches(self.program, result.split(", "), MAX_DECISIONS))

    def _branches(self, program: Program, types: list[str], decisions: int) -> Iterator[str]:
        condition = next(conditions(program), None)
        if condition is None:
            yield from _Branch(self, program).lines(types)
            return
        if not decisions:
            reason = f"attributes and optional inputs decide more than {MAX_DECISIONS} times"
            raise AscendError("E43106", self.opdef.op, reason, where=self.opdef.origin)
        text = _Branch(self, program).term(condition).text
        yield f"if ({text}) {{"
        yield from (
            "    " + line for line in self._branches(assumed(program, condition, True), types, decisions - 1)
        )
        yield "}"
        yield from self._branches(assumed(program, condition, False), types, decisions - 1)


def _indices_only(program: Program) -> set[str]:
    """Inputs that only say where something is."""
    places: set[str] = set()
    others: set[str] = set()
    for node in program.expressions():
        for position, child in enumerate(children(node)):
            if isinstance(child, Input):
                (places if isinstance(node, Take | AddAt) and position == 1 else others).add(child.name)
    others |= {v.name for _, v in (*program.lets, *program.outputs) if isinstance(v, Input)}
    return places - others


class _Branch:
    """Straight-line statements: what attributes decide is decided."""

    def __init__(self, whole: AtenProgram, program: Program) -> None:
        self.whole = whole
        self.program = program
        self.locals: dict[str, Term] = {}
        self.meanings = dict(program.lets)

    def lines(self, types: list[str]) -> Iterator[str]:
        taken: list[str] = []
        for name, value in self.program.lets:
            term = self.term(value)
            taken.append(self.whole._free(name, taken))
            self.locals[name] = Term(taken[-1], term.tensor)
            yield f"const {'at::Tensor' if term.tensor else 'auto'} {taken[-1]} = {term.text};"
        made = [
            f"formula::{'copied' if shared else 'rounded'}({text}, {kind})"
            for (text, shared), kind in zip(self.outputs(), types, strict=True)
        ]
        yield f"return {made[0]};" if len(made) == 1 else f"return {{{', '.join(made)}}};"

    def outputs(self) -> list[tuple[str, bool]]:
        """Each output, and whether its memory may be an input's or another's."""
        found: list[tuple[str, bool]] = []
        for _, value in self.program.outputs:
            text = self.tensor(value)
            found.append((text, self.may_be_view(value) or text in [other for other, _ in found]))
        return found

    def may_be_view(self, value: Expression) -> bool:
        while isinstance(value, Local):
            value = self.meanings[value.name]
        return not isinstance(value, Apply | MatMul | Constant)

    # ---- expressions ---------------------------------------------------------------------------

    def term(self, node: Expression) -> Term:
        """A value in C++."""
        whole = self.whole
        if isinstance(node, Constant):
            return _constant(node)
        if isinstance(node, Input):
            raw = whole.names[node.name] + ".value()" * (node.name in whole.optional)
            return Term(whole.values.get(node.name, raw), True)
        if isinstance(node, Local):
            return self.locals[node.name]
        if isinstance(node, AttributeRef):
            text = self.attribute(node.name)
            return Term(f"double({text})" if whole.attributes[node.name].type == "int" else text, False)
        if isinstance(node, Given):
            return Term(f"{whole.names[node.name]}.has_value()", False)
        if isinstance(node, Apply):
            return self.apply(node)
        if isinstance(node, Cast):
            return Term(
                f"formula::rounded({self.tensor(node.arg)}, {SCALAR_TYPES[node.dtype]}).to(compute)", True
            )
        if isinstance(node, Reduce):
            return Term(self.reduce(node), True)
        return Term(self.shaped(node), True)

    def tensor(self, node: Expression) -> str:
        return _as_tensor(self.term(node)).text

    def attribute(self, name: str) -> str:
        attribute = self.whole.attributes[name]
        absent = not attribute.required and attribute.default is None
        return self.whole.names[name] + ".value()" * absent

    def apply(self, node: Apply) -> Term:
        spelling = SPELLINGS[node.op]
        terms = [self.term(a) for a in node.args]
        if not any(t.tensor for t in terms):
            return _spelled(spelling.number, terms, False)
        return _spelled(spelling.tensor, terms if spelling.numbers else [*map(_as_tensor, terms)], True)

    def reduce(self, node: Reduce) -> str:
        arg, keep = self.tensor(node.arg), "true" if node.keepdims else "false"
        if node.op in ("argmax", "argmin"):
            assert isinstance(node.axes, tuple | AttributeRef), "they take one axis"
            axis = self.axis(node.axes[0] if isinstance(node.axes, tuple) else node.axes)
            return f"at::{node.op}({arg}, {axis}, {keep}).to(compute)"
        return f"formula::{node.op}_over({arg}, {self.axes(node.axes)}, {keep})"

    def shaped(self, node: Expression) -> str:
        """Nodes that change what is where."""
        arg, *others = [self.tensor(c) for c in children(node)]
        match node:
            case Index():
                function = "size_of" if node.size else "positions"
                return f"formula::{function}({arg}, {self.axis(node.axis)}, options)"
            case TopK():
                numbers = f"{self.axis(node.k)}, {self.axis(node.axis)}, {self.truth(node.largest)}"
                found = f"formula::first_k({arg}, {numbers})"
                return f"std::get<{int(node.indices)}>({found})" + ".to(compute)" * node.indices
            case Unsqueeze():
                return f"formula::with_ones({arg}, {self.axes(node.axes)})"
            case SumTo():
                return f"formula::fitted({arg}, {others[0]})"
            case MatMul():
                return f"at::matmul({arg}, {others[0]})"
            case Transpose():
                return f"at::transpose({arg}, {self.axis(node.first)}, {self.axis(node.second)})"
            case Slice():
                stop = "std::nullopt" if node.stop is None else str(node.stop)
                return f"at::slice({arg}, {self.axis(node.axis)}, {node.start}, {stop}, {node.step})"
            case Chunk():
                return f"formula::part({arg}, {self.axis(node.axis)}, {node.count}, {node.index})"
            case Windows():
                sizes = f"{node.size}, {node.stride}, {node.dilation}, {node.before}, {node.after}"
                fill = _constant(Constant(node.fill)).text
                return f"formula::windows({arg}, {self.axis(node.axis)}, {sizes}, {fill})"
            case Concat():
                return f"at::cat({{{', '.join([arg, *others])}}}, {self.axis(node.axis)})"
            case Take():
                return f"formula::taken({arg}, {others[0]}, {self.axis(node.axis)})"
            case AddAt():
                return f"formula::added_at({arg}, {others[0]}, {others[1]}, {self.axis(node.axis)})"
        raise AssertionError(f"formulas have no {type(node).__name__}")

    def axis(self, axis: int | AttributeRef) -> str:
        """An axis or a count."""
        if isinstance(axis, int):
            return str(axis)
        return self.attribute(axis.name) + ".at(0)" * (self.whole.attributes[axis.name].type == "ints")

    def truth(self, value: bool | AttributeRef) -> str:
        return str(value).lower() if isinstance(value, bool) else f"bool({self.attribute(value.name)})"

    def axes(self, axes: tuple[int, ...] | AttributeRef | AxisRange | All) -> str:
        """The axes of a node, as a C++ list."""
        if axes == "all":
            return "formula::from(0)"
        if isinstance(axes, AxisRange):
            stop = "" if axes.stop is None else f", {axes.stop}"
            return f"formula::from({self.axis(axes.first)}{stop})"
        if isinstance(axes, AttributeRef):
            text = self.attribute(axes.name)
            return text if self.whole.attributes[axes.name].type == "ints" else f"{{{text}}}"
        assert isinstance(axes, tuple), axes
        return f"{{{', '.join(map(str, axes))}}}"


def _as_tensor(term: Term) -> Term:
    return term if term.tensor else Term(f"formula::number({term.text}, options)", True)


def _spelled(template: str, terms: list[Term], tensor: bool) -> Term:
    """The operands in the template, in brackets where they need them."""
    pieces = template.split("{}")
    text = pieces[0]
    for term, before, after in zip(terms, pieces, pieces[1:], strict=False):
        alone = before.endswith(("(", ", ")) and after.startswith((")", ","))
        text += (term.text if alone else term.operand) + after
    return Term(text, tensor, bool(_CALL.fullmatch(template)))


def _constant(node: Constant) -> Term:
    value = node.value
    if isinstance(value, bool):
        return Term(str(value).lower(), False)
    if isinstance(value, str):
        return Term(f"std::string_view({json.dumps(value)})", False)
    if math.isnan(value):
        return Term("NAN", False)
    if math.isinf(value):
        return Term("INFINITY" if value > 0 else "-INFINITY", False, value > 0)
    return Term(repr(float(value)), False, value >= 0)
