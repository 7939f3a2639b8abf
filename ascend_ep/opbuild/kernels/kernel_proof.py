"""The proof of a kernel of anybody: the layers of a formula's, by running it.

static: its host code and its parameters fit, and a library was made of it. numerical: on the inputs given,
and on others of other sizes, its outputs are those of the formula or golden file. execution: no rule of
the chip is broken, and the library gives what the checked run gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ascend_ep.codegen.library_process import try_library
from ascend_ep.compiler.custom_ops.native_op import attributes as library_attributes
from ascend_ep.element_types import number_of, numpy_dtype
from ascend_ep.errors import AscendError
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.proof_report import Check, Report

from .arrays import Array, difference
from .formula_reference import formula_outputs
from .run_kernel import Run, RunRequest, run_kernel
from .units import TypeColumn

Log = Callable[[Check], None]
#: Sizes tried beside a given one: a tail, one element, a block of 32 bytes, and twice as much.
_OTHERS: tuple[Callable[[int], int], ...] = (lambda n: n - 1, lambda n: n + 3, lambda n: 1, lambda n: 2 * n)


@dataclass(frozen=True)
class Expected:
    """What the outputs of a kernel should be: a formula's, or for the inputs given those of a golden file.
    False where nothing says so."""

    formula: str = ""
    golden: Sequence[Array] = ()

    def __bool__(self) -> bool:
        return bool(self.formula or self.golden)


def prove_kernel(
    given: RunRequest,
    expected: Expected,
    opdef: OpDef,
    columns: Sequence[TypeColumn],
    library: Path,
    log: Log,
) -> Report:
    """All checks. Raises AscendError where the given inputs can't be run at all."""
    report = Report()

    def add(check: Check) -> None:
        report.checks.append(check)
        log(check)

    kernels = f"{len(columns)} combination{'s' if len(columns) != 1 else ''} of element types compiled"
    add(Check("static", "parameters and host code", True, kernels))
    made = run_kernel(given)
    for check in _checks_of(expected, given, made, "the inputs given", library, opdef):
        add(check)
    if expected.formula and given.sources.host:
        for column in columns[1:]:
            run = _with_types(given, opdef, column)
            for check in _checks_of(expected, run, run_kernel(run), _types_text(run), library, opdef):
                add(check)
        add(_other_shapes(given, expected.formula))
    return report


def _checks_of(
    expected: Expected, run: RunRequest, made: Run, about: str, library: Path, opdef: OpDef
) -> Iterator[Check]:
    faults = "; ".join(made.answer.lines[:2]) if made.answer.failed else ""
    blocks = f"{made.answer.blocks} blocks, no rule broken"
    yield Check("execution", f"{about}, every access checked", not made.answer.failed, faults or blocks)
    wanted = list(expected.golden)
    if expected.formula:
        wanted = formula_outputs(expected.formula, made.inputs, _present(run), run.attributes)
    yield _numbers(made, wanted, about)
    if not made.answer.failed:
        yield _library_alike(run, made, about, library, opdef)


def _present(run: RunRequest) -> list[Array]:
    return [a for a in run.inputs if a is not None]


def _numbers(made: Run, wanted: Sequence[Array], about: str) -> Check:
    lines, passed = [], bool(wanted)
    for name, array, right in zip(made.names, made.answer.outputs, wanted, strict=False):
        if array.shape != right.shape:
            return Check(
                "numerical",
                about,
                False,
                f"{name} has the shape {list(array.shape)}, not {list(right.shape)}",
            )
        found = difference(array, right)
        passed = passed and not found.beyond
        lines.append(f"{name}: {found}")
    return Check("numerical", about, passed, "; ".join(lines))


def _library_alike(run: RunRequest, made: Run, about: str, library: Path, opdef: OpDef) -> Check:
    """The library, in a process of its own, against the checked run: bit for bit."""
    name = f"{about}, the library against the checked run"
    attributes = library_attributes(run.attributes)
    trial = try_library(library, opdef.op, [list(run.inputs)], len(opdef.outputs), attributes)
    if trial.failure:
        return Check("execution", name, False, trial.failure)
    pairs = zip(trial.outputs[0], made.answer.outputs, strict=True)
    same = all(a.tobytes() == b.tobytes() for a, b in pairs)
    return Check("execution", name, same, "the same bits" if same else "other bits")


def _with_types(run: RunRequest, opdef: OpDef, column: TypeColumn) -> RunRequest:
    inputs: list[Array | None] = []
    for array, dtype in zip(run.inputs, column.types, strict=False):
        inputs.append(array if array is None or dtype is None else array.astype(numpy_dtype(dtype)))
    return replace(run, inputs=inputs)


def _types_text(run: RunRequest) -> str:
    return ", ".join("none" if a is None else a.dtype.name for a in run.inputs)


def _other_shapes(run: RunRequest, formula: str) -> Check:
    """Other sizes: what the host refuses is refused; what it accepts must be right."""
    sizes = sorted({int(d) for a in _present(run) for d in a.shape})
    tried, refused, wrong = 0, 0, []
    for size in sizes[-2:]:
        for other in dict.fromkeys(f(size) for f in _OTHERS):
            if other < 1 or other == size:
                continue
            changed = replace(
                run, inputs=[None if a is None else _resized(a, size, other) for a in run.inputs]
            )
            shapes = ";".join(str(list(a.shape)) for a in _present(changed))
            try:
                made = run_kernel(changed)
                wanted = formula_outputs(formula, made.inputs, _present(changed), run.attributes)
            except AscendError as error:
                refused += error.code == "E43205"
                if error.code != "E43205":
                    wrong.append(f"{shapes}: {error.text}")
                continue
            tried += 1
            check = _numbers(made, wanted, shapes)
            if made.answer.failed or not check.passed:
                wrong.append(f"{shapes}: {made.answer.lines[0] if made.answer.failed else check.detail}")
    done = f"{tried} others right, {refused} refused by the host code"
    if wrong:
        text = f"not for every shape that the host code accepts: {'; '.join(wrong[:3])}"
        return Check("numerical", "other shapes", None, text)
    return Check("numerical", "other shapes", True if tried else None, done)


def _resized(array: Array, size: int, other: int) -> Array:
    """Random elements of the same kind, every size `size` changed."""
    shape = tuple(other if d == size else int(d) for d in array.shape)
    source = np.random.default_rng(number_of(array.dtype) + other)
    flat = np.asarray(array).reshape(-1)
    picked = source.integers(0, max(flat.size, 1), int(np.prod(shape, dtype=np.int64)))
    return np.ascontiguousarray(flat[picked].reshape(shape) if flat.size else array.reshape(shape))
