"""generate_ascend_c: the files of an operator whose semantics are an expression, for the real toolchain.

One kernel serves every column of element types: the toolchain compiles it per column, with DTYPE_<NAME>
defined. Arithmetic is float32. Numeric attributes are tiling data; texts, truth values and axes are those
given.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ascend_ep.compiler.codegen.generate import NotGenerated
from ascend_ep.compiler.soc import Soc
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.definition import AttributeValue, OpDef, TensorSpec
from ascend_ep.opdef.expression import (
    Apply,
    AttributeRef,
    Cast,
    Expression,
    Index,
    Local,
    Program,
    Reduce,
)
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.specialize import specialize

from .host import Column, Host, fixed_bytes, held_bytes, host_text, tiling_text
from .instructions import select_instructions
from .kernel import Signature, Uses, kernel_text
from .naming import config_name, snake_case
from .passes import plan_passes

#: element types the generated copies convert from and to float32
SUPPORTED = (
    dtypes.FLOAT16,
    dtypes.FLOAT32,
    dtypes.BFLOAT16,
    dtypes.INT32,
    dtypes.INT8,
    dtypes.UINT8,
    dtypes.BOOL,
)
_BYTES = {dtypes.FLOAT32: 4, dtypes.INT32: 4, dtypes.FLOAT16: 2, dtypes.BFLOAT16: 2}
_MOST_COLUMNS = 16
_NUMERIC = ("float", "int")
_RESERVED_TEXT = """
alignas auto bool break case catch char class const constexpr continue default delete do double else enum
explicit extern false float for friend goto half if inline int long namespace new operator private
protected public register return short signed sizeof static struct switch template this throw true try
typedef typename union unsigned using virtual void volatile while workspace tiling and or not xor row col
n lanes tile rows cols dims items itemsPerCore tileLength op pipe
"""
_RESERVED = frozenset(_RESERVED_TEXT.split())


@dataclass(frozen=True)
class KernelSource:
    """The three files and their names; `columns` are the combinations of element types they serve."""

    op: str
    function: str
    kernel: str
    tiling: str
    host: str
    columns: tuple[Column, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tile: int
    soc: Soc
    notes: tuple[str, ...] = ()

    def files(self) -> dict[str, str]:
        """Path in a project -> text."""
        return {
            f"op_kernel/{self.function}.cpp": self.kernel,
            f"op_host/{self.function}.cpp": self.host,
            f"op_host/{self.function}_tiling.h": self.tiling,
        }


def generate_ascend_c(
    opdef: OpDef,
    soc: Soc,
    attributes: Mapping[str, AttributeValue] | None = None,
    program: Program | None = None,
) -> KernelSource:
    """Files for an operator with a formula, or with the given program in its place. Every input is given.

    Raises NotGenerated with a sentence for what has no Ascend C, and what reading the formula raises.
    """
    whole = program or formula_program(opdef)
    names = _signature(opdef, whole)
    bound = bind_attributes(opdef, attributes or {})
    given = [spec.name for spec in opdef.inputs]
    special = specialize(with_scalars(whole, names.attributes), bound, given)
    columns = element_columns(opdef)
    special = _with_integer_outputs(special, columns)
    selected = select_instructions(special, {placeholder(n): f"{n}_" for n in names.attributes})
    for name, value in selected.outputs:
        if value.spread == "scalar" or (value.spread == "row" and value.level == 0):
            raise NotGenerated(f"the output {name} depends on no input")
    plan = plan_passes(selected)
    small = any(_BYTES.get(t, 1) == 1 for c in columns for t in c.values())
    uses = Uses.of(plan, small)
    host = Host(
        opdef, names, plan, uses, selected.folded_axes, selected.uses_index, columns, (config_name(soc.name),)
    )
    tile = _tile(host, soc)
    notes = (
        []
        if _has_copy_pad(soc)
        else [f"{soc.name} has no DataCopyPad: rows must be whole blocks of 32 bytes there"]
    )
    return KernelSource(
        opdef.op, names.function, kernel_text(names, plan, uses), tiling_text(host), host_text(host), columns,
        names.inputs, names.outputs, tile, soc, tuple(notes),
    )  # fmt: skip


def element_columns(opdef: OpDef, supported: Sequence[int] = SUPPORTED) -> tuple[Column, ...]:
    """The combinations of element types, in the definition's order; NotGenerated when there is none."""
    specs = (*opdef.inputs, *opdef.outputs)
    if opdef.paired:
        width = max(len(s.types) for s in specs)
        found = [
            {s.name: s.types[i % max(len(s.types), 1)] if s.types else dtypes.FLOAT32 for s in specs}
            for i in range(width)
        ]
    else:
        keys = {s.name: _choice(s, opdef) for s in specs}
        any_type = (dtypes.FLOAT16, dtypes.FLOAT32, dtypes.BFLOAT16)
        choices = {keys[s.name]: tuple(t for t in s.types or any_type if t in supported) for s in specs}
        product = itertools.islice(itertools.product(*choices.values()), _MOST_COLUMNS)
        rows = [dict(zip(choices, types, strict=True)) for types in product]
        found = [{name: row[key] for name, key in keys.items()} for row in rows]
    found = [c for i, c in enumerate(found) if all(t in supported for t in c.values()) and c not in found[:i]]
    if not found:
        raise NotGenerated("no combination of its element types is one that the vector unit computes")
    return tuple(found)


