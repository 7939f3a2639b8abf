"""What a conversion says of the definitions in force, beside its table of nodes."""

from __future__ import annotations

import warnings

import onnx_ir as ir

from ascend_ep.errors import AscendError
from ascend_ep.opdef.definition import canonical_domain
from ascend_ep.opdef.registry import Registry

from .stored_proof import check_proof

#: Files that are named one by one before the rest is counted.
SHOWN = 10


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
