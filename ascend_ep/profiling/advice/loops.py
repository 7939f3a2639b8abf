"""Loops whose rounds are known beforehand, written out."""

from __future__ import annotations

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

MOST_ROUNDS, MOST_NODES = 64, 5000


def unroll_loops(model: ModelProto) -> int:
    """Writes out each Loop of a constant number of rounds, whose condition stays what it was, without scan
    outputs; returns how many."""
    graph = model.graph
    made: list[NodeProto] = []
    count = 0
    for node in graph.node:
        rounds = _rounds(graph, node) if node.op_type == "Loop" else 0
        if not rounds:
            made.append(node)
            continue
        made += _written_out(graph, node, rounds, f"unrolled{count}")
        count += 1
    if count:
        del graph.node[:]
        graph.node.extend(made)
        del graph.value_info[:]
    return count


def _constant(graph: GraphProto, name: str) -> TensorProto | None:
    tensors: dict[str, TensorProto] = {t.name: t for t in graph.initializer}
    if name in tensors:
        return tensors[name]
    for node in graph.node:
        if node.op_type == "Constant" and node.output[0] == name and node.attribute[0].name == "value":
            found: TensorProto = node.attribute[0].t
            return found
    return None


def _rounds(graph: GraphProto, node: NodeProto) -> int:
    """0 when the loop can't be written out."""
    body = next(a.g for a in node.attribute if a.name == "body")
    trips = _constant(graph, node.input[0]) if node.input[0] else None
    condition = node.input[1] if len(node.input) > 1 else ""
    begins = _constant(graph, condition) if condition else None
    if trips is None or (condition and (begins is None or not numpy_helper.to_array(begins).all())):
        return 0
    rounds = int(numpy_helper.to_array(trips).reshape(()))
    states = len(node.input) - 2
    keeps = (
        any(
            n.op_type == "Identity"
            and n.output[0] == body.output[0].name
            and n.input[0] == body.input[1].name
            for n in body.node
        )
        or body.output[0].name == body.input[1].name
    )
    fits = 0 < rounds <= MOST_ROUNDS and rounds * len(body.node) <= MOST_NODES
    has_graphs = any(a.HasField("g") for n in body.node for a in n.attribute)
    return rounds if keeps and fits and not has_graphs and len(body.output) == 1 + states else 0


def _written_out(graph: GraphProto, node: NodeProto, rounds: int, prefix: str) -> list[NodeProto]:
    body = next(a.g for a in node.attribute if a.name == "body")
    made: list[NodeProto] = []
    shared = {t.name: f"{prefix}/{t.name}" for t in body.initializer}
    for tensor in body.initializer:
        kept = graph.initializer.add()
        kept.CopyFrom(tensor)
        kept.name = shared[tensor.name]
    state = list(node.input[2:])
    for i in range(rounds):
        names = dict(shared)
        counter = f"{prefix}/{i}/number"
        graph.initializer.append(helper.make_tensor(counter, TensorProto.INT64, [], [i]))
        names[body.input[0].name] = counter
        names[body.input[1].name] = node.input[1] or counter
        names.update(zip((v.name for v in body.input[2:]), state, strict=True))
        for inner in body.node:
            copied = NodeProto()
            copied.CopyFrom(inner)
            names.update((o, f"{prefix}/{i}/{o}") for o in inner.output if o)
            copied.input[:] = [names.get(n, n) for n in inner.input]
            copied.output[:] = [names[o] if o else o for o in inner.output]
            copied.name = f"{prefix}/{i}/{inner.name or inner.output[0]}"
            made.append(copied)
        state = [names[v.name] for v in body.output[1:]]
    ends = zip(state, node.output, strict=True)
    return made + [helper.make_node("Identity", [a], [b]) for a, b in ends if b]
