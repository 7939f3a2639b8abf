"""Pipelines that nobody picked, by a seed: preprocessing, an estimator with its options, a kind of target,
types and missing values. In terms of model_zoo.pipelines: the data, and the estimator to fit."""

from __future__ import annotations

import random
from typing import Any

#: How the features are: numbers alone, with gaps, whole numbers that stand for categories, of large scales.
KINDS = ("numbers", "gaps", "categories", "scales", "sparse")
TARGETS = ("number", "two", "classes", "words", "targets", "negative_labels")
#: What takes gaps itself.
GAPPED = ("HistGradientBoosting", "lightgbm", "xgboost")


class Draw:
    """A pipeline's choices; `data` and `make` are what model_zoo.pipelines has of each."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.kind, self.target = self.random.choice(KINDS), self.random.choice(TARGETS)
        self.rows, self.columns = self.random.choice((300, 900)), self.random.choice((3, 7, 20))
        self.double = self.random.random() < 0.15
        self.seed = seed

    @property
    def classifies(self) -> bool:
        return self.target in ("two", "classes", "words", "negative_labels")

    def data(self) -> tuple[Any, Any]:
        import numpy as np

        rng = np.random.default_rng(list(self.seed.encode()))
        x = rng.normal(size=(self.rows, self.columns))
        signal = x[:, 0] * 2 + np.sin(3 * x[:, 1]) + x[:, 2] ** 2
        if self.kind == "categories":
            x[:, : self.columns // 2 + 1] = rng.integers(0, 5, (self.rows, self.columns // 2 + 1))
            signal = x[:, 0] + (x[:, 1] == 2) * 3 + x[:, 2]
        if self.kind == "scales":
            x *= 10.0 ** rng.integers(-4, 5, self.columns)
        if self.kind == "sparse":
            x[rng.random(x.shape) < 0.7] = 0
        if self.kind == "gaps":
            x[rng.random(x.shape) < 0.1] = np.nan
        signal = signal + 0.1 * rng.normal(size=self.rows)
        return x.astype(np.float64 if self.double else np.float32), self._targets(signal)

    def _targets(self, signal: Any) -> Any:
        import numpy as np

        ranks = np.digitize(signal, np.quantile(signal, [0.3, 0.6, 0.85]))
        match self.target:
            case "two":
                return (ranks > 1).astype(int)
            case "classes":
                return ranks
            case "words":
                return np.array(["calm", "breeze", "gale", "storm"])[ranks]
            case "negative_labels":
                return ranks * 3 - 5
            case "targets":
                return np.column_stack([signal, np.abs(signal)])
        return signal

    def make(self) -> Any:
        from sklearn.pipeline import make_pipeline

        estimator = self.estimator()
        steps = self.preprocessing(type(estimator).__module__ + type(estimator).__name__)
        return make_pipeline(*steps, estimator) if steps else estimator

    def preprocessing(self, estimator: str) -> list[Any]:
        from sklearn import compose, decomposition, feature_selection, impute, preprocessing

        pick, steps = self.random.choice, []
        gapped = any(name in estimator for name in GAPPED)
        alone = "lightgbm" in estimator or "xgboost" in estimator  # their converters take just the estimator
        if alone:
            return []
        if self.kind == "gaps" and not (gapped and self.random.random() < 0.6):
            steps.append(impute.SimpleImputer(strategy=pick(("mean", "median", "most_frequent", "constant"))))
        if self.kind == "categories" and self.random.random() < 0.7:
            encoder = pick((
                preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=pick((True, False))),
                preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
                preprocessing.OneHotEncoder(drop="first", sparse_output=False),
            ))  # fmt: skip
            few = list(range(self.columns // 2 + 1))
            rest = list(range(self.columns // 2 + 1, self.columns))
            steps.append(
                compose.ColumnTransformer(
                    [("c", encoder, few), ("n", pick((preprocessing.StandardScaler(), "passthrough")), rest)],
                    sparse_threshold=0,
                )
            )
        scalers = (
            preprocessing.StandardScaler(with_mean=pick((True, False))),
            preprocessing.MinMaxScaler(feature_range=pick(((0, 1), (-1, 1))), clip=pick((True, False))),
            preprocessing.MaxAbsScaler(),
            preprocessing.RobustScaler(),
            preprocessing.Normalizer(norm=pick(("l1", "l2", "max"))),
            preprocessing.Binarizer(threshold=0.3),
            preprocessing.PowerTransformer(),
            preprocessing.KBinsDiscretizer(
                n_bins=pick((3, 6)),
                encode=pick(("onehot-dense", "ordinal")),
                strategy=pick(("uniform", "quantile")),
            ),
            preprocessing.PolynomialFeatures(degree=2, interaction_only=pick((True, False))),
            decomposition.PCA(n_components=2, whiten=pick((True, False))),
            decomposition.TruncatedSVD(n_components=2),
            feature_selection.SelectKBest(_score(self.classifies), k=2),
            feature_selection.VarianceThreshold(1e-12),
        )
        if self.kind != "gaps" or steps:
            steps += self.random.sample(scalers, pick((0, 1, 1, 2)))
        return steps

    def estimator(self) -> Any:
        pick = self.random.choice
        several = self.target == "targets"
        names = list(_CLASSIFIERS if self.classifies else _SEVERAL if several else _REGRESSORS)
        path, options = pick([(p, o) for p in names for o in [_OPTIONS.get(p.rsplit(".")[-1], {})]])
        from model_zoo.pipelines import _of

        given = {name: pick(values) for name, values in options.items()}
        if path.startswith("xgboost") and self.target in ("words", "negative_labels"):
            path = "ensemble.RandomForestClassifier"  # xgboost numbers classes from 0
            given = {"n_estimators": 12}
        made = _of(path, **given)
        if "random_state" in made.get_params():
            made.set_params(random_state=0)
        if "verbose" in made.get_params() and path.startswith("lightgbm"):
            made.set_params(verbose=-1, n_jobs=1)
        return made


def _score(classifies: bool) -> Any:
    from sklearn import feature_selection

    return feature_selection.f_classif if classifies else _first_target


def _first_target(x: Any, y: Any) -> Any:
    from sklearn import feature_selection

    return feature_selection.f_regression(x, y if y.ndim == 1 else y[:, 0])


_TREE = {"max_depth": (2, 5, 9, None), "min_samples_leaf": (1, 4)}
_FOREST = {**_TREE, "n_estimators": (5, 40, 110), "max_features": (None, "sqrt", 0.5)}
_BOOST = {"n_estimators": (10, 80), "max_depth": (2, 5), "learning_rate": (0.05, 0.3)}
_OPTIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "DecisionTreeClassifier": _TREE,
    "DecisionTreeRegressor": _TREE,
    "RandomForestClassifier": {**_FOREST, "class_weight": (None, "balanced")},
    "RandomForestRegressor": {**_FOREST, "criterion": ("squared_error", "absolute_error")},
    "ExtraTreesClassifier": _FOREST,
    "ExtraTreesRegressor": _FOREST,
    "GradientBoostingClassifier": {**_BOOST, "subsample": (1.0, 0.6)},
    "GradientBoostingRegressor": {**_BOOST, "loss": ("squared_error", "huber", "quantile")},
    "HistGradientBoostingClassifier": {"max_iter": (10, 60), "max_leaf_nodes": (5, 31)},
    "HistGradientBoostingRegressor": {"max_iter": (10, 60), "loss": ("squared_error", "absolute_error")},
    "AdaBoostClassifier": {"n_estimators": (5, 20)},
    "AdaBoostRegressor": {"n_estimators": (5, 20)},
    "LogisticRegression": {"C": (0.1, 10.0), "max_iter": (500,), "fit_intercept": (True, False)},
    "SGDClassifier": {"loss": ("log_loss", "modified_huber"), "alpha": (1e-4, 1e-2)},
    "RidgeClassifier": {},
    "LinearSVC": {"C": (0.1, 1.0)},
    "SVC": {"kernel": ("rbf", "poly", "linear", "sigmoid"), "probability": (True,), "C": (0.5, 5.0)},
    "NuSVC": {"nu": (0.05,), "probability": (True,)},
    "SVR": {"kernel": ("rbf", "poly", "linear"), "C": (1.0, 10.0)},
    "MLPClassifier": {"activation": ("relu", "tanh", "logistic"), "max_iter": (40,)},
    "MLPRegressor": {"activation": ("relu", "tanh", "identity"), "max_iter": (40,)},
    "KNeighborsClassifier": {"n_neighbors": (1, 5, 8), "weights": ("uniform", "distance"), "p": (1, 2)},
    "KNeighborsRegressor": {"n_neighbors": (1, 5, 8), "weights": ("uniform", "distance")},
    "LGBMClassifier": {"n_estimators": (5, 60), "num_leaves": (4, 31), "boosting_type": ("gbdt", "dart")},
    "LGBMRegressor": {"n_estimators": (5, 60), "objective": ("l2", "l1", "quantile")},
    "XGBClassifier": {
        "n_estimators": (5, 60),
        "max_depth": (2, 6),
        "booster": ("gbtree", "gbtree", "gblinear"),
    },
    "XGBRegressor": {"n_estimators": (5, 60), "objective": ("reg:squarederror", "reg:absoluteerror")},
    "GaussianProcessRegressor": {"normalize_y": (True, False)},
    "BernoulliNB": {"binarize": (0.0, 0.5)},
    "PassiveAggressiveRegressor": {},
    "HuberRegressor": {"max_iter": (500,)},
}
_CLASSIFIERS = (
    *(f"tree.{n}" for n in ("DecisionTreeClassifier",)),
    *(
        f"ensemble.{n}Classifier"
        for n in ("RandomForest", "ExtraTrees", "GradientBoosting", "HistGradientBoosting")
    ),
    *("ensemble.AdaBoostClassifier", "ensemble.BaggingClassifier"),
    *(f"linear_model.{n}" for n in ("LogisticRegression", "SGDClassifier", "LogisticRegressionCV")),
    *("svm.SVC", "svm.NuSVC", "neural_network.MLPClassifier", "neighbors.KNeighborsClassifier"),
    *("naive_bayes.GaussianNB", "naive_bayes.BernoulliNB"),
    *("lightgbm.LGBMClassifier", "xgboost.XGBClassifier"),
    *(f"discriminant_analysis.{n}DiscriminantAnalysis" for n in ("Linear", "Quadratic")),
)  # fmt: skip
_SEVERAL = (
    *("tree.DecisionTreeRegressor", "ensemble.RandomForestRegressor", "ensemble.ExtraTreesRegressor"),
    *("linear_model.Ridge", "linear_model.MultiTaskLasso", "neighbors.KNeighborsRegressor"),
    *("neural_network.MLPRegressor", "cross_decomposition.PLSRegression"),
)
_REGRESSORS = (
    *(
        "tree.DecisionTreeRegressor",
        "svm.SVR",
        "neural_network.MLPRegressor",
        "neighbors.KNeighborsRegressor",
    ),
    *(f"ensemble.{n}Regressor" for n in ("RandomForest", "ExtraTrees", "GradientBoosting", "Bagging")),
    *(f"ensemble.{n}Regressor" for n in ("HistGradientBoosting", "AdaBoost")),
    *(f"linear_model.{n}" for n in ("Ridge", "Lasso", "ElasticNet", "BayesianRidge", "HuberRegressor")),
    *(f"linear_model.{n}" for n in ("PoissonRegressor", "TweedieRegressor", "LinearRegression")),
    *("lightgbm.LGBMRegressor", "xgboost.XGBRegressor", "gaussian_process.GaussianProcessRegressor"),
)


def name_of(seed: int, number: int) -> str:
    return f"drawn_{seed}_{number}"
