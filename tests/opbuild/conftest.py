"""Building operators in tests: with a cache and a trust store of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from build_commands import Run

from ascend_ep.cli.op import main
from ascend_ep.compiler.codegen.compilers import has_compiler
from ascend_ep.compiler.proof import compilations
from ascend_ep.errors import AscendError


@pytest.fixture(scope="session", autouse=True)
def places(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("opbuild")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_EP_CACHE", str(folder / "cache"))
        patch.setenv("ASCEND_EP_TRUST", str(folder / "trust"))
        patch.delenv("ASCEND_CUSTOM_OPS", raising=False)
        yield folder


@pytest.fixture
def compiler() -> None:
    if not has_compiler():
        pytest.skip("there is no C compiler")


@pytest.fixture(autouse=True)
def short_proof(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs at the ISA level in use, without sanitizers, which are most of their time. Tests of the proof
    itself, and a sample of the examples, have the mark `whole_proof`."""
    if request.node.get_closest_marker("whole_proof"):
        return
    used = compilations.levels()[:1]
    monkeypatch.setattr(compilations, "levels", lambda: used)
    monkeypatch.setattr(compilations, "SANITIZERS", ())
    left_out = AscendError("E43002", "cc", "left out of this test")
    monkeypatch.setattr(compilations.Compilations, "sanitized", lambda *_: left_out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """One ascend-op command: its status, output and errors. `installed`: $ASCEND_CUSTOM_OPS;
    `environ`: more of the environment."""

    def command(
        *arguments: str, installed: Path | None = None, environ: dict[str, str] | None = None
    ) -> tuple[int, str, str]:
        given = {} if installed is None else {"ASCEND_CUSTOM_OPS": str(installed)}
        status = main([str(a) for a in arguments], given | (environ or {}))
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return status, said.out, said.err

    return command


@pytest.fixture
def build(run: Run, tmp_path: Path) -> Run:
    """ascend-op build without a search, into tmp_path/out."""
    return lambda *a, **k: run("build", "--search=0", "--output", str(tmp_path / "out"), *a, **k)
