"""Commands of ascend-op over Ascend C projects."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ascend_ep.cli import op

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session", autouse=True)
def no_operators() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ASCEND_CUSTOM_OPS", raising=False)
        yield


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """A command line of ascend-op: its status, output and errors."""

    def command(*words: object) -> tuple[int, str, str]:
        status = op.main([str(w) for w in words], {})
        said = capsys.readouterr()
        return status, said.out, said.err

    return command
