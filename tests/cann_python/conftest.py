"""The bundles that the tests here run, pyACL and AMCT."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import acl_bundles
import amct_program
import pytest

from ascend_ep.cann.pyacl.modules import make
from ascend_ep.cli.toolkit import MODULES


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


@pytest.fixture
def amct(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The module amct_onnx, in a folder that has m.onnx."""
    monkeypatch.syspath_prepend(MODULES)
    monkeypatch.chdir(tmp_path)
    amct_program.save_model("m.onnx")
    import amct_onnx  # type: ignore[import-not-found]

    return amct_onnx
