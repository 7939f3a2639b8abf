"""Every operator that has a gradient, in every way in which PyTorch transforms and records one: all behind
--slow, a sample of each kind here."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch_all_operators import calls
from torch_transform_checks import CHECKS, TOO_LONG, close, gradient, plain

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch import register
from ascend_ep.frameworks.torch.gradient_operator import READERS
from ascend_ep.frameworks.torch.torch_library import definition_of

#: A formula of one input and of several, a kernel with an absent input, equivalents: one that reads elements,
#: one of a list, one of strides.
SAMPLE = (
    *("Swish", "LayerNorm 1", "SwiGLU 1"),
    *("ONNX's MatMul 1", "ONNX's ReduceL2", "ONNX's Concat", "ONNX's Scaler"),
)
#: Those of the sample for checks that compile.
COMPILED = ("Swish", "ONNX's Concat", "ONNX's ReduceL2")
#: What PyTorch itself can't, by the check, with the reason.
BEYOND = {
    "vmap_of_grad": {"ONNX's ScatterND": "PyTorch's slope of a product of elements reads them"},
    "compiled": {"ONNX's Range": "the elements decide its size"},
    "compiled_of_a_batch": {f"ONNX's {op}": "a size that elements decide has no batch" for op in READERS},
}


def beyond(check: str, name: str) -> bool:
    return name.rsplit(" ", 1)[0] in BEYOND.get(check, {})


@pytest.mark.parametrize("check", CHECKS)
def test_a_sample_of_operators(check: str) -> None:
    names = COMPILED if check.startswith(("compiled", "narrow")) else SAMPLE
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
    with pytest.raises(AscendError, match=r"E4200[46]"):
        torch.func.grad(lambda t: torch.func.hessian(lambda u: focal.total(u, *focal.inputs[1:]))(t).sum())(
            focal.inputs[0]
        )
