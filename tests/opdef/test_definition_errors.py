"""Bad definitions: code, file, line, pointer, what is allowed. Hostile ones are refused clearly."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_ep.errors import AscendError
from ascend_ep.opdef.jsontext import MAX_BYTES, parse_document
from ascend_ep.opdef.loader import load_definitions, parse_definitions

CASES = {
    '{"op": "A",\n "inptus": []}': ("E41003", "f.json:2 /inptus", "Did you mean [inputs]?"),
    '{"input_num": 1}': ("E41004", "f.json:1", "The key [op] is missing"),
    '{"op": 3}': ("E41005", "f.json:1 /op", "it must be a string"),
    '{"op": "a-b", "input_num": 1, "output_num": 1}': ("E41005", "/op", "letters, digits and _"),
    '{"op": "A", "input_num": -1, "output_num": 1}': ("E41005", "/input_num", "at least 0"),
    '{"op": "A", "input_num": 1}': ("E41004", "f.json:1", "[output_num]"),
    '{"op": "A", "input_num": 1e400, "output_num": 1}': ("E41001", "f.json:1:26", "finite"),
    '{"op": "A", "input_num": 1, "output_num": 1,\n\n"attr": [{"name": "a", "type": "integer"}]}': (
        "E41005",
        "f.json:3 /attr/0/type",
        "one of int, float",
    ),
    '{"op": "A",\n"inputs": [{"name": "x",\n"type": "flaot32"}], "outputs": [{"name": "y"}]}': (
        "E41005",
        "f.json:3 /inputs/0/type",
        "Did you mean [float32]?",
    ),
    '{"op": "A", "inputs": [{"name": "x"}], "outputs": [{"name": "x"}]}': (
        "E41006",
        "f.json:1",
        "given twice",
    ),
    '{"op": "A", "inputs": [], "outputs": []}': ("E41006", "f.json:1", "no outputs"),
    '{"op": "A", "inputs": [], "input_desc": []}': ("E41006", "/input_desc", "two names of one thing"),
    '{"op": "A", "formula": "x", "library": "k"}': ("E41006", "/library", "both give the semantics"),
    '{"op": "A", "input_num": 2, "inputs": [{"name": "x"}], "outputs": [{"name": "y"}]}': (
        "E41006",
        "/input_num",
        "1 are described",
    ),
    '{"op": "A", "inputs": [{"name": "a", "param_type": "dynamic"}, {"name": "x"}]}': (
        "E41006",
        "/inputs/0",
        "only the last",
    ),
    '{"op": "A", "inputs": [{"name": "x"}], "outputs": [{"name": "y"}],\n "formula": "x +* 2"}': (
        "E42001",
        "f.json:2 /formula",
        "   ^",
    ),
    '{"op": "A", "inputs": [{"name": "x"}],\n "outputs": [{"name": "y"}], "shape": {"y": "z"}}': (
        "E42002",
        "f.json:2 /shape/y",
        "Unknown name [z]",
    ),
    '{"op": "A", "inputs": [{"name": "x"}], "outputs": [{"name": "y"}], "shape": {"u": "x"}}': (
        "E41005",
        "/shape/u",
        "outputs: y",
    ),
    '{"op": "A", "attr": [{"name": "a", "type": "int", "default": "x"}], "input_num": 1, "output_num": 1}': (
        "E41005",
        "/attr/0/default",
        "of type int",
    ),
    '{"op": "A", "attr": [{"name": "a", "type": "int", "default": true}], "input_num": 1, "output_num": 1}': (
        "E41005",
        "/attr/0/default",
        "of type int",
    ),
    '{"op": "A", "op": "B"}': ("E41001", "f.json:1:13", "given twice"),
    '{"op": "A" "x"}': ("E41001", "f.json:1:12", "expected , or }"),
    '{"op": "A",}': ("E41001", "f.json:1:12", "double quotes"),
    '{"op": NaN}': ("E41001", "f.json:1:8", "expected a value"),
    '{"op": "A"} {}': ("E41001", "f.json:1:13", "nothing may follow"),
    '{"op": "\\ud800"}': ("E41001", "f.json:1", "surrogate"),
    "": ("E41001", "f.json:1:1", "found: the end"),
    "[]": ("E41005", "f.json:1", "at least 1 item"),
    "3": ("E41005", "f.json:1", "a map"),
    "[" * 100_000: ("E41002", "f.json:1", "nested deeper"),
    '{"a":' * 100_000: ("E41002", "f.json:1", "nested deeper"),
    "[" + "0," * 60_000 + "0]": ("E41002", "f.json:1", "more than 50000 values"),
    "1" * 5000: ("E41001", "f.json:1", "64 bits"),
    '"' + "x" * (MAX_BYTES + 1) + '"': ("E41002", "f.json", "more than"),
}


@pytest.mark.parametrize("text", CASES, ids=lambda t: t[:40])
def test_what_is_wrong_and_where(text: str) -> None:
    code, where, words = CASES[text]
    with pytest.raises(AscendError) as caught:
        parse_definitions(text, "f.json")
    assert caught.value.code == code
    assert where in caught.value.where
    assert words in str(caught.value)
    assert caught.value.fix
    assert len(str(caught.value)) < 4000


def test_files_that_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "op.json"
    file.write_bytes(b'{"op":\n "\xff"}')
    with pytest.raises(AscendError, match=r"E41001 .*op\.json:2"):
        load_definitions(file)
    with pytest.raises(AscendError, match="E10410"):
        load_definitions(tmp_path / "none.json")
    with pytest.raises(AscendError, match="E41010"):
        load_definitions(tmp_path)
    file.write_bytes(b"\xef\xbb\xbf" + b'{"op": "A", "input_num": 1, "output_num": 1}')
    assert load_definitions(file)[0].op == "A"


def attack(tmp_path: Path, name: str) -> AscendError:
    folder = tmp_path / "ops"
    folder.mkdir(exist_ok=True)
    file = folder / "op.json"
    file.write_text(json.dumps({"op": "A", "input_num": 1, "output_num": 1, "library": name}))
    with pytest.raises(AscendError) as caught:
        load_definitions(file)
    assert caught.value.code == "E41007"
    assert "/library" in caught.value.where
    return caught.value


@pytest.mark.parametrize(
    "name",
    ["../secret.so", "a/../../secret.so", "/etc/passwd", "..", ".", "a\\..\\b", "C:x.so", "x\0y", "none.so"],
)
def test_paths_never_leave_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.so").write_text("x")
    attack(tmp_path, name)


def test_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ops").mkdir()
    (tmp_path / "secret.so").write_text("x")
    (tmp_path / "ops" / "link.so").symlink_to(tmp_path / "secret.so")
    (tmp_path / "ops" / "folder").symlink_to(tmp_path)
    os.link(tmp_path / "secret.so", tmp_path / "ops" / "hard.so")
    assert "symbolic link" in attack(tmp_path, "link.so").text
    assert "symbolic link" in attack(tmp_path, "folder/secret.so").text
    assert "hard link" in attack(tmp_path, "hard.so").text


def test_a_definition_that_is_no_file_has_no_paths() -> None:
    with pytest.raises(AscendError, match="E41007"):
        parse_definitions('{"op": "A", "input_num": 1, "output_num": 1, "source": "a.c"}')


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda v: st.lists(v) | st.dictionaries(st.text(), v),
    )
)
def test_our_reader_agrees_with_json(value: object) -> None:
    text = json.dumps(value)
    if "NaN" in text or "Infinity" in text or "\\ud" in text:
        return
    assert parse_document(text).value == json.loads(text)


@settings(max_examples=300)
@given(st.text(alphabet='{}[]",:0123456789.eE+-\\u \ntrufalsn/op', max_size=60))
def test_any_text_is_a_value_or_an_error(text: str) -> None:
    with contextlib.suppress(AscendError):
        assert parse_definitions(text)
