"""Outputs whose shapes the kernel computes (OutputShapeDependOnCompute): run, built, called as aclnn<Op>, and
refused where a graph is planned."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.codegen.library_call import run_library
from ascend_ep.opbuild.ascendc.cpp import LIBRARIES, find_cpp
from ascend_ep.opbuild.kernels.aclnn_sources import header_name, header_text, source_text
from ascend_ep.opdef.loader import load_definitions

PROJECT = Path(__file__).parent / "projects" / "Positives"
X = np.array([[1, -2, 3], [0, 5, -6]], np.float32)
KEPT, PLACES = np.array([1, 3, 5], np.float32), np.array([[0, 0], [0, 2], [1, 1]], np.int32)

Command = Callable[..., tuple[int, str, str]]


def changed(tmp_path: Path, file: str, old: str, new: str) -> Path:
    project = tmp_path / "Positives"
    shutil.copytree(PROJECT, project)
    text = (project / file).read_text()
    assert old in text
    (project / file).write_text(text.replace(old, new))
    return project


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """The flags of a call with what should come out."""
    folder = tmp_path_factory.mktemp("golden")
    np.save(folder / "x.npy", X)
    flags: list[object] = ["--input", folder / "x.npy"]
    for name, array in (("kept", KEPT), ("count", np.array([3])), ("places", PLACES)):
        np.save(folder / f"{name}.npy", array)
        flags += ["--golden", folder / f"{name}.npy"]
    return flags


@pytest.fixture(scope="module")
def built(golden: list[object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    from ascend_ep.cli import op

    folder = tmp_path_factory.mktemp("built")
    words = ["build", PROJECT, *golden, "--output", folder]
    assert op.main([str(w) for w in words], {}) == 0
    return folder


def test_the_outputs_have_the_shapes_that_the_kernel_says(run: Command, golden: list[object], tmp_path: Path):
    status, _, err = run("run", PROJECT, *golden, "--output", tmp_path)
    assert status == 0, err
    np.testing.assert_array_equal(np.load(tmp_path / "kept.npy"), KEPT)
    np.testing.assert_array_equal(np.load(tmp_path / "places.npy"), PLACES)


@pytest.mark.parametrize(
    ("mistake", "kind", "tensor"),
    [
        (1, "ErrorParam", "the shapes of outputs"),
        (2, "ErrorWrite5", "the shapes of outputs"),
        (3, "ErrorWrite5", "kept"),
        (4, "ErrorWrite2", "kept"),
    ],
)
def test_a_shape_that_is_none_of_what_was_written_is_named(
    run: Command, golden: list[object], mistake: int, kind: str, tensor: str
):
    status, out, _ = run("run", PROJECT, *golden, "--attr", f"mistake={mistake}")
    assert status == 1
    (fault,) = (line for line in out.splitlines() if line.startswith("fault"))
    assert re.search(rf"positives\.cpp:\d+: .*\[{kind}\].*{tensor}", fault), fault


@pytest.mark.slow
def test_without_a_range_the_command_says_how_much_room_there_is(
    run: Command, golden: list[object], tmp_path: Path
):
    project = changed(
        tmp_path, "op_host/positives.cpp", "            .SetInferShapeRange(ge::InferShapeRange)\n", ""
    )
    status, _, err = run("run", project, *golden[:2])
    assert status == 1
    assert "E43205" in err
    assert "--output_shape" in err
    status, _, err = run("run", project, *golden[:2], "--output_shape", "[6];[1];[6,2]", "--output", tmp_path)
    assert status == 0, err
    np.testing.assert_array_equal(np.load(tmp_path / "kept.npy"), KEPT)


def test_the_library_says_them_too(built: Path):
    kept, count, places = run_library(built / "positives.so", "Positives", [X], 3)
    np.testing.assert_array_equal(kept, KEPT)
    np.testing.assert_array_equal(count, [3])
    np.testing.assert_array_equal(places, PLACES)
    none, _, nowhere = run_library(built / "positives.so", "Positives", [-np.abs(X)], 3)
    assert (none.shape, nowhere.shape) == ((0,), (0, 2))


def test_a_conversion_refuses_it_by_name(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    from ascend_ep.cli import atc

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    outputs = [
        helper.make_tensor_value_info("kept", TensorProto.FLOAT, ["n"]),
        helper.make_tensor_value_info("count", TensorProto.INT64, [1]),
        helper.make_tensor_value_info("places", TensorProto.INT32, ["n", 2]),
    ]
    node = helper.make_node("Positives", ["x"], ["kept", "count", "places"])
    graph = helper.make_graph([node], "g", [x], outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    words = [f"--model={tmp_path / 'm.onnx'}", "--framework=5", f"--output={tmp_path / 'm'}"]
    words += ["--soc_version=Ascend910B1", f"--custom_op_info={built / 'positives.json'}"]
    assert atc.main(words) != 0
    assert "decides the shape of an output while it runs" in "".join(capsys.readouterr())
    assert not (tmp_path / "m.om").exists()


PROGRAM = r"""
#include <cstdio>
#include "acl/acl.h"
#include "aclnn_positives.h"
static aclTensor *tensor(void *p, aclDataType type, int64_t rows, int64_t columns) {
    const int64_t dims[] = {rows, columns}, strides[] = {columns, 1};
    const uint64_t rank = columns ? 2 : 1;
    const int64_t *steps = columns ? strides : strides + 1;
    return aclCreateTensor(dims, rank, type, steps, 0, ACL_FORMAT_ND, dims, rank, p);
}
static void print_shape(const aclTensor *t) {
    int64_t *dims = nullptr;
    uint64_t n = 0;
    aclGetViewShape(t, &dims, &n);
    std::printf("[");
    for (uint64_t d = 0; d < n; d++) std::printf("%s%ld", d ? "," : "", long(dims[d]));
    std::printf("]\n");
    delete[] dims;
}
int main() {
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream stream;
    aclrtCreateStream(&stream);
    const float x[6] = {1, -2, 3, 0, 5, -6};
    void *memory[4];
    for (void *&p : memory) aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemcpy(memory[0], 64, x, sizeof x, ACL_MEMCPY_HOST_TO_DEVICE);
    aclTensor *in = tensor(memory[0], ACL_FLOAT, 2, 3), *kept = tensor(memory[1], ACL_FLOAT, 6, 0),
              *count = tensor(memory[2], ACL_INT64, 1, 0), *places = tensor(memory[3], ACL_INT32, 6, 2);
    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    if (aclnnPositivesGetWorkspaceSize(in, 0, kept, count, places, &size, &executor) ||
        aclnnPositives(nullptr, size, executor, stream) || aclrtSynchronizeStream(stream))
        return std::puts(aclGetRecentErrMsg()), 1;
    print_shape(kept);
    print_shape(count);
    print_shape(places);
    float made[6];
    aclrtMemcpy(made, sizeof made, memory[1], sizeof made, ACL_MEMCPY_DEVICE_TO_HOST);
    std::printf("%g %g %g\n", made[0], made[1], made[2]);
    kept = tensor(memory[1], ACL_FLOAT, 2, 0);
    int code = aclnnPositivesGetWorkspaceSize(in, 0, kept, count, places, &size, &executor);
    if (!code) code = aclnnPositives(nullptr, size, executor, stream);
    if (!code) code = aclrtSynchronizeStream(stream);
    std::printf("%s\n", code ? aclGetRecentErrMsg() : "taken");
}
"""


def test_a_program_reads_them_from_its_tensors(built: Path, tmp_path: Path):
    opdef = load_definitions(built / "positives.json")[0]
    (tmp_path / header_name(opdef.op)).write_text(header_text(opdef))
    source = tmp_path / "aclnn_positives.cpp"
    source.write_text(source_text(opdef, built / "positives.json", built / "positives.so"))
    (tmp_path / "main.cpp").write_text(PROGRAM)
    words = [*find_cpp(), str(tmp_path / "main.cpp"), str(source), f"-I{HEADERS}", f"-I{tmp_path}"]
    words += [f"-L{LIBRARIES}", "-lascendcl", "-o", str(tmp_path / "main")]
    subprocess.run(words, check=True, timeout=120)
    done = subprocess.run(
        [str(tmp_path / "main")],
        env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARIES)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shapes, last = done.stdout.splitlines()[:4], done.stdout.splitlines()[4:]
    assert shapes == ["[3]", "[1]", "[3,2]", "1 3 5"]
    assert "room" in " ".join(last)
