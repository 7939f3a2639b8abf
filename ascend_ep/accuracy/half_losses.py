"""What float16 loses of a model, and the precision mode that keeps it, found by converting and running.

Tiny numbers become 0 in float16 and those beyond 65504 infinite, so logarithms, quotients and squares may
give results that are not finite, or wrong, where the model's own types give good ones.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler import samples
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.precision.precision import EXACT, PrecisionLists
from ascend_ep.errors import AscendError
from ascend_ep.opdef.dtypes import FLOAT16
from ascend_ep.runtime.bundle import Bundle
from ascend_ep.runtime.comparison import BOUNDS, compare
from ascend_ep.runtime.session_apart import SessionApart

Array = NDArray[Any]
Results = Sequence[Array] | None  #: None where a run was refused

#: Of an output's largest magnitude: what overflow does where results are finite again, and rounding doesn't.
SPOILT = 0.5
FRUGAL = ("AscendEP", {"low_memory": "1"})
OWN_TYPES = "must_keep_origin_dtype"
#: Modes that are tried, the one that leaves most in float16 first; the values of --precision_mode_v2.
MENDING = {
    "allow_mix_precision": "mixed_float16",
    "cube_fp16in_fp32out": "cube_fp16in_fp32out",
    OWN_TYPES: "origin",
}


@dataclass(frozen=True)
class Losses:
    """What float16 makes of the results, on which inputs, and the mode that gives those of the model's own
    types."""

    what: str
    inputs: str
    mode: str

    def __str__(self) -> str:
        return f"float16 makes {self.what} with {self.inputs}"


def find_losses(conversion: Conversion, written: str | os.PathLike[str]) -> Losses | None:
    """Runs a written bundle on its samples and on zeros; None when float16 loses nothing of the results.

    Finite results are compared with those of the model's own types when the self-check found them to differ
    from the reference.
    """
    casts = (node.attributes["to"].as_int() for node in conversion.model.graph if node.op_type == "Cast")
    if conversion.options.precision in EXACT or FLOAT16 not in casts:
        return None
    session = SessionApart(written, FRUGAL[1])
    probes = dict(_probes(conversion, session.session.bundle))
    narrow = {name: _run(session, probe) for name, probe in probes.items()}
    if not conversion.doubts and all(map(_is_finite, narrow.values())):
        return None
    exact = _runs_in(OWN_TYPES, conversion, probes)
    for name in probes:
        if what := _lost(session, narrow[name], exact[name]):
            return Losses(what, name, _mending(conversion, probes, exact))
    return None


def _probes(conversion: Conversion, bundle: Bundle) -> Iterator[tuple[str, dict[str, Array]]]:
    """Inputs by what to call them: the stored samples (or such as could be stored), and zeros."""
    inputs = {edge.name: np.array(array) for edge, array in bundle.samples() if edge.is_input}
    if not inputs:
        plan = conversion.plan
        sizes = samples.bindings(plan, hints=conversion.options.hint_shapes)
        inputs = samples.random_inputs([e for e in plan.edges if e.is_input], sizes, seed=0) or {}
    if inputs:
        yield "the sample inputs", inputs
        yield "inputs of zeros", {name: np.zeros_like(array) for name, array in inputs.items()}


def _run(session: SessionApart, feeds: Mapping[str, Array]) -> Results:
    try:
        return session.run(None, dict(feeds))
    except AscendError:
        return None


def _is_finite(results: Results) -> bool:
    return all(np.isfinite(r).all() for r in results or () if _is_floating(r))


def _is_floating(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.name in BOUNDS


def _runs_in(
    mode: str, conversion: Conversion, probes: Mapping[str, Mapping[str, Array]]
) -> dict[str, Results]:
    """What the model gives in another precision mode, without exceptions from it."""
    other = replace(
        conversion.options,
        precision=mode,
        precision_lists=PrecisionLists(),
        sample_seed=None,
        self_check=False,
        codegen="off",
        dump=None,
        external_weight=0,
    )
    with tempfile.TemporaryDirectory(prefix="ascend_ep_") as folder:  # mapped, a large one is never in memory
        path = os.path.join(folder, "trial.om")
        convert(conversion.source, other).write(path)
        session = SessionApart(path, FRUGAL[1])
        return {name: _run(session, probe) for name, probe in probes.items()}


def _lost(session: SessionApart, narrow: Results, exact: Results) -> str:
    """What became of the first output that isn't that of the model's own types; "" if none is."""
    for output, got, want in zip(session.session.get_outputs(), narrow or (), exact or (), strict=False):
        if not _is_floating(want) or not _is_floating(got) or got.shape != want.shape:
            continue
        lost = int(np.count_nonzero(~np.isfinite(got) & np.isfinite(want)))
        if lost:
            return f"{lost} of {got.size} elements of output [{output.name}] infinite or NaN"
        difference = compare(got, want, SPOILT)
        if difference.exceeds:
            return f"output [{output.name}] another ({difference})"
    return ""


def _mending(
    conversion: Conversion, probes: Mapping[str, Mapping[str, Array]], exact: Mapping[str, Results]
) -> str:
    """The first mode whose results are those of the model's own types."""
    for mode in MENDING:
        if mode == OWN_TYPES:
            break
        found = _runs_in(mode, conversion, probes)
        if all(_agree(found[name], exact[name]) for name in probes):
            return mode
    return OWN_TYPES


def _agree(results: Results, exact: Results) -> bool:
    if results is None or exact is None:
        return results is exact
    pairs = [(r, e) for r, e in zip(results, exact, strict=True) if _is_floating(r) and _is_floating(e)]
    return not any(compare(r, e, BOUNDS["float16"]).exceeds for r, e in pairs)
