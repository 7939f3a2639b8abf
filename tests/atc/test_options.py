"""Options whose effect is a file, a shape, or how operators are compiled."""

from __future__ import annotations

import itertools
import json
import os
import platform
import re
from pathlib import Path

import numpy as np
import pytest
from atc_models import PLAIN, chain_model, failure, image_model, model, run, save, weight
from onnx import TensorProto, helper, numpy_helper

import ascend_ep
from ascend_ep.cli.atc_flags import FLAGS
from ascend_ep.cli.atc_shapes import input_shape_of_range, parse_hint_shapes
from ascend_ep.errors import AscendError
from ascend_ep.runtime.binding import open_model
from ascend_ep.runtime.bundle import Bundle

LINE = ["--model=m.onnx", *PLAIN]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(chain_model())


def test_input_shape_range_replaces_input_shape(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, said = run(capsys, *LINE, "--input_shape=x:9,8", "--input_shape_range=x:[2~4,8]")
    assert status == 0
    assert "--input_shape_range is deprecated" in said
    session = ascend_ep.InferenceSession("m.om")
    assert session.run(None, {"x": np.ones((3, 8), np.float32)})[0].shape == (3, 4)
    with pytest.raises(AscendError):
        session.run(None, {"x": np.ones((5, 8), np.float32)})


def test_input_shape_range_in_both_forms() -> None:
    assert input_shape_of_range("x:[1~10,3,-1];y:[2]") == "x:1~10,3,-1;y:2"
    assert input_shape_of_range("[1~10,3],[-1]") == "1~10,3;-1"
    for wrong in ("x:1,2", "x:[1", "[]x[]", ""):
        with pytest.raises(AscendError, match="E10001"):
            input_shape_of_range(wrong)


def test_hints_are_the_shapes_of_samples(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, *LINE, "--input_hint_shape=0:[7,8]")[0] == 0
    samples = Bundle(open_model("m.om")).samples()
    assert {array.shape for _, array in samples} == {(7, 8), (7, 4)}


@pytest.mark.parametrize("text", ["0:[7,9]", "1:[7,8]", "0:[7]", "x:[7,8]", "0:7,8", "0:[1,8];0:[2,8]"])
def test_hints_that_do_not_fit(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = failure(capsys, *LINE, f"--input_hint_shape={text}")
    assert said.startswith("E10001: ")
    assert "--input_hint_shape" in said


def test_hints_as_numbers() -> None:
    assert parse_hint_shapes("0:[1,3]; 1:[ ]") == {0: (1, 3), 1: ()}


def fused_model() -> None:
    """x * sigmoid(x) and a product: two candidates of fusion."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="fc"),
        helper.make_node("Sigmoid", ["a"], ["s"], name="gate"),
        helper.make_node("Mul", ["a", "s"], ["y"], name="mul"),
    ]
    save(
        model(nodes, [x], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [weight("w", 8, 8)])
    )


def operators(line: list[str]) -> list[str]:
    return sorted(text.split()[-1] for text in line if text.startswith("  AscendEP"))


def test_o1_fuses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    fused_model()
    assert operators(run(capsys, *LINE)[1]) == ["MatMul", "SiLU"]
    assert operators(run(capsys, *LINE, "--oo_level=O1")[1]) == ["MatMul", "Mul", "Sigmoid"]


def test_values_that_keep_their_memory(capsys: pytest.CaptureFixture[str]) -> None:
    """Eight products in a row: two values are alive at once, or all of them have a place of their own."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 64])
    names = ["x", *(f"v{i}" for i in range(7)), "y"]
    nodes = [helper.make_node("MatMul", [a, "w"], [b]) for a, b in itertools.pairwise(names)]
    small = numpy_helper.from_array(np.eye(64, dtype=np.float32), "w")
    save(model(nodes, [x], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [small]))
    sizes = {}
    for flag in ("0", "1"):
        status, lines, said = run(capsys, *LINE, f"--disable_reuse_memory={flag}", "--display_model_info=1")
        assert (status, said) == (0, "")
        sizes[flag] = int(re.findall(r"memory_size\[(\d+) B\]", "\n".join(lines))[0])
        given = np.random.default_rng(1).standard_normal((64, 64), np.float32)
        np.testing.assert_array_equal(ascend_ep.InferenceSession("m.om").run(None, {"x": given})[0], given)
    assert sizes == {"0": 2 * 64 * 64 * 4, "1": 7 * 64 * 64 * 4}


def test_off_optimize_keeps_kernels_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """What was decomposed is one operator again, but the product doesn't take it in."""
    fused_model()
    insns = {}
    for mode in ("l1_optimize", "l2_optimize", "off_optimize"):
        status, lines, said = run(capsys, *LINE, f"--buffer_optimize={mode}", "--fusion_report=r.json")
        assert (status, said) == (0, "")
        assert operators(lines) == ["MatMul", "SiLU"]
        candidates = json.loads(Path("r.json").read_text())["candidates"]
        insns[mode] = {c["group"] for c in candidates if c["fused"]}
    assert insns["l2_optimize"] == insns["l1_optimize"] == {"GraphFusion", "UBFusion"}
    assert insns["off_optimize"] == {"GraphFusion"}


def test_the_original_model_beside_the_optimised_one(capsys: pytest.CaptureFixture[str]) -> None:
    fused_model()
    assert run(capsys, *LINE, "--save_original_model=true")[0] == 0
    x = {"x": np.random.default_rng(0).standard_normal((4, 8), np.float32)}
    answers = [ascend_ep.InferenceSession(f"{name}.om").run(None, x)[0] for name in ("m", "m_original")]
    np.testing.assert_allclose(*answers, rtol=1e-5, atol=1e-6)
    assert run(capsys, *LINE, "--output=n", "--save_original_model=false")[0] == 0
    assert not Path("n_original.om").exists()


@pytest.mark.parametrize(
    ("where", "named"), [("1", r"weight_[0-9a-f]{64}"), ("2", r"m(_original)?_weight_combined_[0-9a-f]{16}")]
)
def test_weights_in_the_folder_beside_the_bundle(
    where: str, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [f"--external_weight={where}", "--save_original_model=true", "--display_model_info=1"]
    status, lines, said = run(capsys, *LINE, *flags)
    assert (status, said) == (0, "")
    x = {"x": np.random.default_rng(0).standard_normal((4, 8), np.float32)}
    answers = [ascend_ep.InferenceSession(f"{name}.om").run(None, x)[0] for name in ("m", "m_original")]
    np.testing.assert_allclose(*answers, rtol=1e-5, atol=1e-6)
    files = list(Path("weight").iterdir())
    assert files
    assert all(re.fullmatch(named, p.name) for p in files)
    own = {f.name: f.size for f in Bundle(open_model("m.om")).weight_files}
    assert set(own) <= {f"weight/{p.name}" for p in files}
    assert f"weight_size[{sum(own.values())} B]" in "\n".join(lines)
    assert "weight_data_size[0 B]" in "\n".join(lines)


def test_debug_level_keeps_the_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, *LINE, "--debug_dir=steps")[0] == 0
    assert not Path("steps").exists()
    assert run(capsys, *LINE, "--op_debug_level=1")[0] == 0
    assert any(Path("kernel_meta").iterdir())
    assert run(capsys, *LINE, "--op_debug_level=2", "--debug_dir=steps")[0] == 0
    assert any(Path("steps").iterdir())


def formula_model() -> None:
    """Phish is a formula of the library that pays to be compiled."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 4096])
    node = helper.make_node("Phish", ["x"], ["y"], name="p")
    save(model([node], [x], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]))


def test_a_bundle_for_another_host_holds_no_code(capsys: pytest.CaptureFixture[str]) -> None:
    formula_model()
    counts = {}
    for cpu in ("x86_64", "aarch64"):
        assert run(capsys, *LINE, f"--host_env_cpu={cpu}", "--host_env_os=linux")[0] == 0
        counts[cpu] = len(Bundle(open_model("m.om")).natives)
    here = platform.machine()
    assert all(count == 0 for cpu, count in counts.items() if cpu != here)
    assert failure(capsys, *LINE, "--host_env_os=windows").startswith("E10001: ")


def test_where_compiled_operators_are_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    formula_model()
    monkeypatch.setenv("ASCEND_EP_CACHE", str(Path("usual").resolve()))
    kept: dict[str, int] = {}
    for mode in ("disable", "force", "enable"):
        status, _, said = run(
            capsys, *LINE, f"--op_compiler_cache_mode={mode}", f"--op_compiler_cache_dir={mode}"
        )
        assert (status, said) == (0, "")
        kept[mode] = len(list(Path(mode).glob("*.so")))
    assert os.environ["ASCEND_EP_CACHE"] == str(Path("usual").resolve())
    assert not Path("usual").exists()
    if any(kept.values()):  # where there is a compiler
        assert kept == {"disable": 0, "force": 1, "enable": 1}


def test_what_changes_nothing_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, said = run(capsys, *LINE, "--sparsity=1", "--virtual_type=1", "--sparsity=1")
    assert said.count("[WARNING] --sparsity has no effect: concerns the device's compiler") == 1
    assert said.count("[WARNING]") == 2
    assert run(capsys, *LINE, "--sparsity=1", "--log=error")[2] == ""


def test_defaults_and_what_is_so_anyway_need_no_word(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = ["--external_weight=0", "--buffer_optimize=l2_optimize", "--enable_small_channel=1"]
    assert run(capsys, *LINE, *quiet, "--input_format=ND", "--deterministic=1")[2] == ""


def test_auto_tune_is_deprecated_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, said = run(capsys, *LINE, "--auto_tune_mode=RL,GA")
    assert status == 0
    assert "[WARNING] --auto_tune_mode has no effect: it is deprecated" in said


def test_every_flag_acts_or_has_a_reason() -> None:
    assert all(flag.acts or len(flag.effect) > 20 for flag in FLAGS)


def test_aipp_excludes_half_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    save(image_model())
    Path("a.cfg").write_text("aipp_op { aipp_mode: static input_format: RGB888_U8 }")
    said = failure(capsys, *LINE, "--insert_op_conf=a.cfg", "--input_fp16_nodes=x")
    assert said.startswith("E10001: ")
    assert "AIPP makes bytes of it (a.cfg:1:1)" in said


def test_the_table_for_machines_beside_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    status, lines, _ = run(capsys, *LINE, "--json=t.json", "--display_model_info=1")
    assert status == 0
    assert json.loads(Path("t.json").read_text())["counts"] == {"AscendEP": 4}
    assert "============ Display Model Info start ============" in lines


@pytest.mark.parametrize(
    "words",
    [
        ["--custom_op_info=twice.json", "--custom_op_info", "half.json"],
        ["--custom_op_info=twice.json; half.json"],
    ],
)
def test_definitions_from_several_files(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """Each with its flag, or all in one; a flag that is there again takes nothing back."""
    for op, factor in (("Twice", 2), ("Half", 0.5)):
        tensors = {
            "inputs": [{"name": "x", "type": "float32"}],
            "outputs": [{"name": "y", "type": "float32"}],
        }
        Path(f"{op.lower()}.json").write_text(json.dumps({"op": op, **tensors, "formula": f"y = {factor}*x"}))
    nodes = [helper.make_node("Twice", ["x"], ["t"]), helper.make_node("Half", ["t"], ["y"])]
    boundaries = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("x", "y")]
    save(model(nodes, boundaries[:1], boundaries[1:]))
    status, lines, _ = run(capsys, *LINE, *words)
    assert (status, [line.split(":")[0].strip() for line in lines if "defined by" in line]) == (
        0,
        ["Half", "Twice"],
    )
