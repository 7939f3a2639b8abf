"""ascend-op build: the files it makes, what it installs, and what it says of wrong input."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from build_commands import SWISH, Run

import ascend_ep
from ascend_ep.cli.op_build import Stages
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.opdef.loader import load_definitions
from ascend_ep.opdef.registry import Registry

pytestmark = pytest.mark.usefixtures("compiler")


@pytest.mark.usefixtures("no_search_kept")
def test_the_documents_command(run: Run, tmp_path: Path) -> None:
    status, out, err = run("build", *SWISH, "--search=1", "--output", str(tmp_path))
    assert status == 0, err
    stages = re.findall(r"^\[ *[\d.]+ s\] ([a-z ]+):", out, re.MULTILINE)
    order = list(dict.fromkeys(stages))
    assert order == [
        "expression",
        "search",
        "compile",
        "takes",
        "proof",
        "measured",
        "proven",
        "written",
        "not installed",
    ]
    assert out.count("] proof: ") == 1
    assert re.search(r"proven: right in float32, beside float64: .* worst error [\d.]+ ulp where", out)
    assert re.search(r"proven: it keeps to its memory, .*guard pages", out)
    count = int(re.search(r"(\d+) candidates generated and measured", out)[1])  # type: ignore[index]
    log = (tmp_path / "kernel_meta" / "swish_custom_search.log").read_text().splitlines()
    candidates = [line for line in log if re.search(r"source [0-9a-f]{16}, [\d.]+ us", line)]
    assert len(candidates) == count > 1
    times = r"([\d.]+) us \(([\d.]+) to ([\d.]+)\)"
    measured = re.search(
        rf"measured: {times}, [\d.]+ times the (?:memory|arithmetic) floor of {times}; ", out
    )
    assert measured is not None
    for median, low, high in (map(float, measured.groups()[at : at + 3]) for at in (0, 3)):
        assert 0 < low <= median <= high


def test_every_check_is_shown_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    for verbose, lines in ((False, 1), (True, 3)):
        stages = Stages(verbose)
        for check in ("a", "b", "c"):
            stages.show("proof", check)
        stages.show("proven", "3 checks")
        assert [("] proof: " in s) for s in capsys.readouterr().out.splitlines()] == [True] * lines + [False]


def test_files(build: Run, tmp_path: Path) -> None:
    status, _, err = build(*SWISH)
    assert status == 0, err
    out = tmp_path / "out"
    names = {"swish_custom.o", "swish_custom.json", "swish_custom_proof.json", "swish_custom_search.log"}
    names |= {f"swish_custom_{kind}.c" for kind in ("float32", "float16", "bfloat16")}
    assert {p.name for p in (out / "kernel_meta").iterdir()} == names
    (opdef,) = load_definitions(out / "swish_custom.json")
    assert opdef.op == "Swish"
    with_op = [p for p in out.rglob("*.json") if "op" in json.loads(p.read_text())]
    assert with_op == [out / "swish_custom.json"]
    assert (out / "kernel_meta" / "swish_custom.o").read_bytes()[:5] == b"\x7fELF\x02"
    assert (
        json.loads((out / "kernel_meta" / "swish_custom.json").read_text())["binFileName"] == "swish_custom"
    )


def test_what_was_proven_can_be_read(build: Run, run: Run, tmp_path: Path) -> None:
    """The C stands beside its hash, for every element type; one that was changed is no longer what holds."""
    status, _, err = build(*SWISH)
    assert status == 0, err
    meta = tmp_path / "out" / "kernel_meta"
    proven = json.loads((meta / "swish_custom_proof.json").read_text())["proof"]["sources"]
    assert set(proven) == {"float32", "float16", "bfloat16"}
    for kind, digest in proven.items():
        assert hashlib.sha256((meta / f"swish_custom_{kind}.c").read_bytes()).hexdigest() == digest
    kernel = json.loads((meta / "swish_custom.json").read_text())
    assert (kernel["source"], kernel["source_sha256"]) == ("swish_custom_float32.c", proven["float32"])
    definition = str(tmp_path / "out" / "swish_custom.json")
    status, out, _ = run("verify", definition)
    assert status == 0
    assert str(meta / "swish_custom_float16.c") in out
    assert re.search(r"measured when it was built: [\d.]+ us \([\d.]+ to [\d.]+\), .* us \([\d.]+ to ", out)
    with (meta / "swish_custom_float16.c").open("a") as file:
        file.write("/* another */")
    status, _, err = run("verify", definition)
    assert status != 0
    assert "swish_custom_float16.c was changed after it was proven" in err


def test_the_definition_converts_a_model(build: Run, tmp_path: Path) -> None:
    prompt = "Wobble(x, w, k=0.25) = x * w + k * sin(x)"
    assert build("--prompt", prompt, "--input_shape", "[4,33];[33]")[0] == 0
    info = onnx.helper.make_tensor_value_info
    node = onnx.helper.make_node("Wobble", ["x", "w"], ["y"], domain="mine", k=0.5)
    values = [info("x", 1, [4, 33]), info("w", 1, [33])]
    graph = onnx.helper.make_graph([node], "g", values, [info("y", 1, [4, 33])])
    opsets = [onnx.helper.make_opsetid("", 22), onnx.helper.make_opsetid("mine", 1)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
    registry = Registry.from_options(custom_op_info=[tmp_path / "out" / "wobble.json"], environ={})
    made = convert(model, ConvertOptions(registry=registry))
    rng = np.random.default_rng(0)
    feeds = {"x": rng.standard_normal((4, 33), np.float32), "w": rng.standard_normal(33, np.float32)}
    (y,) = ascend_ep.InferenceSession(made.to_bytes()).run(None, feeds)
    np.testing.assert_allclose(y, feeds["x"] * feeds["w"] + 0.5 * np.sin(feeds["x"]), rtol=1e-5, atol=1e-6)


@pytest.mark.whole_proof
def test_installing_listing_explaining_and_verifying(build: Run, run: Run, tmp_path: Path) -> None:
    ops = tmp_path / "ops"
    status, out, err = build(*SWISH, installed=ops)
    assert status == 0, err
    assert "shadows the built-in Swish" in out
    listed = run("list", installed=ops)[1]
    assert re.search(r"^Swish +formula +\$ASCEND_CUSTOM_OPS .*proven \(\d+ checks\)", listed, re.MULTILINE)
    explained = run("explain", "Swish", installed=ops)[1]
    assert "proof: proven" in explained
    for name in ("Swish", "swish_custom", str(tmp_path / "out" / "swish_custom.json")):
        status, out, err = run("verify", name, installed=ops)
        assert status == 0, err
        assert "AddressSanitizer: ok" in out
    assert run("verify", "Swish", "--rerun", installed=ops)[0] == 0


@pytest.mark.parametrize("changed", ["definition", "library", "proof"])
def test_verify_sees_changes(build: Run, run: Run, tmp_path: Path, changed: str) -> None:
    assert build(*SWISH)[0] == 0
    definition = tmp_path / "out" / "swish_custom.json"
    if changed == "definition":
        definition.write_text(definition.read_text().replace("x*sigmoid(x)", "x*tanh(x)"))
    elif changed == "library":
        with definition.with_suffix(".so").open("ab") as file:
            file.write(b"\0")
    else:
        (tmp_path / "out" / "kernel_meta" / "swish_custom_proof.json").unlink()
    status, _, err = run("verify", str(definition))
    assert status == 1
    assert err.startswith("E43105" if changed == "proof" else "E43107")


def test_a_failed_proof_installs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build: Run) -> None:
    from ascend_ep.opbuild.operators import build_op
    from ascend_ep.opdef.proof_report import Check, Report

    report = Report({}, [Check("numerical", "float32", False, "3 of 4 elements wrong")])
    monkeypatch.setattr(build_op, "prove", lambda *_, **__: report)
    status, _, err = build(*SWISH, installed=tmp_path / "ops")
    assert status == 1
    assert err.startswith("E43102")
    assert "3 of 4 elements wrong" in err
    assert not list(tmp_path.rglob("*.json"))


def test_a_file_stands_for_the_prompt(build: Run, tmp_path: Path) -> None:
    path = tmp_path / "my_op.py"
    path.write_text("def scaled_tanh(x, scale=2.0):\n    return scale * torch.tanh(x)\n")
    status, out, err = build(str(path), "--input_shape", "[16]")
    assert status == 0, err
    assert "ScaledTanh(x, scale)" in out
