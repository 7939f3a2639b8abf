"""docs/adding-an-operator.md: its additions, made in a copy of the package, and its lists beside the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ascend_ep

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adding-an-operator.md").read_text()
FORMULA, FUNCTION, KERNEL = PAGE.split("\n## ")[1:]

RUN = """
import numpy as np, onnx, ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
model = onnx.parser.parse_model('''<ir_version: 8, opset_import: ["" : 17, "ai.custom" : 1]> {graph}''')
made = convert(model, ConvertOptions(self_check=False, sample_seed=None, precision="origin"))
print(sum(type(p).__name__ == "HostPartition" for p in made.plan.partitions), "on the host")
print(*ascend_ep.InferenceSession(made.to_bytes()).run(None, {{"x": np.array({x}, np.float32)}})[0].flat)
"""
ATANH = """
import numpy as np
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.reference import evaluate
text = '''{"op": "F", "inputs": [{"name": "x", "type": "float32"}],
  "outputs": [{"name": "y", "type": "float32"}], "formula": "1 + atanh(x)"}'''
print(*evaluate(parse_definitions(text)[0], [np.array([0.5])])[0])
"""
DET = RUN.format(graph="m (float[2,2] x) => (float y) { y = Det(x) }", x="[[1, 2], [3, 4]]")


def named(section: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)


def mentions(word: str) -> list[str]:
    """The sources that have this word."""
    found = []
    for top in ("ascend_ep", "native", "op_schemas"):
        for path in (ROOT / top).rglob("*"):
            place = path.relative_to(ROOT)
            if place.parts[1] in ("include", "op_schemas") and top == "ascend_ep":
                continue  # what tools/build puts there
            if path.suffix in (".py", ".c", ".h", ".inc", ".json") and re.search(word, path.read_text()):
                found.append(str(place))
    return sorted(found)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The package, with its libraries, and op_schemas."""
    shutil.copytree(
        Path(ascend_ep.__file__).parent,
        tmp_path / "ascend_ep",
        ignore=shutil.ignore_patterns("op_schemas", "__pycache__"),
    )
    shutil.copytree(ROOT / "op_schemas", tmp_path / "op_schemas")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def ran(tree: Path, program: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(tree), "ASCEND_EP_REGISTER": "0"}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def taken_out(path: Path, pattern: str) -> str:
    """What the file was before what fits the pattern was removed."""
    before = path.read_text()
    after = re.sub(pattern, "", before, flags=re.MULTILINE)
    assert after != before, path
    path.write_text(after)
    return before


def test_a_formula_is_one_file(tree: Path) -> None:
    name, folder = re.findall(r"`(\w+\.json|op_schemas/\w+)`", FORMULA)
    program = RUN.format(graph="m (float[2] x) => (float[2] y) { y = ai.custom.WarmSwish(x) }", x="[0, 2]")
    assert "WarmSwish" in ran(tree, program).stderr
    (tree / folder / name).write_text(FORMULA.partition("```json\n")[2].partition("```")[0])
    done = ran(tree, program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["0 on the host", "0.0 1.9051483"]


def test_a_function_stands_in_the_files_that_the_page_names(tree: Path) -> None:
    files = named(FUNCTION)
    assert sorted([*files, "op_schemas/onnx/elementwise/Atanh.json"]) == mentions(r"\batanh\b|ASC_EW_ATANH")
    assert "four files" in FUNCTION.splitlines()[0]
    row = tree / files[0]
    before = taken_out(row, r'^    "atanh": _function\(\n(?:        .*\n)+    \),\n')
    assert "atanh" in ran(tree, ATANH).stderr
    row.write_text(before)
    assert ran(tree, ATANH).stdout.startswith("1.54930614433405")


def test_a_kernel_stands_in_the_files_that_the_page_names(tree: Path) -> None:
    schema, shape, lowering, kernel, *_ = files = named(KERNEL)
    assert sorted(files) == mentions(r"\b[Dd]et\b")
    assert "six files" in KERNEL.splitlines()[0]
    assert (ROOT / kernel).is_file()
    removed = {
        tree / shape: taken_out(tree / shape, r'^@infers\("Det"\)\n(.+\n)+\n*'),
        tree / lowering: taken_out(tree / lowering, r'^@lowers\("det"\)\n(.+\n)+\n*'),
        tree / schema: taken_out(tree / schema, r"(?s).+"),
    }
    (tree / schema).unlink()
    assert "1 on the host" in ran(tree, DET).stdout
    for path, text in removed.items():
        path.write_text(text)
    assert ran(tree, DET).stdout.splitlines() == ["0 on the host", "-2.0"]
