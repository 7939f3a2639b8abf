"""Damaged files of --singleop and --insert_op_conf: every one ends in a bundle or in a code."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from atc_models import image_model
from test_singleop import CASES

from ascend_ep.cann.aipp.config import FORMATS, KEYS, read_aipp
from ascend_ep.cann.single_op import read_operators
from ascend_ep.cann.single_op_model import operator_model
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.opdef.registry import Registry

ROUNDS = 120
ODD = [None, "", 0, -1, 2**40, 1.5, [], {}, "float", "NCHW", [1, 2], [-1], True]


def damaged(value: Any, draw: random.Random) -> Any:
    """The value with one part of it dropped, doubled, or replaced."""
    chance = draw.random()
    if isinstance(value, dict) and value:
        key = draw.choice(list(value))
        if chance < 0.12:
            value.pop(key)
        else:
            value[key] = draw.choice(ODD) if chance < 0.2 else damaged(value[key], draw)
        return value
    if isinstance(value, list) and value:
        at = draw.randrange(len(value))
        if chance < 0.15:
            value.pop(at)
        elif chance < 0.25:
            value.append(copy.deepcopy(value[at]))
        else:
            value[at] = damaged(value[at], draw)
        return value
    return draw.choice([1, -1, 2**31, 2**62, "", "axes", "float16", not value])


def test_operators(tmp_path: Path) -> None:
    draw, registry = random.Random(11), Registry.from_options()
    ends: set[str] = set()
    path = tmp_path / "list.json"
    for _ in range(ROUNDS):
        entry = damaged(copy.deepcopy(CASES[draw.choice(list(CASES))][0]), draw)
        path.write_text(json.dumps([entry]))
        try:
            (desc,) = read_operators(str(path))
            model, ranges = operator_model(desc, registry, "list")
            convert(model, ConvertOptions(registry=registry, symbol_ranges=ranges, sample_seed=None))
            ends.add("made")
        except AscendError as error:
            ends.add(error.code)
    assert {"made", "E10025", "E10026", "E10027", "E10030", "E19014"} <= ends
    assert "E19999" not in ends


def configuration(draw: random.Random) -> str:
    def value(key: str) -> str:
        default, least, greatest = KEYS[key]
        if isinstance(default, bool):
            return draw.choice(["true", "false"])
        if isinstance(default, str):
            return draw.choice(['"x"', "y"])
        if "size" in key:
            return str(draw.choice([0, 0, 1, 12, 14]))
        number = draw.uniform(least, greatest)
        return str(int(number) if isinstance(default, int) else number)

    chance = draw.choice([0.03, 0.3])
    keys = [k for k in KEYS if k not in ("aipp_mode", "input_format", "resize") and draw.random() < chance]
    image = draw.choice(list(FORMATS))
    text = f"aipp_op {{ aipp_mode: static input_format: {image} "
    text += " ".join(f"{key}: {value(key)}" for key in keys) + "}"
    at = draw.randrange(len(text))
    return text if draw.random() < 0.8 else text[:at] + draw.choice("{}:\"' x9#\n.\\-") + text[at + 1 :]


@pytest.mark.parametrize("channels", [1, 3])
def test_configurations(channels: int, tmp_path: Path) -> None:
    """What is accepted computes what the float64 reference says."""
    draw, registry = random.Random(channels), Registry.from_options()
    ends: set[str] = set()
    model = image_model(channels).SerializeToString()
    path = tmp_path / "aipp.cfg"
    for _ in range(ROUNDS):
        path.write_text(configuration(draw))
        try:
            ops = read_aipp(path)
            convert(model, ConvertOptions(aipp=ops, registry=registry, self_check=True)).to_bytes()
            ends.add("made")
        except AscendError as error:
            ends.add(f"{error.code} {error.where.split(':')[0]}")
    assert ends == {"made", f"E10052 {path}"}
