"""What a built library holds and says: several element types, any rank, in the words of its kernel's
description; what it doesn't take is refused with what it takes and the command that mends it."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from pathlib import Path

import numpy as np
import onnx
import pytest
from build_commands import Run
from onnx import TensorProto, helper

import ascend_ep
from ascend_ep.cli.op_values import read_types
from ascend_ep.codegen.library_call import run_library
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.opdef.loader import load_definitions
from ascend_ep.opdef.registry import Registry

pytestmark = pytest.mark.usefixtures("compiler")

SWISH = ("--prompt", "Swish(x) = x * sigmoid(x)", "--input_shape", "[2,64,32]", "--dtype", "float16")


def model_of(op: str, dims: list[int], dtype: int) -> onnx.ModelProto:
    x, y = (helper.make_tensor_value_info(n, dtype, dims) for n in "xy")
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], domain="mine")], "g", [x], [y])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def converted(library: Path, op: str, dims: list[int], dtype: int) -> bytes:
    registry = Registry.from_options([f"{op}:{library}"], environ={})
    options = ConvertOptions(registry=registry, precision="must_keep_origin_dtype")
    return convert(model_of(op, dims, dtype), options).to_bytes()


def test_a_library_of_one_shape_and_type_serves_others(build: Run, tmp_path: Path) -> None:
    """It used to refuse every other rank and type, and its description didn't say so. What no build of it
    takes is refused with what it takes."""
    status, out, err = build(*SWISH)
    assert status == 0, err
    assert "takes: x [...] float16/float32/bfloat16" in out
    kernel = json.loads((tmp_path / "out" / "kernel_meta" / "swish.json").read_text())
    assert kernel["takes"]["inputs"] == [{"name": "x", "shape": ["..."]}]
    assert [t["x"] for t in kernel["takes"]["types"]] == ["float16", "float32", "bfloat16"]
    (tensor,) = kernel["supportInfo"]["inputs"]
    assert (tensor["dtype"], tensor["shape"], tensor["paramType"]) == ("float16", [-2], "required")
    kinds = [b["supportInfo"]["outputs"][0]["dtype"] for b in kernel["binList"]]
    assert kinds == ["float16", "float32", "bfloat16"]
    library = tmp_path / "out" / "swish.so"
    rng = np.random.default_rng(0)
    trusted = ("AscendEP", {"trust": f"sha256:{hashlib.sha256(library.read_bytes()).hexdigest()}"})
    for dims, kind in (([4, 3, 2, 5], np.float32), ([7], np.float16), ([2, 3], np.float32)):
        x = rng.standard_normal(dims).astype(kind)
        dtype = TensorProto.FLOAT if kind == np.float32 else TensorProto.FLOAT16
        session = ascend_ep.InferenceSession(converted(library, "Swish", dims, dtype), providers=[trusted])
        (y,) = session.run(None, {"x": x})
        exact = x.astype(np.float64) / (1 + np.exp(-x.astype(np.float64)))
        np.testing.assert_allclose(y, exact, rtol=2e-3 if kind == np.float16 else 1e-6)
    reason = r"input x is float64, and it was built for float16, float32, bfloat16; no build of it .*cast it"
    with pytest.raises(AscendError, match=rf"E41011.*{reason}"):
        converted(library, "Swish", [2, 3], TensorProto.DOUBLE)
    with pytest.raises(AscendError, match=reason):
        run_library(library, "Swish", [np.ones(3, np.float64)])


def test_a_refusal_names_the_command_that_mends_it(build: Run, run: Run, tmp_path: Path) -> None:
    """The command is run as it stands, and what was refused is taken."""
    prompt = "Fall(x) = x - sum(x*x, axis=0, keepdims=True)"
    built = ("--prompt", prompt, "--input_shape", "[4,5]", "--dtype", "float16,float32")
    assert build(*built)[0] == 0
    kernel = json.loads((tmp_path / "out" / "kernel_meta" / "fall.json").read_text())
    assert kernel["takes"]["ranks"] == "as in inputs"
    assert kernel["supportInfo"]["inputs"][0]["shape"] == [-1, -1]
    (opdef,) = load_definitions(tmp_path / "out" / "fall.json")
    assert opdef.inputs[0].types == (TensorProto.FLOAT16, TensorProto.FLOAT)
    library = tmp_path / "out" / "fall.so"
    x = np.ones((2, 3, 4), np.float32)
    with pytest.raises(AscendError, match="it was built for 2; rebuild it: ") as refused:
        converted(library, "Fall", [2, 3, 4], TensorProto.FLOAT)
    command = shlex.split(re.search(r"rebuild it: (ascend-op .*)\.$", refused.value.text)[1])  # type: ignore[index]
    status, _, err = run(*command[1:], "--search=0", "--output", str(tmp_path / "again"))
    assert status == 0, err
    (y,) = run_library(tmp_path / "again" / "fall.so", "Fall", [x])
    np.testing.assert_allclose(y, x - np.sum(x * x, axis=0, keepdims=True))


def test_indices_of_several_types(build: Run, tmp_path: Path) -> None:
    """The index first: the library used to hold that type alone."""
    prompt = "Pick(i, x) = take(x, i, axis=-1)"
    status, _, err = build("--prompt", prompt, "--input_shape", "[3];[8,4]", "--dtype", "int64;float32")
    assert status == 0, err
    meta = tmp_path / "out" / "kernel_meta"
    kernel = json.loads((meta / "pick.json").read_text())
    pairs = {(t["i"], t["x"]) for t in kernel["takes"]["types"]}
    assert pairs == {(i, x) for i in ("int64", "int32") for x in ("float32", "float16", "bfloat16")}
    assert (meta / "pick_int32-float16.c").is_file()
    x = np.arange(24, dtype=np.float16).reshape(2, 3, 4)
    i = np.array([3, -4, 1], np.int32)
    (y,) = run_library(tmp_path / "out" / "pick.so", "Pick", [i, x])
    np.testing.assert_array_equal(y, np.take(x, i, axis=-1))


def test_types_are_lists_or_flags_that_are_repeated(build: Run, tmp_path: Path) -> None:
    shape = ("--prompt", "Twice(x) = x * 2", "--input_shape", "[8]")
    status, out, err = build(*shape, "--dtype", "bfloat16", "--dtype", "float32")
    assert status == 0, err
    assert "takes: x [...] bfloat16/float32\n" in out
    assert read_types(["float16,float32;int64"]) == ((10, 1), (7,))
    assert read_types(["float16;int64", "float32;int64"]) == ((10, 1), (7,))
    status, _, err = build(*shape, "--output_name", "other", "--dtype", "float32,float64")
    assert (status, err[:6]) == (1, "E41011")
    assert "allowed: float32, float16, bfloat16" in err
