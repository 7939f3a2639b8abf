"""ascend-om on bundles, in text and JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from small_models import WEIGHT, mixed, projection

from ascend_ep.cli.om import main
from ascend_ep.cli.om_bench import Trial, kernel_shares
from ascend_ep.compiler.convert import convert
from ascend_ep.runtime.executor import Executor


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("om")
    onnx.save(projection(), folder / "m.onnx")
    convert(folder / "m.onnx").write(folder / "m.om")
    convert(mixed()).write(folder / "mixed.om")
    return folder


def said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, object]]:
    status = main([*map(str, words), "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_inspect(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, found = said(capsys, "inspect", folder / "mixed.om")
    assert status == 0
    kinds = [p["kind"] for p in found["partitions"]]  # type: ignore[attr-defined]
    assert kinds == ["native", "host", "native", "native"]
    assert main(["inspect", str(folder / "mixed.om")]) == 0
    text = capsys.readouterr().out
    assert "symbol N: 0.." in text
    assert "NonZero" in text
    assert "matmul" in text


def test_verify(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, found = said(capsys, "verify", folder / "m.om")
    assert (status, found["ok"], found["weights"]) == (0, True, 1)
    image = bytearray((folder / "m.om").read_bytes())
    at = bytes(image).index(np.ascontiguousarray(WEIGHT[0]).tobytes())
    image[at] ^= 1
    (folder / "bad.om").write_bytes(image)
    status, found = said(capsys, "verify", folder / "bad.om")
    assert (status, found["code"]) == (1, "E40004")


def test_run_on_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.random.default_rng(1).standard_normal((3, 16)).astype(np.float32)
    np.save(folder / "x.npy", x)
    np.savez(folder / "x.npz", x=x)
    for given in ("x.npy", "x.npz"):
        status, found = said(
            capsys, "run", folder / "m.om", "--input", folder / given, "--output", folder / "y.npz"
        )
        assert (status, found["outputs"]["y"]["shape"]) == (0, [8, 3])  # type: ignore[index]
        np.testing.assert_allclose(np.load(folder / "y.npz")["y"], (x @ WEIGHT).T, rtol=0, atol=1e-5)


def test_outputs_go_to_a_device(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where no place can be found again that was written before."""
    (folder / "null").symlink_to("/dev/null")
    status, _ = said(capsys, "run", folder / "m.om", "--dim", "N=1", "--output", folder / "null")
    assert status == 0


def test_run_on_random_inputs_of_a_given_size(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, found = said(capsys, "run", folder / "m.om", "--dim", "N=7")
    assert found["outputs"]["y"]["shape"] == [8, 7]  # type: ignore[index]


def test_a_size_is_given_to_the_axes_that_broadcast_with_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """<ir_version: 10, opset_import: ["": 17]> g (float[p,4] a, float[q,4] b, float[r,4] c)
        => (float[n,4] y) { d = Add(a, b) e = Exp(d) y = Mul(e, c) }"""
    convert(onnx.parser.parse_model(text)).write(folder / "added.om")
    _, found = said(capsys, "run", folder / "added.om", "--dim", "p=3")
    assert found["outputs"]["y"]["shape"] == [3, 4]  # type: ignore[index]
    _, found = said(capsys, "run", folder / "added.om", "--dim", "p=1", "--dim", "r=5")
    assert found["outputs"]["y"]["shape"] == [5, 4]  # type: ignore[index]
    status, _ = said(capsys, "run", folder / "added.om", "--dim", "q=3", "--dim", "r=5")
    assert status == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["run", "none.om"], "E10410"),
        (["run", "m.onnx"], "E40003"),
        (["run", "m.om", "--dim", "N"], "E40001"),
        (["run", "m.om", "--dim", "M=3"], "E40001"),
        (["run", "m.om", "--dim", f"N={2**50}"], "E40008"),
        (["run", "m.om", "--input", "none.npy"], "E10410"),
        (["run", "m.om", "--input", "q=x.npy"], "E40001"),
        (["diff", "none.onnx", "m.om"], "E10410"),
    ],
)
def test_wrong_words(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    code: str,
) -> None:
    monkeypatch.chdir(folder)
    np.save("x.npy", np.zeros((1, 16), np.float32))
    status, found = said(capsys, *words)
    assert (status, found["code"]) == (1, code)


