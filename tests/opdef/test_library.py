"""The example library (tests/assets/rope_library.c) through the C ABI, against the float64 reference."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ascend_ep
from ascend_ep.opdef.definition import Library
from ascend_ep.opdef.reference import evaluate
from ascend_ep.opdef.registry import Registry
from ascend_ep.runtime._rt import ffi, lib

SOURCE = Path(__file__).parent.parent / "assets" / "rope_library.c"
INCLUDE = Path(ascend_ep.__file__).parent / "include"
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
DTYPES = {np.dtype(np.float32): 1, np.dtype(np.int64): 7}


@pytest.fixture(scope="module")
def rope(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None:
        pytest.skip("no C compiler")
    target = tmp_path_factory.mktemp("library") / "rope.so"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{INCLUDE}"]
    subprocess.run([COMPILER, *flags, str(SOURCE), "-o", str(target)], check=True)
    return target


class Call:
    """An asc_custom_call over numpy arrays; keeps what the structure points to alive."""

    def __init__(self, inputs: Sequence[np.ndarray | None], **attributes: int) -> None:
        self.inputs = list(inputs)
        self.tensors = ffi.new("asc_tensor[]", len(self.inputs))
        for tensor, array in zip(self.tensors, self.inputs, strict=True):
            if array is not None:
                describe(tensor, array)
        self.out = ffi.new("asc_tensor[1]")
        self.names = [
            (ffi.new("char[]", n.encode()), ffi.new("int64_t[]", [v])) for n, v in attributes.items()
        ]
        self.attributes = ffi.new("asc_attr[]", max(len(self.names), 1))
        for attribute, (name, value) in zip(self.attributes, self.names, strict=False):
            attribute.name, attribute.kind, attribute.count, attribute.ints = (
                name,
                lib.ASC_ATTR_INTS,
                1,
                value,
            )
        self.error = ffi.new("char[200]")
        self.call = ffi.new("asc_custom_call *")
        self.call[0] = {
            "in": self.tensors,
            "out": self.out,
            "n_in": len(self.inputs),
            "n_out": 1,
            "attrs": self.attributes,
            "n_attrs": len(self.names),
            "threads": 1,
            "error": self.error,
            "error_bytes": 200,
        }


def describe(tensor: Any, array: np.ndarray) -> None:
    tensor.data = ffi.cast("void *", array.ctypes.data)
    tensor.dtype, tensor.rank = DTYPES[array.dtype], array.ndim
    tensor.dims[0 : array.ndim] = array.shape


def load(path: Path) -> Any:
    status = ffi.new("asc_status *")
    op = lib.asc_custom_op_load(str(path).encode(), b"RoPE", status)
    assert op != ffi.NULL, ffi.string(status.text)
    return op


def run(op: Any, inputs: Sequence[np.ndarray | None], **attributes: int) -> np.ndarray:
    call = Call(inputs, **attributes)
    assert op.infer(call.call) == 0, ffi.string(call.error)
    out = call.out[0]
    y = np.full([out.dims[i] for i in range(out.rank)], np.nan, np.float32)
    out.data = ffi.cast("void *", y.ctypes.data)
    assert op.compute(call.call) == 0, ffi.string(call.error)
    return y


def operands(batch: int = 2, heads: int = 3, length: int = 5, width: int = 8) -> list[np.ndarray]:
    random = np.random.default_rng(1)
    angle = random.normal(size=(13, width // 2))
    x = random.normal(size=(batch, heads, length, width)).astype(np.float32)
    ids = random.integers(0, 13, (batch, length))
    return [x, np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32), ids]


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("ids", ["none", "row", "batch"])
def test_it_computes_what_the_reference_does(rope: Path, interleaved: int, ids: str) -> None:
    x, cos, sin, positions = operands()
    chosen = {"none": None, "row": positions[0], "batch": positions}[ids]
    y = run(load(rope), [x, cos, sin, chosen], interleaved=interleaved)
    rows = np.arange(x.shape[-2]) if chosen is None else chosen
    found = Registry().resolve("", "RoPE", 1)
    assert found is not None
    (expected,) = evaluate(found.opdef, [x, cos, sin, rows], {"interleaved": interleaved})
    # two products and a sum in float32: 3 roundings of values below 8
    np.testing.assert_allclose(y, expected, rtol=3e-7, atol=3e-6)


def test_it_refuses_what_does_not_fit(rope: Path) -> None:
    op = load(rope)
    x, cos, sin, positions = operands()
    for inputs in ([x, cos[:, :2], sin], [x[..., :7], cos, sin], [x, cos, sin, positions[:1]]):
        call = Call(inputs)
        assert op.infer(call.call) != 0
        assert ffi.string(call.error)
    call = Call([x, cos, sin, positions + 13])
    assert op.infer(call.call) == 0
    y = np.empty_like(x)
    call.out[0].data = ffi.cast("void *", y.ctypes.data)
    assert op.compute(call.call) != 0
    assert b"outside" in ffi.string(call.error)


def test_it_is_declared_by_the_converter_option(rope: Path) -> None:
    found = Registry.from_options(custom_op=[f"RoPE:{rope}"], environ={}).resolve("ai.custom", "RoPE", 1)
    assert found is not None
    assert found.opdef.semantics == Library(rope.resolve())
