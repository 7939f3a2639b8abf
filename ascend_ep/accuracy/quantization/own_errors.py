"""The error that each quantised product makes by itself: it reads the float model's activations.

The quantised model is cut: each QuantizeLinear of an activation reads an input of the model instead, and the
products' results are its outputs. One conversion and a few runs measure all products.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import onnx
import onnx_ir as ir
from onnx_ir.passes import common

from ascend_ep.graph.passes.rewire import is_standard
from ascend_ep.opdef.registry import Registry

from .choice import PRODUCTS
from .observe import Floats, Runner, Sample, session_of

_GIVEN = "/given"


def cut_model(model: ir.Model, results: Collection[str]) -> dict[str, str]:
    """Cuts in place; of each input that comes of it, the name of the activation that it stands for.
    `results`: the products' results, which become the outputs."""
    graph = model.graph
    given: dict[str, str] = {}
    known: dict[str, ir.Value] = {}
    for node in list(graph):
        reads = is_standard(node, "QuantizeLinear") or (
            is_standard(node, *PRODUCTS) and node.outputs[0].name in results
        )
        x = node.inputs[0]
        if not reads or x is None or x.is_graph_input() or not x.name:
            continue
        producer = x.producer()
        if producer is not None and is_standard(producer, "DequantizeLinear"):
            continue
        name = f"{x.name}{_GIVEN}"
        if name not in known:
            known[name] = ir.Value(name=name, shape=x.shape, type=ir.TensorType(ir.DataType.FLOAT))
            graph.inputs.append(known[name])
            given[name] = str(x.name)
        node.replace_input_with(0, known[name])
    graph.outputs.clear()
    for node in graph:
        if is_standard(node, *PRODUCTS) and node.outputs[0].name in results:
            graph.outputs.append(node.outputs[0])
    common.RemoveUnusedNodesPass()(model)
    for value in list(graph.inputs):
        if value.name in given and not value.uses():
            graph.inputs.remove(value)
            del given[str(value.name)]
    return given


def results_beside(
    float_model: onnx.ModelProto,
    cut: ir.Model,
    given: Mapping[str, str],
    results: Sequence[str],
    samples: Sequence[Sample],
    registry: Registry | None,
) -> Iterator[tuple[str, Floats, Floats]]:
    """Each result of each sample: its name, what `cut` computes, and what the float model does."""
    if not results:
        return
    run = Runner(float_model, [*given.values(), *results], registry)
    session = session_of(ir.to_proto(cut), registry)
    inputs = {arg.name for arg in session.session.get_inputs()}
    for sample in samples:
        values = run(sample)
        feeds = {name: values[source] for name, source in given.items()}
        feeds |= {name: np.asarray(a) for name, a in sample.items() if name in inputs}
        for name, got in zip(results, session.run(list(results), feeds), strict=True):
            yield name, np.asarray(got, np.float64), np.asarray(values[name], np.float64)


def own_errors(
    float_model: onnx.ModelProto,
    cut: ir.Model,
    given: Mapping[str, str],
    results: Sequence[str],
    samples: Sequence[Sample],
    registry: Registry | None,
) -> dict[str, float]:
    """Of each result, the root mean square of its error over that of the result."""
    errors = dict.fromkeys(results, 0.0)
    norms = dict.fromkeys(results, 0.0)
    for name, got, wanted in results_beside(float_model, cut, given, results, samples, registry):
        errors[name] += float(np.square(got - wanted).sum())
        norms[name] += float(np.square(wanted).sum())
    return {name: float(np.sqrt(errors[name] / norms[name])) if norms[name] else 0.0 for name in results}
