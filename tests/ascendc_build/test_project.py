"""A project of op_host and op_kernel becomes an operator: run, built, proven, converted and served by
others' runtimes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from scaled_add_project import PROJECT

import ascend_ep
from ascend_ep.cann.soc import find_soc
from ascend_ep.cli import atc
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.kernels.host_code import read_host
from ascend_ep.opdef import dtypes

SHAPES = ("--input_shape", "[3,40];[3,40]", "--dtype", "float16")
FORMULA = ("--attr", "alpha=0.5", "--formula", "alpha*x + y")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The operator's folder, with its proof."""
    from ascend_ep.cli import op

    folder = tmp_path_factory.mktemp("built")
    assert op.main(["build", str(PROJECT), *SHAPES, *FORMULA, "--output", str(folder)], {}) == 0
    return folder


def copy_of(tmp_path: Path, file: str, change) -> Path:
    """The project with one of its files changed."""
    project = tmp_path / "ScaledAdd"
    shutil.copytree(PROJECT, project)
    text = (project / file).read_text()
    assert change(text) != text
    (project / file).write_text(change(text))
    return project


def test_the_host_says_what_it_registers():
    host = read_host([PROJECT / "op_host/scaled_add.cpp"], [], find_soc("Ascend910B1"))
    operator = host.operator("ScaledAdd")
    assert operator.columns == [(dtypes.FLOAT16,) * 3, (dtypes.FLOAT32,) * 3]
    assert [(a.name, a.type, a.default, a.required) for a in operator.attributes] == [
        ("alpha", "float", 1.0, False)
    ]
    assert operator.chips == ("ascend910b", "ascend310p")
    assert host.tiling.startswith(
        "struct ScaledAddTilingData {\n    uint64_t length;\n    uint64_t perBlock;\n"
    )
    assert host.tiling_of == {"ScaledAdd": "ScaledAddTilingData"}


def test_the_hosts_tiling_is_what_the_kernel_gets(run):
    status, out, err = run("run", PROJECT, "--input_shape", "[1000];[1000]", *FORMULA)
    assert status == 0, err
    assert "42 blocks, tiling key 1, 24 bytes of tiling data" in out  # 48 cores, 24 elements each
    assert "z with the formula: largest difference" in out


def test_another_chip_has_other_cores(run):
    status, out, _ = run(
        "run", PROJECT, "--input_shape", "[1000];[1000]", *FORMULA, "--soc_version", "Ascend310P3"
    )
    assert status == 0
    assert "8 blocks" in out


def test_shapes_that_the_host_refuses_never_reach_the_kernel(run):
    status, _, err = run("run", PROJECT, "--input_shape", "[8];[9]", "--dtype", "float32")
    assert status == 1
    assert "E43205" in err
    assert "TilingFunc refuses these shapes: [8], [9]" in err


def test_types_that_the_host_does_not_declare_are_refused(run):
    status, _, err = run("run", PROJECT, "--input_shape", "[8];[8]", "--dtype", "int32")
    assert status == 1
    assert "takes no int32, int32" in err


def test_a_fault_names_the_line_of_the_kernel(run, tmp_path):
    project = copy_of(
        tmp_path, "op_kernel/scaled_add.cpp", lambda t: t.replace("        outZ.EnQue(c);\n", "")
    )
    status, out, err = run("run", project, *SHAPES, *FORMULA)
    line = next(
        i
        for i, t in enumerate((project / "op_kernel/scaled_add.cpp").read_text().split("\n"), 1)
        if "outZ.DeQue" in t
    )
    assert status == 1
    assert f"fault     scaled_add.cpp:{line}: block 0: [ErrorBuffer3]" in out
    assert "LocalTensor<DTYPE_X> c = outZ.DeQue<DTYPE_X>();" in out
    assert "E43201" in err


def test_other_values_than_the_formula_says_are_an_error(run):
    status, _, err = run("run", PROJECT, *SHAPES, "--attr", "alpha=0.5", "--formula", "alpha*x - y")
    assert status == 1
    assert "E43204" in err
    assert "the formula: z: 1" in err


@pytest.mark.slow
def test_a_wrong_kernel_is_not_written(run, tmp_path):
    wrong = copy_of(
        tmp_path, "op_kernel/scaled_add.cpp", lambda t: t.replace("Add(c, c, b, n)", "Sub(c, c, b, n)")
    )
    status, _, err = run("build", wrong, *SHAPES, *FORMULA, "--output", tmp_path / "out")
    assert status == 1
    assert "E43102" in err
    assert "elements differ" in err
    assert not list((tmp_path / "out").rglob("*.so"))


def test_the_definition_says_what_it_takes(built):
    definition = json.loads((built / "scaled_add.json").read_text())
    assert [t["type"] for t in definition["input_desc"]] == [["float16", "float32"]] * 2
    assert definition["attributes"] == [{"name": "alpha", "type": "float", "default": 1.0}]
    assert definition["library"] == "scaled_add.so"
    kernel = json.loads((built / "kernel_meta/scaled_add.json").read_text())
    assert kernel["takes"] == "every shape that the host code's InferShape and tiling accept"
    assert kernel["proven"] is True


