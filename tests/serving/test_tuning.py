"""How a version is run: found by measurement, and never in batches that would change a row."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import batch_models
import numpy as np
import onnx
import pytest
import served_models
from running import Running

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.serving.execution.batch import Run
from ascend_ep.serving.execution.boundary import BatchBoundary
from ascend_ep.serving.execution.independence import Rows, check
from ascend_ep.serving.execution.samples import Samples
from ascend_ep.serving.execution.tuning import Execution, Tuning
from ascend_ep.serving.repository.config import Batching, ModelConfig
from ascend_ep.serving.repository.version import LoadedVersion
from ascend_ep.serving.settings import Settings
from ascend_ep.serving.signature import Signature, TensorSpec

INSISTED = ModelConfig(max_batch_size=8, batching=Batching())


def loaded(
    folder: Path,
    build: Callable[[], onnx.ModelProto],
    config: ModelConfig = INSISTED,
    tuning: float = 1.0,
) -> LoadedVersion:
    path = folder / "model.om"
    if not path.exists():
        path.write_bytes(convert(build(), ConvertOptions(precision="must_keep_origin_dtype")).to_bytes())

    def open_session(threads: int, native_code: bool) -> Any:
        options = {"num_threads": str(threads), "native_code": str(int(native_code))}
        return ascend_ep.InferenceSession(str(path), providers=[("AscendEP", options)])

    return LoadedVersion("m", 1, open_session, config, str(path), tuning=tuning)


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


def test_requests_of_any_rows_on_a_model_with_profiles(tmp_path: Path) -> None:
    folder = tmp_path / "rows" / "1"
    folder.mkdir(parents=True)
    options = ConvertOptions(profiles=[{"N": 1}, {"N": 4}, {"N": 8}])
    (folder / "model.om").write_bytes(convert(served_models.rows(), options).to_bytes())
    session = ascend_ep.InferenceSession(str(folder / "model.om"))
    x = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    with Running(Settings(tmp_path, http_port=0)) as running:
        for rows in (1, 3, 8, 9):
            data = np.resize(x, (rows, 8))
            tensor = {"name": "x", "shape": [rows, 8], "datatype": "FP32", "data": data.tolist()}
            status, _, body = running.ask("POST", "/v2/models/rows/infer", {"inputs": [tensor]})
            if rows > 8:
                assert (status, "a batch of 9 was sent; 8 is the most" in body.decode()) == (400, True)
                continue
            assert status == 200, body
            made = np.array(json.loads(body)["outputs"][0]["data"], np.float32).reshape(rows, 4)
            np.testing.assert_array_equal(made, session.run(None, {"x": x})[0][:rows])


def test_without_time_nothing_is_measured_but_rows_are_checked(tmp_path: Path) -> None:
    given = loaded(tmp_path, batch_models.wide, tuning=0).execution
    assert (given.rules.max_rows, given.curve) == (8, {})
    assert loaded(tmp_path, batch_models.wide, ModelConfig(), tuning=0).execution.rules.max_rows == 1
    mixing = tmp_path / "mixing"
    mixing.mkdir()
    assert loaded(mixing, batch_models.column_softmax, tuning=0).execution.rules.max_rows == 1


def test_a_reload_is_run_as_before_unless_rows_mix() -> None:
    signature = Signature((TensorSpec("x", "FP32", ("N", 4)),), (TensorSpec("y", "FP32", ("N", 4)),))
    boundary = BatchBoundary((("x", ("N", 4)),), ())
    runs: list[int] = []

    def tuned(model: Callable[[np.ndarray], np.ndarray], like: Execution | None) -> Execution:
        def run(inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
            runs.append(len(inputs["x"]))
            time.sleep(0.0005)
            return [model(inputs["x"])]

        return Tuning(run, lambda: run, Samples(signature), boundary, INSISTED, 0.1, like).choose()

    first = tuned(np.tanh, None)
    taken = len(runs)
    again = tuned(np.tanh, first)
    assert len(runs) < 2 * taken
    assert (again.instances, again.threads, again.rules) == (first.instances, first.threads, first.rules)
    assert again.why[-1] == "as the version before"
    mixing = tuned(lambda x: x - x.mean(axis=0), first)
    assert mixing.rules.max_rows == 1


def test_a_model_that_samples_do_not_fit_is_served_all_the_same() -> None:
    def run(inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        raise AscendError("E40007", "S must be a multiple of 7")

    samples = Samples(Signature((), ()))
    execution = Tuning(run, lambda: run, samples, "no rows", ModelConfig(), 1.0).choose()
    assert (execution.inline, execution.instances, execution.rules.max_rows) == (False, 1, 1)
    assert "multiple of 7" in execution.describe()["why"]


def test_a_model_without_samples_is_tried_at_sizes_that_agree(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def positions() -> onnx.ModelProto:
        return onnx.parser.parse_model(
            """<ir_version: 10, opset_import: ["": 17]>
            g (float[B,P] past, float[B,S] new, float[M,T] mask) => (int64[2,K] y) {
            k = Concat<axis=1>(past, new) kt = Transpose<perm=[1, 0]>(k)
            s = MatMul(mask, kt) y = NonZero(s) }"""
        )

    with caplog.at_level("INFO", "ascend_ep.serving"):
        version = loaded(tmp_path, positions, ModelConfig())
    assert "can't be tried" not in version.execution.describe()["why"]
    assert version.execution.seconds > 0
    assert "has no samples; it is tried at B=2, P=2, S=2, M=2, T=4" in caplog.text


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
