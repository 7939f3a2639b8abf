"""Small bundles as atc makes them, one of each kind of shapes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnx

POOL = """<ir_version: 8, opset_import: ["": 17]> p (float[N,3,H,W] x) =>
    (float[N,3,1,1] y, float[N,3,H,W] z) { z = Neg(x)  y = GlobalAveragePool(z) }"""
PAIR = """<ir_version: 8, opset_import: ["": 17]> p (float[N,K] a, float[N,K] b) =>
    (float[N,K] s, int32[N,K] t) { s = Add(a, b)  t = Cast <to = 6> (s) }"""

#: By name the model and atc's flags.
KINDS = {
    "static": (POOL, ["--input_shape=x:2,3,8,8"]),
    "batch": (POOL, ["--input_shape=x:-1,3,8,8", "--dynamic_batch_size=1,2,4"]),
    "image": (POOL, ["--input_shape=x:1,3,-1,-1", "--dynamic_image_size=8,8;16,4"]),
    "wide": (POOL, ["--input_shape=x:1,3,-1,-1", "--dynamic_image_size=8,4;8,16"]),
    "dims": (PAIR, ["--input_shape=a:-1,-1;b:-1,-1", "--dynamic_dims=1,1,1,1;4,4,4,4;2,8,2,8"]),
    "range": (PAIR, ["--input_shape=a:1~8,-1;b:1~8,-1"]),
    "pair": (PAIR, ["--input_shape=a:2,4;b:2,4"]),
}


def make(folder: Path, *names: str) -> dict[str, str]:
    """The paths of these bundles, by name."""
    from ascend_ep.cli.atc import main

    made = {}
    for name in names:
        text, flags = KINDS[name]
        onnx.save(onnx.parser.parse_model(text), folder / f"{name}.onnx")
        fixed = ["--framework=5", "--soc_version=Ascend910B3", "--precision_mode_v2=origin"]
        status = main([f"--model={folder / name}.onnx", f"--output={folder / name}", *fixed, *flags])
        assert status == 0
        made[name] = str(folder / f"{name}.om")
    return made


def run(folder: Path, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """`ascend-ep run` with these words, in a folder, with these variables in the environment."""
    command = [sys.executable, "-m", "ascend_ep.cli.ep", "run", *map(str, words)]
    environment = {**os.environ, **variables}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
