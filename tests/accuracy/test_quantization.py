"""Post-training quantisation: it writes ONNX that onnxruntime computes as we do, near the float model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import quantised_models
from numpy.typing import NDArray
from saturation import saturates

import ascend_ep
from ascend_ep.accuracy.quantization import quantization
from ascend_ep.accuracy.quantization.quantized import Quantized
from ascend_ep.cli.om import main
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError

Arrays = list[NDArray[np.float32]]


def samples(name: str, count: int = 8, seed: int = 0) -> Arrays:
    dims = {"residual": (1, 3, 16, 16), "encoder": (1, 12, 32)}[name]
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(dims).astype(np.float32) for _ in range(count)]


def stock(model: onnx.ModelProto, x: NDArray[Any]) -> NDArray[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")  # float32 activations
    options.add_session_config_entry("session.disable_quant_qdq", str(int(saturates())))
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return np.asarray(session.run(None, {"x": x})[0])


def kernels(model: onnx.ModelProto) -> list[str]:
    made = convert(model, ConvertOptions(self_check=False, sample_seed=None))
    return [i.kernel for p in made.plan.native_parts() for i in p.insns]


@pytest.mark.parametrize(
    ("name", "settings", "bound"),
    [
        ("residual", {}, 0.012),
        ("residual", {"method": "entropy", "channel_wise": False}, 0.1),
        ("encoder", {"method": "percentile", "activation_offset": False, "gptq": True}, 0.03),
        ("encoder", {"weight_bits": 4, "block_size": 16}, 0.12),
    ],
)
def test_onnxruntime_computes_what_we_do(name: str, settings: dict[str, Any], bound: float) -> None:
    model = quantised_models.MODELS[name]()
    made = ascend_ep.quantize(model, samples(name), **settings)
    onnx.checker.check_model(made.model, full_check=True)
    assert all(r.quantised or r.reason for r in made.rows)
    session = ascend_ep.convert(made.model).session()
    assert session.get_providers() == ["AscendEP"]
    x = samples(name, 1, seed=5)[0]
    ours, theirs, exact = session.run(None, {"x": x})[0], stock(made.model, x), stock(model, x)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-5)
    assert np.linalg.norm(ours - exact) <= bound * np.linalg.norm(exact)
    assert np.abs(ours - exact).max() > 0  # it isn't the float model


def test_products_run_on_kernels_of_integers() -> None:
    model = ascend_ep.quantize(quantised_models.residual(), samples("residual"), method="min-max").model
    found = kernels(model)
    assert found.count("qconv") == 5
    assert found.count("qmatmul") == 1
    assert not {"conv", "matmul"} & set(found)
    assert kernels(_without_zero_points(model)) == found
    found = kernels(ascend_ep.quantize(quantised_models.encoder(), samples("encoder")).model)
    assert found.count("qmatmul") == 6


def _without_zero_points(model: onnx.ModelProto) -> onnx.ModelProto:
    """Of weights, as other quantisers write them."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    constants = {t.name for t in made.graph.initializer}
    for node in made.graph.node:
        if node.op_type == "DequantizeLinear" and node.input[0] in constants and len(node.input) > 2:
            del node.input[2]
    return made


def test_four_bits_take_four_bits() -> None:
    made = ascend_ep.quantize(quantised_models.encoder(), samples("encoder"), weight_bits=4, block_size=16)
    bundle = convert(made.model, ConvertOptions(self_check=False, sample_seed=None))
    layouts = [
        value.weight.layout
        for part in bundle.plan.native_parts()
        for insn in part.insns
        for value in insn.ins
        if insn.kernel == "matmul" and value is not None and value.weight is not None
    ]
    assert layouts.count("nibbles32") == 6


def test_smoothing_moves_outliers_into_weights() -> None:
    """One channel of a hundred times the others: without smoothing 8 bits leave them little."""
    text = """<ir_version: 8, opset_import: ["": 17]> layer (float[N, 16] x) => (float[N, 8] y) {
        n = LayerNormalization<axis = -1>(x, gamma, beta)  y = MatMul(n, w) }"""
    model = onnx.parser.parse_model(text)
    rng = np.random.default_rng(1)
    gamma = np.ones(16, np.float32)
    gamma[3] = 100
    w = rng.standard_normal((16, 8)).astype(np.float32)
    w[3] /= 100
    for name, array in {"gamma": gamma, "beta": np.zeros(16, np.float32), "w": w}.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    data = [rng.standard_normal((4, 16)).astype(np.float32) for _ in range(4)]
    plain, smooth = (ascend_ep.quantize(model, data, migration_strength=s) for s in (0, 0.5))
    assert smooth.outputs["y"].rms < plain.outputs["y"].rms / 4
    assert [n.op_type for n in smooth.model.graph.node] == [n.op_type for n in plain.model.graph.node]


