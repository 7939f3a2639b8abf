"""A sum of two 8-bit images goes into a convolution that makes one of them, and keeps its bits."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from plan_header import min_reader

import ascend_ep
from ascend_ep.compiler import pipeline
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

C, GROUPS = 60, 2  # groups of 30
D, Q = "DequantizeLinear", "QuantizeLinear"
CONV = "QLinearConv<{0}>({1}, s, z, w{2}, sw, zw, s, z)"
SUM = f"f = {D}(a, s, z) g = {D}({{0}}, s2, z2) h = Add({{1}}) k = Relu(h) y = {Q}(k, s2, z2)"


def conv(out: str, x: str, form: str = "") -> str:
    group = {"": 1, "grouped": GROUPS, "apart": C, "few": 10}[form]
    return f"{out} = {CONV.format(f'group={group}, pads=[1, 1, 1, 1]', x, form)} "


START, END = conv("r", "x"), conv("o", "y")
#: Bodies between x and o, and how many operands each convolution then has, byte_binary's in between.
CASES = {
    "of a block": (START + conv("a", "r") + SUM.format("r", "f, g"), [10, 11, 10]),
    "the other way round": (START + conv("a", "r") + SUM.format("r", "g, f"), [10, 11, 10]),
    "of groups": (START + conv("a", "r", "grouped") + SUM.format("r", "f, g"), [10, 11, 10]),
    "of two convolutions": (
        START + conv("b", "r", "grouped") + conv("a", "r") + SUM.format("b", "g, f"), [10, 10, 11, 10],
    ),
    "of two, the other way round": (
        START + conv("a", "r") + conv("b", "r", "grouped") + SUM.format("b", "g, f"), [10, 10, 11, 10],
    ),
    "behind its addend": (
        START + conv("a", "r") + "p = MaxPool<kernel_shape=[3, 3], pads=[1, 1, 1, 1]>(r) "
        + SUM.format("p", "f, g"), [10, 11, 10],
    ),
    "whose floats are read": (
        START + conv("a", "r") + SUM.format("r", "f, g") + f"i = {D}(y, s2, z2) "
        + f"p = AveragePool<kernel_shape=[3, 3], pads=[1, 1, 1, 1]>(i) o = {Q}(p, s, z)", [10, 11],
    ),
    "twice": (
        START + conv("a", "r") + SUM.format("r", "f, g") + conv("c", "y")
        + f"i = {D}(c, s, z) j = {D}(y, s2, z2) l = Add(j, i) t = {Q}(l, s, z) " + conv("o", "t"),
        [10, 11, 11, 10],
    ),
    "channels apart": (START + conv("a", "r", "apart") + SUM.format("r", "f, g"), [10, 10, 2, 10]),
    "few channels": (START + conv("a", "r", "few") + SUM.format("r", "f, g"), [10, 10, 2, 10]),
    "read twice": (START + conv("a", "r") + SUM.format("r", "f, g") + conv("o2", "a"), [10, 10, 2, 10, 10]),
    "another zero point": (
        START + conv("a", "r") + SUM.format("r", "f, g").replace("(a, s, z)", "(a, s, z2)"), [10, 10, 2, 10],
    ),
    "with itself, which is a table": (START + conv("a", "r") + SUM.format("a", "f, g"), [10, 10, 10]),
}  # fmt: skip


def model(body: str, kind: str) -> onnx.ModelProto:
    dims = f"2,{C},7,9"
    outs = "".join(f", {kind}[{dims}] o{n}" for n in ("2",) if f"o{n} = " in body)
    end = "" if " o = " in body else END
    made = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]>
        m ({kind}[{dims}] x) => ({kind}[{dims}] o{outs}) {{ {body} {end} }}"""
    )
    rng = np.random.default_rng(1)
    zero = 118 if kind == "uint8" else -3
    constants = {
        "s": np.float32(0.04), "z": np.asarray(zero, kind),
        "s2": np.float32(0.05), "z2": np.asarray(zero + 7, kind),
        "sw": np.full(C, 0.01, np.float32), "zw": np.zeros(C, np.int8),
    }  # fmt: skip
    for form, fan_in in (("", C), ("grouped", C // GROUPS), ("apart", 1), ("few", C // 10)):
        constants[f"w{form}"] = rng.integers(-9, 10, (C, fan_in, 3, 3)).astype(np.int8)
    used = {i for n in made.graph.node for i in n.input}
    made.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items() if k in used
    )
    return made


@pytest.mark.parametrize("kind", ["uint8", "int8"])
@pytest.mark.parametrize("name", CASES)
def test_sums_of_images(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body, wanted = CASES[name]
    given = model(body, kind)
    x = np.random.default_rng(2).integers(0, 256, (2, C, 7, 9)).astype(np.uint8).view(kind)
    results = []
    for taken in (True, False):
        made = convert(given, ConvertOptions(self_check=False, sample_seed=None))
        insns = [i for p in made.plan.native_parts() for i in p.insns]
        found = [len(i.ins) for i in insns if i.kernel in ("qconv", "byte_binary")]
        assert (found == wanted) == (taken or 11 not in wanted)
        image = made.to_bytes()
        assert (min_reader(image) == 14) == (11 in found)
        results.append(ascend_ep.InferenceSession(image).run(None, {"x": x}))
        monkeypatch.setattr(pipeline, "sum_in_convolutions", lambda part: 0)
    for got, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(got, expected)
        assert len(np.unique(got)) > 20


#: Scales of the convolution's result, of the image and of the sum: drawn, and such that many sums are ties.
SCALES = [
    *np.exp(np.random.default_rng(3).uniform(-4.5, -2.5, (4, 3))).astype(np.float32),
    *np.array([(0.5, 1.0, 1.0), (0.1, 0.1, 0.2)], np.float32),
]


@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_all_pairs_of_bytes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's shorter form of the sum has the bits of the longer one wherever it takes it."""
    channels, least = 32, np.iinfo(kind).min
    image, same = f"{kind}[1,{channels},256,256]", "one, low, w, one, nought, one, low"
    given = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 17]> m ({image} x, {image} b) => ({image} o) {{
            r = QLinearConv(x, {same})  a = QLinearConv(r, {same})  c = QLinearConv(b, {same})
            f = {D}(a, s, za)  g = {D}(c, sb, zb)  h = Add(f, g)  k = Relu(h)  y = {Q}(k, sy, zy)
            o = QLinearConv(y, {same})
        }}"""
    )
    identity = np.eye(channels, dtype=np.int8)[:, :, None, None]
    pairs = np.arange(65536).reshape(256, 256)
    feed = {
        name: np.broadcast_to(one.astype(np.uint8).view(kind), (1, channels, 256, 256)).copy()
        for name, one in (("x", pairs // 256), ("b", pairs % 256))
    }
    for scales in SCALES:
        made = onnx.ModelProto.FromString(given.SerializeToString())
        constants = {
            "one": np.float32(1),
            "low": np.asarray(least, kind),
            "nought": np.int8(0),
            "w": identity,
        }
        constants |= dict(zip(("s", "sb", "sy"), scales, strict=True))
        constants |= {"za": constants["low"], "zb": np.asarray(least + 120, kind), "zy": constants["low"]}
        made.graph.initializer.extend(
            onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()
        )
        results = []
        for taken in (True, False):
            with monkeypatch.context() as patch:
                if not taken:
                    patch.setattr(pipeline, "sum_in_convolutions", lambda part: 0)
                bundle = convert(made, ConvertOptions(self_check=False, sample_seed=None)).to_bytes()
            assert (min_reader(bundle) == 14) == taken
            results += ascend_ep.InferenceSession(bundle).run(None, feed)
        np.testing.assert_array_equal(*results)
        assert len(np.unique(results[0])) > 20
