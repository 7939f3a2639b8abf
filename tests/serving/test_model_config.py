"""config.pbtxt: what it says, what it may not say, and on which line."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from random import Random

import numpy as np
import pytest
from running import Running
from served_models import put, rows

from ascend_ep.errors import AscendError
from ascend_ep.serving.repository import config_file
from ascend_ep.serving.repository.config import Batching, ModelConfig, VersionPolicy
from ascend_ep.serving.repository.config_check import check_config
from ascend_ep.serving.repository.config_file import config_from_text
from ascend_ep.serving.repository.config_lines import Lines
from ascend_ep.serving.repository.conversion_options import read_options
from ascend_ep.serving.repository.layout import Layout
from ascend_ep.serving.settings import Settings
from ascend_ep.serving.signature import Signature, TensorSpec

WHOLE = """
name: "m"
platform: "onnxruntime_onnx"
max_batch_size: 8
# a comment with { brackets ] and "quotes
input [
  { name: "x" data_type: TYPE_FP32 dims: [ 8 ] },
  {
    name: "ids"
    data_type: TYPE_STRING
    dims: [ -1, 2 ]
  }
]
output { name: 'y' data_type: TYPE_FP32 dims: 4 }
version_policy: { specific: { versions: [ 3, 1 ] } }
instance_group [ { count: 2 kind: KIND_CPU }, { kind: KIND_GPU } ]
dynamic_batching {
  preferred_batch_size: [ 4, 8 ]
  max_queue_delay_microseconds: 1500
  default_queue_policy { max_queue_size: 5 default_timeout_microseconds: 20000 }
}
parameters { key: "threads" value: { string_value: "3" } }
parameters { key: "split" value: { string_value: "1:0.9, 3:0.1" } }
parameters { key: "shadow" value: { string_value: "3" } }
model_warmup { name: "w" batch_size: 2 count: 3
               inputs { key: "x" value: { data_type: TYPE_FP32 dims: 8 random_data: true } } }
