"""Models of tables, trained in seconds on data that scikit-learn has: `python -m model_zoo.trained FOLDER`.

Runs in an environment with skl2onnx, scikit-learn, lightgbm and xgboost. Every model has one input, X.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _of(path: str, **given: Any) -> Any:
    """An estimator by its place in scikit-learn."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(f"sklearn.{module}"), name)(**given)


def _chain(*steps: Any) -> Any:
    return importlib.import_module("sklearn.pipeline").make_pipeline(*steps)


#: By name: the data, and the estimator. Classifiers yield maps of probabilities where the name says so.
MODELS: dict[str, tuple[str, Callable[[], Any]]] = {
    "logistic_maps": ("iris", lambda: _of("linear_model.LogisticRegression", max_iter=500)),
    "scaled_logistic": (
        "wine",
        lambda: _chain(
            _of("preprocessing.StandardScaler"), _of("linear_model.LogisticRegression", max_iter=500)
        ),
    ),
    "ridge": ("diabetes", lambda: _chain(_of("preprocessing.MinMaxScaler"), _of("linear_model.Ridge"))),
    "polynomial": (
        "diabetes",
        lambda: _chain(_of("preprocessing.PolynomialFeatures", degree=2), _of("linear_model.Ridge")),
    ),
    "components": (
        "digits",
        lambda: _chain(
            _of("decomposition.PCA", n_components=16), _of("linear_model.LogisticRegression", max_iter=500)
        ),
    ),
    "perceptron": ("digits", lambda: _of("neural_network.MLPClassifier", max_iter=60, random_state=0)),
    "perceptron_regressor": (
        "diabetes",
        lambda: _of("neural_network.MLPRegressor", max_iter=60, random_state=0),
    ),
    "forest": ("wine", lambda: _of("ensemble.RandomForestClassifier", n_estimators=30, random_state=0)),
    "forest_maps": ("iris", lambda: _of("ensemble.RandomForestClassifier", n_estimators=10, random_state=0)),
    "boosting": (
        "diabetes",
        lambda: _of("ensemble.GradientBoostingRegressor", n_estimators=40, random_state=0),
    ),
    "support_vectors": ("iris", lambda: _of("svm.SVC", probability=True, random_state=0)),
    "support_vectors_regressor": ("diabetes", lambda: _of("svm.SVR")),
    "neighbours": ("iris", lambda: _of("neighbors.KNeighborsClassifier")),
    "neighbours_imputed": (
        "iris",
        lambda: _chain(_of("impute.KNNImputer"), _of("linear_model.LogisticRegression", max_iter=500)),
    ),
    "imputed": (
        "iris",
        lambda: _chain(_of("impute.SimpleImputer"), _of("linear_model.LogisticRegression", max_iter=500)),
    ),
    "naive_bayes": ("iris", lambda: _of("naive_bayes.GaussianNB")),
    "clusters": ("iris", lambda: _of("cluster.KMeans", n_clusters=3, n_init=3, random_state=0)),
    "gaussian_process": ("diabetes", lambda: _of("gaussian_process.GaussianProcessRegressor", alpha=1.0)),
    "outliers": ("iris", lambda: _of("ensemble.IsolationForest", n_estimators=20, random_state=0)),
    "voting": (
        "iris",
        lambda: _of(
            "ensemble.VotingClassifier",
            estimators=[
                ("a", _of("linear_model.LogisticRegression", max_iter=500)),
                ("b", _of("tree.DecisionTreeClassifier", max_depth=4, random_state=0)),
            ],
            voting="soft",
            flatten_transform=False,
        ),
    ),
    "lightgbm": (
        "wine",
        lambda: importlib.import_module("lightgbm").LGBMClassifier(n_estimators=20, verbose=-1),
    ),
    "xgboost": ("diabetes", lambda: importlib.import_module("xgboost").XGBRegressor(n_estimators=20)),
}


def main() -> None:
    numpy = importlib.import_module("numpy")
    datasets = importlib.import_module("sklearn.datasets")
    for name, (data, make) in MODELS.items():
        x, y = getattr(datasets, f"load_{data}")(return_X_y=True)
        x = x.astype(numpy.float32)
        fitted = make().fit(x, y)
        converted = _converted(name, fitted, x)
        Path(sys.argv[1], f"{name}.onnx").write_bytes(converted.SerializeToString())


def _converted(name: str, fitted: Any, x: Any) -> Any:
    if name in ("lightgbm", "xgboost"):
        tools = importlib.import_module("onnxmltools")
        types = importlib.import_module("onnxmltools.convert.common.data_types")
        convert = getattr(tools, f"convert_{name}")
        return convert(fitted, initial_types=[("X", types.FloatTensorType([None, x.shape[1]]))])
    options = None
    if hasattr(fitted, "predict_proba") and not name.endswith("_maps"):
        options = {id(fitted): {"zipmap": False}}
    to_onnx = importlib.import_module("skl2onnx").to_onnx
    return to_onnx(fitted, x[:1], options=options, target_opset={"": 18, "ai.onnx.ml": 3})


if __name__ == "__main__":
    main()
