"""Shapes of the operators of ai.onnx.ml for which ONNX has no inference: rows in, rows out.

What follows them is ours only where shapes are known.
"""

from __future__ import annotations

import onnx

from ascend_ep.graph.facts import Fact
from ascend_ep.graph.shapes.rule import Call, Rule, UnknownShape
from ascend_ep.opdef.dims import Dim, product

FLOAT, INT64, STRING = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.STRING


def _rows(call: Call) -> Dim:
    """How many rows the input has; a vector is one."""
    dims = call.dims(0)
    if len(dims) not in (1, 2):
        raise UnknownShape
    return dims[0] if len(dims) == 2 else 1


def _same(call: Call) -> Fact:
    return Fact(dims=call.dims(0))


def _targets(call: Call) -> Fact:
    name = "targets" if call.node.op_type == "LinearRegressor" else "n_targets"
    dtype = call.dtype(0) if call.node.op_type == "TreeEnsemble" else FLOAT
    return Fact(dtype, [_rows(call), int(call.attr(name, 1))])


def _one_target(call: Call) -> Fact:
    return Fact(FLOAT, [_rows(call), 1])


def _features(call: Call) -> Fact:
    return Fact(FLOAT, [_rows(call), sum(int(d) for d in call.attr("inputdimensions", ()))])


def _classes(call: Call) -> list[Fact]:
    """The label of each row, and a score for each class."""
    texts = call.attr("classlabels_strings", ())
    labels = texts or call.attr("classlabels_int64s", ()) or call.attr("classlabels_ints", ())
    if len(labels) < 2:
        raise UnknownShape
    rows = _rows(call)
    facts = [Fact(STRING if texts else INT64, [rows]), Fact(FLOAT, [rows, len(labels)])]
    return facts[: call.n_outputs]


def _linear_classes(call: Call) -> list[Fact]:
    if len(call.attr("intercepts", ())) < 2:
        raise UnknownShape
    return _classes(call)


def _one_hot(call: Call) -> Fact:
    categories = call.attr("cats_int64s", ()) or call.attr("cats_strings", ())
    return Fact(FLOAT, [*call.dims(0), len(categories)])


def _chosen(call: Call) -> Fact:
    """As many columns as there are indices; a vector is one row."""
    return Fact(dims=[*(call.dims(0)[:-1] or (1,)), product(call.dims(1))])


#: operator type of the domain ai.onnx.ml -> its rule
TABLE_RULES: dict[str, Rule] = {
    "ArrayFeatureExtractor": _chosen,
    "Binarizer": _same,
    "FeatureVectorizer": _features,
    "Imputer": _same,
    "LinearClassifier": _linear_classes,
    "LinearRegressor": _targets,
    "Normalizer": _same,
    "OneHotEncoder": _one_hot,
    "SVMRegressor": _one_target,
    "Scaler": _same,
    "TreeEnsemble": _targets,
    "TreeEnsembleClassifier": _classes,
    "TreeEnsembleRegressor": _targets,
}
