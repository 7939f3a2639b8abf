"""From a definition to the lowering that implements it, and from a graph node to what a lowering sees."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

import onnx.defs
import onnx_ir as ir

from ascend_ep.compiler.custom_ops.library_shapes import infer_library
from ascend_ep.compiler.custom_ops.native_op import lower_library
from ascend_ep.errors import AscendError, nearest
from ascend_ep.graph.facts import Fact, Facts
from ascend_ep.graph.naming import label
from ascend_ep.graph.shapes.schema_types import find_schema
from ascend_ep.opdef.definition import Formula, Kernel, Library, OpDef, Source, canonical_domain, is_legacy
from ascend_ep.opdef.output_types import set_library_inference
from ascend_ep.opdef.registry import Registry

from .half_types import has_half_types
from .lower import lowering
from .lowering import Lowering, NodeView, Operand, PlanBuilder, Unsupported

#: of operators whose weights lie in blocks as wide as the vectors of the CPU that saved the model
_NCHWC = "com.microsoft.nchwc"

_TYPE_NAMES = {
    ir.AttributeType.INT: "int",
    ir.AttributeType.FLOAT: "float",
    ir.AttributeType.STRING: "string",
    ir.AttributeType.INTS: "ints",
    ir.AttributeType.FLOATS: "floats",
    ir.AttributeType.STRINGS: "strings",
}

set_library_inference(infer_library)

#: The lowering of every definition whose semantics are a formula.
FORMULA = "formula"

#: The lowering of ONNX's operators without a definition here, but with a function body of ONNX's.
FUNCTION_BODY = "function_body"


class Semantics:
    """Answers, for the nodes of one model, which definition they mean and how it is lowered."""

    def __init__(self, model: ir.Model, registry: Registry) -> None:
        self._opsets = {canonical_domain(d): v for d, v in model.opset_imports.items()}
        self._registry = registry
        self.functions = model.functions
        self._origins: dict[tuple[str, str, int], str] = {}
        self._near: dict[tuple[str, str, int], list[str]] = {}
        self._views: dict[ir.Node, tuple[Facts, Lowering, NodeView]] = {}

    def version(self, node: ir.Node) -> int:
        """The opset version in force for a node's domain."""
        return node.version or self._opsets.get(canonical_domain(node.domain), 1)

    def definition(self, node: ir.Node) -> OpDef | None:
        """The definition that a node means, or None.

        A built-in custom operator doesn't replace an ONNX operator of the same name.
        """
        found = self._registry.resolve(node.domain, node.op_type, self.version(node))
        if found is None:
            return None
        shadows = not found.opdef.standard and found.source.startswith("built-in")
        if shadows and is_onnx_operator(node, self.version(node)):
            return None
        return found.opdef

    def origin(self, node: ir.Node) -> str:
        """Where the definition of a node was found, in words, and what it is used instead of; "" for ONNX's
        own operators."""
        key = (canonical_domain(node.domain), node.op_type, self.version(node))
        if key not in self._origins:
            self._origins[key] = self._origin(node, *key)
        return self._origins[key]

    def _origin(self, node: ir.Node, domain: str, op_type: str, version: int) -> str:
        opdef = self.definition(node)
        found = self._registry.resolve(domain, op_type, version)
        if opdef is None or opdef.standard or found is None:
            return ""
        others = [place for place, _ in self.shadowed(node)]
        return f"{found.source}, not by {' or '.join(others)}" if others else found.source

    def shadowed(self, node: ir.Node) -> list[tuple[str, OpDef]]:
        """What a node would mean without its definition: see Registry.shadowed."""
        return self._registry.shadowed(canonical_domain(node.domain), node.op_type, self.version(node))

    def near_misses(self, node: ir.Node) -> list[str]:
        """What an operator that nobody defines may have been meant to be: the same at another opset version,
        or in another domain, then similar names."""
        key = (canonical_domain(node.domain), node.op_type, self.version(node))
        if key not in self._near:
            self._near[key] = self._near_misses(*key)
        return self._near[key]

    def _near_misses(self, domain: str, op_type: str, version: int) -> list[str]:
        found = self._registry.near_misses(domain, op_type, version)
        schemas = [s for s in onnx.defs.get_all_schemas_with_history() if canonical_domain(s.domain) == ""]
        since = min((s.since_version for s in schemas if s.name == op_type), default=0)
        if since > version and domain == "":
            found.insert(0, f"ai.onnx::{op_type} since opset {since}; the model imports {version}")
        elif since and domain:
            found.insert(0, f"ai.onnx::{op_type}; the node's domain is {domain}")
        elif not found:
            found += [f"ai.onnx::{name}" for name in nearest(op_type, {s.name for s in schemas})]
        return list(dict.fromkeys(found))

    def lowering(self, node: ir.Node) -> tuple[Lowering, OpDef | None]:
        """How to lower a node. Raises Unsupported when nothing native implements it."""
        opdef = self.definition(node)
        if opdef is None:
            body = lowering(FUNCTION_BODY) if has_function_body(node, self.version(node)) else None
            if body is None:
                raise Unsupported("no definition gives it a native kernel")
            return body, None
        if isinstance(opdef.semantics, Library | Source):
            return lower_library, opdef
        name = FORMULA if isinstance(opdef.semantics, Formula) else ""
        if isinstance(opdef.semantics, Kernel):
            name = opdef.semantics.name
        found = lowering(name)
        if found is None:
            raise Unsupported(f"its definition asks for the kernel {name!r}, which this build doesn't have")
        body = lowering(FUNCTION_BODY) if has_function_body(node, self.version(node)) else None
        return (found if body is None or not opdef.standard else _or_body(found, body)), opdef

    def lowered_view(self, node: ir.Node, facts: Facts) -> tuple[Lowering, NodeView]:
        """Both for a graph that no longer changes; found once a node, however often it is lowered."""
        found = self._views.get(node)
        if found is None or found[0] is not facts:
            function, opdef = self.lowering(node)
            found = self._views[node] = facts, function, self.view(node, facts, opdef)
        return found[1], found[2]

    def view(self, node: ir.Node, facts: Facts, opdef: OpDef | None = None) -> NodeView:
        """A node as lowerings see it. Raises Unsupported for values whose type or rank is unknown."""
        attributes = {} if opdef is None or opdef.standard else _defaults(opdef)
        attributes |= {name: _attribute(node, a) for name, a in node.attributes.items()}
        return NodeView(
            node.op_type,
            [None if v is None else operand(v, facts[v]) for v in node.inputs],
            [operand(v, facts[v]) if v.name else None for v in node.outputs],
            attributes,
            canonical_domain(node.domain),
            self.version(node),
            node.name or "",
            opdef,
        )


