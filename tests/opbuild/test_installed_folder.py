"""$ASCEND_CUSTOM_OPS: whatever of an operator's files is copied there is used, or named with the reason."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from build_commands import Run
from onnx import TensorProto, helper

import ascend_ep
from ascend_ep.cann.soc import find_soc
from ascend_ep.cli.atc import main as atc
from ascend_ep.codegen.c_source import Source
from ascend_ep.codegen.compiled_library import assembly_object, compile_assembly
from ascend_ep.codegen.library_session import TensorSpec
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.operators.operator_files import Code, write_files
from ascend_ep.opbuild.proof.subject import Subject, assembly_of, generate
from ascend_ep.opdef.carried import carried_definitions, carrying
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.elf_file import ElfFile
from ascend_ep.opdef.installed import read_installed
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.proof_report import Report

pytestmark = pytest.mark.usefixtures("compiler")

INCLUDE = Path(ascend_ep.__file__).parent / "include"
#: The documents' swish_op.json.
DECLARED = '{"op": "Swish", "input_num": 1, "output_num": 1, "attr": []}'
SWISH = json.dumps(
    {
        "op": "Swish",
        "inputs": [{"name": "x", "type": ["float32", "float16"]}],
        "outputs": [{"name": "y", "type": ["float32", "float16"]}],
        "formula": "x*sigmoid(1.5*x)",
    }
)
#: A library whose Swish is 3*x.
TRIPLE = """
#include <string.h>
#include "ascend_rt.h"
#include "factor.h"
static int32_t infer(asc_custom_call *call) {
    call->out[0] = call->in[0];
    call->out[0].data = NULL;
    return 0;
}
static int32_t compute(const asc_custom_call *call) {
    const float *x = (const float *)call->in[0].data;
    float *y = (float *)call->out[0].data;
    int64_t n = 1;
    for (int32_t i = 0; i < call->in[0].rank; i++) n *= call->in[0].dims[i];
    for (int64_t i = 0; i < n; i++) y[i] = FACTOR * x[i];
    return 0;
}
static asc_custom_op op;
EXTERN const asc_custom_op *asc_get_custom_op(uint32_t version, const char *type) {
    op.version = ASC_CUSTOM_OP_VERSION;
    op.struct_bytes = sizeof op;
    op.op_type = "Swish";
    op.min_inputs = op.max_inputs = op.n_outputs = 1;
    op.infer = infer;
    op.compute = compute;
    return version >= 1 && strcmp(type, "Swish") == 0 ? &op : NULL;
}
"""
X = np.linspace(-6, 6, 40, dtype=np.float32).reshape(5, 8)


def swish(slope: float) -> np.ndarray:
    return X / (1 + np.exp(-slope * X.astype(np.float64)))


def code_of(opdef: OpDef, variants: list[tuple[Subject, Source]]) -> Code:
    whole = assembly_of(variants)
    return Code.of(opdef, compile_assembly(whole), assembly_object(whole))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that `ascend-op build --prompt "Swish(x) = x*sigmoid(1.5*x)"` writes, without its proof."""
    folder = tmp_path_factory.mktemp("built")
    (opdef,) = parse_definitions(SWISH)
    soc = find_soc("Ascend910B1")
    subject = Subject(opdef, (TensorSpec(TensorProto.FLOAT, (1, 512)),), {})
    variants = [(subject, generate(subject))]
    code = code_of(opdef, variants)
    report = Report({"inputs": {}})
    write_files(folder, None, "swish_custom", opdef, variants, code, report, [], soc, False)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    installed = tmp_path / "ops"
    installed.mkdir()
    return installed


@pytest.fixture
def convert(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., np.ndarray]:
    """What a model with a Swish gives after ascend-atc, with the folder in force."""
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 8]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Swish", ["x"], ["y"], domain="my")], "g", [x], [y])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "swish_op.json").write_text(DECLARED)
    monkeypatch.setenv("ASCEND_CUSTOM_OPS", str(folder))

    def run(declared: bool = False) -> np.ndarray:
        flags = [f"--model={tmp_path}/model.onnx", f"--output={tmp_path}/model", "--framework=5"]
        flags += ["--soc_version=Ascend910B1", "--precision_mode=must_keep_origin_dtype"]
        flags += [f"--custom_op_info={tmp_path}/swish_op.json"] if declared else []
        assert atc(flags) == 0
        return np.asarray(ascend_ep.InferenceSession(f"{tmp_path}/model.om").run(None, {"x": X})[0])

    return run


