"""Kernels as functions of a program, and what else build files call in a toolkit."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from ascend_ep.cli import launchers_tool, op_build_tool, opc
from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.opbuild.ascendc.cpp import find_cpp
from ascend_ep.opbuild.kernels.launch_functions import launch_function, launch_header
from ascend_ep.opbuild.kernels.signature import kernels_of

KERNEL = """\
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void twice(GM_ADDR x, __gm__ float *y, uint32_t n) {}
template <typename T> __global__ __aicore__ void any(GM_ADDR x) {}
void launch(uint32_t b, void *s, uint8_t *x) { twice<<<b, nullptr, s>>>(x, nullptr, 3); }
"""


def test_a_kernel_gets_a_header_and_a_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "twice.cpp").write_text(KERNEL)
    assert launchers_tool.main([str(tmp_path / "made"), str(tmp_path / "twice.cpp")]) == 0
    made = Path(capsys.readouterr().out.strip())
    declared = "uint32_t aclrtlaunch_twice(uint32_t asc_blocks, aclrtStream asc_stream, void *x, void *y, "
    declared += "uint32_t n)"
    assert declared in (tmp_path / "made/aclrtlaunch_twice.h").read_text()
    assert not (tmp_path / "made/aclrtlaunch_any.h").exists()
    text = made.read_text()
    assert declared in text
    assert "<<<" not in text
    before = made.stat().st_mtime_ns
    assert launchers_tool.main([str(tmp_path / "made"), str(tmp_path / "twice.cpp")]) == 0
    assert made.stat().st_mtime_ns == before


def test_a_binary_is_the_operator_that_was_built(tmp_path: Path) -> None:
    library = tmp_path / "autogen" / "asc_operators" / "scaled_add.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"code")
    entry = {"bin_filename": "ScaledAdd_1", "inputs": [{"name": "x", "dtype": "float16"}]}
    (tmp_path / "p.json").write_text(json.dumps({"op_type": "ScaledAdd", "op_list": [entry]}))
    folder = tmp_path / "op_kernel" / "bin"
    words = ["scaled_add.py", "--main_func=scaled_add", f"--input_param={tmp_path / 'p.json'}"]
    words += ["--soc_version=Ascend910B1", f"--output={folder}", "--op_mode=dynamic"]
    assert opc.main(words) == 0
    described = json.loads((folder / "ScaledAdd_1.json").read_text())
    assert (folder / "ScaledAdd_1.o").read_bytes() == b"code"
    assert described["supportInfo"]["simplifiedKey"][0] == "ScaledAdd/d=0,p=0/1,2"


def test_a_binary_needs_op_build_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = {"bin_filename": "Gone_1"}
    (tmp_path / "p.json").write_text(json.dumps({"op_type": "Gone", "op_list": [entry]}))
    words = [
        "gone.py",
        "--main_func=gone",
        f"--input_param={tmp_path / 'p.json'}",
        "--soc_version=Ascend910B1",
    ]
    assert opc.main([*words, f"--output={tmp_path}"]) == 1
    assert "Build op_host first" in capsys.readouterr().err


def test_a_library_that_registers_nothing_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.so").write_bytes(b"no library")
    assert op_build_tool.main([str(tmp_path / "x.so"), str(tmp_path)]) == 1
    assert "E43205" in capsys.readouterr().err


#: What op_host files and plugins include; their build files say -std=c++11.
HOST_HEADERS = (
    "register/op_def_registry.h",
    "register/register.h",
    "tiling/tiling_api.h",
    "graph/operator_reg.h",
)
MORE_HOST_HEADERS = (
    "graph/utils/type_utils.h",
    "log/log.h",
    "base/err_msg.h",
    "base/alog_pub.h",
    "ops_log.h",
)


def test_host_headers_compile_as_cpp11(tmp_path: Path) -> None:
    lines = [f'#include "{name}"' for name in (*HOST_HEADERS, *MORE_HOST_HEADERS)]
    lines += ["namespace ge {", "REG_OP(Mine)", "    .INPUT(x, TensorType({DT_FLOAT, DT_INT8}))"]
    lines += [
        "    .OUTPUT(y, TensorType::ALL())",
        "    .ATTR(axes, ListInt, {1, 2})",
        "    .OP_END_FACTORY_REG(Mine)",
        "}",
    ]
    lines += ['REGISTER_CUSTOM_OP("Mine").FrameworkType(domi::ONNX).OriginOpType("ai.onnx::11::Mine")']
    lines += ["    .ParseParamsByOperatorFn(domi::AutoMappingByOpFn).ImplyType(domi::ImplyType::TVM);"]
    lines += ["ge::graphStatus f(gert::TilingContext *context) {", '    OP_LOGE("mine", "%d", 3);']
    lines += ['    REPORT_INNER_ERR_MSG("EZ9999", "%d", 3);', "    return context->SetBlockDim(1);", "}"]
    (tmp_path / "host.cpp").write_text("\n".join(lines) + "\n")
    words = ["-std=c++11", "-Wall", "-Werror", "-fsyntax-only", f"-I{HEADERS / 'ascendc'}", f"-I{HEADERS}"]
    done = subprocess.run(
        [*find_cpp(), *words, str(tmp_path / "host.cpp")],
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_aliases_and_enumerations_are_passed_as_numbers(tmp_path):
    (tmp_path / "types.h").write_text(
        "typedef float Factor;\nusing Count = uint32_t;\nenum class Mode : int8_t { A };\n"
    )
    source = tmp_path / "k.cpp"
    source.write_text(
        '#include "types.h"\nenum Kind { B };\nstruct Shape { int n; };\n'
        'extern "C" __global__ __aicore__ void k(GM_ADDR x, Factor f, Count c, Mode m, Kind d, Shape s) {}\n'
    )
    (kernel,) = kernels_of(source)
    taken = "void *x, float f, uint32_t c, int8_t m, int d, void *s"
    assert f"aclrtStream asc_stream, {taken});" in launch_header(kernel)
    assert "(Mode)m" in launch_function(kernel)
    assert "*(Shape *)s" in launch_function(kernel)
