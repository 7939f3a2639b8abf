"""PyTorch's tensors as the feeds of ais_bench's sessions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from ascend_ep.cann.ais_bench.interface import InferSession
from ascend_ep.compiler.convert import convert

torch = pytest.importorskip("torch")

NEG = """<ir_version: 8, opset_import: ["": 17]> g (float[2,3,4] x) => (float[2,3,4] y) { y = Neg(x) }"""


def test_tensors_are_taken_in_any_order_of_memory(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(NEG), tmp_path / "neg.onnx")
    convert(tmp_path / "neg.onnx").write(tmp_path / "neg.om")
    session = InferSession(0, str(tmp_path / "neg.om"))
    x = torch.arange(24, dtype=torch.float32).reshape(2, 4, 3)
    (y,) = session.infer([x.permute(0, 2, 1)])
    np.testing.assert_array_equal(y, -x.numpy().transpose(0, 2, 1))
    (y,) = session.infer([x.reshape(2, 3, 4).requires_grad_()])
    np.testing.assert_array_equal(y, -x.numpy().reshape(2, 3, 4))
