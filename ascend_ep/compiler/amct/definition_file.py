"""The .cfg file of `config_defination`: AMCT's settings in the text form of protocol buffers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from ascend_ep.errors import AscendError, did_you_mean

LIMIT = 1 << 20  # bytes of a file

_TOKEN = re.compile(
    r"(?P<space>\s+|#[^\n]*)|(?P<mark>[:{}\[\],;])|(?P<text>\"[^\"\n]*\"|'[^'\n]*')|(?P<word>[^\s:{}\[\],;#\"']+)"
)
#: Fields that hold fields, and those that may come many times.
_RANGES = ("search_range_start", "search_range_end", "search_step", "max_percentile", "min_percentile")
_CALIBRATION: dict[str, Any] = {
    "arq_quantize": dict.fromkeys(("channel_wise", "num_bits", "quant_bits", "asymmetric")),
    "ifmr_quantize": dict.fromkeys((*_RANGES, "num_bits", "dst_type", "asymmetric")),
    "hfmg_quantize": dict.fromkeys(("num_of_bins", "num_bits", "dst_type", "asymmetric")),
    "dmq_balancer": {"migration_strength": None},
    "weight_compress_only": None,
}
FIELDS: dict[str, Any] = {
    **dict.fromkeys(("batch_num", "activation_offset", "do_fusion", "joint_quant", "version")),
    **dict.fromkeys(("skip_fusion_layers", "skip_layers", "skip_layer_types", "fakequant_precision_mode")),
    "common_config": _CALIBRATION,
    "conv_calibration_config": _CALIBRATION,
    "fc_calibration_config": _CALIBRATION,
    "override_layer_types": {"layer_type": None, "calibration_config": _CALIBRATION},
    "override_layer_configs": {"layer_name": None, "calibration_config": _CALIBRATION},
}
_REPEATED = (
    *("skip_layers", "skip_layer_types", "skip_fusion_layers"),
    *("override_layer_types", "override_layer_configs"),
)
Token = tuple[str, str, int]  # kind, text, where it starts


def read_definition(path: Path) -> dict[str, Any]:
    """The fields of a file; those that may repeat as lists. Raises AscendError E10001, with the line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AscendError("E10001", str(path), "config_defination", f"It can't be read: {error}.") from error
    if len(text) > LIMIT:
        raise AscendError("E10001", str(path), "config_defination", f"It has more than {LIMIT} bytes.")
    return _Reader(text, path).message(FIELDS, inside=False)


class _Reader:
    def __init__(self, text: str, path: Path) -> None:
        self._text, self._path = text, path
        self._tokens = [*self._scan(), ("end", "the end of the file", len(text))]
        self._next = 0

    def _scan(self) -> Iterator[Token]:
        at = 0
        while at < len(self._text):
            match = _TOKEN.match(self._text, at)
            if match is None:
                self._fail(f"{self._text[at]!r} can't stand here.", at)
            if match.lastgroup != "space":
                yield str(match.lastgroup), match[0], at
            at = match.end()

    def _fail(self, reason: str, at: int) -> NoReturn:
        line = self._text.count("\n", 0, at) + 1
        column = at - self._text.rfind("\n", 0, at)
        raise AscendError("E10001", f"{self._path}:{line}:{column}", "config_defination", reason)

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def _skip(self, *marks: str) -> bool:
        found = self._tokens[self._next][0] == "mark" and self._tokens[self._next][1] in marks
        self._next += found
        return found

    def message(self, fields: dict[str, Any], inside: bool) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while True:
            kind, name, at = self._take()
            if (kind == "mark" and name == "}" and inside) or (kind == "end" and not inside):
                return found
            if kind != "word":
                self._fail(f"A field is expected, not {name[:40]!r}.", at)
            if name not in fields:
                self._fail(f"[{name[:40]}] is no field here.{did_you_mean(name[:80], fields)}", at)
            self._field(name, fields[name], found, at)
            while self._skip(",", ";"):
                pass

    def _field(self, name: str, fields: dict[str, Any] | None, found: dict[str, Any], at: int) -> None:
        colon = self._skip(":")
        values: list[Any]
        if fields is not None:
            if not self._skip("{"):
                self._fail(f"[{name}] has fields, in braces.", at)
            values = [self.message(fields, inside=True)]
        elif not colon:
            self._fail(f"[{name}] has no value.", at)
        elif self._skip("["):
            values = [self._value(name)]
            while self._skip(","):
                values.append(self._value(name))
            if not self._skip("]"):
                self._fail(f"The list of [{name}] has no end.", at)
        else:
            values = [self._value(name)]
        if name in _REPEATED:
            found.setdefault(name, []).extend(values)
        elif name in found or len(values) > 1:
            self._fail(f"[{name}] is given twice.", at)
        else:
            found[name] = values[0]

    def _value(self, name: str) -> Any:
        kind, text, at = self._take()
        if kind == "text":
            return text[1:-1]
        if kind != "word":
            self._fail(f"[{name}] has no value.", at)
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        for read in (int, float):
            try:
                return read(text)
            except ValueError:
                continue
        return text
