"""Which convolutions and images become bfloat16 under the bfloat16 modes, and how far results move.

Each image and weight is rounded to 8 bits, 2^-9 relative; few layers of random signs stay within 2e-2 of the
largest output.
"""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from test_channels_last import CONV, SHUFFLE, model

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.compiler.precision.precision import BFLOAT16_PRODUCTS
from ascend_ep.plan.plan import Insn, NativePartition

X, BF16 = "float[1,8,12,12] x", 16
rng = np.random.default_rng(0)


def insns_of(source: onnx.ModelProto, *shapes: tuple[int, ...], mode: str = "mixed_bfloat16") -> list[Insn]:
    """The plan's instructions; runs of x of these shapes are compared with onnxruntime's. What stands before
    a convolution isn't taken into it, so that it is there to be looked at."""
    options = ConvertOptions(
        precision=mode,
        self_check=False,
        sample_seed=None,
        codegen="off",
        fusions_off=("ConvPrologueFusionPass",),
    )
    conversion = convert(source, options)
    mine = ascend_ep.InferenceSession(conversion.to_bytes())
    theirs = ort.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    for shape in shapes:
        feeds = {"x": rng.standard_normal(shape).astype(np.float32)}
        for got, wanted in zip(mine.run(None, feeds), theirs.run(None, feeds), strict=True):
            assert got.dtype == np.float32
            error = np.abs(got - wanted).max() / np.abs(wanted).max()
            assert error < (2e-2 if mode in BFLOAT16_PRODUCTS else 1e-5)
            assert mode not in BFLOAT16_PRODUCTS or error > 1e-4
    return [i for p in conversion.plan.partitions if isinstance(p, NativePartition) for i in p.insns]


def types(insns: list[Insn], kernel: str = "conv_last") -> list[str]:
    """The signature of each instruction of a kernel, without absent operands at its end."""
    letters = {1: "f", BF16: "b"}
    return [
        "".join("~" if r is None else letters[r.dtype] for r in i.ins).rstrip("~")
        + ":"
        + letters[i.outs[0].dtype]
        for i in insns
        if i.kernel == kernel
    ]


def test_a_chain_stores_its_images_in_bfloat16() -> None:
    body = f"a = {CONV} (x, k, bias) b = Relu(a) c = {CONV} (b, k) d = Add(c, b) e = Relu(d) f = Conv(e, k2) "
    body += "g = MaxPool <kernel_shape = [2, 2]> (f) y = Conv(g, k2)"
    insns = insns_of(model(body, "float[batch,8,12,12] x", "y"), (1, 8, 12, 12), (3, 8, 12, 12))
    assert types(insns) == ["fbf:b", "bb~b:b", "bb:b", "bb:f"]
    assert types(insns, "max_pool_last") == ["b:b"]


@pytest.mark.parametrize("mode", ["origin", "must_keep_origin_dtype"])
def test_exact_modes_keep_float32(mode: str) -> None:
    body = f"a = {CONV} (x, k) b = {CONV} (a, k) c = {CONV} (b, k) y = {CONV} (c, k)"
    assert set(types(insns_of(model(body, X, "y"), (1, 8, 12, 12), mode=mode))) == {"ff:f"}


def test_odd_channels_and_an_image_with_channels_first() -> None:
    insns = insns_of(
        model(f"a = {CONV} (x, stem) b = {CONV} (a, k) y = Conv(b, k2)", "float[1,3,12,12] x", "y"),
        (1, 3, 12, 12),
    )
    assert types(insns) == ["fb:b", "bb:b", "bb:f"]


def test_channels_apart_keep_float32_weights() -> None:
    deep = "Conv <group = 8, pads = [1, 1, 1, 1]>"
    body = f"a = Conv(x, k2) b = Relu(a) c = {deep} (b, deep, bias) d = Relu(c) y = Conv(d, k2)"
    source = model(body, X, "y")
    assert types(insns_of(source, (1, 8, 12, 12))) == ["fb:b", "bff:b", "bb:f"]


