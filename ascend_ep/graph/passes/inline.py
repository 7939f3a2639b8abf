"""Model-local functions become their bodies, unless the operator has a definition of its own."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes import common

from ascend_ep.errors import AscendError
from ascend_ep.graph.infer import Registry


class InlineFunctions(ir.passes.InPlacePass):
    """Inlines calls of functions that `registry` doesn't define. AscendError E10041 for what can't be: a
    recursive one, one of another operator set, one that uses a value before it is made.
    """

    def __init__(self, registry: Registry | None) -> None:
        self.registry = registry

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        if not model.functions:
            return ir.passes.PassResult(model, False)

        def has_no_definition(function: ir.Function) -> bool:
            version = model.opset_imports.get(function.domain, 1)
            known = self.registry is not None and self.registry.resolve(
                function.domain, function.name, version
            )
            return not known

        try:
            modified = common.InlinePass(criteria=has_no_definition)(model).modified
        except (ir.passes.PreconditionError, ValueError, RuntimeError) as error:
            raise AscendError("E10041", model.graph.name or "the model", str(error)) from None
        return ir.passes.PassResult(model, modified)
