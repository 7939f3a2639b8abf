"""Every form of definition file is read, the three of the articles and of msopgen letter for letter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Formula, Kernel, Source
from ascend_ep.opdef.loader import load_definitions, parse_definitions
from ascend_ep.opdef.output_types import infer

SWISH_OP = """{
"op": "Swish",
"input_num": 1,
"output_num": 1,
"attr": []
}
"""
GELU_CUSTOM = """// gelu_custom.json
{
  "op": "GELUCustom",
  "input_desc": [ { "name": "x", "type": "float16", "format": "ND", "dynamic_shape": true } ],
  "output_desc": [ { "name": "y", "type": "float16", "format": "ND", "dynamic_shape": true } ],
  "attr": [],
  "kernel_name": "gelu_custom",
  "need_check_supported": true
}
"""
ADD_MSOPGEN = """[
    {
        "op": "AddCustom",
        "language": "cpp",
        "input_desc": [
            {
                "name": "x", "param_type": "required",
                "format": ["ND", "ND", "ND"], "type": ["fp16", "float", "int32"]
            },
            {
                "name": "y", "param_type": "required",
                "format": ["ND", "ND", "ND"], "type": ["fp16", "float", "int32"]
            }
        ],
        "output_desc": [
            {
                "name": "z", "param_type": "required",
                "format": ["ND", "ND", "ND"], "type": ["fp16", "float", "int32"]
            }
        ],
        "attr": [{"name": "alpha", "param_type": "optional", "type": "float", "default_value": "1.0"}]
    }
]
"""


def test_short_form_declares_names_by_count() -> None:
    (swish,) = parse_definitions(SWISH_OP)
    assert [t.name for t in swish.inputs] == ["x0"]
    assert [t.name for t in swish.outputs] == ["y0"]
    assert swish.counts == (1, 1)
    assert swish.semantics is None
    assert swish.domain is None
    assert swish.since_version is None


def test_single_map_with_string_types() -> None:
    (gelu,) = parse_definitions(GELU_CUSTOM, "gelu_custom.json")
    assert gelu.inputs[0].types == (dtypes.FLOAT16,)
    assert gelu.inputs[0].formats == ("ND",)
    assert gelu.inputs[0].dynamic_shape
    assert gelu.kernel_name == "gelu_custom"
    assert gelu.need_check_supported
    assert gelu.origin == "gelu_custom.json:2"


def test_list_form_of_msopgen() -> None:
    (add,) = parse_definitions(ADD_MSOPGEN)
    assert add.inputs[1].types == (dtypes.FLOAT16, dtypes.FLOAT32, dtypes.INT32)
    assert add.paired
    assert add.attributes[0].default == 1.0
    assert not add.attributes[0].required
    assert infer(add, [(6, (2, 3)), (6, (3,))], {}) == [(6, (2, 3))]
    with pytest.raises(AscendError, match="E41011"):
        infer(add, [(6, (2, 3)), (1, (3,))], {})


@pytest.mark.parametrize("dtype", [dtypes.FLOAT32, dtypes.FLOAT16, dtypes.BFLOAT16])
def test_a_half_prototype_serves_models_in_other_compute_floats(dtype: int) -> None:
    (gelu,) = parse_definitions(GELU_CUSTOM)
    assert infer(gelu, [(dtype, (4,))], {}) == [(dtype, (4,))]


@pytest.mark.parametrize("dtype", [dtypes.FLOAT64, dtypes.INT32, dtypes.BOOL])
def test_but_no_other_types(dtype: int) -> None:
    (gelu,) = parse_definitions(GELU_CUSTOM)
    with pytest.raises(AscendError, match=r"E41011.*input \[x\] is"):
        infer(gelu, [(dtype, (4,))], {})


def test_columns_pair_types_of_different_tensors() -> None:
    text = """{"op": "Polar", "kernel": "polar",
      "input_desc": [{"name": "abs", "type": ["float", "double"]},
                     {"name": "angle", "type": ["float", "double"]}],
      "output_desc": [{"name": "out", "type": ["complex64", "complex128"]}]}"""
    (polar,) = parse_definitions(text)
    assert infer(polar, [(11, (2,)), (11, (2,))], {}) == [(dtypes.COMPLEX128, (2,))]
    with pytest.raises(AscendError):
        infer(polar, [(11, (2,)), (1, (2,))], {})


def test_type_lists_of_length_one_are_filled_and_other_lengths_refused() -> None:
    text = """{"op": "A", "kernel": "a",
      "input_desc": [{"name": "x", "type": ["float", "float16"]}, {"name": "i", "type": "int64"}],
      "output_desc": [{"name": "y", "type": ["float", "float16"]}]}"""
    (opdef,) = parse_definitions(text)
    assert opdef.inputs[1].types == (dtypes.INT64,) * 2
    with pytest.raises(AscendError, match="different lengths"):
        parse_definitions(text.replace('"int64"', '["int64", "int32", "int8"]'))


OURS = {
    "op": "Scale",
    "domain": "my.ops",
    "since_version": 3,
    "doc": "x times factor",
    "types": {"T": ["float32", "float16"]},
    "inputs": [{"name": "x", "type": "T"}, {"name": "bias", "type": "T", "param_type": "optional"}],
    "outputs": [{"name": "y", "type": "T"}],
    "attributes": [
        {"name": "factor", "type": "float", "required": True},
        {"name": "mode", "type": "string", "default": "a", "allowed": ["a", "b"]},
        {"name": "pads", "type": "list_int", "default_value": [1, 2]},
    ],
    "shape": {"y": "x"},
    "formula": ["z = x*factor", "y = z + bias if given(bias) else z"],
}


def test_an_output_with_an_inputs_name_overwrites_it() -> None:
    """The kernel's parameter of it is x_ref, as msopgen names it; the registration says x."""
    column = {"type": ["fp16", "fp32"], "format": ["ND", "ND"]}
    tensors = [{"name": n, **column} for n in ("x", "update")]
    (opdef,) = parse_definitions(json.dumps([{"op": "A", "input_desc": tensors, "output_desc": tensors[:1]}]))
    assert [s.name for s in opdef.outputs] == ["x_ref"]
    assert [s.device_name for s in (*opdef.inputs, *opdef.outputs)] == ["x", "update", "x"]
    taken = [*tensors, {"name": "x_ref", **column}]
    with pytest.raises(AscendError, match=r"the name \[x_ref\] is given twice"):
        parse_definitions(json.dumps({"op": "A", "input_desc": taken, "output_desc": tensors[:1]}))


