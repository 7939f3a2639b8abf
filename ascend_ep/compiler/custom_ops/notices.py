"""What a conversion says of the definitions in force, beside its table of nodes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import onnx_ir as ir

from ascend_ep.compiler.semantics import Semantics
from ascend_ep.errors import AscendError
from ascend_ep.graph.facts import Facts
from ascend_ep.opdef.declared_types import spec_of_input
from ascend_ep.opdef.definition import OpDef, canonical_domain
from ascend_ep.opdef.dims import static
from ascend_ep.opdef.registry import Registry
from ascend_ep.opdef.stored_proof import check_proof

#: Files that are named one by one before the rest is counted.
SHOWN = 10

#: The ranks of tensors that have each of CANN's layouts, or that the device converts to it.
RANKS: dict[str, Sequence[int]] = {
    **dict.fromkeys(("NCL", "NLC"), (3,)),
    **dict.fromkeys(("NCHW", "NHWC", "HWCN", "CHWN"), (4,)),
    **dict.fromkeys(
        ("NC1HWC0", "NC1HWC0_C04", "NC1C0HWPAD", "FRACTAL_Z", "FRACTAL_Z_C04", "C1HWNC0"), (4, 5)
    ),
    **dict.fromkeys(("NCDHW", "NDHWC", "DHWCN", "DHWNC"), (5,)),
    **dict.fromkeys(("NDC1HWC0", "FRACTAL_Z_3D", "FRACTAL_Z_3D_TRANSPOSE"), (5, 6)),
    **dict.fromkeys(("FRACTAL_NZ", "FRACTAL_ZZ"), range(2, 9)),
}


def say_unused(registry: Registry) -> None:
    """Warns of each file in $ASCEND_CUSTOM_OPS that no operator is taken from. Raises what reading raises."""
    unused = registry.unused()
    for file in unused[:SHOWN]:
        _warn(file.text)
    if len(unused) > SHOWN:
        _warn(f"{len(unused) - SHOWN} more files there aren't used; `ascend-op list` names all")


def say_broken_proofs(registry: Registry, model: ir.Model) -> None:
    """Warns of each operator of the model whose stored proof isn't of what computes it any more."""
    for domain, op_type, version in operators(model):
        found = registry.resolve(domain, op_type, version)
        try:
            if found is not None and not found.opdef.standard:
                check_proof(found.definition)
        except AscendError as error:
            _warn(f"{error.code}: {error.text} {error.fix}")


def say_idle_keys(semantics: Semantics, model: ir.Model, facts: Facts) -> None:
    """Warns, once an operator, of what its definition says that changes nothing here."""
    said: set[tuple[str, str]] = set()
    for node in model.graph:
        opdef = semantics.definition(node)
        if opdef is None or opdef.standard or not opdef.origin:
            continue
        for remark in (*opdef.remarks, *_of_shapes(opdef, node, facts)):
            if (node.op_type, remark) not in said:
                said.add((node.op_type, remark))
                error = AscendError("E41015", node.op_type, remark, where=opdef.origin)
                _warn(f"{error.code} {error.where}: {error.text}")


def _of_shapes(opdef: OpDef, node: ir.Node, facts: Facts) -> Iterator[str]:
    """What is declared of shapes and layouts, and isn't so in the model."""
    tensors = [*((spec_of_input(opdef, i), v) for i, v in enumerate(node.inputs) if opdef.inputs)]
    for spec, value in (*tensors, *zip(opdef.outputs, node.outputs, strict=False)):
        dims = None if value is None else facts[value].dims
        if dims is None:
            continue
        if not spec.dynamic_shape and any(static(d) is None for d in dims):
            yield f"[{spec.name}] is declared without a dynamic shape, and is computed at any size"
        if spec.formats and not any(_may_have(len(dims), name) for name in spec.formats):
            names = ", ".join(dict.fromkeys(spec.formats))
            yield f"[{spec.name}] is declared as {names}, and is taken as it is, with {len(dims)} dimensions"


def _may_have(rank: int, layout: str) -> bool:
    """Whether a tensor of this rank can be in a layout, or be converted to it on the device."""
    return layout in ("ND", "") or rank in RANKS.get(layout, ())


def operators(model: ir.Model) -> list[tuple[str, str, int]]:
    """What nodes call, in subgraphs and the model's functions too: domain, type and opset version."""
    found: dict[tuple[str, str, int], None] = {}
    graphs: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    for graph in graphs:
        opsets = {canonical_domain(d): v for d, v in graph.opset_imports.items()}
        for node in ir.traversal.RecursiveGraphIterator(graph):
            domain = canonical_domain(node.domain)
            found[domain, node.op_type, node.version or opsets.get(domain, 1)] = None
    return list(found)


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=3)
