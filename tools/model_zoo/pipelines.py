"""Pipelines of scikit-learn, LightGBM, XGBoost, with predictions: `python -m model_zoo.pipelines FOLDER`.

Runs in an environment with these libraries, skl2onnx and onnxmltools. For each pipeline it writes NAME.onnx,
and NAME.npz with rows X that the pipeline has not seen and what the library itself makes of them: `label` or
`value`, and `scores` of a classifier.
"""

from __future__ import annotations

import importlib
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from model_zoo.drawn_pipelines import Draw


def _of(path: str, *args: Any, **given: Any) -> Any:
    """An estimator by its place: of scikit-learn, lightgbm or xgboost."""
    module, _, name = path.rpartition(".")
    top = module if module in ("lightgbm", "xgboost") else f"sklearn.{module}"
    return getattr(importlib.import_module(top), name)(*args, **given)


def _chain(*steps: Any) -> Any:
    return importlib.import_module("sklearn.pipeline").make_pipeline(*steps)


def _logistic() -> Any:
    return _of("linear_model.LogisticRegression", max_iter=2000)


def _columns(*groups: tuple[str, Any, Any]) -> Any:
    return _of("compose.ColumnTransformer", list(groups))


def _members() -> list[tuple[str, Any]]:
    return [
        ("a", _logistic()),
        ("b", _of("tree.DecisionTreeClassifier", max_depth=4, random_state=0)),
        ("c", _of("ensemble.RandomForestClassifier", n_estimators=10, random_state=0)),
    ]


SEEDED = {"random_state": 0}
QUIET = {"verbose": -1, "n_jobs": 1}

#: By name: the data, and the estimator. Data are those of scikit-learn; `mixed` has categories and numbers,
#: `gaps` have NaN, `words` labels that are strings, `targets` two targets.
PIPELINES: dict[str, tuple[str, Callable[[], Any]]] = {
    "tree": ("diabetes", lambda: _of("tree.DecisionTreeRegressor", max_depth=6, **SEEDED)),
    "tree_targets": ("targets", lambda: _of("tree.DecisionTreeRegressor", max_depth=6, **SEEDED)),
    "forest": ("diabetes", lambda: _of("ensemble.RandomForestRegressor", n_estimators=100, **SEEDED)),
    "forest_classes": ("digits", lambda: _of("ensemble.RandomForestClassifier", n_estimators=100, **SEEDED)),
    "forest_two": (
        "breast_cancer",
        lambda: _of("ensemble.RandomForestClassifier", n_estimators=60, **SEEDED),
    ),
    "forest_words": ("words", lambda: _of("ensemble.RandomForestClassifier", n_estimators=20, **SEEDED)),
    "extra_trees": ("wine", lambda: _of("ensemble.ExtraTreesClassifier", n_estimators=50, **SEEDED)),
    "extra_trees_regressor": ("diabetes", lambda: _of("ensemble.ExtraTreesRegressor", **SEEDED)),
    "boosting": ("diabetes", lambda: _of("ensemble.GradientBoostingRegressor", **SEEDED)),
    "boosting_classes": (
        "wine",
        lambda: _of("ensemble.GradientBoostingClassifier", n_estimators=30, **SEEDED),
    ),
    "boosting_two": ("breast_cancer", lambda: _of("ensemble.GradientBoostingClassifier", **SEEDED)),
    "histogram_boosting": ("gaps", lambda: _of("ensemble.HistGradientBoostingRegressor", **SEEDED)),
    "histogram_boosting_classes": (
        "wine",
        lambda: _of("ensemble.HistGradientBoostingClassifier", max_iter=30, **SEEDED),
    ),
    "isolation_forest": ("iris", lambda: _of("ensemble.IsolationForest", n_estimators=20, **SEEDED)),
    "ada_boost": ("iris", lambda: _of("ensemble.AdaBoostClassifier", n_estimators=10, **SEEDED)),
    "bagging": (
        "iris",
        lambda: _of(
            "ensemble.BaggingClassifier", _of("tree.DecisionTreeClassifier", max_depth=4), 10, **SEEDED
        ),
    ),
    "lightgbm": ("diabetes", lambda: _of("lightgbm.LGBMRegressor", n_estimators=100, **QUIET)),
    "lightgbm_two": ("breast_cancer", lambda: _of("lightgbm.LGBMClassifier", n_estimators=60, **QUIET)),
    "lightgbm_classes": ("digits", lambda: _of("lightgbm.LGBMClassifier", n_estimators=20, **QUIET)),
    "xgboost": ("gaps", lambda: _of("xgboost.XGBRegressor", n_estimators=100, max_depth=6, n_jobs=1)),
    "xgboost_two": ("breast_cancer", lambda: _of("xgboost.XGBClassifier", n_estimators=60, n_jobs=1)),
    "xgboost_classes": ("digits", lambda: _of("xgboost.XGBClassifier", n_estimators=20, n_jobs=1)),
    "scaled_logistic": ("wine", lambda: _chain(_of("preprocessing.StandardScaler"), _logistic())),
    "encoded_columns": (
        "mixed",
        lambda: _chain(
            _columns(
                ("c", _of("preprocessing.OneHotEncoder", handle_unknown="ignore"), [0, 1]),
                ("n", _of("preprocessing.StandardScaler"), [2, 3, 4]),
            ),
            _logistic(),
        ),
    ),
    "encoded_forest": (
        "mixed",
        lambda: _chain(
            _columns(
                ("c", _of("preprocessing.OneHotEncoder", handle_unknown="ignore"), [0, 1]),
                ("n", "passthrough", [2, 3, 4]),
            ),
            _of("ensemble.RandomForestClassifier", n_estimators=30, **SEEDED),
        ),
    ),
    "bins": (
        "diabetes",
        lambda: _chain(
            _of("preprocessing.KBinsDiscretizer", n_bins=5, encode="onehot-dense"),
            _of("linear_model.Ridge"),
        ),
    ),
    "components": ("digits", lambda: _chain(_of("decomposition.PCA", n_components=16), _logistic())),
    "polynomial": (
        "diabetes",
        lambda: _chain(_of("preprocessing.PolynomialFeatures", degree=2), _of("linear_model.Ridge")),
    ),
    "robust": (
        "diabetes",
        lambda: _chain(_of("preprocessing.RobustScaler"), _of("linear_model.ElasticNet", alpha=0.1)),
    ),
    "imputed": (
        "gaps",
        lambda: _chain(
            _of("impute.SimpleImputer"), _of("preprocessing.Normalizer"), _of("linear_model.Ridge", alpha=0.1)
        ),
    ),
    "support_vectors": (
        "iris",
        lambda: _chain(_of("preprocessing.StandardScaler"), _of("svm.SVC", probability=True, **SEEDED)),
    ),
    "support_vectors_regressor": (
        "diabetes",
        lambda: _chain(_of("preprocessing.StandardScaler"), _of("svm.SVR", C=10.0)),
    ),
    "neighbours": ("wine", lambda: _of("neighbors.KNeighborsClassifier")),
    "perceptron": (
        "digits",
        lambda: _chain(
            _of("preprocessing.MinMaxScaler"), _of("neural_network.MLPClassifier", max_iter=60, **SEEDED)
        ),
    ),
    "naive_bayes": ("iris", lambda: _of("naive_bayes.GaussianNB")),
    "discriminant": ("wine", lambda: _of("discriminant_analysis.LinearDiscriminantAnalysis")),
    "voting": (
        "iris",
        lambda: _of(
            "ensemble.VotingClassifier", estimators=_members(), voting="soft", flatten_transform=False
        ),
    ),
    "stacking": ("iris", lambda: _of("ensemble.StackingClassifier", _members(), _logistic())),
    "calibrated": (
        "iris",
        lambda: _of(
            "calibration.CalibratedClassifierCV",
            _of("ensemble.RandomForestClassifier", n_estimators=10, **SEEDED),
            cv=3,
        ),
    ),
}


