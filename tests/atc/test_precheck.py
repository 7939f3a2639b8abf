"""--mode=3: every node that fails at once, near misses; and what the chip of --soc_version limits."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from atc_models import EXACT, chain_model, failure, model, run, save, weight
from onnx import TensorProto, helper

from ascend_ep.cann.soc import ALIASES, SOCS, find_soc
from ascend_ep.errors import AscendError

CHECK = ["--mode=3", "--model=m.onnx", "--framework=5", EXACT]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def report(path: str = "check_result.json") -> dict[str, Any]:
    return dict(json.loads(Path(path).read_text()))


def test_a_model_that_passes(capsys: pytest.CaptureFixture[str]) -> None:
    save(chain_model())
    status, _, _ = run(capsys, *CHECK, "--check_report=r.json", "--soc_version=Ascend910B3")
    found = report("r.json")
    assert status == 0
    assert (found["name"], found["result"]) == ("m.onnx", "success")
    assert (found["total"], found["pass"], found["fail"], found["limits"]) == (4, 4, 0, 0)
    assert found["op"][0] == {"name": "fc1", "type": "MatMul", "result": "success"}
    assert (found["soc"]["ai_cores"], found["soc"]["vector_cores"], found["soc"]["ub"]) == (20, 40, 196608)
    assert not Path("m.om").exists()


def wrong_model() -> None:
    """A misspelt operator, one of a later opset, one in a wrong domain, among some that are right."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8])
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="good"),
        helper.make_node("Swishh", ["a"], ["b"], name="misspelt"),
        helper.make_node("BitwiseNot", ["b"], ["c"], name="later"),
        helper.make_node("Softmax", ["c"], ["d"], name="elsewhere", domain="my.ops"),
        helper.make_node("Foobarium", ["d"], ["y"], name="unheard"),
    ]
    proto = model(nodes, [x], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    proto.opset_import.add(domain="my.ops", version=1)
    save(proto)


def test_every_failure_at_once_with_near_misses(capsys: pytest.CaptureFixture[str]) -> None:
    wrong_model()
    said = failure(capsys, *CHECK)
    found = report()
    assert (found["result"], found["total"], found["pass"], found["fail"]) == ("failed", 5, 1, 4)
    causes = {op["name"]: op["cause"][0] for op in found["op"] if op["result"] == "failed"}
    assert {name: cause["code"] for name, cause in causes.items()} == dict.fromkeys(
        ["misspelt", "later", "elsewhere", "unheard"], "E19010"
    )
    assert (
        causes["misspelt"]["message"]
        == "No parser is registered for Op [misspelt, optype [ai.onnx::17::Swishh]]."
    )
    assert "Swish" in causes["misspelt"]["near"][0]
    assert causes["later"]["near"][0] == "ai.onnx::BitwiseNot since opset 18; the model imports 17"
    assert "ai.onnx::Softmax" in " ".join(causes["elsewhere"]["near"])
    assert "near" not in causes["unheard"]
    assert said.startswith("E19010: ")
    assert "Foobarium" in said


def test_a_model_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    Path("m.onnx").write_bytes(b"\x08nonsense")
    assert failure(capsys, *CHECK).startswith("E10041: ")
    assert report()["op"][0]["cause"][0]["code"] == "E10041"


def test_a_thousand_nodes_take_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"v{i}" for i in range(1001)]
    nodes = [
        helper.make_node(("Relu", "Foobarium")[i % 2], [names[i]], [names[i + 1]], name=f"n{i}")
        for i in range(1000)
    ]
    x = helper.make_tensor_value_info(names[0], TensorProto.FLOAT, [4])
    save(model(nodes, [x], [helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, None)]))
    start = time.process_time()
    failure(capsys, *CHECK)
    assert time.process_time() - start < 6
    assert report()["fail"] == 500


# ---- chips ----------------------------------------------------------------------------------------


def typed_model(dtype: int, *nodes: Any) -> None:
    x = helper.make_tensor_value_info("x", dtype, [2, 8])
    save(model(nodes, [x], [helper.make_tensor_value_info("y", dtype, None)], [weight("w", 8, 8)]))


def warned(capsys: pytest.CaptureFixture[str], soc: str, *words: str) -> str:
    line = ["--model=m.onnx", "--framework=5", "--output=m", f"--soc_version={soc}", "--self_check=0"]
    status, _, said = run(capsys, *line, *(words or [EXACT]))
    assert status == 0
    return said


