"""Random If, Loop and Scan in both runtimes, beside onnxruntime's CPU provider."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from control_flow_models import ControlFlow

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

OPTIONS = onnxruntime.SessionOptions()
OPTIONS.log_severity_level = 4
#: n, m, c, trips
SIZES = ((1, 1, True, 0), (3, 2, False, 2), (2, 1, True, 3))


def check(seed: int) -> None:
    """Bundle and plugin give what onnxruntime gives, for sizes and conditions of several kinds."""
    drawn = ControlFlow(seed)
    source = drawn.model.SerializeToString()
    cpu = onnxruntime.InferenceSession(source, OPTIONS, providers=["CPUExecutionProvider"])
    bundle = convert(
        drawn.model, ConvertOptions(codegen="off", self_check=False, precision="origin")
    ).to_bytes()
    sessions = {
        "own runtime": ascend_ep.InferenceSession(bundle),
        "onnxruntime": onnxruntime.InferenceSession(source, OPTIONS, providers=["AscendEP"]),
    }
    for sizes in SIZES:
        feeds = drawn.feeds(*sizes)
        try:
            wanted = cpu.run(None, feeds)
        except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
            continue  # a sequence without rows, which Scan doesn't take
        for where, session in sessions.items():
            for value, got, want in zip(drawn.values, session.run(None, feeds), wanted, strict=True):
                what = f"{where}, seed {seed}, {sizes}: {value}"
                assert got.shape == want.shape, what
                np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4, err_msg=what)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 200), marks=pytest.mark.slow)])
def test_control_flow_is_onnxruntimes(seeds: range) -> None:
    for seed in seeds:
        check(seed)
