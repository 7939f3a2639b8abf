"""The ledger of a conversion: what each fusion rule met, and what became of it."""

from __future__ import annotations

from collections.abc import Collection
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
        self.outcomes: list[Outcome] = []

    def is_on(self, rule: Rule) -> bool:
        return rule.name not in self.off

    def weigh(self, rule: Rule, candidate: Candidate) -> bool:
        """Whether the candidate is fused, by the cost function alone."""
        return self._enter(rule, candidate, "")

    def refuse(self, rule: Rule, candidate: Candidate, reason: str) -> None:
        """Notes that the rule nearly matched: the reason is a sentence."""
        self._enter(rule, candidate, reason)

    def fresh(self) -> Ledger:
        """The same switches and budget, no outcomes."""
        return Ledger(self.off, self.budget)

    def _enter(self, rule: Rule, candidate: Candidate, reason: str) -> bool:
        found = assess(candidate, self.budget)
        operators = tuple(s.operator for s in candidate.steps)
        self.outcomes.append(Outcome(rule, candidate.place, operators, reason or found.against, found))
        return not (reason or found.against)