LIMITED = {
    "bfloat16": (
        TensorProto.BFLOAT16,
        [helper.make_node("Relu", ["x"], ["y"], name="r")],
        "Ascend310P3",
        "[WARNING] Relu (r): Ascend310P3 has no bfloat16; chips from Ascend910B1 on have.",
    ),
    "float32 products": (
        TensorProto.FLOAT,
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="p")],
        "Ascend910A",
        "[WARNING] MatMul (p): the cube unit of Ascend910A multiplies float16 and int8 only",
    ),
    "fused operators": (
        TensorProto.FLOAT,
        [helper.make_node("SwiGLU", ["x"], ["y"], name="g")],
        "Ascend310",
        "[WARNING] SwiGLU (g): Ascend310 has no such kernel",
    ),
    "float64": (
        TensorProto.DOUBLE,
        [helper.make_node("Relu", ["x"], ["y"], name="r")],
        "Ascend910B3",
        "[WARNING] Relu (r): the AI cores of Ascend910B3 have no float64; it would run on the AI CPU.",
    ),
}


@pytest.mark.parametrize("name", LIMITED)
def test_what_a_chip_does_not_have_is_said(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    dtype, nodes, soc, sentence = LIMITED[name]
    typed_model(dtype, *nodes)
    assert sentence in warned(capsys, soc)
    if name != "float64":
        assert "[WARNING]" not in warned(capsys, "Ascend910B1")
    run(capsys, *CHECK, f"--soc_version={soc}")
    (cause,) = report()["op"][0]["cause"]
    assert cause["code"] == "E41022"
    assert (report()["result"], report()["limits"]) == ("success", 1)


def test_rows_that_do_not_fit_the_unified_buffer(capsys: pytest.CaptureFixture[str]) -> None:
    for size, too_large in ((20_000, False), (40_000, True)):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, size])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        save(model([helper.make_node("Softmax", ["x"], ["y"], name="s")], [x], [y]))
        said = warned(capsys, "Ascend310P3")
        assert ("a row of 40000 elements takes 320000 bytes" in said) == too_large
        assert too_large == bool(said)


def test_image_rows_that_do_not_fit_l1(capsys: pytest.CaptureFixture[str]) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 3000])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="c", dilations=[2, 1])
    save(model([node], [x], [y], [weight("w", 2, 3, 3, 3)]))
    sentence = "the 5 rows of 3000 pixels under one row of its result take 480000 bytes"
    assert sentence not in warned(capsys, "Ascend910B3")
    node.attribute[0].ints[0] = 3
    save(model([node], [x], [y], [weight("w", 2, 3, 3, 3)]))
    said = warned(capsys, "Ascend910B3")
    assert "the 7 rows of 3000 pixels under one row of its result take 672000 bytes" in said
    assert "L1, which has 524288" in said
    assert "L1" not in warned(capsys, "Ascend310", "--precision_mode=force_fp16")


def test_chips_and_their_short_names() -> None:
    assert len(SOCS) + len(ALIASES) >= 35
    assert find_soc("Ascend910").name == "Ascend910A"
    assert find_soc("Ascend310P").ub == 262144
    with pytest.raises(AscendError) as caught:
        find_soc("Ascend910B33")
    assert caught.value.code == "E10001"
    assert "did you mean Ascend910B3" in caught.value.details[0]


@pytest.mark.parametrize(
    ("soc", "words", "reason"),
    [
        ("Ascend910B3", ["--aicore_num=21"], "Ascend910B3 has 20 AI cores and 40 vector cores"),
        ("Ascend910B3", ["--aicore_num=20|41"], "41 is not a number of its vector cores"),
        ("Ascend910B3", ["--aicore_num=many"], '"AI cores|vector cores"'),
        ("Ascend310", ["--core_type=VectorCore"], "Ascend310 has no vector cores of their own."),
    ],
)
def test_cores_that_a_chip_does_not_have(
    soc: str, words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    save(chain_model())
    said = failure(capsys, "--model=m.onnx", "--framework=5", "--output=m", f"--soc_version={soc}", *words)
    assert said.startswith("E10001: ")
    assert reason in said


def test_cores_that_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    save(chain_model())
    assert warned(capsys, "Ascend910B3", EXACT, "--aicore_num=10|20", "--core_type=VectorCore") == ""