def test_gptq_rounds_better_than_the_nearest() -> None:
    """Activations that lie in few directions leave much room to make errors up."""
    rng = np.random.default_rng(2)
    text = """<ir_version: 8, opset_import: ["": 17]> layer (float[N, 64] x) => (float[N, 32] y) {
        y = MatMul(x, w) }"""
    model = onnx.parser.parse_model(text)
    w = rng.standard_normal((64, 32)).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(w, "w"))
    data = (rng.standard_normal((256, 8)) @ rng.standard_normal((8, 64))).astype(np.float32)
    near, made = (ascend_ep.quantize(model, [data], weight_bits=4, gptq=g) for g in (False, True))
    assert made.outputs["y"].rms < near.outputs["y"].rms / 2


@pytest.mark.parametrize("settings", [{"weight_bits": 4, "gptq": True}, {"migration_strength": 0.5}, {}])
@pytest.mark.parametrize("strange", [np.nan, np.inf])
def test_what_is_not_finite_does_not_count(settings: dict[str, Any], strange: float) -> None:
    rng = np.random.default_rng(2)
    text = """<ir_version: 8, opset_import: ["": 17]> layer (float[N, 16] x) => (float[N, 8] y) {
        y = MatMul(x, w) }"""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(
        onnx.numpy_helper.from_array(rng.standard_normal((16, 8)).astype("f4"), "w")
    )
    data = (rng.standard_normal((64, 16)) * np.where(np.arange(16) == 3, 30, 1)).astype(np.float32)
    spoiled = np.full((1, 16), strange, np.float32)
    plain = ascend_ep.quantize(model, [data], **settings)
    made = ascend_ep.quantize(model, [data, spoiled], validation=[data], **settings)
    assert made.model == plain.model
    with pytest.raises(AscendError, match=r"E40001: no element of \[x\]"):
        ascend_ep.quantize(model, [spoiled, spoiled], **settings)


def test_products_of_half_floats() -> None:
    """Their weights become integers; what comes in and goes out keeps its type and name."""
    rng = np.random.default_rng(3)
    text = """<ir_version: 8, opset_import: ["": 17]>
    halves (float16[N, 4, 6, 6] x) => (float16[N, 5] y, float16[N, 64] z) {
        [conv] c = Conv(x, k, b)
        r = Relu(c)
        f = Flatten(r)
        [gemm] y = Gemm(f, g, h)
        [product] z = MatMul(f, m)
    }"""
    model = onnx.parser.parse_model(text)
    dims = {"k": (4, 4, 3, 3), "b": (4,), "g": (64, 5), "h": (5,), "m": (64, 64)}
    for name, size in dims.items():
        array = rng.normal(0, 0.2, size).astype(np.float16)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    data = rng.standard_normal((8, 4, 6, 6)).astype(np.float16)
    made = ascend_ep.quantize(model, [data])
    assert [(r.name, r.quantised) for r in made.rows] == [(n, True) for n in ("conv", "gemm", "product")]
    assert not {t.name for t in made.model.graph.initializer} & set(dims)
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_quant_qdq", str(int(saturates())))
    given, found = (
        onnxruntime.InferenceSession(m.SerializeToString(), options).run(None, {"x": data})
        for m in (model, made.model)
    )
    for before, after in zip(given, found, strict=True):
        assert after.dtype == np.float16
        assert 0 < np.abs(after - before).max() < 0.05 * np.abs(before).max()
    kept = ascend_ep.quantize(model, [data], skip_layers=("product",)).model.graph
    assert {t.name for t in kept.initializer} & set(dims) == {"m"}


