"""build: a description to an operator that is searched, compiled, proven, measured, written and installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ascend_ep.cann.soc import Soc
from ascend_ep.codegen.compiled_library import CompiledLibrary, assembly_object, compile_library
from ascend_ep.codegen.graph import NotGenerated
from ascend_ep.codegen.library_session import TensorSpec
from ascend_ep.codegen.search import SearchResult, search
from ascend_ep.errors import AscendError
from ascend_ep.frontends.description import describe, description_text
from ascend_ep.frontends.interface import Defaults
from ascend_ep.frontends.language_model import Endpoint
from ascend_ep.frontends.prose import stated_type
from ascend_ep.frontends.tbe.layouts import Layout
from ascend_ep.opbuild.ascendc.naming import snake_case
from ascend_ep.opbuild.proof.compilations import Compilations
from ascend_ep.opbuild.proof.footprint import footprint
from ascend_ep.opbuild.proof.prove import AscendC, prove
from ascend_ep.opbuild.proof.sizes import free_sizes
from ascend_ep.opbuild.proof.subject import Generate, Subject, generate
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.declared_types import refused_type
from ascend_ep.opdef.definition import AttributeValue, OpDef
from ascend_ep.opdef.definition import TensorSpec as OpSpec
from ascend_ep.opdef.dtypes import COMPUTE_FLOATS
from ascend_ep.opdef.dtypes import name as dtype_name
from ascend_ep.opdef.expression_text import program_text
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.output_types import infer
from ascend_ep.opdef.proof_report import Check, Report
from ascend_ep.opdef.registry import ENVIRONMENT_VARIABLE
from ascend_ep.opdef.stored_proof import identity

from .expectations import Expectations
from .measure import MOST_BYTES, Measured, floors, measure
from .operator_files import Code, Files, check_replaces, check_writable, shadows_builtin, write_files
from .taken import taken_text

#: Says what a stage found: its name and a line of text.
Show = Callable[[str, str], None]


@dataclass(frozen=True)
class Request:
    """What to build. inputs: element type and dims of each; is_typed: the types are meant, whatever the
    description says. types: per input the only element types to build for, where there are several; else it
    is built for all floats, or types of indices, that the description allows. layouts: what a TBE file is
    told of the inputs. search_seconds 0: the cost model decides alone.

    output: the folder of the files; installed: $ASCEND_CUSTOM_OPS, or None. name: of the files, or "" for the
    operator's type in small letters. ascend_c: see prove.
    """

    prompt: str
    inputs: tuple[TensorSpec, ...]
    is_typed: bool = True
    name: str = ""
    output: Path = Path(".")
    op_type: str | None = None
    attributes: Defaults | None = None
    search_seconds: float = 5.0
    soc: Soc | None = None
    llm: Endpoint | None = None
    force: bool = False
    installed: Path | None = None
    ascend_c: AscendC = ""
    layouts: tuple[Layout, ...] = ()
    types: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Built:
    """What was made of a request."""

    opdef: OpDef
    report: Report
    found: SearchResult
    measured: Measured
    files: Files


def build(request: Request, soc: Soc, show: Show, make: Generate = generate) -> Built:
    """Builds an operator; nothing is written before it is proven.

    Raises AscendError: those of describe, E41011 and E41012 (inputs), E43001 and E43002 (compiler), E43101
    (another definition is there), E43102 (the proof failed), E43104 (folders), E43106 (no code).
    """
    request = _typed(request, show)
    opdef = _described(request, soc, show)
    name = request.name or snake_case(opdef.op)
    for folder, place, in_force in (
        (request.output, "--output", False),
        (request.installed, f"${ENVIRONMENT_VARIABLE}", True),
    ):
        if folder is not None:
            check_writable(folder, place)
            check_replaces(folder, name, opdef, request.force, in_force)
    if shadows_builtin(opdef.op):
        show("expression", f"note: this shadows the built-in {opdef.op} wherever the definition is in force")
    opdef = _narrowed(opdef, request.types)
    subject = _subject(opdef, request)
    try:
        timed = _timed(subject)
        if timed is not subject:
            shapes = ";".join(str(list(t.dims)) for t in timed.inputs if t is not None)
            show("search", f"note: this shape takes too much memory to be timed; times are of {shapes}")
        found, lines = _search(timed, request.search_seconds, show)
        subject = replace(subject, schedule=found.best)
        with Compilations(subject, make, _command(request)) as made:
            for floor in floors():
                made.also(compile_library, floor)
            source, library = made.source, made.library()
            text = f"{source.symbol}, {library.isa}, source {source.hash[:16]}"
            show("compile", f"{text}, library {library.sha256[:16]}")
            show("takes", taken_text(made.variants))
            log = lambda check: show("proof", _line(check))  # noqa: E731
            report = prove(subject, soc, make, log, made, request.ascend_c)
    except NotGenerated as reason:
        raise AscendError("E43106", opdef.op, str(reason).rstrip(".")) from None
    if not report.passed:
        failed = [f"{c.layer}, {c.name}: {c.detail}" for c in report.failures()]
        raise AscendError("E43102", opdef.op, details=failed or ["a layer has no check that passed"])
    measured = _measured(timed, library)
    show("measured", str(measured))
    code = Code.of(opdef, library, assembly_object(made.whole))
    times = {"seconds": measured.times.to_json(), "floor_seconds": measured.floor.to_json()}
    report.about |= identity(opdef, code.library, code.object) | {"isa": library.isa} | times
    files = write_files(
        request.output,
        request.installed,
        name,
        opdef,
        made.variants,
        code,
        report,
        lines,
        soc,
        request.force,
    )
    return Built(opdef, report, found, measured, files)


def _narrowed(opdef: OpDef, types: Sequence[Sequence[int]]) -> OpDef:
    """The definition for these element types only, of inputs that are given several; outputs of the same
    variable follow. Raises E41011 for a type that it doesn't allow."""
    kept: dict[str, tuple[int, ...]] = {}
    for spec, chosen in zip(opdef.inputs, types, strict=False):
        if len(chosen) > 1:
            for dtype in chosen:
                if spec.types and dtype not in spec.types:
                    raise refused_type(opdef, spec, dtype)
            kept.setdefault(spec.variable or spec.name, tuple(chosen))

    def narrow(spec: OpSpec) -> OpSpec:
        return replace(spec, types=kept.get(spec.variable or spec.name, spec.types))

    inputs = tuple(map(narrow, opdef.inputs))
    outputs = tuple(narrow(o) if o.variable else o for o in opdef.outputs)
    return replace(opdef, inputs=inputs, outputs=outputs)


