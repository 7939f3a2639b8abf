"""Every model of the zoo, converted once per session through the command line."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import pytest
from conversion import Converted, atc
from zoo import ZOO


@pytest.fixture(scope="session")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Converted]:
    done: dict[str, Converted] = {}

    def convert(name: str) -> Converted:
        if name not in done:
            folder = tmp_path_factory.mktemp(name)
            proto = ZOO[name].build()
            onnx.save(proto, folder / "m.onnx")
            exact = "--precision_mode=must_keep_origin_dtype"
            words = ["--model=m.onnx", "--framework=5", "--output=m", "--soc_version=Ascend910B3", exact]
            result = atc(*words, cwd=folder)
            assert result.returncode == 0, result.stdout + result.stderr
            files = (folder / "m.onnx", folder / "m.om", folder / "m_ctx.onnx")
            done[name] = Converted(*files, ZOO[name].feeds(proto), result.stdout)
        return done[name]

    return convert