def test_groups_of_an_odd_number_of_channels_keep_float32() -> None:
    """One channel in, nine out of each group: such pairs would read the next group's channel."""
    source = model(
        f"a = {CONV} (x, k) b = Conv <group = 8> (a, deep) c = Conv(b, k2) y = {CONV} (c, k)", X, "y"
    )
    shapes = {"deep": (72, 1, 3, 3), "k2": (8, 72, 1, 1)}
    for w in source.graph.initializer:
        if w.name in shapes:
            w.CopyFrom(onnx.numpy_helper.from_array(np.full(shapes[w.name], 0.25, np.float32), w.name))
    assert types(insns_of(source, (1, 8, 12, 12))) == ["fb:f", "ff:b", "bb:b", "bb:f"]


def test_what_else_reads_an_image_keeps_it_in_float32() -> None:
    body = (
        f"a = {CONV} (x, k) b = {CONV} (a, k) s = Softmax <axis = 1> (b) c = {CONV} (b, k) y = {CONV} (c, k)"
    )
    kinds = types(insns_of(model(body, X, "y s"), (1, 8, 12, 12)))
    assert kinds == ["fb:b", "bb:f", "fb:b", "bb:f"]


def test_functions_behind_a_convolution() -> None:
    body = f"a = {CONV} (x, k) b = Sigmoid(a) m = Mul(a, b) c = {CONV} (m, k) d = Tanh(c) y = {CONV} (d, k)"
    assert types(insns_of(model(body, X, "y"), (1, 8, 12, 12))) == ["fb:b", "bb:b", "bb:f"]


def test_concatenations_and_averages() -> None:
    body = f"a = {CONV} (x, k) b = {CONV} (a, k) c = Concat <axis = 1> (a, b) d = Conv(c, two) "
    body += f"e = AveragePool <kernel_shape = [2, 2]> (d) f = {CONV} (e, k) "
    insns = insns_of(model(body + "y = GlobalAveragePool(f)", X, "y"), (1, 8, 12, 12))
    assert types(insns, "concat") == ["bb:b"]
    assert types(insns, "average_pool_last")[0] == "b:b"
    body = f'a = {CONV} (x, k) b = Resize <mode = "linear"> (a, , twice) c = GlobalAveragePool(b) '
    body += f"d = Conv(c, k2) m = Mul(b, d) e = {CONV} (m, k) y = {CONV} (e, k)"
    assert types(insns_of(model(body, X, "y"), (1, 8, 12, 12)), "average_pool_last") == ["f:b"]
    body = f"a = {CONV} (x, k) b = Softmax <axis = 1> (a) c = Concat <axis = 1> (a, b) d = Conv(c, two) "
    body += f"y = {CONV} (d, k)"
    assert types(insns_of(model(body, X, "y"), (1, 8, 12, 12)), "concat") == ["ff:f"]


def test_a_residual_is_of_its_sum_s_type() -> None:
    """The input, which stays float32, is added: so the sum is float32, and what follows reads that."""
    body = f"a = {CONV} (x, k) b = {CONV} (a, k) c = Add(b, x) d = {CONV} (c, k) y = {CONV} (d, k)"
    kinds = types(insns_of(model(body, X, "y"), (1, 8, 12, 12)))
    assert kinds == ["fb:b", "bb~f:f", "fb:b", "bb:f"]


def moved(insns: list[Insn]) -> list[tuple[str, str]]:
    """The types of the first operand and the result of what is no convolution."""
    letters = {1: "f", BF16: "b"}
    others = [(i, i.ins[0]) for i in insns if i.kernel != "conv_last"]
    return [(i.kernel, letters[x.dtype] + letters[i.outs[0].dtype]) for i, x in others if x is not None]


