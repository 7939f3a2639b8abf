"""ascend-op gen: trees, names, statuses and files of msopgen, filled in where a formula is known."""

import ast
import configparser
import json
import shutil
import subprocess
import sys

import onnx
import pytest
import yaml

from ascend_ep.cli.op import main
from ascend_ep.cli.toolkit import make
from ascend_ep.compiler.convert import convert
from ascend_ep.opbuild.ascendc.naming import config_name, snake_case
from ascend_ep.opdef.loader import load_definitions

SWISH = {
    "op": "SwishCustom",
    "inputs": [{"name": "x", "type": ["float32", "float16"]}],
    "outputs": [{"name": "y", "type": ["float32", "float16"]}],
    "attributes": [{"name": "alpha", "type": "float", "default": 1.0}],
    "formula": "x*sigmoid(alpha*x)",
}
#: stages, top-k with a k that is read at run time, positions as integers, and an axis that shapes may lack
RANKED = {
    "op": "RankCustom",
    "types": {"T": ["float16"]},
    "inputs": [{"name": "x", "type": "T"}],
    "outputs": [{"name": "y", "type": "T"}, {"name": "i", "type": "int64"}],
    "attributes": [{"name": "k", "type": "int", "default": 2}],
    "formula": ["y = topk(x - mean(x, axis=1), k)", "i = topk_indices(x - mean(x, axis=1), k)"],
}
PROTOTYPE = [
    {
        "op": "AddCustom",
        "language": "cpp",
        "input_desc": [
            {"name": "x", "param_type": "required", "format": ["ND"], "type": ["fp16", "float"]},
            {"name": "z", "param_type": "optional", "format": ["ND"], "type": ["fp16", "float"]},
        ],
        "output_desc": [{"name": "y", "param_type": "required", "format": ["ND"], "type": ["fp16", "float"]}],
        "attr": [{"name": "axis", "param_type": "optional", "type": "list_int", "default_value": [1, -1]}],
    }
]
CPP_TREE = [
    "CMakeLists.txt",
    "CMakePresets.json",
    "build.sh",
    "cmake/config.cmake",
    "cmake/device_task.cmake",
    "cmake/func.cmake",
    "cmake/intf.cmake",
    "cmake/makeself.cmake",
    "framework/CMakeLists.txt",
    "framework/onnx_plugin/CMakeLists.txt",
    "framework/onnx_plugin/swish_custom_plugin.cc",
    "op_host/CMakeLists.txt",
    "op_host/swish_custom.cpp",
    "op_host/swish_custom_tiling.h",
    "op_kernel/CMakeLists.txt",
    "op_kernel/swish_custom.cpp",
    "scripts/install.sh",
    "scripts/profile.sh",
    "scripts/upgrade.sh",
]
PY_TREE = [
    "CMakeLists.txt",
    "build.sh",
    "framework/tf_plugin/tensorflow_swish_custom_plugin.cc",
    "op_proto/swish_custom.cc",
    "op_proto/swish_custom.h",
    "op_tiling/CMakeLists.txt",
    "tbe/impl/swish_custom.py",
    "tbe/op_info_cfg/ai_core/ascend910b/swish_custom.ini",
    "scripts/install.sh",
]


@pytest.fixture
def gen(tmp_path):
    def run(definition, *flags, out="project"):
        source = tmp_path / "op.json"
        source.write_text(definition if isinstance(definition, str) else json.dumps(definition))
        flags = (*flags,) if "-c" in flags else (*flags, "-c", "ai_core-Ascend910B1")
        try:
            return main(["gen", "-i", str(source), "-out", str(tmp_path / out), *flags], {}), tmp_path / out
        except SystemExit as stop:
            return stop.code, tmp_path / out

    return run


@pytest.mark.parametrize(
    ("name", "file"),
    [("Abc", "abc"), ("AbcDef", "abc_def"), ("ABCDef", "abc_def"), ("Abc2DEf", "abc2_d_ef"),
     ("Abc2DEF", "abc2_def"), ("ABC2dEF", "abc2d_ef")],
)  # fmt: skip
def test_file_names_are_msopgens(name, file):
    assert snake_case(name) == file


