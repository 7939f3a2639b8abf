"""prove: the three layers for one operator, and the report."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from ascend_ep.compiler.codegen.compilers import find_compiler
from ascend_ep.compiler.codegen.generate import Source
from ascend_ep.compiler.codegen.graph import NotGenerated
from ascend_ep.compiler.codegen.library import CompiledLibrary, compile_library
from ascend_ep.compiler.proof.cases import large_case, small_cases
from ascend_ep.compiler.proof.error_bound import NoBound
from ascend_ep.compiler.proof.execution import (
    check_interpreted,
    check_level,
    check_sanitized,
    check_strides,
    check_watched,
)
from ascend_ep.compiler.proof.harness import Case, Outcome, run_apart
from ascend_ep.compiler.proof.numerical import Expected, check_numbers, expected
from ascend_ep.compiler.proof.report import Check, Report
from ascend_ep.compiler.proof.static import check_statically
from ascend_ep.compiler.proof.subject import Generate, Subject, generate
from ascend_ep.compiler.soc import Soc
from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.runtime.binding import lib, text_of

#: A compilation, or what kept it from being made.
Made = CompiledLibrary | AscendError
Jobs = dict[tuple[int, str, str], Made]


def levels() -> list[str]:
    """The ISA levels of this machine, the one in use first."""
    names = [text_of(lib.asc_isa_name(i)) for i in range(lib.ASC_ISA_COUNT) if lib.asc_isa_supported(i)]
    used = text_of(lib.asc_isa_name(lib.asc_isa_current()))
    return [used, *(n for n in names if n != used)]


def prove(
    subject: Subject, soc: Soc, make: Generate = generate, log: Callable[[Check], None] = lambda _: None
) -> Report:
    """Proves an operator for its own element type and the other floats it allows, on every ISA level here.

    `make` gives the C. Raises NotGenerated, and AscendError E43001 and E43002 when nothing can be compiled.
    """
    report = Report(_about(subject, soc))
    variants = [(v, make(v)) for v in subject.variants()]
    own, source = variants[0]
    report.about["sources"] = {dtypes.name(v.dtype): s.hash for v, s in variants}
    made = _compile_all(variants)
    library = _library(made[own.dtype, report.about["levels"][0], ""])

    def add(*checks: Check) -> None:
        for check in checks:
            report.checks.append(check)
            log(check)

    add(*check_statically(own, source, library, soc))
    for variant, _ in variants:
        _prove_type(variant, variant is own, made, report.about["levels"], add)
    return report


def _prove_type(
    subject: Subject, in_full: bool, made: Jobs, isa: list[str], add: Callable[..., None]
) -> None:
    """Numbers and execution of one element type; levels, sanitizers and strides of the subject's own."""
    kind, n_outputs = subject.dtype, len(subject.output_types)
    library = _library(made[kind, isa[0], ""])
    cases = [*small_cases(subject), *([large_case(subject)] if in_full else [])]
    try:
        wanted: list[Expected | None] = [expected(subject, case) for case in cases]
    except NoBound as error:
        add(Check("numerical", dtypes.name(kind), False, str(error)))
        return
    cases, wanted = _possible(cases, wanted)
    outcome = run_apart(library, cases, n_outputs, "ebrt")
    add(check_numbers(subject, cases, wanted, outcome.outputs))
    add(check_watched(f"{dtypes.name(kind)}: guard pages, order and threads", outcome, "ebrt", len(cases)))
    if outcome.findings or not in_full:
        return
    _execution(subject, cases, wanted, outcome, made, isa, add)


def _execution(
    subject: Subject,
    cases: list[Case],
    wanted: list[Expected | None],
    outcome: Outcome,
    made: Jobs,
    isa: list[str],
    add: Callable[..., None],
) -> None:
    kind, n_outputs = subject.dtype, len(subject.output_types)
    for level in isa[1:]:
        add(check_level(subject, _library(made[kind, level, ""]), cases, wanted, outcome))
    add(check_interpreted(subject, cases, wanted, outcome))
    add(check_sanitized("AddressSanitizer", "address", made[kind, isa[0], "address"], cases, n_outputs, "eb"))
    add(
        check_sanitized("ThreadSanitizer", "thread", made[kind, isa[0], "thread"], cases[-1:], n_outputs, "t")
    )
    middle = next((c for c in cases if all(a is None or a.size for a in c.inputs)), cases[0])
    add(check_strides(subject, _library(made[kind, isa[0], ""]), middle))


def _possible(cases: list[Case], wanted: list[Expected | None]) -> tuple[list[Case], list[Expected | None]]:
    """Without the cases that have no result by definition, such as the maximum of nothing."""
    kept = [(c, w) for c, w in zip(cases, wanted, strict=True) if w is not None]
    return [c for c, _ in kept], [w for _, w in kept]


def _compile_all(variants: list[tuple[Subject, Source]]) -> Jobs:
    """Every library of the proof, two at a time. Only sanitized ones may be missing."""
    own, isa = variants[0][0].dtype, levels()
    jobs = [(v.dtype, isa[0], "", s) for v, s in variants]
    jobs += [(own, level, "", variants[0][1]) for level in isa[1:]]
    jobs += [(own, isa[0], sanitizer, variants[0][1]) for sanitizer in ("thread", "address")]
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda job: _compile(job[3], job[1], job[2]), jobs))
    return {job[:3]: result for job, result in zip(jobs, made, strict=True)}


def _compile(source: Source, isa: str, sanitizer: str) -> Made:
    try:
        return compile_library(source, isa, sanitizer)
    except AscendError as error:
        return error


def _library(made: Made) -> CompiledLibrary:
    if isinstance(made, AscendError):
        raise made
    return made


def _about(subject: Subject, soc: Soc) -> dict[str, object]:
    return {
        "operator": subject.opdef.op,
        "formula": str(subject.program),
        "inputs": {n: [dtypes.name(t.dtype), list(t.dims)] for n, t in subject.given.items()},
        "attributes": dict(subject.attributes),
        "schedule": str(subject.schedule),
        "soc_version": soc.name,
        "compiler": find_compiler().version,
        "machine": platform.machine(),
        "levels": levels(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


__all__ = ["NotGenerated", "levels", "prove"]
