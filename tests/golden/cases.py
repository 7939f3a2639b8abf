"""The models of golden sets: each family of kernels, types and forms of bundles, in few bytes.

A new case is in the sets that are written after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """A model in ONNX's text form. `weights` are normal float32 of these shapes, `constants` as they are;
    `sizes` gives free dimensions, one run each; integer inputs are below `below`."""

    name: str
    inputs: str
    nodes: str
    outputs: str
    weights: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    sizes: Sequence[Mapping[str, int]] = ({},)
    below: int = 3
    opset: int = 24
    options: Mapping[str, Any] = field(default_factory=dict)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


QUANTISED: dict[str, Any] = {
    "s": np.float32(0.05),
    "z": np.uint8(128),
    "ws": np.float32(0.02),
    "wz": np.int8(0),
    "q": np.random.default_rng(5).integers(-127, 128, (6, 4, 3, 3), np.int8),
    "m": np.random.default_rng(6).integers(-127, 128, (6 * 49, 10), np.int8),
}
SAME = 'auto_pad = "SAME_UPPER"'

CASES = [
    Case(
        "matmul",
        "float[5,37] x, float[2,5,37] y, float[37,33] w",
        """a0 = MatMul(x, u) a1 = Add(a0, c) a = Relu(a1)
        b0 = Gemm<transB = 1, alpha = 0.5>(x, v, c) b = Gelu(b0)
        d = MatMul(y, w)
        n = RMSNormalization<axis = -1>(y, scale) e = MatMul(n, u)
        g = MatMul(n, u) h = MatMul(n, t) i = Sigmoid(g) j = Mul(g, i) f = Mul(j, h)
        k = Einsum<equation = "bij,jk->bki">(y, w)
        l = Clip(d, low, high)""",
        "float a, float b, float d, float e, float f, float k, float l",
        {"u": (37, 40), "v": (40, 37), "t": (37, 40), "c": (40,), "scale": (37,)},
        {"low": np.float32(-1), "high": np.float32(2)},
    ),
    Case(
        "matmul_others",
        "float[2,4,4] x, int32[3,5] i, int32[5,4] j, uint8[3,12] q",
        """a = Det(x) b = MatMul(i, j) c = MatMulInteger(q, p, z, zw)""",
        "float a, int32 b, int32 c",
        constants={"p": QUANTISED["m"][:12], "z": np.uint8(3), "zw": np.int8(0)},
    ),
    Case(
        "conv",
        "float[1,4,11,9] x, float[1,4,5,6,7] y, float[1,32,12,12] z",
        f"""a0 = Conv<{SAME}>(x, w, c) a = Relu(a0)
        b0 = Conv<strides = [2, 2], pads = [1, 1, 1, 1]>(a, v) b = Clip(b0, low, high)
        d = Conv<group = 4, dilations = [2, 2]>(x, depth)
        e0 = Conv(a, one) e1 = Add(e0, a) e = Sigmoid(e1)
        f = ConvTranspose<strides = [2, 2]>(x, turned)
        g = Conv<{SAME}>(y, volume)
        h = DeformConv<pads = [1, 1, 1, 1]>(x, w, offset)
        i0 = Conv<pads = [1, 1, 1, 1]>(z, square) i = Relu(i0)""",
        "float b, float d, float e, float f, float g, float h, float i",
        {
            "w": (8, 4, 3, 3), "c": (8,), "v": (12, 8, 3, 3), "depth": (4, 1, 3, 3), "one": (8, 8, 1, 1),
            "turned": (4, 6, 3, 3), "volume": (6, 4, 3, 3, 3), "square": (32, 32, 3, 3),
            "offset": (1, 18, 11, 9),
        },
        {"low": np.float32(0), "high": np.float32(6)},
    ),
    Case(
        "pooling",
        "float[1,5,12,10] x, float[1,3,13] y",
        """a = MaxPool<kernel_shape = [3, 2], strides = [2, 2], pads = [1, 0, 1, 0]>(x)
        b, at = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)
        c = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1>(x)
        d = AveragePool<kernel_shape = [4], strides = [3], ceil_mode = 1>(y)
        e = GlobalAveragePool(x) f = GlobalMaxPool(y) g = LpPool<kernel_shape = [2, 2]>(x)
        h = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(b, at)
        i0 = Conv(x, w) i1 = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(i0) i2 = Conv(i1, v)
        i3 = AveragePool<kernel_shape = [2, 2]>(i2) i = Conv(i3, v)""",
        "float a, float b, int64 at, float c, float d, float e, float f, float g, float h, float i",
        {"w": (8, 5, 1, 1), "v": (8, 8, 1, 1)},
    ),
    Case(
        "norm",
        "float[2,6,7] x",
        """a = LayerNormalization<axis = -1>(x, scale, bias)
        b0 = Add(x, r) b = RMSNormalization<axis = -1>(b0, scale)
        c = GroupNormalization<num_groups = 3>(x, wide, wide)
        d = InstanceNormalization(x, wide, low)
        e = BatchNormalization(x, wide, low, low, positive)
        f = LpNormalization<axis = 1, p = 1>(x) g = LpNormalization<axis = -1, p = 2>(x)
        h = LRN<size = 3>(x) i0 = LayerNormalization<axis = -1>(x, scale, bias) i = Gelu(i0)
        j = Softmax<axis = 1>(x) k = LogSoftmax(x) l = Softmax(x)""",
        """float a, float b, float c, float d, float e, float f, float g, float h, float i, float j, float k,
        float l""",
        {"scale": (7,), "bias": (7,), "r": (2, 6, 7), "wide": (6,), "low": (6,)},
        {"positive": floats(1, 2, 0.5, 1, 3, 0.25)},
    ),
    Case(
        "reduction",
        "float[3,5,7] x, int64[3,5] i, double[4,3] d",
        """a = ReduceSum<keepdims = 0>(x, first) b = ReduceMean(x, both) c = ReduceMax(x, last)
        e = ReduceL2(x, first) f = ReduceProd(i, last) g = ReduceLogSumExp(x, last) h = ReduceSumSquare(d)
        k = ArgMax<axis = 1>(x) l = ArgMin<axis = -1, select_last_index = 1>(i)
        m = CumSum<reverse = 1, exclusive = 1>(x, axis) n, o = TopK<axis = 1>(x, three) p = Hardmax(x)
        q = ReduceL1(x, both) r = ReduceLogSum(e, last)""",
        """float a, float b, float c, float e, int64 f, float g, double h, int64 k, int64 l, float m, float n,
        int64 o, float p, float q, float r""",
        constants={
            "first": ints(0), "both": ints(0, 2), "last": ints(-1), "axis": np.int64(1), "three": ints(3),
        },
    ),
    Case(
        "attention",
        "float[1,2,5,8] q, float[1,2,9,8] k, float[1,2,9,8] v, float[1,1,5,9] mask, float[1,4,1,8] one, "
        "float[1,2,6,8] pk, float[1,2,6,8] pv, float[1,2,1,8] nk, float[1,2,1,8] nv",
        """a = Attention(q, k, v, mask)
        b0 = Transpose<perm = [0, 1, 3, 2]>(k) b1 = MatMul(q, b0) b2 = Mul(b1, eighth) b3 = Softmax(b2)
        b = MatMul(b3, v)
        c, ck, cv = Attention<is_causal = 1>(one, nk, nv, , pk, pv)
        d = RotaryEmbedding(q, cosines, sines)
        e = RotaryEmbedding<interleaved = 1>(q, cosines, sines)""",
        "float a, float b, float c, float ck, float cv, float d, float e",
        {"cosines": (1, 5, 4), "sines": (1, 5, 4)},
        {"eighth": np.float32(0.35355338)},
    ),
    Case(
        "recurrent",
        "float[5,3,6] x, float[1,3,4] h, float[1,3,4] c",
        """a, ah, ac = LSTM<hidden_size = 4>(x, wl, rl, bl, , h, c)
        b, bh = GRU<hidden_size = 4, direction = "bidirectional", linear_before_reset = 1>(x, wg, rg)
        d, dh = RNN<hidden_size = 4, activations = ["Affine"], activation_alpha = [0.5],
            activation_beta = [0.1]>(x, wr, rr)""",
        "float a, float ah, float ac, float b, float bh, float d, float dh",
        {
            "wl": (1, 16, 6), "rl": (1, 16, 4), "bl": (1, 32), "wg": (2, 12, 6), "rg": (2, 12, 4),
            "wr": (1, 4, 6), "rr": (1, 4, 4),
        },
    ),
    Case(
        "elementwise",
        "float[3,17] x, float[17] y, int64[3,17] i, bool[3,17] t, double[5] d",
        """a0 = Mul(x, y) a1 = Exp(a0) a2 = Add(a1, x) a3 = Abs(a2) a4 = Sqrt(a3) a5 = Tanh(a4)
        a = Where(t, a5, x)
        b = Erf(x) c = Pow(a3, y) e = Mod(i, seven) f0 = Greater(x, y) f = And(f0, t) g = Cast<to = 10>(x)
        h = Sin(x) k = Log(a3) l = Elu(x) m = HardSwish(x) n = Sqrt(d) o = Round(x) p0 = Cast<to = 10>(a0)
        p = Neg(p0)
        r = BitShift<direction = "LEFT">(u, v) s = Not(t) w = Mish(x) z = Celu(x)""",
        """float a, float b, float c, int64 e, bool f, float16 g, float h, float k, float l, float m,
        double n, float o, float16 p, uint8 r, bool s, float w, float z""",
        constants={"seven": ints(7), "u": np.array([1, 2, 3], np.uint8), "v": np.array([1, 3, 7], np.uint8)},
        below=100,
    ),
    Case(
        "movement",
        "float[3,4,5] x, float16[2,4,6] h, bool[4,4] t, int64[1] n",
        """a = Transpose<perm = [2, 0, 1]>(x) b = Concat<axis = 1>(x, x, x) c = Pad<mode = "reflect">(x, pads)
        d = Slice(x, start, end, axes, steps) e, f = Split<axis = 1, num_outputs = 2>(x) g = Expand(x, sizes)
        i = Tile(h, twice) j = Trilu<upper = 0>(t) k = Trilu(x, one) l0 = Reshape(h, square)
        l = SpaceToDepth<blocksize = 2>(l0)
        m = DepthToSpace<blocksize = 2, mode = "CRD">(l) o = Pad(h, pads) p = ConstantOfShape(n)
        q = EyeLike(t)""",
        """float a, float b, float c, float d, float e, float f, float g, float16 i, bool j, float k,
        float16 l, float16 m, float16 o, float p, bool q""",
        constants={
            "pads": ints(1, 0, 2, 0, 1, 1), "start": ints(3, -1), "end": ints(0, -6), "axes": ints(1, 2),
            "steps": ints(-1, -2), "sizes": ints(2, 3, 4, 5), "twice": ints(1, 2, 1), "one": np.int64(1),
            "square": ints(1, 2, 4, 6),
        },
    ),
    Case(
        "indexing",
        "float[3,4,5] x, int64[3,2] i, int32[3,4,2] j, int64[2,2] at, float[2,5] u, int64[3] n, "
        "float[3,1,5] v, int64[3] lengths",
        """a = Gather<axis = 1>(x, i) b = GatherElements<axis = 2>(x, j) c = GatherND(x, at)
        d = ScatterND<reduction = "add">(x, at, u) e0 = GatherElements<axis = 2>(x, j)
        e = ScatterElements<axis = 2>(x, j, e0) f = OneHot<axis = -1>(i, depth, values)
        g = ReverseSequence<batch_axis = 0, time_axis = 1>(x, lengths)
        h = TensorScatter<axis = 1, mode = "circular">(x, v, n) k = GatherND<batch_dims = 1>(x, n1)""",
        "float a, float b, float c, float d, float e, float f, float g, float h, float k",
        constants={"depth": ints(4), "values": floats(-1, 2), "n1": ints(0, 3, 1).reshape(3, 1)},
    ),
    Case(
        "image",
        "float[1,3,6,7] x, float[1,4,5,2] grid, float[2,4] boxes, float[1,12,9] columns",
        """a = Resize<mode = "linear">(x, , scales) b = Resize<mode = "nearest">(x, , , sizes)
        c = Resize<mode = "cubic", coordinate_transformation_mode = "align_corners">(x, , , sizes)
        d = Resize<mode = "linear", antialias = 1>(x, , small)
        e = GridSample(x, grid)
        f = GridSample<mode = "cubic", padding_mode = "reflection", align_corners = 1>(x, grid)
        g = RoiAlign<output_height = 2, output_width = 3, sampling_ratio = 2>(x, boxes, batch)
        h = Col2Im(columns, shape, block)""",
        "float a, float b, float c, float d, float e, float f, float g, float h",
        constants={
            "scales": floats(1, 1, 1.7, 2), "sizes": ints(1, 3, 9, 11), "small": floats(1, 1, 0.5, 0.6),
            "batch": ints(0, 0), "shape": ints(4, 4), "block": ints(2, 2),
        },
    ),
    Case(
        "quantize",
        "float[3,8] x, int8[3,8] q",
        """a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) c = DequantizeLinear<axis = 1>(q, each)
        d = QuantizeLinear<axis = 1, block_size = 4>(x, blocks) e, f, g = DynamicQuantizeLinear(x)""",
        "uint8 a, float b, float c, uint8 d, uint8 e, float f, uint8 g",
        constants={
            "s": np.float32(0.03), "z": np.uint8(120), "each": floats(*(0.1 * i for i in range(1, 9))),
            "blocks": np.array([[0.1, 0.2], [0.3, 0.05], [0.02, 0.4]], np.float32),
        },
    ),
    Case(
        "int8",
        "float[1,4,7,7] x",
        f"""a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) w = DequantizeLinear(q, ws, wz)
        c = Conv<{SAME}>(b, w) e = QuantizeLinear(c, s, z) f = DequantizeLinear(e, s, z)
        g = Flatten(f) v = DequantizeLinear(m, ws, wz) h = MatMul(g, v) i = QuantizeLinear(h, s, z)
        y = DequantizeLinear(i, s, z)
        j = QLinearConv<strides = [2, 2]>(a, s, z, q, ws, wz, s, z)
        k = ConvInteger<pads = [1, 1, 1, 1]>(a, q, z, wz)
        l0 = Flatten(e) l = QLinearMatMul(l0, s, z, m, ws, wz, s, z)
        o0, o1, o2 = DynamicQuantizeLinear(g) o3 = MatMulInteger(o0, m, o2, wz) o4 = Cast<to = 1>(o3)
        o5 = Mul(o1, ws) o = Mul(o4, o5)""",
        "float y, uint8 j, int32 k, uint8 l, float o",
        constants=QUANTISED,
        opset=21,
    ),
    Case(
        "bfloat16",
        "float[6,48] x, float[1,4,8,8] p",
        f"""n = RMSNormalization<axis = -1>(x, scale) g = MatMul(n, u) h = MatMul(n, v) i = Sigmoid(g)
        j = Mul(g, i)
        k = Mul(j, h) a = MatMul(k, w)
        b0 = Conv<{SAME}>(p, c) b1 = Relu(b0) b2 = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(b1)
        b = Conv(b2, e)""",
        "float a, float b",
        {"u": (48, 64), "v": (48, 64), "w": (64, 48), "scale": (48,), "c": (8, 4, 3, 3), "e": (8, 8, 1, 1)},
        options={"precision": "mixed_bfloat16"},
    ),
    Case(
        "half",
        "float16[5,16] x",
        "a = MatMul(x, h) b = Softmax(a) y = Add(b, x)",
        "float16 y",
        constants={"h": np.random.default_rng(8).standard_normal((16, 16)).astype(np.float16)},
        options={"precision": "must_keep_origin_dtype"},
    ),
    Case(
        "dynamic",
        "float[N,T,12] x, int64[N,T] mask",
        """m = Cast<to = 1>(mask) u = Unsqueeze(m, last) a = Mul(x, u) b = MatMul(a, w)
        c = Softmax<axis = 1>(b)
        s = Shape(x) t = Slice(s, zero, two) v = Concat<axis = 0>(t, parts) d = Reshape(c, v)
        e = Transpose<perm = [0, 2, 1, 3]>(d) y = ReduceMean<keepdims = 0>(e, last)""",
        "float y",
        {"w": (12, 8)},
        {"last": ints(-1), "zero": ints(0), "two": ints(2), "parts": ints(2, 4)},
        sizes=({"N": 1, "T": 1}, {"N": 3, "T": 7}, {"N": 2, "T": 19}),
    ),
    Case(
        "profiles",
        "float[N,10] x",
        "a = MatMul(x, w) b = Relu(a) y = Concat<axis = 1>(b, x)",
        "float y",
        {"w": (10, 6)},
        sizes=({"N": 1}, {"N": 4}, {"N": 8}),
        options={"profiles": ({"N": 1}, {"N": 4}, {"N": 8})},
    ),
    Case(
        "host",
        "float[N,10] x",
        "a = MatMul(x, w) b = Round(a) c = NonZero(b) d = Transpose(c) y = Concat<axis = 1>(d, d)",
        "int64 y",
        {"w": (10, 6)},
        sizes=({"N": 2}, {"N": 5}),
    ),
    Case(
        "external",
        "float[3,10] x",
        "a = MatMul(x, w) b = Tanh(a) y = MatMul(b, v)",
        "float y",
        {"w": (10, 6), "v": (6, 33)},
        options={"external_weight": 2},
    ),
]  # fmt: skip
