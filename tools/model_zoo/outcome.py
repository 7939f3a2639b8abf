"""What a trial of one model found, and what of it is wrong."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmark.noise import Ratio

from model_zoo.model import Model

#: Conversion may take this much of onnxruntime's own peak for running the model, and this many bytes more.
MEMORY_TIMES, MEMORY_MORE = 1.3, 300 << 20
#: onnxruntime's time over ours: below this, by more than so many standard errors, ours is slower.
LEAST_RATIO, ERRORS = 0.97, 2.0
#: Of onnxruntime's own spread (trial.Step.spread), an error may be this much.
SPREAD_TIMES = 4.0


def is_slower(ratio: Ratio) -> bool:
    """Beyond doubt."""
    return ratio.value * math.exp(ERRORS * ratio.error) < LEAST_RATIO


@dataclass
class Outcome:
    """`steps` holds each step's answer by its name (see trial.Step); one that failed has an `error`. `ratios`
    are times of onnxruntime's CPU provider over those with AscendEP, one for each size that was timed."""

    model: Model
    missing: str = ""
    steps: dict[str, dict[str, Any]] = field(default_factory=dict)
    ratios: list[Ratio] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The name, what was found, and what of it is wrong."""
        ratios = [asdict(r) for r in self.ratios]
        found = {"steps": self.steps, "ratios": ratios, "failures": self.failures()}
        return {"model": self.model.name, "missing": self.missing, **found}

    @classmethod
    def from_json(cls, model: Model, found: dict[str, Any]) -> Outcome:
        """What as_json wrote. Failures are judged anew."""
        return cls(model, found["missing"], found["steps"], [Ratio(**r) for r in found["ratios"]])

    @property
    def memory_limit(self) -> float:
        """Bytes, by onnxruntime's peak for the first draw, which is the smallest."""
        return MEMORY_TIMES * float(self.steps["reference"]["peaks"][0]) + MEMORY_MORE

    def errors(self, step: str) -> list[float]:
        """Of each draw; none where the step failed."""
        return [float(e) for e in self.steps.get(step, {}).get("errors", [])]

    def allowed(self) -> list[float]:
        """The error of each draw that is no failure."""
        floor = self.model.tolerance
        return [max(floor, SPREAD_TIMES * e if math.isfinite(e) else 0) for e in self.errors("spread")]

    def failures(self) -> list[str]:
        """One line for each thing that is wrong. The default conversion is shown, not judged: float16 is
        what atc's default asks for."""
        found = [
            f"{step}: {answer['error']}"
            for step, answer in self.steps.items()
            if "error" in answer and not step.endswith("_default")
        ]
        for step in ("own", "inside"):
            for error, most in zip(self.errors(step), self.allowed(), strict=False):
                if not error <= most:
                    found.append(f"{step}: error {error:.1e}, allowed {most:.0e}")
                    break
        convert = self.steps.get("convert", {})
        if "peaks" in self.steps.get("reference", {}) and convert.get("peak", 0) > self.memory_limit:
            peak, limit = convert["peak"] / 1e6, self.memory_limit / 1e6
            found.append(f"convert: {peak:.0f} MB, allowed {limit:.0f} MB")
        inside = self.steps.get("inside", {})
        if inside.get("gave_up"):
            found.append(f"inside: {inside['gave_up']}")
        lost = [reason for reason in inside.get("reasons", ()) if "its group does not" in reason]
        found += [f"inside: {reason}" for reason in lost[:1]]
        slow = [f"{r.value:.2f}" for r in self.ratios if is_slower(r)]
        if slow:
            found.append(f"speed: {', '.join(slow)} of onnxruntime's")
        return found
