"""A model while it is drawn: nodes over the values so far, each run at once in onnxruntime, which so decides
what is valid and what shapes and types the results have. A node that it refuses is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from model_fuzzing.draw import MICROSOFT, Array, Draw

OPSETS = (11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)
#: No value of a model has more elements.
LARGEST = 20_000


@dataclass
class Graph:
    """Values by name, with what they hold; nodes in order; constants; inputs of the main graph."""

    draw: Draw
    opset: int
    values: dict[str, Array] = field(default_factory=dict)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    #: the graph around a body; its values may be read
    outer: Graph | None = None
    #: of all graphs of a model
    count: list[int] = field(default_factory=lambda: [0])

    def name(self, what: str = "t") -> str:
        self.count[0] += 1
        return f"{what}{self.count[0]}"

    def known(self) -> dict[str, Array]:
        """Every value that may be read here."""
        return (self.outer.known() if self.outer else {}) | self.values | self.constants

    def constant(self, value: Any, dtype: Any = None) -> str:
        """An initializer; now and then one that holds the same and is there already."""
        array = np.asarray(value, dtype)
        if self.draw.chance(0.7):
            for name, other in self.constants.items():
                if other.dtype == array.dtype and np.array_equal(other, array) and other.shape == array.shape:
                    return name
        name = self.name("c")
        self.constants[name] = array
        return name

    def pick(self, fits: Callable[[Array], bool]) -> str | None:
        """A value that fits; the newest most of the time, so that chains grow."""
        found = [n for n, x in self.known().items() if fits(x)]
        if not found:
            return None
        place = min(int(self.draw.rng.exponential(3)), len(found) - 1)
        return found[-1 - place]

    def add(
        self, op_type: str, inputs: Sequence[str], outputs: int = 1, domain: str = "", **attributes: Any
    ) -> list[str] | None:
        """The names of the results; None where onnxruntime refuses the node."""
        names = [self.name() for _ in range(outputs)]
        given = list(inputs)
        while given and not given[-1]:
            given.pop()
        node = helper.make_node(op_type, given, names, self.name("n"), domain=domain, **attributes)
        results = run_node(node, self.known(), self.opset)
        if results is None or any(x.size > LARGEST for x in results):
            return None
        if not all(map(_moderate, results)):
            return None
        self.nodes.append(node)
        self.values |= dict(zip(names, results, strict=True))
        return names


def _moderate(x: Array) -> bool:
    """Whether the numbers keep their digits: products of what is huge tell nothing, and powers of integers
    are made in float64."""
    if x.dtype.kind in "iu":
        return bool((np.abs(x.astype(np.float64)) < 2**40).all())
    with np.errstate(invalid="ignore"):
        return x.dtype.kind != "f" or bool(np.isfinite(x).all() and np.abs(x).max(initial=0) < 1e4)


def run_node(node: onnx.NodeProto, known: dict[str, Array], opset: int) -> list[Array] | None:
    """What a node makes of values, in onnxruntime's CPU provider."""
    names = sorted(names_read(node) & known.keys())
    model = whole([node], {n: known[n] for n in names}, {}, list(node.output), opset)
    try:
        return [np.asarray(x) for x in session_of(model).run(None, {n: known[n] for n in names})]
    except Exception:  # onnxruntime's own are of several kinds
        return None


def names_read(node: onnx.NodeProto) -> set[str]:
    """What a node reads, and what its bodies read."""
    found = {n for n in node.input if n}
    for attribute in node.attribute:
        if attribute.HasField("g"):
            found |= {n for inner in attribute.g.node for n in names_read(inner)}
            found |= {o.name for o in attribute.g.output}
    return found


def session_of(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def described(name: str, x: Array, dims: Sequence[int | str] | None = None) -> onnx.ValueInfoProto:
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    return helper.make_tensor_value_info(name, kind, list(x.shape if dims is None else dims))


def whole(
    nodes: Sequence[onnx.NodeProto],
    inputs: dict[str, Array],
    constants: dict[str, Array],
    outputs: Sequence[str],
    opset: int,
    free: str = "none",
) -> onnx.ModelProto:
    """The model of these nodes; `free`: which sizes of inputs it leaves open, as a Case has it."""
    graph = helper.make_graph(
        nodes,
        "drawn",
        [described(n, x, [_dim(n, i, s, free) for i, s in enumerate(x.shape)]) for n, x in inputs.items()],
        [helper.make_empty_tensor_value_info(n) for n in outputs],
        [numpy_helper.from_array(x, n) for n, x in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8 if opset < 19 else 10)


def _dim(name: str, axis: int, size: int, free: str) -> int | str:
    if free == "none" or size == 1:
        return size
    return f"n{size}" if free == "shared" else f"{name}d{axis}"
