"""The bundles that the tests here run."""

from __future__ import annotations

import acl_bundles
import pytest


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A path for each name in acl_bundles.KINDS."""
    return acl_bundles.make(tmp_path_factory.mktemp("bundles"), *acl_bundles.KINDS)
