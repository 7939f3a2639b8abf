"""build_kernel: an Ascend C kernel of anybody as an operator: its library, definition, description and
proof."""

from __future__ import annotations

import datetime
import hashlib
import json
import platform
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ascend_ep.element_types import number_of
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.call_request import Array, CallRequest, Plain, Wanted, list_bytes
from ascend_ep.opbuild.ascendc.cpp import find_cpp, linked
from ascend_ep.opbuild.ascendc.naming import snake_case
from ascend_ep.opbuild.operators.install import exclusively, put_in_place
from ascend_ep.opbuild.operators.operator_files import Files, check_replaces, check_writable
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.definition import Attribute, Library, OpDef, TensorSpec
from ascend_ep.opdef.definition_json import definition_map
from ascend_ep.opdef.installed import META
from ascend_ep.opdef.proof_report import Report
from ascend_ep.opdef.stored_proof import identity

from .assemble import column_of, host_assembly
from .host_code import HostCode, HostOperator
from .kernel_proof import Expected, prove_kernel
from .run_kernel import RunRequest, plain_call, run_kernel
from .signature import KernelFunction
from .sources import read_sources
from .spellings import unknown_spellings
from .units import Assembly, LibraryText, TypeColumn, library_units

Show = Callable[[str, str], None]


@dataclass(frozen=True)
class BuildRequest:
    """run: sources, chip, one set of inputs and, without host code, what the kernel is launched with.
    formula, golden: what the outputs should be; the proof is of that. output, installed: as of a formula's
    build."""

    run: RunRequest
    formula: str = ""
    golden: Sequence[Array] = ()
    name: str = ""
    output: Path = Path(".")
    installed: Path | None = None
    force: bool = False


@dataclass(frozen=True)
class BuiltKernel:
    """report: None where nothing says what the operator computes. unproven: why, "" where it is proven."""

    opdef: OpDef
    files: Files
    report: Report | None
    unproven: str


@dataclass(frozen=True)
class _Made:
    """The parts of a build before it is written."""

    kernel: KernelFunction
    opdef: OpDef
    library: Path
    columns: tuple[TypeColumn, ...]
    host: HostCode | None


def build_kernel(request: BuildRequest, show: Show) -> BuiltKernel:
    """Builds and proves it; nothing is written before. What nothing is compared with is run once, checked.
    Raises AscendError as run_kernel does, E43101 (another definition is there), E43102 (the proof failed),
    E43104 (folders), E43201 (a broken rule of what has no proof)."""
    made = _made(request, show)
    name = request.name or snake_case(made.opdef.op)
    opdef = replace(made.opdef, semantics=Library((request.output / f"{name}.so").resolve()))
    for folder, place, in_force in (
        (request.output, "--output", False),
        (request.installed, "$ASCEND_CUSTOM_OPS", True),
    ):
        if folder is not None:
            check_writable(folder, place)
            check_replaces(
                folder,
                name,
                replace(opdef, semantics=Library((folder / f"{name}.so").resolve())),
                request.force,
                in_force,
            )
    report: Report | None = None
    expected = Expected(request.formula, request.golden)
    unproven = "" if expected else "no formula and no golden file says what it computes"
    if unproven:
        _tried(request.run, unproven, show)
    else:
        report = prove_kernel(
            request.run,
            expected,
            made.opdef,
            made.columns,
            made.library,
            lambda c: show("proof", f"{c.layer}, {c}"),
        )
        if not report.passed:
            failed = [f"{c.layer}, {c.name}: {c.detail}" for c in report.failures()]
            raise AscendError(
                "E43102", opdef.op, details=failed or ["a layer has no check that passed"],
                fix="Correct the kernel, or what it is compared with.",
            )  # fmt: skip
    files = _write(request, made, name, opdef, report, unproven)
    return BuiltKernel(opdef, files, report, unproven)


def _tried(run: RunRequest, unproven: str, show: Show) -> None:
    """One checked run of what nothing is compared with. Raises AscendError E43201 for a broken rule, and as
    run_kernel does, for a process that ends."""
    if not run.inputs:
        show("not run", "no inputs are given")
        return
    made = run_kernel(run)
    if made.answer.failed:
        faults = [line for line in made.answer.lines if not line.startswith("advice")]
        raise AscendError("E43201", made.kernel.name, faults[0] if faults else "see above")
    show("run", f"the inputs given: {made.answer.blocks} blocks, no rule broken; {unproven}")


def _made(request: BuildRequest, show: Show) -> _Made:
    run = request.run
    kernel, host, operator = read_sources(run.sources, run.kernel.partition("<")[0], run.soc)
    show("kernel", f"{kernel}: {kernel.place}")
    for note in unknown_spellings(kernel.file, run.sources.folders):
        show("note", note)
    name = run.kernel if "<" in run.kernel else ""
    if host is not None and operator is not None:
        show(
            "host",
            f"{operator.op} of {', '.join(p.name for p in host.files)}, for {', '.join(operator.chips)}",
        )
        made = _hosted(run, kernel, host, operator, name)
    else:
        made = _plain(request, kernel, name, show)
    types = [_column_text(made.opdef, c) for c in made.columns]
    show("compile", f"{len(types)} kernel{'s' if len(types) != 1 else ''}: {'; '.join(types)}")
    return made


