"""gen fills in prototypes whose formula is known from their name: every built-in one, in names of the prototype's."""

import json

import numpy as np
import onnx
import onnx.reference
import pytest

from ascend_ep.cli.op import main
from ascend_ep.codegen.c_source import NotGenerated
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.msopgen.known import filled_in
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.definition import Formula, Kernel
from ascend_ep.opdef.loader import load_definitions, parse_definitions
from ascend_ep.opdef.reference import evaluate
from ascend_ep.opdef.registry import Registry

REGISTRY = Registry()
TENSOR = {"type": "float16", "format": "ND", "dynamic_shape": True}
#: ONNX's operators of any shape that have a kernel, for what they do to other types, and a formula.
BESIDE_KERNELS = [
    d.op
    for _, d in REGISTRY.definitions()
    if d.standard
    and isinstance(d.semantics, Kernel)
    and d.formula
    and ("/elementwise/" in d.origin or d.op in ("Softmax", "LogSoftmax"))
]
#: as tutorials give it
GELU = {
    "op": "GELUCustom",
    "input_desc": [{"name": "x", **TENSOR}],
    "output_desc": [{"name": "y", **TENSOR}],
    "attr": [],
    "kernel_name": "gelu_custom",
    "need_check_supported": True,
}
BUILT_IN = {
    d.full_name: d
    for _, declared in REGISTRY.definitions()
    if (found := REGISTRY.resolve(declared.domain or "", declared.op, declared.since_version or 24))
    and isinstance((d := found.opdef).semantics, Formula)
}


def prototype(known, attributes=()):
    """A prototype of a definition with other names, among them those of its intermediate values."""
    names = ["z", "x", "m", "d", "scale", "n", "q", "u"]
    given = known.inputs[: known.min_inputs]
    tensors = [{"name": n, "type": "float32", "format": "ND"} for n in names[: len(given)]]
    outputs = [{"name": f"result{i}", "type": "float32", "format": "ND"} for i in range(len(known.outputs))]
    entry = {"op": known.op, "input_desc": tensors, "output_desc": outputs, "attr": list(attributes)}
    if known.domain is not None:
        entry["domain"] = known.domain
    return parse_definitions(json.dumps(entry))[0]


def values(known, seed=0):
    random = np.random.default_rng(seed)
    arrays = []
    for spec in known.inputs[: known.min_inputs]:
        array = random.uniform(0.1, 2, (2, 3, 4, 4))
        arrays.append(array > 1 if spec.types == (dtypes.BOOL,) else np.round(array, 2))
    return arrays


@pytest.mark.parametrize("language", ["cpp", "py"])
def test_the_documents_prototype_has_a_kernel(tmp_path, language, capsys):
    file = tmp_path / "gelu_custom.json"
    file.write_text(json.dumps(GELU))
    command = ["gen", "-i", str(file), "-c", "ai_core-Ascend910B1", "-t", language, "-o"]
    assert main([*command, str(tmp_path / "filled")]) == 0
    assert "The kernel computes the formula of GELUCustom: built-in" in capsys.readouterr().out
    assert main([*command, str(tmp_path / "empty"), "--empty"]) == 0
    assert "--empty is given" in capsys.readouterr().out
    path = "op_kernel/gelu_custom.cpp" if language == "cpp" else "tbe/impl/gelu_custom.py"
    filled, empty = ((tmp_path / f / path).read_text() for f in ("filled", "empty"))
    assert "xp(" in filled
    assert "xp(" not in empty
    written = load_definitions(tmp_path / "filled/tests/gelu_custom.json")[0]
    assert [s.types for s in written.inputs] == [(dtypes.FLOAT16,)]
    x = np.linspace(-4, 4, 33)
    np.testing.assert_allclose(evaluate(written, [x]), evaluate(BUILT_IN["GELUCustom"], [x]), rtol=1e-12)
    assert load_definitions(tmp_path / "empty/tests/gelu_custom.json")[0].semantics is None


