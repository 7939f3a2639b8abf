"""Building operators in tests: with a trust store of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from build_commands import Run, shorten_proofs

from ascend_ep.cli.op import main
from ascend_ep.codegen.compilers import has_compiler


@pytest.fixture(scope="session", autouse=True)
def places(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("opbuild")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_EP_TRUST", str(folder / "trust"))
        patch.delenv("ASCEND_CUSTOM_OPS", raising=False)
        yield folder


@pytest.fixture
def compiler() -> None:
    if not has_compiler():
        pytest.skip("there is no C compiler")


@pytest.fixture(autouse=True)
def short_proof(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short ones, but in tests marked `whole_proof`: those of proofs, and a sample of the examples."""
    if not request.node.get_closest_marker("whole_proof"):
        shorten_proofs(monkeypatch)


@pytest.fixture
def no_search_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A compile cache that no search has left its result in, with all that the run has compiled. What the
    test compiles goes back into the run's: a header of kernels takes seconds."""
    shared, own = Path(os.environ["ASCEND_EP_CACHE"]), tmp_path / "cache"
    own.mkdir()
    _link_compiled(shared, own)
    monkeypatch.setenv("ASCEND_EP_CACHE", str(own))
    yield
    _link_compiled(own, shared)


def _link_compiled(source: Path, target: Path) -> None:
    for path in source.iterdir():
        if path.is_file() and path.suffix not in (".json", ".lock") and not path.name.startswith("."):
            with suppress(FileNotFoundError, FileExistsError):  # another process has ended writing it
                os.link(path, target / path.name)


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
