"""A library that replaces a built-in operator is compared with it at conversion, apart from the converter."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import helper
from small_models import FLOAT, model

import ascend_ep
from ascend_ep.cli.atc import main as atc

SOURCE = Path(__file__).parent.parent / "assets" / "rope_library.c"
S, D = 6, 8
START = "int64_t interleaved ="
#: Libraries of RoPE, as what is replaced in one that is right.
LIBRARIES = {
    "right": ("", ""),
    "wrong sign": ("out[first] = a * c - b * s_;", "out[first] = a * c + b * s_;"),
    "a crash": ("    int64_t interleaved =", "    *(volatile int *)8 = 1;\n    int64_t interleaved ="),
    "an end": ("    int64_t interleaved =", "    _exit(7);\n    int64_t interleaved ="),
    "a refusal": (
        "    int64_t interleaved =",
        '    return fail(call, "not today");\n    int64_t interleaved =',
    ),
    "other attributes": ("first = interleaved ?", "first = !interleaved ?"),
}
Converted = Callable[..., tuple[str, str]]


@pytest.fixture
def converted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Converted:
    """What a conversion prints, and says on standard error, of a model of a RoPE with a library."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    monkeypatch.setenv("ASCEND_EP_TRUST", str(tmp_path / "trust"))

    def run(kind: str, *more: str, op: str = "RoPE", **attributes: int) -> tuple[str, str]:
        old, new = LIBRARIES[kind]
        text = SOURCE.read_text()
        assert old in text
        text = text.replace(old, new)
        if kind == "other attributes":
            text = text.replace("second = interleaved", "second = !interleaved")
        text = text.replace('.op_type = "RoPE"', f'.op_type = "{op}"')
        (tmp_path / "rope.c").write_text("#include <unistd.h>\n" + text)
        flags = ["-O2", "-shared", "-fPIC", f"-I{ascend_ep.get_include()}", str(tmp_path / "rope.c")]
        subprocess.run([compiler, *flags, "-o", str(tmp_path / "rope.so")], check=True)
        onnx.save(rope(op, **attributes), tmp_path / "m.onnx")
        words = [f"--model={tmp_path / 'm.onnx'}", "--framework=5", f"--output={tmp_path / 'm'}"]
        words += ["--soc_version=Ascend910B3", "--precision_mode=must_keep_origin_dtype"]
        if not more or not more[0].startswith("--custom_op"):
            words.append(f"--custom_op={op}:{tmp_path / 'rope.so'}")
        assert atc([*words, "--self_check=0", *more]) == 0
        said = capsys.readouterr()
        return said.out, said.err

    return run


def rope(op: str, **attributes: int) -> onnx.ModelProto:
    return model(
        [helper.make_node(op, ["x", "cos", "sin"], ["y"], "rope", domain="my", **attributes)],
        [("x", FLOAT, ["B", S, D]), ("cos", FLOAT, [S, D // 2]), ("sin", FLOAT, [S, D // 2])],
        [("y", FLOAT, ["B", S, D])],
    )


def test_a_wrong_sign_is_said(converted: Converted) -> None:
    """It used to be used without a word but where it comes from."""
    _, err = converted("wrong sign", interleaved=1)
    (line,) = [line for line in err.splitlines() if "E41016" in line]
    assert (
        "node rope: The library of Op [RoPE] contradicts the built-in operator: largest difference " in line
    )
    assert "sample " in line
    assert "(float32[2, 6, 8], float32[6, 4], float32[6, 4]), output 0" in line
    assert "is used, not the built-in (attention/RoPE.json); to have that, leave out --custom_op" in line


def test_an_equal_one_is_said_in_verbose_logs_alone(converted: Converted) -> None:
    out, err = converted("right", interleaved=1)
    assert "E4101" not in err
    assert "agrees" not in out + err
    out, err = converted("right", "--log=info", interleaved=1)
    assert "agrees with the built-in (attention/RoPE.json) on 3 samples" in out + err


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("a crash", "it ends the process by SIGSEGV"),
        ("an end", "it ends the process with status 7"),
        ("a refusal", "it refuses: not today"),
    ],
)
def test_failures_on_samples_are_said(converted: Converted, kind: str, how: str) -> None:
    """And the converter goes on: its own run of the samples used to end with the library."""
    _, err = converted(kind)
    (line,) = [line for line in err.splitlines() if "E41017" in line]
    assert f"sample 1 of 3 (float32[2, 6, 8], float32[6, 4], float32[6, 4]): {how}" in line


def test_a_crash_without_a_built_in_operator_is_said(converted: Converted) -> None:
    _, err = converted("a crash", op="Twirl")
    (line,) = [line for line in err.splitlines() if "E41017" in line]
    assert line.endswith("it ends the process by SIGSEGV.")
    assert "E41017" not in converted("a refusal", op="Twirl")[1]


def test_attributes_of_another_meaning_contradict(converted: Converted) -> None:
    assert "E41016" in converted("other attributes", interleaved=1)[1]
    assert "E41016" in converted("other attributes")[1]
    assert "E41016" not in converted("right")[1]


def test_a_folder_says_which_file_to_remove(
    converted: Converted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    converted("wrong sign")
    folder = tmp_path / "ops"
    folder.mkdir()
    shutil.copy(tmp_path / "rope.so", folder)
    monkeypatch.setenv("ASCEND_CUSTOM_OPS", str(folder))
    _, err = converted("wrong sign", "--custom_op=")
    assert f"remove {folder / 'rope.so'} from the folder" in err
    assert os.listdir(folder) == ["rope.so"]
