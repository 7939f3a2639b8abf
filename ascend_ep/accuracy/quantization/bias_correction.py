"""The mean by which a product's result moves when it is quantised, for each output channel, leaves its bias.

Rounding of weights moves the mean of a channel, since activations have means themselves (Nagel et al. 2019).
The shift is measured over the samples that calibrate, with the float model's activations. What still comes
through the layers (noise before a Relu has a mean behind it) leaves the products that no other follows, by
the activations of the quantised model. What few samples leave to chance is shrunk: by its variance beside
that of the shifts of all channels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnx_ir as ir

from ascend_ep.graph.passes.rewire import add_constant, is_standard, only_consumer
from ascend_ep.opdef.registry import Registry

from .choice import Product
from .observe import Floats, Runner, Sample
from .own_errors import results_beside


class _Shift:
    """Sums over the units that tell of a channel's mean: samples, or rows where the result is a matrix."""

    def __init__(self) -> None:
        self._count = 0
        self._sum: Floats | float = 0.0
        self._squares: Floats | float = 0.0

    def extend(self, difference: Floats) -> None:
        """`difference`: a row for each unit, a column for each channel. Only finite rows count."""
        rows = difference[np.isfinite(difference).all(axis=1)]
        self._count += len(rows)
        self._sum = self._sum + rows.sum(axis=0)
        self._squares = self._squares + np.square(rows).sum(axis=0)

    def estimate(self) -> Floats | None:
        """The shift of each channel; None where one unit or none was seen."""
        if self._count < 2:
            return None
        mean = np.asarray(self._sum / self._count)
        spread = np.maximum(self._squares / self._count - np.square(mean), 0) / (self._count - 1)
        between = max(0.0, float(np.mean(np.square(mean) - spread)))
        kept = between / np.maximum(between + spread, np.finfo(np.float64).tiny)
        return np.asarray(mean * kept)


def own_shifts(
    float_model: onnx.ModelProto,
    cut: ir.Model,
    given: Mapping[str, str],
    products: Mapping[str, Product],
    samples: Sequence[Sample],
    registry: Registry | None,
) -> dict[str, Floats]:
    """Of each product, by its result, the shift of each channel. `cut`, `given`: of `cut_model`."""
    found = {result: _Shift() for result in products}
    for result, got, wanted in results_beside(float_model, cut, given, list(products), samples, registry):
        channel = -1 if products[result].is_matrix else 1
        found[result].extend(_means(got - wanted, channel))
    estimates = {result: shift.estimate() for result, shift in found.items()}
    return {result: shift for result, shift in estimates.items() if shift is not None}


def last_products(graph: ir.Graph, products: Mapping[str, Product]) -> list[str]:
    """The results of products on whose way to the outputs is no other."""
    behind: dict[ir.Node, bool] = {}  # whether a product follows
    inside = {product.node for product in products.values()}
    for node in reversed(graph):
        readers = [user for value in node.outputs for user, _ in value.uses()]
        behind[node] = any(user in inside or behind.get(user, True) for user in readers)
    return [result for result, product in products.items() if not behind[product.node]]


def shifts_at_the_end(
    float_model: onnx.ModelProto,
    model: onnx.ModelProto,
    products: Mapping[str, Product],
    samples: Sequence[Sample],
    registry: Registry | None,
) -> dict[str, Floats]:
    """Of each of these products, by its result, the shift of each channel in the whole quantised model."""
    found = {result: _Shift() for result in products}
    wanted, got = (Runner(proto, list(products), registry) for proto in (float_model, model))
    for sample in samples if products else ():
        before, now = wanted(sample), got(sample)
        for result, product in products.items():
            difference = np.asarray(now[result], np.float64) - np.asarray(before[result], np.float64)
            found[result].extend(_means(difference, -1 if product.is_matrix else 1))
    estimates = {result: shift.estimate() for result, shift in found.items()}
    return {result: shift for result, shift in estimates.items() if shift is not None}


def _means(difference: Floats, channel: int) -> Floats:
    """A row for each index of the first axis, or the only one; a column for each channel."""
    last = np.moveaxis(difference, channel, -1)
    if last.ndim < 2:
        last = last[None]
    return np.asarray(last.reshape(len(last), -1, last.shape[-1]).mean(axis=1))


def take_off(graph: ir.Graph, product: Product, shift: Floats) -> None:
    """Changes the constant that is added to a product's result: its bias, which it may get, or that of the
    Add behind a MatMul. A MatMul that nothing is added to stays as it is."""
    if product.node.op_type != "MatMul":
        name = f"{product.weight.name}.shift" if product.bias is None else f"{product.bias.name}.shift"
        before = None if product.bias is None else product.bias.const_value
        bias = 0.0 if before is None else before.numpy().astype(np.float64)
        moved = add_constant(graph, name, ir.tensor((bias - shift).astype(np.float32)))
        product.node.resize_inputs(max(3, len(product.node.inputs)))
        product.node.replace_input_with(2, moved)
        return
    reader = only_consumer(product.node.outputs[0])
    if reader is not None and is_standard(reader, "Cast"):  # a product of half floats
        reader = only_consumer(reader.outputs[0])
    if reader is None or not is_standard(reader, "Add"):
        return
    for at, value in enumerate(reader.inputs):
        tensor = None if value is None else value.const_value
        if value is None or tensor is None or tensor.shape.numpy()[-1:] != shift.shape:
            continue
        if tensor.size == shift.size:
            array = tensor.numpy()
            changed = ir.tensor((array.astype(np.float64) - shift).astype(array.dtype))
            reader.replace_input_with(at, add_constant(graph, f"{value.name}.shift", changed))
        return
