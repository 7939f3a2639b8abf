"""Random nodes of operators that onnxruntime contributes: activations, norms, embeddings, products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from model_fuzzing.draw import Array, Case, Draw

FAMILIES: dict[str, Callable[[Draw], Case]] = {}


def family(name: str) -> Callable[[Callable[[Draw], Case]], Callable[[Draw], Case]]:
    def register(function: Callable[[Draw], Case]) -> Callable[[Draw], Case]:
        FAMILIES[name] = function
        return function

    return register


def some(draw: Draw, *places: int, share: float = 0.5) -> frozenset[int]:
    return frozenset(p for p in places if draw.chance(share))


# --- activations and norms ------------------------------------------------------------------------


@family("Gelu")
@family("QuickGelu")
def _unary(draw: Draw) -> Case:
    name = draw.one_of("Gelu", "QuickGelu")
    alpha = {"alpha": draw.one_of(1.702, 1.0, 0.5, -1.0)} if name == "QuickGelu" and draw.chance() else {}
    return Case(name, [draw.floats(*draw.shape(0, 4), scale=3)], alpha)


@family("BiasGelu")
def _bias_gelu(draw: Draw) -> Case:
    shape = draw.shape(1, 4)
    return Case("BiasGelu", [draw.floats(*shape), draw.floats(shape[-1])], constant=some(draw, 1))


@family("FastGelu")
def _fast_gelu(draw: Draw) -> Case:
    shape = draw.shape(1, 4)
    return Case(
        "FastGelu", [draw.floats(*shape), draw.maybe(lambda: draw.floats(shape[-1]))], constant=some(draw, 1)
    )


@family("SkipLayerNormalization")
@family("SkipSimplifiedLayerNormalization")
def _skip_norm(draw: Draw) -> Case:
    plain = draw.chance()
    kind = draw.one_of(np.float32, np.float32, np.float16)
    rank = draw.one_of(2, 3, 3)
    shape = [draw.size() for _ in range(rank)]
    skip = list(shape)
    if rank == 3 and draw.chance(0.4):
        skip = draw.one_of([1, *shape[1:]], shape[1:])
    width = shape[-1]
    bias = draw.maybe(lambda: draw.floats(width, dtype=kind))
    inputs: list[Array | None] = [
        draw.floats(*shape, dtype=kind),
        draw.floats(*skip, dtype=kind),
        draw.floats(width, dtype=kind),
    ]
    if plain:
        inputs.append(draw.maybe(lambda: draw.floats(width, dtype=kind)))
    inputs.append(bias)
    epsilon = {"epsilon": draw.one_of(1e-5, 1e-12, 0.1)} if draw.chance(0.7) else {}
    name = "SkipLayerNormalization" if plain else "SkipSimplifiedLayerNormalization"
    constant = some(draw, 2, 3, 4, share=0.7)
    return Case(name, inputs, epsilon, draw.one_of(1, 1, 4), constant, specified={1: None, 2: None})


@family("GatedRMSNorm")
def _gated_norm(draw: Draw) -> Case:
    shape = [draw.size() for _ in range(draw.one_of(2, 3))]
    attributes: dict[str, Any] = {"epsilon": 1e-3} if draw.chance() else {}
    if draw.chance(0.7):
        attributes["activation"] = draw.one_of("silu", "swish", "sigmoid")
    return Case(
        "GatedRMSNorm", [draw.floats(*shape), draw.floats(shape[-1]), draw.floats(*shape)], attributes
    )


@family("EmbedLayerNormalization")
def _embed(draw: Draw) -> Case:
    batch, length, width, words, places = draw.size(), draw.size(), draw.size(), draw.size(), draw.size()
    places += length
    segments = draw.chance()
    ids = draw.integers(0, words - 1, batch, length)
    mask = draw.maybe(lambda: (np.arange(length) < draw.integers(0, length, batch, 1)).astype(np.int32))
    if mask is not None and draw.chance(0.3):
        mask = draw.integers(0, 1, batch, length)
    positions = draw.maybe(lambda: draw.integers(0, places - 1, draw.one_of(batch, 1), length), 0.4)
    inputs = [
        ids,
        draw.integers(0, 1, batch, length) if segments else None,
        draw.floats(words, width),
        draw.floats(places, width),
        draw.floats(2, width) if segments else None,
        draw.floats(width),
        draw.floats(width),
        mask,
        positions,
    ]
    attributes: dict[str, Any] = {"epsilon": draw.one_of(1e-12, 1e-5)} if draw.chance() else {}
    if draw.chance(0.3):
        attributes["mask_index_type"] = draw.one_of(0, 1)
    constant = frozenset({2, 3, 4, 5, 6}) if draw.chance(0.7) else frozenset()
    return Case("EmbedLayerNormalization", inputs, attributes, draw.one_of(2, 2, 3), constant)


# --- products -------------------------------------------------------------------------------------


@family("FusedMatMul")
def _fused_matmul(draw: Draw) -> Case:
    m, k, n = draw.size(), draw.size(), draw.size()
    batch = [draw.size() for _ in range(draw.one_of(0, 0, 1, 2))]
    attributes: dict[str, Any] = {f"trans{s}": draw.one_of(0, 1) for s in "AB" if draw.chance(0.6)}
    if draw.chance():
        attributes["alpha"] = draw.one_of(0.5, -2.0, 0.0, 1.0)
    sides = []
    for side, (rows, columns) in zip("AB", ((m, k), (k, n)), strict=True):
        matrix = [columns, rows] if attributes.get(f"trans{side}") else [rows, columns]
        lead = [d if draw.chance(0.8) else 1 for d in batch][
            draw.random.randint(0, len(batch)) if draw.chance(0.2) else 0 :
        ]
        if lead and len(lead) == len(batch) and draw.chance(0.15):
            attributes[f"transBatch{side}"] = 1
            sides.append(draw.floats(matrix[0], *lead, matrix[1]))
            continue
        sides.append(draw.floats(*lead, *matrix))
    if draw.chance(0.1):
        which = draw.one_of(0, 1)
        sides[which] = draw.floats(k)
    return Case("FusedMatMul", sides, attributes, 1, some(draw, 1))


@family("FusedGemm")
def _fused_gemm(draw: Draw) -> Case:
    m, k, n = draw.size(), draw.size(0), draw.size()
    attributes: dict[str, Any] = {f"trans{s}": draw.one_of(0, 1) for s in "AB" if draw.chance(0.5)}
    for name in ("alpha", "beta"):
        if draw.chance(0.4):
            attributes[name] = draw.one_of(0.5, -2.0, 0.0, 1.0)
    kinds = (
        "Relu",
        "Sigmoid",
        "Tanh",
        "LeakyRelu",
        "HardSigmoid",
        "Elu",
        "Softplus",
        "Softsign",
        "Selu",
        "ThresholdedRelu",
        "ParametricSoftplus",
        "ScaledTanh",
        "Affine",
        "Clip",
    )
    name = draw.one_of(*kinds)
    attributes["activation"] = name
    if draw.chance(0.8):
        attributes["activation_alpha"] = draw.one_of(0.2, 0.5, -0.5)
        attributes["activation_beta"] = draw.one_of(0.5, 1.0)
        attributes["activation_gamma"] = draw.one_of(0.5, 1.0)
    a = draw.floats(*((k, m) if attributes.get("transA") else (m, k)))
    b = draw.floats(*((n, k) if attributes.get("transB") else (k, n)))
    c = draw.maybe(lambda: draw.floats(*draw.one_of((n,), (m, n), (m, 1), (1, n), (1,), ())), 0.8)
    return Case("FusedGemm", [a, b, c], attributes, 1, some(draw, 1, 2))


@family("MatMulNBits")
def _nbits(draw: Draw) -> Case:
    bits, block = draw.one_of(4, 4, 8, 2), draw.one_of(16, 32, 64, 128)
    k, n = draw.size(block, 2 * block, block + 3), draw.size()
    blocks = -(-k // block)
    packed = -(-blocks * bits // 8)
    kind = draw.one_of(np.float32, np.float32, np.float16)
    attributes: dict[str, Any] = {"K": k, "N": n, "block_size": block}
    if bits != 4 or draw.chance():
        attributes["bits"] = bits
    zeros = draw.one_of(None, draw.bytes(np.uint8, n, packed), draw.floats(n, blocks, dtype=kind) + 8)
    if zeros is not None and draw.chance(0.3):
        zeros = zeros.reshape(-1)
    scales = draw.floats(n, blocks, scale=0.1, dtype=kind)
    if draw.chance(0.3):
        scales = scales.reshape(-1)
    # of 2 bits with g_idx, onnxruntime gives other numbers from run to run
    order = draw.maybe(lambda: draw.integers(0, blocks - 1, blocks * block), 0.1 if bits != 2 else 0)
    inputs = [
        draw.floats(*draw.shape(0, 2), draw.size(), k, dtype=kind),
        draw.bytes(np.uint8, n, blocks, block * bits // 8),
        scales,
        zeros,
        order,
        draw.maybe(lambda: draw.floats(n, dtype=kind), 0.3),
    ]
    constant = frozenset({1, 2, 3, 4, 5}) if draw.chance(0.8) else some(draw, 1, 2, 3, 5)
    return Case("MatMulNBits", inputs, attributes, 1, constant)
