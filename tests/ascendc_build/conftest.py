"""Commands of ascend-op over Ascend C projects, with one cache for all tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ascend_ep.cli import op

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("ascendc") / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_EP_CACHE", str(folder))
        patch.delenv("ASCEND_CUSTOM_OPS", raising=False)
        yield folder


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """A command line of ascend-op: its status, output and errors."""

    def command(*words: object) -> tuple[int, str, str]:
        status = op.main([str(w) for w in words], {})
        said = capsys.readouterr()
        return status, said.out, said.err

    return command
