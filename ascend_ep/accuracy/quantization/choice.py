"""What of a model is quantised: products with constant weights, and tensors that stay integers between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from ascend_ep.element_types import FLOAT32
from ascend_ep.errors import AscendError
from ascend_ep.graph.facts import Facts
from ascend_ep.graph.naming import label
from ascend_ep.graph.passes.rewire import attribute, is_standard, only_consumer

from .settings import Settings

PRODUCTS = ("Conv", "MatMul", "Gemm")
#: Operators whose result is quantised where all they read is.
CARRIED = ("Add", "Mul", "Concat", "AveragePool", "GlobalAveragePool")
#: Operators that give elements which they were given: the scale stays.
MOVEMENTS = ("MaxPool", "Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Slice")
#: Functions of an element, which a kernel computes as a table when they lie between integers.
FUNCTIONS = (
    *("Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Relu", "LeakyRelu", "Elu", "Clip", "Gelu", "Softplus"),
    *("Selu", "Celu", "Mish", "Erf", "Exp", "Neg", "Abs", "Sqrt"),
)


@dataclass(frozen=True, eq=False)
class Product:
    """A product of an activation and constant weights. `axis`: that of its output channels in the weights."""

    node: ir.Node
    axis: int

    @property
    def name(self) -> str:
        return label(self.node)

    @property
    def x(self) -> ir.Value:
        value = self.node.inputs[0]
        assert value is not None
        return value

    @property
    def weight(self) -> ir.Value:
        value = self.node.inputs[1]
        assert value is not None
        return value

    @property
    def bias(self) -> ir.Value | None:
        return self.node.inputs[2] if len(self.node.inputs) > 2 else None

    @property
    def is_matrix(self) -> bool:
        """Whether the weights are a matrix, whose other axis is K."""
        return self.node.op_type != "Conv"

    def array(self) -> NDArray[np.float32]:
        tensor = self.weight.const_value
        assert tensor is not None
        return np.asarray(tensor.numpy(), np.float32)


@dataclass(frozen=True)
class Refused:
    """A product that stays as it is."""

    name: str
    op_type: str
    reason: str


def choose(model: ir.Model, facts: Facts, settings: Settings) -> tuple[list[Product], list[Refused]]:
    """The products that are quantised, and those that aren't. Raises AscendError E10001 for layers to skip
    that the model doesn't have."""
    _check_skipped(model, settings)
    chosen: list[Product] = []
    refused: list[Refused] = []
    for node in model.graph:
        if not is_standard(node, *PRODUCTS, "ConvTranspose", "Einsum", "LSTM", "GRU", "RNN"):
            continue
        reason = _refusal(node, facts, settings)
        if reason:
            refused.append(Refused(label(node), node.op_type, reason))
            continue
        rows_first = node.op_type == "Gemm" and attribute(node, "transB", 0)
        chosen.append(Product(node, 0 if node.op_type == "Conv" or rows_first else 1))
    return chosen, refused


def _check_skipped(model: ir.Model, settings: Settings) -> None:
    names = {name for node in model.graph for name in (label(node), node.name)}
    types = {node.op_type for node in model.graph}
    given = (
        ("--skip_layers", settings.skip_layers, names),
        ("--skip_layer_types", settings.skip_layer_types, types),
    )
    for flag, skipped, known in given:
        if unknown := sorted(set(skipped) - known):
            what = "name" if flag == "--skip_layers" else "operator"
            raise AscendError("E10001", ", ".join(unknown), flag, f"No node of the model has this {what}.")


def _refusal(node: ir.Node, facts: Facts, settings: Settings) -> str:
    """Why a node isn't quantised; nothing if it is."""
    if label(node) in settings.skip_layers or (node.name or "") in settings.skip_layers:
        return "it is to stay in float"
    if node.op_type in settings.skip_layer_types:
        return f"{node.op_type} is to stay in float"
    if not is_standard(node, *PRODUCTS):
        return f"{node.op_type} has no quantised form"
    if settings.weight_bits == 4 and node.op_type == "Conv":
        return "weights of convolutions have no 4 bits"
    weight = node.inputs[1]
    if weight is None or weight.const_value is None or not weight.is_initializer():
        return "its weights are no constant"
    if facts[weight].dtype != FLOAT32:
        return "its weights are not float32"
    if node.op_type != "Conv" and facts[weight].rank != 2:
        return "its weights are no matrix"
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    if bias is not None and (bias.const_value is None or facts[bias].rank != 1):
        return "its bias is no constant row"
    plain = (attribute(node, "alpha", 1.0), attribute(node, "beta", 1.0), attribute(node, "transA", 0))
    if node.op_type == "Gemm" and plain != (1.0, 1.0, 0):
        return "its alpha, beta or transA is not ONNX's default"
    return ""


def quantised_values(graph: ir.Graph, products: list[Product]) -> dict[ir.Value, ir.Value]:
    """The activations that are quantised -> the one whose range they have, which is another behind movements.

    They are what products read; what convolutions give, behind their activation, to other operators that
    work on integers; and what these give where all that they read is quantised.
    """
    inside = {p.node for p in products}
    wanted = dict.fromkeys(p.x for p in products)
    found: dict[ir.Value, ir.Value] = {}

    def goes_on(value: ir.Value) -> bool:
        return any(
            node in inside
            or is_standard(node, *CARRIED, *MOVEMENTS)
            or (is_standard(node, *FUNCTIONS) and goes_on(node.outputs[0]))
            for node, _ in value.uses()
        )

    known: set[ir.Value] = set(wanted)
    for node in graph:
        carried = is_standard(node, *CARRIED) and all(_integers(v, known) for v in node.inputs)
        if carried or (node in inside and node.op_type == "Conv"):
            last = _behind_activation(node.outputs[0])
            if goes_on(last) or last in wanted:
                known.add(last)
        elif is_standard(node, *FUNCTIONS) and _integers(node.inputs[0], known):
            if goes_on(node.outputs[0]) and not _gates(node):
                known.add(node.outputs[0])
        elif is_standard(node, *MOVEMENTS) and node.inputs[0] in known and goes_on(node.outputs[0]):
            known.add(node.outputs[0])
    for value in _in_order(graph, known):
        source = _moved(value)
        found[value] = found[source] if source is not None and source in found else value
    return found


def _in_order(graph: ir.Graph, values: set[ir.Value]) -> Iterator[ir.Value]:
    yield from (v for v in graph.inputs if v in values)
    yield from (v for node in graph for v in node.outputs if v in values)


def _behind_activation(value: ir.Value) -> ir.Value:
    """The result of the Relu or Clip that alone reads `value`, or itself."""
    node = only_consumer(value)
    return node.outputs[0] if node is not None and is_standard(node, "Relu", "Clip") else value


def _integers(value: ir.Value | None, known: set[ir.Value]) -> bool:
    """Whether a value is quantised, or a function of the elements of one that is, or a constant."""
    while value is not None and value not in known and value.const_value is None:
        node = value.producer()
        if node is None or not is_standard(node, *FUNCTIONS):
            return False
        value = node.inputs[0]
    return True


def _gates(node: ir.Node) -> bool:
    """Whether a function only scales other elements, as in x * sigmoid(x), which is a function as a whole."""
    return all(is_standard(user, "Mul") for user, _ in node.outputs[0].uses())


def _moved(value: ir.Value) -> ir.Value | None:
    """What a movement made `value` of."""
    node = value.producer()
    return node.inputs[0] if node is not None and is_standard(node, *MOVEMENTS) else None
