"""Layer (c): the compiled library against every other way of running the operator, apart and watched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ascend_ep.codegen.compiled_library import CompiledLibrary
from ascend_ep.codegen.library_session import TensorSpec, library_session
from ascend_ep.compiler.lowering import Unsupported
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.proof.harness import RUNS, Array, Case, Outcome, run_apart
from ascend_ep.opbuild.proof.interpreted import run_interpreted
from ascend_ep.opbuild.proof.numerical import Expected, spacing
from ascend_ep.opbuild.proof.subject import Subject
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.proof_report import Check

#: Two ways of computing one result may be so far apart, or both within the bound of the float64 reference.
SAME_ULPS = 2.0


def check_watched(name: str, outcome: Outcome, runs: str, n_cases: int) -> Check:
    """What a process with guard pages or a sanitizer said."""
    done = f"{n_cases} cases each with {', '.join(RUNS[r] for r in runs)}"
    return Check("execution", name, not outcome.findings, "; ".join(outcome.findings[:3]) or done)


def check_sanitized(
    name: str,
    sanitizer: str,
    library: CompiledLibrary | AscendError,
    cases: Sequence[Case],
    n_outputs: int,
    runs: str,
) -> Check:
    """A run of the library built with a sanitizer; not done where the compiler has none."""
    if isinstance(library, AscendError):
        return Check("execution", name, None, f"the compiler can't build it: {library.text}")
    try:
        outcome = run_apart(library, cases, n_outputs, runs, "thread" if sanitizer == "thread" else "address")
    except AscendError as error:
        return Check("execution", name, None, f"the compiler can't build it: {error.text}")
    if any("error while loading" in f or "unexpected memory mapping" in f for f in outcome.findings):
        return Check("execution", name, None, outcome.findings[0])
    return check_watched(name, outcome, runs, len(cases))


def check_level(
    subject: Subject,
    library: CompiledLibrary,
    cases: Sequence[Case],
    wanted: Sequence[Expected | None],
    reference: Outcome,
) -> Check:
    """Another ISA level's library against the one in use."""
    name = f"{library.isa} against the level in use"
    outcome = run_apart(library, cases, len(subject.output_types))
    if outcome.findings:
        return Check("execution", name, False, "; ".join(outcome.findings[:3]))
    return _compared(name, subject, cases, wanted, reference.outputs, dict(enumerate(outcome.outputs)))


def check_interpreted(
    subject: Subject, cases: Sequence[Case], wanted: Sequence[Expected | None], reference: Outcome
) -> Check:
    """The interpreter against the compiled library."""
    name = "compiled against interpreted"
    found: dict[int, Sequence[Array]] = {}
    try:
        for i, case in enumerate(cases):
            found[i] = run_interpreted(subject, case)
    except Unsupported as reason:
        return Check("execution", name, None, f"it can't be interpreted: {reason}")
    except AscendError as error:
        return Check("execution", name, False, f"the interpreter fails: {error.text} ({case.about})")
    return _compared(name, subject, cases, wanted, reference.outputs, found)


def check_strides(subject: Subject, library: CompiledLibrary, case: Case) -> Check:
    """A session of the library given every second element of larger arrays, and transposed ones."""
    name = "strided inputs"
    specs = [
        None if a is None or t is None else TensorSpec(t.dtype, a.shape)
        for a, t in zip(case.inputs, subject.inputs, strict=True)
    ]
    feeds = {f"x{i}": a for i, a in enumerate(case.inputs) if a is not None}
    try:
        plain = run_apart(library, [case], len(subject.output_types))
        if plain.findings:
            return Check("execution", name, False, plain.findings[0])
        outputs = [
            TensorSpec(t, a.shape) for t, a in zip(subject.output_types, plain.outputs[0], strict=True)
        ]
        session = library_session(library, specs, outputs, 2)
        for view in (_every_second, _transposed):
            results = session.run(None, {n: view(a) for n, a in feeds.items()})
            for o, (a, b) in enumerate(zip(results, plain.outputs[0], strict=True)):
                if a.tobytes() != b.tobytes():
                    return Check(
                        "execution", name, False, f"output {o} has other bits than with contiguous inputs"
                    )
    except AscendError as error:
        return Check("execution", name, False, error.text)
    return Check(
        "execution", name, True, "every second element of larger arrays, and transposed arrays: the same bits"
    )


def _every_second(array: Array) -> Array:
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]) if array.ndim else (), array.dtype)
    if not array.ndim:
        return array
    wide[..., ::2] = array
    return wide[..., ::2]


def _transposed(array: Array) -> Array:
    return np.asarray(array.T, order="C").T


def _compared(
    name: str,
    subject: Subject,
    cases: Sequence[Case],
    wanted: Sequence[Expected | None],
    ours: Sequence[Sequence[Array]],
    theirs: Mapping[int, Sequence[Array]],
) -> Check:
    same = True
    for i, (case, expect, mine) in enumerate(zip(cases, wanted, ours, strict=False)):
        for o, (a, b) in enumerate(zip(mine, theirs.get(i, ()), strict=False)):
            if a.shape != b.shape:
                return Check(
                    "execution", name, False, f"output {o} has shapes {a.shape} and {b.shape} ({case.about})"
                )
            same = same and a.tobytes() == b.tobytes()
            problem = _disagreement(a, b, subject.output_types[o], expect, o)
            if problem:
                return Check("execution", name, False, f"output {o}{problem} ({case.about})")
    detail = "the same bits" if same else f"within {SAME_ULPS:.0f} ulp or the reference's bound"
    return Check("execution", name, True, f"{len(theirs)} cases, {detail}")


def _disagreement(a: Array, b: Array, dtype: int, expect: Expected | None, o: int) -> str:
    """The worst pair of results further apart than SAME_ULPS and outside the bound; "" for none."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    equal = (x == y) | (np.isnan(x) & np.isnan(y))
    if np.all(equal):
        return ""
    ulps = np.where(equal, 0.0, np.inf)
    if dtype in dtypes.FLOATS:
        with np.errstate(all="ignore"):
            apart = np.nan_to_num(np.abs(x - y) / spacing(x, dtype), nan=np.inf, posinf=np.inf)
        ulps = np.where(equal, 0.0, apart)
    if expect is not None:
        ulps = np.where(expect.lost(o) | (expect.holds(o, x) & expect.holds(o, y)), 0.0, ulps)
    worst = float(np.max(ulps))
    if worst <= SAME_ULPS:
        return ""
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(ulps)), ulps.shape))
    return f" at {list(at)} is {x[at]:.9g} and {y[at]:.9g}, {worst:.1f} ulp apart"
