"""Every code of the real tool that can be reached: a command line that provokes it, its text and status."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from atc_models import EXACT, chain_model, failure, image_model, model, run, save
from onnx import TensorProto, helper

from ascend_ep.cli import atc
from ascend_ep.cli.atc_explain import ALIASES, TRIGGERS
from ascend_ep.errors import CODES, AscendError

M = ["--model=m.onnx", "--framework=5", "--output=m", "--soc_version=Ascend310P3", EXACT]
SINGLE = ["--singleop=s.json", "--output=out", "--soc_version=Ascend310P3"]
SHAPE = "--input_shape=x:-1,8"
VECTOR = {"format": "ND", "shape": [2], "type": "float"}
RELU = {"op": "Relu", "input_desc": [VECTOR], "output_desc": [VECTOR]}

#: code -> the command line, and the whole sentence that it must print.
CASES: dict[str, tuple[list[str], str]] = {
    "E10001": (
        [*M[:3], "--soc_version=Ascend910B33"],
        "Value [Ascend910B33] for parameter [--soc_version] is invalid. Reason: The value must be one of",
    ),
    "E10002": (
        [*M, "--input_shape=x:1,a"],
        "Value [x:1,a] for parameter [--input_shape] is invalid. Reason: [a] is not an integer. The value"
        ' must be formatted as ["input_name1:n1,c1,h1,w1"].',
    ),
    "E10003": ([*M, "--framework=-1"], "Value [-1] for parameter [--framework] is invalid. Reason: "),
    "E10004": (["--mode=1", "--om=m.om"], "Value for [--json] is empty."),
    "E10005": (
        [*M, "--enable_single_stream=maybe"],
        "Value [maybe] for parameter [--enable_single_stream] is invalid. The value must be either [true]"
        " or [false].",
    ),
    "E10006": (
        [*M, "--disable_reuse_memory=2"],
        "Value [2] for parameter [--disable_reuse_memory] is invalid. The value must be either [1] or [0].",
    ),
    "E10007": (
        [M[0], *M[2:]],
        "[--framework] is required. The value must be [0(Caffe) or 1(MindSpore) or 3(TensorFlow) or"
        " 5(Onnx)].",
    ),
    "E10008": (
        [*M, "--framework=0"],
        "[--weight] must not be empty when [--framework] is set to 0 (Caffe).",
    ),
    "E10009": (
        [*M, SHAPE, "--dynamic_batch_size=1,2", "--input_shape_range=[1~2,8]"],
        "[--dynamic_batch_size], [--dynamic_image_size], [--input_shape_range], and [--dynamic_dims] are"
        " mutually exclusive.",
    ),
    "E10010": ([*M, "--log=loud"], "Value [loud] for parameter [--log] is invalid."),
    "E10011": (
        [*M, "--input_shape=x:0,8"],
        "Shape values must be positive integers. The error value in the shape is 0",
    ),
    "E10012": (
        [*M, "--input_shape=x:-1,8;s:", "--dynamic_batch_size=1,2"],
        "the dimension count of the dynamic-shape input configured in [--input_shape] is less than 1.",
    ),
    "E10013": ([*M, "--framework=99999999999"], "Value [99999999999] for [--framework] is out of range."),
    "E10016": (
        [*M, "--out_nodes=fc9:0"],
        "Opname [fc9] specified in [--out_nodes] is not found in the model, confirm whether this node name"
        " exists, or node is not split with the specified delimiter ';'",
    ),
    "E10018": (
        [*M, "--input_shape=x:1,-1", "--dynamic_batch_size=1,2"],
        "When [--dynamic_batch_size] is included, only batch size N can be -1 in [--input_shape].",
    ),
    "E10019": (
        [*M, "--input_shape=x:1,-1,-1,8", "--dynamic_image_size=8,8;16,16"],
        "When [--dynamic_image_size] is included, only the height and width axes can be -1 in"
        " [--input_shape].",
    ),
    "E10020": (
        [*M, "--input_shape=x:1,3,-1,-1", "--dynamic_image_size=8,8,8;16,16,8"],
        "Value [8,8,8;16,16,8] for parameter [--dynamic_image_size] is invalid.",
    ),
    "E10021": (
        [*M, f"--output={'n' * 201}"],
        "Path for parameter [--output] is too long. Keep the length within",
    ),
    "E10022": (
        [*M, "--output=folder/"],
        "Path [folder/] for parameter [--output] does not include the file name.",
    ),
    "E10023": (["--singleop=no.json", *SINGLE[1:]], "Value [no.json] for parameter [--singleop] is invalid."),
    "E10024": (["--singleop=.", *SINGLE[1:]], "Failed to open file [.] specified by [--singleop]."),
    "E10025": (SINGLE, "File [s.json] specified by [--singleop] is not a valid JSON file. Reason: "),
    "E10026": (SINGLE, "The Op name is empty in the file specified by [--singleop]."),
    "E10027": (
        SINGLE,
        "Attribute [type] of [input] tensor [0] for Op [Relu] is invalid when [--singleop] is specified.",
    ),
    "E10029": (SINGLE, "Attribute name of Op [Relu] is empty in the file specified by [--singleop]."),
    "E10030": (
        SINGLE,
        "There is an invalid value for attribute name [a] of Op [Relu] in the file specified by"
        " [--singleop].",
    ),
    "E10031": (
        [*M, "--input_shape=x:1,8", "--dynamic_batch_size=1,2"],
        "none of the nodes specified in [--input_shape] has a batch size equaling -1.",
    ),
    "E10035": ([*M, SHAPE, "--dynamic_batch_size=1"], "has 1 profiles, which is less than the minimum 2."),
    "E10036": (
        [*M, SHAPE, "--dynamic_batch_size=" + ",".join(map(str, range(1, 102)))],
        "has 101 profiles, which is greater than the maximum 100.",
    ),
    "E10037": (
        [*M, "--input_shape=x:-1,-1", "--dynamic_dims=1,2;3"],
        "A profile has 2 dimensions while another has 1 dimensions.",
    ),
    "E10038": (
        [*M, SHAPE, "--dynamic_batch_size=0,1"],
        "Dimension size [0] is invalid. The value must be greater than 0.",
    ),
    "E10039": ([*M, SHAPE, "--dynamic_batch_size=1,1"], "argument have duplicate profiles."),
    "E10040": (
        [*M, "--input_shape=x:1~4,8", "--dynamic_batch_size=1,2"],
        "the corresponding nodes specified in [--input_shape] must have -1 axes and cannot have '~'.",
    ),
    "E10041": (["--model=bad.onnx", *M[1:]], "Failed to load the model from [bad.onnx]."),
    "E10045": (
        [*M, "--input_shape=x:-1,-1", "--dynamic_dims=1;2"],
        "The number of -1 axes in the [--input_shape] argument exceeds the dimension count per profile in"
        " [--dynamic_dims].",
    ),
    "E10046": (
        [*M, "--input_shape=x:-1,8;y:-1", "--dynamic_dims=1;2"],
        "The total number of -1 axes in the [--input_shape] argument is greater than the dimension count per"
        " profile in [--dynamic_dims].",
    ),
    "E10047": (
        [*M, "--input_hint_shape=0:[2,8]", SHAPE, "--dynamic_batch_size=1,2"],
        "[--input_hint_shape] and [--dynamic_batch_size] are mutually exclusive.",
    ),
    "E10052": ([*M, "--insert_op_conf=s.json"], "AIPP configuration is invalid. Reason: "),
    "E10054": (
        M[:2],
        "The requied parameter [output] for ATC is empty. Another possible reason is that the value of some"
        ' parameters is not enclosed by quotation marks ("").',
    ),
    "E10055": ([*M, "--framework=1"], "The operation is not supported. Reason: MindSpore models"),
    "E10056": (
        [*M, "--precision_mode_v2=origin"],
        "Cannot configure both parameters [--precision_mode] and [--precision_mode_v2] simultaneously.",
    ),
    "E10057": (
        ["--mode=6", "--om=m.om", "--soc_version=Ascend310"],
        "Parameter [--soc_version] can't be used when [--mode] is set to 6.",
    ),
    "E10410": (["--model=no.onnx", *M[1:]], "File [no.onnx] does not exist."),
    "E10501": (SINGLE, "IR for Op [Rellu, optype [Rellu]], is not registered."),
    "E19010": (
        ["--model=odd.onnx", *M[1:]],
        "No parser is registered for Op [odd1, optype [ai.onnx::17::Swishh]].",
    ),
    "E19014": (["--model=clash.onnx", *M[1:]], "for Op [conv1 (Conv)] is invalid. Reason: "),
    "E20001": (
        ["--model=odd.onnx", *M[1:], "--custom_op_info=kernel.json"],
        "Failed to compile Op [odd1]. (optype: [Swishh])",
    ),
}

#: What s.json holds for codes of --singleop.
LISTS: dict[str, str] = {
    "E10025": "[{",
    "E10026": json.dumps([RELU | {"op": ""}]),
    "E10027": json.dumps([RELU | {"input_desc": [VECTOR | {"type": "float99"}]}]),
    "E10029": json.dumps([RELU | {"attr": [{"name": "", "type": "int", "value": 1}]}]),
    "E10030": json.dumps([RELU | {"attr": [{"name": "a", "type": "int", "value": "x"}]}]),
    "E10501": json.dumps([RELU | {"op": "Rellu"}]),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(chain_model())
    Path("bad.onnx").write_bytes(b"\x08not a model")


def odd_model() -> None:
    """Two operators that nobody knows."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8])
    nodes = [
        helper.make_node("Swishh", ["x"], ["a"], name="odd1"),
        helper.make_node("BitwiseNot", ["a"], ["y"], name="odd2"),
    ]
    save(model(nodes, [x], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 8])]), "odd.onnx")


