"""A definition, library, object or proof that was changed after the proof: list, explain, verify and every
conversion say so."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from build_commands import Run
from onnx import TensorProto, helper

from ascend_ep.cann.soc import find_soc
from ascend_ep.cli.atc import main as atc
from ascend_ep.codegen.compiled_library import assembly_object, compile_assembly
from ascend_ep.codegen.library_session import TensorSpec
from ascend_ep.opbuild.operators.operator_files import Code, write_files
from ascend_ep.opbuild.proof.prove import _about
from ascend_ep.opbuild.proof.subject import Subject, assembly_of, generate
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.proof_report import LAYERS, Check, Report
from ascend_ep.opdef.stored_proof import identity

pytestmark = pytest.mark.usefixtures("compiler")

WOBBLE = {
    "op": "Wobble",
    "doc": "As it was described.",
    "types": {"T": ["float32", "float16"]},
    "inputs": [{"name": "x", "type": "T"}],
    "outputs": [{"name": "y", "type": "T"}],
    "attributes": [{"name": "k", "type": "float", "default": 0.5}],
    "formula": "x + k*sin(x)",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `ascend-op build` leaves it, the checks of the proof aside."""
    folder = tmp_path_factory.mktemp("built")
    (opdef,) = parse_definitions(json.dumps(WOBBLE))
    soc = find_soc("Ascend910B1")
    subject = Subject(opdef, (TensorSpec(TensorProto.FLOAT, (4, 64)),), {"k": 0.5})
    variants = [(subject, generate(subject))]
    whole = assembly_of(variants)
    code = Code.of(opdef, compile_assembly(whole), assembly_object(whole))
    about = _about(subject, soc) | identity(opdef, code.library, code.object)
    report = Report(about, [Check(layer, "all", True) for layer in LAYERS])
    write_files(folder, folder, "wobble", opdef, variants, code, report, [], soc, False)
    return folder


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "ops"))


@pytest.fixture
def converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """What ascend-atc warns of when a model with a Wobble is converted, in a branch or not."""
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 8]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Wobble", ["x"], ["y"], domain="my")], "g", [x], [y])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())

    def run(installed: Path | None, *more: str) -> list[str]:
        if installed is None:
            monkeypatch.delenv("ASCEND_CUSTOM_OPS", raising=False)
        else:
            monkeypatch.setenv("ASCEND_CUSTOM_OPS", str(installed))
        flags = [f"--model={tmp_path}/model.onnx", f"--output={tmp_path}/model", "--framework=5"]
        status = atc([*flags, "--soc_version=Ascend910B1", "--precision_mode=must_keep_origin_dtype", *more])
        said = capsys.readouterr()
        assert status == 0, said.out
        return [line for line in said.err.splitlines() if "E431" in line]

    return run


def edited(**changes: Any) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / "wobble.json"
        found = json.loads(path.read_text()) | changes
        path.write_text(json.dumps({k: v for k, v in found.items() if v is not None}))

    return edit


def longer(name: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        with (folder / name).open("ab") as file:
            file.write(b"\0")

    return edit


def failed_check(folder: Path) -> None:
    path = folder / "kernel_meta" / "wobble_proof.json"
    path.write_text(
        path.read_text().replace('"passed": true,\n        "detail"', '"passed": false, "detail"')
    )


CHANGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "formula": (edited(formula="x + k*cos(x)"), "the definition was changed"),
    "default": (
        edited(attributes=[{"name": "k", "type": "float", "default": 0.75}]),
        "the definition was changed",
    ),
    "types": (edited(types={"T": ["float32", "float16", "float64"]}), "the definition was changed"),
    "shape": (edited(shape="x"), "the definition was changed"),
    "library": (longer("wobble.so"), "wobble.so was changed"),
    "object": (longer("kernel_meta/wobble.o"), "wobble.o was changed"),
    "unreadable": (
        lambda f: (f / "kernel_meta" / "wobble_proof.json").write_text("{") and None,
        "no proof of",
    ),
    "failed check": (failed_check, "3 checks fail"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_said_everywhere(
    folder: Path, converted: Callable[..., list[str]], run: Run, change: str
) -> None:
    edit, words = CHANGES[change]
    edit(folder)
    (warning,) = converted(folder)
    assert warning.startswith("[WARNING] E43105" if change == "unreadable" else "[WARNING] E43107")
    assert words in warning
    (warning,) = converted(None, f"--custom_op_info={folder / 'wobble.json'}")
    assert words in warning
    (row,) = [row for row in run("list", installed=folder)[1].splitlines() if row.startswith("Wobble")]
    assert words in row
    assert words in run("explain", "Wobble", installed=folder)[1]
    status, _, err = run("verify", "Wobble", installed=folder)
    assert status == 1
    assert words in err


def nothing(folder: Path) -> None: ...


def doc_only(folder: Path) -> None:
    edited(doc="Another sentence.")(folder)


def without_code(folder: Path) -> None:
    (folder / "wobble.so").unlink()


def code_alone(folder: Path) -> None:
    (folder / "wobble.json").unlink()


def kernel_meta_alone(folder: Path) -> None:
    for path in [p for p in folder.iterdir() if p.is_file()]:
        path.unlink()
    for path in (folder / "kernel_meta").iterdir():
        path.rename(folder / path.name)


def another_definition_beside(folder: Path) -> None:
    path = folder / "wobble.json"
    path.write_text(
        json.dumps([{**json.loads(path.read_text()), "op": "Other"}, json.loads(path.read_text())])
    )


@pytest.mark.parametrize(
    "change", [nothing, doc_only, without_code, code_alone, kernel_meta_alone, another_definition_beside]
)
def test_what_changes_nothing_is_not_said(
    folder: Path, converted: Callable[..., list[str]], run: Run, change: Callable[[Path], None]
) -> None:
    change(folder)
    assert converted(folder) == []
    rows = [r for r in run("list", installed=folder)[1].splitlines() if r.startswith("Wobble")]
    assert ["proven (3 checks)" in row for row in rows] == [True]
    assert run("verify", "Wobble", installed=folder)[0] == 0


def test_a_proof_of_an_operator_that_the_model_does_not_have_is_no_matter(
    folder: Path, converted: Callable[..., list[str]]
) -> None:
    path = folder / "other.json"
    path.write_text(json.dumps({**WOBBLE, "op": "Other"}))
    proof = folder / "kernel_meta" / "other_proof.json"
    shutil.copy(folder / "kernel_meta" / "wobble_proof.json", proof)
    assert converted(folder) == []


def test_an_operator_in_a_function_of_the_model_counts(
    folder: Path, tmp_path: Path, converted: Callable[..., list[str]]
) -> None:
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 8]) for n in "xy")
    opsets = [helper.make_opsetid(domain, 1) for domain in ("my", "local")]
    body = [helper.make_node("Wobble", ["a"], ["b"], domain="my")]
    function = helper.make_function("local", "Twice", ["a"], ["b"], body, opsets[:1])
    graph = helper.make_graph([helper.make_node("Twice", ["x"], ["y"], domain="local")], "g", [x], [y])
    opsets.append(helper.make_opsetid("", 17))
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=[function])
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    longer("wobble.so")(folder)
    (warning,) = converted(folder)
    assert "wobble.so was changed" in warning
