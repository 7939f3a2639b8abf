"""Running a written bundle on its stored samples, and comparing with the float64 reference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.errors import AscendError
from ascend_ep.runtime.binding import open_model
from ascend_ep.runtime.session import InferenceSession

from .plan import HostPartition, NativePartition, Plan

if TYPE_CHECKING:
    from .convert import Conversion

#: Models up to this many nodes and weight elements are compared with the reference unasked.
SMALL_NODES = 400
SMALL_WEIGHTS = 4_000_000

#: Largest difference from the reference, relative to the largest magnitude of the output. The bounds leave
#: room for the rounding of long sums in the output's type; a wrong kernel misses them by orders.
BOUNDS = {"float32": 2e-4, "float64": 1e-8, "float16": 2e-2, "bfloat16": 1e-1}


def run_samples(written: Path | bytes, plan: Plan) -> list[memoryview] | None:
    """Verifies the bundle with the runtime's own verifier and runs it on its sample inputs.

    The outputs as bytes, for the file; None when the plan has no samples, or the data they hold is refused.
    """
    open_model(written)
    inputs = {s.edge.name: s.array for s in plan.samples if s.edge.is_input}
    outputs = [s.edge.name for s in plan.samples if s.edge.is_output]
    if not outputs or not _can_run(plan):
        plan.samples.clear() if not outputs else None
        return None
    try:
        results = InferenceSession(written).run(outputs, inputs)
    except AscendError as error:
        if error.code in ("E40009", "E40010", "E40011"):
            return None
        raise
    return [np.ascontiguousarray(r).reshape(-1).view(np.uint8).data for r in results]


def _can_run(plan: Plan) -> bool:
    return True


def check_against_reference(conversion: Conversion, results: Sequence[memoryview], forced: bool) -> None:
    """Raises AscendError E41020 when the sample outputs are not those of the float64 reference."""