def _column_text(opdef: OpDef, column: TypeColumn) -> str:
    names = [t.name for t in (*opdef.inputs, *opdef.outputs)]
    pairs = zip(names, column.types, strict=False)
    return ", ".join(f"{n} {dtypes.name(t) if t is not None else 'any'}" for n, t in pairs)


def _hosted(
    run: RunRequest, kernel: KernelFunction, host: HostCode, operator: HostOperator, name: str
) -> _Made:
    """An operator that takes whatever its host code accepts."""
    if not operator.tiles:
        fix = "Register it: AICore().SetTiling(f), or IMPL_OP_OPTILING."
        raise AscendError("E43205", operator.op, "no tiling function is registered", fix=fix)
    columns = tuple(map(TypeColumn, operator.columns))
    if not columns:
        raise AscendError("E43205", operator.op, "none of its element types is known to the runtime")
    first = column_of(operator, [None if a is None else number_of(a.dtype) for a in run.inputs])
    columns = (first, *(c for c in columns if c != first))
    assembly = host_assembly(run.sources, kernel, host, operator, columns, name)
    lists = [str(t.occurrence == "variadic").lower() for t in operator.inputs]
    lines = [
        f"library.dynamic = {{{', '.join(lists)}}};",
        *_attribute_lines(operator.attributes),
        *([] if operator.infers_shapes and not operator.is_in_place else [_rule_lines(operator)]),
    ]
    needed = [i + 1 for i, t in enumerate(operator.inputs) if t.occurrence == "required"]
    most = 64 if operator.inputs and operator.inputs[-1].occurrence == "variadic" else len(operator.inputs)
    text = LibraryText(tuple(lines), max(needed, default=0), most, operator.computed)
    library = linked(library_units(assembly, operator.op, run.soc, text), "so")
    opdef = replace(_with_columns(operator.opdef(), columns), kernel_name=kernel.name)
    return _Made(kernel, opdef, library, columns, host)


def _with_columns(opdef: OpDef, columns: Sequence[TypeColumn]) -> OpDef:
    """With the columns as msopgen writes them: types[i] of all tensors belong together."""

    def typed(spec: TensorSpec, i: int) -> TensorSpec:
        types = tuple(t for c in columns if (t := c.types[i]) is not None)
        return replace(spec, types=types, formats=("ND",) * len(types))

    n = len(opdef.inputs)
    inputs = tuple(typed(s, i) for i, s in enumerate(opdef.inputs))
    outputs = tuple(typed(s, n + i) for i, s in enumerate(opdef.outputs))
    return replace(opdef, inputs=inputs, outputs=outputs, paired=True)


def _attribute_lines(attributes: Sequence[Attribute]) -> list[str]:
    names = ", ".join(f'"{a.name}"' for a in attributes)
    kinds = ", ".join(f'"{a.type}"' for a in attributes)
    values = ", ".join(f"std::string({_c_text(b)}, {len(b)})" for b in map(_default_bytes, attributes))
    return [
        f"library.attributes = {{{names}}};",
        f"library.kinds = {{{kinds}}};",
        f"library.defaults = {{{values}}};",
    ]


def _default_bytes(attribute: Attribute) -> bytes:
    """A default as RuntimeAttrs has it; none where there isn't one."""
    value = attribute.default
    if value is None:
        return b""
    if isinstance(value, tuple):
        return list_bytes(attribute.type, value)
    if isinstance(value, str):
        return value.encode()
    return struct.pack("<f", value) if attribute.type == "float" else struct.pack("<q", int(value))


def _c_text(content: bytes) -> str:
    return '"' + "".join(f"\\{b:03o}" for b in content) + '"'


def _rule_lines(operator: HostOperator) -> str:
    """Outputs of the first input's shape, as no InferShape is registered; or of the input that each is."""
    names = [t.name for t in operator.inputs]
    like = [names.index(t.name) if operator.is_in_place else 0 for t in operator.outputs]
    rules = ", ".join(f"{{{i}, -1, {{}}, false}}" for i in like)
    return f"library.rules = {{{rules}}};"


def _plain(request: BuildRequest, kernel: KernelFunction, name: str, show: Show) -> _Made:
    """An operator for the shapes and types that it is built with: nothing says how to launch it for
    others."""
    notes: list[str] = []
    run = request.run
    assembly, call = plain_call(run, kernel, name, notes)
    for note in notes:
        show("note", note)
    op = run.sources.op_type or "".join(part.capitalize() for part in kernel.name.split("_") if part)
    column = assembly.kernels[0].column
    library = linked(library_units(assembly, op, run.soc, _plain_text(assembly, call)), "so")
    shapes = [tuple(map(int, a.shape)) for a in run.inputs if a is not None]
    opdef = OpDef(
        op,
        inputs=tuple(TensorSpec(n, required_shape=s) for n, s in zip(assembly.inputs, shapes, strict=True)),
        outputs=tuple(TensorSpec(n) for n in assembly.outputs),
        kernel_name=kernel.name,
    )
    return _Made(kernel, _with_columns(opdef, [column]), library, (column,), None)


