"""Five operators described from the command line, in one model: converted, in stock onnxruntime, from the
bundle, and from the same bundle where its native code isn't trusted."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from build_commands import shorten_proofs
from conversion import assert_close, atc
from onnx import helper, numpy_helper

import ascend_ep
from ascend_ep.cli.op import main as ascend_op
from ascend_ep.codegen.compilers import has_compiler
from ascend_ep.runtime.binding import lib

BATCH, WIDTH = 6, 96
NAMES = ["y", "peak"]
#: Of the largest magnitude of a tensor: products of 96 terms, and five operators of a few ulp each.
BOUND = 2e-6

#: Description and shapes of each operator: formula, def, several inputs, reduction, attribute.
DESCRIBED = {
    "Wobble": ("Wobble(x) = x * σ(x) + sin(x)², where σ(x) = 1 / (1 + exp(-x))", "[6,96]", ()),
    "SoftClip": (
        "def soft_clip(x):\n    y = torch.tanh(x / 3) * 3\n    return y if x > -1 else 0.5 * y - 0.5\n",
        "[6,96]",
        (),
    ),
    "GatedSum": ("GatedSum(x, g, b) = x * tanh(g) + b * exp(-g^2)", "[6,96];[6,96];[96]", ()),
    "SpreadNorm": (
        "SpreadNorm(x, w) = x / (max(x) - min(x) + mean(|x|) + 1e-3) * w",
        "[6,96];[96]",
        (),
    ),
    "Steep": ("Steep(x, k) = x * tanh(k * x) / (1 + exp(-k))", "[6,96]", ("--attr", "k=2.0")),
}


@dataclass(frozen=True)
class Built:
    """Where the operators are installed and the model is, what goes in and what must come out."""

    ops: Path
    folder: Path
    feeds: dict[str, np.ndarray]
    reference: dict[str, np.ndarray]

    @property
    def model(self) -> Path:
        return self.folder / "m.onnx"


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    scale = {"mix": 0.1, "w": 1.0, "b": 0.5}
    shapes = {"mix": (WIDTH, WIDTH), "w": (WIDTH,), "b": (WIDTH,)}
    return {n: (rng.standard_normal(s) * scale[n]).astype(np.float32) for n, s in shapes.items()}


def reference(x: np.ndarray) -> dict[str, np.ndarray]:
    """The model in float64, written by hand."""
    x = x.astype(np.float64)
    mix, w, b = (v.astype(np.float64) for v in weights().values())
    wobbled = x * sigmoid(x) + np.sin(x) ** 2
    mixed = wobbled @ mix
    y = np.tanh(mixed / 3) * 3
    clipped = np.where(mixed > -1, y, 0.5 * y - 0.5)
    gated = wobbled * np.tanh(clipped) + b * np.exp(-(clipped**2))
    spread = gated.max(-1, keepdims=True) - gated.min(-1, keepdims=True)
    normed = gated / (spread + np.abs(gated).mean(-1, keepdims=True) + 1e-3) * w
    steep = normed * np.tanh(1.5 * normed) / (1 + np.exp(-1.5))
    return {"y": steep, "peak": steep.max(-1)}


def model() -> onnx.ModelProto:
    def mine(op: str, inputs: list[str], output: str, **attributes: float) -> onnx.NodeProto:
        return helper.make_node(op, inputs, [output], domain="lab", **attributes)

    nodes = [
        mine("Wobble", ["x"], "wobbled"),
        helper.make_node("MatMul", ["wobbled", "mix"], ["mixed"]),
        mine("SoftClip", ["mixed"], "clipped"),
        mine("GatedSum", ["wobbled", "clipped", "b"], "gated"),
        mine("SpreadNorm", ["gated", "w"], "normed"),
        mine("Steep", ["normed"], "y", k=1.5),
        helper.make_node("ReduceMax", ["y", "last"], ["peak"], keepdims=0),
    ]
    values = {**weights(), "last": np.array([-1], np.int64)}
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "described",
        [info("x", 1, [BATCH, WIDTH])],
        [info("y", 1, [BATCH, WIDTH]), info("peak", 1, [BATCH])],
        [numpy_helper.from_array(v, n) for n, v in values.items()],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("lab", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The operators installed by ascend-op build, and the model converted by ascend-atc."""
    if not has_compiler():
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("described")
    ops = folder / "ops"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_CUSTOM_OPS", str(ops))
        patch.setenv("ASCEND_EP_TRUST", str(folder / "trust"))
        for op_type, (prompt, shapes, more) in DESCRIBED.items():
            words = ["build", "--prompt", prompt, "--input_shape", shapes, "--search=0", *more]
            assert ascend_op([*words, "--output", str(folder / "out")], os.environ) == 0, op_type
            shorten_proofs(patch)  # of all but the first
        onnx.save(model(), folder / "m.onnx")
        words = ["--model=m.onnx", "--framework=5", "--output=m", "--soc_version=Ascend910B3"]
        done = atc(*words, "--precision_mode=must_keep_origin_dtype", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ATC run success" in done.stdout
    x = (np.random.default_rng(1).standard_normal((BATCH, WIDTH)) * 2).astype(np.float32)
    return Built(ops, folder, {"x": x}, reference(x))


@pytest.fixture
def here(built: Built, monkeypatch: pytest.MonkeyPatch) -> Built:
    """In the environment where the operators were built."""
    monkeypatch.setenv("ASCEND_CUSTOM_OPS", str(built.ops))
    monkeypatch.setenv("ASCEND_EP_TRUST", str(built.folder / "trust"))
    return built


def check(built: Built, outputs: list[np.ndarray]) -> None:
    assert_close(outputs, NAMES, built.reference, BOUND)


def test_all_five_are_listed_with_their_proof(here: Built, capsys: pytest.CaptureFixture[str]) -> None:
    assert ascend_op(["list"], os.environ) == 0
    listed = capsys.readouterr().out.splitlines()
    for op_type in DESCRIBED:
        (line,) = [line for line in listed if line.startswith(f"{op_type} ")]
        assert "proven (" in line
    assert ascend_op(["explain", "Steep"], os.environ) == 0
    explained = capsys.readouterr().out
    assert "attribute k: float, default 2.0" in explained
    assert "proof: proven" in explained
    for op_type in DESCRIBED:
        assert ascend_op(["verify", op_type], os.environ) == 0
    assert "proof holds" in capsys.readouterr().out


@pytest.mark.parametrize("file", ["m.onnx", "m_ctx.onnx"])
def test_in_stock_onnxruntime(here: Built, file: str) -> None:
    session = onnxruntime.InferenceSession(here.folder / file, providers=["AscendEP"])
    check(here, session.run(NAMES, here.feeds))


def test_the_context_model_in_a_process_that_knows_none_of_them(here: Built) -> None:
    """No $ASCEND_CUSTOM_OPS: what the operators are is in the bundle."""
    np.save(here.folder / "x.npy", here.feeds["x"])
    program = (
        "import onnxruntime, ascend_ep, numpy as np\n"
        "s = onnxruntime.InferenceSession('m_ctx.onnx', providers=['AscendEP'])\n"
        "y, peak = s.run(['y', 'peak'], {'x': np.load('x.npy')})\n"
        "np.savez('out.npz', y=y, peak=peak)\n"
    )
    environ = {k: v for k, v in os.environ.items() if k != "ASCEND_CUSTOM_OPS"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=here.folder, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = np.load(here.folder / "out.npz")
    check(here, [found[n] for n in NAMES])


def loaded(session: ascend_ep.InferenceSession) -> list[int]:
    bundle = session._executor.bundle
    return [lib.asc_model_native_loaded(bundle.model.pointer, i) for i in range(len(bundle.natives))]


def test_from_the_bundle_compiled_and_interpreted(here: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = ascend_ep.InferenceSession(here.folder / "m.om")
    assert compiled.get_providers() == ["AscendEP"]
    assert set(loaded(compiled)) == {1}
    outputs = compiled.run(NAMES, here.feeds)
    check(here, outputs)
    monkeypatch.delenv("ASCEND_CUSTOM_OPS")
    monkeypatch.setenv("ASCEND_EP_TRUST", str(here.folder / "nobody"))
    interpreted = ascend_ep.InferenceSession(here.folder / "m.om")
    assert set(loaded(interpreted)) == {0}
    others = interpreted.run(NAMES, here.feeds)
    check(here, others)
    for a, b in zip(outputs, others, strict=True):
        worst = np.abs(a.astype(np.float64) - b).max() / np.abs(a).max()
        assert worst <= BOUND
    again = onnxruntime.InferenceSession(here.folder / "m_ctx.onnx", providers=["AscendEP"])
    check(here, again.run(NAMES, here.feeds))
