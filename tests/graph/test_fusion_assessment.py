"""The cost function of fusions: what it counts, what it refuses, and that fusers do as it says."""

from __future__ import annotations

import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

from ascend_ep.graph import load_model
from ascend_ep.graph.fusion import FUSIONS, fuse
from ascend_ep.graph.fusion.assessment import MOST, NOMINAL, SIMPLE, Candidate, Kind, Step, Tensor, assess
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.opdef.dims import Dim, symbol
from ascend_ep.opdef.fusion_rules import GRAPH, RULES, Rule

FLOAT = 1
node = helper.make_node


def tensor(*dims: Dim) -> Tensor:
    return Tensor(dims, FLOAT)


def chain(count: int, kind: Kind = Kind.ELEMENTWISE, *dims: Dim) -> Candidate:
    """Operators one behind the other on values of one shape."""
    values = [tensor(*dims) for _ in range(count + 1)]
    steps = tuple(Step(f"Op{i}", kind, (values[i],), (values[i + 1],)) for i in range(count))
    return Candidate("last", steps, (values[0],), (values[-1],))


def test_three_elementwise_operators_go_from_six_accesses_to_two() -> None:
    """Scale, ReLU and dropout."""
    found = assess(chain(3, Kind.ELEMENTWISE, 100, 8))
    assert (found.isolated, found.fused, found.saved) == (6 * 3200, 2 * 3200, 4 * 3200)
    assert (found.nodes, found.operators, found.quadrant, found.against) == (3, 3, "must", "")


def test_a_product_and_a_sum_halve_their_traffic() -> None:
    """The worked example: float32 [1024, 1024], 24 MB apart, 12 MB fused with the addend read beside it."""
    x, w, y, r, z = (tensor(1024, 1024) for _ in range(5))
    steps = (Step("MatMul", Kind.PRODUCT, (x, w), (y,)), Step("Add", Kind.ELEMENTWISE, (y, r), (z,)))
    found = assess(Candidate("add", steps, (x, w, r), (z,)), 196608)
    assert (found.isolated >> 20, found.fused >> 20) == (24, 16)
    assert not found.against


def test_products_in_a_chain_keep_whole_rows_on_the_chip_and_those_beside_each_other_none() -> None:
    x, v, w, gate, up, y = (tensor(1024, 1024) for _ in range(6))
    first, last = (
        Step("MatMul", Kind.PRODUCT, (x, v), (gate,)),
        Step("Mul", Kind.ELEMENTWISE, (gate, up), (y,)),
    )
    beside = (first, Step("MatMul", Kind.PRODUCT, (x, w), (up,)), last)
    chained = (first, Step("MatMul", Kind.PRODUCT, (gate, w), (up,)), last)
    assert not assess(Candidate("y", beside, (x, v, w), (y,)), 196608).against
    assert "on-chip" in assess(Candidate("y", chained, (x, v, w), (y,)), 196608).against


def two_products(m: int, k: int, n: int) -> Candidate:
    """[m, k] by [k, n], and that by [n, k]."""
    x, v, h, w, y = tensor(m, k), tensor(k, n), tensor(m, n), tensor(n, k), tensor(m, k)
    steps = (Step("MatMul", Kind.PRODUCT, (x, v), (h,)), Step("MatMul", Kind.PRODUCT, (h, w), (y,)))
    return Candidate("y", steps, (x, v, w), (y,))


@pytest.mark.parametrize(
    ("sizes", "quadrant", "reason"),
    [
        ((1024, 1024, 1024), "not worth it", "on-chip"),  # few rows of the value between fit at a time
        ((16, 64, 64), "not worth it", "complex"),
        ((1024, 16, 64), "challenge", ""),  # small weights, a large value between
    ],
)
def test_a_product_of_a_product(sizes: tuple[int, int, int], quadrant: str, reason: str) -> None:
    """Two heavy operators: weights are read again for the next rows that the chip holds."""
    found = assess(two_products(*sizes), 196608)
    assert found.quadrant == quadrant
    assert (reason in found.against) if reason else not found.against


def test_a_product_with_another_as_its_addend_is_none_of_a_product() -> None:
    x, v, w, h, y = (tensor(16, 64) for _ in range(5))
    steps = (Step("MatMul", Kind.PRODUCT, (x, v), (h,)), Step("MatMul", Kind.PRODUCT, (x, w, h), (y,)))
    assert assess(Candidate("y", steps, (x, v, w), (h, y)), 196608).quadrant in ("must", "optimise")


def test_attention_is_no_product_of_a_product() -> None:
    """Its softmax shares the rows out anew: what one kernel does is not called complex."""
    q, k, v, s, p, y = (
        tensor(64, 64),
        tensor(64, 64),
        tensor(64, 64),
        tensor(64, 64),
        tensor(64, 64),
        tensor(64, 64),
    )
    steps = (
        Step("MatMul", Kind.PRODUCT, (q, k), (s,)),
        Step("Softmax", Kind.ROWS, (s,), (p,)),
        Step("MatMul", Kind.PRODUCT, (p, v), (y,)),
    )
    assert assess(Candidate("y", steps, (q, k, v), (y,)), 196608).quadrant == "must"


