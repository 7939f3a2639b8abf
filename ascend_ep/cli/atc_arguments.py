"""The command-line grammar of atc: getopt_long's, with atc's own messages.

`--name=value`, `--name value`, `-name=value`; `-` inside a name is `_`; names are whole, never a prefix of
one; of a repeated flag the last value counts, except that a list of ours grows.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence

from ascend_ep import regular_file
from ascend_ep.cli.atc_flags import BY_NAME, FLAGS, Flag
from ascend_ep.errors import AscendError, nearest

TRUE = ("1", "t", "true", "y", "yes", "")
FALSE = ("0", "f", "false", "n", "no")

EXCLUSIVE = frozenset({"dynamic_batch_size", "dynamic_image_size", "input_shape_range", "dynamic_dims"})

#: Pairs of flags of which only one may be given.
PAIRS = (
    ("input_hint_shape", "dynamic_batch_size"),
    ("input_hint_shape", "dynamic_image_size"),
    ("input_hint_shape", "dynamic_dims"),
    ("enable_compress_weight", "compression_optimize_conf"),
)

#: What an input method types in place of ASCII's, and the flags of shapes.
_FULL_WIDTH = re.compile("[\uff01-\uff5e]")
_SHAPES = ("input_shape", "input_shape_range", "input_hint_shape")


#: What one letter may mean.
SHORT = ("model", "framework", "output", "soc_version", "input_shape", "precision_mode_v2")


class UsageError(Exception):
    """What atc prints to stderr before its verdict, for a line it cannot read at all."""


def parse(arguments: Sequence[str]) -> dict[str, str]:
    """Flag name -> raw value, for the flags given; values are checked by `check`."""
    if not arguments:
        raise UsageError("input argument value is empty or command line format is invalid")
    given: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "-h":
            word = "--help"
        if not word.startswith("-") or word in ("-", "--"):
            hint = f" (did you mean '--model={word}'?)" if word.endswith(".onnx") else ""
            raise UsageError(f"Non-option parameter: {word}{hint}")
        name, equals, value = word.lstrip("-").partition("=")
        flag = find(name)
        if not equals and flag.kind not in ("switch", "bool", "optional"):
            if not rest:
                raise UsageError(
                    f"flag '--{flag.name}' is missing its argument; flag description: {flag.help}"
                )
            value = rest.pop(0)
        elif not equals and flag.kind != "optional" and rest and not rest[0].startswith("-"):
            value = rest.pop(0)
        given[flag.name] = f"{given[flag.name]};{value}" if flag.adds and flag.name in given else value
    return given


def find(name: str) -> Flag:
    """The flag of this name."""
    name = name.replace("-", "_")
    if name in BY_NAME:
        return BY_NAME[name]
    starting = [flag.name for flag in FLAGS if name and flag.name.startswith(name)]
    near = starting if len(starting) == 1 or len(name) == 1 else nearest(name, BY_NAME, 1)
    near = [n for n in SHORT if n.startswith(name)] if len(name) == 1 else near
    hint = f" (did you mean '--{near[0]}'?)" if near else ""
    raise UsageError(f"unknown command line flag '{name}'{hint}")


def elsewhere(name: str, value: str) -> list[str]:
    """The flag whose value this is, for the two flags of precision."""
    exact = {
        "fp32": "--precision_mode=force_fp32, or --precision_mode_v2=origin",
        "float32": "",
        "float16": "",
    }
    exact |= {"float32": exact["fp32"], "float16": "--precision_mode_v2=fp16"}
    if not name.startswith("precision_mode"):
        return []
    for other in ("precision_mode", "precision_mode_v2"):
        if other != name and value in BY_NAME[other].values:
            return [f"--{other}={value}"]
    return [exact[value]] if value in exact else []


def check(given: dict[str, str]) -> None:
    """Refuses values that are not of their flag's kind, as atc does."""
    if len(EXCLUSIVE & given.keys()) > 1:
        raise AscendError("E10009")
    for first, second in PAIRS:
        if first in given and second in given and given[first].lower() not in FALSE:
            raise AscendError("E10047", first, second)
    if "insert_op_conf" in given and "dynamic_dims" in given:
        reason = "AIPP cannot be used with [--dynamic_dims]."
        raise AscendError("E10001", given["insert_op_conf"], "--insert_op_conf", reason)
    for name, value in given.items():
        flag = BY_NAME[name]
        is_of_sizes = flag.kind in ("profiles", "int") or name in _SHAPES
        if is_of_sizes and (wide := _FULL_WIDTH.search(value)):
            narrow = unicodedata.normalize("NFKC", wide[0])
            reason = f"[{wide[0]}] is a full-width character; write [{narrow}]."
            raise AscendError("E10001", value, f"--{name}", reason)
        if (flag.kind == "config" or (flag.kind == "file" and not flag.acts)) and not os.path.isfile(value):
            raise regular_file.refusal(value, f"--{name} names it")
        if flag.kind == "profiles":
            space = "" if name == "dynamic_batch_size" else r"\s*"
            if not re.fullmatch(rf"{space}\d+({space}[,;]{space}\d+)*{space}[,;]?{space}", value, re.ASCII):
                reason = "Sizes are digits, separated by commas and semicolons."
                raise AscendError("E10003", value, name, reason)
        if flag.kind == "int" and not (value.isascii() and value.isdecimal()):
            reason = "The value must be a non-negative integer."
            hint = ["5 is ONNX"] if name == "framework" else []
            raise AscendError("E10003", value, name, reason, details=hint)
        if flag.kind == "int" and (len(value) > 10 or int(value) >= 2**31):
            raise AscendError("E10013", value, name)
        if flag.kind == "switch" and name != "help" and value not in ("0", "1"):
            raise AscendError("E10006", value, name)
        if flag.kind == "bool" and value.lower() not in TRUE + FALSE:
            raise AscendError("E10005", value, name)
        if flag.values and value and value not in flag.values:
            allowed = f"The value must be one of [{', '.join(flag.values)}]."
            near = elsewhere(name, value) or nearest(value, flag.values, 1)
            code = "E10010" if name == "log" else "E10001"
            details = [f"did you mean {near[0]}?"] if near else []
            raise AscendError(
                code, *([value] if name == "log" else [value, f"--{name}", allowed]), details=details
            )
