"""generate_ascend_c: the files of an operator whose semantics are an expression, for the real toolchain.

One kernel serves every column of element types: the toolchain compiles it per column, with DTYPE_<NAME>
defined. Arithmetic is float32. Numeric attributes are tiling data; texts, truth values and axes are those
given.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ascend_ep.cann.soc import Soc
from ascend_ep.codegen.c_source import NotGenerated
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.definition import AttributeValue, OpDef, TensorSpec
from ascend_ep.opdef.expression import (
    AttributeRef,
    Cast,
    Expression,
    Index,
    Local,
    Program,
    Reduce,
    TopK,
    Unsqueeze,
    children,
    with_children,
)
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.specialize import specialize

from .budget import held_bytes, stage_bytes, tile_tensors
from .cutting import cut_into_stages
from .host import Host, fixed_attributes, host_text, tiling_text
from .identifiers import identifiers, renamed_definition, renamed_program
from .kernel import Signature, kernel_text, tiles
from .naming import Column, OpenInt, config_name, snake_case
from .stage_text import Integers
from .stages import Stage

#: element types the generated copies convert from and to float32
SUPPORTED = (
    dtypes.FLOAT16,
    dtypes.FLOAT32,
    dtypes.BFLOAT16,
    dtypes.INT32,
    dtypes.INT64,
    dtypes.INT16,
    dtypes.INT8,
    dtypes.UINT64,
    dtypes.UINT32,
    dtypes.UINT16,
    dtypes.UINT8,
    dtypes.BOOL,
)
_UNSIGNED = frozenset({dtypes.UINT16, dtypes.UINT32, dtypes.UINT64})
_BYTES = {
    dtypes.FLOAT32: 4, dtypes.INT32: 4, dtypes.FLOAT16: 2, dtypes.BFLOAT16: 2, dtypes.INT16: 2, dtypes.INT64: 8,
    dtypes.UINT64: 8, dtypes.UINT32: 4, dtypes.UINT16: 2,
}  # fmt: skip
_MOST_COLUMNS = 16
_NUMERIC = ("float", "int")


@dataclass(frozen=True)
class KernelSource:
    """The three files and their names; `columns` are the combinations of element types they serve. tiles: the
    part of the kernel that is the class Tiles."""

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
    given: frozenset[str]
    tiles: str
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
    given: Collection[str] | None = None,
) -> KernelSource:
    """Files for an operator with a formula, or with the given program in its place. `given`: the inputs that
    are there, by default all.

    Raises NotGenerated with a sentence for what has no Ascend C, and what reading the formula raises.
    """
    safe = identifiers(opdef)
    true_name = {v: k for k, v in safe.items()}
    bound = {safe[n]: v for n, v in bind_attributes(opdef, attributes or {}).items()}
    present = frozenset(s.name for s in opdef.inputs) if given is None else frozenset(given)
    whole = renamed_program(program or formula_program(opdef), safe)
    definition, opdef = opdef, renamed_definition(opdef, safe)
    names = _signature(opdef, whole)
    open_ = _open_counts(opdef, whole, bound)
    inputs = [safe[n] for n in present]
    special = specialize(with_scalars(whole, names.attributes), {**bound, **open_}, inputs)
    columns = element_columns(opdef)
    special = _with_integer_outputs(special, columns)
    scalars = {placeholder(n): f"{n}_" for n in names.attributes}
    staged = cut_into_stages(special, names.inputs, scalars)
    read = {e.name for e in whole.expressions() if isinstance(e, AttributeRef)} | _places(whole)
    fixed = fixed_attributes(opdef, bound, read - set(names.attributes) - set(open_))
    used = {t for c in columns for t in c.values()}
    integers = Integers(
        any(_BYTES.get(t, 1) == 1 for t in used),
        bool(used & {dtypes.INT16, dtypes.INT32, dtypes.INT64}),
        dtypes.INT64 in used,
        bool(used & _UNSIGNED),
    )
    configs = (config_name(soc.name),)
    host = Host(
        definition, opdef, names, staged, integers, columns, configs, can_sync(soc), fixed, frozenset(inputs)
    )  # fmt: skip
    tile = _tile(host, soc)
    notes = (
        []
        if _has_copy_pad(soc)
        else [
            f"{soc.name} has no DataCopyPad, which copies tiles of any length: the kernel needs other copies there"
        ]
    )
    macros = {v: f"DTYPE_{k.upper()}" for v, k in true_name.items()}
    return KernelSource(
        opdef.op, names.function, kernel_text(names, staged, integers, macros), tiling_text(host), host_text(host),
        tuple({true_name[n]: t for n, t in c.items()} for c in columns),
        tuple(s.name for s in definition.inputs), tuple(s.name for s in definition.outputs), tile, soc, present,
        tiles(staged, integers), tuple(notes),
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
        lacking = {dtypes.name(t) for s in specs for t in s.types if t not in supported}
        raise NotGenerated(f"the vector unit has no {' or '.join(sorted(lacking))} arithmetic")
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
    function = opdef.kernel_name or snake_case(opdef.op)
    if not re.fullmatch(r"[A-Za-z_]\w*", function, re.ASCII) or not re.fullmatch(
        r"[A-Za-z_]\w*", opdef.op, re.ASCII
    ):
        raise NotGenerated(f"{function} is no name that a C++ function can have")
    return Signature(function, opdef.op, inputs, outputs, attributes)


def open_attributes(opdef: OpDef, program: Program) -> tuple[str, ...]:
    """The numeric attributes that the kernel takes at run time: those read, but for axes."""
    numeric = {a.name for a in opdef.attributes if a.type in _NUMERIC}
    read = {e.name for e in program.expressions() if isinstance(e, AttributeRef)}
    return tuple(a.name for a in opdef.attributes if a.name in (read & numeric) - _places(program))


def _places(program: Program) -> set[str]:
    """Attributes that say which axes, how many, or which way: part of what a kernel is."""
    found: set[str] = set()
    for e in program.expressions():
        if isinstance(e, Reduce | Unsqueeze):
            parts: tuple[object, ...] = (e.axes,)
        elif isinstance(e, Index):
            parts = (e.axis,)
        else:
            parts = (e.axis, e.k, e.largest) if isinstance(e, TopK) else ()
        found |= {p.name for p in parts if isinstance(p, AttributeRef)}
    return found


def _open_counts(
    opdef: OpDef, program: Program, bound: Mapping[str, AttributeValue]
) -> dict[str, AttributeValue]:
    """Attributes that are a top-k's k and nothing else, which the host reads at run time."""
    read = [e.name for e in program.expressions() if isinstance(e, AttributeRef)]
    found: dict[str, AttributeValue] = {}
    for place, attribute in enumerate(opdef.attributes):
        value = bound.get(attribute.name)
        if attribute.type != "int" or not isinstance(value, int) or attribute.name in read:
            continue
        tops = [e for e in program.expressions() if isinstance(e, TopK)]
        if _places(_without_counts(program)) & {attribute.name}:
            continue
        if any(e.k == AttributeRef(attribute.name) for e in tops):
            found[attribute.name] = OpenInt(value, place)
    return found


