"""Model-local functions become their bodies, unless the operator has a definition of its own."""

from __future__ import annotations

import onnx
import onnx_ir as ir
from onnx_ir.passes import common

from ascend_ep.errors import AscendError
from ascend_ep.graph.shape_inference import Registry
from ascend_ep.graph.shapes.schema_types import find_schema


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

        _adopt_versions(model)
        try:
            modified = common.InlinePass(criteria=has_no_definition)(model).modified
        except (ir.passes.PreconditionError, ValueError, RuntimeError) as error:
            raise AscendError("E10041", model.graph.name or "the model", str(error)) from None
        return ir.passes.PassResult(model, modified)


def _adopt_versions(model: ir.Model) -> None:
    """Functions written for other versions of operator sets than the model's become of the model's, where
    every operator in them means the same there. Exporters mix them; onnxruntime takes them."""
    for function in model.functions.values():
        for domain, version in list(function.opset_imports.items()):
            wanted = model.opset_imports.get(domain, version)
            nodes = [n for n in ir.traversal.RecursiveGraphIterator(function) if n.domain == domain]
            if wanted != version and all(_means_the_same(n, version, wanted) for n in nodes):
                function.opset_imports[domain] = wanted


def _means_the_same(node: ir.Node, version: int, wanted: int) -> bool:
    """Whether a node of `version` says the same in `wanted`: all it has is there, with the same defaults."""
    old, new = (find_schema(node.domain, node.op_type, v) for v in (version, wanted))
    if old is None or new is None:
        return old is new  # an operator of nobody's schema, such as a function of the model
    if old.since_version == new.since_version:
        return True
    return (
        wanted > version
        and old.min_input == new.min_input
        and len(node.inputs) <= new.max_input
        and all(
            name in new.attributes and _default(old, name) == _default(new, name) for name in old.attributes
        )
        and not any(a.required for name, a in new.attributes.items() if name not in old.attributes)
    )


def _default(schema: onnx.defs.OpSchema, name: str) -> object:
    default: bytes = schema.attributes[name].default_value.SerializeToString()
    return schema.attributes[name].required, default
