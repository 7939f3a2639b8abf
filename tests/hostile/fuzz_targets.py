"""The fuzz targets in Python (native/fuzz/fuzz_python.c): each takes bytes, and raises only what is wrong."""

from __future__ import annotations

import random
import warnings

import onnx
from google.protobuf.message import DecodeError, Message

from ascend_ep.errors import AscendError
from ascend_ep.frontends.description import describe
from ascend_ep.graph.load import load_model
from ascend_ep.graph.passes.pipeline import run_passes
from ascend_ep.graph.shape_inference import infer_facts
from ascend_ep.opdef.registry import Registry

warnings.simplefilter("ignore")
REGISTRY = Registry.from_options()

NUMBERS = (0, 1, -1, 2, 3, 7, 8, 9, 255, 2**16, 2**31 - 1, -(2**31), 2**31, 2**32, 2**62, 2**63 - 1, -(2**63))
TEXTS = ("", "x", "y", "w", "axis", "axes", "pads", "auto_pad", "SAME_UPPER", "Conv", "If", "N", "a" * 5000)


def onnx_model(data: bytes) -> None:
    """The front end of the converter: a model is loaded, its shapes inferred, and simplified."""
    try:
        model = load_model(data)
        infer_facts(model, REGISTRY)
        infer_facts(run_passes(model, REGISTRY), REGISTRY)
    except AscendError:
        return


def onnx_model_mutate(data: bytes, seed: int) -> bytes:
    """Changes a few fields of a model."""
    chance = random.Random(seed)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        return data
    for _ in range(chance.randint(1, 3)):
        _change(_somewhere(model, chance), chance)
    return bytes(model.SerializeToString())


def _somewhere(message: Message, chance: random.Random) -> Message:
    """The message itself or one inside it."""
    while chance.random() < 0.85:
        inner: list[Message] = []
        for field, value in message.ListFields():
            if field.message_type:
                inner += value if _repeats(value) else [value]
        if not inner:
            break
        message = chance.choice(inner)
    return message


def _repeats(value: object) -> bool:
    return hasattr(value, "append") or hasattr(value, "add")


def _change(message: Message, chance: random.Random) -> None:
    present = message.ListFields()
    if not present:
        return
    field, value = chance.choice(present)
    kind = chance.random()
    if kind < 0.15:
        message.ClearField(field.name)
    elif _repeats(value):
        _change_list(value, field, chance)
    elif not field.message_type:
        new = _scalar(field, value, chance)
        if new is not None:
            setattr(message, field.name, new)


def _change_list(values: object, field: object, chance: random.Random) -> None:
    items = list(values)  # type: ignore[call-overload]
    at = chance.randrange(len(items))
    kind = chance.random()
    if kind < 0.3:
        del values[at]  # type: ignore[attr-defined]
    elif field.message_type:  # type: ignore[attr-defined]
        if kind < 0.6:
            values.add().CopyFrom(items[at])  # type: ignore[attr-defined]
        else:
            values[at].CopyFrom(chance.choice(items))  # type: ignore[index]
    else:
        new = _scalar(field, items[at], chance)
        if new is not None and kind < 0.8:
            values[at] = new  # type: ignore[index]
        elif new is not None:
            values.append(new)  # type: ignore[attr-defined]


def _scalar(field: object, value: object, chance: random.Random) -> object:
    """Another value of the type; None for an enumeration's unknown number."""
    if isinstance(value, float):
        return chance.choice((0.0, -1.0, 1e38, float("nan"), float("inf")))
    if isinstance(value, str):
        return chance.choice(TEXTS)
    if isinstance(value, bytes):
        return chance.choice((b"", b"NOTSET", b"SAME_LOWER", value[:-1], value + b"\0"))
    if field.enum_type:  # type: ignore[attr-defined]
        return chance.choice([v.number for v in field.enum_type.values])  # type: ignore[attr-defined]
    new = chance.choice((*NUMBERS, int(value) + 1, -int(value)))  # type: ignore[call-overload]
    bits = 32 if field.cpp_type in (1, 3) else 64  # type: ignore[attr-defined]
    least = 0 if field.cpp_type in (3, 4) else -(2 ** (bits - 1))  # type: ignore[attr-defined]
    return min(max(new, least), least + 2**bits - 1)


def formula(data: bytes) -> None:
    """Descriptions of operators as text: mathematics and pseudo-code."""
    text = data.decode("utf-8", "replace")
    if text.strip().endswith((".py", ".txt")):
        return  # would be the name of a file
    try:
        describe(text)
    except AscendError:
        return
