"""Netron, the viewer of models, opens our bundles: it reads the frame and MODEL_DEF of an .om."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.runtime.binding import lib, open_model

WEIGHTS = ", ".join(map(str, np.linspace(-1, 1, 768).round(4)))
MODEL = f"""<ir_version: 8, opset_import: ["": 17]>
  layer (float[N, 3, 8, 8] x) => (float[N, 4] y, float[N, 3, 8, 8] z)
    <float[4, 3, 8, 8] w = {{{WEIGHTS}}}> {{
    c = Conv<kernel_shape = [8, 8]>(x, w)  r = Relu(c)  y = Flatten(r)
    z = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], ceil_mode = 1>(x) }}"""
#: What Netron's om.js takes for types of partitions.
ACCEPTED = {*range(13), *range(20, 25)}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("netron") / "layer.om"
    convert(onnx.parser.parse_model(MODEL), ConvertOptions(soc_version="Ascend910B3")).write(path)
    return path


def rows(image: bytes) -> list[tuple[int, int, int]]:
    (count,) = struct.unpack_from("<I", image, 256)
    return [struct.unpack_from("<QQQ", image, 264 + 24 * i) for i in range(count)]


def test_the_frame_keeps_to_what_viewers_know(bundle: Path) -> None:
    """Types that are known, none twice, none past the end; MODEL_DEF first and at 0, so that a reader doesn't
    take the table for the older one, of entries of 4 bytes."""
    image = bundle.read_bytes()
    found = rows(image)
    assert found[0][:2] == (0, 0)
    assert {kind for kind, _, _ in found} <= ACCEPTED
    assert len({kind for kind, _, _ in found}) == len(found) >= 3
    assert all(offset + size < len(image) for _, offset, size in found)


def test_an_unknown_version_is_refused_with_what_to_do(bundle: Path) -> None:
    image = bytearray(bundle.read_bytes())
    struct.pack_into("<I", image, 8, lib.ASC_OM_VERSION + 1)
    with pytest.raises(AscendError, match="update ascend-ep") as caught:
        open_model(bytes(image))
    assert caught.value.code == "E40005"


@pytest.mark.parametrize("kind", [3, 5, 31, 1000])
def test_partitions_of_other_types_are_refused(kind: int, bundle: Path) -> None:
    """1000 is PLAN in files of the first version, and nothing in this one's."""
    image = bytearray(bundle.read_bytes())
    struct.pack_into("<I", image, 264 + 24 * (len(rows(image)) - 1), kind)
    with pytest.raises(AscendError, match=rf"unknown or repeated type \({kind}\)"):
        open_model(bytes(image))


def netron() -> Path:
    """Netron's own code, in a cache outside the tree; the test is skipped where it can't be had."""
    if shutil.which("node") is None:
        pytest.skip("there is no node")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ascend_ep_tests" / "netron"
    if not (cache / "netron" / "om.js").exists():
        install = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(cache), "netron"]
        done = subprocess.run(install, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            pytest.skip(f"netron can't be installed: {done.stderr.strip().splitlines()[-1][:200]}")
    return cache / "netron"


@pytest.mark.slow
def test_netron_shows_operators_and_shapes(bundle: Path) -> None:
    script = Path(__file__).with_name("netron.mjs")
    command = ["node", str(script), str(netron()), str(bundle)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["format"] == "DaVinci OM"
    nodes: dict[str, Any] = {node["type"]: node for node in found["nodes"]}
    assert {"Data", "Conv", "Relu", "AveragePool", "NetOutput"} <= set(nodes)
    (data,) = (node for node in found["nodes"] if node["type"] == "Data")
    assert data["outputs"][0][1] == "float32[-1,3,8,8]"
    assert nodes["Conv"]["inputs"][1][1] == "float32[4,3,8,8]"
    assert "kernel_shape" in nodes["Conv"]["attributes"]
    assert nodes["NetOutput"]["inputs"][0][1] == "float32[-1,4]"
