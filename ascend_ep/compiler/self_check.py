"""Running a written bundle on its stored samples, and comparing with the float64 reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from numpy.typing import NDArray

from ascend_ep.errors import AscendError
from ascend_ep.opdef.registry import Registry
from ascend_ep.runtime.binding import open_model
from ascend_ep.runtime.session import InferenceSession

from .plan import Plan

Array = NDArray[Any]

#: Models up to this many nodes and weight elements are compared with the reference unasked.
SMALL_NODES = 400
SMALL_WEIGHTS = 4_000_000

#: Largest difference from the reference, relative to the largest magnitude of the output. The bounds leave
#: room for the rounding of long sums in the output's type; a wrong kernel misses them by orders.
BOUNDS = {"float32": 2e-4, "float64": 1e-8, "float16": 2e-2, "bfloat16": 1e-1}


class NoSamples(Exception):
    """The samples of a plan can't be run here, or their random data is refused."""


def run_samples(written: Path | bytes, plan: Plan) -> list[Array]:
    """Opens the bundle, which verifies it, and runs it on its sample inputs; the outputs in their order.

    Raises NoSamples, or the AscendError of a bundle that fails otherwise.
    """
    inputs = {s.edge.name: s.array for s in plan.samples if s.edge.is_input}
    outputs = [s.edge.name for s in plan.samples if s.edge.is_output]
    if not outputs:
        open_model(written)
        return []
    try:
        return InferenceSession(written).run(outputs, inputs)
    except AscendError as error:
        if error.code in ("E40008", "E40009", "E40010", "E40011"):
            raise NoSamples from error
        raise


def is_small(model: ir.Model) -> bool:
    """Whether comparing with the reference takes no noticeable time."""
    nodes = sum(1 for _ in model.graph)
    weights = sum(v.const_value.size for v in model.graph.initializers.values() if v.const_value is not None)
    return nodes <= SMALL_NODES and weights <= SMALL_WEIGHTS


def check_against_reference(
    source: str | onnx.ModelProto, plan: Plan, results: Sequence[Array], registry: Registry, must: bool
) -> None:
    """Raises AscendError E41020 when sample outputs are not those of the float64 reference.

    A model that the reference can't evaluate passes, unless it `must` be compared.
    """
    from ascend_ep.graph.reference import reference_run

    inputs = {s.edge.name: s.array for s in plan.samples if s.edge.is_input}
    try:
        expected = reference_run(source, inputs, registry)
    except Exception as error:
        if must:
            raise AscendError("E41021", f"{type(error).__name__}: {error}") from error
        return
    outputs = [s.edge.name for s in plan.samples if s.edge.is_output]
    wrong = [
        f"output [{name}]: {difference}"
        for name, result in zip(outputs, results, strict=True)
        if name in expected and (difference := compare(result, expected[name])).exceeds
    ]
    if wrong:
        raise AscendError("E41020", details=wrong)


@dataclass(frozen=True)
class Difference:
    """How far an output is from its reference. `relative`: largest difference over largest magnitude."""

    relative: float
    bound: float
    note: str = ""

    @property
    def exceeds(self) -> bool:
        return bool(self.note) or not self.relative <= self.bound

    def __str__(self) -> str:
        return self.note or f"relative difference {self.relative:.3g}, bound {self.bound:.3g}"


def compare(result: Array, expected: Array) -> Difference:
    """An output against the reference: floats by the bound of their type, everything else by equality."""
    if result.shape != expected.shape:
        return Difference(np.inf, 0, f"shape {list(result.shape)}, the reference has {list(expected.shape)}")
    bound = BOUNDS.get(result.dtype.name)
    if bound is None:
        unequal = int(np.count_nonzero(result != expected))
        return Difference(float(unequal), 0, f"{unequal} elements differ" if unequal else "")
    got, want = result.astype(np.float64), expected.astype(np.float64)
    special = ~np.isfinite(want)
    if not np.array_equal(got[special], want[special], equal_nan=True):
        return Difference(np.inf, bound, "NaN or infinity differ")
    got, want = got[~special], want[~special]
    if not got.size:
        return Difference(0.0, bound)
    scale = float(np.abs(want).max())
    worst = float(np.abs(got - want).max())
    return Difference(worst / scale if scale else worst, bound)
