"""What is known beforehand of an operator described in prose, for judging what a language model made of it.

Known are results that the prose states, f(1) = 0.731, and operators that the library has by the name. A
definition by another name than one in the prose may mean something else: that is asked once, not refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.frontends.statements import contradictions
from ascend_ep.opbuild.proof.cases import small_cases
from ascend_ep.opbuild.proof.harness import Array, Case
from ascend_ep.opbuild.proof.subject import Subject
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.definition import AttributeValue, Formula, OpDef
from ascend_ep.opdef.loader import load_definitions
from ascend_ep.opdef.places import schema_root
from ascend_ep.opdef.reference import evaluate

#: Results further apart are another function; usual approximations of one are nearer.
TOLERANCE = 2e-3
CASES = 4
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]{2,}")


class Expectations:
    """Of one piece of prose."""

    def __init__(self, prose: str) -> None:
        self.prose = prose
        self.notes: list[str] = []
        self._asked: set[str] = set()

    def faults(self, subject: Subject) -> list[str]:
        """Sentences about results that aren't what they should be; none: nothing speaks against it."""
        opdef = subject.opdef
        wrong = [*contradictions(opdef, self.prose), *_against_known(opdef.op, subject)]
        return wrong or self._doubts(subject)

    def _doubts(self, subject: Subject) -> list[str]:
        text = str(getattr(subject.opdef.semantics, "text", ""))
        for name in sorted({w.casefold() for w in _WORD.findall(self.prose)} - {subject.opdef.op.casefold()}):
            wrong = _against_known(name, subject)
            if wrong and text in self._asked:
                self.notes.append(f"the description names {name}, which this isn't: {wrong[0]}")
            elif wrong:
                self._asked.add(text)
                return [*wrong, "Answer the same again if the description means something else."]
        return []


def _against_known(name: str, subject: Subject) -> list[str]:
    """The operator of the library with this name, compared at a few inputs; a few results that differ."""
    known = _known(name)
    if known is None:
        return []
    cases = [c for c in small_cases(subject) if c.about.endswith("ordinary values")][:CASES]
    for case in cases:
        arrays = [None if a is None else a.astype(np.float64) for a in case.inputs]
        ours = _results(subject.opdef, arrays, subject.attributes)
        theirs = _results(known, arrays, subject.attributes)
        if theirs is None or not all(a.size for a in theirs):
            continue
        wrong = _difference(known.op, case, ours, theirs)
        if wrong:
            return wrong
    return []


def _known(name: str) -> OpDef | None:
    """The library's own operator of a name, whatever its capitals, if a formula says what it is."""
    root = schema_root()
    for path in sorted(root.rglob("*.json")):
        if path.stem.casefold() == name.casefold() and path.relative_to(root).parts[0] != "onnx":
            return _formula_of(path)
    return None


def _formula_of(path: Path) -> OpDef | None:
    found = [d for d in load_definitions(path) if isinstance(d.semantics, Formula)]
    return found[-1] if found else None


def _results(
    opdef: OpDef, arrays: Sequence[Array | None], attributes: Mapping[str, AttributeValue]
) -> list[Array] | None:
    """None when the operator doesn't take such inputs."""
    taken = {k: v for k, v in attributes.items() if opdef.attribute(k)}
    try:
        return evaluate(opdef, arrays, bind_attributes(opdef, taken))
    except (AscendError, ValueError):
        return None


def _difference(name: str, case: Case, ours: list[Array] | None, theirs: list[Array]) -> list[str]:
    if ours is None or len(ours) < len(theirs) or ours[0].shape != theirs[0].shape:
        shapes = "other outputs" if ours is None else f"outputs of shapes {[a.shape for a in ours]}"
        return [f"{name} gives outputs of shapes {[a.shape for a in theirs]}; this gives {shapes}."]
    a, b = np.asarray(ours[0], np.float64), np.asarray(theirs[0], np.float64)
    with np.errstate(invalid="ignore"):
        far = ~(np.abs(a - b) <= TOLERANCE * np.maximum(1, np.abs(b))) & ~((a == b) | np.isnan(b))
    found = []
    for at in np.argwhere(far)[:3]:
        where = tuple(int(i) for i in at)
        inputs = [
            f"input {i} = {float(x[where]):.6g}"
            for i, x in enumerate(case.inputs)
            if x is not None and x.shape == a.shape
        ]
        given = ", ".join(inputs) or f"element {list(where)}"
        found.append(f"{name} at {given} is {b[where]:.6g}; the function gives {a[where]:.6g}.")
    return found
