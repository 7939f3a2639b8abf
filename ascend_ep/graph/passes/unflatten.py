"""Products of flattened rows, as onnxruntime's optimiser leaves them.

    Reshape [.., K] to [M, K] -> Gemm -> Reshape to [.., N]     becomes     MatMul -> Add

so that what follows the product has its shape, and can become its epilogue.
"""

from __future__ import annotations

import onnx_ir as ir

from ascend_ep.graph.facts import Fact, Facts
from ascend_ep.graph.passes.known_facts import KnownFacts
from ascend_ep.graph.passes.rewire import attribute, bypass, is_standard, only_consumer


class UnflattenProducts(ir.passes.InPlacePass):
    """Does so where the Gemm has no other reader; facts stay known."""

    def __init__(self, facts: KnownFacts) -> None:
        self.facts = facts

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        facts = self.facts.of(model)
        last = [node for node in model.graph if is_standard(node, "Reshape")]
        count = sum(_unflatten(node, facts) for node in last)
        return ir.passes.PassResult(model, count > 0)


def _unflatten(last: ir.Node, facts: Facts) -> bool:
    """Puts the product and its bias in the place of the Gemm that `last` reshapes."""
    flat = last.inputs[0]
    gemm = None if flat is None else flat.producer()
    if flat is None or gemm is None or only_consumer(flat) is not last or not _is_plain(gemm):
        return False
    rows, weight, bias = (*gemm.inputs, None)[:3]
    first = None if rows is None else rows.producer()
    if rows is None or weight is None or first is None or not is_standard(first, "Reshape"):
        return False
    x = first.inputs[0]
    if x is None or not _keeps_rows(x, rows, flat, last.outputs[0], facts):
        return False
    if bias is not None and not _is_row(bias, last.outputs[0], facts):
        return False
    made = _insert(last, "MatMul", (x, weight), gemm.name, facts)
    if bias is not None:
        made.name = f"{last.outputs[0].name}.product"
        made = _insert(last, "Add", (made, bias), last.name, facts)
    made.name = f"{last.outputs[0].name}.rows"
    return bypass(last, made)


def _is_plain(node: ir.Node) -> bool:
    scales = attribute(node, "alpha", 1.0), attribute(node, "beta", 1.0)
    transposed = attribute(node, "transA", 0) or attribute(node, "transB", 0)
    return is_standard(node, "Gemm") and scales == (1.0, 1.0) and not transposed


def _keeps_rows(x: ir.Value, rows: ir.Value, flat: ir.Value, result: ir.Value, facts: Facts) -> bool:
    """Whether the rows of `x` are those of the Gemm, and the result has the leading dims of `x`."""
    given, before, after, wanted = (facts[v].dims for v in (x, rows, flat, result))
    if not given or not before or not after or not wanted:
        return False
    return given[-1] == before[-1] and wanted == (*given[:-1], after[-1])


def _is_row(bias: ir.Value, result: ir.Value, facts: Facts) -> bool:
    """Whether the bias is the same for every row, and has no more axes than the result."""
    dims, wanted = facts[bias].dims, facts[result].dims
    return (
        dims is not None
        and wanted is not None
        and len(dims) <= len(wanted)
        and all(d == 1 for d in dims[:-1])
    )


def _insert(
    place: ir.Node, op_type: str, operands: tuple[ir.Value, ir.Value], name: str | None, facts: Facts
) -> ir.Value:
    """A new node before `place`, whose result has the type and dims of that of `place`."""
    made = ir.node(op_type, operands, name=name)
    value, like = made.outputs[0], place.outputs[0]
    value.type, value.shape = like.type, like.shape
    facts[value] = Fact(facts[like].dtype, facts[like].dims)
    assert place.graph is not None
    place.graph.insert_before(place, made)
    return value
