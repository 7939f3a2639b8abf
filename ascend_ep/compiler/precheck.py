"""Every node of a model that would not convert, and why, without converting it: atc's --mode=3."""

from __future__ import annotations

from dataclasses import dataclass

import onnx_ir as ir

from ascend_ep.cann.soc import find_soc
from ascend_ep.cann.soc_limits import soc_limits
from ascend_ep.compiler.precision.precision import EXACT
from ascend_ep.errors import AscendError
from ascend_ep.graph.load import load_model
from ascend_ep.graph.naming import label
from ascend_ep.graph.shape_inference import infer_believing
from ascend_ep.opdef.definition import canonical_domain
from ascend_ep.opdef.registry import Registry

from .claims import Claims, host_runs
from .convert import declare
from .convert_options import ConvertOptions, Source
from .semantics import Semantics


@dataclass(frozen=True)
class Cause:
    """What is wrong with a node. `near`: what its operator may have been meant to be."""

    code: str
    message: str
    near: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """One node: `failures` prevent its conversion, `limits` are what the chip would say of it."""

    node: str
    op_type: str
    failures: tuple[Cause, ...] = ()
    limits: tuple[Cause, ...] = ()


def precheck(source: Source, options: ConvertOptions) -> list[Finding]:
    """A finding for every node of the main graph, in order.

    Raises the AscendError of a model that can't be loaded or whose shapes contradict each other.
    """
    model = load_model(source, base_dir=options.base_dir, memory=options.memory)
    registry = (options.registry or Registry.from_options()).beside(
        [(domain, name) for domain, name, _ in model.functions]
    )
    declare(model, options)
    facts = infer_believing(model, registry)
    semantics = Semantics(model, registry)
    claims = Claims(semantics, facts)
    limits: dict[str, list[Cause]] = {}
    if options.soc_version:
        soc = find_soc(options.soc_version)
        for found in soc_limits(model, facts, soc, options.precision, exact=options.precision in EXACT):
            text = AscendError("E41022", found.node, found.op_type, soc.name, found.reason).text
            limits.setdefault(found.node, []).append(Cause("E41022", text))
    return [
        Finding(
            label(node),
            node.op_type,
            tuple(_failures(node, claims, semantics)),
            tuple(limits.get(label(node), ())),
        )
        for node in model.graph
    ]


def _failures(node: ir.Node, claims: Claims, semantics: Semantics) -> list[Cause]:
    version = semantics.version(node)
    if host_runs(node, semantics):
        return []
    reason = claims(node)
    if reason is None:
        return []
    domain = canonical_domain(node.domain) or "ai.onnx"
    if semantics.definition(node) is None:
        text = AscendError("E19010", label(node), f"{domain}::{version}::{node.op_type}").text
        return [Cause("E19010", text, tuple(semantics.near_misses(node)))]
    return [Cause("E20001", f"{AscendError('E20001', label(node), node.op_type).text} {reason}.")]
