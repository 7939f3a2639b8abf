"""The facts of a model between passes, inferred again only after something changed it."""

from __future__ import annotations

import onnx_ir as ir

from ascend_ep.graph.facts import Facts
from ascend_ep.graph.infer import Registry, infer_facts


class KnownFacts:
    """For one model; whoever modifies it says so with `forget`."""

    def __init__(self, registry: Registry | None) -> None:
        self.registry = registry
        self._facts: Facts | None = None

    def of(self, model: ir.Model) -> Facts:
        if self._facts is None:
            self._facts = infer_facts(model, self.registry)
        return self._facts

    def forget(self) -> None:
        self._facts = None
