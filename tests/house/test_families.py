"""A family of operators has one name: in `op_schemas/onnx`, of the files with its lowerings and shape rules,
of the folder of its kernels, and of its tests. The walk over every operator is tried with planted misfits."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
LOWERINGS = Path("ascend_ep/compiler/lower")
BODIES = Path("ascend_ep/bodies")
SHAPES = Path("ascend_ep/graph/shapes")
KERNELS = Path("native/kernels")
TESTS = (Path("tests/kernels"), Path("tests/lowering"))

#: Custom operators lie in groups of their own, for those who look for one.
GROUPS = {"linear": "matmul", "gated": "elementwise", "sort": "sorting"}

#: Misfits that are known, with the reason. Take out what no longer is one.
KNOWN = {
    "DynamicQuantizeLSTM of matmul: lowering recurrent_bytes.py": "onnxruntime's; its group is linear",
    "kernel logsumexp: in norm, named by reduction": "its passes over a row are softmax's, in softmax.c",
}


def families(root: Path) -> set[str]:
    return {p.name for p in (root / "op_schemas" / "onnx").iterdir()}


def operators(root: Path) -> Iterator[tuple[str, str, str | None]]:
    """Family, name, and the name of the lowering (None: a formula) of every operator that we ship."""
    for path in sorted((root / "op_schemas").rglob("*.json")):
        group = path.relative_to(root / "op_schemas").parts[0]
        for found in _definitions(json.loads(path.read_text())):
            if group == "onnx":
                yield path.parent.name, found["op"], found.get("kernel")
            elif "kernel" in found:
                yield GROUPS.get(group, group), found["op"], found["kernel"]


def _definitions(content: object) -> Iterator[dict[str, str]]:
    if isinstance(content, list):
        yield from content
    elif isinstance(content, dict):
        yield content


def registered(folder: Path, function: str) -> dict[str, str]:
    """The file that registers each name by a call of `function`, as a decorator or otherwise."""
    found = {}
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function:
                found |= {a.value: path.stem for a in node.args if isinstance(a, ast.Constant)}
    return found


def kernel_folders(root: Path) -> dict[str, str]:
    """The folder of each row of the table."""
    folders = {
        name: path.parent.name
        for path in (root / KERNELS).rglob("*.c")
        for name in re.findall(r"\bASC_FN\((\w+)_run\)\(const asc_call", path.read_text())
    }
    rows = re.findall(r'ASC_KERNEL\w*\("(\w+)",.*, (\w+)\)', (root / KERNELS / "table.inc").read_text())
    return {name: folders[function] for name, function in rows}


def family_of(stem: str) -> str:
    """matmul_einsum.py is a file of the family matmul."""
    return stem.split("_")[0]


def misfits(root: Path) -> Iterator[str]:
    lowerings = registered(root / LOWERINGS, "lowers") | registered(root / BODIES, "written")
    rules = registered(root / SHAPES, "infers")
    for family, name, kernel in operators(root):
        if kernel and family_of(lowerings[kernel]) != family:
            yield f"{name} of {family}: lowering {lowerings[kernel]}.py"
        if name in rules and family_of(rules[name]) != family:
            yield f"{name} of {family}: shape rule {rules[name]}.py"
    for kernel, folder in kernel_folders(root).items():
        users = _users(root, kernel)
        if users and folder not in users:
            yield f"kernel {kernel}: in {folder}, named by {' and '.join(sorted(users))}"
    for family in families(root):
        if not any(any((root / tests).glob(f"test_*{family}*.py")) for tests in TESTS):
            yield f"{family}: no tests of its name"


def _users(root: Path, kernel: str) -> set[str]:
    """The families whose lowerings name a kernel."""
    naming = {p.stem for p in (root / LOWERINGS).glob("*.py") if re.search(rf'"{kernel}"', p.read_text())}
    return {family_of(stem) for stem in naming} & families(root)


def test_every_operator_is_of_one_family() -> None:
    found = set(misfits(ROOT))
    assert sorted(found - KNOWN.keys()) == []
    assert sorted(KNOWN.keys() - found) == [], "no longer there"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("families")
    for folder in ("op_schemas", LOWERINGS, BODIES, SHAPES, KERNELS, *TESTS):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tree


@pytest.mark.parametrize(
    ("source", "target", "found"),
    [
        (
            "op_schemas/onnx/matmul/Det.json",
            "op_schemas/onnx/norm/Det.json",
            "Det of norm: lowering matmul.py",
        ),
        (
            SHAPES / "recurrent.py",
            SHAPES / "attention_lstm.py",
            "LSTM of recurrent: shape rule attention_lstm.py",
        ),
        (LOWERINGS / "image_resize.py", LOWERINGS / "resize.py", "Resize of image: lowering resize.py"),
        (KERNELS / "matmul/det.c", KERNELS / "norm/det.c", "kernel det: in norm, named by matmul"),
        ("op_schemas/onnx/signal", "op_schemas/onnx/waves", "waves: no tests of its name"),
    ],
)
def test_planted_misfits(copy: Path, source: str, target: str, found: str) -> None:
    (copy / source).rename(copy / target)
    try:
        assert found in set(misfits(copy))
    finally:
        (copy / target).rename(copy / source)
