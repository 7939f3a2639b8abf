"""Providers, options, threads and profiles of an InferenceSession."""

from __future__ import annotations

import json
from pathlib import Path

import onnxruntime
import pytest
from small_models import assert_projected, rows

import ascend_ep
from ascend_ep.errors import AscendError


@pytest.mark.parametrize(
    ("providers", "options", "words"),
    [
        (["CPUExecutionProvider"], None, "leaves out"),
        (["AscendEP"], [{"speed": "high"}], "speed"),
        (["AscendEP"], [{"num_threads": "many"}], "many"),
        (["AscendEP"], [{}, {}], "length"),
    ],
)
def test_wrong_providers(
    bundle: bytes, providers: list[str], options: list[dict[str, str]], words: str
) -> None:
    with pytest.raises(AscendError, match=words):
        ascend_ep.InferenceSession(bundle, providers=providers, provider_options=options)


def test_providers_for_other_machines_are_warned_of(bundle: bytes) -> None:
    with pytest.warns(UserWarning, match="CUDAExecutionProvider"):
        session = ascend_ep.InferenceSession(
            bundle, providers=["CUDAExecutionProvider", "CPUExecutionProvider"]
        )
    assert session.get_providers() == ["AscendEP"]
    with pytest.warns(UserWarning, match=r"Did you mean \[AscendEP\]"):
        ascend_ep.InferenceSession(bundle, providers=["AscendEp"])


def test_options_of_both_kinds(bundle: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASCEND_EP_THREADS", raising=False)  # goes before the options' number
    theirs, ours = onnxruntime.SessionOptions(), ascend_ep.SessionOptions()
    for options in (theirs, ours):
        options.intra_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        made = ascend_ep.InferenceSession(bundle, options)
        assert made.get_provider_options() == {"AscendEP": {"num_threads": "1", "low_memory": "0"}}
        assert_projected(made.run(None, {"x": rows(2)})[0], rows(2))
    with pytest.raises(AttributeError):
        ours.no_such_option = 1


def test_profile(bundle: bytes, mixed_bundle: bytes, tmp_path: Path) -> None:
    for image, names in ((bundle, {"MatMul", "Transpose"}), (mixed_bundle, {"MatMul", "Concat"})):
        options = ascend_ep.SessionOptions()
        options.enable_profiling = True
        options.profile_file_prefix = str(tmp_path / f"p{len(names)}{len(image)}")
        made = ascend_ep.InferenceSession(image, options)
        made.run(None, {"x": rows(3)})
        events = json.loads(Path(made.end_profiling()).read_text())
        assert names <= {e["args"]["op_name"] for e in events if e["cat"] == "Node"}
        whole = next(e for e in events if e["name"] == "model_run")
        assert all(e["dur"] <= whole["dur"] for e in events)


def test_profiling_must_be_enabled(session: ascend_ep.InferenceSession) -> None:
    with pytest.raises(AscendError, match="not enabled"):
        session.end_profiling()


@pytest.mark.parametrize("threads", ["many", "-1", "0", "²"])
def test_a_number_of_threads_that_is_none(
    threads: str, bundle: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_EP_THREADS", threads)
    with pytest.raises(AscendError, match="ASCEND_EP_THREADS"):
        ascend_ep.InferenceSession(bundle)


def test_the_environment_goes_before_the_session_options(
    bundle: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ascend_ep.SessionOptions()
    asked.intra_op_num_threads = 3
    monkeypatch.delenv("ASCEND_EP_THREADS", raising=False)
    made = ascend_ep.InferenceSession(bundle, asked)
    assert made.get_provider_options()["AscendEP"]["num_threads"] == "3"
    monkeypatch.setenv("ASCEND_EP_THREADS", "2")
    made = ascend_ep.InferenceSession(bundle, asked)
    assert made.get_provider_options()["AscendEP"]["num_threads"] == "0"