def _data(name: str) -> tuple[Any, Any]:
    numpy = importlib.import_module("numpy")
    datasets = importlib.import_module("sklearn.datasets")
    rng = numpy.random.default_rng(0)
    if name == "mixed":
        x = numpy.column_stack([rng.integers(0, 4, (900, 2)), rng.normal(size=(900, 3))])
        return x.astype(numpy.float32), (x[:, 0] + x[:, 2] * x[:, 3] > x[:, 1]).astype(int)
    source = {"gaps": "diabetes", "words": "iris", "targets": "diabetes"}.get(name, name)
    x, y = getattr(datasets, f"load_{source}")(return_X_y=True)
    if name == "gaps":
        x[rng.random(x.shape) < 0.1] = numpy.nan
    if name == "words":
        y = numpy.array(["setosa", "versicolor", "virginica"])[y]
    if name == "targets":
        y = numpy.column_stack([y, x[:, 0] * y])
    return x.astype(numpy.float32), y


def _converted(fitted: Any, x: Any) -> Any:
    kind = type(fitted).__module__.partition(".")[0]
    if kind in ("lightgbm", "xgboost"):
        tools = importlib.import_module("onnxmltools")
        types = importlib.import_module("onnxmltools.convert.common.data_types")
        more = {"zipmap": False} if kind == "lightgbm" and hasattr(fitted, "predict_proba") else {}
        given = [("X", types.FloatTensorType([None, x.shape[1]]))]
        return getattr(tools, f"convert_{kind}")(fitted, initial_types=given, **more)
    options = {id(fitted): {"zipmap": False}} if hasattr(fitted, "predict_proba") else None
    to_onnx = importlib.import_module("skl2onnx").to_onnx
    return to_onnx(fitted, x[:1], options=options, target_opset={"": 18, "ai.onnx.ml": 3})


def _made(name: str, folder: Path) -> None:
    numpy = importlib.import_module("numpy")
    if name in PIPELINES:
        data, make = PIPELINES[name]
        x, y = _data(data)
    else:
        draw = Draw(name)
        make, (x, y) = draw.make, draw.data()
    seen = numpy.arange(len(x)) % 4 != 3
    fitted = make().fit(x[seen], y[seen])
    if type(fitted).__module__.startswith(("lightgbm", "xgboost")):
        x = x.astype(numpy.float32)  # the type of their converters
    rows = x[~seen]
    classes = hasattr(fitted, "predict_proba")
    predicted = {"label" if classes else "value": fitted.predict(rows)}
    if classes:
        predicted["scores"] = fitted.predict_proba(rows)
    (folder / f"{name}.onnx").write_bytes(_converted(fitted, x).SerializeToString())
    numpy.savez(folder / f"{name}.npz", X=rows, **predicted)


def main() -> None:
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    for name in sys.argv[2:] or PIPELINES:
        try:
            _made(name, folder)
        except Exception:  # a converter that lacks an operator costs that pipeline
            (folder / f"{name}.failed").write_text(traceback.format_exc())


if __name__ == "__main__":
    main()