def test_a_prototype_may_have_no_outputs() -> None:
    entry = {"op": "Print", "input_desc": [{"name": "x", "type": "fp16"}]}
    assert parse_definitions(json.dumps(entry))[0].outputs == ()
    with pytest.raises(AscendError, match="no outputs"):
        parse_definitions(json.dumps({**entry, "formula": "x"}))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("list_int", "{}", ()),
        ("list_int", "{0}", (0,)),
        ("listInt", "{ 1, -2 }", (1, -2)),
        ("list_int", "[0,1]", (0, 1)),
        ("list_float", "{1, 2.5}", (1.0, 2.5)),
        ("list_bool", "{true,false}", (True, False)),
        ("list_string", '{"a", "b"}', ("a", "b")),
    ],
)
def test_default_lists_may_be_texts(kind: str, text: str, value: tuple[object, ...]) -> None:
    attribute = {"name": "a", "type": kind, "default_value": text}
    (opdef,) = parse_definitions(
        json.dumps({"op": "A", "input_num": 1, "output_num": 1, "attr": [attribute]})
    )
    assert opdef.attributes[0].default == value
    for wrong in ("{", "0", "{x}" if kind != "list_string" else "{", "[0}", ""):
        entry = {"op": "A", "input_num": 1, "output_num": 1, "attr": [{**attribute, "default_value": wrong}]}
        with pytest.raises(AscendError, match="E41005"):
            parse_definitions(json.dumps(entry))


def test_shapes_of_tensors_bind_nothing() -> None:
    tensor = {"name": "x", "type": "fp16", "shape": [-1, 8], "shape_range": [[1, -1]]}
    entry = {"op": "A", "input_desc": [tensor], "output_desc": [{**tensor, "name": "y"}]}
    bare = {"op": "A"}
    for side in ("input_desc", "output_desc"):
        bare[side] = [{k: v for k, v in t.items() if not k.startswith("shape")} for t in entry[side]]
    assert parse_definitions(json.dumps(entry)) == parse_definitions(json.dumps(bare))


def test_our_form() -> None:
    (scale,) = parse_definitions(json.dumps(OURS))
    assert scale.full_name == "my.ops::Scale"
    assert (scale.min_inputs, scale.max_inputs) == (1, 2)
    assert scale.semantics == Formula("z = x*factor\ny = z + bias if given(bias) else z")
    assert scale.attributes[2].default == (1, 2)
    assert scale.attributes[2].type == "ints"
    assert not scale.standard


def test_standard_operators_name_only_their_kernel() -> None:
    (softmax,) = parse_definitions('{"op": "Softmax", "domain": "", "kernel": "softmax"}')
    assert softmax.standard
    assert softmax.semantics == Kernel("softmax")


def test_source_is_a_file_beside_the_definition(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "my.cpp").write_text("void f();")
    file = tmp_path / "op.json"
    file.write_text('{"op": "My", "input_num": 1, "output_num": 1, "source": "kernels/my.cpp"}')
    (opdef,) = load_definitions(file)
    assert opdef.semantics == Source((tmp_path / "kernels" / "my.cpp").resolve())


def test_every_builtin_file_is_valid_and_named_after_its_operator() -> None:
    from ascend_ep.opdef.places import schema_root

    paths = list(schema_root().rglob("*.json"))
    assert len(paths) > 20
    for path in paths:
        definitions = load_definitions(path)
        assert [d.op for d in definitions] == [path.stem], path
        assert all(d.semantics is not None for d in definitions), path


def test_the_schema_is_valid_and_accepts_what_the_loader_accepts() -> None:
    import importlib.resources

    from jsonschema import Draft202012Validator

    schema = json.loads(
        importlib.resources.files("ascend_ep.opdef").joinpath("opdef.schema.json").read_text()
    )
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for text in (SWISH_OP, ADD_MSOPGEN, json.dumps(OURS)):
        assert validator.is_valid(json.loads(text))
    assert not validator.is_valid({"op": "A", "inptus": []})