#: What users copy, and where it then comes from.
STEPS = {
    "the .o": (["kernel_meta/swish_custom.o"], "swish_custom.o"),
    "the .so": (["swish_custom.so"], "swish_custom.so"),
    "the .json": (["swish_custom.json"], "swish_custom.json"),
    "both": (["swish_custom.json", "swish_custom.so"], "swish_custom.json"),
    "the .o and the .so": (["swish_custom.so", "kernel_meta/swish_custom.o"], "swish_custom."),
    "kernel_meta": (["kernel_meta/*"], "swish_custom.o"),
    "all": (["*"], "swish_custom.json"),
    "all and the .o": (["*", "kernel_meta/*.o"], "swish_custom.json"),
}


@pytest.mark.parametrize("declared", [False, True], ids=["alone", "with swish_op.json"])
@pytest.mark.parametrize("step", STEPS)
def test_whatever_is_copied_computes_what_was_built(
    built: Path,
    folder: Path,
    convert: Callable[..., np.ndarray],
    capsys: pytest.CaptureFixture[str],
    step: str,
    declared: bool,
) -> None:
    for pattern in STEPS[step][0]:
        for path in built.glob(pattern):
            copy = shutil.copytree if path.is_dir() else shutil.copy
            copy(path, folder / path.name)
    np.testing.assert_allclose(convert(declared), swish(1.5), rtol=1e-5)
    said = capsys.readouterr()
    assert f"Swish: defined by $ASCEND_CUSTOM_OPS ({folder}/{STEPS[step][1]}" in said.out
    assert "not by built-in (activation/Swish.json)" in said.out
    assert "E41013" not in said.err


def test_nothing_copied_means_the_built_in_operator(convert: Callable[..., np.ndarray]) -> None:
    np.testing.assert_allclose(convert(), swish(1), rtol=1e-5)


def compiled(folder: Path, name: str, *flags: str) -> None:
    """TRIPLE as an object or a library of this name."""
    source = folder.parent / "source"
    source.mkdir(exist_ok=True)
    (source / "triple.c").write_text(TRIPLE)
    (source / "factor.h").write_text("#define FACTOR 3\n#define EXTERN extern\n")
    command = ["cc", "-O1", "-fPIC", *flags, f"-I{INCLUDE}", str(source / "triple.c")]
    subprocess.run([*command, "-o", str(folder / name)], check=True)


@pytest.mark.parametrize("name", ["swish.o", "Swish.so", "libswish_custom.so"])
@pytest.mark.parametrize("declared", [False, True], ids=["alone", "with swish_op.json"])
def test_a_users_own_object_or_library_of_the_operators_name(
    folder: Path, convert: Callable[..., np.ndarray], name: str, declared: bool
) -> None:
    compiled(folder, name, "-c" if name.endswith(".o") else "-shared")
    np.testing.assert_array_equal(convert(declared), 3 * X)


def test_a_library_beside_its_declaration_may_have_any_name(
    folder: Path, convert: Callable[..., np.ndarray]
) -> None:
    compiled(folder, "thing.so", "-shared")
    (folder / "thing.json").write_text(DECLARED)
    np.testing.assert_array_equal(convert(), 3 * X)


