"""The facts of a model between passes, inferred again only after something changed it."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

from ascend_ep.graph.agreements import Agreements
from ascend_ep.graph.facts import Fact, Facts
from ascend_ep.graph.infer import Registry, infer_facts


class KnownFacts:
    """For one model; whoever modifies it says so with `forget`. `given`: what is known of its inputs."""

    def __init__(self, registry: Registry | None, given: Mapping[str, Fact] | None = None) -> None:
        self.registry = registry
        self._given = given
        self._facts: Facts | None = None
        self._agreements: Agreements | None = None

    def of(self, model: ir.Model) -> Facts:
        if self._facts is None:
            self._facts = infer_facts(model, self.registry, self._given, self._agreements)
        return self._facts

    def forget(self) -> None:
        """Facts of values; what inputs must satisfy stays, though fused nodes may not show it any more."""
        if self._facts is not None:
            self._agreements = self._facts.agreements
        self._facts = None
