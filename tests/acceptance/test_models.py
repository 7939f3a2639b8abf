"""Each model gives the float64 reference's result in the own runtime and in stock onnxruntime, natively."""

from __future__ import annotations

from collections.abc import Callable

import onnxruntime
import pytest
from conversion import Converted, assert_close
from zoo import WHOLLY_NATIVE, ZOO

import ascend_ep

# float32 against float64: the longest chains here are a few dozen layers of sums over <= 512 terms.
BOUND = 2e-5

Convert = Callable[[str], Converted]


@pytest.mark.parametrize("name", sorted(ZOO))
def test_own_runtime(name: str, converted: Convert) -> None:
    model = converted(name)
    session = ascend_ep.InferenceSession(str(model.om))
    names = [output.name for output in session.get_outputs()]
    for feeds, reference in zip(model.feeds, model.references, strict=True):
        assert_close(session.run(None, feeds), names, reference, BOUND)


@pytest.mark.parametrize("file", ["onnx", "context"])
@pytest.mark.parametrize("name", sorted(ZOO))
def test_stock_onnxruntime(name: str, file: str, converted: Convert) -> None:
    model = converted(name)
    session = onnxruntime.InferenceSession(str(getattr(model, file)), providers=["AscendEP"])
    names = [output.name for output in session.get_outputs()]
    for feeds, reference in zip(model.feeds, model.references, strict=True):
        assert_close(session.run(names, feeds), names, reference, BOUND)


@pytest.mark.parametrize("name", WHOLLY_NATIVE)
def test_no_node_is_left_to_the_cpu_provider(name: str, converted: Convert) -> None:
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    session = onnxruntime.InferenceSession(str(converted(name).onnx), options, providers=["AscendEP"])
    providers = {subgraph.ep_name for subgraph in session.get_provider_graph_assignment_info()}
    assert providers == {"AscendEP"}


@pytest.mark.parametrize("name", WHOLLY_NATIVE)
def test_no_host_partition(name: str, converted: Convert) -> None:
    session = ascend_ep.InferenceSession(str(converted(name).om))
    assert session.get_providers() == ["AscendEP"]
