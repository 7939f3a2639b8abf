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
    return [Fact(STRING if texts else INT64, [rows]), Fact(FLOAT, [rows, len(labels)])]


def _labelled(call: Call) -> list[Fact]:
    return _classes(call)[: call.n_outputs]


def _linear_classes(call: Call) -> list[Fact]:
    if len(call.attr("intercepts", ())) < 2:
        raise UnknownShape
    return _labelled(call)


def _voted_classes(call: Call) -> list[Fact]:
    """Support vectors: a score for each class, or, of several without probabilities, for every two."""
    label, scores = _classes(call)
    count = len(call.attr("vectors_per_class", ()))
    if count > 2 and not call.attr("prob_a", ()):
        scores = Fact(FLOAT, [_rows(call), count * (count - 1) // 2])
    return [label, scores][: call.n_outputs]


def _one_hot(call: Call) -> Fact:
    categories = call.attr("cats_int64s", ()) or call.attr("cats_strings", ())
    return Fact(FLOAT, [*call.dims(0), len(categories)])


def _encoded(call: Call) -> Fact:
    """The type is that of the values."""
    if (tensor := call.attr("values_tensor")) is not None:
        return Fact(int(onnx.helper.np_dtype_to_tensor_dtype(tensor.dtype)), call.dims(0))
    kinds = {"values_int64s": INT64, "values_floats": FLOAT, "values_strings": STRING}
    found = [dtype for name, dtype in kinds.items() if call.attr(name, ())]
    if len(found) != 1:
        raise UnknownShape
    return Fact(found[0], call.dims(0))


def _chosen(call: Call) -> Fact:
    """As many columns as there are indices; a vector is one row."""
    return Fact(dims=[*(call.dims(0)[:-1] or (1,)), product(call.dims(1))])


#: operator type of the domain ai.onnx.ml -> its rule
TABLE_RULES: dict[str, Rule] = {
    "ArrayFeatureExtractor": _chosen,
    "Binarizer": _same,
    "FeatureVectorizer": _features,
    "Imputer": _same,
    "LabelEncoder": _encoded,
    "LinearClassifier": _linear_classes,
    "LinearRegressor": _targets,
    "Normalizer": _same,
    "OneHotEncoder": _one_hot,
    "SVMClassifier": _voted_classes,
    "SVMRegressor": _one_target,
    "Scaler": _same,
    "TreeEnsemble": _targets,
    "TreeEnsembleClassifier": _labelled,
    "TreeEnsembleRegressor": _targets,
}
