"""Operators as users type them: activations, norms, losses, images, rankings, each against PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from ascend_ep.frontends.description import describe
from ascend_ep.opdef.reference import evaluate

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(4, 6)) * 2
Y = RANDOM.normal(size=(4, 6))
W = RANDOM.normal(size=6)
C = RANDOM.normal(size=(4, 1))
P = RANDOM.uniform(0.05, 0.95, (4, 6))
IMAGE = RANDOM.uniform(0, 255, (2, 3, 4, 5))
MEAN, STD = (RANDOM.uniform(50, 150, (3, 1, 1)) for _ in "ms")
tx, ty, tw, tp = (torch.from_numpy(a) for a in (X, Y, W, P))
ti = torch.from_numpy(IMAGE)

#: The text, the inputs, and what PyTorch computes.
CASES: list[tuple[str, Sequence[np.ndarray], Callable[[], object]]] = [
    # activations
    ("ReLU(x) = max(0, x)", [X], lambda: F.relu(tx)),
    ("ReLU(x) = x if x > 0 else 0", [X], lambda: F.relu(tx)),
    ("ReLU6(x) = min(max(x, 0), 6)", [X], lambda: F.relu6(tx)),
    ("LeakyReLU(x, alpha=0.01) = where(x >= 0, x, alpha*x)", [X], lambda: F.leaky_relu(tx)),
    ("F(x, w) = where(x < w, x, w)", [X, W], lambda: torch.minimum(tx, tw)),
    (
        "F(x, w) = where(x < w, where(x < 0, -x, x), w), where w is a tensor",
        [X, W],
        lambda: torch.where(tx < tw, tx.abs(), tw),
    ),
    ("F(x) = where(g > 0, g, 0) where g = x - 1", [X], lambda: F.relu(tx - 1)),
    ("F(x) = g + 1 where (g = 2*x)", [X], lambda: 2 * tx + 1),
    ("F(x, w) = x with w(a) = a", [X, W], lambda: tx),
    ("PReLU(x, slope) = max(x, 0) + slope*min(x, 0)", [X, W], lambda: torch.where(tx > 0, tx, tw * tx)),
    ("ELU(x, α=1.0) = {x if x > 0, α·(exp(x) - 1) otherwise}", [X], lambda: F.elu(tx)),
    ("ELU(x, a=1.0) = x if x > 0 else a * (exp(x) - 1)", [X], lambda: F.elu(tx)),
    (
        "SELU(x) = λ * (x if x > 0 else α*(e^x - 1)), where λ = 1.0507009873554805, α = 1.6732632423543772",
        [X],
        lambda: F.selu(tx),
    ),
    ("CELU(x, a=1.5) = max(0,x) + min(0, a*(exp(x/a)-1))", [X], lambda: F.celu(tx, 1.5)),
    ("Sigmoid(x) = 1/(1+e^-x)", [X], lambda: torch.sigmoid(tx)),
    ("Sigmoid(x) = 1/(1+e^(-x))", [X], lambda: torch.sigmoid(tx)),
    ("SiLU(x) = x / (1 + exp(-x))", [X], lambda: F.silu(tx)),
    ("Swish(x, β=1.5) = x·σ(β·x)", [X], lambda: tx * torch.sigmoid(1.5 * tx)),
    ("GELU(x) = x * Φ(x), where Φ(x) = 0.5*(1 + erf(x/√2))", [X], lambda: F.gelu(tx)),
    ("GELU(x) = x·½·(1 + erf(x/√2))".replace("½", "0.5"), [X], lambda: F.gelu(tx)),
    (
        "Gelu(x) = 0.5 * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x**3)))",
        [X],
        lambda: F.gelu(tx, approximate="tanh"),
    ),
    ("QuickGELU(x) = x * sigmoid(1.702 * x)", [X], lambda: tx * torch.sigmoid(1.702 * tx)),
    ("Softplus(x) = ln(1 + e^x)", [X], lambda: F.softplus(tx)),
    ("Softplus(x, β=2.0) = 1/β * log(1 + exp(β*x))", [X], lambda: F.softplus(tx, 2)),
    ("Mish(x) = x * tanh(ln(1 + exp(x)))", [X], lambda: F.mish(tx)),
    ("Softsign(x) = x / (1 + |x|)", [X], lambda: F.softsign(tx)),
    ("HardSwish(x) = x * min(max(x + 3, 0), 6) / 6", [X], lambda: F.hardswish(tx)),
    ("HardSigmoid(x) = max(0, min(1, x/6 + 1/2))", [X], lambda: F.hardsigmoid(tx)),
    ("HardTanh(x) = clip(x, -1, 1)", [X], lambda: F.hardtanh(tx)),
    ("Tanhshrink(x) = x - tanh(x)", [X], lambda: F.tanhshrink(tx)),
    ("HardShrink(x, λ=0.5) = {x, |x| > λ; 0, otherwise}", [X], lambda: F.hardshrink(tx)),
    ("SoftShrink(x, λ=0.5) = sign(x) * max(|x| - λ, 0)", [X], lambda: F.softshrink(tx)),
    ("Threshold(x, t=0.1, v=20.0) = x if x > t else v", [X], lambda: F.threshold(tx, 0.1, 20.0)),
    ("LogSigmoid(x) = -ln(1 + exp(-x))", [X], lambda: F.logsigmoid(tx)),
    ("SquaredReLU(x) = relu(x)²", [X], lambda: F.relu(tx) ** 2),
    ("GEGLU(a, b) = a * gelu(b)", [X, Y], lambda: tx * F.gelu(ty)),
    ("SwiGLU(a, b) = swish(a) ⊙ b", [X, Y], lambda: F.silu(tx) * ty),
    ("ReGLU(a, b) = max(a, 0)∘b", [X, Y], lambda: F.relu(tx) * ty),
    # norms and the softmax family
    ("Softmax(x) = exp(x) / sum(exp(x))", [X], lambda: F.softmax(tx, -1)),
    ("Softmax(x) = e / Σ e, where e = exp(x - max(x))", [X], lambda: F.softmax(tx, -1)),
    (
        "Softmax(x) = exp(x - max(x, axis=0)) / sum(exp(x - max(x, axis=0)), axis=0)",
        [X],
        lambda: tx.softmax(0),
    ),
    ("LogSoftmax(x) = x - log(Σ(exp(x)))", [X], lambda: F.log_softmax(tx, -1)),
    ("SoftmaxT(x, T=2.0) = softmax(x/T, axis=-1)", [X], lambda: F.softmax(tx / 2, -1)),
    ("RMSNorm(x, w) = x / sqrt(mean(x^2) + 1e-6) * w", [X, W], lambda: F.rms_norm(tx, (6,), tw, 1e-6)),
    (
        "LayerNorm(x, g, b) = (x - mean(x)) / sqrt(var(x) + 1e-5) * g + b",
        [X, W, W],
        lambda: F.layer_norm(tx, (6,), tw, tw),
    ),
    (
        "LayerNorm(x, γ, β) = γ * (x - μ) / √(σ² + ε) + β, 其中 μ = mean(x), σ² = var(x), ε = 1e-5",
        [X, W, W],
        lambda: F.layer_norm(tx, (6,), tw, tw),
    ),
    (
        "InstanceNorm(x) = (x - mean(x, axis=[2, 3])) / sqrt(var(x, axis=[2, 3]) + 1e-5)",
        [IMAGE],
        lambda: F.instance_norm(ti),
    ),
    (
        "L2Normalize(x) = x / sqrt(sum(x²) + 1e-12)",
        [X],
        lambda: tx / (tx.square().sum(-1, True) + 1e-12).sqrt(),
    ),
    ("L2Norm(x) = x / max(||x||, 1e-12)".replace("||x||", "√(Σ(x²))"), [X], lambda: F.normalize(tx, dim=-1)),
    (
        "MinMax(x) = (x - min(x)) / (max(x) - min(x))",
        [X],
        lambda: (tx - tx.amin(-1, True)) / (tx.amax(-1, True) - tx.amin(-1, True)),
    ),
    (
        "ZScore(x) = (x - mean(x, axis=0)) / std(x, axis=0)",
        [X],
        lambda: (tx - tx.mean(0)) / tx.std(0, correction=0),
    ),
    ("LogSumExp(x) = log(sum(exp(x), axis=-1, keepdims=false))", [X], lambda: tx.logsumexp(-1)),
    ("LSE(x) = m + ln Σ exp(x - m), m = max(x)", [X], lambda: tx.logsumexp(-1, True)),
    # losses
    ("MSE(x, y) = mean((x - y)^2, axis=all, keepdims=false)", [X, Y], lambda: F.mse_loss(tx, ty)),
    ("L1(x, y) = mean(|x - y|, axis=all, keepdims=false)", [X, Y], lambda: F.l1_loss(tx, ty)),
    (
        "SmoothL1(x, y, β=1.0) = {0.5·d²/β if |d| < β, |d| − 0.5·β otherwise}, where d = x − y",
        [X, Y],
        lambda: F.smooth_l1_loss(tx, ty, reduction="none"),
    ),
    (
        "Huber(x, y, δ=1.0) = where(|x-y| <= δ, 0.5*(x-y)^2, δ*(|x-y| - 0.5*δ))",
        [X, Y],
        lambda: F.huber_loss(tx, ty, reduction="none"),
    ),
    (
        "BCE(p, t) = -(t*ln(p) + (1-t)*ln(1-p))",
        [P, P[::-1]],
        lambda: F.binary_cross_entropy(tp, tp.flip(0), reduction="none"),
    ),
    (
        "BCEWithLogits(x, t) = max(x, 0) - x*t + log(1 + exp(-|x|))",
        [X, P],
        lambda: F.binary_cross_entropy_with_logits(tx, tp, reduction="none"),
    ),
    ("Focal(p, γ=2.0) = -(1 - p)^γ * ln(p)", [P], lambda: -((1 - tp) ** 2) * tp.log()),
    ("KL(p, q) = Σ(p * ln(p/q))", [P, P[::-1]], lambda: (tp * (tp / tp.flip(0)).log()).sum(-1, True)),
    ("Hinge(x, y) = max(0, 1 - x*y)", [X, Y], lambda: F.relu(1 - tx * ty)),
    (
        "Cosine(a, b) = Σ(a·b) / (√(Σ a²) · √(Σ b²))",
        [X, Y],
        lambda: F.cosine_similarity(tx, ty)[:, None],
    ),
    (
        "CrossEntropy(x, t) = -Σ(t * log_softmax(x))",
        [X, P],
        lambda: -(tp * F.log_softmax(tx, -1)).sum(-1, True),
    ),
    # images, quantisation, other things
    (
        "Normalize(img, mean, std) = (img - mean)/std",
        [IMAGE, MEAN, STD],
        lambda: (ti - torch.from_numpy(MEAN)) / torch.from_numpy(STD),
    ),
    (
        "Normalize(img, m, s) = (img/255 - m)/s",
        [IMAGE, MEAN, STD],
        lambda: (ti / 255 - torch.from_numpy(MEAN)) / torch.from_numpy(STD),
    ),
    ("Gamma(img, γ=2.2) = 255 * (img/255)^(1/γ)", [IMAGE], lambda: 255 * (ti / 255) ** (1 / 2.2)),
    ("Gray(x) = mean(x, axis=1)", [IMAGE], lambda: ti.mean(1, True)),
    (
        "Quantize(x, s=0.1, z=3.0) = clip(round(x/s) + z, -128, 127)",
        [X],
        lambda: ((tx / 0.1).round() + 3).clamp(-128, 127),
    ),
    ("Dequant(q, s=0.1, z=3.0) = (q - z) * s", [X], lambda: (tx - 3) * 0.1),
    ("FakeQuant(x, s=0.1) = round(x/s)*s", [X], lambda: (tx / 0.1).round() * 0.1),
    (
        "Causal(x) = where(index(x, axis=-1) <= index(x, axis=-2), x, -inf)",
        [X],
        lambda: tx.masked_fill(~torch.ones(4, 6, dtype=torch.bool).tril(), -torch.inf),
    ),
    ("Residual(x, y, w) = (x + y)*w", [X, Y, W], lambda: (tx + ty) * tw),
    ("Band(x) = 1 if -1 < x <= 1 else 0", [X], lambda: ((tx > -1) & (tx <= 1)).double()),
    ("Clamp(x) = min(1, max(-1, x))", [X], lambda: tx.clamp(-1, 1)),
    ("Poly(x) = x³ − 2·x² + x − 1", [X], lambda: tx**3 - 2 * tx**2 + tx - 1),
    ("Sinc(x) = 1 if x == 0 else sin(π·x)/(π·x)", [X], lambda: torch.sinc(tx)),
    (
        "Step(x) = {0 if x < 0; 0.5 if x == 0; 1 otherwise}",
        [X],
        lambda: torch.heaviside(tx, torch.tensor(0.5).double()),
    ),
    ("Entropy(p) = -Σ p·ln(p)", [P], lambda: -(tp * tp.log()).sum(-1, True)),
    ("Any(x) = any(x > 1)", [X], lambda: (tx > 1).any(-1, True)),
    ("All(x) = all(x > -9, axis=0)", [X], lambda: (tx > -9).all(0, True)),
    # several outputs and rankings
    ("TopK(x) -> values, indices = topk(x, 3)", [X], lambda: tuple(tx.topk(3))),
    ("TopK(x, k=3) -> (values, indices) = topk(x, k)", [X], lambda: tuple(tx.topk(3))),
    ("TopK(x): values, indices = topk(x, k=3, largest=false)", [X], lambda: tuple(tx.topk(3, largest=False))),
    ("TopK(x) = (topk(x, 3), topk_indices(x, 3))", [X], lambda: tuple(tx.topk(3))),
    (
        "Stats(x) → m, s = mean(x), std(x)",
        [X],
        lambda: (tx.mean(-1, True), tx.std(-1, correction=0, keepdim=True)),
    ),
    (
        "Stats(x): m, v = (mean(x), var(x))",
        [X],
        lambda: (tx.mean(-1, True), tx.var(-1, correction=0, keepdim=True)),
    ),
    ("Argmax(x) = argmax(x, axis=1, keepdims=false)", [X], lambda: tx.argmax(1)),
    ("def topk(x, k=3): return torch.topk(x, k)", [X], lambda: tuple(tx.topk(3))),
    ("def f(x):\n    v, i = x.topk(2, dim=0)\n    return v", [X], lambda: tx.topk(2, 0)[0]),
    ("def f(x): return torch.topk(x, 3).indices", [X], lambda: tx.topk(3)[1]),
    ("def f(x): return torch.max(x, 1)", [X], lambda: tuple(tx.max(1))),
    ("def f(x): return x.min(dim=0, keepdim=True)[1]", [X], lambda: tx.min(0, True)[1]),
    ("def f(x): return torch.argmin(x, dim=-1)", [X], lambda: tx.argmin(-1)),
    ("def f(x): return x - x.mean(-1).unsqueeze(-1)", [X], lambda: tx - tx.mean(-1, True)),
    ("def f(x): return torch.any(x > 1, dim=0)", [X], lambda: (tx > 1).any(0)),
    ("def f(x): return torch.logsumexp(x, dim=-1)", [X], lambda: tx.logsumexp(-1)),
]


@pytest.mark.parametrize(("text", "inputs", "expected"), CASES, ids=[c[0][:40] for c in CASES])
def test_typed(text: str, inputs: Sequence[np.ndarray], expected: Callable[[], object]) -> None:
    results = evaluate(describe(text).opdef, list(inputs))
    wanted = expected()
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    assert len(results) == len(wanted)
    for got, want in zip(results, wanted, strict=True):
        assert got.shape == tuple(want.shape)
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-11, atol=1e-11)


def test_outputs_keep_their_names_and_positions_are_int64() -> None:
    opdef = describe("TopK(x) -> values, indices = topk(x, 10)").opdef
    assert [(o.name, o.types == (7,)) for o in opdef.outputs] == [("values", False), ("indices", True)]
    opdef = describe("def topk(x, k=10): return torch.topk(x, k)").opdef
    assert [o.name for o in opdef.outputs] == ["values", "indices"]
    assert [(a.name, a.type, a.default) for a in opdef.attributes] == [("k", "int", 10)]
