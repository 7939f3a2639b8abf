"""ascend-op gen -f pytorch: what it writes and refuses, and that it passes its tests once it is built."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ascend_ep.cli.op import main
from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch import register
from ascend_ep.frameworks.torch.extension.aten_operations import SPELLINGS
from ascend_ep.frameworks.torch.extension.cpp_source import source_text
from ascend_ep.frameworks.torch.torch_library import registrable
from ascend_ep.frontends.description import describe
from ascend_ep.opdef.operations import OPERATIONS
from ascend_ep.opdef.registry import Registry

GELU = "GELUCustom(x) = 0.5*x*(1+tanh(0.7978845608*(x+0.044715*x^3)))"


def gen(folder: Path, *flags: str) -> int:
    try:
        return main(["gen", "-f", "pytorch", "-out", str(folder), *flags], {})
    except SystemExit as stop:
        return int(stop.code or 0)


def source_of(prompt: str) -> str:
    return source_text(describe(prompt).opdef, "op_api")


def test_the_project_of_a_formula(tmp_path: Path) -> None:
    assert gen(tmp_path / "p", "--prompt", GELU, "--namespace", "mine", "--module", "gelu_extension") == 0
    files = {str(p.relative_to(tmp_path / "p")) for p in (tmp_path / "p").rglob("*") if p.is_file()}
    assert files == {
        "setup.py", "csrc/gelu_extension.cpp", "csrc/aten_formula.h", "scripts/run_test.sh",
        "tests/gelu_custom.json", "tests/test_gelu_extension.py", "tests/benchmark_gelu_extension.py",
    }  # fmt: skip
    for path in (tmp_path / "p").rglob("*.py"):
        ast.parse(path.read_text())
    source = (tmp_path / "p/csrc/gelu_extension.cpp").read_text()
    assert "TORCH_LIBRARY_FRAGMENT(mine, m)" in source
    assert 'm.def("gelu_custom(Tensor x) -> Tensor"' in source
    assert "class GeluCustomFunction : public torch::autograd::Function<GeluCustomFunction>" in source
    script = tmp_path / "p/scripts/run_test.sh"
    assert script.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", str(script)], check=True)


def test_operators_are_added_to_a_project(tmp_path: Path) -> None:
    assert gen(tmp_path, "--prompt", GELU) == 0
    before = (tmp_path / "setup.py").read_text()
    assert gen(tmp_path, "--prompt", GELU, "-m", "1") == 12
    assert gen(tmp_path, "-op", "RMSNorm", "-m", "1") == 0
    assert (tmp_path / "csrc/rms_norm_extension.cpp").is_file()
    assert (tmp_path / "setup.py").read_text() == before


def test_a_project_for_the_chip_has_it_beside(tmp_path: Path) -> None:
    assert gen(tmp_path, "--prompt", GELU, "-c", "ai_core-Ascend910B1", "-lan", "cpp") == 0
    assert (tmp_path / "op_kernel/gelu_custom.cpp").is_file()
    assert (tmp_path / "csrc/gelu_custom_extension.cpp").is_file()


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("-op", "RMSNorn"),
        ("-op", "QGemm"),
        ("--prompt", GELU, "-i", "op.json"),
        ("--prompt", GELU, "--namespace", "std"),
        ("--prompt", GELU, "--namespace", "a::b"),
        ("--prompt", GELU, "--module", "class"),
        ("--prompt", GELU, "-f", "onnx"),
        ("--prompt", GELU, "-f", "onnx", "-c", "ai_core-Ascend910B1", "--namespace", "mine"),
    ],
)
def test_what_is_refused(tmp_path: Path, flags: tuple[str, ...]) -> None:
    assert gen(tmp_path / "p", *flags) not in (0, 2)
    assert not (tmp_path / "p").exists()


def test_any_number_of_tensors_is_refused() -> None:
    opdef = describe("Doubled(x) = 2*x").opdef
    listed = replace(opdef, inputs=(replace(opdef.inputs[0], occurrence="variadic"),))
    with pytest.raises(AscendError, match="E41011"):
        source_text(listed, "op_api")


def test_every_operation_of_formulas_has_a_spelling() -> None:
    assert set(SPELLINGS) == set(OPERATIONS)


def test_every_formula_of_the_library_has_a_source() -> None:
    count = 0
    for _, opdef in Registry().definitions():
        if opdef.standard or opdef.formula is None or not registrable(opdef):
            continue
        source, count = source_text(opdef, "op_api"), count + 1
        for opening, closing in ("()", "[]", "{}"):
            assert source.count(opening) == source.count(closing), opdef.op
        assert max(map(len, re.sub(r"m.def.*", "", source).split("\n"))) < 160, opdef.op
    assert count > 100


def test_names_of_formulas_are_names_in_cpp() -> None:
    source = source_of("Odd(double, ctx) = double * ctx + at where at = 2*double")
    assert "const at::Tensor &double_, const at::Tensor &ctx_" in source
    assert "const at::Tensor at_ = 2.0 * double__;" in source


def test_decisions_are_made_before_tensors_are_read() -> None:
    source = source_text(Registry().resolve("custom", "RMSNorm", 1).opdef, "op_api")  # type: ignore[union-attr]
    decided = source[source.index("if (weight.has_value()) {") :]
    assert "return formula::rounded(n * weight_, x.scalar_type());" in decided.split("}")[0]


def test_views_are_copied() -> None:
    assert "formula::copied(at::transpose(x_, -2, -1), x.scalar_type())" in source_of("T(x) = transpose(x)")


def test_a_namespace_of_the_users() -> None:
    function = register("Swish", namespace="op_test")
    assert function is torch.ops.op_test.swish
    x = torch.rand(3, requires_grad=True)
    torch.testing.assert_close(function(x), torch.nn.functional.silu(x))
    function(x).sum().backward()
    assert register("Swish") is torch.ops.ascend_ep.swish
    for wrong in ("aten", "a b", ""):
        with pytest.raises(AscendError, match="E41011"):
            register("Swish", namespace=wrong)


@pytest.mark.slow
def test_a_built_extension_passes_its_tests(tmp_path: Path) -> None:
    assert gen(tmp_path, "--prompt", GELU) == 0
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    made = subprocess.run(
        [str(tmp_path / "scripts/run_test.sh")], env=environment, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stdout[-3000:] + made.stderr[-3000:]
    assert "Average latency" in made.stdout