@pytest.mark.parametrize("suffix", ["c", "cpp"])
def test_a_definition_by_source_is_compiled_again_when_what_it_includes_changes(
    folder: Path, convert: Callable[..., np.ndarray], capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    if suffix == "cpp" and shutil.which("g++") is None:
        pytest.skip("there is no C++ compiler")
    interface = {"op": "Swish", "inputs": [{"name": "x"}], "outputs": [{"name": "y"}]}
    (folder / "any.json").write_text(json.dumps({**interface, "source": f"triple.{suffix}"}))
    (folder / f"triple.{suffix}").write_text(TRIPLE)
    extern = "extern" if suffix == "c" else 'extern "C"'
    for factor in (3, 5):
        (folder / "factor.h").write_text(f"#define FACTOR {factor}\n#define EXTERN {extern}\n")
        np.testing.assert_array_equal(convert(), factor * X)
    assert "E41013" not in capsys.readouterr().err


def test_a_source_that_does_not_compile_is_an_error_of_that_file(
    folder: Path, convert: Callable[..., np.ndarray], capsys: pytest.CaptureFixture[str]
) -> None:
    interface = {"op": "Swish", "inputs": [{"name": "x"}], "outputs": [{"name": "y"}]}
    (folder / "any.json").write_text(json.dumps({**interface, "source": "wrong.c"}))
    (folder / "wrong.c").write_text("int f(void) { return undeclared; }")
    with pytest.raises(AssertionError):
        convert()
    said = capsys.readouterr().out
    assert "E43002" in said
    assert "wrong.c" in said


def other_machine(code: bytes) -> bytes:
    return code[:18] + b"\x29\x10" + code[20:]


#: Files that can't be used: name, content (of a built .o or .so), what is said of them.
UNUSED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "readme.md": (lambda _: b"text", "no definition"),
    "swish.py": (lambda _: b"import te", "ascend-op build"),
    "swish.c": (lambda _: b"int x;", "only source"),
    "empty.o": (lambda _: b"", "no 64-bit object file"),
    "short.so": (lambda code: code[: len(code) // 2], "cut short"),
    "renamed.so": (lambda code: code.replace(b".ascend_op", b".something"), "--custom_op=Type:renamed.so"),
    "plain.so": (
        lambda code: code.replace(b".ascend_op", b".something").replace(b"asc_get_custom_op", b"f" * 17),
        "doesn't export asc_get_custom_op",
    ),
    "device.o": (
        lambda code: other_machine(code.replace(b".ascend_op", b".something")),
        "another kind of processor",
    ),
    "swish_search.log": (lambda _: b"", "swish.o, which isn't here"),
    "swish.json": (lambda _: b'{"binFileName": "swish"}', "swish.o, which isn't here"),
    "swish_proof.json": (lambda _: b'{"proof": {"checks": []}}', "swish.o, which isn't here"),
    "broken.o": (lambda code: code.replace(b'"formula": "x', b'"formula": "('), "E42003|can't be read"),
}


@pytest.mark.parametrize("name", UNUSED)
def test_what_cannot_be_used_is_named_with_the_reason(
    built: Path,
    folder: Path,
    convert: Callable[..., np.ndarray],
    capsys: pytest.CaptureFixture[str],
    run: Run,
    name: str,
) -> None:
    content, reason = UNUSED[name]
    (folder / name).write_bytes(content((built / "swish_custom.so").read_bytes()))
    np.testing.assert_allclose(convert(), swish(1), rtol=1e-5)
    err = capsys.readouterr().err
    assert f"[WARNING] E41013: File [{folder / name}] isn't used: " in err
    assert any(part in err for part in reason.split("|")), err
    assert f"File [{folder / name}] isn't used" in run("list", installed=folder)[1]


def test_every_file_of_a_folder_is_accounted_for(built: Path, folder: Path) -> None:
    """Whatever set of files is there, each is a definition's or named."""
    names = [p for p in built.rglob("*") if p.is_file()]
    for chosen in range(2 ** len(names)):
        for path in folder.iterdir():
            path.unlink()
        here = [p for i, p in enumerate(names) if chosen >> i & 1]
        for path in here:
            # two files are called swish_custom.json: the kernel's description gives way
            if path.parent == built or not (folder / path.name).exists():
                shutil.copy(path, folder / path.name)
        found = read_installed(folder, "test")
        gives = {p.name for p in folder.iterdir()} & {
            "swish_custom.o",
            "swish_custom.so",
            *({"swish_custom.json"} if built / "swish_custom.json" in here else ()),
        }
        assert bool(found.definitions) == bool(gives)
        unused = {u.path.name for u in found.unused}
        assert unused == (set() if gives else {p.name for p in folder.iterdir()})


def test_two_files_that_contradict_each_other_are_an_error(
    built: Path, folder: Path, convert: Callable[..., np.ndarray], capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(built / "kernel_meta" / "swish_custom.o", folder)
    (folder / "other.json").write_text(SWISH.replace("1.5", "2.5"))
    with pytest.raises(AssertionError):
        convert()
    assert "E41008" in capsys.readouterr().out


def test_an_edited_definition_is_in_force_and_its_library_is_named(
    built: Path, folder: Path, convert: Callable[..., np.ndarray], capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(built / "swish_custom.so", folder)
    (folder / "swish_custom.json").write_text(SWISH.replace("1.5", "2.5"))
    np.testing.assert_allclose(convert(), swish(2.5), rtol=1e-5)
    assert "defines Swish differently from what it was built from" in capsys.readouterr().err


def test_a_definition_survives_linking(built: Path, tmp_path: Path) -> None:
    """Objects of several operators in one library carry the definitions of all."""
    (other,) = parse_definitions(SWISH.replace("Swish", "Twice"))
    (tmp_path / "empty.c").write_text("")
    subprocess.run(["cc", "-c", tmp_path / "empty.c", "-o", tmp_path / "empty.o"], check=True)
    (tmp_path / "twice.o").write_bytes(carrying((tmp_path / "empty.o").read_bytes(), other))
    objects = [str(built / "kernel_meta" / "swish_custom.o"), str(tmp_path / "twice.o")]
    subprocess.run(["cc", "-shared", *objects, "-o", str(tmp_path / "both.so"), "-lm"], check=True)
    found = carried_definitions(ElfFile((tmp_path / "both.so").read_bytes()), "both.so")
    assert {d.op for d in found} == {"Swish", "Twice"}


def test_hostile_files_are_refused_by_the_reader(built: Path) -> None:
    """Cut anywhere, or with any byte of its headers changed, a file is read, or refused with ValueError."""
    code = (built / "kernel_meta" / "swish_custom.o").read_bytes()
    table = int.from_bytes(code[40:48], "little")
    places = [*range(64), *range(table, len(code))]
    random = np.random.default_rng(7)
    changed = [
        bytes([*code[:at], random.integers(256), *code[at + 1 :]]) for at in random.choice(places, 300)
    ]
    for data in [*changed, *(code[:n] for n in random.integers(0, len(code), 100))]:
        try:
            file = ElfFile(data)
            file.exports()
            definitions: list[OpDef] = carried_definitions(file, "x")
            assert len(definitions) <= 1
        except (ValueError, AscendError):
            pass


def test_force_replaces_a_copied_object_and_all_that_was_built_with_another_definition(
    built: Path, folder: Path
) -> None:
    (opdef,) = parse_definitions(SWISH.replace("1.5", "2.5"))
    subject = Subject(opdef, (TensorSpec(TensorProto.FLOAT, (1, 512)),), {})
    variants, soc = [(subject, generate(subject))], find_soc("Ascend910B1")
    code = code_of(opdef, variants)
    shutil.copy(built / "kernel_meta" / "swish_custom.o", folder)
    for name in ("swish_custom", "other"):
        write_files(folder, folder, name, opdef, variants, code, Report({"inputs": {}}), [], soc, True)
        assert {p.name.partition(".")[0] for p in folder.iterdir()} == {name, "kernel_meta"}
        assert len(list((folder / "kernel_meta").iterdir())) == 5
        found = read_installed(folder, "test")
        assert (found.definitions, found.unused) == ([opdef], [])
        (opdef,) = parse_definitions(SWISH.replace("1.5", "3.5"))
        code = code_of(opdef, variants)


def test_a_replaced_library_is_never_deleted(built: Path, folder: Path, run: Run) -> None:
    """--force replaces definitions; a user's own library stays, and is named."""
    compiled(folder, "swish.so", "-shared")
    command = ["build", "--search=0", "--force", "--output", str(folder.parent / "out")]
    command += ["--prompt", "Swish(x) = x*2", "--input_shape", "[8]"]
    status, _, err = run(*command, installed=folder)
    assert (status, err[:6]) == (1, "E43101")
    assert "by hand" in err
    assert os.listdir(folder) == ["swish.so"]
