"""Operators in the forms of all their versions, beside onnxruntime: tools/fuzz_opsets."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from operator_sets.__main__ import Trial, singles
from operator_sets.form import model_of, uncovered
from operator_sets.table import FORMS, WITHOUT
from operator_sets.trial import REFUSED, UNSTABLE, finding

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.graph.reference import reference_run
from ascend_ep.opdef.definition import EARLY, LEGACY
from ascend_ep.plan.plan import NativePartition

TOOLS = Path(__file__).resolve().parents[2] / "tools"
#: One in so many models is tried in every run.
SAMPLE = 8


def test_each_version_of_each_operator_has_a_form() -> None:
    without = [op for ops in WITHOUT.values() for op in ops]
    assert list(uncovered(FORMS, without)) == []
    assert {form.op for form in FORMS}.isdisjoint(without)


def test_one_in_eight_computes_what_onnxruntime_does() -> None:
    tried = [one for i, one in enumerate(singles(every=False)) if i % SAMPLE == 0]
    found = {_text(one): finding(*model_of(*one)) for one in tried}
    assert {name: said for name, said in found.items() if said not in ("", REFUSED, UNSTABLE)} == {}
    assert sum(not said for said in found.values()) > 150


def _text(trial: Trial) -> str:
    forms, opset, variant = trial
    return f"{'; '.join(form.name for form in forms)} of {opset}, {variant}"


@pytest.mark.parametrize("op", EARLY)
def test_operators_that_onnxruntime_has_early_are_native_and_have_a_reference(op: str) -> None:
    form = next(form for form in FORMS if form.op == op)
    for opset in form.early():
        model, feeds = model_of([form], opset, "free")
        conversion = convert(model, ConvertOptions(codegen="off", precision="origin", self_check=True))
        assert [type(p) for p in conversion.plan.partitions] == [NativePartition]
        (got,) = ascend_ep.InferenceSession(conversion.to_bytes()).run(None, feeds)
        (true,) = reference_run(model, feeds).values()
        np.testing.assert_allclose(got, true, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        ("Affine", {"alpha": 2.0, "beta": 1.0}),
        ("Crop", {"border": [1, 1, 1, 1]}),
        ("ImageScaler", {"scale": 2.0, "bias": [0.5] * 3}),
        ("MeanVarianceNormalization", {"across_channels": 1}),
        ("ParametricSoftplus", {"alpha": 2.0, "beta": 1.0}),
        ("Scale", {"scale": 2.0}),
        ("ScaledTanh", {"alpha": 2.0, "beta": 1.0}),
    ],
)
def test_onnxruntimes_own_in_the_name_of_onnx_run_on_the_host(op: str, attributes: dict[str, object]) -> None:
    nodes = [
        onnx.helper.make_node(op, ["x"], ["h"], **attributes),
        onnx.helper.make_node("Relu", ["h"], ["y"]),
    ]
    given = onnx.helper.make_tensor_value_info("x", 1, ["N", 3, 4, 5])
    graph = onnx.helper.make_graph(nodes, "g", [given], [onnx.helper.make_empty_tensor_value_info("y")])
    imports = [onnx.helper.make_opsetid("", LEGACY[op] - 1)]
    model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)
    assert finding(model, {"x": np.random.default_rng(0).standard_normal((2, 3, 4, 5), np.float32)}) == ""


@pytest.mark.slow
@pytest.mark.parametrize("how", [["--all"], ["--chains", "3000"]])
def test_all_of_it(how: list[str]) -> None:
    done = subprocess.run([str(TOOLS / "fuzz_opsets"), *how], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert int(done.stdout.splitlines()[-1].split()[0]) > 500
