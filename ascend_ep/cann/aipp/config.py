"""Reading the file of --insert_op_conf: `aipp_op { key: value ... }`, once for each input it is about.

Every refusal is an AscendError E10052 that names the file, the line and the column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from ascend_ep import regular_file
from ascend_ep.errors import AscendError, did_you_mean

LIMIT = 1 << 20  # bytes of a configuration

#: input_format by name -> its number, which may stand for it.
FORMATS = {"YUV420SP_U8": 1, "XRGB8888_U8": 2, "RGB888_U8": 3, "YUV400_U8": 4}
MODES = ("static", "dynamic")

Value = int | float | bool | str

#: key -> its default, whose type is the key's; (least, greatest) of numbers.
KEYS: dict[str, tuple[Value, float, float]] = {
    "aipp_mode": ("", 0, 0),
    "related_input_rank": (0, 0, 1e4),
    "related_input_name": ("", 0, 0),
    "input_format": ("", 0, 0),
    "max_src_image_size": (0, 0, 2**32 - 1),
    "support_rotation": (False, 0, 0),
    "src_image_size_w": (0, 0, 4096),
    "src_image_size_h": (0, 0, 4096),
    "crop": (False, 0, 0),
    "load_start_pos_w": (0, 0, 4095),
    "load_start_pos_h": (0, 0, 4095),
    "crop_size_w": (0, 0, 4096),
    "crop_size_h": (0, 0, 4096),
    "resize": (False, 0, 0),
    "resize_output_w": (0, 0, 4096),
    "resize_output_h": (0, 0, 4096),
    "padding": (False, 0, 0),
    "left_padding_size": (0, 0, 32),
    "right_padding_size": (0, 0, 32),
    "top_padding_size": (0, 0, 32),
    "bottom_padding_size": (0, 0, 32),
    "padding_value": (0.0, -65504, 65504),
    "csc_switch": (False, 0, 0),
    "rbuv_swap_switch": (False, 0, 0),
    "ax_swap_switch": (False, 0, 0),
    "single_line_mode": (False, 0, 0),
    **{
        f"matrix_r{i // 3}c{i % 3}": (value, -32677, 32676)
        for i, value in enumerate((298, 516, 0, 298, -100, -208, 298, 0, 409))
    },
    **{f"input_bias_{i}": (value, 0, 255) for i, value in enumerate((16, 128, 128))},
    **{f"output_bias_{i}": (value, 0, 255) for i, value in enumerate((16, 128, 128))},
    **{f"mean_chn_{i}": (0, 0, 255) for i in range(4)},
    **{f"min_chn_{i}": (0.0, 0, 255) for i in range(4)},
    **{f"var_reci_chn_{i}": (1.0, -65504, 65504) for i in range(4)},
}

_TOKEN = re.compile(
    r"(?P<space>\s+|#[^\n]*)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?f?)"
    r"|(?P<text>\"[^\"\n]*\"|'[^'\n]*')|(?P<mark>[:{}<>;,])"
)


@dataclass(frozen=True)
class AippOp:
    """The values of one aipp_op, defaults filled in; `given`: the keys it names; `where`: file and line."""

    values: dict[str, Value]
    given: frozenset[str]
    where: str

    def number(self, key: str) -> int:
        return int(self.values[key])

    def real(self, key: str) -> float:
        return float(self.values[key])

    def flag(self, key: str) -> bool:
        return bool(self.values[key])

    def text(self, key: str) -> str:
        return str(self.values[key])


def read_aipp(path: Path) -> list[AippOp]:
    """The aipp_op blocks of a file, in order; at least one."""
    try:
        data = regular_file.read(path)
    except OSError as error:
        raise AscendError("E10052", f"The file cannot be read: {error.strerror}.", where=str(path)) from error
    if len(data) > LIMIT:
        raise AscendError("E10052", f"The file has more than {LIMIT} bytes.", where=str(path))
    # Comments are in any encoding, GBK among them; what isn't ASCII elsewhere is refused where it stands.
    return _Reader(data.decode("utf-8-sig", errors="backslashreplace"), str(path)).read()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int


class _Reader:
    """A reader of the text form of protocol buffers, as far as AIPP needs it."""

    def __init__(self, text: str, path: str) -> None:
        self._text, self._path = text, path
        self._tokens = [*self._scan(), _Token("end", "the end of the file", len(text))]
        self._next = 0

    def _scan(self) -> Iterator[_Token]:
        at = 0
        while at < len(self._text):
            match = _TOKEN.match(self._text, at)
            if match is None:
                self._fail(f"{self._text[at]!r} cannot stand here.", at)
            if match.lastgroup != "space":
                yield _Token(str(match.lastgroup), match[0], at)
            at = match.end()

    def _place(self, at: int) -> str:
        line = self._text.count("\n", 0, at) + 1
        return f"{self._path}:{line}:{at - self._text.rfind(chr(10), 0, at)}"

    def _fail(self, reason: str, at: int) -> NoReturn:
        raise AscendError("E10052", reason, where=self._place(at))

    def _take(self) -> _Token:
        token = self._tokens[self._next]
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def _is_next(self, *marks: str) -> bool:
        return self._tokens[self._next].text in marks

    def _expect(self, mark: str) -> _Token:
        token = self._take()
        if token.text != mark:
            self._fail(f"{mark!r} is expected, not {token.text[:40]!r}.", token.at)
        return token

    def read(self) -> list[AippOp]:
        ops = []
        while self._tokens[self._next].kind != "end":
            token = self._take()
            if token.text != "aipp_op":
                near = did_you_mean(token.text[:80], ["aipp_op"])
                self._fail(f"[aipp_op] is expected, not {token.text[:40]!r}.{near}", token.at)
            if self._is_next(":"):
                self._take()
            ops.append(self._block(token))
        if not ops:
            self._fail("The file has no [aipp_op].", 0)
        return ops

    def _block(self, name: _Token) -> AippOp:
        self._expect("{")
        given: dict[str, Value] = {}
        while not self._is_next("}"):
            key = self._take()
            if key.kind != "name" or key.text not in KEYS:
                shown = f"[{key.text[:40]}] is no key of [aipp_op]." if key.kind == "name" else ""
                near = did_you_mean(key.text[:80], KEYS) if key.kind == "name" else ""
                self._fail((shown or f"A key or '}}' is expected, not {key.text[:40]!r}.") + near, key.at)
            if key.text in given:
                self._fail(f"The key [{key.text}] is given twice.", key.at)
            self._expect(":")
            given[key.text] = self._value(key.text, self._take())
            while self._is_next(",", ";"):
                self._take()
        self._expect("}")
        op = AippOp({k: v for k, (v, _, _) in KEYS.items()} | given, frozenset(given), self._place(name.at))
        if not op.text("aipp_mode"):
            self._fail("[aipp_mode] is required; it is static or dynamic.", name.at)
        return op

    def _value(self, key: str, token: _Token) -> Value:
        default, least, greatest = KEYS[key]
        text = token.text.strip("\"'") if token.kind == "text" else token.text
        if token.kind not in ("name", "number", "text"):
            self._fail(f"[{key}] has no value.", token.at)
        if isinstance(default, bool):
            return self._choice(key, token, text, {"true": True, "false": False, "1": True, "0": False})
        if key == "aipp_mode":
            return self._choice(key, token, text, {mode: mode for mode in MODES})
        if key == "input_format":
            named = {name: name for name in FORMATS}
            return self._choice(key, token, text, named | {str(n): name for name, n in FORMATS.items()})
        if isinstance(default, str):
            return text
        try:
            number = int(text) if isinstance(default, int) else float(text.rstrip("f"))
        except ValueError:
            kind = "an integer" if isinstance(default, int) else "a number"
            self._fail(f"[{key}] must be {kind}, not {text[:40]!r}.", token.at)
        if not least <= number <= greatest:
            self._fail(f"[{key}] is {number}; it must be within [{least:g}, {greatest:g}].", token.at)
        return number

    def _choice(self, key: str, token: _Token, text: str, known: Mapping[str, Value]) -> Value:
        if text not in known:
            near = did_you_mean(text[:80], known)
            self._fail(f"[{key}] is {text[:40]!r}; it must be one of {', '.join(known)}.{near}", token.at)
        return known[text]
