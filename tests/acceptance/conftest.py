"""Every model of the zoo, converted once as the command line does it, for all processes of a test run."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import onnx
import pytest
from conversion import Converted
from zoo import ZOO

from ascend_ep.cli import atc
from ascend_ep.codegen.cache import locked
from ascend_ep.graph.reference import reference_run


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
            files = (folder / "m.onnx", folder / "m.om", folder / "m_ctx.onnx")
            arrays = [dict(np.load(path)) for path in sorted(folder.glob("reference*.npz"))]
            feeds = ZOO[name].feeds(onnx.load(files[0]))
            done[name] = Converted(*files, feeds, arrays, (folder / "printed").read_text())
        return done[name]

    return convert


def convert_in(folder: Path, name: str) -> None:
    """The files of a conversion, what float64 gives for each of its inputs, and last what it printed."""
    folder.mkdir(exist_ok=True)
    onnx.save(ZOO[name].build(), folder / "m.onnx")
    for i, feeds in enumerate(ZOO[name].feeds(onnx.load(folder / "m.onnx"))):
        np.savez(folder / f"reference{i}.npz", **reference_run(folder / "m.onnx", feeds))
    printed = StringIO()
    words = ["--model=m.onnx", "--framework=5", "--output=m", "--soc_version=Ascend910B3"]
    with chdir(folder), redirect_stdout(printed):
        status = atc.main([*words, "--precision_mode=must_keep_origin_dtype"])
    assert status == 0, printed.getvalue()
    (folder / "printed").write_text(printed.getvalue())
