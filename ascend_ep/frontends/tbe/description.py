"""From a TBE file to an operator definition."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.frontends.interface import Defaults, Described, camel_case, identifier
from ascend_ep.frontends.tbe.generality import Sample, check_sample, general_program, is_small
from ascend_ep.frontends.tbe.layouts import Layout, any_rank
from ascend_ep.frontends.tbe.recording import (
    AttributeText,
    Failure,
    Recording,
    Signature,
    attribute_value,
    read_answer,
)
from ascend_ep.frontends.tbe.sandbox import run_file
from ascend_ep.frontends.tbe.variation import Job, attribute_jobs, held_type, jobs, resized, sizes_of
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Attribute, AttributeValue, Formula, OpDef, TensorSpec
from ascend_ep.opdef.expression import Program
from ascend_ep.opdef.expression_text import program_text
from ascend_ep.opdef.formula import formula_program

Inputs = Sequence[tuple[int, tuple[int, ...]]]
#: Records the operator with other jobs.
Run = Callable[[Sequence[Job]], list[Recording | Failure]]
#: Sizes of an operator that are tried each by itself.
MOST_SIZES = 16
#: What a file is recorded with when nobody says: one input of two dimensions.
SAMPLE: Inputs = ((dtypes.FLOAT32, (6, 35)),)


def describe_tbe(
    text: str,
    where: str,
    op_type: str | None = None,
    attributes: Defaults | None = None,
    inputs: Inputs | None = None,
    confined: bool = False,
    layouts: tuple[Layout, ...] = (),
) -> Described:
    """The operator of a TBE file, which is run, `confined` to computing when nobody vouches for it.
    `inputs`: element type and shape of each, for one kernel; the operator is for every shape and
    floating-point type with which the file computes the same. `layouts`: what it is told that they have.

    Raises AscendError: E42111 (the file failed), E42112 (it has no expression), E42113 (it was stopped),
    E42001 to E42004 (too large).
    """
    where = where or "operator.py"
    sample = inputs or SAMPLE
    shapes, kinds = tuple(s for _, s in sample), tuple(t for t, _ in sample)
    given = {k: _listed(v) for k, v in (attributes or {}).items() if v is not None}
    listed = jobs(Job("base", shapes, kinds, given, layouts))
    answer = run_file(Path(where), text, [j.request() for j in listed], confined=confined)
    signature, found = read_answer(answer.data, where)
    runs = list(zip(listed, found, strict=False))
    base = _base(runs, where)
    values = _attribute_values(signature, given, where)
    notes = [f"the file printed: {line[:200]}" for line in answer.printed.splitlines()[:5] if line.strip()]
    parts = _Parts(signature, base, values, [*base.recording.warnings, *notes], layouts)

    def run(tried: Sequence[Job]) -> list[Recording | Failure]:
        asked = [j.request() for j in (listed[0], *tried)]
        return read_answer(run_file(Path(where), text, asked, confined=confined).data, where)[1][1:]

    parts.generalize(runs, run)
    parts.choose_types(runs, kinds)
    if values:
        varied = attribute_jobs(replace(listed[0], attributes=values), base.recording.compared)
        parts.fix_attributes(varied, run(varied))
    return Described(parts.opdef(op_type, where), "TBE DSL", tuple(dict.fromkeys(parts.warnings)))


def _listed(value: Any) -> Any:
    """`[0, 1]` as the command line gives it."""
    if isinstance(value, str) and value.startswith("["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _base(runs: Sequence[tuple[Job, Recording | Failure]], where: str) -> Sample:
    """The recording with the shapes that were asked for, or its error."""
    job, found = runs[0]
    if isinstance(found, Failure):
        raise found.error(where)
    shapes = job.shapes if len(job.shapes) == len(found.inputs) else tuple(t.shape for t in found.inputs)
    return Sample(shapes, found)


def _attribute_values(
    signature: Signature, given: Mapping[str, Any], where: str
) -> dict[str, AttributeValue]:
    """The attributes that the base was recorded with. Raises E42112 for unknown ones."""
    known = {a.name: a for a in signature.attributes}
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known)
            raise AscendError(
                "E42112", f"{signature.name} has no attribute {name[:80]}.{hint}".rstrip("."), where=where,
                details=[f"attributes: {', '.join(known) or 'none'}"],
            )  # fmt: skip
    values = {a.name: attribute_value(a.type, given.get(a.name, a.default)) for a in signature.attributes}
    return {k: v for k, v in values.items() if v is not None}


@dataclass
class _Parts:
    """What the definition is made of, as far as it is known."""

    signature: Signature
    base: Sample
    attributes: dict[str, AttributeValue]
    warnings: list[str]
    layouts: tuple[Layout, ...] = ()

    def __post_init__(self) -> None:
        self.program: Program = self.base.recording.program
        #: The shapes that the inputs must have; empty: any.
        self.required: tuple[tuple[int, ...], ...] = ()
        self.types: tuple[int, ...] = ()
        self.fixed: set[str] = set()
        self.held: int | None = None
        self.generic_outputs: set[str] = set()

    # -- shapes --

    def generalize(self, runs: Sequence[tuple[Job, Recording | Failure]], run: Run) -> None:
        """Sizes by name, or the sizes that the definition is kept to."""
        others = [Sample(j.shapes, r) for j, r in runs if j.about == "shape" and isinstance(r, Recording)]
        program = general_program(self.base, others)
        faults = [] if program is None else self.faults(program, [self.base, *others])
        varied = others or not any(d > 1 for s in self.base.shapes for d in s)
        if not varied or not any(is_small(s) for s in [self.base, *others]):
            program = None
        if program is not None and not faults:
            self.program = program
            self.check_rank(runs, others)
            return
        reason = self.faults(self.program, [self.base])
        if reason:
            raise AscendError("E42112", reason[0], where=self.signature.name)
        self.required = self.held_shapes(runs[0][0], run)
        shapes = ", ".join("[" + ", ".join("?" if d < 0 else str(d) for d in s) + "]" for s in self.required)
        if not is_small(self.base) and self.required == self.base.shapes:
            large = f"it computes something else for other shapes, and {shapes} are too large to be tried"
            raise AscendError("E42112", large, where=self.signature.name, fix="Give smaller shapes.")
        why = f" ({faults[0]})" if faults else ""
        self.warnings.append(
            f"what the file computes depends on the shapes{why}: the operator is for {shapes} only"
        )

    def held_shapes(self, base: Job, run: Run) -> tuple[tuple[int, ...], ...]:
        """The base's shapes, -1 for sizes with other values of which the file computes the same."""

        def same(jobs: Sequence[Job]) -> list[bool]:
            return [
                isinstance(r, Recording)
                and r.formula == self.base.recording.formula
                and is_small(Sample(j.shapes, r))
                and not self.faults(self.program, [Sample(j.shapes, r)])
                for j, r in zip(jobs, run(jobs), strict=False)
            ]

        sizes = sizes_of(base)[:MOST_SIZES]
        alone = [resized(base, [size], turn) for size in sizes for turn in (0, 1)]
        fits = same(alone)
        free = [s for i, s in enumerate(sizes) if fits[2 * i : 2 * i + 2] == [True, True]]
        if not free or same([resized(base, free, turn) for turn in (0, 1)]) != [True, True]:
            return self.base.shapes
        return tuple(
            tuple(-1 if (d in free if d > 1 else (i, a) in free) else d for a, d in enumerate(shape))
            for i, shape in enumerate(base.shapes)
        )

    def faults(self, program: Program, samples: Sequence[Sample]) -> list[str]:
        return [f for f in (check_sample(program, s, self.attributes) for s in samples) if f]

    def check_rank(self, runs: Sequence[tuple[Job, Recording | Failure]], others: Sequence[Sample]) -> None:
        """One dimension more gives the same program, or the definition is for this number of dimensions."""
        higher = [Sample(j.shapes, r) for j, r in runs if j.about == "rank" and isinstance(r, Recording)]
        same_text = all(s.recording.formula == self.base.recording.formula for s in higher)
        if (
            any_rank(self.layouts, self.base.shapes)
            and (same_text or self.program is not self.base.recording.program)
            and not self.faults(self.program, higher)
        ):
            return
        self.required = tuple((-1,) * len(s) for s in self.base.shapes)
        ranks = ", ".join(
            f"{t.name} {len(s)}" for t, s in zip(self.base.recording.inputs, self.base.shapes, strict=True)
        )
        given = not any_rank(self.layouts, self.base.shapes)
        why = "layouts are given" if given else "with more dimensions the file computes something else"
        self.warnings.append(f"{why}: the operator is for inputs of this many dimensions: {ranks}")

    # -- element types --

    def choose_types(self, runs: Sequence[tuple[Job, Recording | Failure]], kinds: Sequence[int]) -> None:
        """The floating-point types with which the file computes the same."""
        self.held = held_type([t.dtype for t in self.base.recording.inputs])
        accepted = {self.held: self.base.recording}
        for job, found in runs:
            if job.about == "dtype" and isinstance(found, Recording):
                held = held_type(job.dtypes)
                if found.formula == self.base.recording.formula:
                    accepted[held] = found
                else:
                    name = dtypes.name(held) if held is not None else ""
                    self.warnings.append(
                        f"with {name} the file computes something else: it isn't among the types"
                    )
        outputs = self.base.recording.outputs
        self.generic_outputs = {
            t.name for i, t in enumerate(outputs)
            if all(r.outputs[i].dtype == held for held, r in accepted.items())
        }  # fmt: skip
        same = {held for held, r in accepted.items() if self.has_output_types(r)}
        self.types = tuple(t for t in dtypes.COMPUTE_FLOATS if t in same) if self.held is not None else ()

    def has_output_types(self, recording: Recording) -> bool:
        pairs = zip(recording.outputs, self.base.recording.outputs, strict=True)
        return all(o.name in self.generic_outputs or o.dtype == b.dtype for o, b in pairs)

    # -- attributes --

    def fix_attributes(self, varied: Sequence[Job], found: Sequence[Recording | Failure]) -> None:
        """Attributes whose value took part in the file's own decisions are kept to that value."""
        for name, value in self.attributes.items():
            other = [r for j, r in zip(varied, found, strict=False) if j.about == name]
            recorded = [r for r in other if isinstance(r, Recording)]
            alike = recorded and all(r.formula == self.base.recording.formula for r in recorded)
            if not alike:
                self.fixed.add(name)
                shown = list(value) if isinstance(value, tuple) else value
                self.warnings.append(
                    f"the file reads {name} while it builds: the operator is for {name}={shown} only"
                )

    # -- the definition --

    def opdef(self, op_type: str | None, where: str) -> OpDef:
        op = op_type or self.signature.op_type or self.signature.name.removesuffix("_compute")
        op = op if op_type else camel_case(identifier(op))
        if not identifier(op):
            raise AscendError("E42102", where=where)
        recording = self.base.recording
        result = OpDef(
            op=op,
            inputs=tuple(self.input(i) for i in range(len(recording.inputs))),
            outputs=tuple(
                self.tensor(t.name, t.dtype, t.name in self.generic_outputs) for t in recording.outputs
            ),
            attributes=tuple(
                self.attribute(a) for a in self.signature.attributes if a.name in self.attributes
            ),
            semantics=Formula(program_text(self.program)),
            doc=self.signature.doc,
            origin=where,
        )
        formula_program(result)
        return result

    def attribute(self, given: AttributeText) -> Attribute:
        value = self.attributes[given.name]
        allowed: Any = (value,) if given.name in self.fixed else ()
        return Attribute(given.name, given.type, value, allowed=allowed)

    def input(self, index: int) -> TensorSpec:
        tensor = self.base.recording.inputs[index]
        made = self.tensor(tensor.name, tensor.dtype, tensor.dtype == self.held)
        form = self.layouts[index].format if self.layouts else ""
        required = self.required[index] if self.required else None
        return replace(made, formats=(form,) if form else (), required_shape=required)

    def tensor(self, name: str, dtype: int, generic: bool) -> TensorSpec:
        return TensorSpec(name, self.types, "T") if generic and self.types else TensorSpec(name, (dtype,))
