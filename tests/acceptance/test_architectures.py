"""Named architectures as PyTorch's two exporters write them: every node native, results as PyTorch's.

By default all by the older exporter and a few by the other; --slow is every combination.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from architectures import ARCHITECTURES, export_architecture
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch_export import export

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

#: Of the largest magnitude of an output. float32: sums of another order. bfloat16 has 8 bits, float16 11.
EXACT, NARROW = 2e-4, 2e-2
SIZES = ((2, 7), (1, 3), (3, 11))  # batch and length; the first is the exported one
OPEN = [name for name, entry in ARCHITECTURES.items() if entry.free]
#: What runs without --slow.
OPEN_SAMPLE = ("gpt2", "llama_decode", "bert", "whisper_encoder")
DYNAMO_SAMPLE = ("lstm",)
MIXED_SAMPLE = ("gpt2", "deepseek", "roberta", "efficientnet", "lstm")
STOCK_SAMPLE = ("gemma", "yolo", "gru")
HALF_SAMPLE = ("llama_decode", "efficientnet", "gru")

slow = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Of PyTorch, whose threads cost more than these models."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def cases(names: list[str], sample: tuple[str, ...] | list[str]) -> list[object]:
    return [pytest.param(n, marks=() if n in sample else slow) for n in names]


@cache
def exported(name: str, exporter: str, free: bool, dtype: torch.dtype) -> onnx.ModelProto:
    return export_architecture(name, exporter, free, dtype)


def as_numpy(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype == torch.bfloat16:
        return tensor.float().numpy().astype(ml_dtypes.bfloat16)
    return tensor.numpy()


def check(
    name: str,
    exporter: str,
    free: bool = False,
    dtype: torch.dtype = torch.float32,
    precision: str = "origin",
) -> None:
    """Converts, finds no node on the host, and compares each output with PyTorch's."""
    model = exported(name, exporter, free, dtype)
    conversion = convert(model, ConvertOptions(codegen="off", self_check=False, precision=precision))
    hosts = [(r.node, r.op_type, r.reason) for r in conversion.partition_table if r.target != "AscendEP"]
    assert hosts == []
    session = ascend_ep.InferenceSession(conversion.to_bytes())
    assert session.get_providers() == ["AscendEP"]
    exact = dtype == torch.float32 and precision == "origin"
    compare(name, session, free, dtype, EXACT if exact else NARROW)


def compare(
    name: str,
    session: ascend_ep.InferenceSession | onnxruntime.InferenceSession,
    free: bool,
    dtype: torch.dtype,
    bound: float,
) -> None:
    """Each output at each size within `bound` of PyTorch's."""
    module = ARCHITECTURES[name].make(dtype)
    for batch, length in SIZES if free else SIZES[:1]:
        inputs = ARCHITECTURES[name].example(batch, length, dtype)
        with torch.no_grad():
            wanted = module(*inputs.values())
        results = session.run(None, {n: as_numpy(t) for n, t in inputs.items()})
        tensors = (wanted,) if isinstance(wanted, torch.Tensor) else wanted
        for output, result, tensor in zip(ARCHITECTURES[name].outputs, results, tensors, strict=True):
            want, got = tensor.double().numpy(), np.asarray(result).astype(np.float64)
            assert got.shape == want.shape, output
            worst = np.abs(got - want).max() / np.abs(want).max()
            assert worst < bound, f"{output} at {batch} x {length}: {worst:.1e}"


@pytest.mark.parametrize(
    "name", cases(list(ARCHITECTURES), [n for n in ARCHITECTURES if n not in OPEN_SAMPLE])
)
def test_torchscript(name: str) -> None:
    check(name, "torchscript")


@pytest.mark.parametrize("name", cases(list(ARCHITECTURES), DYNAMO_SAMPLE))
def test_dynamo(name: str) -> None:
    check(name, "dynamo")


@pytest.mark.parametrize("name", cases(OPEN, OPEN_SAMPLE))
def test_open_dimensions_torchscript(name: str) -> None:
    check(name, "torchscript", free=True)


@slow
@pytest.mark.parametrize("name", OPEN)
def test_open_dimensions_dynamo(name: str) -> None:
    check(name, "dynamo", free=True)


@pytest.mark.parametrize("name", cases(list(ARCHITECTURES), MIXED_SAMPLE))
def test_mixed_bfloat16(name: str) -> None:
    check(name, "torchscript", name in OPEN_SAMPLE, precision="mixed_bfloat16")


@pytest.mark.parametrize("name", cases(list(ARCHITECTURES), STOCK_SAMPLE))
def test_stock_onnxruntime(name: str) -> None:
    """All nodes on AscendEP there too."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    model = exported(name, "torchscript", name in OPEN_SAMPLE, torch.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["AscendEP"])
    compare(name, session, name in OPEN_SAMPLE, torch.float32, EXACT)


@slow
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_mixed_bfloat16_dynamo(name: str) -> None:
    check(name, "dynamo", precision="mixed_bfloat16")


@pytest.mark.parametrize("name", cases(list(ARCHITECTURES), HALF_SAMPLE))
def test_float16(name: str) -> None:
    check(name, "torchscript", dtype=torch.float16)


@slow
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_float16_dynamo(name: str) -> None:
    check(name, "dynamo", dtype=torch.float16)


@slow
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_bfloat16_dynamo(name: str) -> None:
    """Of this exporter alone: the older one writes casts of bfloat16 to complex128."""
    check(name, "dynamo", dtype=torch.bfloat16)


class PaddedTagger(torch.nn.Module):
    """Rows of different lengths through LSTM layers: torch.onnx.export writes sequence_lens."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(8, 12, num_layers=2, bidirectional=True, batch_first=True)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states, (last, _) = self.lstm(packed)
        return pad_packed_sequence(states, batch_first=True)[0], last


def test_rows_of_different_lengths() -> None:
    torch.manual_seed(0)
    module, x = PaddedTagger().eval(), torch.randn(3, 7, 8)
    names, free = ["x", "lengths"], {"x": {0: "batch", 1: "steps"}, "lengths": {0: "batch"}}
    model = export(module, [x, torch.tensor([7, 4, 2])], names, ["states", "last"], free)
    conversion = convert(model, ConvertOptions(codegen="off", self_check=False))
    session = ascend_ep.InferenceSession(conversion.to_bytes())
    assert session.get_providers() == ["AscendEP"]
    for given in ([7, 4, 2], [3, 7, 7]):
        lengths = torch.tensor(given)
        with torch.no_grad():
            wanted = module(x, lengths)
        for got, want in zip(
            session.run(None, {"x": x.numpy(), "lengths": lengths.numpy()}), wanted, strict=True
        ):
            np.testing.assert_allclose(got, want.numpy(), atol=1e-6)
