"""How many nodes a model has once its functions are written out, counted without writing them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import onnx

#: domain, name and overload of a function
Key = tuple[str, str, str]


def written_out_nodes(model: onnx.ModelProto) -> int | None:
    """The nodes of the graph, subgraphs included, where every call counts as its function's nodes.

    None when a function calls itself, by however many others.
    """
    bodies = {(f.domain, f.name, f.overload): _count(f.node) for f in model.functions}
    sizes: dict[Key, int] = {}
    waiting = list(bodies)
    open_calls: set[Key] = set()
    while waiting:
        key = waiting[-1]
        missing = [callee for callee in bodies[key] if callee in bodies and callee not in sizes]
        if key in sizes or not missing:
            sizes.setdefault(key, _size(bodies[key], sizes))
            open_calls.discard(key)
            waiting.pop()
        elif key in open_calls:
            return None
        else:
            open_calls.add(key)
            waiting += missing
    return _size(_count(model.graph.node), sizes)


def _size(calls: Counter[Key], sizes: dict[Key, int]) -> int:
    return sum(count * sizes.get(key, 1) for key, count in calls.items())


def _count(nodes: Iterable[onnx.NodeProto]) -> Counter[Key]:
    """How often each operator occurs, in subgraphs too."""
    found: Counter[Key] = Counter()
    waiting = [nodes]
    while waiting:
        for node in waiting.pop():
            found[node.domain, node.op_type, node.overload] += 1
            for attribute in node.attribute:
                waiting += [g.node for g in (attribute.g, *attribute.graphs) if g.node]
    return found
