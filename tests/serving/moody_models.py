"""Bundles with a library of a user's: 2 * x, or what the Mood does that an element is."""

from __future__ import annotations

import shutil
import subprocess
from enum import IntEnum
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.opdef.registry import Registry
from ascend_ep.runtime import trust
from ascend_ep.runtime.binding import lib, open_model
from ascend_ep.runtime.bundle import Bundle

SOURCE = Path(__file__).parents[1] / "assets" / "moody_library.c"


class Mood(IntEnum):
    """As in the library."""

    REFUSES = 1001
    FAILS_SILENTLY = 1002
    CRASHES = 1003
    ABORTS = 1004
    EXITS = 1005
    HANGS = 1006
    WRITES_PAST = 1007
    EATS_MEMORY = 1008
    LEAVES_A_CHILD = 1009
    CLOSES_FILES = 1010
    SPEAKS = 1011
    STOPS = 1012
    ESCAPES = 1013


def library(folder: Path) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    made = folder / "moody.so"
    flags = ["-O1", "-shared", "-fPIC", f"-I{ascend_ep.get_include()}"]
    subprocess.run([compiler, *flags, str(SOURCE), "-o", str(made)], check=True)
    return made


def _model(node: onnx.NodeProto, weights: list[onnx.TensorProto]) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    graph = helper.make_graph([node], "moody", [x], [y], weights)
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def moody_bundle(path: Path, made: Path, model: onnx.ModelProto | None = None) -> None:
    """Writes the bundle of a model with the operator, alone if none is given; its library is trusted."""
    options = ConvertOptions(registry=Registry(libraries={"Moody": made}), precision="must_keep_origin_dtype")
    alone = _model(helper.make_node("Moody", ["x"], ["y"], domain="own"), [])
    path.write_bytes(convert(model or alone, options).to_bytes())
    trust.trust([(n.sha256, "") for n in Bundle(open_model(path, flags=lib.ASC_OPEN_NO_NATIVE)).natives])


def put_moody(root: Path, name: str, made: Path, *, original: bool) -> Path:
    """Writes the bundle into a repository, with an ONNX model of the same function or without. Returns its
    path."""
    folder = root / name / "1"
    folder.mkdir(parents=True)
    bundle = folder / "model.om"
    moody_bundle(bundle, made)
    if original:
        two = numpy_helper.from_array(np.float32(2), "two")
        onnx.save(_model(helper.make_node("Mul", ["x", "two"], ["y"]), [two]), folder / "model.onnx")
    return bundle