def test_every_built_in_formula_in_other_names():
    refused = {}
    assert len(BUILT_IN) > 120
    for name, known in BUILT_IN.items():
        try:
            mine, _ = filled_in(prototype(known), REGISTRY)
        except NotGenerated as reason:
            refused[name] = str(reason)
            continue
        assert mine.inputs == prototype(known).inputs
        arrays = values(known)
        try:
            expected = evaluate(known, arrays)
        except AscendError as error:
            with pytest.raises(AscendError, match=error.code):
                evaluate(mine, arrays)
            continue
        for one, other in zip(evaluate(mine, arrays), expected, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)
    for reason in refused.values():
        assert "is required" in reason or "is not given" in reason or "any number of tensors" in reason
    assert len(refused) < 12


def test_attributes_are_the_prototypes():
    """One that it has keeps its own default and can be given; others are bound to the known default."""
    known = REGISTRY.resolve("custom", "Swish", 1).opdef
    alpha = {"name": "alpha", "type": "float", "param_type": "optional", "default_value": "3.0"}
    mine, _ = filled_in(prototype(known, [alpha]), REGISTRY)
    assert [a.name for a in mine.attributes] == ["alpha"]
    x = [np.linspace(-2, 2, 9)]
    for value in (3.0, 0.5):
        bound = bind_attributes(mine, {} if value == 3 else {"alpha": value})
        np.testing.assert_allclose(
            evaluate(mine, x, bound), evaluate(known, x, {**bind_attributes(known, {}), **bound})
        )


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"op": "Swishy"}, r"no operator of that name is known \(similar: Swish"),
        ({"op": "Conv"}, "known by a kernel"),
        ({"op": "Swish", "attr": [{"name": "gain", "type": "float"}]}, "no attribute .gain."),
        ({"op": "Swish", "input_desc": [{"name": n, "type": "fp16"} for n in "ab"]}, "declares 2 inputs"),
    ],
)
def test_what_does_not_fit_is_said(entry, reason):
    tensors = {"input_desc": [{"name": "x", "type": "fp16"}], "output_desc": [{"name": "y", "type": "fp16"}]}
    with pytest.raises(NotGenerated, match=reason):
        filled_in(parse_definitions(json.dumps({**tensors, **entry}))[0], REGISTRY)


def test_a_short_form_has_the_known_interface():
    short = parse_definitions(json.dumps({"op": "Swish", "input_num": 1, "output_num": 1, "attr": []}))[0]
    mine, _ = filled_in(short, REGISTRY)
    assert [s.name for s in mine.inputs] == ["x"]
    assert isinstance(mine.semantics, Formula)


@pytest.mark.parametrize("op", BESIDE_KERNELS)
def test_formulas_of_typed_operators_are_onnx(op):
    schema = onnx.defs.get_schema(op)
    logical = op in ("And", "Or", "Not")
    n_in = len(schema.inputs)
    names = [f"in{i}" for i in range(n_in)]
    entry = {"op": op, "outputs": [{"name": "out", "type": ["bool" if logical else "float32"]}]}
    kinds = ["bool" if logical or (op == "Where" and i == 0) else "float32" for i in range(n_in)]
    entry["inputs"] = [{"name": n, "type": [k]} for n, k in zip(names, kinds, strict=True)]
    mine, _ = filled_in(parse_definitions(json.dumps(entry))[0], REGISTRY)
    random = np.random.default_rng(0)
    arrays = [
        np.round(random.uniform(0.5, 2, (3, 4)) if op == "Pow" else random.uniform(-2, 2, (3, 4)), 1)
        for _ in names
    ]
    if op == "Clip":
        arrays[1:] = [np.array(-1.0), np.array(1.0)]
    arrays = [a > 0 if k == "bool" else a for a, k in zip(arrays, kinds, strict=True)]
    node = onnx.helper.make_node(op, names, ["out"])
    expected = onnx.reference.ReferenceEvaluator(node).run(None, dict(zip(names, arrays, strict=True)))
    np.testing.assert_allclose(evaluate(mine, arrays)[0], expected[0], rtol=1e-6)
