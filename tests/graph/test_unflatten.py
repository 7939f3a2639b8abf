"""Products of flattened rows become products of the tensor; what is known of a model outlives its passes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from simplified_models import build, node, ops, simplified

from ascend_ep.graph import load_model, run_passes
from ascend_ep.graph.passes.known_facts import KnownFacts
from ascend_ep.graph.shape_inference import infer_facts
from ascend_ep.opdef.registry import Registry

ROWS, COLUMNS = 6, 5


def flattened(
    target: tuple[int, ...] = (2, 3, COLUMNS),
    bias: tuple[int, ...] | None = (COLUMNS,),
    x: tuple[int, ...] = (2, 3, 4),
    **attributes: float,
) -> onnx.ModelProto:
    """x, [2, 3, 4] by default, times [4, 5] by way of [6, 4]."""
    random = np.random.default_rng(1)
    constants = {
        "w": random.standard_normal((4, COLUMNS)).astype(np.float32),
        "rows": np.array([-1, 4]),
        "back": np.array(target),
    }
    if bias is not None:
        constants["c"] = random.standard_normal(bias).astype(np.float32)
    operands = ["flat", "w", *(["c"] if bias is not None else [])]
    nodes = [
        node("Reshape", ["x", "rows"], ["flat"]),
        node("Gemm", operands, ["product"], name="gemm", **attributes),
        node("Reshape", ["product", "back"], ["y"], name="last"),
    ]
    return build(nodes, {"x": x}, ["y"], constants)


@pytest.mark.parametrize("bias", [None, (), (1,), (COLUMNS,), (1, COLUMNS)])
def test_a_product_of_flattened_rows(bias: tuple[int, ...] | None, registry: Registry) -> None:
    model = simplified(flattened(bias=bias), registry, x=(2, 3, 4))
    assert ops(model) == {"MatMul": 1} if bias is None else {"MatMul": 1, "Add": 1}
    assert [n.name for n in model.graph] == ["gemm", *([] if bias is None else ["last"])]
    assert model.graph.outputs[0].name == "y"


def test_a_vector_and_a_bias_of_two_axes(registry: Registry) -> None:
    """The sum of [5] and [1, 5] has an axis that the result hasn't."""
    vector = {"target": (COLUMNS,), "x": (4,)}
    kept = simplified(flattened(bias=(1, COLUMNS), **vector), registry, x=(4,))
    assert ops(kept) == {"Reshape": 2, "Gemm": 1}
    changed = simplified(flattened(bias=(COLUMNS,), **vector), registry, x=(4,))
    assert ops(changed) == {"MatMul": 1, "Add": 1}


def test_rows_of_free_length(registry: Registry) -> None:
    proto = flattened(target=(-1, 3, COLUMNS))
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    assert ops(simplified(proto, registry, x=(7, 3, 4))) == {"MatMul": 1, "Add": 1}


@pytest.mark.parametrize(
    ("target", "bias", "attributes"),
    [
        ((3, 2, COLUMNS), (COLUMNS,), {}),
        ((2, 3, COLUMNS), (ROWS, COLUMNS), {}),
        ((2, 3, COLUMNS), (COLUMNS,), {"alpha": 2.0}),
        ((2, 3, COLUMNS), (COLUMNS,), {"beta": 0.5}),
    ],
)
def test_what_stays_flat(
    target: tuple[int, ...], bias: tuple[int, ...], attributes: dict[str, float], registry: Registry
) -> None:
    """Other leading dims than the input's, a bias by row, a Gemm that scales."""
    model = simplified(flattened(target, bias, **attributes), registry, x=(2, 3, 4))
    assert ops(model) == {"Reshape": 2, "Gemm": 1}


def test_facts_are_known_after_the_passes(registry: Registry) -> None:
    """Passes that keep facts keep all that inferring them anew would find."""
    proto = flattened()
    proto.graph.output[0].name = "scaled"
    nodes = [
        node("Shape", ["y"], ["shape"]),
        node("Mul", ["shape", "two"], ["twice"]),
        node("Tile", ["half", "twice"], ["tiled"]),
        node("ReduceSum", ["tiled"], ["sum"], keepdims=0),
        node("Sigmoid", ["y"], ["gate"]),
        node("Mul", ["y", "gate"], ["swish"]),
        node("Mul", ["swish", "sum"], ["product of rows"]),
        node("Identity", ["product of rows"], ["scaled"]),
        node("Cast", ["x"], ["copied"], to=onnx.TensorProto.FLOAT),
        node("Ceil", ["fractions"], ["whole"]),
        node("Cast", ["whole"], ["repeats"], to=onnx.TensorProto.INT64),
        node("Tile", ["swish", "repeats"], ["wide"]),
    ]
    proto.graph.output.extend(onnx.helper.make_empty_tensor_value_info(n) for n in ("copied", "wide"))
    proto.graph.node.extend(nodes)
    constants = {
        "two": np.array(2),
        "half": np.full((1, 1, 1), 0.5, np.float32),
        "fractions": np.array([0.5, 0.5, 1.5], np.float32),
    }
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in constants.items())
    known = KnownFacts(registry)
    model = run_passes(load_model(proto), registry, facts=known)
    kept, anew = known.of(model), infer_facts(model, registry)
    assert "SiLU" in ops(model)
    for made in (v for n in model.graph for v in n.outputs):
        a, b = kept[made], anew[made]
        assert (a.dtype, a.dims, a.is_const) == (b.dtype, b.dims, b.is_const), made.name
