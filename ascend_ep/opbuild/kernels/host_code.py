"""op_host files: compiled, asked what they register, and read as definitions and tiling structures."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from ascend_ep.cann.soc import Soc
from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.opbuild.ascendc.call_request import OF_GE
from ascend_ep.opbuild.ascendc.cpp import linked, sources_of
from ascend_ep.opbuild.ascendc.program_process import describe_program
from ascend_ep.opdef.definition import (
    IN_PLACE,
    Attribute,
    AttributeType,
    AttributeValue,
    Occurrence,
    OpDef,
    TensorSpec,
)

from .project_files import HEADER_SUFFIXES, SUFFIXES, files_of, project_of, steps_between
from .units import describing_units

#: What a linker says of a function that no file has.
_UNDEFINED = "undefined reference"
_OCCURRENCES: dict[int, Occurrence] = {1: "optional", 2: "required", 3: "variadic"}


@cache
def _given() -> frozenset[str]:
    """Structures of kernel_tiling/kernel_tiling.h, which kernels have already."""
    header = HEADERS / "ascendc" / "kernel_tiling" / "kernel_tiling.h"
    return frozenset(re.findall(r"^using tiling::(\w+);", header.read_text(encoding="utf-8"), re.M))


@dataclass(frozen=True)
class HostTensor:
    """types, formats: ge's numbers, by column or (free_types) as a set. shape_computed: by the kernel."""

    name: str
    occurrence: Occurrence
    types: tuple[int, ...]
    free_types: bool
    value_depends: bool
    shape_computed: bool = False


@dataclass(frozen=True)
class HostOperator:
    """One OP_ADD: tensors and attributes in their order, for the chip that was asked for. is_in_place: it
    defines no output; `outputs` are its inputs, which the kernel changes."""

    op: str
    inputs: tuple[HostTensor, ...]
    outputs: tuple[HostTensor, ...]
    attributes: tuple[Attribute, ...]
    chips: tuple[str, ...]
    infers_shapes: bool
    tiles: bool
    kernel_file: str = ""
    is_in_place: bool = False

    @property
    def computed(self) -> tuple[int, ...]:
        """Outputs whose shapes the kernel says, by place."""
        return tuple(i for i, t in enumerate(self.outputs) if t.shape_computed)

    @property
    def columns(self) -> list[tuple[int | None, ...]]:
        """Element types of inputs, then outputs, each combination once; types that the runtime lacks are
        left out."""
        specs = (*self.inputs, *self.outputs)
        width = max((len(s.types) for s in specs if not s.free_types), default=1)
        found: dict[tuple[int | None, ...], None] = {}
        for i in range(max(width, 1)):
            rows: list[list[int | None]] = [[]]
            for spec in specs:
                if spec.free_types and spec.types:
                    rows = [[*row, OF_GE.get(t, 0)] for row in rows for t in spec.types]
                else:
                    number = spec.types[min(i, len(spec.types) - 1)] if spec.types else None
                    rows = [[*row, None if number is None else OF_GE.get(number, 0)] for row in rows]
            found |= dict.fromkeys(tuple(row) for row in rows if 0 not in row)
        return list(found)

    def opdef(self) -> OpDef:
        """The definition, without semantics."""
        return OpDef(
            self.op,
            inputs=tuple(_spec(t) for t in self.inputs),
            outputs=tuple(_output(t, [i.name for i in self.inputs]) for t in self.outputs),
            attributes=self.attributes,
        )


@dataclass(frozen=True)
class HostCode:
    """tiling: text of the structures that kernels read; tiling_of: an operator's (or operator_key's)
    class."""

    files: tuple[Path, ...]
    folders: tuple[Path, ...]
    operators: tuple[HostOperator, ...]
    tiling: str
    tiling_of: Mapping[str, str] = field(default_factory=dict, hash=False)

    def operator(self, op_type: str = "") -> HostOperator:
        """The operator of this type, or the only one. Raises AscendError E43205."""
        where = ", ".join(p.name for p in self.files)
        names = [o.op for o in self.operators]
        for operator in self.operators:
            if operator.op == op_type or (not op_type and len(names) == 1):
                return operator
        if not names:
            raise AscendError("E43205", where, "it registers no operator", fix="Register it with OP_ADD.")
        reason = f"it registers {', '.join(names)}" + (did_you_mean(op_type, names) if op_type else "")
        raise AscendError("E43205", where, reason, fix="Name one with --op_type.")


