"""Every model of the zoo, converted once through the command line, for all processes of a test run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from conversion import Converted, atc
from zoo import ZOO

from ascend_ep.codegen.cache import locked


@pytest.fixture(scope="session")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Converted]:
    done: dict[str, Converted] = {}
    shared = tmp_path_factory.getbasetemp()
    shared = (shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared) / "zoo"
    shared.mkdir(exist_ok=True)

    def convert(name: str) -> Converted:
        if name not in done:
            with locked(shared / f"{name}.lock"):
                folder = shared / name
                if not (folder / "printed").exists():
                    convert_in(folder, name)
            proto = onnx.load(folder / "m.onnx")
            files = (folder / "m.onnx", folder / "m.om", folder / "m_ctx.onnx")
            done[name] = Converted(*files, ZOO[name].feeds(proto), (folder / "printed").read_text())
        return done[name]

    return convert


def convert_in(folder: Path, name: str) -> None:
    """The files of a conversion, and last what it printed."""
    folder.mkdir(exist_ok=True)
    onnx.save(ZOO[name].build(), folder / "m.onnx")
    exact = "--precision_mode=must_keep_origin_dtype"
    words = ["--model=m.onnx", "--framework=5", "--output=m", "--soc_version=Ascend910B3", exact]
    result = atc(*words, cwd=folder)
    assert result.returncode == 0, result.stdout + result.stderr
    (folder / "printed").write_text(result.stdout)