def _command(request: Request) -> str:
    """The command that builds it, without shapes and types."""
    text, file = description_text(request.prompt)
    given = f"ascend-op build {file}" if file else f'ascend-op build --prompt "{text}"'
    return "" if "\n" in given or '"' in text else given


def _typed(request: Request, show: Show) -> Request:
    """The request with the element type that the description gives its inputs, unless it was given one."""
    text, file = description_text(request.prompt)
    stated, named = (None, []) if file else stated_type(text)
    wanted = {t.dtype for t in request.inputs if t.dtype in COMPUTE_FLOATS}
    if stated is None and len(named) < 2:
        return request
    names = " and ".join(map(dtype_name, named))
    if stated is None or request.is_typed:
        if set(named) != wanted:
            which = " and ".join(dtype_name(t.dtype) for t in request.inputs)
            show("expression", f"warning: the description says {names}; built for {which} (--dtype)")
        return request
    inputs = tuple(replace(t, dtype=stated) if t.dtype in COMPUTE_FLOATS else t for t in request.inputs)
    if inputs != request.inputs:
        show("expression", f"note: built for {names}, as the description says; --dtype says otherwise")
    return replace(request, inputs=inputs)


def _described(request: Request, soc: Soc, show: Show) -> OpDef:
    expectations = Expectations(description_text(request.prompt)[0])

    def judge(opdef: OpDef) -> Sequence[str]:
        return _faults(opdef, request, soc, expectations)

    described = describe(
        request.prompt,
        op_type=request.op_type,
        attributes=request.attributes,
        llm=request.llm,
        prove=judge,
        inputs=[(t.dtype, t.dims) for t in request.inputs],
        layouts=request.layouts,
    )
    opdef = described.opdef
    text = program_text(formula_program(opdef))
    inputs = ", ".join([*(t.name for t in opdef.inputs), *(a.name for a in opdef.attributes)])
    show("expression", f"{opdef.op}({inputs}), from {described.kind}")
    for line in text.split("\n"):
        show("expression", line)
    for warning in (*described.warnings, *expectations.notes):
        show("expression", f"warning: {warning}")
    return opdef


