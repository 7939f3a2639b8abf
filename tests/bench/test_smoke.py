"""tools/bench from end to end on two small rows, as an installed package or the source tree; times are not
asserted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmark.quiet import Clock, Patience
from benchmark.rows import ROWS, Model
from benchmark.work import Work, work_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, dict[str, object]]]:
    """The rows of the JSON by name."""
    folder = tmp_path_factory.mktemp("bench")
    paths = [str(ROOT / "tools"), os.environ.get("PYTHONPATH", "")]
    flags = ["--only=chain,mlp", "--rounds=2", "--slot=0.02", "--patience=0", "--threads=1"]
    flags += [f"--work={folder}", f"--json={folder / 'found.json'}"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "benchmark", *flags],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {row["name"]: row for row in json.loads((folder / "found.json").read_text())["rows"]}


@pytest.mark.parametrize("row", ["chain", "mlp"])
def test_every_backend_has_a_number_or_a_reason(
    found: dict[str, dict[str, dict[str, object]]], row: str
) -> None:
    for backend in ("ort", "own", "ascend_in_ort"):
        assert len(found[row]["rounds"][backend]) == 2  # type: ignore[arg-type]
        assert float(found[row]["errors"][backend]) < 2e-5  # type: ignore[arg-type]
    assert len(found[row]["beside"]) == 2
    assert "openvino" in found[row]["rounds"] or found[row]["missing"]["openvino"]


@pytest.mark.parametrize("flag", ["--rounds=0", "--rounds=-1", "--threads=x"])
def test_counts_begin_at_one(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    from benchmark.__main__ import parser

    with pytest.raises(SystemExit):
        parser().parse_args([flag])
    assert "is no number from 1 on" in capsys.readouterr().err


def test_floors_need_a_compiler_only(found: dict[str, dict[str, dict[str, float]]]) -> None:
    limits = found["chain"]["limits"]
    if not limits:
        pytest.skip("no C compiler")
    assert limits["flops"] > 1e9
    assert 0 < found["chain"]["floors"]["float32"] < 1


def test_quiet_knows_its_own_process() -> None:
    before = Clock.now(os.getpid())
    while Clock.now().wall < before.wall + 0.05:
        np.ones(1000).sum()
    assert before.foreign(Clock.now(os.getpid())) <= 1.1
    assert Patience(0).take(lambda: 7, os.getpid())[0] == 7


def test_work_of_a_linear_layer() -> None:
    import blocks

    found = work_of(blocks.build("linear_gelu", rows=4, fan_in=8, fan_out=16))
    weights, bias, floats = 4 * 8 * 16, 4 * 16, 4 * 3  # sqrt 2, 1 and 0.5
    assert found == Work(weights, 4 * 4 * 8 + bias + floats, 4 * 4 * 16, 2 * 4 * 8 * 16, 4 * 16)


def test_work_of_a_convolution() -> None:
    import blocks

    assert work_of(blocks.build("depthwise", shape=(1, 2, 5, 5))).flops == 2 * (2 * 5 * 5) * 9


@pytest.mark.parametrize("row", [r.name for r in ROWS if r.model.builder == "blocks"])
def test_blocks_are_standard_models(row: str) -> None:
    """The checker of onnx takes every row's graph, in a domain that all backends know."""
    import blocks
    import onnx

    model = next(r.model for r in ROWS if r.name == row)
    proto = blocks.build(**model.arguments)
    onnx.checker.check_model(proto, full_check=True)
    assert {o.domain for o in proto.opset_import} == {""}


def test_the_exported_llama_computes_what_the_custom_one_does() -> None:
    import llama

    from ascend_ep.graph.reference import reference_run

    custom, exported = (llama.build(seq=5, past=3, form=form) for form in ("custom", "exported"))
    feeds = llama.sample_inputs(custom)
    expected, found = reference_run(custom, feeds), reference_run(exported, feeds)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-6, atol=1e-6, err_msg=name)
    assert {n.domain for n in exported.graph.node} == {""}


def test_int8_weights_are_close() -> None:
    import llama
    import onnx
    from weight_only import quantize_weights

    model = llama.build(form="exported")
    small = quantize_weights(model)
    onnx.checker.check_model(small)
    kinds = {t.name: t.data_type for t in small.graph.initializer}
    assert kinds["layers.0.mlp.up.weight.int8"] == onnx.TensorProto.INT8
    assert Model("llama", int8_weights=True).int8_weights
    before = next(t for t in model.graph.initializer if t.name == "layers.0.mlp.up.weight")
    parts = {t.name: onnx.numpy_helper.to_array(t) for t in small.graph.initializer}
    restored = parts[f"{before.name}.int8"].astype(np.float32) * parts[f"{before.name}.scale"]
    original = onnx.numpy_helper.to_array(before)
    assert np.abs(restored - original).max() <= np.abs(original).max() / 254 * 1.01


def test_the_wide_rows_need_nothing_to_be_listed() -> None:
    """torchvision and transformers are installed only to make them."""
    paths = [str(ROOT / "tools"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "benchmark", "--wide", "--only=densenet121*,wav2vec2_b1", "--list"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "densenet121_b1",
        "densenet121_b4",
        "wav2vec2_b1",
    ]
