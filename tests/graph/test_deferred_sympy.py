"""sympy is imported when a symbolic dim is computed, by whoever comes first; never twice, never half."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

READS = "import sys; assert 'sympy' not in sys.modules"
COMPUTES = """
import onnx_ir, sympy
dim = onnx_ir.SymbolicDim("max(N, 2) * 2") + 1
assert str(dim) == "2*Max(2, N) + 1", dim
assert isinstance(dim._expr, sympy.Expr)
assert dim.evaluate({"N": 5}) == 11
assert type(sympy).__name__ == "module" and sys.modules["sympy"] is sympy and sympy.__spec__.name == "sympy"
"""


def _run(code: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ)
    if folder is not None:
        environment["PYTHONPATH"] = str(folder)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)


@pytest.mark.parametrize(
    "first",
    [
        f"import ascend_ep.compiler.convert\n{READS}",
        f"import ascend_ep, onnx_ir\n{READS}",
        "import sys, sympy, ascend_ep",
        "import sys, onnx_ir, ascend_ep",
    ],
)
def test_dims_are_computed_whoever_comes_first(first):
    ran = _run(first + COMPUTES)
    assert ran.returncode == 0, ran.stderr


def test_a_reader_that_needs_sympy_at_once_gets_it(tmp_path):
    """A release of onnx_ir that derives from sympy's classes as it is imported."""
    package = tmp_path / "onnx_ir"
    package.mkdir()
    (package / "__init__.py").write_text("from .dims import Dim\n")
    (package / "dims.py").write_text("import sympy\n\n\nclass Dim(sympy.Symbol):\n    pass\n")
    ran = _run(
        "import ascend_ep, sys, onnx_ir\nassert onnx_ir.Dim('N') + 1 - 1 == onnx_ir.Dim('N')", tmp_path
    )
    assert ran.returncode == 0, ran.stderr


def test_a_reader_that_fails_says_its_own_error(tmp_path):
    package = tmp_path / "onnx_ir"
    package.mkdir()
    (package / "__init__.py").write_text("raise OSError('no such disk')\n")
    ran = _run("import ascend_ep, onnx_ir", tmp_path)
    assert ran.stderr.splitlines()[-1] == "OSError: no such disk"
    again = "import ascend_ep\ntry:\n    import onnx_ir\nexcept OSError:\n    import sympy; sympy.Symbol('N')"
    assert _run(again, tmp_path).returncode == 0
