"""Where a model of the catalogue is: in its package, or made from it, once, in the cache.

Made are models of 8 bits, by onnxruntime's own tools from a shipped model, and models of tables, trained on
data that scikit-learn brings.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from model_zoo.environments import environment, run_module
from model_zoo.model import Model
from model_zoo.packages import NotToBeHad, unpacked

#: What trains models, with the versions of a day.
TRAINERS = (
    "skl2onnx==1.20.0",
    "onnxmltools==1.16.0",
    "scikit-learn==1.7.2",
    "lightgbm==4.6.0",
    "xgboost==3.0.5",
)
#: Seconds that making models may take.
LIMIT = 900


def path_of(model: Model, cache: Path) -> Path:
    """Raises NotToBeHad."""
    if model.made == "trained":
        return trained("trained", cache) / model.file
    shipped = unpacked(model.package, cache) / model.file
    return _quantised(model, shipped, cache) if model.made else shipped


def trained(module: str, cache: Path, label: str = "", names: Sequence[str] = ()) -> Path:
    """The folder of what a module of model_zoo trains in an environment of its own: of these names, all by
    default. `label`: what its folder is called. Raises NotToBeHad."""
    folder = cache / "made" / (label or module)
    if not (folder / "complete").exists():
        python = environment("trainers", [TRAINERS], cache)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            run_module(python, f"model_zoo.{module}", str(folder), *names, limit=LIMIT)
        except RuntimeError as error:
            raise NotToBeHad(f"models of {module}: {error}") from error
        (folder / "complete").touch()
    return folder


def _quantised(model: Model, shipped: Path, cache: Path) -> Path:
    target = cache / "made" / f"{model.name.replace('/', '_')}.onnx"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".partial")
        try:
            given = (model.name, str(shipped), str(partial))
            run_module(sys.executable, "model_zoo.quantise", *given, limit=LIMIT)
        except RuntimeError as error:
            raise NotToBeHad(f"{model.name}: {error}") from error
        partial.rename(target)
    return target