def clashing_model() -> None:
    proto = image_model()
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 5  # conv1's weights have 3 channels
    save(proto, "clash.onnx")


@pytest.mark.parametrize("code", CASES)
def test_the_command_line_that_provokes_it(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, sentence = CASES[code]
    Path("s.json").write_text(LISTS.get(code, "{}"))
    Path("kernel.json").write_text(json.dumps(DEFINED_ONLY))
    odd_model()
    clashing_model()
    said = failure(capsys, *words)
    first, *rest = said.splitlines()
    assert re.match(rf"{code}: \[PID: \d+\] \d{{4}}-\d\d-\d\d-\d\d:\d\d:\d\d\.\d{{3}}\.\d{{3}} ", first), said
    assert sentence in first
    assert rest[0].startswith("        Solution: ")
    assert not list(Path().rglob("*.om"))


#: Definitions that name a kernel no build has.
DEFINED_ONLY = [
    {
        "op": name,
        "inputs": [{"name": "x", "type": "float32"}],
        "outputs": [{"name": "y", "type": "float32"}],
        "shape": "x",
        "kernel": "no_such_kernel",
    }
    for name in ("Swishh", "BitwiseNot")
]


def test_an_error_of_the_program_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr("ascend_ep.cli.atc_modes.convert", broken)
    said = failure(capsys, *M)
    assert re.match(r"E19999: .* Unknown error occurred. Please check the log.\n", said)
    assert "KeyError: 'lost'" in said


@pytest.mark.parametrize(
    ("error", "code"), [(OSError(5, "Input/output error", "m.onnx"), "E40002"), (MemoryError(), "E40008")]
)
def test_what_the_system_refuses_is_no_mistake_of_ours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: Exception, code: str
) -> None:
    """It was E19999, with a traceback."""

    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr("ascend_ep.cli.atc_modes.convert", broken)
    assert failure(capsys, *M).startswith(code)


