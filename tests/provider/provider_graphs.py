"""Small models and subprocesses for the provider's tests."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
from numpy.typing import NDArray

import ascend_ep

#: What has to be on PYTHONPATH for a subprocess to find the package under test.
PACKAGE_ROOT = str(Path(ascend_ep.__file__).parent.parent)

FLOAT = onnx.TensorProto.FLOAT


def value(name: str, dims: Sequence[int | str] | None, dtype: int = FLOAT) -> onnx.ValueInfoProto:
    return oh.make_tensor_value_info(name, dtype, dims)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    constants: Mapping[str, NDArray[np.generic]] | None = None,
    opsets: Mapping[str, int] | None = None,
) -> bytes:
    """A serialized model; opset 17 unless given."""
    initializers = [onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()]
    graph = oh.make_graph(list(nodes), "graph", list(inputs), list(outputs), initializers)
    imports = [oh.make_opsetid(d, v) for d, v in (opsets or {"": 17}).items()]
    return oh.make_model(graph, opset_imports=imports, ir_version=9).SerializeToString()


def weights(seed: int, *shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


W1, W2 = weights(1, 8, 16), weights(2, 16, 4)


def two_layers() -> bytes:
    """softmax(x W1) W2 with a free batch: x [N,8] -> y [N,4]."""
    nodes = [
        oh.make_node("MatMul", ["x", "W1"], ["h"], name="first"),
        oh.make_node("Softmax", ["h"], ["p"], name="softmax", axis=-1),
        oh.make_node("MatMul", ["p", "W2"], ["y"], name="second"),
    ]
    return model(nodes, [value("x", ["N", 8])], [value("y", ["N", 4])], {"W1": W1, "W2": W2})


def two_layers_reference(x: NDArray[np.float32]) -> NDArray[np.float64]:
    h = x.astype(np.float64) @ W1.astype(np.float64)
    e = np.exp(h - h.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)) @ W2.astype(np.float64)


NOISE = 2.5  # what the random numbers of with_noise() are, every one: they don't vary


def with_noise() -> bytes:
    """Four nodes, of which onnxruntime's CPU provider alone draws random numbers: y = softmax(x) noise."""
    nodes = [
        oh.make_node("Softmax", ["x"], ["p"], name="softmax"),
        oh.make_node("RandomUniformLike", ["s"], ["d"], name="noise", low=NOISE, high=NOISE),
        oh.make_node("Expand", ["d", "shape"], ["e"], name="expand"),
        oh.make_node("MatMul", ["p", "e"], ["y"], name="product"),
    ]
    constants = {"shape": np.array([4, 2], np.int64)}
    return model(nodes, [value("x", ["N", 4]), value("s", [1, 2])], [value("y", ["N", 2])], constants)


def run_python(
    code: str,
    *args: str,
    cwd: Path | None = None,
    path: str = "",
    env: Mapping[str, str] | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Runs `code` in a fresh interpreter that can import the package and this module."""
    given = os.environ.get("PYTHONPATH", "")  # names the release of onnxruntime under test
    search = [p for p in (path, given, PACKAGE_ROOT, str(Path(__file__).parent)) if p]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(search), **(env or {})}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *args],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=cwd,
        env=environment,
    )