def operand(value: ir.Value, fact: Fact) -> Operand:
    """A value with its fact. Raises Unsupported when it is no tensor of known type and rank."""
    if not fact.dtype:
        raise Unsupported(f"the type of {value.name!r} is unknown, or it is no tensor")
    if fact.dims is None:
        raise Unsupported(f"the rank of {value.name!r} is unknown")
    constant = (fact.tensor or fact.const) if fact.is_const else None
    return Operand(value.name or "", fact.dtype, fact.dims, constant, fact.shape_value)


def is_onnx_operator(node: ir.Node, version: int) -> bool:
    """Whether ONNX itself, or onnxruntime in its name, has this operator at this opset version."""
    key = (canonical_domain(node.domain), node.op_type, version)
    return find_schema(key[0], key[1], version) is not None or is_legacy(*key)


def _or_body(function: Lowering, body: Lowering) -> Lowering:
    """A lowering that turns to ONNX's function body where the operator's own can't: other types, rare
    attributes. Not for half types, which are computed in float32 first."""

    def lower(node: NodeView, b: PlanBuilder) -> None:
        reason = b.attempt(node, function)
        if reason is not None and (has_half_types(node) or b.attempt(node, body) is not None):
            raise reason

    return lower


def has_function_body(node: ir.Node, version: int) -> bool:
    """Whether ONNX defines the operator by a function body."""
    try:
        schema: Any = onnx.defs.get_schema(node.op_type, version, canonical_domain(node.domain))
    except onnx.defs.SchemaError:
        return False
    return bool(schema.has_function or schema.has_context_dependent_function)