def test_chip_names():
    chips = ("Ascend910B1", "Ascend910A", "Ascend310P3", "Ascend910_9391")
    assert [config_name(n) for n in chips] == ["ascend910b", "ascend910", "ascend310p", "ascend910_93"]


def test_scripts_of_projects_may_add_a_folder_behind_the_toolkits_headers(gen):
    """As they do: a line more behind each that names them in a file of cmake/."""
    _, out = gen(SWISH, "-f", "onnx", "-lan", "cpp")
    lines = [line for p in (out / "cmake").glob("*.cmake") for line in p.read_text().splitlines()]
    named = [line.strip() for line in lines if "${ASCEND_CANN_PACKAGE_PATH}/include" in line]
    assert named == ["${ASCEND_CANN_PACKAGE_PATH}/include"]
    assert "function(add_ops_compile_options operator)" in (out / "cmake/func.cmake").read_text()


def test_cpp_tree_is_filled_in(gen, capsys):
    status, out = gen(SWISH, "-f", "ONNX", "-lan", "cpp", "-c", "ai_core-ascend910B1,ai_core-Ascend310P3")
    assert status == 0
    assert [p for p in CPP_TREE if not (out / p).is_file()] == []
    assert capsys.readouterr().out.strip().split("\n")[-1].endswith("[INFO] Generation completed.")
    host = (out / "op_host/swish_custom.cpp").read_text()
    assert 'AddConfig("ascend910b")' in host
    assert 'AddConfig("ascend310p")' in host
    assert "OP_ADD(SwishCustom);" in host
    assert "ai.onnx::13::SwishCustom" in (out / "framework/onnx_plugin/swish_custom_plugin.cc").read_text()
    assert json.loads((out / "CMakePresets.json").read_text())["configurePresets"][0]["name"] == "default"
    assert (out / "build.sh").stat().st_mode & 0o111
    for script in ("build.sh", "scripts/install.sh", "scripts/upgrade.sh", "scripts/profile.sh"):
        subprocess.run(["bash", "-n", str(out / script)], check=True)
    pipeline = yaml.safe_load((out / ".gitlab-ci.yml").read_text())
    assert pipeline["stages"] == ["build", "test", "deploy"]
    jobs = {name: job for name, job in pipeline.items() if name != "stages"}
    assert {job["stage"] for job in jobs.values()} == set(pipeline["stages"])
    assert jobs["test_precision"]["script"] == "python3 -m pytest tests || [ $? -eq 5 ]"
    original = load_definitions(out.parent / "op.json")[0]
    assert load_definitions(out / "tests/swish_custom.json")[0] == original


def test_the_profiling_script_of_a_project(gen, tmp_path):
    _, out = gen(SWISH, "-f", "onnx", "-lan", "cpp", "-c", "ai_core-Ascend910B1")
    toolkit = make(tmp_path / "cann")
    program = "import ascend_ep, numpy as np\nascend_ep.InferenceSession('m.om').run(None, {'x': np.ones(4, 'f')})\n"
    (tmp_path / "program.py").write_text(program)
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[4] x) => (float[4] y) { y = Exp(x) }'
    model = onnx.parser.parse_model(text)
    (tmp_path / "m.om").write_bytes(convert(model).to_bytes())
    line = f". {toolkit}/set_env.sh && {out}/scripts/profile.sh {sys.executable} program.py"
    subprocess.run(["bash", "-c", line], cwd=tmp_path, check=True, capture_output=True)
    assert list(tmp_path.glob("profile/PROF_*/mindstudio_profiler_output/op_summary_*.csv"))
    assert subprocess.run([str(out / "scripts/profile.sh")], check=False, capture_output=True).returncode == 2


@pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no C++ compiler is installed"
)
@pytest.mark.parametrize(
    ("definition", "file", "right", "wrong"),
    [
        # of one element type: each is a compilation
        (
            {
                **SWISH,
                "inputs": [{"name": "x", "type": ["float16"]}],
                "outputs": [{"name": "y", "type": ["float16"]}],
            },
            "swish_custom",
            "Exp(",
            "Abs(",
        ),
        pytest.param(RANKED, "rank_custom", "CMPMODE::LT", "CMPMODE::GT", marks=pytest.mark.slow),
    ],
)
def test_the_tests_of_a_project_pass_and_catch_a_wrong_kernel(
    gen, monkeypatch, definition, file, right, wrong
):
    _, out = gen(definition, "-f", "onnx", "-lan", "cpp", "-c", "ai_core-Ascend910B1,ai_core-Ascend310P3")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they need none, and some take seconds
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(out / "tests")]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout[-2000:]
    kernel = out / f"op_kernel/{file}.cpp"
    text = kernel.read_text()
    assert right in text
    kernel.write_text(text.replace(right, wrong))
    assert subprocess.run([*command, "-x"], capture_output=True, check=False).returncode == 1


@pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="no C++ compiler is installed"
)
def test_declarations_compile(gen, tmp_path):
    from ascend_ep.codegen.header_text import HEADERS

    status, out = gen(PROTOTYPE, "-f", "aclnn", "-lan", "cpp")
    assert status == 0
    assert not (out / "framework/onnx_plugin").exists()
    unit = tmp_path / "unit.cpp"
    lines = ["#define ASC_TILING_STRUCT optiling::AddCustomTilingData", '#include "op_host/add_custom.cpp"']
    unit.write_text("\n".join([*lines, '#include "op_kernel/add_custom.cpp"', ""]))
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))))
    includes = [f"-I{HEADERS / 'ascendc'}", f"-I{out}", f"-I{out / 'op_host'}"]
    subprocess.run([compiler, "-std=c++17", "-fsyntax-only", "-w", *includes, str(unit)], check=True)


def test_an_overwritten_input(gen):
    """Declared under one name; the kernel's two parameters differ, and its own definition loads as the same."""
    column = {"type": ["fp16", "fp32"], "format": ["ND", "ND"]}
    tensors = [{"name": n, **column} for n in ("x", "update")]
    status, out = gen(
        [{"op": "ScatterCustom", "input_desc": tensors, "output_desc": tensors[:1]}], "-t", "cpp"
    )
    assert status == 0
    host = (out / "op_host/scatter_custom.cpp").read_text()
    assert 'Input("x")' in host
    assert 'Output("x")' in host
    assert "(GM_ADDR x, GM_ADDR update, GM_ADDR x_ref," in (out / "op_kernel/scatter_custom.cpp").read_text()
    assert load_definitions(out / "tests/scatter_custom.json") == load_definitions(out.parent / "op.json")
    known = {"op": "ReLU6", "input_desc": tensors[:1], "output_desc": tensors[:1]}
    assert gen([known], "-t", "cpp", out="known")[0] == 0
    made = load_definitions(out.parent / "known/tests/re_lu6.json")[0]
    assert [s.name for s in made.outputs] == ["x_ref"]


def test_an_operator_without_outputs(gen):
    entry = {"op": "PrintCustom", "input_desc": [{"name": "x", "type": ["fp16"], "format": ["ND"]}]}
    for language in ("cpp", "py"):
        assert gen(entry, "-t", language, out=language)[0] == 0


def test_py_tree(gen):
    status, out = gen(SWISH, "-t", "py")
    assert status == 0
    assert [p for p in PY_TREE if not (out / p).is_file()] == []
    source = (out / "tbe/impl/swish_custom.py").read_text()
    functions = [n.name for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)]
    assert functions[-2:] == ["swish_custom_compute", "swish_custom"]
    assert "dsl.vexp(" in source
    assert "NotImplementedError" not in source
    ini = configparser.ConfigParser()
    ini.optionxform = str
    ini.read(out / "tbe/op_info_cfg/ai_core/ascend910b/swish_custom.ini")
    assert ini["SwishCustom"]["input0.dtype"] == "float,float16"
    assert ini["SwishCustom"]["attr_alpha.defaultValue"] == "1.0"
    entry = json.loads((out / "op_info/swish_custom.json").read_text())["SwishCustom"]
    assert entry["attr"] == {"list": "alpha"}
    assert entry["output0"]["name"] == "y"