def test_diff(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, found = said(capsys, "diff", folder / "m.onnx", folder / "m.om")
    assert status == 0
    assert found["outputs"]["y"]["relative"] < 1e-5  # type: ignore[index]
    other = projection()
    other.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(WEIGHT * 1.01, "W"))
    onnx.save(other, folder / "other.onnx")
    status, found = said(capsys, "diff", folder / "other.onnx", folder / "m.om")
    assert (status, found["ok"]) == (1, False)
    assert said(capsys, "diff", folder / "other.onnx", folder / "m.om", "--bound", "0.1")[0] == 0


def test_trust_without_native_code(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_EP_TRUST", str(folder / "store" / "trust"))
    status, found = said(capsys, "trust", folder / "m.om")
    assert (status, found["trusted"]) == (0, [])
    assert (folder / "store" / "trust").stat().st_mode & 0o777 == 0o600


def test_bench(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--rounds", 2, "--seconds", 0.01, "--threads", 1, "--profile")
    status, found = said(capsys, "bench", folder / "m.om", *flags, "--dim", "N=3")
    assert status == 0
    assert 0 < found["least"] <= found["median"] <= found["p99"]  # type: ignore[operator]
    profile = found["profile"]
    kernels, slowest = profile["kernels"], profile["slowest"]  # type: ignore[index]
    assert kernels["matmul"]["calls"] == 1
    spent = sum(k["seconds"] for k in kernels.values())
    assert spent + profile["outside"] + profile["timer"] == pytest.approx(profile["total"])  # type: ignore[index]
    assert 0 < profile["timer"] < 2e-6 * len(kernels)  # type: ignore[index]
    assert sum(s["seconds"] for s in slowest) == pytest.approx(spent)
    assert main(["bench", str(folder / "m.om"), "--seconds", "0.01", "--profile"]) == 0
    text = capsys.readouterr().out
    assert "median" in text
    assert "outside kernels" in text


def test_a_profile_adds_up_over_the_runs_it_is_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(str(folder / "m.om"), {"x": np.zeros((3, 16), np.float32)}, 1, None, 1, 0.001)
    took = Executor.run_timed

    def slow(self: Executor, given: Mapping[str, object], ns: object) -> list[object] | None:
        time.sleep(0.003)
        return took(self, given, ns)

    monkeypatch.setattr(Executor, "run_timed", slow)
    found = kernel_shares(trial)
    assert 0.003 < found["outside"] < found["total"]
    mixed = kernel_shares(replace(trial, path=str(folder / "mixed.om")))
    for profile in (found, mixed):
        spent = sum(k["seconds"] for k in profile["kernels"].values())
        assert spent + profile["outside"] + profile["timer"] == pytest.approx(profile["total"])


def test_bench_with_callers_and_beside_another(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle, times = folder / "m.om", folder / "times.csv"
    quick = ("--rounds", 2, "--seconds", 0.01, "--warm-up", 0)
    more = ("--concurrency", 2, "--export-times", times, "--against", bundle)
    status, found = said(capsys, "bench", bundle, *quick, *more)
    load, other = found["load_of_callers"], found["beside"]
    rows = [line.split(",") for line in times.read_text().splitlines()[1:]]
    assert (status, {row[0] for row in rows}) == (0, {"0", "1"})
    measured = np.array([float(row[1]) for row in rows]) / 1e3
    assert load["percentiles"]["p50"] == pytest.approx(np.percentile(measured, 50), rel=1e-3)
    assert list(load["percentiles"].values()) == sorted(load["percentiles"].values())
    assert load["throughput"] > 0
    assert other["ratio"] == pytest.approx(other["median"] / other["other"])
    assert other["interval"][0] <= other["interval"][1]
    for wrong in (("--concurrency", 0), ("--warm-up", -1), ("--against", folder / "no.om")):
        assert said(capsys, "bench", bundle, *quick, *wrong)[0] == 1


def test_bench_on_shapes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = folder / "m.om"
    byte_counts = []
    for shape in ("x:4,16", "x:400,16"):
        status, found = said(capsys, "bench", bundle, "--rounds", 1, "--seconds", 0.001, "--shape", shape)
        assert status == 0
        byte_counts.append(found["floor"]["bytes"])  # type: ignore[index]
    assert byte_counts[1] > byte_counts[0]
    for wrong in ("x:4,17", "y:4,16", "x:4", "x:-1,16"):
        assert said(capsys, "bench", bundle, "--shape", wrong)[0] == 1
    assert said(capsys, "bench", bundle, "--rounds", 0)[1]["code"] == "E40001"