def _defaults(opdef: OpDef) -> dict[str, Any]:
    return {a.name: a.default for a in opdef.attributes if a.default is not None}


def _attribute(node: ir.Node, attribute: ir.Attr) -> Any:
    kind = attribute.type
    if attribute.is_ref() or kind in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS):
        raise Unsupported(f"its attribute {attribute.name!r} is a graph or a reference")
    if kind == ir.AttributeType.TENSOR:
        return attribute.value.numpy()
    if kind in (ir.AttributeType.INTS, ir.AttributeType.FLOATS, ir.AttributeType.STRINGS):
        return list(attribute.value)
    if kind in (ir.AttributeType.INT, ir.AttributeType.FLOAT, ir.AttributeType.STRING):
        return attribute.value
    raise Unsupported(f"its attribute {attribute.name!r} is of type {kind.name}")


def definition_stub(node: ir.Node) -> dict[str, Any]:
    """A definition of a node's operator that lacks nothing but the meaning."""
    found: dict[str, Any] = {"op": node.op_type}
    if canonical_domain(node.domain):
        found["domain"] = node.domain
    found["inputs"] = [{"name": f"x{i}", "type": "float32"} for i in range(len(node.inputs))]
    found["outputs"] = [{"name": f"y{i}", "type": "float32"} for i in range(len(node.outputs))]
    attributes = [(name, _TYPE_NAMES.get(a.type)) for name, a in node.attributes.items()]
    if attributes:
        found["attributes"] = [{"name": name, "type": kind} for name, kind in attributes if kind]
    found["formula"] = (
        "; ".join(f"y{i} = ?" for i in range(len(node.outputs))) if len(node.outputs) > 1 else "?"
    )
    return found


def undefined(
    nodes: Mapping[ir.Node, list[str]],
    where: str,
    opsets: Mapping[ir.Node, int],
    option: str = "--custom_op_info={file}",
) -> AscendError:
    """The error of operators that nobody defines: all at once, each with what it may have been meant to be
    and a definition to fill in, which `option` then gives."""
    details = []
    kinds: dict[tuple[str, str], list[ir.Node]] = {}
    for node in nodes:
        kinds.setdefault((canonical_domain(node.domain), node.op_type), []).append(node)
    for (domain, op_type), users in kinds.items():
        full = f"{domain or 'ai.onnx'}::{opsets[users[0]]}::{op_type}"
        near = nodes[users[0]]
        names = ", ".join(label(n) for n in users[:3]) + (
            f" and {len(users) - 3} more" if len(users) > 3 else ""
        )
        details.append(f"No parser is registered for Op [{names}, optype [{full}]].")
        if domain == _NCHWC:
            details.append("  onnxruntime's level ORT_ENABLE_ALL wrote it for the vectors of one CPU:")
            details.append("  give the model from before, or save it again at ORT_ENABLE_EXTENDED")
            continue
        if near:
            details.append(f"  near it: {', '.join(near[:3])}")
        stub = shlex.quote(json.dumps(definition_stub(users[0])))
        file = f"{re.sub('[^A-Za-z0-9_]', '_', op_type)}.json"
        given = option.format(file=file)
        details.append(f"  to define it, complete this file's formula and give {given}:")
        details.append(f"  echo {stub} > {file}")
    first = next(iter(nodes))
    full = f"{canonical_domain(first.domain) or 'ai.onnx'}::{opsets[first]}::{first.op_type}"
    named = [(label(n), n.op_type) for n in nodes]
    fix = None if option.startswith("--") else f"Describe the operator: {option.format(file='FILE')}"
    if all(domain == _NCHWC for domain, _ in kinds):
        fix = "Convert the model from before onnxruntime's level ORT_ENABLE_ALL."
    return AscendError("E19010", label(first), full, where=where, fix=fix, details=details, nodes=named)
