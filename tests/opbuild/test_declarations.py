"""What a definition declares binds: every key of the schema is used, or said to have no effect."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import ascend_ep
from ascend_ep.codegen.compiled_library import compile_assembly
from ascend_ep.codegen.library_session import TensorSpec
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.proof.subject import Subject, assembly_of, generate
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.declared_types import column_of
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.definition_json import definition_map
from ascend_ep.opdef.loader import load_definitions, parse_definitions
from ascend_ep.opdef.registry import Registry

SCHEMA = json.loads((Path(ascend_ep.__file__).parent / "opdef" / "opdef.schema.json").read_text())
X = np.linspace(-9, 9, 40, dtype=np.float32).reshape(5, 8) * np.float32(1.2345678)
FORMULA = "x*x + 1000.0"


def converted(
    definitions: list[OpDef],
    precision: str = "origin",
    dtype: int = TensorProto.FLOAT,
    op: str = "Foo",
    path: Path | None = None,
) -> tuple[np.ndarray, list[str]]:
    """What a model of one operator gives for X, and the warnings of its conversion."""
    values = [helper.make_tensor_value_info(n, dtype, ["n", 8]) for n in "xy"]
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], domain="my")], "g", values[:1], values[1:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = convert(model, ConvertOptions(registry=Registry(definitions=definitions), precision=precision))
    feeds = {"x": X.astype(helper.tensor_dtype_to_np_dtype(dtype))}
    if path is not None:  # a user's library is trusted when the bundle is written
        made.write(path)
    (y,) = ascend_ep.InferenceSession(path or made.to_bytes()).run(None, feeds)
    return np.asarray(y), [str(w.message) for w in caught]


def described(types: Any, keys: tuple[str, str] = ("input_desc", "output_desc"), **more: Any) -> list[OpDef]:
    tensors = ([{"name": name, "type": types}] for name in "xy")
    text = {"op": "Foo", **dict(zip(keys, tensors, strict=True)), "formula": FORMULA, **more}
    return parse_definitions(json.dumps(text))


def in_float32(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) ** 2 + np.float32(1000)


def in_float16(x: np.ndarray) -> np.ndarray:
    return in_float32(x.astype(np.float16)).astype(np.float16).astype(np.float32)


# ---- element types -------------------------------------------------------------------------------

#: Declared types, precision mode: what is computed, and whether a type that nobody asked for is said.
BINDING = {
    ("float16", "origin"): (in_float16, True),
    ("float16", "force_fp16"): (in_float16, False),
    ("float16", "force_fp32"): (in_float16, True),
    ("float32", "origin"): (in_float32, False),
    ("float32", "force_fp16"): (in_float32, False),
    ("float16 float32", "origin"): (in_float32, False),
    ("float32 float16", "force_fp16"): (in_float16, False),
    ("bf16 float16", "force_fp16"): (in_float16, False),
    ("float16", "allow_mix_precision"): (in_float16, True),
    ("float16", "cube_fp16in_fp32out"): (in_float16, True),
}


@pytest.mark.parametrize(("types", "precision"), BINDING)
def test_declared_columns_bind_in_every_precision_mode(types: str, precision: str) -> None:
    compute, is_said = BINDING[types, precision]
    y, said = converted(described(types.split()), precision)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, compute(X))
    assert [s for s in said if "E41014" in s] == (
        ["E41014: Op [Foo] computes in float16: its definition declares no other type that serves the model."]
        * is_said
    )


def test_both_spellings_bind() -> None:
    """The free types of `inputs` refuse what they don't name; a device serves msopgen's by casts."""
    with pytest.raises(AscendError, match=r"E41011.*input \[x\] is float32"):
        converted(described("float16", ("inputs", "outputs")))
    np.testing.assert_array_equal(converted(described("float16"))[0], in_float16(X))


@pytest.mark.parametrize("paired", [True, False])
def test_a_declaration_of_a_built_in_operator_binds_too(paired: bool) -> None:
    keys = ("input_desc", "output_desc") if paired else ("inputs", "outputs")
    (declared,) = described("float16", keys, op="GELUCustom")
    declarations = [OpDef(**{**vars(declared), "semantics": None})]
    if not paired:
        with pytest.raises(AscendError, match="E41011"):
            converted(declarations, op="GELUCustom")
        return
    exact, _ = converted([], op="GELUCustom")
    y, said = converted(declarations, op="GELUCustom")
    assert any("E41014" in s for s in said)
    np.testing.assert_array_equal(y, y.astype(np.float16).astype(np.float32))
    np.testing.assert_allclose(y, exact, atol=0.02)
    assert not np.array_equal(y, exact)


def test_types_that_the_semantics_do_not_take_are_refused() -> None:
    (declared,) = described("int32", op="GELUCustom")
    with pytest.raises(AscendError, match=r"E41006.*\[x\] is declared int32, but the semantics take float32"):
        converted([OpDef(**{**vars(declared), "semantics": None})], op="GELUCustom")


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("keys", [("input_desc", "output_desc"), ("inputs", "outputs")])
def test_what_is_declared_of_a_library_binds(tmp_path: Path, keys: tuple[str, str]) -> None:
    """The library takes float16 only; its declaration says so, so a float32 model is cast, or refused."""
    (opdef,) = described("float16", ("inputs", "outputs"))
    subject = Subject(opdef, (TensorSpec(TensorProto.FLOAT16, (5, 8)),), {})
    library = compile_assembly(assembly_of([(subject, generate(subject))]))
    (tmp_path / "foo.so").write_bytes(library.path.read_bytes())
    tensors = ([{"name": name, "type": "float16"}] for name in "xy")
    text = {"op": "Foo", **dict(zip(keys, tensors, strict=True)), "library": "foo.so"}
    (tmp_path / "foo.json").write_text(json.dumps(text))
    definitions = load_definitions(tmp_path / "foo.json")
    y, _ = converted(definitions, dtype=TensorProto.FLOAT16, path=tmp_path / "m.om")
    np.testing.assert_array_equal(y, in_float16(X))
    if keys[0] == "inputs":
        with pytest.raises(AscendError, match=r"E41011.*input \[x\] is float32"):
            converted(definitions)
    else:
        y, _ = converted(definitions, path=tmp_path / "m.om")
        np.testing.assert_array_equal(y, in_float16(X))


def test_columns_of_several_tensors() -> None:
    """Each operand is rounded to its own type, the result to the output's."""
    text = {
        "op": "Foo",
        "input_desc": [{"name": "a", "type": ["fp16", "int32"]}, {"name": "b", "type": ["float", "int32"]}],
        "output_desc": [{"name": "y", "type": ["float", "int32"]}],
        "formula": "a*b",
    }
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 8]) for n in "aby"]
    node = helper.make_node("Foo", ["a", "b"], ["y"], domain="my")
    graph = helper.make_graph([node], "g", values[:2], values[2:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    registry = Registry(definitions=parse_definitions(json.dumps(text)))
    with pytest.warns(RuntimeWarning, match="computes in float32"):
        made = convert(model, ConvertOptions(registry=registry, precision="origin"))
    (y,) = ascend_ep.InferenceSession(made.to_bytes()).run(None, {"a": X, "b": X})
    np.testing.assert_array_equal(y, X.astype(np.float16).astype(np.float32) * X)


def test_the_column_that_serves_is_an_exact_one_and_else_rounds_least() -> None:
    """Over all pairs of columns of two tensors, and all types of a model."""
    kinds = [dtypes.FLOAT32, dtypes.FLOAT16, dtypes.BFLOAT16, dtypes.INT32]
    for columns in product(product(kinds, repeat=2), repeat=2):
        tensors = [{"name": n, "type": [dtypes.name(c[i]) for c in columns]} for i, n in enumerate("ab")]
        out = [{"name": "y", "type": ["float32", "float32"]}]
        text = {"op": "Foo", "input_desc": tensors, "output_desc": out, "formula": "a + b"}
        (opdef,) = parse_definitions(json.dumps(text))
        for given in product(kinds, repeat=2):
            found = column_of(opdef, given)
            fitting = [c for c in columns if all((t == 6) == (d == 6) for t, d in zip(c, given, strict=True))]
            assert (found is None) == (not fitting)
            if found is not None:
                lost = [sum(t not in (d, 1) for t, d in zip(c, given, strict=True)) for c in fitting]
                mine = sum(t not in (d, 1) for t, d in zip(found.inputs, given, strict=True))
                assert found.inputs in fitting
                assert mine == min(lost)
                assert found.inputs == given or given not in columns


# ---- every key -----------------------------------------------------------------------------------

BASE = {"op": "Foo", "inputs": [{"name": "x"}], "outputs": [{"name": "y"}], "formula": "x"}
SHORT = {"op": "Swish", "input_num": 1, "output_num": 1}
TENSOR = {"name": "x"}
ATTRIBUTE = {"name": "k", "type": "float"}

#: Keys that say nothing about an operator: why.
NEUTRAL = {
    "$schema": "names the format of the file",
    "language": "msopgen too goes by its flag -lan",
}


def without(key: str, value: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in value.items() if k != key}


def _operators() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Each key of an operator, with a definition, and one whose difference is that key alone."""
    for key, value in {
        "op": "Bar",
        "domain": "my",
        "since_version": 3,
        "doc": "What it is for.",
        "inputs": [{"name": "x"}, {"name": "z"}],
        "outputs": [{"name": "y", "type": "float32"}],
        "attributes": [ATTRIBUTE],
        "attr": [ATTRIBUTE],
        "types": {"T": ["float32"]},
        "shape": "x",
        "formula": "-x",
        "kernel_name": "foo",
        "need_check_supported": True,
        "dynamic_shape": False,
    }.items():
        yield key, BASE, {**BASE, key: value}
    declared = without("formula", BASE)
    yield "kernel", declared, {**declared, "kernel": "softmax"}
    yield "source", declared, {**declared, "source": "foo.c"}
    yield "library", declared, {**declared, "library": "foo.so"}
    yield "input_num", SHORT, {**SHORT, "input_num": 2}
    yield "output_num", SHORT, {**SHORT, "output_num": 2}
    for key, ours in (("input_desc", "inputs"), ("output_desc", "outputs")):
        specs = [{**BASE[ours][0], "type": ["float16"]}]  # type: ignore[index]
        yield key, BASE, {**without(ours, BASE), key: specs}


def _tensors() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    for key, value in {
        "name": "z",
        "type": "float16",
        "param_type": "optional",
        "format": "NC1HWC0",
        "dynamic_shape": False,
        "doc": "What it is.",
        "shape": [5, 8],
        "shape_range": [[1, 9], [8, 8]],
        "required_shape": [5, 8],
    }.items():
        formula = {"formula": "z"} if key == "name" else {}
        yield key, BASE, {**BASE, **formula, "inputs": [{**TENSOR, key: value}]}


def _attributes() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    for key, value in {
        "name": "z",
        "type": "int",
        "param_type": "required",
        "required": True,
        "default": 2.0,
        "default_value": 2.0,
        "allowed": [1.0, 2.0],
        "doc": "What it is.",
    }.items():
        yield key, {**BASE, "attributes": [ATTRIBUTE]}, {**BASE, "attributes": [{**ATTRIBUTE, key: value}]}
    given = {**BASE, "inputs": [{"name": "x"}, {"name": "n", "param_type": "optional"}]}
    entries = ATTRIBUTE, {**ATTRIBUTE, "input": "n"}
    before, after = ({**given, "attributes": [entry]} for entry in entries)
    yield "input", before, after


TABLES = {"operator": _operators, "tensor": _tensors, "attribute": _attributes}


@pytest.mark.parametrize("what", TABLES)
def test_every_key_of_the_schema_is_read_or_remarked(what: str, tmp_path: Path) -> None:
    """A key that is new in the schema fails here by its name until it has a line in a table above."""
    (tmp_path / "foo.c").write_text("")
    (tmp_path / "foo.so").write_text("")
    seen = set()
    for key, before, after in TABLES[what]():
        (a,), (b,) = (parse_definitions(json.dumps(d), "x.json", tmp_path) for d in (before, after))
        assert a != b or a.remarks != b.remarks, key
        seen.add(key)
    known = set(SCHEMA["$defs"][what]["properties"])
    assert known - seen - NEUTRAL.keys() == set()
    assert seen <= known


@pytest.mark.parametrize("what", TABLES)
def test_every_key_survives_being_written(what: str, tmp_path: Path) -> None:
    """A definition that a compiled file carries is the one that was built."""
    for key, _, after in TABLES[what]():
        if key in ("source", "library", "input_num", "output_num"):
            continue  # by a file, or by numbers alone
        (opdef,) = parse_definitions(json.dumps(after), "x.json", tmp_path)
        assert parse_definitions(json.dumps(definition_map(opdef))) == [opdef], key
    overwritten = {"op": "A", "input_desc": [TENSOR], "output_desc": [TENSOR, {"name": "y"}]}
    (opdef,) = parse_definitions(json.dumps(overwritten))
    assert parse_definitions(json.dumps(definition_map(opdef))) == [opdef]


#: Definitions with a part that changes nothing for a model of [n, 8], and what is said of it.
IDLE = {
    "a fixed shape": ({**BASE, "dynamic_shape": False}, "[x] is declared without a dynamic shape"),
    "of one tensor": (
        {**BASE, "outputs": [{"name": "y", "dynamic_shape": False}]},
        "[y] is declared without a dynamic shape",
    ),
    "a layout of other ranks": (
        {**BASE, "inputs": [{"name": "x", "format": "NC1HWC0"}]},
        "[x] is declared as NC1HWC0, and is taken as it is, with 2 dimensions",
    ),
    "several": ({**BASE, "inputs": [{"name": "x", "format": ["NCHW", "NHWC"]}]}, "declared as NCHW, NHWC"),
    "a shape": ({**BASE, "inputs": [{"name": "x", "shape": [5, 8]}]}, "the shape of [x] binds nothing"),
    "no layout": ({**BASE, "inputs": [{"name": "x", "format": "WHATEVER"}]}, "declared as WHATEVER"),
    "a type of nothing": ({**BASE, "types": {"T": ["float32"]}}, "no tensor has the type [T]"),
    "of a short form": ({**SHORT, "op": "Swish", "dynamic_shape": False}, "without a dynamic shape"),
    "declared of a built-in operator": (
        {"op": "Swish", "inputs": [{"name": "x", "format": "NCHW"}], "outputs": [{"name": "y"}]},
        "declared as NCHW",
    ),
}


@pytest.mark.parametrize("case", IDLE)
def test_what_changes_nothing_is_said_at_conversion(case: str) -> None:
    definition, words = IDLE[case]
    text = json.dumps(definition)
    _, said = converted(parse_definitions(text, "x.json"), op=str(definition["op"]))
    assert any(s.startswith("E41015 x.json:1: ") and words in s for s in said), said


@pytest.mark.parametrize(
    "tensor",
    [{"format": "ND"}, {"format": ["ND", "NCHW"]}, {"format": "FRACTAL_NZ"}, {"dynamic_shape": True}, {}],
)
def test_what_holds_is_not_remarked(tensor: dict[str, Any]) -> None:
    text = json.dumps({**BASE, "inputs": [{"name": "x", **tensor}]})
    assert converted(parse_definitions(text, "x.json"))[1] == []


def test_the_built_in_definitions_say_nothing_idle() -> None:
    assert [d.full_name for _, d in Registry().definitions() if d.remarks] == []
