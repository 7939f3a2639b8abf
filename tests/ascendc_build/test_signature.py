"""Kernel functions are found as people write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ascend_ep.errors import AscendError
from ascend_ep.opbuild.kernels.signature import chosen_kernel, kernels_of

TEXT = """\
// __global__ __aicore__ void in_a_comment(GM_ADDR x) {}
extern "C" __global__ __aicore__ void declared(GM_ADDR x);
extern "C" __global__ __aicore__ void first(GM_ADDR x, GM_ADDR usrWorkspace,
                                            GM_ADDR tiling)
{ }
template <typename T, int N>
__global__ __aicore__ void second(__gm__ T* x, const __gm__ half *y, float alpha = 1.0f, __gm__ Tiling* t) { }
__aicore__ __global__ inline void third(__gm__ uint8_t* __restrict__ a, ThirdTiling tilingData) { }
[[maybe_unused]] __global__ __mix__(1, 2) void fourth(GM_ADDR x) { }
#define KERNEL(T) extern "C" __global__ __aicore__ void made_##T(GM_ADDR x) { }
const char *text = "__global__ __aicore__ void in_a_text(GM_ADDR x) { }";
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "kernels.cpp"
    path.write_text(TEXT)
    return path


def test_every_definition_is_found_with_its_parameters(file):
    found = {k.name: k for k in kernels_of(file)}
    assert list(found) == ["first", "second", "third", "fourth"]
    assert found["first"].line == 3
    assert [p.is_workspace for p in found["first"].parameters] == [False, True, False]
    assert [p.is_tiling for p in found["first"].parameters] == [False, False, True]
    assert [(p.name, p.type) for p in found["second"].parameters] == [
        ("x", "T*"),
        ("y", "const half*"),
        ("alpha", "float"),
        ("t", "Tiling*"),
    ]
    assert found["second"].template == "typename T, int N"
    assert [p.is_pointer for p in found["third"].parameters] == [True, False]
    assert found["third"].parameters[1].is_tiling


def test_a_kernel_is_chosen_by_name_or_because_it_is_the_only_one(file):
    assert chosen_kernel([file], "second<half, 2>").name == "second"
    with pytest.raises(AscendError, match="4 kernels: first, fourth, second, third"):
        chosen_kernel([file], "")
    with pytest.raises(AscendError, match=r"no kernel secnd.*second"):
        chosen_kernel([file], "secnd")


def test_a_file_without_kernels_is_refused(tmp_path):
    path = tmp_path / "host.cpp"
    path.write_text("int main() { return 0; }")
    with pytest.raises(AscendError, match=r"E43202.*no kernel function"):
        chosen_kernel([Path(path)], "")


@pytest.mark.parametrize(
    "words", [["--block_dim", "4"], ["--tiling", "1,2"], ["--tiling_key", "1"], ["--arg", "a=1"]]
)
def test_what_host_code_decides_is_refused(run, words):
    project = Path(__file__).parent / "projects" / "ScaledAdd"
    status, _, said = run("run", project, "--input_shape", "[3,40];[3,40]", "--dtype", "float16", *words)
    assert status
    assert "E43103" in said
    assert "the host code decides it" in said


def test_a_program_makes_its_own_call(run, tmp_path):
    (tmp_path / "main.cpp").write_text("int main() { return 0; }")
    status, _, said = run("run", tmp_path / "main.cpp", "--block_dim", "4")
    assert status
    assert "the program has a main function" in said


def test_kernels_that_macros_define_are_found_by_their_names(tmp_path):
    path = tmp_path / "macros.cpp"
    path.write_text(
        "#define DEFINE(KERNEL_NAME, T) \\\n"
        '    extern "C" __global__ __aicore__ void KERNEL_NAME##_run( \\\n'
        "        GM_ADDR x, T n) {   \\\n"
        "        body<T>(x, n); \\\n"
        "    }\n"
        "DEFINE(first, float)\n"
        "DEFINE(second, int32_t)\n"
        "#undef DEFINE\n"
    )
    found = kernels_of(path)
    assert [(k.name, k.line, [p.type for p in k.parameters]) for k in found] == [
        ("first_run", 6, ["GM_ADDR", "float"]),
        ("second_run", 7, ["GM_ADDR", "int32_t"]),
    ]


def test_kernels_that_macros_define_by_other_macros_are_found(tmp_path):
    """A macro for each type calls one for each type and index, whose name is another's."""
    path = tmp_path / "macros.cpp"
    path.write_text(
        "#define NAME(T, I) copy_##T##_##I\n"
        "#define EACH(T, I) \\\n"
        '    extern "C" __global__ __aicore__ void NAME(T, I)(GM_ADDR x, const I n) { body(x, n); }\n'
        "#define BOTH(T) \\\n"
        "    EACH(T, int32_t); \\\n"
        "    EACH(T, int64_t);\n"
        "BOTH(half);\n"
        "BOTH(float);\n"
        "#define BOTH(T) EACH(T, uint8_t)\n"
        "BOTH(int8_t);\n"
    )
    assert [(k.name, k.line, k.parameters[1].type) for k in kernels_of(path)] == [
        ("copy_half_int32_t", 7, "const int32_t"),
        ("copy_half_int64_t", 7, "const int64_t"),
        ("copy_float_int32_t", 8, "const int32_t"),
        ("copy_float_int64_t", 8, "const int64_t"),
        ("copy_int8_t_uint8_t", 10, "const uint8_t"),
    ]


def test_an_input_of_a_type_that_no_tensor_has_is_refused(run, file, tmp_path):
    np.save(tmp_path / "x.npy", np.ones(8, np.complex64))
    status, _, err = run("run", file, "--kernel", "fourth", "--input", tmp_path / "x.npy")
    assert status == 1
    assert "E41010" in err
    assert "x.npy" in err
    assert "no tensor has the type complex64" in err
