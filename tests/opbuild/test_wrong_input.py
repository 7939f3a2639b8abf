"""What ascend-op build says of wrong input: a code, what, where, and the fix; and that nothing is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from build_commands import SWISH, Run

from ascend_ep.opdef.registry import Registry

pytestmark = pytest.mark.usefixtures("compiler")

WRONG: dict[str, tuple[tuple[str, ...], str, str]] = {
    "free variable": (("--prompt", "F(x) = x*y", "--input_shape", "[4]"), "E42002", "             ^"),
    "broadcast": (("--prompt", "F(x, y) = x*y", "--input_shape", "[4,33];[34]"), "E41012", "           ^^^^"),
    "shape text": (("--prompt", "F(x) = x*2", "--input_shape", "[4,x]"), "E43103", "    ^^^^^"),
    "zero size": (("--prompt", "F(x) = x*2", "--input_shape", "[4,0]"), "E43103", "^"),
    "too few shapes": (("--prompt", "F(x, y) = x*y", "--input_shape", "[4]"), "E41011", "^^^"),
    "type": (("--prompt", "F(x) = x*2", "--input_shape", "[4]", "--dtype", "float31"), "E43103", "bfloat16"),
    "attribute": (("--prompt", "F(x) = x*2", "--input_shape", "[4]", "--attr", "k"), "E43103", "NAME=VALUE"),
    "search": (("--prompt", "F(x) = x*2", "--input_shape", "[4]", "--search", "x"), "E43103", "seconds"),
    "chip": (
        ("--prompt", "F(x) = x*2", "--input_shape", "[4]", "--soc_version", "Ascend9"),
        "E10001",
        "Ascend9",
    ),
    "name": (
        ("--prompt", "F(x) = x*2", "--input_shape", "[4]", "--output_name", "../f"),
        "E43103",
        "letters",
    ),
    "file": (("nowhere.py", "--input_shape", "[4]"), "E10410", "nowhere.py"),
    "nothing": (("--input_shape", "[4]"), "E43103", "--prompt"),
    "recursion": (("--prompt", "F(x) = g(x), where g(x) = g(x) + 1", "--input_shape", "[4]"), "E420", "^"),
    "1 MB": (("--prompt", "F(x) = x" + "+x" * 500_000, "--input_shape", "[4]"), "E42004", " ^\n"),
    "prose": (("--prompt", "make it smooth please", "--input_shape", "[4]"), "E42103", "Swish(x)"),
    "unbalanced shape": (("--prompt", "F(x) = x*2", "--input_shape", "[4"), "E43103", "    ^^"),
    "no shape": (("--prompt", "F(x) = x*2"), "E10007", "--input_shape"),
    "too many shapes": (("--prompt", "F(x) = x*2", "--input_shape", "[4];[5]"), "E41011", "        ^^^"),
    "type of an input": (
        ("--prompt", "F(x) = x*2", "--input_shape", "[4]", "--dtype", "int32"),
        "E41011 --dtype",
        "^^^^^",
    ),
    "attribute without value": (
        ("--prompt", "def f(x, k: float):\n    return x*k", "--input_shape", "[4]"),
        "E41011 --attr",
        "attribute [k] is required",
    ),
    "op type": (("--prompt", "F(x) = x*2", "--input_shape", "[4]", "--op_type", "a b"), "E42003", "a b"),
    "recursive def": (
        ("--prompt", "def f(x):\n    return f(x) + 1", "--input_shape", "[4]"),
        "E42101",
        "           ^",
    ),
    "import": (
        ("--prompt", "import os\ndef f(x):\n    return os.system(x)", "--input_shape", "[4]"),
        "E42",
        "os",
    ),
    "deep": (("--prompt", "F(x) = " + "(" * 900 + "x" + ")" * 900, "--input_shape", "[4]"), "E42004", "^"),
    "itself": (("--prompt", "f(x) = f(x)", "--input_shape", "[4]"), "E42003", "           ^"),
    "def of itself": (
        ("--prompt", "def f(x): return f(x)", "--input_shape", "[4]"),
        "E42101",
        "                     ^",
    ),
    "two of each other": (
        ("--prompt", "def g(x): return f(x)\ndef f(x): return g(x)", "--input_shape", "[4]"),
        "E42101",
        "                     ^",
    ),
    "deeper": (
        ("--prompt", "f(x) = " + "(" * 100_000 + "x" + ")" * 100_000, "--input_shape", "[4]"),
        "E42004",
        " ^\n",
    ),
    "deep def": (
        ("--prompt", "def f(x): return " + "(" * 9_000 + "x" + ")" * 9_000, "--input_shape", "[4]"),
        "E42",
        "nested",
    ),
    "deeper def": (
        ("--prompt", "def f(x): return " + "-" * 100_000 + "x", "--input_shape", "[4]"),
        "E42004",
        " ^\n",
    ),
    "long def": (
        ("--prompt", "def f(x):\n" + "    x = x + 1\n" * 80_000 + "    return x", "--input_shape", "[4]"),
        "E42004",
        " ^\n",
    ),
    "open bracket": (
        ("--prompt", "F(x) = where(x < 1, x", "--input_shape", "[4]"),
        "E42001",
        "                         ^",
    ),
    "product of two readings": (
        ("--prompt", "F(x) = 1/2x", "--input_shape", "[4]"),
        "E42001",
        "^",
    ),
    "more than there is": (
        ("--prompt", "T(x) -> v, i = topk(x, 10)", "--input_shape", "[4,9]"),
        "E41012",
        "k is 10",
    ),
    "empty": (("--prompt", "", "--input_shape", "[4]"), "E42103", "it is empty"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_input(build: Run, tmp_path: Path, kind: str) -> None:
    arguments, code, shown = WRONG[kind]
    status, _, err = build(*arguments)
    assert status == 1
    assert err.startswith(code)
    assert shown in err
    assert "fix: " in err
    assert not list(tmp_path.rglob("*.json"))


def test_a_megabyte_of_formula_in_a_file(build: Run, tmp_path: Path) -> None:
    path = tmp_path / "big.txt"
    path.write_text("F(x) = x" + "+x" * 500_000)
    status, _, err = build(str(path), "--input_shape", "[4]")
    assert status == 1
    assert err.startswith(f"E42004 {path}")


def test_unwritable_folders(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    status, _, err = run("build", *SWISH, "--output", str(tmp_path / "file" / "out"))
    assert status == 1
    assert err.startswith("E43104 --output: ")
    status, _, err = run(
        "build", *SWISH, "--output", str(tmp_path / "out"), installed=tmp_path / "file" / "ops"
    )
    assert status == 1
    assert err.startswith("E43104 $ASCEND_CUSTOM_OPS: ")
    assert "fix: Choose another folder with $ASCEND_CUSTOM_OPS" in err
    (tmp_path / "dangling").symlink_to("nowhere")
    assert run("build", *SWISH, "--output", str(tmp_path / "dangling"))[2].startswith("E43104 --output: ")
    assert run("build", *SWISH, "--output", str(tmp_path / "new" / ("x" * 300)))[2].startswith("E43104 ")
    assert {path.name for path in tmp_path.iterdir()} == {"file", "dangling"}


def test_no_compiler(build: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    status, _, err = build("--prompt", "F(x) = x*2", "--input_shape", "[4]")
    assert status == 1
    assert err.startswith("E43001")
    assert "fix: Install gcc" in err


def test_a_compiler_that_fails(build: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tmp_path / "badcc"
    says = '[ "$1" = --version ] && { echo badcc 1.0; exit 0; }'
    bad.write_text(f'#!/bin/sh\n{says}\necho "operator.c:1: error: out of luck" >&2\nexit 1\n')
    bad.chmod(0o755)
    monkeypatch.setenv("CC", str(bad))
    status, _, err = build(*SWISH)
    assert status == 1
    assert err.startswith("E43002")
    assert "out of luck" in err
    monkeypatch.setenv("CC", str(tmp_path))
    assert build(*SWISH)[2].startswith(f"E43005: $CC names the compiler [{tmp_path}]")
    assert list(tmp_path.iterdir()) == [bad], "not even the folder"


def test_an_unusable_cache(build: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ASCEND_EP_CACHE", str(tmp_path / "file"))
    status, _, err = build(*SWISH)
    assert status == 1
    assert err.startswith("E40002")


def test_another_definition_is_kept(build: Run, tmp_path: Path) -> None:
    ops = tmp_path / "ops"
    assert build(*SWISH, installed=ops)[0] == 0
    assert build(*SWISH, installed=ops)[0] == 0, "the same one again"
    other = ("--prompt", "Swish(x) = x * sigmoid(2*x)", "--input_shape", "[64]", "--output_name", "other")
    status, _, err = build(*other, installed=ops)
    assert status == 1
    assert err.startswith("E43101")
    assert "there: Swish(x): y = x*sigmoid(x)" in err
    assert "new:   Swish(x): y = x*sigmoid(2*x)" in err
    assert not (ops / "other.json").exists()
    assert build(*other, "--force", installed=ops)[0] == 0
    found = Registry.from_options(environ={"ASCEND_CUSTOM_OPS": str(ops)}).resolve("", "Swish", 22)
    assert found is not None
    assert "2*x" in found.opdef.semantics.text  # type: ignore[union-attr]


def test_what_tells_two_definitions_apart_is_shown(build: Run) -> None:
    same = ("--input_shape", "[4]", "--output_name", "same")
    assert build("--prompt", "F(x) = x*2", *same)[0] == 0
    status, _, err = build("--prompt", "F(x, k=3) = x*2", *same)
    assert (status, err[:6]) == (1, "E43101")
    assert "there: F(x): y = x*2" in err
    assert "new:   F(x, k=3.0): y = x*2" in err


def test_a_file_of_something_else_is_kept(build: Run, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    mine = tmp_path / "out" / "swish_custom.json"
    mine.write_text("my notes")
    status, _, err = build(*SWISH)
    assert (status, err[:6]) == (1, "E43101")
    assert mine.read_text() == "my notes"
    assert os.listdir(tmp_path / "out") == ["swish_custom.json"]
