"""A library is read before it is loaded: of one that calls what no kernel needs not even constructors run."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from build_commands import SWISH, Run

import ascend_ep
from ascend_ep.cann.soc import find_soc
from ascend_ep.codegen.c_source import Source
from ascend_ep.codegen.compilers import find_compiler
from ascend_ep.codegen.library_session import TensorSpec
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.frontends.description import describe
from ascend_ep.opbuild.proof.prove import prove
from ascend_ep.opbuild.proof.subject import Subject, generate
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.registry import Registry

pytestmark = pytest.mark.usefixtures("compiler")


def calling_foo() -> onnx.ModelProto:
    return onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 20, "mine" : 1]>
        m (float[2,8] x) => (float[2,8] y) { y = mine.Foo(x) }"""
    )


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """The file that a constructor writes; none may."""
    return tmp_path / "a constructor ran"


def constructor(mark: Path) -> str:
    return f"""#include <stdio.h>
__attribute__((constructor)) static void mark(void) {{ fclose(fopen("{mark}", "w")); }}
"""


@pytest.mark.parametrize("dtype", [dtypes.FLOAT32, dtypes.FLOAT16])
def test_a_kernel_that_fails_the_static_check_is_not_loaded(mark: Path, dtype: int) -> None:
    """Of the element type that is built, and of another that is proven as well."""

    def make(subject: Subject) -> Source:
        source = generate(subject)
        return replace(source, text=source.text + constructor(mark)) if subject.dtype == dtype else source

    subject = Subject(describe("Foo(x) = x*x + 1").opdef, (TensorSpec(dtypes.FLOAT32, (4, 33)),), {})
    report = prove(subject, find_soc("Ascend910B1"), make)
    assert not report.passed
    assert any(
        "it calls fclose, fopen" in c.detail or "it calls fclose; " in c.detail for c in report.failures()
    )
    if dtype == dtypes.FLOAT32:
        assert {c.layer for c in report.checks} == {"static"}
    assert not mark.exists()


@pytest.fixture
def adding(mark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that adds a constructor to whatever it compiles, as one for coverage does."""
    header = tmp_path / "constructor.h"
    header.write_text(constructor(mark))
    monkeypatch.setenv("CC", f"{' '.join(find_compiler().command)} -include '{header}'")
    monkeypatch.setenv("ASCEND_EP_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("adding")
def test_no_candidate_of_a_search_is_loaded_before(run: Run, mark: Path, tmp_path: Path) -> None:
    status, _, err = run("build", *SWISH, "--search=0.1", "--output", str(tmp_path / "out"))
    assert status != 0
    assert "E43004" in err
    assert "it calls fclose, fopen" in err
    assert not mark.exists()


@pytest.mark.usefixtures("adding")
def test_a_conversion_interprets_instead(mark: Path) -> None:
    opdef = describe("Foo(x) = x/sum(x)").opdef
    model = calling_foo()
    with pytest.warns(RuntimeWarning, match="isn't loaded"):
        made = convert(model, ConvertOptions(registry=Registry(definitions=[opdef])))
    (y,) = ascend_ep.InferenceSession(made.to_bytes()).run(None, {"x": np.ones((2, 8), np.float32)})
    np.testing.assert_allclose(y, np.full((2, 8), 0.125))
    assert not mark.exists()


def test_a_library_without_operators_is_not_loaded(mark: Path, tmp_path: Path) -> None:
    source, library = tmp_path / "other.c", tmp_path / "other.so"
    source.write_text(constructor(mark))
    subprocess.run(
        [*find_compiler().command, "-shared", "-fPIC", str(source), "-o", str(library)], check=True
    )
    model = calling_foo()
    with pytest.raises(AscendError, match="does not export asc_get_custom_op") as caught:
        convert(model, ConvertOptions(registry=Registry(libraries={"Foo": library})))
    assert caught.value.code == "E10041"
    assert not mark.exists()
