"""Names of dimensions that don't hold: onnxruntime runs such models, and so does everything here."""

from __future__ import annotations

import onnx
import pytest
from everywhere import Everywhere, parsed, ramp

KERNEL = "<float[4, 3, 3, 3] w = {" + ", ".join(["0.1"] * 108) + "}>"
IMAGE = f"""g (float[A,3,B,C] x) => (float[A,4,B,C] y) {KERNEL} {{
    a = Conv<pads = [1, 1, 1, 1]>(x, w) b = Relu(a) c = GlobalAveragePool(b) y = Add(b, c) }}"""


@pytest.mark.parametrize("name", ["?", " ", "-1", "None"])
def test_names_that_say_nothing_are_each_a_size_of_their_own(name: str) -> None:
    proto = onnx.ModelProto.FromString(parsed(IMAGE))
    for value in (*proto.graph.input, *proto.graph.output):
        for axis in (0, 2, 3):
            value.type.tensor_type.shape.dim[axis].dim_param = name
    sessions = Everywhere(proto.SerializeToString())
    for sizes in ((1, 48, 192), (3, 7, 5), (2, 9, 9)):
        sessions.check({"x": ramp(sizes[0], 3, *sizes[1:])})
    assert sessions.ours["own runtime"].get_inputs()[0].shape == [name, 3, name, name]
