"""LSTM, GRU and RNN through converter and runtime: every form of ONNX's, against float64 and onnxruntime.

Bound: a state is a handful of functions of at most 4 ulp of sums of under 100 terms, fed back for few steps;
2e-6 of the largest value holds with room.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.backend.test.loader
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.compiler.lower.recurrent import ACTIVATIONS, GATES
from ascend_ep.element_types import BFLOAT16, FLOAT32
from ascend_ep.graph.reference import reference_run
from ascend_ep.plan.plan import NativePartition

BOUND = 2e-6
STEPS, BATCH, WIDTH, HIDDEN = 5, 3, 7, 9
KINDS = sorted(GATES)
NAMES = ["x", "w", "r", "b", "lengths", "h0", "c0", "p"]


def arrays(kind: str, directions: int = 1, hidden: int = HIDDEN, batch: int = BATCH) -> dict[str, np.ndarray]:
    """All operands of a layer with time first; c0 and p of LSTM alone."""
    random, gates = np.random.default_rng(7), GATES[kind] * hidden
    shapes = {
        "x": (STEPS, batch, WIDTH), "w": (directions, gates, WIDTH), "r": (directions, gates, hidden),
        "b": (directions, 2 * gates), "h0": (directions, batch, hidden), "c0": (directions, batch, hidden),
        "p": (directions, 3 * hidden),
    }  # fmt: skip
    made = {n: (random.standard_normal(s) * 0.6).astype(np.float32) for n, s in shapes.items()}
    made["lengths"] = random.integers(0, STEPS + 1, batch).astype(np.int32)
    made["lengths"][:2] = (0, STEPS)[: len(made["lengths"])]
    return made if kind == "LSTM" else {n: a for n, a in made.items() if n not in ("c0", "p")}


def model(
    kind: str,
    values: dict[str, np.ndarray],
    outputs: tuple[str, ...] = ("y", "h", "c"),
    fed: tuple[str, ...] = ("x", "lengths", "h0", "c0"),
    symbolic: bool = False,
    **attributes: Any,
) -> onnx.ModelProto:
    """One layer; operands named in `fed` are inputs, the others constants."""
    outputs = outputs if kind == "LSTM" else outputs[:2]
    names = [n if n in values else "" for n in NAMES[: 8 if kind == "LSTM" else 6]]
    while not names[-1]:
        names.pop()
    node = helper.make_node(kind, names, list(outputs), hidden_size=values["r"].shape[-1], **attributes)
    types = {n: helper.np_dtype_to_tensor_dtype(a.dtype) for n, a in values.items()}
    free = {0: "steps", 1: "batch"}
    inputs = [
        helper.make_tensor_value_info(
            n,
            types[n],
            [free.get(i, d) if symbolic and n == "x" else d for i, d in enumerate(values[n].shape)],
        )
        for n in values
        if n in fed
    ]
    constants = [numpy_helper.from_array(a, n) for n, a in values.items() if n not in fed]
    results = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in outputs if n]
    graph = helper.make_graph([node], "layer", inputs, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)


def check(
    source: onnx.ModelProto, values: dict[str, np.ndarray], against_ort: bool = True
) -> list[np.ndarray]:
    conversion = convert(source, ConvertOptions(codegen="off", self_check=False))
    assert [r.reason for r in conversion.partition_table if r.target != "AscendEP"] == []
    session = ascend_ep.InferenceSession(conversion.to_bytes())
    feeds = {i.name: values[i.name] for i in source.graph.input}
    names = [o.name for o in source.graph.output]
    results = session.run(names, feeds)
    wanted = reference_run(source, feeds)
    theirs: list[Any] = [None] * len(names)
    if against_ort:
        theirs = onnxruntime.InferenceSession(
            source.SerializeToString(), providers=["CPUExecutionProvider"]
        ).run(names, feeds)
    for name, got, other in zip(names, results, theirs, strict=True):
        scale = max(1.0, np.abs(wanted[name]).max(initial=0))
        np.testing.assert_allclose(got, wanted[name], rtol=0, atol=BOUND * scale, err_msg=name)
        if other is not None:
            np.testing.assert_allclose(
                got, other, rtol=0, atol=4 * BOUND * scale, err_msg=f"{name} of onnxruntime"
            )
    return results


def without(values: dict[str, np.ndarray], *names: str) -> dict[str, np.ndarray]:
    return {n: a for n, a in values.items() if n not in names}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_directions(kind: str, direction: str) -> None:
    """With everything there is, then with nothing but x, w and r; constant weights, then fed ones."""
    values = arrays(kind, 2 if direction == "bidirectional" else 1)
    check(model(kind, values, direction=direction), values)
    check(model(kind, values, fed=tuple(NAMES), direction=direction), values)
    bare = without(values, "b", "lengths", "h0", "c0", "p")
    check(model(kind, bare, direction=direction), bare)
    check(model(kind, bare, ("", "h", "c"), direction=direction), bare)


@pytest.mark.parametrize("fed", [("x",), tuple(NAMES)])
def test_reset_after_the_product(fed: tuple[str, ...]) -> None:
    values = without(arrays("GRU", 2), "lengths")
    check(model("GRU", values, fed=fed, direction="bidirectional", linear_before_reset=1), values)
    check(
        model("GRU", without(values, "b"), fed=fed, direction="bidirectional", linear_before_reset=1), values
    )


@pytest.mark.parametrize("kind", KINDS)
def test_bfloat16(kind: str) -> None:
    """Constant weights of the state are stored as pairs; a gate sums 9 products, each 2^-8 off, so results
    stay within 2e-2. Weights that are fed stay float32."""
    values = arrays(kind, 2)
    for fed in (("x", "lengths", "h0", "c0"), tuple(NAMES)):
        source = model(kind, values, fed=fed, direction="bidirectional")
        options = ConvertOptions(precision="mixed_bfloat16", codegen="off", self_check=False)
        conversion = convert(source, options)
        parts = [p for p in conversion.plan.partitions if isinstance(p, NativePartition)]
        (layer,) = [i for p in parts for i in p.insns if i.kernel == "recurrent"]
        weights = [ref.dtype for ref in layer.ins[1:3] if ref is not None]
        assert set(weights) == {BFLOAT16 if "r" not in fed else FLOAT32}
        feeds = {i.name: values[i.name] for i in source.graph.input}
        results = ascend_ep.InferenceSession(conversion.to_bytes()).run(None, feeds)
        for got, want in zip(results, reference_run(source, feeds).values(), strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=2e-2)


@pytest.mark.parametrize("kind", KINDS)
def test_clip_and_coupled_gates(kind: str) -> None:
    """onnxruntime doesn't clip what goes into h of LSTM, so what it clips is compared where h is linear."""
    values = without(arrays(kind), "lengths", "p")
    options = {"input_forget": 1} if kind == "LSTM" else {}
    check(model(kind, values, clip=0.3, **options), values, against_ort=kind != "LSTM")
    check(model(kind, values, **options), values, against_ort=False)


