"""The first document's command and JSON, letter for letter, and one model five ways."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import mlp
import numpy as np
import onnx
import onnxruntime
import pytest
from conversion import assert_close, atc

import ascend_ep
from ascend_ep.graph.reference import reference_run
from ascend_ep.provider import get_library_path

SWISH_OP = """{
"op": "Swish",
"input_num": 1,
"output_num": 1,
"attr": []
}
"""

COMMAND = [
    "--model=my_model_with_swish.onnx",
    "--framework=5",
    "--output=my_model_opt",
    "--custom_op_info=./swish_op.json",
    "--soc_version=Ascend910",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    onnx.save(mlp.build(batch=4), tmp_path / "my_model_with_swish.onnx")
    (tmp_path / "swish_op.json").write_text(SWISH_OP)
    return tmp_path


def test_the_command_letter_for_letter(folder: Path) -> None:
    result = atc(*COMMAND, cwd=folder)
    lines = result.stdout.splitlines()
    assert result.returncode == 0, result.stdout + result.stderr
    assert lines[0] == "ATC start working now, please wait for a moment."
    assert lines[-2:] == ["...", "ATC run success, welcome to the next use."]
    assert (folder / "my_model_opt.om").read_bytes()[:4] == b"IMOD"
    assert (folder / "my_model_opt_ctx.onnx").stat().st_size < 8192


def test_the_command_is_installed() -> None:
    script = Path(sys.executable).parent / "ascend-atc"
    if not script.exists():
        assert "site-packages" not in ascend_ep.__file__, "ascend-atc is not on the path of this environment"
        return
    shown = subprocess.run([script, "--help"], capture_output=True, text=True, check=False)
    assert shown.returncode == 0
    assert "--custom_op_info" in shown.stdout


def test_five_ways_to_one_result(folder: Path) -> None:
    result = atc(*COMMAND, "--precision_mode=must_keep_origin_dtype", cwd=folder)
    assert result.returncode == 0, result.stdout + result.stderr
    # What the C program feeds: x[i] = (i % 7) - 3.
    feeds = {"x": (np.arange(4 * 64) % 7 - 3).astype(np.float32).reshape(4, 64)}
    reference = reference_run(folder / "my_model_with_swish.onnx", feeds)
    names = ["probabilities"]

    own = ascend_ep.InferenceSession(str(folder / "my_model_opt.om"))
    assert_close(own.run(None, feeds), names, reference, 1e-5)
    options = [{"custom_op_info": str(folder / "swish_op.json")}]
    original = str(folder / "my_model_with_swish.onnx")
    stock = onnxruntime.InferenceSession(original, providers=["AscendEP"], provider_options=options)
    assert_close(stock.run(names, feeds), names, reference, 1e-5)
    context = onnxruntime.InferenceSession(str(folder / "my_model_opt_ctx.onnx"), providers=["AscendEP"])
    assert_close(context.run(names, feeds), names, reference, 1e-5)
    assert_close([run_in_c(folder)], names, reference, 1e-5)


def run_in_c(folder: Path) -> np.ndarray:
    """The context model in a C program that knows onnxruntime and the plugin, and no Python."""
    source = Path(__file__).resolve().parent.parent / "provider" / "host_program.c"
    program = folder / "host_program"
    subprocess.run(["cc", "-O1", "-Wall", "-o", program, source, "-ldl"], check=True)
    runtime = next(Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.*"))
    model = folder / "my_model_opt_ctx.onnx"
    words = [program, runtime, get_library_path(), model, "4", "64", "probabilities"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return np.array(done.stdout.split(), np.float32).reshape(4, 10)


def test_the_definition_the_command_read_is_named(folder: Path) -> None:
    result = atc(*COMMAND, "--json=table.json", cwd=folder)
    assert result.returncode == 0, result.stdout + result.stderr
    table = json.loads((folder / "table.json").read_text())
    swish = next(node for node in table["nodes"] if node["op_type"] == "Swish")
    assert swish["provider"] == "AscendEP"
    assert "swish_op.json" in swish["definition"]


def test_json_on_standard_output_is_for_machines(folder: Path) -> None:
    result = atc(*COMMAND, "--json=-", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["counts"].keys() == {"AscendEP"}  # casts of force_fp16 included
    assert "ATC run success" in result.stderr
