"""A kernel through `run_kernel` on a reference's inputs, and its outputs beside the reference's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ascend_ep.cann.soc import Soc
from ascend_ep.element_types import number_of
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.call_request import Wanted
from ascend_ep.opbuild.kernels.arrays import Array, difference
from ascend_ep.opbuild.kernels.host_code import HostOperator
from ascend_ep.opbuild.kernels.run_kernel import RunRequest, run_kernel
from ascend_ep.opbuild.kernels.sources import find_sources, read_sources

from .found import KernelFile
from .references import Case, NoReference, cases_of

Outcome = Literal["right", "differs", "fault", "no run"]


@dataclass(frozen=True)
class Compared:
    """detail: the difference, the first fault, or why it doesn't run. faults: what the checks said."""

    file: KernelFile
    case: str
    outcome: Outcome
    detail: str = ""


def compare(file: KernelFile, soc: Soc, rows: int, largest: int) -> list[Compared]:
    """The cases of a kernel file, compared; none without a reference."""
    try:
        return [_one(case, soc) for case in cases_of(file, rows, largest)]
    except NoReference as error:
        return [Compared(file, "", "no run", f"reference: {error}")]


def _one(case: Case, soc: Soc) -> Compared:
    file = case.file
    try:
        sources = find_sources([file.path])
        kernel, _, operator = read_sources(sources, "", soc)
        inputs, attributes = _call(case, operator)
        wanted = [
            Wanted(None if operator else number_of(a.dtype), -1, tuple(map(int, a.shape)))
            for a in case.outputs
        ]
        request = RunRequest(
            sources, soc, inputs, kernel.name, () if operator and operator.infers_shapes else wanted,
            attributes, seconds=120,
        )  # fmt: skip
        answer = run_kernel(request).answer
    except (AscendError, NoReference, TypeError) as error:
        text = error.text if isinstance(error, AscendError) else str(error)
        return Compared(file, case.name, "no run", " ".join(text.split())[:200])
    if answer.failed:
        faults = [line for line in answer.lines if not line.startswith("advice")]
        return Compared(file, case.name, "fault", faults[0] if faults else "")
    return _judged(case, answer.outputs)


def _judged(case: Case, outputs: Sequence[Array]) -> Compared:
    for i, (made, right) in enumerate(zip(outputs, case.outputs, strict=False)):
        if made.size != right.size:
            shapes = f"{list(made.shape)}, not {list(right.shape)}"
            return Compared(case.file, case.name, "differs", f"output {i}: the shape {shapes}")
        found = difference(made.reshape(right.shape), right.astype(made.dtype))
        if found.beyond:
            return Compared(
                case.file, case.name, "differs", f"output {i} of {right.size} {made.dtype}: {found}"
            )
    return Compared(case.file, case.name, "right")


def _call(case: Case, operator: HostOperator | None) -> tuple[list[Array | None], dict[str, Any]]:
    """The inputs and attributes of the operator: arrays, then scalars, in order. Raises NoReference."""
    if operator is None:
        return [a for a in case.inputs if isinstance(a, np.ndarray)], {}
    given = list(case.placed([t.name for t in operator.inputs]))
    if len(given) > len(operator.inputs):
        raise NoReference(f"the reference has {len(given)} inputs, the operator {len(operator.inputs)}")
    scalars = list(case.scalars)
    inputs: list[Array | None] = []
    for a in given:
        inputs += a if isinstance(a, list) else [a]
    for spec in operator.inputs[len(given) :]:
        if spec.occurrence == "required" and scalars and isinstance(scalars[0], int | float):
            inputs.append(np.asarray([scalars.pop(0)], np.float32))
    if len(scalars) + len(case.initial) == len(operator.attributes):
        scalars += case.initial
    if len(scalars) > len(operator.attributes):
        raise NoReference(f"{len(scalars)} scalars, {len(operator.attributes)} attributes")
    named = dict(zip((a.name for a in operator.attributes), scalars, strict=False))
    named = {a.name: case.told.get(a.name, named.get(a.name)) for a in operator.attributes}
    types = {a.name: a.type for a in operator.attributes}
    return inputs, {n: float(v) if types[n] == "float" else v for n, v in named.items() if v is not None}
