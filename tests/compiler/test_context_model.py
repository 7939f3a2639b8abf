"""m_ctx.onnx in stock onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from small_models import mixed, projection, swish

import ascend_ep
from ascend_ep.compiler.convert import convert


@pytest.mark.parametrize("build", [projection, swish, mixed])
def test_runs_in_stock_onnxruntime(build: object, tmp_path: Path) -> None:
    conversion = convert(build())  # type: ignore[operator]
    conversion.write(tmp_path / "m.om")
    context = conversion.context_model("m.om")
    (tmp_path / "m_ctx.onnx").write_bytes(context)
    theirs = onnxruntime.InferenceSession(str(tmp_path / "m_ctx.onnx"), providers=["AscendEP"])
    ours = ascend_ep.InferenceSession(tmp_path / "m.om")
    assert [(o.name, o.type) for o in theirs.get_outputs()] == [(o.name, o.type) for o in ours.get_outputs()]
    for n in (1, 6):
        x = np.random.default_rng(n).standard_normal((n, 16)).astype(np.float32)
        for a, b in zip(theirs.run(None, {"x": x}), ours.run(None, {"x": x}), strict=True):
            np.testing.assert_array_equal(a, b)


def test_what_it_holds() -> None:
    context = onnx.load_from_string(convert(projection()).context_model("m.om"))
    assert context.ir_version <= 10
    (node,) = context.graph.node
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    assert (node.domain, node.op_type) == ("com.microsoft", "EPContext")
    assert attributes["ep_cache_context"] == b"m.om"
    assert attributes["embed_mode"] == 0
    assert attributes["source"] == b"AscendEP"
    assert attributes["partition_name"] == b"p0"
    assert not context.graph.initializer
    assert [d.dim_param or d.dim_value for d in context.graph.output[0].type.tensor_type.shape.dim] == [
        8,
        "N",
    ]
