"""JSON of users' files is that of RFC 8259, for the readers in C and in Python alike."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from ascend_ep.cann.aclruntime.settings import read_settings
from ascend_ep.cann.single_op import read_operators
from ascend_ep.errors import AscendError
from ascend_ep.opdef.jsontext import parse_document, strict_json

NONE = {
    "a comma at the end": '{"a": 1,}',
    "a comma in a list": '{"a": [1,]}',
    "a comma alone": '{"a": [,]}',
    "two commas": '{"a": 1,, "b": 2}',
    "no comma": '{"a": 1 "b": 2}',
    "NaN": '{"a": NaN}',
    "nan": '{"a": nan}',
    "Infinity": '{"a": -Infinity}',
    "inf": '{"a": inf}',
    "beyond a double": '{"a": 1e999}',
    "a whole number beyond a double": f'{{"a": 1{"0" * 400}}}',
    "more digits than Python reads": f'{{"a": {"1" * 5000}}}',
    "too deep": f'{{"a": {"[" * 65}{"]" * 65}}}',
    "so deep that Python gives up": f'{{"a": "\\u0041", "b": {"[" * 990}{"]" * 990}}}',
    "a half behind an escape": '{"a": "\\\\\\udc00"}',
    "a half in a value that another replaces": '{"a": "\\ud800", "a": 1}',
    "hexadecimal": '{"a": 0x10}',
    "a plus": '{"a": +1}',
    "a zero before": '{"a": 01}',
    "no digit before the point": '{"a": .5}',
    "no digit behind it": '{"a": 1.}',
    "no exponent": '{"a": 1e}',
    "a minus": '{"a": -}',
    "a comment": '{"a": 1 /* one */}',
    "a hash": '{"a": 1} # one',
    "single quotes": "{'a': 1}",
    "no quotes": "{a: 1}",
    "a lone surrogate": '{"a": "\\ud800"}',
    "two first halves": '{"a": "\\ud800\\ud800"}',
    "a second half": '{"a": "\\udc00"}',
    "a half in a key": '{"\\udc00": 1}',
    "a tab": '{"a": "\t"}',
    "a line's end": '{"a": "\n"}',
    "an escape": '{"a": "\\x41"}',
    "four digits": '{"a": "\\u12g4"}',
    "capitals": '{"a": True}',
    "longer words": '{"a": nullx}',
    "no end": '{"a": [1, 2}',
    "more behind": '{"a": 1} {}',
    "another brace": '{"a": 1}}',
    "a byte of zero": '{"a": 1}\0',
    "zero within": '{"a": "\0"}',
    "another space": '{"a":\u00a01}',
}
BYTES = {
    "half of a character": b'{"a": "\xc3"}',
    "too long": b'{"a": "\xc0\xaf"}',
    "a pair": b'{"a": "\xed\xa0\x80"}',
}
ONE = (
    "{}",
    ' {"a" : [ ] , "b":[{},[[]]], "c":"\\u00e9\\ud83d\\ude00 \\n\\/"}\n',
    '{"": -0.5e-3, "d": [true,false,null, 0, 10, 1E+2]}',
    '{"é": "\u0080😀", "a": 123456789012345678901234567890}',
    '\ufeff{"a": 1}',
    f'{{"a": {"[" * 64}0{"]" * 64}}}',
    '{"a": "\\\\ud800 \\\\\\\\ud800"}',
)


def in_c(acl: Any, path: Path, text: bytes) -> bool:
    """Whether AscendCL reads a file's text: as JSON without a dump, which is another error."""
    path.write_bytes(text)
    code = acl.mdl.set_dump(str(path))
    assert code in (0, 100006, 100009)
    return code != 100006


def in_python(text: bytes) -> bool:
    try:
        return isinstance(strict_json(text), dict)
    except ValueError:
        return False


@pytest.fixture
def dumping(acl: Any) -> Any:
    assert acl.mdl.init_dump() == 0
    yield acl
    assert acl.mdl.finalize_dump() == 0


@pytest.mark.parametrize("text", [*(t.encode() for t in NONE.values()), *BYTES.values()], ids=[*NONE, *BYTES])
def test_what_is_none_is_refused_by_every_reader(dumping: Any, tmp_path: Path, text: bytes) -> None:
    assert not in_c(dumping, tmp_path / "acl.json", text)
    assert "is not one JSON object: in line" in dumping.get_recent_err_msg()
    with pytest.raises(ValueError, match=r"\w"):
        strict_json(text)
    with pytest.raises(RuntimeError, match="it isn't JSON: "):
        read_settings(tmp_path / "acl.json")
    listed = tmp_path / "op.json"
    listed.write_bytes(b"[" + text + b"]")
    with pytest.raises(AscendError, match="E10025"):
        read_operators(str(listed))


@pytest.mark.parametrize("name", [n for n in NONE if n != "a comment"])
def test_a_definition_has_no_more(name: str) -> None:
    with pytest.raises(AscendError, match=r"E4100[12]"):
        parse_document(NONE[name])


@pytest.mark.parametrize("text", ONE)
def test_what_is_one_is_read(dumping: Any, tmp_path: Path, text: str) -> None:
    assert in_c(dumping, tmp_path / "acl.json", text.encode())
    assert in_python(text.encode())


def test_the_last_of_two_values_counts(dumping: Any, tmp_path: Path) -> None:
    path = tmp_path / "acl.json"
    path.write_text(f'{{"dump": {{"dump_path": "none", "dump_op_switch": "on", "dump_path": "{tmp_path}"}}}}')
    assert dumping.mdl.set_dump(str(path)) == 0, dumping.get_recent_err_msg()
    path.write_text(
        '{"profiler": {"switch": "on", "output": "a"}, "profiler": {"switch": "on", "output": "b"}}'
    )
    assert read_settings(path).profile == Path("b")
    with pytest.raises(ValueError, match=r"\[a\] is given twice"):
        strict_json('{"a": 1, "b": {"a": 2, "a": 3}}', once=True)


def test_both_readers_agree_on_mutated_texts(dumping: Any, tmp_path: Path) -> None:
    draw, path, agreed = random.Random(1), tmp_path / "acl.json", [0, 0]
    pieces = [bytes([c]) for c in b'",[]{}:\\e-.0 \0\xc3'] + [b"\\u", b"d800"]
    for _ in range(3000):
        text = bytearray(draw.choice([t.encode() for t in [*NONE.values(), *(8 * ONE)]]))
        for _ in range(draw.randint(1, 2)):
            at = draw.randrange(len(text) or 1)
            text[at : at + draw.randint(0, 2)] = draw.choice(pieces) if draw.random() < 0.8 else b""
        right = in_python(bytes(text))
        assert in_c(dumping, path, bytes(text)) == right or not text.strip(b"\xef\xbb\xbf \n"), bytes(text)
        agreed[right] += 1
    assert min(agreed) > 100, agreed
