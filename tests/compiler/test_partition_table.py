"""The partition table counts what is in the bodies of If, Loop and Scan, however deep."""

from __future__ import annotations

import json

import onnx
import pytest

from ascend_ep.cli.atc_report import print_table, table_json
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions


def nested(depth: int, each: int) -> str:
    """Nodes that make y{depth} of x: in each body `each` of Relu, a constant, and another If."""
    inner = f"{nested(depth - 1, each)} last = Neg(y{depth - 1})" if depth > 1 else "last = Neg(x)"
    chain = " ".join(f"a{depth}_{i} = Relu({'last' if not i else f'a{depth}_{i - 1}'})" for i in range(each))
    constant = f"k{depth} = Constant<value_int = 1>()"
    yes = f"yes{depth} () => (float[n] a{depth}_{each - 1}) {{ {constant} {inner} {chain} }}"
    no = f"no{depth} () => (float[n] o{depth}) {{ o{depth} = Identity(x) }}"
    return f"y{depth} = If<then_branch = {yes}, else_branch = {no}>(c)"


def conversion_of(depth: int, each: int) -> Conversion:
    text = f"""<ir_version: 10, opset_import: ["": 17]> g (float[n] x, bool c) => (float[n] z) {{
        {nested(depth, each)} z = Tanh(y{depth}) }}"""
    return convert(onnx.parser.parse_model(text), ConvertOptions(codegen="off", self_check=False))


@pytest.mark.parametrize(("depth", "each"), [(1, 1), (1, 5), (2, 3), (3, 2)])
def test_bodies_are_counted(depth: int, each: int, capsys: pytest.CaptureFixture[str]) -> None:
    conversion = conversion_of(depth, each)
    print_table(conversion)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    nodes = depth * (each + 3)  # of every depth If, the Relus, Neg and Identity
    assert lines[0] == f"Partition table: 1 of {nodes + 1} nodes on AscendEP, {nodes} on CPU."
    counts = {"Identity": depth, "If": depth, "Neg": depth, "Relu": depth * each}
    assert lines[1:6] == ["AscendEP 1 Tanh", *(f"CPU {n} {op}" for op, n in counts.items())]
    assert f"(If, with {nodes - 1} nodes inside):" in lines[6]
    found = json.loads(table_json(conversion))
    assert found["counts"] == {"AscendEP": 1, "CPU": nodes}
    outer = f"y{depth}"
    assert [n.get("inside", "") for n in found["nodes"]].count(outer) == nodes - 1
