"""Reading a model's operators from its bytes, and what hostile bytes do to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from provider_graphs import model, two_layers, value

from ascend_ep.provider.model_operators import ModelOperators, read_operators


def with_everything() -> bytes:
    body = oh.make_graph([oh.make_node("Inner", [], ["a"], domain="d")], "b", [], [value("a", [])])
    nodes = [
        oh.make_node("Outer", ["x"], ["t"], domain="ai.onnx", note="text", numbers=[1, 2], ratio=0.5),
        oh.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body),
    ]
    content = onnx.load_from_string(
        model(nodes, [value("x", [1])], [value("y", [])], {"w": np.ones(1000)}, {"": 18, "d": 3, "local": 1})
    )
    function = oh.make_function("local", "F", ["i"], ["o"], [oh.make_node("Deep", ["i"], ["o"])], [])
    content.functions.append(function)
    return content.SerializeToString()


def test_operators_of_graphs_bodies_and_functions(tmp_path: Path) -> None:
    expected = ModelOperators(
        {("", "Outer"), ("", "If"), ("d", "Inner"), ("", "Deep")},
        {"": 18, "d": 3, "local": 1},
        {("local", "F")},
    )
    assert read_operators(with_everything()) == expected
    (tmp_path / "m.onnx").write_bytes(with_everything())
    assert read_operators(tmp_path / "m.onnx") == expected


def test_what_is_no_model_has_no_operators(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    for source in (b"\xff" * 100, b"PK\x03\x04", tmp_path / "empty", tmp_path / "missing", tmp_path):
        assert read_operators(source) == ModelOperators()


def test_every_truncation_is_survived() -> None:
    content = with_everything()
    found = [len(read_operators(content[:end]).operators) for end in range(0, len(content), 7)]
    assert found[0] == 0
    assert max(found) <= len(read_operators(content).operators)


@pytest.mark.parametrize("seed", range(20))
def test_random_damage_is_survived(seed: int, tmp_path: Path) -> None:
    """With one answer for a file and for its bytes."""
    rng = np.random.default_rng(seed)
    content = bytearray(two_layers())
    for at in rng.integers(0, len(content), 20):
        content[at] = rng.integers(0, 256)
    (tmp_path / "m.onnx").write_bytes(content)
    assert read_operators(bytes(content)) == read_operators(tmp_path / "m.onnx")


def test_deep_nesting_stops() -> None:
    content = b"\x0a\x04\x22\x02If"  # graph { node { op_type } } wrapped again and again
    for _ in range(3000):
        attribute = b"\x32" + _varint(len(content)) + content
        node = b"\x2a" + _varint(len(attribute)) + attribute
        content = b"\x0a" + _varint(len(node)) + node
    assert read_operators(b"\x3a" + _varint(len(content)) + content) == ModelOperators()


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])
