"""atc's command line as text: what is accepted, what is refused, and the words of each refusal."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import onnx
import pytest

import ascend_ep
from ascend_ep.cli import atc
from ascend_ep.cli.atc_arguments import UsageError, check, parse
from ascend_ep.cli.atc_flags import BY_NAME, FLAGS, Flag
from ascend_ep.cli.atc_log import own_warnings
from ascend_ep.cli.atc_shapes import parse_custom_ops, parse_input_shape, parse_out_nodes
from ascend_ep.errors import AscendError


def refused(*words: str) -> AscendError:
    with pytest.raises(AscendError) as caught:
        check(parse(words))
    return caught.value


@pytest.mark.parametrize(
    "spelling", [["--model=a.onnx"], ["--model", "a.onnx"], ["-model=a.onnx"], ["-model", "a.onnx"]]
)
def test_a_flag_may_be_spelled_four_ways(spelling: list[str]) -> None:
    assert parse([*spelling, "--framework=5"]) == {"model": "a.onnx", "framework": "5"}


def test_dashes_inside_a_name_are_underscores() -> None:
    assert parse(["--soc-version=Ascend310"]) == {"soc_version": "Ascend310"}


def test_the_last_of_a_repeated_flag_counts() -> None:
    assert parse(["--output=a", "--output=b"]) == {"output": "b"}


def test_a_value_may_hold_an_equals_sign() -> None:
    assert parse(["--input_shape=x=1:1,2"]) == {"input_shape": "x=1:1,2"}


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.name)
def test_a_prefix_is_no_flag(flag: Flag) -> None:
    """The real tool has no abbreviations; the flag that was meant is named."""
    short = flag.name[:-1]
    if short not in BY_NAME:
        with pytest.raises(UsageError, match=f"unknown command line flag '{short}'") as caught:
            parse([f"--{short}=1"])
        assert "did you mean" in str(caught.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "input argument value is empty or command line format is invalid"),
        (["--modell=a"], "unknown command line flag 'modell' (did you mean '--model'?)"),
        (["--modle=a"], "unknown command line flag 'modle' (did you mean '--model'?)"),
        (["stray"], "Non-option parameter: stray"),
        (["--model"], "flag '--model' is missing its argument; flag description: The model to convert"),
        (["--qqqq"], "unknown command line flag 'qqqq'"),
    ],
)
def test_an_unreadable_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse(words)
    assert str(caught.value) == message
    assert atc.main(words) == 255
    captured = capsys.readouterr()
    assert captured.err == f"ERROR: {message}\n"
    assert captured.out.splitlines() == [atc.START, "...", atc.FAILURE]


def test_help_shows_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert atc.main(["--help=all"]) == 0
    shown = capsys.readouterr().out
    assert all(f"--{flag.name}" in shown for flag in FLAGS)


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("--framework=-1", "E10003"),
        ("--framework=x", "E10003"),
        ("--framework=²", "E10003"),
        ("--sparsity=2", "E10006"),
        ("--enable_compress_weight=maybe", "E10005"),
        ("--log=loud", "E10010"),
        ("--precision_mode=fp8", "E10001"),
        ("--input_format=NHWC", "E10001"),
        ("--dynamic_batch_size=1,two", "E10003"),
        ("--dynamic_batch_size=1, 2", "E10003"),
        ("--dynamic_dims=", "E10003"),
        ("--dynamic_dims=1 2;3", "E10003"),
        ("--dynamic_dims=;1", "E10003"),
        ("--keep_dtype=no/such/file", "E10410"),
    ],
)
def test_a_value_of_the_wrong_kind(word: str, code: str) -> None:
    assert refused(word).code == code


def test_input_shape() -> None:
    shapes = parse_input_shape("a:1,-1,3~5,7~-1;b:c:2;scalar:", [])
    assert shapes == {"a": (1, (1, None), (3, 5), (7, None)), "b:c": (2,), "scalar": ()}
    assert parse_input_shape("-1,2;3", ["x", "y"]) == {"x": ((1, None), 2), "y": (3,)}
    brackets = parse_input_shape("a:[1,3~5]; b:[ 2, -1 ];c:[]", [])
    assert brackets == {"a": (1, (3, 5)), "b": (2, (1, None)), "c": ()}
    assert parse_input_shape("[-1,2];[3]", ["x", "y"]) == {"x": ((1, None), 2), "y": (3,)}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1,2,3", "E10002"),
        ("x:1,a", "E10002"),
        ("x:1.5", "E10002"),
        ("x:1,,2", "E10002"),
        ("x:[1,2", "E10002"),
        ("x:1,2]", "E10002"),
        ("x:[[1,2]]", "E10002"),
        ("x:5~3", "E10002"),
        ("x:1;x:2", "E10002"),
        (":1,2", "E10002"),
        (";", "E10002"),
        ("x:0", "E10011"),
        ("x:-2", "E10011"),
        ("x:99999999999999999999", "E10013"),
    ],
)
def test_a_bad_input_shape(text: str, code: str) -> None:
    with pytest.raises(AscendError) as caught:
        parse_input_shape(text, ["x"])
    assert caught.value.code == code


def test_out_nodes() -> None:
    assert parse_out_nodes("conv1:0;fc:1") == [("conv1", 0), ("fc", 1)]
    assert parse_out_nodes("out1;out2") == [("out1", None), ("out2", None)]
    with pytest.raises(AscendError, match="not both"):
        parse_out_nodes("conv1:0;out2")


def test_custom_ops() -> None:
    assert parse_custom_ops("RoPE:./rope.so;my.ops::X:/a:b.so") == {"RoPE": "rope.so", "my.ops::X": "/a:b.so"}
    with pytest.raises(AscendError, match="E10001"):
        parse_custom_ops("./rope.so")


@pytest.mark.parametrize("code", ["E10016", "e19010"])
def test_explain(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert atc.main([f"--explain={code}"]) == 0
    assert capsys.readouterr().out.startswith(code.upper() + ": ")


def test_explain_an_unknown_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert atc.main(["--explain=E10017777"]) == 255
    assert "There is no code" in capsys.readouterr().err


def test_flags_that_exclude_each_other() -> None:
    assert refused("--dynamic_batch_size=1,2", "--dynamic_dims=1;2").code == "E10009"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--model=m", "--framework=5", "--soc_version=Ascend910", "--output=folder/"], "E10022"),
        (["--model=m", "--framework=5", "--soc_version=Ascend910", f"--output={'é' * 101}"], "E10021"),
        (["--mode=6", "--om=m.om", "--model=m"], "E10057"),
        (["--mode=9", "--model=m"], "E10001"),
    ],
)
def test_refused_before_work_begins(
    words: list[str],
    code: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m").write_bytes(onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [])).SerializeToString())
    assert atc.main(words) == 255
    assert f"\n{code}: " in capsys.readouterr().out


def test_a_reader_that_has_gone() -> None:
    program = f"{sys.executable} -m ascend_ep.cli.atc --help"
    done = subprocess.run(["sh", "-c", f"{program} | head -1"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage:")
    assert done.stderr == ""


def test_warnings_of_libraries_are_not_atcs(capsys: pytest.CaptureFixture[str]) -> None:
    with own_warnings({}):
        warnings.warn_explicit("of ours", RuntimeWarning, str(Path(ascend_ep.__file__).parent / "x.py"), 1)
        warnings.warn_explicit("of numpy", RuntimeWarning, "numpy/x.py", 1)
    with own_warnings({"log": "error"}):
        warnings.warn_explicit("hidden", RuntimeWarning, str(Path(ascend_ep.__file__).parent / "x.py"), 1)
    assert capsys.readouterr().err == "[WARNING] of ours\n"


def test_every_flag_that_acts_is_read_by_a_mode() -> None:
    """A flag may not claim to act and be looked at nowhere."""
    readers = [path for path in Path(atc.__file__).parent.glob("atc*.py") if path.name != "atc_flags.py"]
    text = "".join(path.read_text() for path in readers)
    assert [flag.name for flag in FLAGS if flag.acts and f'"{flag.name}"' not in text] == []
