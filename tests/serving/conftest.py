"""One repository and one server for the tests that change neither."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from moody_models import library
from raw_http import IMPATIENT
from running import Running
from served_models import columns, every_type, put, rows, scaled

from ascend_ep.serving.settings import Settings


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Schemathesis looks for what to ask of each operation before any test runs, for seconds."""
    at_length = collection_path.name == "test_openapi_at_length.py"
    return True if at_length and not config.getoption("--slow") else None


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root: Path = tmp_path_factory.mktemp("models")
    put(root, "rows", 1, rows)
    put(root, "rows", 2, rows)
    put(root, "columns", 1, columns)
    put(root, "every_type", 1, every_type)
    return root


@pytest.fixture(scope="session")
def running(repository: Path) -> Iterator[Running]:
    with Running(Settings(repository, http_port=0, grpc_port=0)) as server:
        yield server


@pytest.fixture(scope="session")
def impatient(repository: Path) -> Iterator[Running]:
    """With short times and small limits, on asyncio's own event loop, which serves where uvloop isn't."""
    with Running(Settings(repository, http_port=0, limits=IMPATIENT), asyncio.new_event_loop) as server:
        yield server


@pytest.fixture(scope="session")
def triton_python() -> str:
    """The Python that has tritonclient: it pins protobuf, so it has an environment of its own."""
    found = os.environ.get("ASCEND_EP_TEST_TRITON_PYTHON")
    if not found:
        pytest.skip("ASCEND_EP_TEST_TRITON_PYTHON names no Python with tritonclient[http,grpc]")
    return found


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[float, bytes]:
    """Bundles of y = factor * x, by their factor."""
    root = tmp_path_factory.mktemp("made")
    return {
        f: put(root, f"m{i}", 1, lambda f=f: scaled(f)).read_bytes() for i, f in enumerate((1.0, 2.0, 3.0))
    }


@pytest.fixture(scope="session")
def moody_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of a user's."""
    return library(tmp_path_factory.mktemp("library"))


@pytest.fixture
def root_logger() -> Iterator[None]:
    """The root logger as it was, afterwards."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    root.handlers.clear()
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