def test_slices_and_padding_move_bfloat16() -> None:
    body = f'a = {CONV} (x, k) p = Pad <mode = "reflect"> (a, around) b = Relu(p) c = {CONV} (b, k) '
    body += "s = Slice(c, from, to, width) "
    insns = insns_of(model(body + f"d = {CONV} (s, k) y = {CONV} (d, k)", X, "y"), (1, 8, 12, 12))
    assert types(insns) == ["fb:b", "bb:b", "bb:b", "bb:f"]
    assert [m for m in moved(insns) if m != ("copy", "ff")] == [
        ("pad", "bb"),
        ("elementwise", "bb"),
        ("copy", "bb"),
    ]  # the input is transposed, and the output


def test_copies_between_convolutions_move_bfloat16() -> None:
    body = f"a = {CONV} (x, k) b = {CONV} (a, k) c = Relu(b) {SHUFFLE} i = {CONV} (h, pair) "
    body += f"j = {CONV} (g, pair) l = Concat <axis = 1> (j, i) m = Conv(l, two) y = {CONV} (m, k)"
    insns = insns_of(model(body, "float[1,8,6,6] x", "y"), (1, 8, 6, 6))
    assert types(insns) == ["fb:b", "bb:b", "bb:b", "bb:b", "bb:b", "bb:f"]
    # The input and the output are transposed; channels are shuffled and split in two.
    assert moved(insns) == [
        ("copy", "ff"), *[("copy", "bb")] * 3, ("concat", "bb"), ("copy", "ff"),
    ]  # fmt: skip


def test_elementwise_instructions_between_convolutions() -> None:
    body = f"a = {CONV} (x, k) m = Mul(a, channel) n = Add(m, a) b = {CONV} (n, k) "
    insns = insns_of(model(body + "z = Softsign(b) y = Mul(z, b)", X, "y"), (1, 8, 12, 12))
    assert types(insns) == ["fb:b", "bb:f"]  # what leaves the model isn't rounded first
    assert [m for m in moved(insns) if m[0] == "elementwise"] == [
        ("elementwise", "bb"),
        ("elementwise", "ff"),
    ]


ISLANDS = (
    "{y} = Relu({x})", "{y} = Mul({x}, channel)", "{y} = Sin({x})", "{y} = Add({x}, {old})",
    "{y}s, {y}t = Split <axis = 1, num_outputs = 2> ({x}) {y} = Concat <axis = 1> ({y}t, {y}s)",
    "{y}c = Concat <axis = 1> ({x}, {old}) {y} = Conv({y}c, two)",
    "{y} = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> ({x})",
    "{y} = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> ({x})",
    "{y} = Conv <group = 8, pads = [1, 1, 1, 1]> ({x}, deep)", "{y} = Softmax <axis = 1> ({x})",
    "{y}t = Transpose <perm = [0, 3, 2, 1]> ({x}) {y} = Transpose <perm = [0, 3, 2, 1]> ({y}t)",
    "{y}r = Reshape({x}, groups) {y}t = Transpose <perm = [0, 2, 1, 3, 4]> ({y}r) {y} = Reshape({y}t, whole)",
    "{y}p = Pad({x}, around) {y} = Slice({y}p, begin, end, axes)",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_random_islands(seed: int) -> None:
    """Whatever stands between convolutions, results stay those of float32 within what rounding them costs:
    some ten values of one path are rounded, each by 2^-9, and no function here has a slope beyond 2."""
    random, names, body = np.random.default_rng(seed), ["x"], ""
    for i in range(9):
        form = f"{{y}} = {CONV} ({{x}}, k)" if i % 3 == 0 else ISLANDS[random.integers(len(ISLANDS))]
        old = names[random.integers(1, len(names))] if len(names) > 1 else "x"
        body += form.format(x=names[-1], y=f"v{i}", old=old) + " "
        names.append(f"v{i}")
    source = model(body + f"y = {CONV} ({names[-1]}, k)", "float[1,8,6,6] x", "y")
    for name, values in {"begin": [0, 0], "end": [6, 6], "axes": [2, 3]}.items():
        source.graph.initializer.append(onnx.numpy_helper.from_array(np.array(values), name))
    insns_of(source, (1, 8, 6, 6))