def _without_counts(program: Program) -> Program:
    """The program with another k, to see what else an attribute is."""

    def changed(node: Expression) -> Expression:
        node = with_children(node, [changed(c) for c in children(node)])
        return replace(node, k=1) if isinstance(node, TopK) else node

    return Program(
        tuple((n, changed(v)) for n, v in program.lets), tuple((n, changed(v)) for n, v in program.outputs)
    )


def placeholder(attribute: str) -> str:
    """A local's name that no formula can have."""
    return f"attribute {attribute}"


def with_scalars(program: Program, names: Sequence[str]) -> Program:
    """Attributes that stay open become locals, which specialising leaves alone."""

    def changed(node: Expression) -> Expression:
        if isinstance(node, AttributeRef) and node.name in names:
            return Local(placeholder(node.name))
        below = children(node)
        return with_children(node, [changed(c) for c in below]) if below else node

    return Program(
        tuple((n, changed(v)) for n, v in program.lets), tuple((n, changed(v)) for n, v in program.outputs)
    )


def _with_integer_outputs(program: Program, columns: Sequence[Column]) -> Program:
    """Outputs of one integer type are rounded as it rounds, so that the copy out only converts."""
    narrow = (dtypes.INT8, dtypes.UINT8, dtypes.INT16, dtypes.BOOL, *_UNSIGNED)
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
    return min(_stage_tile(host, soc, stage) for stage in host.staged.stages)


def _stage_tile(host: Host, soc: Soc, stage: Stage) -> int:
    tensors = tile_tensors(stage)
    most = max(sum(2 * (_BYTES.get(c[n], 1) if n in c else 4) for n in tensors) for c in host.columns)
    each = stage_bytes(stage, host.integers) + most
    room = soc.ub - held_bytes(stage)
    if room < 256 * each:
        raise NotGenerated(
            f"a tile of 256 elements needs {256 * each} bytes of the unified buffer, {soc.name} has {soc.ub}"
        )
    return min(room // each // 256 * 256, 16384)


def can_sync(soc: Soc) -> bool:
    """Whether all vector cores can wait for one another in hardware."""
    return soc.vector_cores > 1 and not soc.name.startswith("Ascend310P")


def _has_copy_pad(soc: Soc) -> bool:
    return soc.vector_cores > 0 and not soc.name.startswith("Ascend310P")