def _plain_text(assembly: Assembly, call: CallRequest) -> LibraryText:
    from ascend_ep.opbuild.ascendc.call_request import GE_NUMBERS

    plain: Plain = call.plain
    given = [np.shape(a) for a in call.inputs if a is not None and not isinstance(a, list | tuple)]
    shapes = ", ".join("{" + ", ".join(map(str, shape)) + "}" for shape in given)
    rules = ", ".join(
        f"{{-1, {GE_NUMBERS[w.dtype or 1]}, {{{', '.join(map(str, w.dims or ()))}}}, true}}"
        for w in call.outputs
        if isinstance(w, Wanted)
    )
    values = ", ".join("{" + ", ".join(map(str, [*v, *[0] * 64])) + "}" for v in call.values)
    lines = (
        f"library.dynamic.assign({len(assembly.inputs)}, false);",
        f"library.rules = {{{rules}}};",
        f"library.input_shapes = {{{shapes}}};",
        f"library.blocks = {plain.blocks};",
        f"library.key = {plain.key}ull;",
        f"library.workspace = {plain.workspace}ull;",
        f"library.tiling = std::string({_c_text(plain.tiling)}, {len(plain.tiling)});",
        f"library.values = {{{values}}};",
    )
    return LibraryText(lines, len(assembly.inputs), len(assembly.inputs))


def _write(
    request: BuildRequest, made: _Made, name: str, opdef: OpDef, report: Report | None, unproven: str
) -> Files:
    code = made.library.read_bytes()
    plain = replace(opdef, semantics=None, doc=_doc(made, unproven))
    entry = definition_map(plain) | {"library": f"{name}.so"}
    contents = {
        f"{name}.so": code,
        f"{META}/{name}.json": _json(_kernel_map(request, made, name, code, unproven)),
        f"{name}.json": _json(entry),
    }
    if report is not None:
        report.about |= identity(opdef, code, b"") | {"object_sha256": ""} | _about(request, made, opdef)
        contents = {f"{META}/{name}_proof.json": _json(report.to_json()), **contents}
    folders = list(dict.fromkeys(f.resolve() for f in (request.output, request.installed) if f is not None))
    with exclusively(folders):
        for folder in folders:
            in_force = request.installed is not None and folder == request.installed.resolve()
            there = replace(opdef, semantics=Library((folder / f"{name}.so").resolve()))
            check_replaces(folder, name, there, request.force, in_force)
        put_in_place(
            folders,
            contents,
            [_proof_file(f, name) for f in folders if report is None and _proof_file(f, name).exists()],
        )
    installed = (request.installed / f"{name}.json") if request.installed else None
    return Files(request.output / f"{name}.json", request.output / f"{name}.so", installed)


def _proof_file(folder: Path, name: str) -> Path:
    return folder / META / f"{name}_proof.json"


def _doc(made: _Made, unproven: str) -> str:
    files = (
        [made.kernel.file.name, *(p.name for p in made.host.files)] if made.host else [made.kernel.file.name]
    )
    text = f"Ascend C of {' and '.join(files)}, compiled for this CPU."
    if made.host is None:
        text += " It takes the shapes it was built for alone: without host code nothing says how to launch it"
        text += " for others."
    return text + (f" Unproven: {unproven}." if unproven else "")


def _about(request: BuildRequest, made: _Made, opdef: OpDef) -> dict[str, Any]:
    return {
        "operator": opdef.op,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "soc_version": request.run.soc.name,
        "levels": [platform.machine()],
        "compiler": " ".join(find_cpp()),
        "attributes": bind_attributes(made.opdef, request.run.attributes),
        "against": request.formula or "golden files",
    }


def _kernel_map(request: BuildRequest, made: _Made, name: str, code: bytes, unproven: str) -> dict[str, Any]:
    files = [made.kernel.file, *(made.host.files if made.host else ())]
    return {
        "binFileName": name,
        "binFileSuffix": ".so",
        "kernelName": made.kernel.name,
        "opType": made.opdef.op,
        "soc_version": request.run.soc.name,
        "target": platform.machine(),
        "takes": _taken(made),
        "binList": [{"types": _column_text(made.opdef, c)} for c in made.columns],
        "proven": not unproven,
        "unproven": unproven,
        "sources": [{"file": p.name, "sha256": hashlib.sha256(p.read_bytes()).hexdigest()} for p in files],
        "library": f"{name}.so",
        "library_sha256": hashlib.sha256(code).hexdigest(),
    }


def _taken(made: _Made) -> str:
    if made.host is None:
        shapes = ", ".join(f"{t.name} {list(t.required_shape or ())}" for t in made.opdef.inputs)
        return f"{shapes}, no other shape"
    return "every shape that the host code's InferShape and tiling accept"


def _json(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