def test_every_class_of_what_is_saved_and_how_complex_it_is() -> None:
    x, w, y, z = tensor(16, 64), tensor(64, 64), tensor(16, 64), tensor(16, 64)
    product = Step("MatMul", Kind.PRODUCT, (x, w), (y,)), Step("Relu", Kind.ELEMENTWISE, (y,), (z,))
    assert assess(Candidate("z", product, (x, w), (z,))).quadrant == "optimise"
    assert assess(chain(SIMPLE, Kind.ELEMENTWISE, 8)).quadrant == "must"
    assert assess(chain(SIMPLE + 1, Kind.ELEMENTWISE, 8)).quadrant == "challenge"
    assert assess(two_products(16, 64, 64)).quadrant == "not worth it"


def test_free_dims_count_and_views_do_not() -> None:
    n = symbol("n")
    assert assess(chain(1, Kind.ELEMENTWISE, n, 2)).isolated == 2 * NOMINAL * 2 * 4
    assert assess(chain(1, Kind.VIEW, 7)).isolated == 0


@pytest.mark.parametrize(
    ("value", "kind", "fits"),
    [
        ((4, 8), Kind.ELEMENTWISE, True),
        ((1, 8), Kind.ELEMENTWISE, True),
        ((8,), Kind.ELEMENTWISE, True),
        ((4, 1), Kind.ROWS, True),
        ((4, 5), Kind.ROWS, True),
        ((4, 5), Kind.ELEMENTWISE, False),
        ((5, 8), Kind.ROWS, False),
        ((2, 4, 8), Kind.ELEMENTWISE, False),
    ],
)
def test_values_share_the_loops_of_the_result(value: tuple[int, ...], kind: Kind, fits: bool) -> None:
    x, inner, y = tensor(4, 8), tensor(*value), tensor(4, 8)
    steps = (Step("A", kind, (x,), (inner,)), Step("B", Kind.ELEMENTWISE, (inner, x), (y,)))
    found = assess(Candidate("b", steps, (x,), (y,)))
    assert found.compatible == fits
    assert ("loops" in found.against) != fits


def test_a_row_beyond_the_buffer_is_read_once_more() -> None:
    wide = 1 << 16
    x, mean, y = tensor(4, wide), tensor(4, 1), tensor(4, wide)
    steps = (Step("Mean", Kind.ROWS, (x,), (mean,)), Step("Div", Kind.ELEMENTWISE, (x, mean), (y,)))
    row = Candidate("div", steps, (x,), (y,))
    assert assess(row).fused == 2 * x.bytes
    assert assess(row, 196608).fused == 3 * x.bytes
    assert assess(row, 196608).isolated == 3 * x.bytes + 2 * mean.bytes
    assert not assess(row, 196608).against


def test_limits() -> None:
    assert "on-chip" in assess(chain(2, Kind.ELEMENTWISE, 8), 256).against
    assert not assess(chain(SIMPLE + 1, Kind.ELEMENTWISE, 8)).against
    assert "operators" in assess(chain(MOST + 1, Kind.ELEMENTWISE, 8)).against
    assert "branches" in assess(chain(2, Kind.BRANCH, 8)).against
    x, y = tensor(8), tensor(8)
    alone = Candidate("a", (Step("A", Kind.ELEMENTWISE, (x,), (y,)),), (x,), (y,))
    assert "no traffic" in assess(alone).against


def test_a_ledger_keeps_what_it_decided() -> None:
    rule, ledger = Rule("SomeFusionPass", GRAPH, ""), Ledger(off=["OtherFusionPass"])
    assert ledger.is_on(rule)
    assert not ledger.is_on(Rule("OtherFusionPass", GRAPH, ""))
    assert ledger.weigh(rule, chain(2, Kind.ELEMENTWISE, 8))
    ledger.refuse(rule, chain(2, Kind.ELEMENTWISE, 8), "it is used elsewhere")
    assert [o.is_fused for o in ledger.outcomes] == [True, False]
    assert not ledger.fresh().outcomes


def test_what_grew_stands_in_the_place_of_what_it_grew_from() -> None:
    rule, ledger = Rule("SomeFusionPass", GRAPH, ""), Ledger()
    first = ledger.weigh_grown(rule, chain(2, Kind.ELEMENTWISE, 8), [])
    second = ledger.weigh_grown(rule, chain(MOST, Kind.ELEMENTWISE, 8), [first])
    ledger.weigh_grown(rule, chain(MOST + 1, Kind.ELEMENTWISE, 8), [second])
    assert [(o.assessment.nodes, o.is_fused) for o in ledger.outcomes] == [(MOST, True), (MOST + 1, False)]


def silu(width: int = 8) -> ir.Model:
    nodes = [node("Sigmoid", ["x"], ["s"]), node("Mul", ["x", "s"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", width])],
    )
    return load_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))


@pytest.mark.parametrize(
    ("ledger", "left"),
    [
        (Ledger(), ["SiLU"]),
        (Ledger(budget=196608), ["SiLU"]),
        (Ledger(budget=256), ["Sigmoid", "Mul"]),
        (Ledger(off=["SiLUFusionPass"]), ["Sigmoid", "Mul"]),
    ],
    ids=["unlimited", "910B", "no room", "off"],
)
def test_the_graph_is_fused_as_the_ledger_says(ledger: Ledger, left: list[str]) -> None:
    model = silu()
    fuse(model, ledger=ledger)
    assert [n.op_type for n in model.graph] == left
    assert len(ledger.outcomes) == ("SiLUFusionPass" not in ledger.off)


def test_every_rule_has_a_name_of_its_own() -> None:
    applied = [fusion.rule for fusion in FUSIONS]
    assert set(applied) == {rule for rule in RULES if rule.group == GRAPH}
    assert len(applied) == len(set(applied))
    assert len({rule.name for rule in RULES}) == len(RULES)
