"""Building operators in tests: with a cache and a trust store of their own."""

from __future__ import annotations

from typing import Any

import pytest

from ascend_ep.compiler.codegen.compilers import has_compiler


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