def _choice(spec: TensorSpec, opdef: OpDef) -> str:
    """What chooses a tensor's type: its variable; for undeclared types one choice; an output of the same
    set of types as an input goes with it; else it alone."""
    if spec.variable or not spec.types:
        return spec.variable or "?"
    like = next((s for s in opdef.inputs if spec in opdef.outputs and s.types == spec.types), spec)
    return like.variable or f"={like.name}"


def _signature(opdef: OpDef, program: Program) -> Signature:
    variadic = [s.name for s in (*opdef.inputs, *opdef.outputs) if s.occurrence == "variadic"]
    if variadic:
        raise NotGenerated(f"the number of tensors of {variadic[0]} is open")
    attributes = open_attributes(opdef, program)
    inputs = tuple(s.name for s in opdef.inputs)
    outputs = tuple(s.name for s in opdef.outputs)
    for name in (*inputs, *outputs, *attributes):
        if name in _RESERVED or not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) or name.endswith("_"):
            raise NotGenerated(f"{name} is no name that a C++ parameter can have here")
    if len({n.upper() for n in (*inputs, *outputs)}) < len(inputs) + len(outputs):
        raise NotGenerated("two tensors have names that differ in case only")
    function = opdef.kernel_name or snake_case(opdef.op)
    if not re.fullmatch(r"[A-Za-z_]\w*", function, re.ASCII) or not re.fullmatch(
        r"[A-Za-z_]\w*", opdef.op, re.ASCII
    ):
        raise NotGenerated(f"{function} is no name that a C++ function can have")
    return Signature(function, opdef.op, inputs, outputs, attributes)


def open_attributes(opdef: OpDef, program: Program) -> tuple[str, ...]:
    """The numeric attributes that the kernel takes at run time: those read, but for axes."""
    numeric = {a.name for a in opdef.attributes if a.type in _NUMERIC}
    fixed = {
        e.axes.name
        for e in program.expressions()
        if isinstance(e, Reduce) and isinstance(e.axes, AttributeRef)
    }
    fixed |= {
        e.axis.name
        for e in program.expressions()
        if isinstance(e, Index) and isinstance(e.axis, AttributeRef)
    }
    read = {e.name for e in program.expressions() if isinstance(e, AttributeRef)}
    return tuple(a.name for a in opdef.attributes if a.name in read & numeric - fixed)


def placeholder(attribute: str) -> str:
    """A local's name that no formula can have."""
    return f"attribute {attribute}"


def with_scalars(program: Program, names: Sequence[str]) -> Program:
    """Attributes that stay open become locals, which specialising leaves alone."""

    def changed(node: Expression) -> Expression:
        if isinstance(node, AttributeRef) and node.name in names:
            return Local(placeholder(node.name))
        if isinstance(node, Apply):
            return replace(node, args=tuple(map(changed, node.args)))
        if isinstance(node, Cast | Reduce):
            return replace(node, arg=changed(node.arg))
        return replace(node, like=changed(node.like)) if isinstance(node, Index) else node

    return Program(
        tuple((n, changed(v)) for n, v in program.lets), tuple((n, changed(v)) for n, v in program.outputs)
    )


def _with_integer_outputs(program: Program, columns: Sequence[Column]) -> Program:
    """Outputs of one integer type are rounded as it rounds, so that the copy out only converts."""
    narrow = (dtypes.INT8, dtypes.UINT8, dtypes.BOOL)
    outputs = []
    for name, value in program.outputs:
        types = {c[name] for c in columns}
        if types & set(narrow):
            if len(types) > 1:
                raise NotGenerated(f"the output {name} has an integer type in some columns only")
            value = Cast(types.pop(), value)
        outputs.append((name, value))
    return Program(program.lets, tuple(outputs))


def _tile(host: Host, soc: Soc) -> int:
    """For this chip, the largest tile of any column: what the generated TilingFunc computes. Raises
    NotGenerated.
    """
    read = host.read_inputs()
    full = [n for n, _ in host.plan.full_outputs]
    most = max(sum(2 * _BYTES.get(c[n], 1) for n in (*read, *full)) for c in host.columns)
    each = fixed_bytes(host.plan, host.uses, len(read)) + most
    room = soc.ub - held_bytes(host.plan, len(host.names.outputs))
    if room < 256 * each:
        raise NotGenerated(
            f"a tile of 256 elements needs {256 * each} bytes of the unified buffer, {soc.name} has {soc.ub}"
        )
    return min(room // each // 256 * 256, 16384)


def _has_copy_pad(soc: Soc) -> bool:
    return soc.vector_cores > 0 and not soc.name.startswith("Ascend310P")
