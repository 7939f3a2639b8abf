"""Cutting a graph into native and host partitions that run one after the other.

Every node gets a level: that of its producers, plus one wherever producer and consumer are of different
kinds. A level is one partition. Along any path levels only rise, so partitions are convex and in order by
construction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import onnx_ir as ir

from ascend_ep.graph.components import Components

Kind = Literal["native", "host"]

#: Why a node can't be native; None when it can.
Claim = Callable[[ir.Node], "str | None"]


@dataclass
class Partition:
    """Nodes (in topological order) that run together.

    `inputs`: values it needs from the model's inputs or other partitions, in order of first use;
    initializers are no inputs. `outputs`: values that others or the model need. `reasons`: per host node, why
    it can't be native.
    """

    kind: Kind
    nodes: list[ir.Node] = field(default_factory=list)
    inputs: list[ir.Value] = field(default_factory=list)
    outputs: list[ir.Value] = field(default_factory=list)
    reasons: dict[ir.Node, str] = field(default_factory=dict)


def used_values(node: ir.Node) -> Iterator[ir.Value]:
    """Values a node reads: its inputs, and what its subgraphs take from outside."""
    for value in node.inputs:
        if value is not None:
            yield value
    for attribute in node.attributes.values():
        for graph in _graphs(attribute):
            inside: set[ir.Value] = {*graph.inputs, *graph.initializers.values()}
            for inner in graph:
                inside.update(inner.outputs)
            for inner in graph:
                yield from (v for v in used_values(inner) if v not in inside)
            yield from (v for v in graph.outputs if v not in inside)


def _graphs(attribute: ir.Attr) -> Iterable[ir.Graph]:
    if attribute.type == ir.AttributeType.GRAPH:
        return (attribute.as_graph(),)
    return attribute.as_graphs() if attribute.type == ir.AttributeType.GRAPHS else ()


def partition(model: ir.Model, claim: Claim) -> list[Partition]:
    """The partitions of the main graph in execution order; every node is in exactly one.

    As few as levels allow: of starting with native or with host nodes, whichever gives fewer.
    """
    return _Partitioner(model.graph, claim).partitions(connected=False)


def connected_groups(model: ir.Model, claim: Claim) -> list[Partition]:
    """As `partition`, but native ones are weakly connected: an execution provider claims each as one."""
    return _Partitioner(model.graph, claim).partitions(connected=True)


class _Partitioner:
    def __init__(self, graph: ir.Graph, claim: Claim) -> None:
        self.graph = graph
        self.nodes = list(graph)
        self.index = {node: i for i, node in enumerate(self.nodes)}
        self.reasons = [claim(node) for node in self.nodes]
        self.native = [reason is None for reason in self.reasons]
        self.producers: list[list[int]] = []
        self.users: dict[ir.Value, set[int]] = {}
        self.consumers: list[list[int]] = [[] for _ in self.nodes]
        for i, node in enumerate(self.nodes):
            found: dict[int, None] = {}
            for value in used_values(node):
                self.users.setdefault(value, set()).add(i)
                producer = value.producer()
                if producer is not None and producer in self.index:
                    found[self.index[producer]] = None
            self.producers.append(list(found))
            for p in found:
                self.consumers[p].append(i)

    def partitions(self, connected: bool) -> list[Partition]:
        levels = min((self._levels(first) for first in (True, False)), key=lambda found: len(set(found)))
        groups: dict[tuple[int, int], list[int]] = {}
        component = self._components(levels) if connected else None
        for i, level in enumerate(levels):
            part = component[i] if component is not None and self.native[i] else 0
            groups.setdefault((level, part), []).append(i)
        result = []
        for key in sorted(groups):
            members = groups[key]
            kind: Kind = "native" if self.native[members[0]] else "host"
            nodes = [self.nodes[i] for i in members]
            reasons = {self.nodes[i]: reason for i in members if (reason := self.reasons[i]) is not None}
            result.append(Partition(kind, nodes, *self._boundary(nodes), reasons))
        return result

    def _levels(self, native_first: bool) -> list[int]:
        """Level per node; even levels hold the kind that comes first."""
        levels: list[int] = []
        for i, native in enumerate(self.native):
            level = 0 if native == native_first else 1
            for p in self.producers[i]:
                level = max(level, levels[p] + (self.native[p] != native))
            levels.append(level)
        for i in reversed(range(len(levels))):  # toward its consumers, when none shares its level
            bound = min(
                (levels[c] - (self.native[c] != self.native[i]) for c in self.consumers[i]), default=levels[i]
            )
            levels[i] = max(levels[i], bound)
        return levels

    def _components(self, levels: list[int]) -> list[int]:
        """The smallest node of the weakly connected component within the level, per node."""
        found = Components(len(levels))
        for i, producers in enumerate(self.producers):
            for p in producers:
                if levels[p] == levels[i]:
                    found.join(i, p)
        return [found.of(i) for i in range(len(levels))]

    def _boundary(self, nodes: list[ir.Node]) -> tuple[list[ir.Value], list[ir.Value]]:
        members = {self.index[node] for node in nodes}
        outside = set(self.graph.outputs)
        inputs: dict[ir.Value, None] = {}
        for node in nodes:
            for value in used_values(node):
                producer = value.producer()
                inside = producer is not None and self.index.get(producer) in members
                if not inside and not value.is_initializer():
                    inputs[value] = None
        outputs = [
            value
            for node in nodes
            for value in node.outputs
            if value in outside or not self.users.get(value, set()) <= members
        ]
        return list(inputs), outputs
