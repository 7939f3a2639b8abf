"""The parts of an ATen graph that torch.onnx has translations for."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from ascend_ep.frameworks.torch import torchlib
from ascend_ep.frameworks.torch.gradient_operator import SUFFIX

#: Turns a part into what runs it; its second argument are the part's constants by position.
MakePart = Callable[[Any, Mapping[int, Any]], Callable[..., Any]]


def partitioned(
    graph: Any, constants: Mapping[int, Any], make: MakePart, left: dict[str, str]
) -> Callable[..., Any]:
    """The graph with its largest translatable parts made by `make`. `left` gets the other operators, with the
    reason. The graph itself stays as it is."""
    import torch
    from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
    from torch.fx.passes.operator_support import OperatorSupportBase

    class Support(OperatorSupportBase):
        def is_node_supported(self, submodules: Any, node: Any) -> bool:
            return node.op == "call_function" and _translates(node)

    if all(n.op != "call_function" or _translates(n) for n in graph.graph.nodes):
        return make(graph, constants)
    for node in graph.graph.nodes:
        picks = node.target is operator.getitem  # of the results of another that is named
        if node.op == "call_function" and not picks and not _translates(node):
            left.setdefault(str(node.target), "torch.onnx has no translation of it")
    copy = torch.fx.GraphModule(graph, _copied(graph.graph))
    places = [n.name for n in copy.graph.nodes if n.op == "placeholder"]
    fixed = {places[i]: value for i, value in constants.items()}
    partitioner = CapabilityBasedPartitioner(copy, Support(), allows_single_node_partition=True)
    fused = partitioner.fuse_partitions(partitioner.propose_partitions())
    for node in fused.graph.nodes:
        if node.op == "call_module":
            part = getattr(fused, node.target)
            inside = {i: fixed[a.name] for i, a in enumerate(node.args) if a.name in fixed}
            single = _is_single(part)
            setattr(fused, node.target, _called(make(_listed(part), inside), single))
    fused.recompile()
    return fused


def _called(run: Callable[..., Any], single: bool) -> Any:
    import torch

    class Part(torch.nn.Module):
        def forward(self, *arguments: Any) -> Any:
            results = run(*arguments)
            return results[0] if single else results

    return Part()


def _is_single(part: Any) -> bool:
    (results,) = part.graph.output_node().args
    return not isinstance(results, tuple | list)


def _listed(part: Any) -> Any:
    """The part with a tuple of results."""
    output = part.graph.output_node()
    (results,) = output.args
    if not isinstance(results, tuple | list):
        output.args = ((results,),)
        part.recompile()
    return part


def _copied(graph: Any) -> Any:
    import torch

    copy = torch.fx.Graph()
    known: dict[Any, Any] = {}
    result = copy.graph_copy(graph, known)
    copy.output(result)
    for old, new in known.items():
        new.meta = dict(old.meta)
    return copy


def _translates(node: Any) -> bool:
    import torch

    target = node.target
    if target is operator.getitem:
        return _translates(node.args[0])
    if not isinstance(target, torch._ops.OpOverload):
        return getattr(target, "__module__", "") in ("_operator", "math", "torch")
    if torch.Tag.nondeterministic_seeded in target.tags:
        return False  # PyTorch's generator decides
    value = node.meta.get("val")
    tensors = value if isinstance(value, tuple | list) else (value,)
    if any(isinstance(t, torch.Tensor) and (t.is_complex() or t.layout != torch.strided) for t in tensors):
        return False
    if target.namespace == "ascend_ep":
        return not str(target.name()).endswith(SUFFIX)  # type: ignore[no-untyped-call]
    return target.name() in torchlib.names()  # type: ignore[no-untyped-call]
