"""How a version is run: found by measurement, and never in batches that would change a row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import batch_models
import numpy as np
import onnx
import pytest
import served_models

import ascend_ep
from ascend_ep.compiler.convert import ConvertOptions, convert
from ascend_ep.serving.execution.batch import Run
from ascend_ep.serving.execution.independence import Rows, check
from ascend_ep.serving.execution.samples import Samples
from ascend_ep.serving.repository.config import Batching, ModelConfig
from ascend_ep.serving.repository.version import LoadedVersion
from ascend_ep.serving.signature import Signature, TensorSpec

INSISTED = ModelConfig(max_batch_size=8, batching=Batching())


def loaded(
    folder: Path, build: Callable[[], onnx.ModelProto], config: ModelConfig = INSISTED
) -> LoadedVersion:
    path = folder / "model.om"
    if not path.exists():
        path.write_bytes(convert(build(), ConvertOptions(precision="must_keep_origin_dtype")).to_bytes())

    def open_session(threads: int, native_code: bool) -> Any:
        options = {"num_threads": str(threads), "native_code": str(int(native_code))}
        return ascend_ep.InferenceSession(str(path), providers=[("AscendEP", options)])

    return LoadedVersion("m", 1, open_session, config, str(path))


@pytest.mark.parametrize("build", [batch_models.column_softmax, batch_models.centred, batch_models.regrouped])
def test_models_that_mix_rows_are_not_batched(tmp_path: Path, build: Callable[[], onnx.ModelProto]) -> None:
    execution = loaded(tmp_path, build).execution
    assert execution.rules.max_rows == 1
    assert "not batched: a row of a batch is different" in execution.describe()["why"]


@pytest.mark.parametrize(
    "build", [served_models.rows, batch_models.wide, batch_models.sequences, batch_models.unnamed]
)
def test_models_of_independent_rows_are_batched(tmp_path: Path, build: Callable[[], onnx.ModelProto]) -> None:
    version = loaded(tmp_path, build)
    assert version.execution.rules.max_rows == 8
    assert version.rows_input == "x"


def test_what_a_config_says(tmp_path: Path) -> None:
    never = loaded(tmp_path, batch_models.wide, ModelConfig(max_batch_size=0, instances=2, threads=1))
    assert never.execution.rules.max_rows == 1
    assert (never.execution.inline, never.execution.instances, never.execution.threads) == (False, 2, 1)
    batching = Batching((2, 4, 64), 0.001, priority_levels=2, default_priority=2)
    rules = loaded(
        tmp_path, batch_models.wide, ModelConfig(max_batch_size=8, batching=batching)
    ).execution.rules
    assert (rules.preferred, rules.max_delay, rules.largest) == ((2, 4), 0.001, 8)
    assert (rules.levels, rules.default_level) == (2, 1)


def test_dynamic_batch_profiles(tmp_path: Path) -> None:
    options = ConvertOptions(profiles=[{"N": 1}, {"N": 4}, {"N": 8}])
    (tmp_path / "model.om").write_bytes(convert(served_models.rows(), options).to_bytes())
    version = loaded(tmp_path, served_models.rows, ModelConfig())
    rules = version.execution.rules
    assert [rules.padded(n, ()) for n in (1, 2, 3, 4, 8)] == [1, 4, 4, 4, 8]
    assert rules.most(()) == 8


def fake(run: Callable[[np.ndarray], np.ndarray]) -> tuple[Run, Samples]:
    signature = Signature((TensorSpec("x", "FP32", ("N", 4)),), (TensorSpec("y", "FP32", ("N", 4)),))
    return lambda inputs: [run(inputs["x"])], Samples(signature)


def test_rows_that_only_infinities_mix_are_found() -> None:
    run, samples = fake(lambda x: x + (np.abs(x).max() > 1e4))
    assert check(run, samples, [8, 2], 1.0).rows is Rows.MIXED
    run, samples = fake(lambda x: x + 0 * x.sum())
    assert check(run, samples, [8, 2], 1.0).rows is Rows.MIXED


def test_rows_that_differ_in_rounding_are_called_close() -> None:
    run, samples = fake(lambda x: x * np.float32(1 + 1e-6 * (len(x) > 1)))
    assert check(run, samples, [8, 2], 1.0).rows is Rows.CLOSE
    run, samples = fake(np.tanh)
    assert check(run, samples, [8, 2, 3], 1.0).rows is Rows.EQUAL


def test_outputs_without_a_row_each_are_found() -> None:
    run, samples = fake(lambda x: x[x[:, 0] > 0])
    assert check(run, samples, [8, 2], 1.0).rows is Rows.MIXED
