"""The ledger of a conversion: what each fusion rule met, and what became of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ascend_ep.graph.fusion.assessment import Assessment, Candidate, assess
from ascend_ep.opdef.fusion_rules import Rule


@dataclass(frozen=True)
class Outcome:
    """A place where a rule matched, or nearly so; `reason` says why it wasn't fused: "" when it was."""

    rule: Rule
    place: str
    operators: tuple[str, ...]
    reason: str
    assessment: Assessment

    @property
    def is_fused(self) -> bool:
        return not self.reason


class Ledger:
    """Decides on candidates and keeps the outcomes, in order.

    `off`: names of rules that aren't applied. `budget`: bytes of on-chip buffer per core; None: unlimited.
    """

    def __init__(self, off: Collection[str] = (), budget: int | None = None) -> None:
        self.off = frozenset(off)
        self.budget = budget
        self._entered: dict[int, Outcome] = {}

    @property
    def outcomes(self) -> list[Outcome]:
        return list(self._entered.values())

    def is_on(self, rule: Rule) -> bool:
        return rule.name not in self.off

    def weigh(self, rule: Rule, candidate: Candidate) -> bool:
        """Whether the candidate is fused, by the cost function alone."""
        return self._enter(rule, candidate, "").is_fused

    def weigh_grown(self, rule: Rule, candidate: Candidate, made_of: Sequence[Outcome]) -> Outcome:
        """Weighs a fusion of fusions as a whole: if it is fused, it is entered in the place of what it is
        made of."""
        found = self._enter(rule, candidate, "")
        if found.is_fused:
            for part in made_of:
                del self._entered[id(part)]
        return found

    def refuse(self, rule: Rule, candidate: Candidate, reason: str) -> None:
        """Notes that the rule nearly matched: the reason is a sentence."""
        self._enter(rule, candidate, reason)

    def decline(self, rule: Rule, candidate: Candidate, reason: str, otherwise: str) -> None:
        """Notes what nothing here fuses: why it wouldn't be, else `otherwise`."""
        self._enter(rule, candidate, reason or assess(candidate, self.budget).against or otherwise)

    def fresh(self) -> Ledger:
        """The same switches and budget, no outcomes."""
        return Ledger(self.off, self.budget)

    def _enter(self, rule: Rule, candidate: Candidate, reason: str) -> Outcome:
        found = assess(candidate, self.budget)
        operators = tuple(s.operator for s in candidate.steps)
        outcome = Outcome(rule, candidate.place, operators, reason or found.against, found)
        self._entered[id(outcome)] = outcome
        return outcome
