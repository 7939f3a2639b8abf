"""SmoothQuant: what activations of a matrix product have of outliers in some channels goes to the weights.

    x W  =  (x / s) (s W),   s = max|x|^alpha / max|W|^(1 - alpha)   of each of K  (Xiao et al. 2022)

AMCT calls it DMQ, and alpha the migration strength. 1 / s goes into the LayerNormalization before, where that
has no other readers; else it is a product of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from ascend_ep.graph.passes.rewire import add_constant, is_standard

from .choice import Product
from .observe import Floats, Seen


def smooth(graph: ir.Graph, products: list[Product], seen: Mapping[str, Seen], strength: float) -> int:
    """Changes the graph in place; the number of activations that were smoothed."""
    groups: dict[ir.Value, list[Product]] = {}
    for product in products:
        if product.is_matrix:
            groups.setdefault(product.x, []).append(product)
    changed = 0
    for x, group in groups.items():
        factors = _factors(seen[str(x.name)].channels, group, strength)
        if factors is not None:
            _scale_weights(graph, group, factors)
            _divide(graph, x, group, factors)
            changed += 1
    return changed


def _factors(channels: Floats | None, group: list[Product], strength: float) -> Floats | None:
    """s, or None where there is nothing to gain: no outliers."""
    if channels is None or channels.max(initial=0) <= 4 * np.median(channels):
        return None
    weights = np.max([np.abs(_rows_first(p)).max(axis=1) for p in group], axis=0).astype(np.float64)
    if len(weights) != len(channels):
        return None
    usable = (channels > 0) & (weights > 0)
    s = np.ones(len(channels))
    s[usable] = channels[usable] ** strength / weights[usable] ** (1 - strength)
    s[usable] = np.clip(s[usable] / np.exp(np.mean(np.log(s[usable]))), 1e-3, 1e3)
    return s


def _rows_first(product: Product) -> NDArray[np.float32]:
    """The weights as [K, N]."""
    array = product.array()
    return array if product.axis == 1 else array.T


def _scale_weights(graph: ir.Graph, group: list[Product], factors: Floats) -> None:
    for product in group:
        spread = factors[:, None] if product.axis == 1 else factors[None, :]
        made = (product.array() * spread).astype(np.float32)
        product.node.replace_input_with(
            1, add_constant(graph, f"{product.weight.name}.smooth", ir.tensor(made))
        )


def _divide(graph: ir.Graph, x: ir.Value, group: list[Product], factors: Floats) -> None:
    inverse = (1 / factors).astype(np.float32)
    readers = {node for node, _ in x.uses()}
    norm = x.producer()
    alone = readers <= {p.node for p in group} and not x.is_graph_output()
    if (
        alone
        and norm is not None
        and is_standard(norm, "LayerNormalization")
        and _absorbed(graph, norm, inverse)
    ):
        return
    by = add_constant(graph, f"{x.name}.smooth", ir.tensor(inverse))
    node = ir.node("Mul", [x, by], num_outputs=1, name=f"{x.name}/smooth")
    made = node.outputs[0]
    made.name, made.type, made.shape = f"{x.name}/smooth", x.type, x.shape
    if norm is None:
        graph.insert_before(next(iter(graph)), node)
    else:
        graph.insert_after(norm, node)
    for product in group:
        product.node.replace_input_with(0, made)


def _absorbed(graph: ir.Graph, norm: ir.Node, inverse: NDArray[np.float32]) -> bool:
    """Whether the scale and bias of a norm took the factors."""
    tables = [v for v in norm.inputs[1:] if v is not None]
    if not tables or any(
        v.const_value is None or v.const_value.shape.numpy() != inverse.shape for v in tables
    ):
        return False
    for at, value in enumerate(norm.inputs):
        if at and value is not None and value.const_value is not None:
            made = (value.const_value.numpy() * inverse).astype(np.float32)
            norm.replace_input_with(at, add_constant(graph, f"{value.name}.smooth", ir.tensor(made)))
    return True