def test_an_accuracy_keeps_the_fewest_products_in_float() -> None:
    model, data = quantised_models.residual(), samples("residual")
    whole = ascend_ep.quantize(model, data)
    wanted = whole.outputs["y"].rms / 2
    made = ascend_ep.quantize(model, data, accuracy=f"rms={wanted}")
    assert 0 < len(made.kept) < len(made.rows)
    assert made.outputs["y"].rms <= wanted
    assert {r.name for r in made.rows if not r.quantised} == set(made.kept)
    for left in made.kept:  # none of them can be left out
        skipped = set(made.kept) - {left}
        again = ascend_ep.quantize(model, data, skip_layers=skipped)
        assert again.outputs["y"].rms > wanted


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(quantised_models.residual(), "m.onnx")
    Path("samples").mkdir()
    for i, x in enumerate(samples("residual", 4)):
        x.tofile(f"samples/{i}.bin")
    command = ["quantize", "m.onnx", "--data", "samples", "--method=min-max", "--json"]
    assert main([*command, "--skip_layer_types=Gemm", "--batch_num=3"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["samples"] == 3
    assert [p["op_type"] for p in found["products"] if not p["quantised"]] == ["Gemm"]
    assert found["bytes"]["after"] < found["bytes"]["before"]
    assert found["outputs"]["y"]["cosine"] > 0.999
    made = onnx.load(found["model"])
    assert [n.op_type for n in made.graph.node].count("QuantizeLinear") > 5


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--data", "nowhere"], "E10410"),
        (["--data", "empty"], "no file that ends in .npy"),
        (["--data", "wrong"], "Input x is [1,3,16,16] of float32"),
        (["--data", "good", "--method=best"], "[--method]"),
        (["--data", "good", "--weight_bits=3"], "It is 8 or 4"),
        (["--data", "good", "--accuracy=often"], "E40001"),
        (["--data", "good;good"], "one folder for each"),
        (["--data", "good", "--batch_num=0"], "--batch_num"),
        (["--data", "good", "--skip_layers=Nope"], "No node of the model has this name"),
        (["--data", "good", "--skip_layer_types=Conv;Cnov"], "[Cnov]"),
    ],
)
def test_mistakes_are_said(
    more: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(quantised_models.residual(), "m.onnx")
    for name in ("empty", "wrong", "good"):
        Path(name).mkdir()
    np.save("wrong/0.npy", np.zeros((1, 3, 8, 8), np.float32))
    np.save("good/0.npy", samples("residual", 1)[0])
    assert main(["quantize", "m.onnx", *more]) == 1
    assert said in capsys.readouterr().err
    assert not Path("m_int8.onnx").exists()


def test_samples_come_in_many_forms(tmp_path: Path) -> None:
    model, data = quantised_models.residual(), samples("residual", 4)
    stacked = np.concatenate(data)
    np.save(tmp_path / "all.npy", stacked)
    (tmp_path / "npz").mkdir()
    for i, x in enumerate(data):
        np.savez(tmp_path / "npz" / f"{i}.npz", x=x)
    forms = [
        [{"x": x} for x in data],
        [x[0] for x in data],
        tmp_path / "all.npy",
        tmp_path / "npz",
    ]
    made: list[Quantized] = [ascend_ep.quantize(model, form, method="min-max") for form in forms]
    assert {m.samples for m in made} == {4}
    assert len({m.model.SerializeToString(deterministic=True) for m in made}) == 1


def _shifted(bias: bool, kind: str) -> tuple[onnx.ModelProto, Arrays]:
    """A product whose activations have a mean, of which 4 or 8 bits of weights leave an error."""
    rng = np.random.default_rng(4)
    nodes = {
        "Conv": "y = Conv<pads = [1, 1, 1, 1]>(x, w" + (", b)" if bias else ")"),
        "Gemm": "y = Gemm<transB = 1>(x, w" + (", b)" if bias else ")"),
        "MatMul": "p = MatMul(x, w)  y = Add(b, p)" if bias else "y = MatMul(x, w)",
    }
    dims = {"Conv": "N, 24, 5, 7", "Gemm": "N, 200", "MatMul": "N, 5, 200"}[kind]
    out = {"Conv": "N, 9, 5, 7", "Gemm": "N, 9", "MatMul": "N, 5, 9"}[kind]
    text = f"""<ir_version: 8, opset_import: ["": 17]>
        shifted (float[{dims}] x) => (float[{out}] y) {{ {nodes[kind]} }}"""
    model = onnx.parser.parse_model(text)
    size = {"Conv": (9, 24, 3, 3), "Gemm": (9, 200), "MatMul": (200, 9)}[kind]
    arrays = {"w": rng.standard_normal(size), "b": rng.standard_normal(9)}
    for name in ("w", "b") if bias else ("w",):
        array = arrays[name].astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    free = [int(d) for d in dims.split(", ")[1:]]
    return model, [rng.uniform(2, 3, (1, *free)).astype(np.float32) for _ in range(24)]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", ["Conv", "Gemm", "MatMul"])
def test_the_mean_of_a_channel_stays(kind: str, bias: bool) -> None:
    """Samples that calibration didn't see have the float model's means, but where nothing can be added."""
    model, data = _shifted(bias, kind)
    seen, unseen = data[:12], np.concatenate(data[12:])
    exact = stock(model, unseen)
    shifts = []
    for corrected in (False, True):
        made = ascend_ep.quantize(model, seen, bias_correction=corrected, validation=[unseen])
        onnx.checker.check_model(made.model, full_check=True)
        error = stock(made.model, unseen).astype(np.float64) - exact
        axes = tuple(a for a in range(error.ndim) if a != (1 if kind == "Conv" else error.ndim - 1))
        shifts.append(float(np.abs(error.mean(axis=axes)).mean()))
    if kind == "MatMul" and not bias:
        assert shifts[1] == shifts[0] > 0
    else:
        assert shifts[1] < shifts[0] / 4


@pytest.mark.parametrize(
    "last",
    [
        "y = Conv(r, v, c)",
        "f = Flatten(r)  y = Gemm(f, m, c)",
        "f = Flatten(r)  p = MatMul(f, m)  y = Add(p, c)",
    ],
)
def test_the_last_products_leave_what_comes_through_the_layers(
    last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise before a Relu has a mean behind it, which the shift of no product by itself shows."""
    rng = np.random.default_rng(11)
    is_image = "Conv" in last
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        two (float[N, 4, 6, 6] x) => (float[{"N, 9, 6, 6" if is_image else "N, 9"}] y)
        {{ h = Conv(x, w)  r = Relu(h)  {last} }}""")
    sizes = {"w": (16, 4, 1, 1), "v": (9, 16, 1, 1), "m": (16 * 36, 9), "c": (9,)}
    for name in ("w", "v" if is_image else "m", "c"):
        array = rng.standard_normal(sizes[name]).astype(np.float32)
        model.graph.initializer.append(
            onnx.numpy_helper.from_array(np.abs(array) if name in "vm" else array, name)
        )
    # of an outlier the ranges are wide, and so are the steps
    data = [rng.standard_normal((1, 4, 6, 6)).astype(np.float32) * 0.03 for _ in range(48)]
    for x in data:
        x[0, :, 0, 0] = 8
    seen, unseen = data[:24], np.concatenate(data[24:])
    exact = stock(model, unseen)
    shifts = []
    for is_corrected in (False, True):
        with monkeypatch.context() as patch:
            if not is_corrected:
                patch.setattr(quantization, "shifts_at_the_end", lambda *_: {})
            made = ascend_ep.quantize(model, seen, method="min-max", validation=[unseen])
        error = stock(made.model, unseen).astype(np.float64) - exact
        axes = tuple(axis for axis in range(error.ndim) if axis != 1)
        shifts.append(float(np.abs(error.mean(axis=axes)).mean()))
    assert shifts[1] < 0.6 * shifts[0], shifts


def test_one_sample_or_chance_corrects_nothing() -> None:
    """A mean that is no larger than its own spread leaves the bias as it is."""
    model, data = _shifted(True, "Gemm")
    alone = [
        ascend_ep.quantize(model, data[:1], bias_correction=c).model.SerializeToString(deterministic=True)
        for c in (False, True)
    ]
    assert alone[0] == alone[1]
    rng = np.random.default_rng(5)
    centred = [rng.standard_normal((1, 200)).astype(np.float32) for _ in range(64)]
    unseen = [rng.standard_normal((256, 200)).astype(np.float32)]
    plain, made = (
        ascend_ep.quantize(model, centred, bias_correction=c, validation=unseen).outputs["y"].rms
        for c in (False, True)
    )
    assert made <= plain * 1.02
