"""The facts of a model between passes, inferred again only after something changed it."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

from ascend_ep.graph.facts import Fact, Facts
from ascend_ep.graph.shape_constraints import Constraints
from ascend_ep.graph.shape_inference import Registry, infer_facts


class KnownFacts:
    """For one model; whoever modifies it says so with `invalidate`. `given`: what is known of its inputs."""

    def __init__(self, registry: Registry | None, given: Mapping[str, Fact] | None = None) -> None:
        self.registry = registry
        self._given = given
        self._facts: Facts | None = None
        self._constraints: Constraints | None = None

    def of(self, model: ir.Model) -> Facts:
        if self._facts is None:
            self._facts = infer_facts(model, self.registry, self._given, self._constraints)
        return self._facts

    def invalidate(self) -> None:
        """Facts of values; what inputs must satisfy stays, though fused nodes may not show it any more."""
        if self._facts is not None:
            self._constraints = self._facts.constraints
        self._facts = None
