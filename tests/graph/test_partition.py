"""Partitions cover the graph, are convex and in order; for any graph and any claims."""

from __future__ import annotations

import onnx_ir as ir
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from ascend_ep.graph import Partition, connected_groups, load_model, partition
from ascend_ep.graph.partition import used_values


def chain_model(edges: list[list[int]]) -> ir.Model:
    """A node per entry, reading the outputs of the nodes listed (or the graph's input)."""
    x = ir.Value(name="x", type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape([2]))
    w = ir.Value(name="w", const_value=ir.tensor([1.0, 2.0], name="w"))
    nodes: list[ir.Node] = []
    for i, sources in enumerate(edges):
        inputs = [nodes[s].outputs[0] for s in sources] or [x]
        nodes.append(ir.Node("", "Sum", [*inputs, w], name=f"n{i}"))
        nodes[-1].outputs[0].name = f"v{i}"
    ends = [n.outputs[0] for n in nodes if not n.outputs[0].uses()]
    return ir.Model(ir.Graph([x], ends, nodes=nodes, initializers=[w], opset_imports={"": 17}), ir_version=10)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[list[int]], list[bool]]:
    count = draw(st.integers(1, 24))
    edges = [
        draw(st.lists(st.integers(0, i - 1), max_size=3, unique=True)) if i else [] for i in range(count)
    ]
    return edges, draw(st.lists(st.booleans(), min_size=count, max_size=count))


def check(model: ir.Model, parts: list[Partition], native: list[bool]) -> None:
    nodes = list(model.graph)
    owner = {node: p for p, part in enumerate(parts) for node in part.nodes}
    assert len(owner) == sum(len(p.nodes) for p in parts) == len(nodes), "every node is in one partition"
    for i, node in enumerate(nodes):
        part = parts[owner[node]]
        assert part.kind == ("native" if native[i] else "host")
        assert (node in part.reasons) == (not native[i])
        for value in used_values(node):
            producer = value.producer()
            if producer is not None:
                assert owner[producer] <= owner[node], "partitions run in order"
    # in order, and nothing of a partition before it: so no path leaves a partition and comes back
    position = {node: i for i, node in enumerate(nodes)}
    for part in parts:
        assert [position[n] for n in part.nodes] == sorted(position[n] for n in part.nodes)
    available = {v.name for v in model.graph.inputs}
    for p, part in enumerate(parts):
        assert {v.name for v in part.inputs} <= available
        needed = {v for n in part.nodes for v in used_values(n) if not v.is_initializer()}
        made = {v for n in part.nodes for v in n.outputs}
        assert set(part.inputs) == needed - made
        assert len(part.inputs) == len(set(part.inputs))
        wanted = {v for q in parts[p + 1 :] for v in q.inputs} | set(model.graph.outputs)
        assert set(part.outputs) == made & wanted
        available |= {v.name for v in part.outputs}


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_any_graph(case: tuple[list[list[int]], list[bool]]) -> None:
    edges, native = case
    model = chain_model(edges)
    places = {node: i for i, node in enumerate(model.graph)}

    def claim(node: ir.Node) -> str | None:
        return None if native[places[node]] else f"n{places[node]} is refused"

    parts = partition(model, claim)
    check(model, parts, native)
    assert [p.kind for p in parts[1:]] == [{"native": "host", "host": "native"}[p.kind] for p in parts[:-1]]
    groups = connected_groups(model, claim)
    check(model, groups, native)
    for group in groups:
        if group.kind == "native":
            assert_connected(group)
    again = partition(model, claim)
    assert [p.nodes for p in again] == [p.nodes for p in parts]


def assert_connected(group: Partition) -> None:
    members = set(group.nodes)
    reached, pending = set(), [group.nodes[0]]
    while pending:
        node = pending.pop()
        if node in reached:
            continue
        reached.add(node)
        near = [v.producer() for v in used_values(node)] + [n for v in node.outputs for n in v.consumers()]
        pending.extend(n for n in near if n in members)
    assert reached == members


def test_one_refused_node_in_the_middle() -> None:
    """a -> host -> c, with a side branch that needs no extra partition."""
    model = chain_model([[], [0], [1], [], [3, 2]])
    refused = model.graph[1]
    parts = partition(model, lambda n: "no kernel" if n is refused else None)
    assert [[n.name for n in p.nodes] for p in parts] == [["n0"], ["n1"], ["n2", "n3", "n4"]]
    assert parts[1].reasons == {refused: "no kernel"}
    assert [v.name for v in parts[2].inputs] == ["v1", "x"]


def test_all_native_is_one_partition() -> None:
    model = chain_model([[], [0], [], [1, 2]])
    (only,) = partition(model, lambda _: None)
    assert only.kind == "native"
    assert [v.name for v in only.outputs] == ["v3"]


def test_values_that_subgraphs_capture_are_edges() -> None:
    branch = helper.make_graph(
        [helper.make_node("Neg", ["a"], ["n"])], "b", [], [helper.make_tensor_value_info("n", 1, [2])]
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
    ]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", 1, [2])])
    model = load_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    parts = partition(model, lambda n: None if n.op_type == "Relu" else "control flow")
    assert [p.kind for p in parts] == ["native", "host"]
    assert [v.name for v in parts[0].outputs] == ["a"]
    assert {v.name for v in parts[1].inputs} == {"a", "c"}


def test_a_large_graph_with_regular_refusals() -> None:
    model = chain_model([[i - 1, max(i - 7, 0)] if i else [] for i in range(4000)])
    places = {node: i for i, node in enumerate(model.graph)}
    asked: list[ir.Node] = []

    def claim(node: ir.Node) -> str | None:
        asked.append(node)
        return "every fiftieth" if places[node] % 50 == 25 else None

    assert len(partition(model, claim)) == 2 * 80 + 1
    assert asked == list(model.graph), "every node is asked about once"
