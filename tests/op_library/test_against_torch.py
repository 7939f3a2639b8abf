"""References of library operators against PyTorch's functions of the same definition, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from library_cases import LIBRARY, cases

from ascend_ep.opdef.reference import evaluate

Torch = Callable[..., torch.Tensor]

FUNCTIONS: dict[str, Torch] = {
    "ELU": F.elu,
    "SELU": F.selu,
    "CELU": F.celu,
    "LeakyReLU": F.leaky_relu,
    "RReLU": lambda x: F.rrelu(x, training=False),
    "Hardtanh": F.hardtanh,
    "Hardsigmoid": F.hardsigmoid,
    "Tanhshrink": F.tanhshrink,
    "Softshrink": F.softshrink,
    "Hardshrink": F.hardshrink,
    "Threshold": lambda x: F.threshold(x, 0.0, 0.0),
    "GLU": lambda x, gate: F.glu(torch.cat(torch.broadcast_tensors(x, gate), -1)),
    "AddLayerNorm": lambda a, b, g, z: F.layer_norm(a + b, a.shape[-1:], g, z),
    "InstanceNorm2d": lambda x, g, b: F.instance_norm(x, weight=g.flatten(), bias=b.flatten()),
    "BatchNorm2d": lambda x, *s: F.batch_norm(x, *(t.flatten() for t in s)),
    "L2Normalize": lambda x: F.normalize(x, dim=-1),
    "Softmin": lambda x: F.softmin(x, dim=-1),
    "LogSumExp": lambda x: torch.logsumexp(x, -1, keepdim=True),
    "MSELoss": F.mse_loss,
    "L1Loss": F.l1_loss,
    "SmoothL1Loss": F.smooth_l1_loss,
    "HuberLoss": F.huber_loss,
    "BCELoss": F.binary_cross_entropy,
    "BCEWithLogitsLoss": F.binary_cross_entropy_with_logits,
    "SoftMarginLoss": F.soft_margin_loss,
    "HingeEmbeddingLoss": F.hinge_embedding_loss,
    "MarginRankingLoss": lambda a, b, t, **o: F.margin_ranking_loss(a, b, t, **o),
    "PoissonNLLLoss": F.poisson_nll_loss,
    "GaussianNLLLoss": F.gaussian_nll_loss,
    "KLDivLoss": F.kl_div,
    "CrossEntropyLoss": F.cross_entropy,
    "TripletMarginLoss": F.triplet_margin_loss,
    "CosineSimilarity": lambda a, b: F.cosine_similarity(a, b, -1).unsqueeze(-1),
    "FakeQuantize": lambda x, s, z: torch.fake_quantize_per_tensor_affine(
        x.float(), float(s), int(z.round()), -128, 127
    ),
}


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("op", FUNCTIONS)
def test_reference_against_pytorch(op: str) -> None:
    opdef = LIBRARY[op]
    for case in cases(opdef):
        if op == "InstanceNorm2d" and case.inputs[0].shape[-2:] == (1, 1):  # type: ignore[union-attr]
            continue  # PyTorch refuses to normalise single values
        arrays = [
            np.asarray(a, np.float64 if a.dtype == np.float32 else a.dtype)
            for a in case.inputs
            if a is not None
        ]
        expected = FUNCTIONS[op](*map(torch.from_numpy, arrays), **case.attributes).double().numpy()
        (y,) = evaluate(opdef, arrays, case.attributes)
        # FakeQuantize is float32 in PyTorch
        tolerance = 1e-6 if op == "FakeQuantize" else 1e-11
        np.testing.assert_allclose(y, expected, rtol=tolerance, atol=tolerance)


OPTIMIZERS: dict[str, tuple[Callable[..., torch.optim.Optimizer], dict[str, Any]]] = {
    "SGDStep": (torch.optim.SGD, {"lr": 1e-3, "momentum": 0.9}),
    "AdamStep": (torch.optim.Adam, {}),
    "AdamWStep": (torch.optim.AdamW, {}),
    "RMSpropStep": (torch.optim.RMSprop, {}),
    "AdagradStep": (torch.optim.Adagrad, {}),
    "AdadeltaStep": (torch.optim.Adadelta, {}),
    "AdamaxStep": (torch.optim.Adamax, {}),
}


@pytest.mark.parametrize("op", OPTIMIZERS)
def test_three_steps_of_an_optimizer(op: str) -> None:
    opdef, (make, options) = LIBRARY[op], OPTIMIZERS[op]
    random = np.random.default_rng(5)
    start = random.normal(size=(4, 3))
    parameter = torch.nn.Parameter(torch.from_numpy(start.copy()))
    optimizer = make([parameter], **options)
    state = [start, *(np.zeros_like(start) for t in opdef.inputs[2:] if t.name != "step")]
    for step in range(1, 4):
        gradient = random.normal(size=start.shape)
        parameter.grad = torch.from_numpy(gradient)
        optimizer.step()
        counted = [np.array([float(step)])] if opdef.inputs[-1].name == "step" else []
        state = evaluate(opdef, [state[0], gradient, *state[1:], *counted])
        np.testing.assert_allclose(state[0], parameter.detach().numpy(), rtol=1e-10, atol=1e-12)