ENDS = [("no", " no."), ("no.", " no."), ("[x]?", " [x]?"), ("x...", " x....")]


@pytest.mark.parametrize(("reason", "end"), ENDS)
def test_a_sentence_ends_once(reason: str, end: str) -> None:
    assert AscendError("E50004", "z", reason).text.endswith(f"is refused:{end}")


def test_every_code_is_provoked_or_an_alias() -> None:
    real = {code for code in CODES if code.startswith(("E1", "E2"))}
    assert real == {*CASES, *ALIASES, "E19999"}
    assert real - set(ALIASES) == set(TRIGGERS)


@pytest.mark.parametrize("code", ["E10016", "E16002"])
def test_explain_says_when(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, lines, _ = run(capsys, f"--explain={code}")
    assert status == 0
    assert lines[0].startswith(f"{code}: ")
    named = ALIASES.get(code, code)
    assert ("   here: reported as E19010" in lines) == (code in ALIASES)
    assert f"   when: {TRIGGERS[named]}" in lines
    assert lines[-1].startswith("   fix: ")


def test_e19010_lists_all_that_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    odd_model()
    said = failure(capsys, "--model=odd.onnx", *M[1:])
    assert "        TraceBack (most recent call last):" in said
    assert "No parser is registered for Op [odd1, optype [ai.onnx::17::Swishh]]." in said
    assert "No parser is registered for Op [odd2, optype [ai.onnx::17::BitwiseNot]]." in said
    assert "near it: Swish" in said
    assert "ai.onnx::BitwiseNot since opset 18; the model imports 17" in said


def test_e10016_names_what_is_near(capsys: pytest.CaptureFixture[str]) -> None:
    assert "near it: fc1" in failure(capsys, *M, "--out_nodes=fc11:0")


def test_a_usage_error_is_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    status, lines, said = run(capsys, "--model", "m.onnx", "--colour=red")
    assert (status, lines) == (255, [atc.START, "...", atc.FAILURE])
    assert said == "ERROR: unknown command line flag 'colour'\n"
