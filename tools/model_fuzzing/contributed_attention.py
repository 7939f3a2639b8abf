"""Random attention and rotary embeddings of onnxruntime: every form of masks, caches and packed inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from model_fuzzing.contributed import family, some
from model_fuzzing.draw import Array, Case, Draw


def _added(draw: Draw, batch: int, heads: int, length: int, keys: int) -> Array | None:
    """Scores to add, for all batches and heads or for each."""
    return draw.maybe(lambda: draw.floats(draw.one_of(1, batch), draw.one_of(1, heads), length, keys), 0.35)


def _key_mask(draw: Draw, batch: int, length: int, keys: int, kinds: tuple[str, ...]) -> Array | None:
    kind = draw.one_of(*kinds)
    if kind == "lengths":
        return draw.integers(draw.one_of(0, 1), keys, batch)
    if kind == "ends and starts":
        starts = draw.integers(0, max(keys - 1, 0), batch)
        ends = np.minimum(starts + draw.integers(1, max(keys, 1), batch), keys).astype(np.int32)
        return np.concatenate([ends, starts])
    if kind == "cumulated":
        lengths = draw.integers(1, keys, batch)
        sums = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        return np.concatenate([lengths, sums, sums])
    if kind == "raw":
        return draw.integers(0, 1, batch, keys)
    if kind == "rows":
        return draw.integers(0, 1, batch, length, keys)
    if kind == "square":
        return draw.integers(0, 1, batch, 1, keys + 3, keys + 3)
    if kind == "one":
        return draw.integers(0, 1, *draw.one_of((1,), (1, 1), (batch, 1)))
    return None


def _attention_attributes(draw: Draw, heads: int) -> dict[str, Any]:
    found: dict[str, Any] = {"num_heads": heads}
    if draw.chance(0.3):
        found["unidirectional"] = draw.one_of(0, 1, 1)
    if draw.chance(0.3):
        found["scale"] = draw.one_of(0.3, 1.0, 0.0)
    if draw.chance(0.3):
        found["mask_filter_value"] = draw.one_of(-100.0, -3.0, float(np.finfo(np.float32).min))
    return found


@family("Attention")
def _attention(draw: Draw) -> Case:
    batch, length, width, heads, size = (
        draw.one_of(1, 2, 3),
        draw.size(),
        draw.size(),
        draw.one_of(1, 2, 3),
        draw.size(),
    )
    value = draw.one_of(size, size, draw.size())
    before = draw.one_of(None, None, 0, draw.size())
    past = None
    if before is not None:
        value = size
        past = draw.floats(2, batch, heads, before, size)
    keys = length + (before or 0)
    attributes = _attention_attributes(draw, heads)
    columns = heads * (2 * size + value)
    if value != size or draw.chance(0.2):
        attributes["qkv_hidden_sizes"] = [heads * size, heads * size, heads * value]
    if draw.chance(0.1):
        attributes["do_rotary"] = 1
    kinds = ("none", "none", "lengths", "raw", "rows", "ends and starts", "cumulated", "square", "one")
    inputs = [
        draw.floats(batch, length, width),
        draw.floats(width, columns, scale=width**-0.5),
        draw.maybe(lambda: draw.floats(columns), 0.8),
        _key_mask(draw, batch, length, keys, kinds),
        past,
        _added(draw, batch, heads, length, keys),
    ]
    outputs = 2 if past is not None else draw.one_of(1, 1, 2)
    if value != size:
        outputs = 1  # onnxruntime 1.32 writes keys and values of different sizes outside of its memory
    return Case("Attention", inputs, attributes, outputs, some(draw, 1, 2, 3, share=0.7))


@family("MultiHeadAttention")
def _multi_head(draw: Draw) -> Case:
    batch, length, heads, size = draw.one_of(1, 2, 3), draw.size(), draw.one_of(1, 2, 3), draw.size()
    form = draw.one_of("apart", "apart", "apart", "cross", "heads", "packed", "packed pairs")
    keys = draw.one_of(length, draw.size()) if form in ("apart", "heads", "cross", "packed pairs") else length
    value = size if form.startswith("packed") else draw.one_of(size, size, draw.size())
    before = draw.one_of(None, None, 0, draw.size()) if form == "apart" else None
    sizes = (heads * size, heads * size, heads * value)
    key: Array | None
    second: Array | None
    if form == "packed":
        query, key, second = draw.floats(batch, length, heads, 3, size), None, None
    elif form == "packed pairs":
        query, key, second = (
            draw.floats(batch, length, sizes[0]),
            draw.floats(batch, keys, heads, 2, size),
            None,
        )
    elif form == "heads":
        query = draw.floats(batch, length, sizes[0])
        key, second = draw.floats(batch, heads, keys, size), draw.floats(batch, heads, keys, value)
    else:
        query, key, second = (
            draw.floats(batch, length, sizes[0]),
            draw.floats(batch, keys, sizes[1]),
            draw.floats(batch, keys, sizes[2]),
        )
    total = keys + (before or 0)
    kinds = ("none", "none", "lengths", "raw", "rows", "cumulated")
    pasts = [None if before is None else draw.floats(batch, heads, before, n) for n in (size, value)]
    inputs = [
        query,
        key,
        second,
        draw.maybe(lambda: draw.floats(sum(sizes)), 0.4),
        _key_mask(draw, batch, length, draw.one_of(total, total, keys), kinds),
        _added(draw, batch, heads, length, total),
        *pasts,
    ]
    # without them onnxruntime reads what it never wrote
    outputs = draw.one_of(3, 3, 4) if before is not None else draw.one_of(1, 1, 1, 3)
    return Case("MultiHeadAttention", inputs, _attention_attributes(draw, heads), outputs, some(draw, 3, 4))


@family("RotaryEmbedding")
def _rotary(draw: Draw) -> Case:
    batch, length, heads, size = (
        draw.one_of(1, 2, 3),
        draw.size(),
        draw.one_of(1, 2, 3),
        2 * draw.one_of(1, 2, 3, 4, 8, 16),
    )
    part = draw.chance(0.3) and size > 2
    rotated = 2 * draw.random.randint(1, size // 2) if part else size
    rows = length + draw.size()
    angles = draw.floats(rows, rotated // 2, scale=3)
    four = draw.chance()
    x = draw.floats(*((batch, heads, length, size) if four else (batch, length, heads * size)))
    attributes: dict[str, Any] = {}
    if draw.chance(0.5):
        attributes["interleaved"] = draw.one_of(0, 1)
    if part:
        attributes |= {"rotary_embedding_dim": rotated, "num_heads": heads}
    elif draw.chance(0.4):
        attributes["num_heads"] = heads
    if draw.chance(0.15):
        attributes["scale"] = draw.one_of(1.0, 0.5)
    if draw.chance(0.1):
        attributes["is_packed_batching"] = 1
    first = draw.integers(0, rows - length, 1, dtype=np.int64)
    positions = draw.one_of(first, draw.integers(0, rows - 1, batch, length, dtype=np.int64))
    kind = draw.one_of(np.float32, np.float32, np.float16)
    tables = [f(angles).astype(kind) for f in (np.cos, np.sin)]
    return Case("RotaryEmbedding", [x.astype(kind), positions, *tables], attributes, 1, some(draw, 1, 2, 3))


@family("GroupQueryAttention")
def _grouped(draw: Draw) -> Case:
    groups, each = draw.one_of(1, 2, 3), draw.one_of(1, 2, 3)
    heads, batch, size = groups * each, draw.one_of(1, 2, 3), 16 * draw.one_of(1, 2, 3)
    form = draw.one_of("prompt", "prompt", "token", "token", "chunk")
    length = 1 if form == "token" else draw.size()
    if form == "chunk":
        batch = 1
    before = draw.one_of(None, draw.size()) if form == "prompt" else draw.size()
    shared = form != "prompt" and draw.chance(0.3)
    # the tokens of a row, after this step
    if form == "prompt":
        totals = draw.integers(1, length, batch) if draw.chance(0.4) else np.full(batch, length, np.int32)
        totals[0], total = length, length
    elif form == "token":
        totals = draw.integers(1, int(before or 0) + 1, batch)
        totals[0], total = int(before or 0) + 1, int(before or 0) + 1
    else:
        totals, total = np.array([int(before or 0) + length], np.int32), int(before or 0) + length
    buffer = None if before is None else before + (length if shared else 0)
    packed = draw.chance(0.3)
    kind = draw.one_of(np.float32, np.float32, np.float16)
    widths = (heads * size, groups * size, groups * size)
    parts = [draw.floats(batch, length, w, dtype=kind) for w in widths]
    if packed:
        parts = [np.concatenate(parts, -1), None, None]  # type: ignore[list-item]
    attributes: dict[str, Any] = {"num_heads": heads, "kv_num_heads": groups}
    tables: list[Array | None] = [None, None]
    rotary = draw.chance(0.5)
    if rotary:
        rows = max(total, buffer or 0) + draw.one_of(0, 3)
        angles = draw.floats(rows, size // 2, scale=3)
        tables = [f(angles).astype(kind) for f in (np.cos, np.sin)]
        attributes |= {"do_rotary": 1} | ({"rotary_interleaved": draw.one_of(0, 1)} if draw.chance() else {})
    positions = None
    if rotary and draw.chance(0.2):
        last = tables[0].shape[0] - 1  # type: ignore[union-attr]
        positions = draw.integers(0, max(last - length, 0), batch, 1, dtype=np.int64) + np.arange(length)
    for name, share, values in (
        ("scale", 0.3, (0.3, 1.0)),
        ("softcap", 0.25, (5.0, 0.0)),
        ("local_window_size", 0.3, (1, 3, 100, -1)),
        ("smooth_softmax", 0.15, (1, 0)),
    ):
        if draw.chance(share):
            attributes[name] = draw.one_of(*values)
    if draw.chance(0.1):
        attributes["causal"] = draw.one_of(0, 1)
    inputs = [
        *parts,
        *[None if buffer is None else draw.floats(batch, groups, buffer, size, dtype=kind) for _ in range(2)],
        (totals - 1).astype(np.int32),
        np.array(total, np.int32) if draw.chance() else np.array([total], np.int32),
        *tables,
        positions,
        draw.maybe(
            lambda: draw.floats(draw.one_of(1, batch), draw.one_of(1, heads), length, total, dtype=kind), 0.2
        ),
        draw.maybe(lambda: draw.floats(heads, dtype=kind), 0.15),
    ]
    # rows beyond a sequence's end are unspecified
    starts = totals * 0 if total == length else totals - length
    rows = np.arange(length) < (totals - starts)[:, None]
    cache = np.arange(max(total, buffer or 0)) < totals[:, None]
    specified = {0: rows[..., None], 1: cache[:, None, :, None], 2: cache[:, None, :, None]}
    constant = some(draw, 7, 8, 11)
    sized = frozenset({6}) if draw.chance(0.7) else frozenset()
    outputs = draw.one_of(1, 3) if before is None else 3  # as above
    return Case(
        "GroupQueryAttention", inputs, attributes, outputs, constant, specified=specified, sized=sized
    )