def read_host(files: Sequence[Path], folders: Sequence[Path], soc: Soc) -> HostCode:
    """Compiles host files and asks them. Raises AscendError E43001, E43002, E43205."""
    try:
        program = linked(describing_units(files, folders), "run")
    except AscendError as error:
        more = (
            _bodies_of(files, folders)
            if _UNDEFINED in "\n".join((error.text, *(error.details or ())))
            else []
        )
        if not more:
            raise
        files = (*files, *more)
        program = linked(describing_units(files, folders), "run")
    about = ", ".join(p.name for p in files)
    try:
        found = json.loads(describe_program(program, about))
    except ValueError as error:
        raise AscendError("E43205", about, f"what it registers can't be read ({error})") from None
    operators = tuple(_operator(o, soc) for o in found["operators"])
    return HostCode(
        tuple(files), tuple(folders), operators, _tiling_text(found["tiling"]), found["tiling_of"]
    )


def _bodies_of(files: Sequence[Path], folders: Sequence[Path]) -> list[Path]:
    """Sources of the project that are named like headers which host files include, and not among them: their
    build files link these. Of several, the nearest to the header."""
    found: dict[Path, None] = {}
    for path in files:
        sources = [p for p in files_of(project_of(path), SUFFIXES) if p.resolve() not in files]
        for header in sources_of(f'#include "{path}"', (path.parent, *folders)):
            named = [p for p in sources if p.stem == header.stem]
            if named and header.suffix in HEADER_SUFFIXES:
                found[min(named, key=lambda p: steps_between(p, header)).resolve()] = None
    return list(found)


def _operator(entry: Mapping[str, Any], soc: Soc) -> HostOperator:
    configs = entry["chips"]
    wanted = soc.name.lower()
    config = next((c for c in configs if wanted.startswith(c["chip"].lower())), configs[0] if configs else {})
    inputs = config.get("inputs") or entry["inputs"]
    outputs = config.get("outputs") or entry["outputs"]
    tensors = {e["name"]: e for e in inputs}
    changed = [e for e in inputs if _OCCURRENCES.get(e["occurrence"]) != "optional"]
    return HostOperator(
        entry["op"],
        tuple(_tensor(e, tensors) for e in inputs),
        tuple(_tensor(e, tensors) for e in outputs or changed),
        tuple(_attribute(a) for a in entry["attributes"] if a["type"] not in ("", "lists")),
        tuple(c["chip"] for c in configs),
        entry["infers_shapes"],
        entry["tiles"],
        config.get("extended", {}).get("opFile.value", ""),
        not outputs,
    )


def _tensor(entry: Mapping[str, Any], inputs: Mapping[str, Mapping[str, Any]]) -> HostTensor:
    like = inputs.get(entry["follows"], entry)
    return HostTensor(
        entry["name"],
        _OCCURRENCES.get(entry["occurrence"], "required"),
        tuple(like["types"]),
        like["free_types"],
        entry["value_depends"],
        entry["shape_computed"],
    )


def _attribute(entry: Mapping[str, Any]) -> Attribute:
    kind = cast(AttributeType, entry["type"])
    default = entry.get("default")
    value: AttributeValue | None = tuple(default) if isinstance(default, list) else default
    if kind == "float" and isinstance(value, int):
        value = float(value)
    return Attribute(entry["name"], kind, value, bool(entry["required"]))


def _spec(tensor: HostTensor) -> TensorSpec:
    types = (
        tuple(dict.fromkeys(OF_GE[t] for t in tensor.types if t in OF_GE))
        if tensor.free_types
        else tuple(OF_GE[t] for t in tensor.types if t in OF_GE)
    )
    return TensorSpec(tensor.name, types, occurrence=tensor.occurrence)


def _output(tensor: HostTensor, inputs: Sequence[str]) -> TensorSpec:
    """An output of an input's name is that input's memory."""
    spec = _spec(tensor)
    return replace(spec, name=spec.name + IN_PLACE, overwrites=True) if tensor.name in inputs else spec


def _tiling_text(classes: Sequence[Mapping[str, Any]]) -> str:
    """The structures, plain, in the order of their definition."""
    lines = []
    for entry in classes:
        if entry["name"] in _given():
            continue
        lines.append(f"struct {entry['name']} {{")
        for f in entry["fields"]:
            kind = f["type"].rpartition("::")[2]
            array = f"[{f['count']}]" if f["count"] else ""
            lines.append(f"    {kind} {f['name']}{array};")
        lines.append("};")
        if entry["bytes"]:
            text = f"the host's {entry['name']} and the kernel's differ"
            lines.append(f'static_assert(sizeof({entry["name"]}) == {entry["bytes"]}, "{text}");')
    return "\n".join(lines)
