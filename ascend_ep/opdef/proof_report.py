"""The result of a proof: checks in three layers, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Layer = Literal["static", "numerical", "execution"]
LAYERS: tuple[Layer, ...] = ("static", "numerical", "execution")


@dataclass(frozen=True)
class Check:
    """One thing looked at. passed None: it couldn't be done here, and `detail` says why."""

    layer: Layer
    name: str
    passed: bool | None
    detail: str = ""

    def __str__(self) -> str:
        state = {True: "ok", False: "FAILED", None: "not done"}[self.passed]
        return f"{self.name}: {state}{', ' if self.detail else ''}{self.detail}"


@dataclass
class Report:
    """about: what was proven and with what (definition, sources, compiler, levels, chip)."""

    about: dict[str, Any] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """No check failed, and every layer has one that passed."""
        good = {c.layer for c in self.checks if c.passed}
        return good == set(LAYERS) and not self.failures()

    def failures(self, layer: Layer | None = None) -> list[Check]:
        return [c for c in self.checks if c.passed is False and layer in (None, c.layer)]

    def lines(self) -> list[str]:
        """For people: each layer with its checks."""
        found = []
        for layer in LAYERS:
            checks = [c for c in self.checks if c.layer == layer]
            good = sum(c.passed is True for c in checks)
            found.append(f"{layer}: {good} of {len(checks)} checks")
            found += [f"  {check}" for check in checks]
        return found

    def verdict(self) -> list[str]:
        """What it comes to: how near each element type is to float64, what was watched while it ran, and what
        couldn't be done."""
        good = [c for c in self.checks if c.passed]
        found = [f"right in {c.name}, beside float64: {c.detail}" for c in good if c.layer == "numerical"]
        watched = [c.name for c in good if c.layer == "execution"]
        if watched:
            found.append(f"it keeps to its memory, and gives the same everywhere: {'; '.join(watched)}")
        return found + [f"not checked: {c.name}, {c.detail}" for c in self.checks if c.passed is None]

    def to_json(self) -> dict[str, Any]:
        return {"proof": {"passed": self.passed, **self.about, "checks": [asdict(c) for c in self.checks]}}

    @classmethod
    def from_json(cls, value: object) -> Report:
        """The inverse of to_json. Raises ValueError for what isn't one."""
        proof = value.get("proof") if isinstance(value, Mapping) else None
        if not isinstance(proof, Mapping) or not isinstance(proof.get("checks"), Sequence):
            raise ValueError("it is no proof")
        about = {k: v for k, v in proof.items() if k not in ("passed", "checks")}
        try:
            return cls(about, [Check(**c) for c in proof["checks"]])
        except TypeError as error:
            raise ValueError(f"a check is malformed: {error}") from None