def test_every_activation() -> None:
    """Numbers are handed out to those that take them; the defaults apply to the rest."""
    values = without(arrays("RNN"), "lengths")
    for name, takes in ACTIVATIONS.items():
        check(model("RNN", values, activations=[name]), values, against_ort=False)
        given = {f"activation_{kind}": [0.7] for kind, _ in zip(("alpha", "beta"), takes, strict=False)}
        check(model("RNN", values, activations=[name], **given), values, against_ort=False)
    values = without(arrays("LSTM", 2), "lengths")
    names = ["Sigmoid", "Affine", "LeakyRelu", "HardSigmoid", "Elu", "ScaledTanh"]
    options = {"activations": names, "activation_alpha": [0.5, 0.2, 0.3], "activation_beta": [0.1]}
    check(model("LSTM", values, direction="bidirectional", **options), values, against_ort=False)


@pytest.mark.parametrize("kind", KINDS)
def test_batch_first(kind: str) -> None:
    """onnxruntime's CPU provider has no layout 1."""
    values = arrays(kind, 2)
    for name in values.keys() & {"x", "h0", "c0"}:
        values[name] = np.ascontiguousarray(values[name].swapaxes(0, 1))
    check(model(kind, values, direction="bidirectional", layout=1), values, against_ort=False)


@pytest.mark.parametrize("kind", KINDS)
def test_free_steps_and_batch(kind: str) -> None:
    values = without(arrays(kind), "lengths", "h0", "c0")
    source = model(kind, values, symbolic=True)
    session = ascend_ep.InferenceSession(convert(source, ConvertOptions(codegen="off")).to_bytes())
    for steps, batch in ((1, 1), (4, 2), (0, 2), (3, 0)):
        x = np.random.default_rng(steps).standard_normal((steps, batch, WIDTH)).astype(np.float32)
        wanted = reference_run(source, {"x": x})
        for output, result in zip(source.graph.output, session.run(None, {"x": x}), strict=True):
            np.testing.assert_allclose(result, wanted[output.name], rtol=0, atol=BOUND)


@pytest.mark.slow  # making the suite's cases takes seconds
def test_cases_of_the_onnx_suite() -> None:
    cases = [
        c
        for c in onnx.backend.test.loader.load_model_tests(kind="node")
        if any(n.op_type in KINDS for n in c.model.graph.node)
    ]
    assert len(cases) >= 18
    for case in cases:
        conversion = convert(case.model, ConvertOptions(codegen="off", self_check=False))
        assert [r.reason for r in conversion.partition_table if r.target != "AscendEP"] == [], case.name
        session = ascend_ep.InferenceSession(conversion.to_bytes())
        for inputs, outputs in case.data_sets:
            feeds = {i.name: a for i, a in zip(case.model.graph.input, inputs, strict=True)}
            for got, wanted in zip(session.run(None, feeds), outputs, strict=True):
                np.testing.assert_allclose(got, wanted, rtol=case.rtol, atol=case.atol, err_msg=case.name)


def test_what_is_not_native_says_why() -> None:
    values = without(arrays("RNN"), "lengths")
    for attributes, reason in (
        ({"activations": ["Sin"]}, "no native activation 'Sin'"),
        ({"activations": ["Tanh", "Relu"]}, "2 activations where 1"),
        ({"direction": "sideways"}, "direction is 'sideways'"),
    ):
        table = convert(model("RNN", values, **attributes), ConvertOptions(self_check=False)).partition_table
        assert reason in table[0].reason
