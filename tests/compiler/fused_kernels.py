"""What a model becomes by fusions, and that its results stay onnxruntime's."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.plan.plan import NativePartition


def fused_kernels(
    source: onnx.ModelProto,
    feeds: dict[str, np.ndarray],
    codegen: str = "off",
    off: tuple[str, ...] = (),
    atol: float = 1e-5,
) -> list[str]:
    """Converts, compares a run with onnxruntime's; the kernels of the instructions in order. `off`: names of
    rules that are switched off."""
    options = ConvertOptions(self_check=False, sample_seed=None, codegen=codegen, fusions_off=off)
    conversion = convert(source, options)
    got = ascend_ep.InferenceSession(conversion.to_bytes()).run(None, feeds)
    session = ort.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    for mine, theirs in zip(got, session.run(None, feeds), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=atol)
    return [i.kernel for p in conversion.plan.partitions if isinstance(p, NativePartition) for i in p.insns]