def test_the_proof_has_its_three_layers_and_is_of_these_files(built, run, tmp_path):
    status, out, err = run("verify", built / "scaled_add.json")
    assert status == 0, err
    assert "static: 1 of 1" in out
    assert "execution: 4 of 4" in out
    assert "proof holds" in out
    copied = tmp_path / "copied"
    shutil.copytree(built, copied)
    with (copied / "scaled_add.so").open("ab") as file:
        file.write(b"\0")
    status, _, err = run("verify", copied / "scaled_add.json")
    assert status == 1
    assert "E43107" in err


def test_without_a_reference_it_is_unproven_and_says_so(run, tmp_path):
    status, out, err = run("build", PROJECT, *SHAPES, "--output", tmp_path)
    assert status == 0, err
    assert "unproven: no formula and no golden file" in out
    assert "Unproven" in json.loads((tmp_path / "scaled_add.json").read_text())["doc"]
    assert not (tmp_path / "kernel_meta/scaled_add_proof.json").exists()


def model_of(path: Path, element: int) -> Path:
    values = [helper.make_tensor_value_info(n, element, ["a", "b"]) for n in ("x", "y", "z")]
    node = helper.make_node("ScaledAdd", ["x", "y"], ["z"], domain="mine", alpha=2.0)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    onnx.save(
        helper.make_model(helper.make_graph([node], "g", values[:2], values[2:]), opset_imports=opsets), path
    )
    return path


@pytest.mark.parametrize("element", [TensorProto.FLOAT, TensorProto.FLOAT16])
def test_a_bundle_runs_it_for_any_shape_in_both_runtimes(built, tmp_path, element):
    onnxruntime = pytest.importorskip("onnxruntime")
    model = model_of(tmp_path / "m.onnx", element)
    words = [f"--model={model}", "--framework=5", f"--output={tmp_path / 'm'}", "--soc_version=Ascend910B1"]
    words += ["--precision_mode_v2=origin", f"--custom_op_info={built / 'scaled_add.json'}"]
    assert atc.main(words) == 0
    kind = np.float32 if element == TensorProto.FLOAT else np.float16
    source = np.random.default_rng(3)
    ours = ascend_ep.InferenceSession(str(tmp_path / "m.om"))
    theirs = onnxruntime.InferenceSession(str(tmp_path / "m_ctx.onnx"), providers=["AscendEP"])
    for shape in ((7, 33), (1, 1), (64, 129)):
        x, y = (source.standard_normal(shape).astype(kind) for _ in "xy")
        wanted = (kind(2) * x) + y
        for session in (ours, theirs):
            (made,) = session.run(None, {"x": x, "y": y})
            np.testing.assert_array_equal(made, wanted)


def test_a_kernel_alone_takes_the_shape_it_was_built_for(run, tmp_path):
    kernel = tmp_path / "twice.cpp"
    kernel.write_text(TWICE)
    words = ("--input_shape", "[64]", "--dtype", "float32", "--arg", "factor=2", "--formula", "2*x")
    status, out, err = run("build", kernel, *words, "--output", tmp_path)
    assert status == 0, out + err
    definition = json.loads((tmp_path / "twice.json").read_text())
    assert definition["input_desc"][0]["required_shape"] == [64]
    assert "no other shape" in json.loads((tmp_path / "kernel_meta/twice.json").read_text())["takes"]


TWICE = """\
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void twice(GM_ADDR x, GM_ADDR y, float factor) {
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> in;
    TQue<QuePosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 1, 256);
    pipe.InitBuffer(out, 1, 256);
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x, 64);
    to.SetGlobalBuffer((__gm__ float *)y, 64);
    LocalTensor<float> a = in.AllocTensor<float>();
    DataCopy(a, from, 64);
    in.EnQue(a);
    a = in.DeQue<float>();
    LocalTensor<float> b = out.AllocTensor<float>();
    Muls(b, a, factor, 64);
    out.EnQue(b);
    in.FreeTensor(a);
    b = out.DeQue<float>();
    DataCopy(to, b, 64);
    out.FreeTensor(b);
}
"""


def test_a_kernel_that_never_ends_is_stopped(run, tmp_path):
    kernel = tmp_path / "endless.cpp"
    kernel.write_text(
        TWICE.replace(
            "    TPipe pipe;\n", "    TPipe pipe;\n    for (volatile int i = 0; i < 1; i = 0) { }\n"
        )
    )
    status, _, err = run("run", kernel, "--input_shape", "[64]", "--arg", "factor=2", "--seconds", "1")
    assert status == 1
    assert "E43206" in err
    assert "longer than 1 s" in err


def test_a_missing_argument_is_named(run, tmp_path):
    kernel = tmp_path / "twice.cpp"
    kernel.write_text(TWICE)
    status, _, err = run("run", kernel, "--input_shape", "[64]")
    assert status == 1
    assert "Give --arg factor=VALUE." in err


def test_the_compilers_first_error_is_shown(run, tmp_path):
    kernel = tmp_path / "broken.cpp"
    kernel.write_text(TWICE.replace("Muls(b, a, factor, 64);", "Muls(b, a, factor, 64)"))
    status, _, err = run("run", kernel, "--input_shape", "[64]", "--arg", "factor=2")
    assert status == 1
    assert "E43002" in err
    assert "broken.cpp:17" in err


def test_what_is_no_project_is_refused(tmp_path):
    from ascend_ep.opbuild.kernels.sources import find_sources

    with pytest.raises(AscendError, match="E43202"):
        find_sources([tmp_path])
