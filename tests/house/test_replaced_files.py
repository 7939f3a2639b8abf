"""What users have is replaced by `ascend_ep.atomic_file` alone: nothing else renames, or opens a file that
may be there to write it anew."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "ascend_ep"
#: Methods of paths and functions of os that give a file a name.
RENAMES = {"rename", "renames", "replace", "link", "move"}
#: Functions that empty a file and write it; numpy's and onnx's also take an open one.
WRITES = {"write_text", "write_bytes", "tofile"}
SAVES = {("np", "save"), ("np", "savez"), ("onnx", "save")}
#: Files in a folder of this process's own, or that only it reads, and how many such places there are.
OWN = {
    "cli/bisheng.py": 1,  # in a temporary folder
    "cli/doctor.py": 1,
    "cli/om.py": 1,  # memory
    "cli/om_reduce.py": 1,
    "cli/run_program.py": 1,  # a lock
    "codegen/compiled_library.py": 1,
    "codegen/library_process.py": 2,
    "opbuild/ascendc/core_types.py": 2,
    "opbuild/ascendc/cpp.py": 5,
    "opbuild/kernels/debug_kernel.py": 1,
    "opbuild/operators/install.py": 2,
    "opbuild/proof/harness.py": 1,
    "opdef/packages.py": 2,
    "profiling/advice/tries.py": 1,
    "serving/native/main.py": 1,  # of /proc
}


def renames(source: str) -> Iterator[int]:
    """Lines of calls of os.replace and its like, and of Path.replace, which takes one argument where that of
    strings takes two."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
        is_path = len(node.args) == 1 and not node.keywords and node.func.attr in ("rename", "replace")
        if node.func.attr in RENAMES and (owner in ("os", "shutil") or is_path):
            yield node.lineno


def writes(source: str) -> Iterator[int]:
    """Lines that write a file by its name."""
    tree = ast.parse(source)
    files = {
        item.optional_vars.id
        for node in ast.walk(tree)
        if isinstance(node, ast.With)
        for item in node.items
        if isinstance(item.optional_vars, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function, last = node.func, node.args[-1] if node.args else None
        if isinstance(function, ast.Name) and function.id == "open" and _mode(node, 1).startswith("w"):
            yield node.lineno
        if not isinstance(function, ast.Attribute):
            continue
        owner = function.value.id if isinstance(function.value, ast.Name) else ""
        to = node.args[owner == "onnx"] if (owner, function.attr) in SAVES else last
        is_open = isinstance(to, ast.Name) and to.id in files
        if (owner, function.attr) in SAVES and not is_open:
            yield node.lineno
        if function.attr in WRITES and owner != "atomic_file":
            yield node.lineno
        if function.attr == "open" and owner not in ("os", "io") and _mode(node, 0).startswith("w"):
            yield node.lineno


def _mode(call: ast.Call, place: int) -> str:
    given = [k.value for k in call.keywords if k.arg == "mode"] + call.args[place : place + 1]
    return str(given[0].value) if given and isinstance(given[0], ast.Constant) else ""


def sources() -> dict[str, str]:
    found = (p for p in PACKAGE.rglob("*.py") if p.name != "atomic_file.py")
    return {str(p.relative_to(PACKAGE)): p.read_text(encoding="utf-8") for p in found}


def test_the_package_renames_nothing() -> None:
    found = {name: list(renames(text)) for name, text in sources().items()}
    assert not {name: lines for name, lines in found.items() if lines}


def test_the_package_writes_over_nothing() -> None:
    found = {name: list(writes(text)) for name, text in sources().items()}
    wrong = {name: lines for name, lines in found.items() if len(lines) != OWN.get(name, 0)}
    assert not wrong, "by atomic_file, or a line in OWN, for a file in a folder of its own"


@pytest.mark.parametrize("planted", ["os.replace(a, b)", "path.replace(target)", "shutil.move(a, b)"])
def test_a_planted_rename_is_found(planted: str) -> None:
    assert list(renames(planted)) == [1]


@pytest.mark.parametrize(
    "planted",
    [
        "open(path, 'w')", "open(path, mode='wb')", "path.open('w')", "path.write_text(x)",
        "np.save(path, x)", "x.tofile(path)", "onnx.save(model, path)",
    ],
)  # fmt: skip
def test_a_planted_write_is_found(planted: str) -> None:
    assert list(writes(planted)) == [1]


def test_strings_and_dataclasses_are_no_files() -> None:
    assert not list(renames("text.replace('a', 'b'); moment.replace(tzinfo=None); replace(row)"))


def test_an_open_file_may_be_written() -> None:
    assert not list(writes("with atomic_file.replacing(path) as file: np.save(file, x); onnx.save(m, file)"))
    assert not list(
        writes("open(path); open(path, 'rb'); open(path, 'xb'); open(log, 'a'); os.open(path, 1)")
    )