def _faults(opdef: OpDef, request: Request, soc: Soc, expectations: Expectations) -> Sequence[str]:
    """What is known, and a proof, have against an operator that a language model wrote."""
    try:
        subject = _subject(opdef, request)
        if wrong := expectations.faults(subject):
            return wrong
        report = prove(subject, soc)
    except NotGenerated as reason:
        return [str(reason)]
    except AscendError as error:
        return [str(error)]
    return [f"{c.layer} {c.name}: {c.detail}" for c in report.failures()]


def _subject(opdef: OpDef, request: Request) -> Subject:
    """The operator at the given inputs, once shapes and types fit. Raises E41011 and E41012."""
    attributes: Mapping[str, AttributeValue] = {
        k: v
        for k, v in (request.attributes or {}).items()
        if v is not None
        and (a := opdef.attribute(k))
        and not (a.default is not None and a.allowed == (a.default,))
    }
    infer(opdef, [(t.dtype, t.dims) for t in request.inputs], attributes)
    inputs = (*request.inputs, *(None for _ in opdef.inputs[len(request.inputs) :]))
    return Subject(opdef, inputs, bind_attributes(opdef, attributes))


def _search(subject: Subject, seconds: float, show: Show) -> tuple[SearchResult, list[str]]:
    """The schedule and the lines of the log: each candidate's schedule, source hash, time and spread."""
    lines: list[str] = []
    found = search(
        subject.opdef.op,
        subject.program,
        subject.names,
        subject.inputs,
        subject.output_types,
        seconds,
        lines.append,
    )
    if not found.candidates:
        show("search", f"cost model alone: {found.best}")
        return found, [f"{found.best}: chosen by the cost model, nothing was measured"]
    times = [c.seconds for c in found.candidates]
    noise = max(c.spread for c in found.candidates)
    text = f"{len(times)} candidates generated and measured{' earlier' if found.cached else ''}"
    show("search", f"{text}: {min(times) * 1e6:.2f} to {max(times) * 1e6:.2f} us, noise {noise * 1e6:.2f} us")
    show("search", f"chosen: {found.best}")
    return found, [*lines, f"chosen: {found.best}"]


def _timed(subject: Subject) -> Subject:
    """The subject at the largest shape like its own that fits measure.MOST_BYTES; itself where it does."""
    free = free_sizes(subject)
    dims = free.dims(
        free.shrunk(free.built, lambda d: footprint(subject, d).moved <= MOST_BYTES) or free.built
    )
    if tuple(dims) == free.given:
        return subject
    specs = (
        None if t is None or d is None else TensorSpec(t.dtype, d)
        for t, d in zip(subject.inputs, dims, strict=True)
    )
    return replace(subject, inputs=tuple(specs))


def _measured(subject: Subject, library: CompiledLibrary) -> Measured:
    types = [None if t is None else (t.dtype, t.dims) for t in subject.inputs]
    made = infer(subject.for_every_shape, types, subject.attributes)
    outputs = [TensorSpec(dtype, tuple(map(int, dims or ()))) for dtype, dims in made]  # type: ignore[arg-type]
    return measure(library, subject.program, subject.inputs, outputs)


def _line(check: Check) -> str:
    return f"{check.layer}, {check}"
