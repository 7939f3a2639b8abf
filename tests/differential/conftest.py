"""The trust store is the tests' own."""

from __future__ import annotations

from typing import Any

import pytest

from ascend_ep.codegen.compilers import has_compiler


@pytest.fixture(scope="session", autouse=True)
def places(tmp_path_factory: pytest.TempPathFactory) -> Any:
    if not has_compiler():
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("differential")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_EP_TRUST", str(folder / "trust"))
        yield folder
