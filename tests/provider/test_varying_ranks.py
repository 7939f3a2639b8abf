"""Values of which sizes at run decide the rank: whatever a model declares of them, each run is right."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from everywhere import Everywhere, parsed, ramp

#: nodes from x [B,1,C,4] to r, whose rank isn't the same for all sizes or data; the operator set
NODES = {
    "squeezed": ("r = Squeeze(x)", 17),
    "squeezed by an old operator": ("r = Squeeze(x)", 9),
    "squeezed along axes that are fed": ("r = Squeeze(x, axes)", 17),
    "reduced along axes that are fed": ("r = ReduceSum<keepdims = 0>(x, axes)", 17),
    "unsqueezed along axes that are fed": ("r = Unsqueeze(x, axes)", 17),
    "of a shape that is fed": ("r = Reshape(x, axes)", 17),
    "of either branch": ("r = If (c) <then_branch = t () => (p) { p = Squeeze(x) }, "
                         "else_branch = e () => (q) { q = Neg(x) }>", 17),
    "of a shape of its own": ("q = Squeeze(x) t = Shape(q) o = ConstantOfShape(t) r = Sub(o, q)", 17),
    "carried by a loop": ("r = Loop (trips, c, x) <body = l (i, k, v) => (k2, v2) "
                          "{ k2 = Identity(k) v2 = Unsqueeze(v, zero) }>", 17),
}  # fmt: skip
AXES = {"squeezed along axes that are fed": [1], "unsqueezed along axes that are fed": [0, 1],
        "reduced along axes that are fed": [3, 1], "of a shape that is fed": [2, -1]}  # fmt: skip
#: what is done with r: nothing, elementwise work, work for which its rank has to be known
USES = (
    "y = Identity(r)",
    "a = Sigmoid(r) b = Mul(a, half) y = Add(b, r)",
    "f = Flatten<axis = 0>(r) g = MatMul(f, m) y = Neg(g)",
    "s = Reshape(r, rows) n = MatMul(s, w) y = Relu(n)",
)
WEIGHTS = (
    "<float half = {0.5}, float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, int64[2] rows = {-1, 4}, "
    "int64[1] zero = {0}, int64 trips = {2}>"
)


def varying(what: str, use: str, declared: tuple[int | str, ...] | None) -> bytes:
    nodes, opset = NODES[what]
    inputs = "float[B,1,C,4] x, bool c, int64[K] axes, float[M,2] m"
    proto = onnx.ModelProto.FromString(parsed(f"g ({inputs}) => (y) {WEIGHTS} {{ {nodes} {use} }}", opset))
    proto.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    if declared is not None:
        info = onnx.helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT, declared)
        proto.graph.value_info.append(info)
        proto.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", 1, declared))
    used = {name for node in proto.graph.node for name in node.input} | {"x", "v"}
    used |= {n for node in proto.graph.node for a in node.attribute for i in a.g.node for n in i.input}
    kept = [i for i in proto.graph.input if i.name in used]
    del proto.graph.input[:]
    proto.graph.input.extend(kept)
    return proto.SerializeToString()


@pytest.mark.filterwarnings("ignore:shapes that the model declares:RuntimeWarning")
@pytest.mark.parametrize("declared", [None, ("B", 4)], ids=str)
@pytest.mark.parametrize("what", NODES)
def test_each_run_has_the_rank_of_its_sizes(what: str, declared: tuple[int | str, ...] | None) -> None:
    for use in USES:
        sessions = Everywhere(varying(what, use, declared))
        inputs = {i.name for i in sessions.cpu.get_inputs()}
        for b, c in ((1, 1), (3, 1), (1, 5), (2, 3)):
            feeds = {
                "x": ramp(b, 1, c, 4),
                "c": np.array(b > c),
                "axes": np.array(AXES.get(what, [0])),
                "m": ramp(b * c * 4, 2),
            }
            try:
                sessions.cpu.run(None, {name: feeds[name] for name in inputs})
            except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
                continue  # sizes for which the nodes don't fit together
            sessions.check({name: feeds[name] for name in inputs})
