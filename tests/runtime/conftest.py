"""The bundles that tests of sessions share."""

from __future__ import annotations

import pytest
from small_models import mixed, projection

import ascend_ep
from ascend_ep.compiler.convert import convert


@pytest.fixture(scope="session")
def bundle() -> bytes:
    return convert(projection()).to_bytes()


@pytest.fixture(scope="module")
def session(bundle: bytes) -> ascend_ep.InferenceSession:
    return ascend_ep.InferenceSession(bundle)


@pytest.fixture(scope="session")
def mixed_bundle() -> bytes:
    return convert(mixed()).to_bytes()
