"""A built library as MindSpore's ops.Custom(func_type="aot") calls it, and as ascend_rt.h says."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from build_commands import SWISH, Run

from ascend_ep.codegen.library_call import run_library

pytestmark = pytest.mark.usefixtures("compiler")

#: What MindSpore does with a library, in its own language: InferShape gives a vector by value.
HOST = """
#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <vector>
using Infer = std::vector<int64_t> (*)(int *, int64_t **, void *);
using Call = int (*)(int, void **, int *, int64_t **, const char **, void *, void *);
int main(int, char **argv) {
    void *library = dlopen(argv[1], RTLD_NOW);
    auto infer = reinterpret_cast<Infer>(dlsym(library, "LayerScaleInferShape"));
    auto call = reinterpret_cast<Call>(dlsym(library, "LayerScale"));
    int64_t x_shape[] = {3, 4}, w_shape[] = {4};
    int ndims[] = {2, 1, 2};
    int64_t *shapes[] = {x_shape, w_shape, x_shape};
    for (int k = 0; k < 1000; k++) infer(ndims, shapes, nullptr);
    std::vector<int64_t> out = infer(ndims, shapes, nullptr);
    std::printf("%zu:", out.size());
    for (int64_t d : out) std::printf(" %ld", (long)d);
    float x[12], w[] = {1, 2, 3, 4}, y[12];
    for (int k = 0; k < 12; k++) x[k] = (float)k;
    void *params[] = {x, w, y};
    const char *types[] = {"float32", "float32", "float32"};
    int failed = call(3, params, ndims, shapes, types, nullptr, nullptr);
    std::printf(" %d %g %g\\n", failed, y[5], y[11]);
    w_shape[0] = 5;
    failed = call(3, params, ndims, shapes, types, nullptr, nullptr);
    std::printf("%zu %d\\n", infer(ndims, shapes, nullptr).size(), failed);
    return 0;
}
"""


class Vector(ctypes.Structure):
    """A std::vector<int64_t> as it is returned."""

    _fields_ = [(name, ctypes.POINTER(ctypes.c_int64)) for name in ("first", "last", "end")]


def swish(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x.astype(np.float64)))


def test_both_interfaces(build: Run, tmp_path: Path) -> None:
    assert build(*SWISH)[0] == 0
    library = tmp_path / "out" / "swish_custom.so"
    x = np.linspace(-9, 9, 777, dtype=np.float32).reshape(1, 777)
    np.testing.assert_allclose(run_library(library, "Swish", [x])[0], swish(x), rtol=1e-6)
    loaded = ctypes.CDLL(str(library))
    shape = (ctypes.c_int64 * 2)(*x.shape)
    shapes = (ctypes.POINTER(ctypes.c_int64) * 2)(shape, shape)
    ndims = (ctypes.c_int * 2)(2, 2)
    loaded.SwishInferShape.restype = Vector
    inferred = loaded.SwishInferShape(ndims, shapes, None)
    count = (
        ctypes.cast(inferred.last, ctypes.c_void_p).value - ctypes.cast(inferred.first, ctypes.c_void_p).value
    )
    assert (count, inferred.first[0], inferred.first[1]) == (16, 1, 777)
    y = np.empty(tuple(inferred.first[d] for d in range(2)), np.float32)
    params = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
    kinds = (ctypes.c_char_p * 2)(b"float32", b"float32")
    assert loaded.Swish(2, params, ndims, shapes, kinds, None, None) == 0
    np.testing.assert_allclose(y, swish(x), rtol=1e-6)
    wrong = (ctypes.c_char_p * 2)(b"float16", b"float32")
    assert loaded.Swish(2, params, ndims, shapes, wrong, None, None) == 2
    assert loaded.Swish(3, params, ndims, shapes, kinds, None, None) == 1


def test_from_cpp_as_mindspore_does(build: Run, tmp_path: Path) -> None:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    assert build("--prompt", "LayerScale(x, w) = x*w + 1", "--input_shape", "[3,4];[4]")[0] == 0
    (tmp_path / "host.cpp").write_text(HOST)
    command = [compiler, "-O1", str(tmp_path / "host.cpp"), "-o", str(tmp_path / "host"), "-ldl"]
    subprocess.run(command, check=True)
    library = tmp_path / "out" / "layer_scale.so"
    done = subprocess.run([tmp_path / "host", library], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["2: 3 4 0 11 45", "0 3"]
