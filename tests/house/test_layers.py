"""The import direction holds, and the check that says so catches planted violations."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

PLANTED = {
    "opdef/planted.py": "import ascend_ep.graph.load\n",
    "graph/planted.py": "from ascend_ep.compiler import lowering\n",
    "runtime/planted.py": "import onnx\n",
    "runtime/planted_compile.py": "import ascend_ep.opdef.definition\n",
    "compiler/planted.py": "import ascend_ep.provider\n",
    "opbuild/planted.py": "import ascend_ep.cli.gen\n",
    "compiler/planted_opbuild.py": "import ascend_ep.opbuild.proof.prove\n",
    "codegen/planted.py": "import ascend_ep.compiler.lowering\n",
    "plan/planted.py": "import ascend_ep.codegen.compiled_library\n",
    "cann/planted.py": "import ascend_ep.plan.plan\n",
    "opbuild/proof/planted.py": "import ascend_ep.opbuild.operators.taken\n",
    "provider/planted.py": "import ascend_ep.cli.atc\n",
}


def lint(tree: Path) -> subprocess.CompletedProcess[str]:
    """Runs import-linter on the package of `tree`, whatever is installed."""
    command = [sys.executable, "-c", "import importlinter.cli as c; c.lint_imports_command()", "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("house")
    shutil.copytree(
        ROOT / "ascend_ep", tree / "ascend_ep", ignore=shutil.ignore_patterns("lib", "*.so", "__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", tree)
    return tree


def test_contracts_hold(copy: Path) -> None:
    result = lint(copy)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("place", sorted(PLANTED))
def test_planted_violation_is_caught(copy: Path, place: str) -> None:
    planted = copy / "ascend_ep" / place
    planted.write_text(PLANTED[place])
    try:
        result = lint(copy)
    finally:
        planted.unlink()
    assert result.returncode != 0, f"{place} went unseen:\n{result.stdout}"
    assert Path(place).stem in result.stdout
