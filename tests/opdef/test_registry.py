"""Which definition a node means: the order of places, versions and domains, conflicts and completion."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_ep.errors import AscendError
from ascend_ep.opdef.definition import Formula, Kernel, Library, OpDef
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.registry import Registry

SHORT = '{"op": "Swish", "input_num": 1, "output_num": 1, "attr": []}'


def formula(op: str, text: str, **more: object) -> str:
    interface = {"inputs": [{"name": "x"}], "outputs": [{"name": "y"}]}
    return json.dumps({"op": op, **interface, "formula": text, **more})


def definitions(*texts: str) -> list[OpDef]:
    return [d for i, text in enumerate(texts) for d in parse_definitions(text, f"given{i}.json")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    installed = tmp_path / "installed"
    installed.mkdir()
    return installed


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / "my.so"
    path.write_bytes(b"\x7fELF")
    return path


def test_a_short_form_takes_the_builtin_semantics() -> None:
    found = Registry(definitions=definitions(SHORT)).resolve("my.domain", "Swish", 1)
    assert found is not None
    assert found.opdef.inputs[0].name == "x"
    assert found.opdef.attribute("alpha") is not None
    assert isinstance(found.opdef.semantics, Formula)
    assert found.source == "built-in (activation/Swish.json), declared in given0.json:1"


def test_a_short_form_takes_the_semantics_of_a_models_own_function() -> None:
    for text in (SHORT, SHORT.replace("Swish", "Unheard")):
        registry = Registry(definitions=definitions(text))
        name = json.loads(text)["op"]
        assert registry.beside([("my.domain", name)]).resolve("my.domain", name, 1) is None
    given = Registry(definitions=definitions(formula("Swish", "x + 2"))).beside([("my.domain", "Swish")])
    found = given.resolve("my.domain", "Swish", 1)
    assert found is not None
    assert found.source.startswith("--custom_op_info")


def test_order_of_places(folder: Path, library: Path) -> None:
    (folder / "swish.json").write_text(formula("Swish", "x + 1"))
    given = definitions(formula("Swish", "x + 2"))

    def source(**options: object) -> str:
        found = Registry(**options).resolve("", "Swish", 13)  # type: ignore[arg-type]
        assert found is not None
        return found.source

    assert source().startswith("built-in")
    assert source(folder=folder).startswith("$ASCEND_CUSTOM_OPS (")
    assert source(folder=folder, definitions=given).startswith("--custom_op_info (given0.json")
    everything = {"folder": folder, "definitions": given, "libraries": {"Swish": library}}
    assert source(**everything) == f"--custom_op (Swish:{library}), declared in given0.json:1"


def test_a_short_form_prefers_the_installed_semantics(folder: Path) -> None:
    (folder / "swish.json").write_text(formula("Swish", "x + 1"))
    found = Registry(definitions=definitions(SHORT), folder=folder).resolve("", "Swish", 1)
    assert found is not None
    assert found.opdef.semantics == Formula("x + 1")


def test_a_library_does_not_take_the_builtin_interface(library: Path) -> None:
    found = Registry(libraries={"RoPE": library}).resolve("any", "RoPE", 1)
    assert found is not None
    assert found.opdef.semantics == Library(library.resolve())
    assert found.opdef.max_inputs is None
    assert found.opdef.attributes == ()


def test_a_library_of_one_domain(library: Path) -> None:
    registry = Registry(libraries={"my::RoPE": library}, builtin=False)
    assert registry.resolve("my", "RoPE", 1) is not None
    assert registry.resolve("other", "RoPE", 1) is None


def test_declared_without_semantics_names_all_places() -> None:
    with pytest.raises(AscendError) as caught:
        Registry(definitions=definitions(SHORT.replace("Swish", "Zzz"))).resolve("", "Zzz", 1)
    assert caught.value.code == "E41009"
    text = str(caught.value)
    for part in ("--custom_op: not given", "given0.json", "$ASCEND_CUSTOM_OPS: not set", "built-in: no Zzz"):
        assert part in text


def test_unset_folder_says_not_installed(tmp_path: Path) -> None:
    registry = Registry.from_options(environ={})
    assert registry.resolve("", "Zzz", 1) is None
    assert "$ASCEND_CUSTOM_OPS: not set, so no operators are installed" in registry.explain("", "Zzz", 1)
    with pytest.raises(AscendError, match="E41010"):
        Registry.from_options(environ={"ASCEND_CUSTOM_OPS": str(tmp_path / "none")}).resolve("", "Zzz", 1)


def test_folder_holds_kernels_beside_definitions(folder: Path) -> None:
    (folder / "swish_custom.o").write_bytes(b"\x7fELF")
    (folder / "swish_custom.json").write_text('{"binFileName": "swish_custom", "blockDim": 8}')
    (folder / "zzz.json").write_text(formula("Zzz", "x"))
    found = Registry.from_options(environ={"ASCEND_CUSTOM_OPS": str(folder)}).resolve("", "Zzz", 1)
    assert found is not None


def test_a_broken_file_in_the_folder_is_an_error_only_when_the_folder_is_asked(folder: Path) -> None:
    (folder / "bad.json").write_text('{"op": 3}')
    registry = Registry(folder=folder, definitions=definitions(formula("A", "x")))
    assert registry.resolve("", "A", 1) is not None
    with pytest.raises(AscendError, match="E41005"):
        registry.resolve("", "B", 1)


def test_the_same_definition_twice_is_no_conflict_and_different_ones_are() -> None:
    Registry(definitions=definitions(formula("A", "x"), formula("A", "x")))
    with pytest.raises(AscendError) as caught:
        Registry(definitions=definitions(formula("A", "x"), formula("A", "-x")))
    assert caught.value.code == "E41008"
    assert caught.value.details == ("in given0.json:1", "in given1.json:1")


def test_domain_before_any_and_newest_version_first() -> None:
    registry = Registry(
        definitions=definitions(
            formula("A", "x"),
            formula("A", "x + 1", domain="d", since_version=1),
            formula("A", "x + 5", domain="d", since_version=5),
        )
    )

    def text(domain: str, version: int) -> str:
        found = registry.resolve(domain, "A", version)
        assert found is not None
        assert isinstance(found.opdef.semantics, Formula)
        return found.opdef.semantics.text

    assert [text("e", 9), text("d", 1), text("d", 4), text("d", 5)] == ["x", "x + 1", "x + 1", "x + 5"]


def test_standard_operators_have_the_interface_of_their_version() -> None:
    registry = Registry()
    old, new = registry.resolve("", "Add", 7), registry.resolve("ai.onnx", "Add", 14)
    assert old is not None
    assert new is not None
    assert (old.opdef.since_version, new.opdef.since_version) == (7, 14)
    assert [t.name for t in new.opdef.inputs] == ["A", "B"]
    assert isinstance(new.opdef.semantics, Kernel)
    assert registry.resolve("elsewhere", "Add", 14) is None


def test_onnx_operators_that_an_opset_lacks_are_custom_ones() -> None:
    found = Registry().resolve("", "Gelu", 13)
    assert found is not None
    assert not found.opdef.standard


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"op": "Swish", "input_num": 2, "output_num": 1}', "declares 2 inputs"),
        ('{"op": "Swish", "input_num": 1, "output_num": 2}', "declares 2 outputs"),
        ('{"op": "Swish", "attr": [{"name": "gamma", "type": "float"}]}', "no attribute [gamma]"),
        ('{"op": "Swish", "attr": [{"name": "scale", "type": "string"}]}', "[scale] is string"),
    ],
)
def test_a_declaration_must_fit_what_gives_its_semantics(text: str, words: str) -> None:
    with pytest.raises(AscendError) as caught:
        Registry(definitions=definitions(text)).resolve("", "Swish", 1)
    assert caught.value.code == "E41006"
    assert words in caught.value.text


def test_a_declaration_changes_defaults() -> None:
    text = '{"op": "Swish", "attr": [{"name": "scale", "type": "float", "default_value": 2}]}'
    found = Registry(definitions=definitions(text)).resolve("", "Swish", 1)
    assert found is not None
    scale, alpha = found.opdef.attribute("scale"), found.opdef.attribute("alpha")
    assert scale is not None
    assert alpha is not None
    assert (scale.default, alpha.default) == (2.0, 1.0)


def test_near_misses() -> None:
    registry = Registry(definitions=definitions(formula("Swoosh", "x", domain="d", since_version=4)))
    assert registry.near_misses("", "Swish2", 1)[0] == "Swish"
    assert registry.near_misses("e", "Swoosh", 1)[0] == "d::Swoosh since version 4"
    assert registry.near_misses("", "Qqqqqq", 1) == []
    assert registry.explain("e", "Swoosh", 1)[1] == "--custom_op_info: only d::Swoosh since version 4"


@pytest.mark.parametrize("text", ["RoPE", "RoPE:", ":x.so", "a b:x.so", "9A:x.so", ""])
def test_custom_op_syntax(text: str) -> None:
    with pytest.raises(AscendError, match="E10001"):
        Registry.from_options(custom_op=[text])


def test_custom_op_names_an_existing_library(tmp_path: Path, library: Path) -> None:
    with pytest.raises(AscendError, match="E10410"):
        Registry.from_options(custom_op=[f"RoPE:{tmp_path}/none.so"])
    registry = Registry.from_options(custom_op=[f"RoPE:{library}", f"a.b::X:{library}"], environ={})
    assert registry.resolve("a.b", "X", 1) is not None


def test_a_text_of_several_files_or_libraries(tmp_path: Path) -> None:
    for name in ("A", "B"):
        text = f'{{"op": "{name}", "input_num": 1, "output_num": 1}}'
        (tmp_path / f"{name}.json").write_text(text)
        (tmp_path / f"{name}.so").write_bytes(b"")
    files, libraries = f"{tmp_path}/A.json; {tmp_path}/B.json;", f"A:{tmp_path}/A.so;m::B:{tmp_path}/B.so"
    registry = Registry.from_options([libraries], [files], {})
    places = [name for name, opdef in registry.definitions() if opdef.op in ("A", "B")]
    assert places == ["--custom_op"] * 2 + ["--custom_op_info"] * 2
