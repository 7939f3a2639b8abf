"""Declared shapes that the model contradicts: as in onnxruntime they are said, and the true ones count."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from everywhere import Everywhere, parsed, ramp

WEIGHTS = "<int64[3] flat = {0, 1, -1}, int64[1] all = {-1}>"
#: nodes from x [N,4,6] to h, of which a shape is declared, and y
NODES = {
    "a reshaped one": "h = Reshape(x, flat) y = Neg(h)",
    "an output": "a = Relu(x) h = Reshape(a, all) y = Exp(h)",
    "of what the data says": "a = Relu(x) h = NonZero(a) y = Neg(h)",
    "in a branch": "c = Constant<value = bool {1}>() h = If (c) <then_branch = t () => (float[5,5] p) "
                   "{ p = Reshape(x, all) }, else_branch = e () => (float[7] q) { q = Reshape(x, flat) }> "
                   "y = Neg(h)",
}  # fmt: skip
DECLARED: tuple[tuple[int | str, ...], ...] = ((1, "seq"), (3, 1, 5), (7, 7, 7, 7), ("N", 1, 24), ())


def declaring(nodes: str, dims: tuple[int | str, ...], inner: bool) -> bytes:
    """The model with `dims` declared of h: as an output, or of a value within."""
    outputs = "y" if inner else "h, y"
    proto = onnx.ModelProto.FromString(parsed(f"g (float[N,4,6] x) => ({outputs}) {WEIGHTS} {{ {nodes} }}"))
    dtype = onnx.TensorProto.INT64 if "NonZero" in nodes else onnx.TensorProto.FLOAT
    info = onnx.helper.make_tensor_value_info("h", dtype, dims)
    if inner:
        proto.graph.value_info.append(info)
    else:
        proto.graph.output[0].CopyFrom(info)
    proto.graph.output[-1].type.tensor_type.elem_type = dtype
    return proto.SerializeToString()


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("what", NODES)
@pytest.mark.filterwarnings("ignore:shapes that the model declares:RuntimeWarning")
def test_the_true_shape_counts(what: str, inner: bool) -> None:
    for dims in DECLARED:
        sessions = Everywhere(declaring(NODES[what], dims, inner))
        for n in (1, 3):
            sessions.check({"x": ramp(n, 4, 6)})


def test_it_is_said_once_with_the_node() -> None:
    with pytest.warns(RuntimeWarning, match=r"\[1,seq\] of 'h' \(node \[h\]\), which is \[N,1,24\]") as said:
        sessions = Everywhere(declaring(NODES["a reshaped one"], (1, "seq"), inner=False))
    assert len([w for w in said if "don't count" in str(w.message)]) == 1
    assert sessions.ours["own runtime"].get_outputs()[0].shape == ["N", 1, 24]
    sessions.check({"x": np.ones((2, 4, 6), np.float32)})


@pytest.mark.filterwarnings("ignore:shapes that the model declares:RuntimeWarning")
@pytest.mark.parametrize("declared", ["float", "float[1]", "float[2,3]", "float[9]", "float[S]"])
@pytest.mark.parametrize("given", [(), (1,), (3,), (2, 3)])
def test_what_a_loop_carries_may_contradict_its_body(declared: str, given: tuple[int, ...]) -> None:
    """onnxruntime checks a model's inputs, not those of a body. Its Python starts again without a provider
    that fails, so the result is there; what it prints says which value it was."""
    dims = ",".join(map(str, given))
    model = parsed(
        f"""g (float[{dims}] x) => (y) <int64 n = {{3}}, bool on = {{1}}> {{ y = Loop (n, on, x) <body =
        b (int64 i, bool c, {declared} s) => (bool d, {declared} z)
        {{ d = Identity(c) e = Exp(s) f = Neg(e) g = Abs(f) z = Log(g) }}> }}""".replace("[]", "")
    )
    proto = onnx.ModelProto.FromString(model)
    proto.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    sessions = Everywhere(proto.SerializeToString())
    for _ in range(2):
        sessions.check({"x": ramp(*given) if given else np.array(0.5, np.float32)})