"""


def test_everything_that_means_something(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        config = config_from_text("m", WHOLE)
    assert config.max_batch_size == 8
    assert config.batching == Batching((4, 8), 0.0015, 5, 0.02, False)
    assert config.instances == 3
    assert config.threads == 3
    assert config.policy == VersionPolicy(latest=0, specific=(1, 3))
    assert config.split == ((1, 0.9), (3, 0.1))
    assert (config.shadow, config.shadow_share) == (3, 1.0)
    (warmup,) = config.warmups
    ((name, array),) = warmup.inputs
    assert (name, array.shape, array.dtype, warmup.count) == ("x", (2, 8), np.float32, 3)
    assert [(t.name, t.datatype, t.dims, t.line) for t in config.declared.inputs] == [
        ("x", "FP32", (8,), 7),
        ("ids", "BYTES", (-1, 2), 8),
    ]
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert "line 3, platform has no effect" in said[0]
    assert "line 16, instance_group[1].kind has no effect" in said[1]


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("", VersionPolicy(latest=1)),
        ("version_policy { latest { num_versions: 3 } }", VersionPolicy(latest=3)),
        ("version_policy: { all: {} }", VersionPolicy(latest=0)),
        ("version_policy < specific < versions: 2 > >", VersionPolicy(latest=0, specific=(2,))),
    ],
)
def test_version_policies(text: str, policy: VersionPolicy) -> None:
    assert config_from_text("m", text).policy == policy


@pytest.mark.parametrize(
    ("policy", "chosen"),
    [
        (VersionPolicy(), [7]),
        (VersionPolicy(latest=2), [3, 7]),
        (VersionPolicy(latest=9), [1, 3, 7]),
        (VersionPolicy(latest=0), [1, 3, 7]),
        (VersionPolicy(latest=0, specific=(1, 4)), [1]),
    ],
)
def test_choice_of_versions(policy: VersionPolicy, chosen: list[int]) -> None:
    assert policy.choose([7, 1, 3]) == chosen


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ('name: "m"\nmax_batch: 3', 2, 'no field named "max_batch"'),
        ("max_batch_size: {", 1, ""),
        ('\n\nname: "other"', 3, "the model's folder is [m]"),
        ("max_batch_size: -1", 1, "0 (no batches) or more"),
        ("max_batch_size: 0\ndynamic_batching {}", 2, "no batches with max_batch_size 0"),
        ("max_batch_size: 4\ndynamic_batching {\npreferred_batch_size: [2,\n8] }", 4, "between 1 and"),
        ("version_policy {\nspecific { } }", 2, "it names versions"),
        ("instance_group [ {},\n{ count: -1 } ]", 2, "1 or more"),
        ("#\nsequence_batching { }", 2, "sequences aren't supported"),
        ("ensemble_scheduling { }", 1, "ensembles aren't supported"),
        ("input { name: 'x'\nreshape { shape: [] } }", 2, "reshaping them isn't supported"),
        ("input { name: 'x'\noptional: true }", 2, "every input"),
        ("input { data_type: TYPE_FP32 }", 1, "it has no name"),
        ("output { name: 'x'\ndims: [ 3, -2 ] }", 2, "a size is -1"),
        ("\nmodel_transaction_policy { decoupled: true }", 2, "exactly one answer"),
        ('default_model_filename: "../x.om"', 1, "it is model.om or model.onnx"),
        ('model_operations { op_library_filename: "x.so" }', 1, "aren't loaded"),
        ('parameters { key: "threads" value { string_value: "0" } }', 1, "a number from 1"),
        ('parameters { key: "split" value { string_value: "1:-1" } }', 1, "weights of versions"),
        ('parameters { key: "shadow" value { string_value: "x" } }', 1, "the number of a version"),
        ('model_warmup { inputs { key: "x" value { dims: 1 } } }', 1, "has no data_type"),
    ],
)
def test_refusals_name_the_line(text: str, line: int, why: str) -> None:
    with pytest.raises(AscendError) as caught:
        config_from_text("m", text)
    assert caught.value.code == "E50041"
    assert f"line {line}" in caught.value.text
    assert why in caught.value.text


SIGNATURE = Signature(
    (TensorSpec("x", "FP32", ("N", 8)),),
    (TensorSpec("y", "FP32", ("N", 4)), TensorSpec("z", "INT64", ("N",))),
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "max_batch_size: 4 input { name: 'x' data_type: TYPE_FP32 dims: 8 } output { name: 'y' }",
        "input { name: 'x' dims: [ -1, 8 ] } output { name: 'z' data_type: TYPE_INT64 dims: -1 }",
        "input { name: 'x' dims: [ 5, 8 ] }",
    ],
)
def test_what_agrees_with_the_bundle(text: str) -> None:
    config = config_from_text("m", text)
    check_config("m", config, SIGNATURE)
    assert config == config_from_text("m", text)  # judged, not completed


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("\ninput { name: 'X' }", "line 2: the bundle has no input [X]"),
        ("input { name: 'x'\ndata_type: TYPE_FP16 }", "line 1: input [x] is FP16; the bundle's is FP32"),
        ("input { name: 'x' dims: [ -1, 7 ] }", "has sizes [-1, 7]; the bundle's has ['N', 8]"),
        ("max_batch_size: 2 input { name: 'x' dims: [ -1, 8 ] }", "has sizes [-1, -1, 8]"),
        ("output { name: 'y' dims: [ -1, -1 ] }", "has sizes"),
    ],
)
def test_contradictions_to_the_bundle(text: str, why: str) -> None:
    with pytest.raises(AscendError) as caught:
        check_config("m", config_from_text("m", text), SIGNATURE)
    assert why in caught.value.text


def test_batches_of_a_bundle_without_a_batch() -> None:
    fixed = Signature((TensorSpec("x", "FP32", (1, 8)),), (TensorSpec("y", "FP32", (1, 4)),))
    check_config("m", ModelConfig(max_batch_size=0), fixed)
    with pytest.raises(AscendError, match="line 2: max_batch_size is 8"):
        check_config("m", config_from_text("m", "\nmax_batch_size: 8"), fixed)


def test_a_bad_config_is_a_load_failure_and_mended_by_the_next_load(tmp_path: Path) -> None:
    put(tmp_path, "rows", 1, rows)
    config = tmp_path / "rows" / "config.pbtxt"
    config.write_text("max_batch_size: oops")
    settings = Settings(tmp_path, http_port=0, model_control_mode="explicit", load_models=("*",))
    with pytest.raises(AscendError, match="1 of the models can't be loaded"):
        Running(settings)
    with Running(Settings(tmp_path, http_port=0, exit_on_error=False)) as running:
        repository = running.server.repository
        (entry,) = repository.index()
        assert (entry.name, entry.state) == ("rows", "UNAVAILABLE")
        assert "line 1:17" in entry.reason
        assert not repository.ready
        config.write_text("max_batch_size: 4 instance_group { count: 1 }")
        running.call(repository.load_model("rows"))
        assert repository.ready
        assert repository.models["rows"].config.max_batch_size == 4
        config.write_text("input { name: 'absent' }")
        with pytest.raises(AscendError, match=r"no input \[absent\]"):
            running.call(repository.load_model("rows"))
        (entry,) = repository.index()
        assert (entry.state, "no input [absent]" in entry.reason) == ("READY", True)
        assert repository.ready


def test_lines_of_fields() -> None:
    lines = Lines(WHOLE)
    assert lines["input[1].dims"] == 11
    assert lines["input[1].dims[1]"] == 11
    assert lines["dynamic_batching.max_queue_delay_microseconds"] == 19
    assert lines["parameters[2].value.string_value"] == 24
    assert lines["input[1].absent"] == 8
    assert "max_batch_size" in lines
    assert "backend" not in lines


def test_any_text_is_a_config_or_is_refused_with_a_line() -> None:
    random = Random(5)
    pieces = [
        *"{}[]<>:,#'",
        "-1",
        "9" * 20,
        "nan",
        "\\x",
        "\0",
        '"\\377"',
        "dims",
        "true",
        "TYPE_FP32",
        "\n",
        "é",
    ]
    for _ in range(300):
        text = WHOLE
        for _ in range(random.randint(1, 3)):
            at = random.randrange(len(text))
            text = (
                text[:at] + random.choice(pieces) * random.randint(0, 1) + text[at + random.randint(0, 9) :]
            )
        refused = refusal(text)
        assert refused is None or (refused.code == "E50041" and "line " in refused.text)


def refusal(text: str) -> AscendError | None:
    try:
        config_from_text("m", text)
    except AscendError as error:
        return error
    return None


def test_the_examples_of_the_readme(tmp_path: Path) -> None:
    readme = Path(config_file.__file__).with_name("README.md").read_text()
    config, options = (re.findall(rf"```{kind}\n(.*?)```", readme, re.DOTALL)[0] for kind in ("pbtxt", "cfg"))
    made = config_from_text("m", config)
    assert (made.policy.latest, made.threads, made.shadow) == (2, 2, 2)
    assert made.warmups[0].inputs[0][1].shape == (8, 3, 224, 224)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "atc.cfg").write_text(options)
    (tmp_path / "m" / "swish_op.json").write_text("{}")
    found = read_options(Layout(tmp_path), "m", tmp_path / "m" / "1")
    assert found["dynamic_batch_size"] == "1,4,16"


def test_labels_are_said_to_be_ignored(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        config_from_text(
            "m", 'output { name: "y" label_filename: "labels.txt" data_type: TYPE_FP32 dims: 4 }'
        )
    assert "output[0].label_filename has no effect" in caplog.text


def test_what_lies_there_instead_of_versions(tmp_path: Path) -> None:
    """As repositories of other servers have it."""
    places = Layout(tmp_path)
    for path in ("trt/1/model.plan", "flat/model.onnx", "flat/config.pbtxt", "saved/1/model.onnx/model.onnx"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / "trt" / "v2").mkdir()
    assert places.instead("trt") == "none; there is 1/model.plan, v2/"
    assert places.instead("flat") == "none; there is model.onnx"
    assert places.instead("saved") == "none; there is 1/model.onnx"
    (tmp_path / "empty").mkdir()
    assert places.instead("empty") == "none"
