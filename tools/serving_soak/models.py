"""What is served, and the answers that must come back."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmark.artefacts import MODELS
from numpy.typing import NDArray

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

Array = NDArray[np.float32]
OUTPUT = "probabilities"


@dataclass(frozen=True)
class Asked:
    """An input for a version of a model, and its answer from a session that nobody else uses."""

    model: str
    version: str
    x: Array
    y: Array


def make_repository(root: Path) -> None:
    """Two versions of a model of rows, and one whose input is 602 KB."""
    sys.path.insert(0, str(MODELS))
    mlp, pooled = importlib.import_module("mlp"), importlib.import_module("pooled_linear")
    built = {
        ("mlp", 1): mlp.build("N", activation="Relu"),
        ("mlp", 2): mlp.build("N", sizes=(64, 32, 10), activation="Relu"),
        ("pooled", 1): pooled.build(),
    }
    for (name, version), model in built.items():
        folder = root / name / str(version)
        folder.mkdir(parents=True)
        (root / name / "config.pbtxt").write_text("version_policy { all {} }\n")
        bundle = convert(model, ConvertOptions(precision="must_keep_origin_dtype")).to_bytes()
        (folder / "model.om").write_bytes(bundle)


def questions(root: Path, seed: int) -> list[Asked]:
    """Inputs for every version, with answers; of the model of rows, each row was run alone."""
    random = np.random.default_rng(seed)
    found = []
    for path in sorted(root.glob("*/*/model.om")):
        session = ascend_ep.InferenceSession(str(path))
        model, version = path.parts[-3], path.parts[-2]
        for i in range(12):
            if model == "mlp":
                x = random.standard_normal((1 + i % 4, 64)).astype(np.float32)
                y = np.concatenate([session.run(None, {"x": row[None]})[0] for row in x])
            else:
                x = random.standard_normal((1, 3, 224, 224)).astype(np.float32)
                y = session.run(None, {"x": x})[0]
            found.append(Asked(model, version, x, np.asarray(y, np.float32)))
    return found


def replace(root: Path, model: str) -> None:
    """Puts new files with the same content in the place of a model's bundles, as a release does."""
    for path in (root / model).glob("*/model.om"):
        sibling = path.with_name(".new")
        sibling.write_bytes(path.read_bytes())
        sibling.rename(path)
