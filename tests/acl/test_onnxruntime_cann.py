"""The unmodified onnxruntime-cann on our libraries: the page's program, networks, node cases, options.

It wants an environment of its own, which is kept in the cache folder. Without it, and without a registry that
has its packages, these are skipped.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from ascend_ep.runtime.cache_folder import cache_path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "onnxruntime-cann.md"
PROGRAMS = Path(__file__).parent / "programs"
WHEEL = "onnxruntime-cann==1.24.4"
PACKAGES = (WHEEL, "onnx==1.19.1", "numpy<2")
EXACT = "precision_mode=must_keep_origin_dtype"
SINGLE = "enable_cann_graph=0"
#: Of the largest magnitude: float32 in another order, and in float16.
CLOSE, HALF = 1e-5, 1e-2
#: With options of the provider, cases of ONNX's suite.
GRAPHS = """
abs add_bcast argmax_keepdims_example averagepool_2d_strides clip_example concat_2d_axis_0
conv_with_strides_padding convtranspose_pads cosh cumsum_1d div elu gather_0 gelu_default_1
gemm_all_attributes globalaveragepool gru_defaults hardmax_one_hot instancenorm_example
layer_normalization_2d_axis0 lstm_defaults
matmul_3d maxpool_2d_pads mod_broadcast not_2d pow_example roialign_aligned_false softmax_axis_0
"""
SINGLES = """
abs add batchnorm_example ceil div_bcast floor matmul_2d mul_bcast neg_example reciprocal
"""
#: Of an older suite, whose operators the provider has kernels for; its data come with any wheel.
OLDER, OLDER_WHEEL = "1.10.2", ("--python-version=36", "--only-binary=:all:")
OLD_SINGLES = """
averagepool_2d_ceil averagepool_2d_strides cast_DOUBLE_to_FLOAT16 reshape_extended_dims
reshape_reordered_all_dims reshape_zero_dim transpose_all_permutations_3
"""
CASES = {EXACT: GRAPHS.split(), SINGLE: SINGLES.split()}
Program = Callable[..., str]


@pytest.fixture(scope="module")
def python() -> Path:
    """The Python of the environment that has onnxruntime-cann."""
    if sys.version_info[:2] != (3, 11):
        pytest.skip("the environment is made for Python 3.11")
    folder = cache_path() / WHEEL.replace("==", "-")
    found = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=300)
        done = subprocess.run(
            [found, "-m", "pip", "install", "--quiet", *PACKAGES], capture_output=True, text=True, timeout=900
        )
        if done.returncode:
            pytest.skip(f"no registry gives {WHEEL}: {done.stderr.strip().splitlines()[-1:]}")
        (folder / "complete").touch()
    return found


@pytest.fixture
def run(python: Path, toolkit: Path, tmp_path: Path) -> Program:
    """Runs the environment's Python as the page describes; the output, or with `fails` the errors."""

    def ran(*words: object, fails: bool = False) -> str:
        script = f'. {toolkit}/set_env.sh && exec "$@"'
        done = subprocess.run(
            ["bash", "-c", script, "bash", str(python), *map(str, words)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=1500,
        )
        assert (done.returncode != 0) == fails, done.stderr[-3000:]
        return done.stderr if fails else done.stdout

    return ran


def network(name: str) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """One of models/, tiny, with random weights, and inputs of it."""
    pytest.importorskip("torch")
    sys.path.insert(0, str(ROOT / "models"))
    import resnet
    from architectures import ARCHITECTURES, export_architecture

    if name == "resnet":
        model = resnet.build(depth=18, batch=2, image=64, width=16, classes=10)
        return model, {"x": np.random.default_rng(0).standard_normal((2, 3, 64, 64)).astype(np.float32)}
    model = export_architecture(name, free=True)
    given = ARCHITECTURES[name].example()
    return model, {i.name: given[i.name].numpy() for i in model.graph.input}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet", "bert"])
def test_a_network_in_both_modes(run: Program, tmp_path: Path, name: str) -> None:
    import onnxruntime

    model, given = network(name)
    onnx.save(model, tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", **given)
    reference = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = reference.run(None, given)
    for option, close in ((EXACT, CLOSE), ("op_select_impl_mode=high_precision", HALF), (SINGLE, CLOSE)):
        printed = run(
            PROGRAMS / "onnxruntime_cann_model.py", "m.onnx", "in.npz", "out.npz", option, "dump_om_model=0"
        )
        nodes = json.loads(printed.splitlines()[-1])
        assert (
            nodes["CANNExecutionProvider"] > 40
            if option == SINGLE
            else set(nodes) == {"CANNExecutionProvider"}
        )
        with np.load(tmp_path / "out.npz") as results:
            for found, value in zip(results.values(), wanted, strict=True):
                assert np.abs(found - value).max() <= close * np.abs(value).max(), (option, nodes)


@pytest.mark.slow
@pytest.mark.parametrize("option", CASES)
def test_node_cases(python: Path, tmp_path: Path, option: str) -> None:
    (tmp_path / "cases").write_text("\n".join(f"test_{name}" for name in CASES[option]))
    command = [sys.executable, str(ROOT / "tools" / "run_onnxruntime_cann"), "--python", str(python)]
    done = subprocess.run(
        [*command, "--cases", str(tmp_path / "cases"), option], capture_output=True, text=True, timeout=1500
    )
    assert done.stdout == f"{len(CASES[option])} agrees\n", done.stdout + done.stderr[-2000:]


@pytest.fixture(scope="module")
def older_suite() -> Path:
    """The folder of the cases of ONNX 1.10."""
    folder = cache_path() / f"onnx-{OLDER}"
    found = folder / "onnx" / "backend" / "test" / "data" / "node"
    if not found.is_dir():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *OLDER_WHEEL]
        done = subprocess.run(
            [*command, f"--dest={folder}", f"onnx=={OLDER}"], capture_output=True, text=True, timeout=600
        )
        if done.returncode:
            pytest.skip(f"no registry gives onnx {OLDER}: {done.stderr.strip().splitlines()[-1:]}")
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        wheel.unlink()
    return found


@pytest.mark.slow
def test_node_cases_of_older_operators(python: Path, older_suite: Path, tmp_path: Path) -> None:
    (tmp_path / "cases").write_text("\n".join(f"test_{name}" for name in OLD_SINGLES.split()))
    command = [sys.executable, str(ROOT / "tools" / "run_onnxruntime_cann"), "--python", str(python)]
    done = subprocess.run(
        [*command, "--suite", str(older_suite), "--cases", str(tmp_path / "cases"), SINGLE],
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.stdout == f"{len(OLD_SINGLES.split())} agrees\n", done.stdout + done.stderr[-2000:]


MISTAKES = [
    (["--python", "nowhere/bin/python"], "[nowhere/bin/python] is no program"),
    (["--python", "/bin/false"], "lacks what the cases need"),
    (["--python", sys.executable, "--suite", "nothing"], "--suite: [nothing] is no folder"),
    (["--python", sys.executable, "--cases", "nothing"], "--cases: [nothing] is no file"),
    (["--python", sys.executable, "--table", "nothing/t"], "--table: [nothing] is no folder"),
    (["--python", sys.executable, "--every", "0"], "--every: [0] is below 1"),
    (["--python", sys.executable, "precision_mode"], "[precision_mode] isn't NAME=VALUE"),
]


@pytest.mark.parametrize(("given", "said"), MISTAKES)
def test_the_tool_says_what_is_wrong(given: list[str], said: str) -> None:
    command = [sys.executable, str(ROOT / "tools" / "run_onnxruntime_cann"), *given]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_the_page_and_what_options_do(run: Program, tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S)
    (tmp_path / "run.py").write_text(program)
    printed = run("run.py")
    assert "['CANNExecutionProvider', 'CPUExecutionProvider']" in printed
    assert float(printed.split()[-1]) < 1e-6
    (kept,) = tmp_path.glob("*.om")  # dump_om_model is on unless it is switched off
    assert run("run.py") == printed
    kept.write_bytes(b"no bundle")
    assert "aclmdlLoadFromFile" in run("run.py", fails=True)
    (tmp_path / "run.py").write_text(program.replace('"device_id": 0', '"device_id": 7'))
    printed = run("run.py")  # onnxruntime says so, and goes on without the provider
    assert "Invalid device ID: 7" in printed
    assert "['CPUExecutionProvider']" in printed
    kept.unlink()
    (tmp_path / "run.py").write_text(program.replace("must_keep_origin_dtype", "no_such_mode"))
    assert "ascend-atc refuses the graph" in run("run.py", fails=True)