@pytest.mark.parametrize(
    "framework", ["tf", "caffe", "pytorch", "ms", "mindspore", "onnx", "aclnn", "TensorFlow"]
)
@pytest.mark.parametrize("language", ["py", "cpp"])
def test_every_framework(gen, framework, language):
    for definition in (SWISH, PROTOTYPE, {"op": "Swish", "input_num": 1, "output_num": 1, "attr": []}):
        status, out = gen(definition, "-f", framework, "-lan", language)
        assert status == 0
        for file in out.rglob("*.py"):
            ast.parse(file.read_text())
        for file in out.rglob("*.json"):
            json.loads(file.read_text())
        shutil.rmtree(out)


def test_mode_1_adds_to_a_project(gen, capsys):
    assert gen(SWISH, "-m", "1")[0] == 15
    _, out = gen(SWISH, "-lan", "cpp", "-f", "onnx")
    before = (out / "CMakeLists.txt").read_text()
    assert gen(SWISH, "-lan", "cpp", "-f", "onnx")[0] == 12
    assert gen(SWISH, "-lan", "cpp", "-f", "onnx", "-m", "1")[0] == 12
    assert gen(PROTOTYPE, "-lan", "cpp", "-f", "onnx", "-m", "1")[0] == 0
    assert (out / "op_kernel/add_custom.cpp").is_file()
    assert (out / "op_kernel/swish_custom.cpp").is_file()
    assert (out / "framework/onnx_plugin/add_custom_plugin.cc").is_file()
    assert (out / "CMakeLists.txt").read_text() == before


def test_one_of_several(gen):
    several = [SWISH, {**PROTOTYPE[0]}]
    assert gen(several)[0] == 13
    assert gen(several, "-op", "Nothing")[0] == 13
    status, out = gen(several, "-op", "AddCustom")
    assert status == 0
    assert (out / "tbe/impl/add_custom.py").is_file()


@pytest.mark.parametrize(
    ("flags", "status"),
    [
        (("-f", "keras"), 11), (("-c", "ai_core-Ascend1"), 14), (("-c", "gpu"), 14), (("-c", ""), 14),
        (("-c", "ai_core-Ascend910B1,aicpu"), 14), (("-m", "2"), 15), (("-lan", "rust"), 1005), ((), 0),
        (("-i", "none.json"), 101), (("-i", "a.xlsx"), 101), (("-out", "/dev/null/x"), 12), (("-out", "/dev/null"), 12),
    ],
)  # fmt: skip
def test_exit_statuses(gen, flags, status):
    assert gen(SWISH, *flags)[0] == status


@pytest.mark.parametrize(
    ("definition", "status"),
    [
        ("{", 107),
        ("[" * 100000, 107),
        ({"op": "../../evil", "input_num": 1, "output_num": 1}, 112),
        ({**SWISH, "kernel_name": "../../evil"}, 112),
        ({**SWISH, "kernel_name": "f(){}"}, 112),
        ({**SWISH, "domain": 'x"); system("true'}, 112),
        ({**PROTOTYPE[0], "input_desc": [{"name": "x", "type": "fp16", "format": "ND}); evil("}]}, 112),
        ({**SWISH, "inputs": [{"name": "a/b", "type": "float32"}]}, 112),
        (
            {
                **PROTOTYPE[0],
                "output_desc": [{"name": "y", "type": ["fp16", "float", "int8"], "format": ["ND"]}],
            },
            114,
        ),
    ],
)
def test_hostile_definitions(gen, definition, status, capsys):
    got, out = gen(definition, "-lan", "cpp", "-f", "onnx")
    errors = capsys.readouterr().err
    assert got == status, errors
    assert "[ERROR] E" in errors
    assert "Traceback" not in errors
    assert not out.exists()


def test_a_huge_file_is_refused_unread(gen, tmp_path):
    assert gen(" " * (11 << 20))[0] == 101


def test_a_failed_write_leaves_nothing(gen, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "op_kernel").write_text("a file where a folder must be")
    assert gen(SWISH, "-lan", "cpp")[0] == 12
    assert [p.name for p in (tmp_path / "project").rglob("*") if p.is_file()] == ["op_kernel"]
