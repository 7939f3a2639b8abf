"""--custom_op=RoPE:./rope.so: the library travels in the bundle, and runs only where it is trusted."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from small_models import FLOAT, model

import ascend_ep
from ascend_ep.cli.om import main
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.opdef.registry import Registry
from ascend_ep.runtime import trust

SOURCE = Path(__file__).parent.parent / "assets" / "rope_library.c"
S, D = 6, 8


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    target = tmp_path_factory.mktemp("library") / "rope.so"
    flags = ["-O2", "-shared", "-fPIC", f"-I{ascend_ep.get_include()}"]
    subprocess.run([compiler, *flags, str(SOURCE), "-o", str(target)], check=True)
    return Registry(libraries={"RoPE": target})


def rope() -> onnx.ModelProto:
    return model(
        [
            helper.make_node("RoPE", ["x", "cos", "sin"], ["r"], "rope", domain="my", interleaved=1),
            helper.make_node("Neg", ["r"], ["y"], "neg"),
        ],
        [("x", FLOAT, ["B", S, D]), ("cos", FLOAT, [S, D // 2]), ("sin", FLOAT, [S, D // 2])],
        [("y", FLOAT, ["B", S, D])],
    )


def feeds(batch: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(batch)
    angle = generator.uniform(0, 6, (S, D // 2))
    x = generator.standard_normal((batch, S, D)).astype(np.float32)
    return {"x": x, "cos": np.cos(angle).astype(np.float32), "sin": np.sin(angle).astype(np.float32)}


def expected(given: dict[str, np.ndarray]) -> np.ndarray:
    even, odd = given["x"][..., 0::2].astype(np.float64), given["x"][..., 1::2].astype(np.float64)
    out = np.empty(given["x"].shape)
    out[..., 0::2] = even * given["cos"] - odd * given["sin"]
    out[..., 1::2] = even * given["sin"] + odd * given["cos"]
    return -out


def test_runs_here_and_nowhere_else_unasked(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASCEND_EP_TRUST", str(tmp_path / "here"))
    bundle = tmp_path / "m.om"
    conversion = convert(rope(), ConvertOptions(registry=registry))
    assert {r.target for r in conversion.partition_table} == {"AscendEP"}
    conversion.write(bundle)
    for batch in (1, 3):
        given = feeds(batch)
        (y,) = ascend_ep.InferenceSession(bundle).run(None, given)
        np.testing.assert_allclose(y, expected(given), rtol=0, atol=2e-6)

    (digest,) = trust.trusted()
    monkeypatch.setenv("ASCEND_EP_TRUST", str(tmp_path / "elsewhere"))
    with pytest.raises(AscendError, match="not trusted") as caught:
        ascend_ep.InferenceSession(bundle).run(None, feeds(1))
    assert caught.value.code == "E40009"
    allowed = ascend_ep.InferenceSession(
        bundle, providers=["AscendEP"], provider_options=[{"trust": f"sha256:{digest}"}]
    )
    allowed.run(None, feeds(2))
    assert main(["trust", str(bundle)]) == 0
    assert digest in capsys.readouterr().out
    ascend_ep.InferenceSession(bundle).run(None, feeds(2))


def test_a_library_refuses_in_its_own_words(registry: Registry) -> None:
    source = rope()
    source.graph.input[0].type.tensor_type.shape.dim[2].dim_value = D + 1
    with pytest.raises(AscendError, match="even D") as caught:
        convert(source, ConvertOptions(registry=registry))
    assert caught.value.code == "E41011"
    assert "rope" in caught.value.where


def test_a_file_that_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "rope.so").write_text("text")
    with pytest.raises(AscendError) as caught:
        convert(rope(), ConvertOptions(registry=Registry(libraries={"RoPE": tmp_path / "rope.so"})))
    assert caught.value.code == "E10041"
