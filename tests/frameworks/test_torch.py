"""Definitions as PyTorch operators: values, gradients, fake tensors, torch.compile, the way to a bundle."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

import ascend_ep
from ascend_ep.cli.atc import main as atc
from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch import register, translations
from ascend_ep.frameworks.torch.schema import function_name, schema
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.registry import Registry


def tensor(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.rand(shape, dtype=torch.float64) + 0.1).to(dtype).requires_grad_()


CASES: dict[str, Any] = {
    "Swish": lambda d: (tensor(4, 33, dtype=d), 2.0),
    "PReLU": lambda d: (tensor(3, 4, 5, dtype=d), tensor(5, dtype=d)),
    "FastGelu": lambda d: (tensor(2, 7, dtype=d), None),
    "Gelu": lambda d: (tensor(2, 7, dtype=d), "tanh"),
    "GEGLU": lambda d: (tensor(3, 5, dtype=d), tensor(3, 5, dtype=d)),
    "GemmaRMSNorm": lambda d: (tensor(3, 5, dtype=d), tensor(5, dtype=d)),
    "AddRMSNorm": lambda d: (tensor(3, 5, dtype=d), tensor(3, 5, dtype=d), tensor(5, dtype=d)),
    "L2Normalize": lambda d: (tensor(3, 5, dtype=d),),
    "CrossEntropyLoss": lambda d: (tensor(4, 6, dtype=d), torch.tensor([0, 5, 2, 2]), 0.1, "mean"),
    "MSELoss": lambda d: (tensor(4, 6, dtype=d), tensor(4, 6, dtype=d), "none"),
}


@pytest.mark.parametrize("op", CASES)
def test_opcheck(op: str) -> None:
    report = torch.library.opcheck(register(op), CASES[op](torch.float32))
    assert set(report.values()) == {"SUCCESS"}


@pytest.mark.parametrize("op", CASES)
def test_gradcheck_in_float64(op: str) -> None:
    assert torch.autograd.gradcheck(register(op), CASES[op](torch.float64))


@pytest.mark.parametrize("op", CASES)
def test_float32_runs_in_the_runtime_and_agrees_with_float64(op: str) -> None:
    function = register(op)
    made = CASES[op](torch.float32)
    narrow, wide = (
        made,
        [
            t.detach().double().requires_grad_()
            if isinstance(t, torch.Tensor) and t.is_floating_point()
            else t
            for t in made
        ],
    )
    slopes = []
    for arguments in (narrow, wide):
        y = function(*arguments)
        whole = sum((t.double() ** 2).sum() for t in (y if isinstance(y, tuple) else (y,)))
        whole.backward()  # type: ignore[union-attr]
        slopes.append([t.grad for t in arguments if isinstance(t, torch.Tensor) and t.requires_grad])
    for a, b in zip(*slopes, strict=True):
        assert a.dtype == torch.float32
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-5)


def test_against_pytorchs_own_gradient() -> None:
    x = tensor(5, 17)
    register("Swish")(x, 2.0).sum().backward()
    mine, x.grad = x.grad, None
    (x * torch.sigmoid(2 * x)).sum().backward()
    torch.testing.assert_close(mine, x.grad)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_floats(dtype: torch.dtype) -> None:
    x = torch.randn(3, 33, dtype=dtype)
    y = register("Swish")(x)
    assert y.dtype == dtype
    torch.testing.assert_close(y.float(), torch.nn.functional.silu(x.float()), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compile(backend: str) -> None:
    swish = register("Swish")
    compiled = torch.compile(lambda t: swish(t, 2.0) * 2, backend=backend, fullgraph=True)
    for rows in (3, 4, 5):
        x = tensor(rows, 8)
        y = compiled(x)
        y.sum().backward()
        torch.testing.assert_close(y, 2 * x * torch.sigmoid(2 * x))
        assert x.grad is not None


def test_attributes_by_name_and_transposed_inputs() -> None:
    x = torch.randn(4, 6).T
    torch.testing.assert_close(register("Swish")(x, alpha=3.0), x * torch.sigmoid(3 * x))


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear(8, 6)
        self.slope = torch.nn.Parameter(torch.full((6,), 0.25))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return register("PReLU")(register("Swish")(self.line(x), 2.0) - 0.1, self.slope)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("dynamo", [False, True])
def test_from_pytorch_to_a_bundle(tmp_path: Path, dynamo: bool, capsys: pytest.CaptureFixture[str]) -> None:
    model, x = Model().eval(), torch.randn(5, 8)
    path = tmp_path / "m.onnx"
    with torch.no_grad():
        expected = model(x)
        table = {"custom_translation_table": translations()} if dynamo else {}
        torch.onnx.export(
            model, (x,), str(path), dynamo=dynamo, input_names=["x"], output_names=["y"], **table
        )
    nodes = {(n.domain, n.op_type): n for n in onnx.load(path).graph.node}
    assert ("ai.ascend", "PReLU") in nodes
    (alpha,) = nodes["ai.ascend", "Swish"].attribute[:1]
    assert onnx.helper.get_attribute_value(alpha) == 2.0
    options = [f"--model={path}", "--framework=5", f"--output={tmp_path / 'm'}", "--soc_version=Ascend910B3"]
    assert atc([*options, "--precision_mode=must_keep_origin_dtype"]) == 0, capsys.readouterr()
    session = ascend_ep.InferenceSession(str(tmp_path / "m.om"))
    assert session.get_providers() == ["AscendEP"]
    (y,) = session.run(None, {"x": x.numpy()})
    np.testing.assert_allclose(y, expected.numpy(), rtol=1e-5, atol=1e-6)


def test_a_definition_of_ones_own() -> None:
    entry = {
        "op": "MyScaledTanh",
        "inputs": [{"name": "x"}],
        "outputs": [{"name": "y"}],
        "formula": "s*tanh(x)",
    }
    entry["attr"] = [{"name": "s", "type": "float", "required": True}]
    (opdef,) = parse_definitions(json.dumps(entry))
    function = register(opdef)
    assert register(opdef) is function
    torch.testing.assert_close(function(torch.ones(3), 2.0), 2 * torch.tanh(torch.ones(3)))
    (other,) = parse_definitions(json.dumps({**entry, "formula": "s*sin(x)"}))
    with pytest.raises(AscendError, match="another operator already"):
        register(other)
    with pytest.raises(AscendError, match=r"E41011.*Unheard"):
        register("Unheard")


def test_what_the_definition_refuses() -> None:
    with pytest.raises(AscendError, match=r"E41011.*int32"):
        register("Swish")(torch.ones(3, dtype=torch.int32))
    with pytest.raises(AscendError, match="approximate"):
        register("Gelu")(torch.ones(3), "sideways")


def test_names_and_schemas() -> None:
    assert [function_name(n) for n in ("Swish", "SwiGLU", "RMSNorm", "MSELoss")] == [
        "swish",
        "swi_glu",
        "rms_norm",
        "mse_loss",
    ]
    found = Registry().resolve("any", "FastGelu", 1)
    assert found is not None
    assert schema(found.opdef) == "(Tensor x, Tensor? bias=None) -> Tensor"


def test_torch_is_imported_when_something_is_registered() -> None:
    code = "import sys, ascend_ep.frameworks.torch; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
