"""The cases of onnx.backend.test: node, simple, real (the light models), pytorch-converted, pytorch-operator.

The full weights of the real models and their data come from the network; the light models are these models
with generated weights, and lie in the onnx package with their outputs.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

KINDS = ("node", "simple", "real", "pytorch-converted", "pytorch-operator")
LIGHT = "onnx/backend/test/data/light/"

Values = list[Any]


@dataclass(frozen=True)
class Loaded:
    """What a case runs: the model, and pairs of inputs and expected outputs."""

    model: onnx.ModelProto
    data: list[tuple[Values, Values]]


@dataclass(frozen=True)
class Case:
    """`name` is kind/test_name; `operator` the one it is about, "" for whole models."""

    name: str
    operator: str
    rtol: float
    atol: float
    load: Callable[[], Loaded]

    def compare(self, expected: Values, outputs: Values) -> None:
        """Raises AssertionError where outputs differ, by the suite's own comparison and tolerances."""
        Runner.assert_similar_outputs(expected, list(outputs), self.rtol, self.atol)


def all_cases() -> list[Case]:
    """Every case, sorted by name. Takes seconds: the suite computes the data of its node cases."""
    found: list[Case] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in KINDS:
            tests = load_model_tests(kind=kind)
            operators = {t.name: _operator(t.model) for t in tests} if kind == "node" else {}
            for test in tests:
                operator = _about(test.name, operators)
                load = _node_loader(test) if kind == "node" else _folder_loader(test)
                found.append(Case(f"{kind}/{test.name}", operator, test.rtol, test.atol, load))
    return sorted(found, key=lambda c: c.name)


def _operator(model: onnx.ModelProto) -> str:
    """The operator of a model's first node that isn't a constant."""
    names = [f"{n.domain}::{n.op_type}".removeprefix("::") for n in model.graph.node]
    return next((n for n in names if n != "Constant"), names[0] if names else "")


def _about(name: str, operators: dict[str, str]) -> str:
    """The operator of a node case; for one that shows an operator as ONNX's function of others, that one."""
    base = re.sub(r"_expanded.*$", "", name)
    if base != name and base in operators:
        return f"{operators[base]} (expanded)"
    return operators.get(name, "")


def _node_loader(test: Any) -> Callable[[], Loaded]:
    return lambda: Loaded(test.model, [(_arrays(i), _arrays(o)) for i, o in test.data_sets])


def _arrays(values: Any) -> Values:
    return [numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else v for v in values]


def _folder_loader(test: Any) -> Callable[[], Loaded]:
    def load() -> Loaded:
        if test.url is not None:
            return _light(Path(onnx.__file__).parent / test.url.removeprefix("onnx/"))
        model = onnx.load(Path(test.model_dir) / "model.onnx")
        folders = sorted(Path(test.model_dir).glob("test_data_set*"))
        return Loaded(model, [_data_set(folder, model.graph) for folder in folders])

    return load


def _light(path: Path) -> Loaded:
    """A model with generated weights: the suite's own input, and the outputs beside the file."""
    model = onnx.load(path)
    constants = {i.name for i in model.graph.initializer}
    inputs = [Runner.generate_dummy_data(x) for x in model.graph.input if x.name not in constants]
    outputs = [
        onnx.load_tensor(f"{path.with_suffix('')}_output_{i}.pb") for i in range(len(model.graph.output))
    ]
    return Loaded(model, [(inputs, _arrays(outputs))])


def _data_set(folder: Path, graph: onnx.GraphProto) -> tuple[Values, Values]:
    return list(_protos(folder, "input", graph.input)), list(_protos(folder, "output", graph.output))


def _protos(folder: Path, role: str, declared: Any) -> Iterator[Any]:
    for i in range(len(list(folder.glob(f"{role}_*.pb")))):
        body, kind = (folder / f"{role}_{i}.pb").read_bytes(), declared[i].type
        if kind.HasField("sequence_type"):
            yield numpy_helper.to_list(onnx.SequenceProto.FromString(body))
        elif kind.HasField("optional_type"):
            yield numpy_helper.to_optional(onnx.OptionalProto.FromString(body))
        else:
            yield numpy_helper.to_array(onnx.TensorProto.FromString(body))
