"""The bundles that the tests here run, and pyACL."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import acl_bundles
import pytest

from ascend_ep.cann.pyacl.modules import make


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A path for each name in acl_bundles.KINDS."""
    return acl_bundles.make(tmp_path_factory.mktemp("bundles"), *acl_bundles.KINDS)


@pytest.fixture(scope="module")
def acl() -> Iterator[Any]:
    """The module, initialised, with device 0 in use."""
    before = set(sys.modules)
    made = make()
    assert made.init() in (0, 100002)
    assert made.rt.set_device(0) == 0
    yield made
    made.rt.reset_device(0)
    made.finalize()
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "acl":
            del sys.modules[name]
