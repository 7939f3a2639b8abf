"""MODEL_DEF: field numbers on the wire, and atc's JSON form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from small_models import projection, swish

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.plan.writing.model_def import model_def_json, model_def_of_bundle, model_info


def fields(body: bytes) -> Iterator[tuple[int, bytes | int]]:
    """Field number and value of a protobuf message, read without any schema."""
    at = 0

    def varint() -> int:
        nonlocal at
        shift = value = 0
        while True:
            byte = body[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(body):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            size = varint()
            yield key >> 3, body[at : at + size]
            at += size
        else:
            width = 4 if key & 7 == 5 else 8
            yield key >> 3, body[at : at + width]
            at += width


def many(body: bytes, number: int) -> list[bytes]:
    return [v for n, v in fields(body) if n == number and isinstance(v, bytes)]


def test_numbers_on_the_wire() -> None:
    """ModelDef: name 1, graph 7, attr 11; GraphDef: op 6; OpDef: name 1, type 2, input 5, input_desc 33;
    TensorDescriptor: dtype 2, shape 3; ShapeDef: dim 1."""
    body = convert(projection()).model_def
    assert many(body, 1) == [b"small"]
    keys = {many(entry, 1)[0] for entry in many(body, 11)}
    assert {b"atc_version", b"atc_cmdline", b"soc_version"} <= keys
    (graph,) = many(body, 7)
    ops = {many(op, 1)[0]: op for op in many(graph, 6)}
    matmul = ops[b"mm"]
    assert many(matmul, 2) == [b"MatMul"]
    assert many(matmul, 5) == [b"x:0", b"W:0"]
    described = many(matmul, 33)[1]
    assert dict(fields(described))[2] == 1  # DT_FLOAT
    (shape,) = many(described, 3)
    assert list(fields(shape)) == [(1, bytes([16, 8]))]


def test_json_form() -> None:
    found = json.loads(model_def_json(convert(swish(), ConvertOptions(soc_version="Ascend910B3")).model_def))
    attributes = {entry["key"]: entry["value"] for entry in found["attr"]}
    assert attributes["soc_version"] == {"s": "Ascend910B3"}
    (graph,) = found["graph"]
    assert graph["input"] == ["x:0"]
    op = next(op for op in graph["op"] if op["name"] == "sw")
    assert op["input_desc"][0]["dtype"] == "DT_FLOAT"
    assert op["input_desc"][0]["shape"] == {"dim": [-1, 16]}
    assert op["attr"] == [{"key": "beta", "value": {"f": "1.5"}}]
    assert "output" not in graph


def test_of_a_bundle(tmp_path: Path) -> None:
    conversion = convert(projection(), ConvertOptions(command_line="ascend-atc --model=m.onnx"))
    conversion.write(tmp_path / "m.om")
    assert model_def_of_bundle(tmp_path / "m.om") == conversion.model_def
    lines = model_info(tmp_path / "m.om").splitlines()
    assert lines[0] == "============ Display Model Info start ============"
    assert lines[1] == "Original Atc command line: ascend-atc --model=m.onnx"
    assert f"modeldef_size[{len(conversion.model_def)} B]" in lines[4]
    assert lines[-1] == "============ Display Model Info end   ============"
