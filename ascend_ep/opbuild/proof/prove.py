"""prove: the three layers for one operator, and the report."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Literal

from ascend_ep.cann.soc import Soc
from ascend_ep.codegen.compilers import find_compiler
from ascend_ep.codegen.graph import NotGenerated
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.proof.ascend_c import NAME as ASCEND_C
from ascend_ep.opbuild.proof.ascend_c import check_ascend_c, kernel_of
from ascend_ep.opbuild.proof.cases import large_case, small_cases
from ascend_ep.opbuild.proof.compilations import Compilations, levels, waited
from ascend_ep.opbuild.proof.error_bound import NoBound
from ascend_ep.opbuild.proof.execution import (
    check_interpreted,
    check_level,
    check_sanitized,
    check_strides,
    check_watched,
)
from ascend_ep.opbuild.proof.harness import Case, Outcome, run_apart
from ascend_ep.opbuild.proof.numerical import Expected, check_numbers, expected
from ascend_ep.opbuild.proof.static import check_statically
from ascend_ep.opbuild.proof.subject import Generate, Subject, generate
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression_text import program_text
from ascend_ep.opdef.proof_report import Check, Report

#: Whether Ascend C is left out, run and reported, or must be right for the proof to hold.
AscendC = Literal["", "told", "required"]


def prove(
    subject: Subject,
    soc: Soc,
    make: Generate = generate,
    log: Callable[[Check], None] = lambda _: None,
    made: Compilations | None = None,
    ascend_c: AscendC = "",
) -> Report:
    """Proves an operator for its own element type and the other floats it allows, on every ISA level here.
    What fails the static checks is never loaded, so that a proof ends with them.

    `make` gives the C, unless it has been `made` already. `ascend_c`: whether the generated Ascend C is run
    on the CPU as well, and whether it must be right. Raises NotGenerated, and AscendError E43001 and E43002
    when nothing can be compiled.
    """
    if made is None:
        with Compilations(subject, make) as made:
            return prove(subject, soc, make, log, made, ascend_c)
    device = made.also(kernel_of, subject, soc) if ascend_c else None
    report = Report(_about(subject, soc))
    report.about["sources"] = {v.label: s.hash for v, s in made.variants}

    def add(*checks: Check) -> None:
        for check in checks:
            report.checks.append(check)
            log(check)

    own = made.variants[0][0]
    add(*check_statically(own, made.source, made.library(), soc))
    if report.failures():
        return report
    for variant, _ in made.variants:
        prove_type(variant, variant is own, made, add)
    if device is not None:
        add(_check_device(own, soc, device, ascend_c))
    return report


def _check_device(subject: Subject, soc: Soc, kernel: Future[Any], ascend_c: AscendC) -> Check:
    """The kernel for the chip; unless it is required, nothing installed depends on it."""
    try:
        check = check_ascend_c(subject, soc, small_cases(subject), waited(kernel))
    except (NotGenerated, NoBound) as reason:
        check = Check("execution", ASCEND_C, None, str(reason))
    except AscendError as error:
        check = Check("execution", ASCEND_C, None if error.code == "E43001" else False, error.text)
    if check.passed is None and ascend_c == "required":
        return replace(check, passed=False)
    if check.passed is False and ascend_c == "told":
        return replace(check, passed=None, detail=f"WRONG, and not part of what is installed: {check.detail}")
    return check


def prove_type(subject: Subject, in_full: bool, made: Compilations, add: Callable[..., None]) -> None:
    """Numbers and execution of one element type; levels, sanitizers and strides of the subject's own."""
    kind, n_outputs = subject.label, len(subject.output_types)
    cases = small_cases(subject)
    if in_full and (large := large_case(subject)) is not None:
        cases.append(large)
    try:
        wanted: list[Expected | None] = [expected(subject, case) for case in cases]
    except NoBound as error:
        add(Check("numerical", kind, False, str(error)))
        return
    cases, wanted = _possible(cases, wanted)
    if not any(all(a is None or a.size for a in case.inputs) for case in cases):
        add(Check("numerical", kind, False, "no case fits the formula and the memory of a proof"))
        return
    outcome = run_apart(made.library(), cases, n_outputs, "ebrt")
    add(check_numbers(subject, cases, wanted, outcome.outputs))
    add(check_watched(f"{kind}: guard pages, order and threads", outcome, "ebrt", len(cases)))
    if outcome.findings or not in_full:
        return
    _execution(subject, cases, wanted, outcome, made, add)


def _execution(
    subject: Subject,
    cases: list[Case],
    wanted: list[Expected | None],
    outcome: Outcome,
    made: Compilations,
    add: Callable[..., None],
) -> None:
    n_outputs = len(subject.output_types)
    add(check_interpreted(subject, cases, wanted, outcome))
    middle = next((c for c in cases if all(a is None or a.size for a in c.inputs)), cases[0])
    add(check_strides(subject, made.library(), middle))
    for level in made.levels[1:]:
        add(check_level(subject, made.library(level=level), cases, wanted, outcome))
    add(check_sanitized("AddressSanitizer", "address", made.sanitized("address"), cases, n_outputs, "eb"))
    add(check_sanitized("ThreadSanitizer", "thread", made.sanitized("thread"), cases[-1:], n_outputs, "t"))


def _possible(cases: list[Case], wanted: list[Expected | None]) -> tuple[list[Case], list[Expected | None]]:
    """Without the cases that have no result by definition, such as the maximum of nothing."""
    kept = [(c, w) for c, w in zip(cases, wanted, strict=True) if w is not None]
    return [c for c, _ in kept], [w for _, w in kept]


def _about(subject: Subject, soc: Soc) -> dict[str, object]:
    return {
        "operator": subject.opdef.op,
        "formula": program_text(subject.program),
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
