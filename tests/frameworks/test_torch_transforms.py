"""Every operator that has a gradient, in every way in which PyTorch transforms and records one: all behind
--slow, a sample of each kind here."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch_all_operators import calls
from torch_transform_checks import CHECKS, TOO_LONG, close, gradient, plain

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch import register
from ascend_ep.frameworks.torch.extension.cpp_source import source_text
from ascend_ep.frameworks.torch.gradient_operator import READERS
from ascend_ep.frameworks.torch.torch_library import definition_of
from ascend_ep.opdef.loader import parse_definitions

#: A formula of one input and of several, a kernel with an absent input, infinite results; equivalents: one
#: that reads elements, one that reads those of its own inputs, one of a list, one of strides.
SAMPLE = (
    *("Swish", "LayerNorm 1", "SwiGLU 1", "CausalMask"),
    *("ONNX's MatMul 1", "ONNX's ReduceL2", "ONNX's Range", "ONNX's Concat", "ONNX's Scaler"),
)
#: Those of the sample for checks that compile.
COMPILED = ("Swish", "ONNX's Concat", "ONNX's ReduceL2")
#: Those with another type: PyTorch has no half of one's function, another has numbers without a slope.
NARROW = (*COMPILED, "ONNX's Det", "ONNX's Mod", "ONNX's RoiAlign")
#: What PyTorch itself or a kernel can't, by the check, with the reason.
BEYOND = {
    "vmap_of_grad": {"ONNX's ScatterND": "PyTorch's slope of a product of elements reads them"},
    "narrow_types": {f"ONNX's {op}": "onnxruntime hasn't all types of it" for op in ("Dropout", "MaxUnpool")},
    "compiled": {
        "ONNX's Range": "the elements decide its size",
        "ONNX's ScatterND": "PyTorch's slope of a product of elements reads them",
    },
    "compiled_forward_mode": {"TopK 1": "PyTorch's rules of dual numbers compare sizes that elements decide"},
    "compiled_of_a_batch": {
        **{f"ONNX's {op}": "a size that elements decide has no batch" for op in READERS},
        "TopK 1": "a size that elements decide has no batch",
        "ONNX's ScatterND": "PyTorch's slope of a product of elements reads them",
    },
}


def beyond(check: str, name: str) -> bool:
    known = BEYOND.get(check, {})
    return name in known or name.rsplit(" ", 1)[0] in known


@pytest.mark.parametrize("check", CHECKS)
def test_a_sample_of_operators(check: str) -> None:
    names = COMPILED if check.startswith("compiled") else NARROW if check == "narrow_types" else SAMPLE
    found = [c for c in calls(names) if not beyond(check, c.name)]
    assert len(found) > len(names) // 2
    for call in found:
        CHECKS[check](call)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
def test_every_operator(check: str) -> None:
    wrong = {}
    for call in calls():
        try:
            CHECKS[check](call)
        except Exception as error:  # all of them are wanted
            if not beyond(check, call.name):
                wrong[call.name] = f"{type(error).__name__}: {error}"[:300]
    assert wrong == {}


def test_transforms_in_threads() -> None:
    """Each thread has its own stack of transforms."""
    some = calls(SAMPLE) * 4
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda c: gradient(c)(*c.inputs), some))
    for call, slopes in zip(some, found, strict=True):
        close(slopes, plain(call, call.inputs))


def test_slopes_of_more_decisions_than_a_gradient_has_are_refused() -> None:
    """Not 0; an operator whose slopes are 0 has those."""
    names = "abcde"
    attributes = [{"name": n, "type": "float", "default": 1.0} for n in names]
    y = [{"name": "y", "type": ["float32"]}]
    entry = {"op": "Decided", "inputs": [{**y[0], "name": "x"}], "outputs": y, "shape": "x"}
    formula = " + ".join(f"({n} > {k} ? x : x*x)" for k, n in enumerate(names))
    (decided,) = parse_definitions(json.dumps({**entry, "attributes": attributes, "formula": formula}))
    (flat,) = parse_definitions(json.dumps({**entry, "op": "Flat", "formula": "floor(x)"}))
    x = torch.rand(3, requires_grad=True)
    with pytest.raises(AscendError, match=r"E42006.*more than 4 times"):
        register(decided)(x).sum().backward()
    with pytest.raises(AscendError, match=r"E42006.*more than 4 times"):
        source_text(decided, "op_api")
    (register(flat)(x) + x).sum().backward()
    assert torch.equal(x.grad, torch.ones(3))
    assert "backward" not in source_text(flat, "op_api")


def test_slopes_that_nobody_knows_are_refused() -> None:
    """Not 0: of an operator without a formula, and of a gradient's gradient that is too long for one."""
    product = register(definition_of("FusedMatMul", "com.microsoft"), namespace="contributed")
    a, b = torch.rand(2, 3), torch.rand(3, 2)
    with pytest.raises(AscendError, match="E42006"):
        product(a.requires_grad_(), b).sum().backward()
    with pytest.raises(AscendError, match="E42006"):
        torch.func.jvp(lambda t: product(t, b).sum(), (a.detach(),), (a.detach(),))
    (focal,) = calls(("SigmoidFocalLoss",))
    assert "SigmoidFocalLoss" in TOO_LONG
    with pytest.raises(AscendError, match="E42006"):
        torch.func.grad(lambda t: torch.func.hessian(lambda u: focal.total(u, *focal.inputs[1:]))(t).sum())(
            focal.inputs[0]
        )
