"""Tree ensembles of ai.onnx.ml beside onnxruntime's CPU provider, in the own runtime and inside onnxruntime.

What ONNX's text leaves open is as the CPU provider has it: scores of two classes, base values, targets that
no leaf adds to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import ascend_ep
import ascend_ep.provider
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.graph.reference import reference_run

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
#: Not PROBIT: near 0 and 1 it magnifies the last bit.
POSTS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]
MEETING = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf]
LISTS = ["treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids"]


def forest(
    rng: np.random.Generator, kind: str, targets: int, trees: int = 6, depth: int = 4, columns: int = 3
) -> dict[str, Any]:
    """Attributes of a random ensemble; `kind`: target or class."""
    rows: list[list[Any]] = []
    leaves: list[tuple[int, int, int, float]] = []
    modes = [MODES, MODES[:1], MODES[1:2]][rng.integers(3)]
    style, low = rng.choice(["all", "tree", "one"]), rng.choice([0.0, -2.0])

    def grow(tree: int, start: int, left: int) -> int:
        place = len(rows)
        rows.append([tree, place - start, 0, "LEAF", 0.0, 0, 0])
        if left == 0 or rng.random() < 0.1:
            chosen = {"all": range(targets), "tree": [tree % targets], "one": [int(rng.integers(targets))]}
            leaves.extend((tree, place - start, t, float(rng.uniform(low, 2))) for t in chosen[style])
            return place - start
        value = float(rng.choice(MEETING) if rng.random() < 0.5 else rng.normal())
        children = grow(tree, start, left - 1), grow(tree, start, left - 1)
        rows[place][2:] = [int(rng.integers(columns)), str(rng.choice(modes)), value, *children]
        return place - start

    for tree in range(trees):
        grow(tree, len(rows), depth)
    made: dict[str, Any] = {
        f"nodes_{n}": list(c) for n, c in zip(LISTS, zip(*rows, strict=True), strict=True)
    }
    made |= {
        f"{kind}_{n}": list(c)
        for n, c in zip(["treeids", "nodeids", "ids", "weights"], zip(*leaves, strict=True), strict=True)
    }
    if rng.integers(2):
        made["nodes_missing_value_tracks_true"] = rng.integers(0, 2, len(rows)).tolist()
    return made


def model_of(
    op_type: str, attributes: Mapping[str, Any], element: int = TensorProto.FLOAT
) -> onnx.ModelProto:
    outputs = ["y", "z"] if op_type.endswith("Classifier") else ["y"]
    node = helper.make_node(op_type, ["x"], outputs, domain="ai.onnx.ml", **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", element, ["N", 3])],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def table(rng: np.random.Generator, rows: int, dtype: type) -> np.ndarray:
    x = (rng.normal(size=(rows, 3)) * 2).astype(dtype)
    meeting = rng.random(x.shape) < 0.3
    x[meeting] = rng.choice(np.array([*MEETING, np.nan], np.float32), meeting.sum()).astype(dtype)
    return x


ELEMENTS = {
    TensorProto.FLOAT: np.float32,
    TensorProto.DOUBLE: np.float64,
    TensorProto.INT64: np.int64,
}


def check(model: onnx.ModelProto, x: np.ndarray) -> None:
    source = model.SerializeToString()
    plain = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    wanted = plain.run(None, {"x": x})
    made = convert(model, ConvertOptions(passes=False, sample_seed=None, self_check=False))
    assert [row.target for row in made.partition_table] == ["AscendEP"]
    for true, want in zip(reference_run(model, {"x": x}).values(), wanted, strict=True):
        np.testing.assert_allclose(true, want, rtol=2e-5, atol=2e-6)  # float32 beside float64
    for got, want in zip(
        ascend_ep.InferenceSession(made.to_bytes()).run(None, {"x": x}), wanted, strict=True
    ):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(24))
def test_regressors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    targets = 1 + seed % 3
    attributes = forest(rng, "target", targets) | {"n_targets": targets, "post_transform": POSTS[seed % 4]}
    attributes["aggregate_function"] = ["SUM", "AVERAGE", "MIN", "MAX"][seed // 2 % 4]
    if seed % 5:
        attributes["base_values"] = rng.normal(size=targets).tolist()
    element = [TensorProto.FLOAT, TensorProto.DOUBLE][seed // 3 % 2]
    check(
        model_of("TreeEnsembleRegressor", attributes, element),
        table(rng, [1, 8, 21][seed % 3], ELEMENTS[element]),
    )


@pytest.mark.parametrize("seed", range(24))
def test_classifiers(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    classes = 2 + seed // 3 % 3
    attributes = forest(rng, "class", classes) | {"post_transform": POSTS[seed % 4]}
    attributes["classlabels_int64s"] = rng.permutation(10)[:classes].tolist()
    if seed % 3 == 0:
        attributes["base_values"] = rng.normal(size=classes).tolist()
    element = [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64][seed // 2 % 3]
    x = table(rng, [1, 8, 21][seed % 3], np.float64)
    x = np.nan_to_num(x, posinf=5, neginf=-5) if element == TensorProto.INT64 else x
    check(model_of("TreeEnsembleClassifier", attributes, element), x.astype(ELEMENTS[element]))


@pytest.mark.parametrize("weights", [[0.2, 0.3, 0.1, 0.6], [-0.2, 0.3, 0.1, -0.6]], ids=["positive", "mixed"])
@pytest.mark.parametrize("ids", [[0] * 4, [1] * 4, [0, 1, 0, 1]], ids=["first", "second", "either"])
def test_two_classes(ids: list[int], weights: list[float]) -> None:
    """One score for two classes: what the other is depends on signs, base values and the transform."""
    stump = {
        "nodes_treeids": [0, 0, 0, 1, 1, 1],
        "nodes_nodeids": [0, 1, 2] * 2,
        "nodes_featureids": [1, 0, 0, 0, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * 2,
        "nodes_values": [0.5, 0.0, 0.0, 0.1, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0] * 2,
        "nodes_falsenodeids": [2, 0, 0] * 2,
        "class_treeids": [0, 0, 1, 1],
        "class_nodeids": [1, 2, 1, 2],
        "class_ids": ids,
        "class_weights": weights,
        "classlabels_int64s": [4, 7],
    }
    x = np.array([[a, b, 0] for a in (0, 1) for b in (0, 1)], np.float32)
    undefined = ids == [0, 1, 0, 1]  # with one base value the CPU provider leaves a score as it finds it
    for base in ([], [0.3, -0.7], *([] if undefined else [[0.3]])):
        for post in POSTS[: 2 if base else 4]:
            given = stump | {"post_transform": post} | ({"base_values": base} if base else {})
            check(model_of("TreeEnsembleClassifier", given), x)


def test_inside_onnxruntime() -> None:
    rng = np.random.default_rng(5)
    attributes = forest(rng, "class", 3, trees=20) | {"classlabels_int64s": [5, 6, 8]}
    source = model_of("TreeEnsembleClassifier", attributes).SerializeToString()
    session = onnxruntime.InferenceSession(source, providers=["AscendEP", "CPUExecutionProvider"])
    assert not ascend_ep.provider.report(session).on_cpu
    plain = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    for rows in (0, 1, 50):
        x = table(rng, rows, np.float32)
        for got, want in zip(session.run(None, {"x": x}), plain.run(None, {"x": x}), strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6)


def test_what_the_cpu_provider_leaves_undefined_is_left_to_it() -> None:
    rng = np.random.default_rng(6)
    attributes = forest(rng, "target", 2) | {"n_targets": 2}
    attributes["target_ids"] = [0] * (len(attributes["target_ids"]) - 1) + [2]
    made = convert(
        model_of("TreeEnsembleRegressor", attributes), ConvertOptions(sample_seed=None, self_check=False)
    )
    (row,) = made.partition_table
    assert "outside the 2" in row.reason


def linked(rng: np.random.Generator, element: type, members: bool) -> dict[str, Any]:
    """Attributes of a TreeEnsemble of opset 5 over three columns: two targets, trees that share leaves."""
    trees, nodes = 4, 7  # a tree's: three levels
    columns = rng.integers(0, 3, trees * nodes).tolist()
    modes = rng.integers(0, 7 if members else 6, trees * nodes).astype(np.uint8)
    numbers = [
        [(tree * nodes + child) if child < nodes else child - nodes + 8 * (tree // 2) for child in pair]
        for tree in range(trees)
        for pair in ((2 * i + 1, 2 * i + 2) for i in range(nodes))
    ]
    in_leaf = [int(i >= 3) for _ in range(trees) for i in range(nodes)]
    # integers, which is all that onnxruntime takes
    lists = [[*rng.choice([0.0, 1.0, 2.0, 7.0], 2, replace=False), np.nan] for mode in modes if mode == 6]
    return {
        "tree_roots": [nodes * tree for tree in range(trees)],
        "nodes_featureids": columns,
        "nodes_modes": numpy_helper.from_array(modes),
        "nodes_splits": numpy_helper.from_array(rng.choice(MEETING, trees * nodes).astype(element)),
        "nodes_truenodeids": [pair[0] for pair in numbers],
        "nodes_falsenodeids": [pair[1] for pair in numbers],
        "nodes_trueleafs": in_leaf,
        "nodes_falseleafs": in_leaf,
        "leaf_targetids": rng.integers(0, 2, 16).tolist(),
        "leaf_weights": numpy_helper.from_array(rng.normal(size=16).astype(element)),
        "n_targets": 2,
    } | (
        {"membership_values": numpy_helper.from_array(np.concatenate(lists).astype(element))} if lists else {}
    )


@pytest.mark.parametrize("element", [TensorProto.FLOAT, TensorProto.DOUBLE])
@pytest.mark.parametrize("seed", range(8))
def test_branches_and_leaves_apart(seed: int, element: int) -> None:
    rng = np.random.default_rng(200 + seed)
    attributes = linked(rng, ELEMENTS[element], members=seed % 2 == 1)
    attributes |= {"aggregate_function": seed % 4, "post_transform": 3 * (seed // 2 % 2)}
    model = model_of("TreeEnsemble", attributes, element)
    model.opset_import[1].version = 5
    check(model, table(rng, 13, ELEMENTS[element]))
