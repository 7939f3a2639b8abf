"""The models that every server serves, as .onnx files for the rivals and as a repository for ascend-serve."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from benchmark.artefacts import MODELS, Artefacts
from benchmark.rows import Model
from numpy.typing import NDArray

import ascend_ep

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Case:
    """One model and its one input."""

    name: str
    title: str
    model: Model


CASES = (
    Case("small", "256 B", Model("mlp", {"activation": "Relu"})),
    Case("large", "602 KB", Model("pooled_linear")),
)


@dataclass
class Served:
    """Where the servers find the models, what is sent to them, and what must come back.

    `expected` has the answers of ascend_ep's session and of onnxruntime's, by case: a server that runs
    the model in one of them must answer with the same bits.
    """

    onnx: Path
    repository: Path
    inputs: dict[str, Array] = field(default_factory=dict)
    expected: dict[tuple[str, str], Array] = field(default_factory=dict)


def prepare(work: Path) -> Served:
    """Builds and converts the models below `work`, unless they are there, and runs each once."""
    sys.path.insert(0, str(MODELS))
    artefacts = Artefacts(work / "artefacts")
    served = Served(work / "onnx", work / "repository")
    for folder in (served.onnx, served.repository):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for case in CASES:
        prepared = artefacts.prepare(case.model)
        version = served.repository / case.name / "1"
        version.mkdir(parents=True)
        shutil.copyfile(artefacts.convert(prepared, "own").bundle, version / "model.om")
        shutil.copyfile(prepared.onnx, served.onnx / f"{case.name}.onnx")
        with np.load(prepared.feeds) as feeds:
            served.inputs[case.name] = feeds["x"]
        for runtime, run in _runs(served, case.name).items():
            served.expected[case.name, runtime] = run(served.inputs[case.name])
        np.testing.assert_allclose(
            served.expected[case.name, "ascend_ep"], served.expected[case.name, "onnxruntime"], 1e-5, 1e-6
        )
    return served


def _runs(served: Served, name: str) -> dict[str, Callable[[Array], Array]]:
    import onnxruntime

    own = ascend_ep.InferenceSession(served.repository / name / "1" / "model.om")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    peer = onnxruntime.InferenceSession(
        served.onnx / f"{name}.onnx", options, providers=["CPUExecutionProvider"]
    )

    def bind(session: Any) -> Callable[[Array], Array]:
        return lambda x: np.asarray(session.run(None, {"x": x})[0], np.float32)

    return {"ascend_ep": bind(own), "onnxruntime": bind(peer)}
