"""Attention of inference over sequences of lengths of their own, against its definition in float64:
behind each other, in blocks that a table names, with keys of integers, parts that rotate, and sinks."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from .operators import DTYPES, Device, Failed, View, empty, some, whole

Array = np.ndarray[Any, Any]
FAR = 2**31 - 1
HEADS, KEY_HEADS, WIDTH, SCALE = 6, 3, 16, 0.3
QUERIES, KEYS = (3, 1, 5), (7, 4, 9)
BOUNDS = {"float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}


def attended(q: Array, k: Array, v: Array, hidden: Array, shift: Array, sink: Array) -> tuple[Array, Array]:
    """Of one sequence, [heads, positions, width]: values, and the logarithm of the sums."""
    q, k, v, shift, sink = (np.asarray(t).astype(np.float64) for t in (q, k, v, shift, sink))
    k, v = (np.repeat(t, len(q) // len(t), 0) for t in (k, v))
    scores = np.where(hidden, -np.inf, SCALE * q @ k.swapaxes(1, 2) + shift)
    sink = np.broadcast_to(sink, len(q))[:, None, None]
    top = np.maximum(scores.max(-1, keepdims=True), sink)
    top = np.where(top == -np.inf, 0, top)
    e = np.exp(scores - top)
    total = e.sum(-1, keepdims=True) + np.exp(sink - top)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > 0, e / total, 0) @ v, np.where(total > 0, top + np.log(total), np.inf)


def hides(mode: int, queries: int, keys: int, before: int = FAR, behind: int = FAR) -> Array:
    i, j = np.arange(queries)[:, None], np.arange(keys)
    shift = keys - queries
    bands = {0: (), 2: (j > i,), 3: (j > i + shift,), 4: (j > i + shift + behind, j < i + shift - before)}
    none = np.zeros((queries, keys), bool)
    made: Array = np.logical_or.reduce(np.broadcast_arrays(none, *bands[mode]))
    return made


@dataclass
class Call:
    """Arguments of aclnnFusedInferAttentionScoreV4 by their names."""

    query: View
    key: list[View]
    value: list[View]
    layout: str
    out: View
    given: dict[str, Any] = field(default_factory=dict)

    def make(self, device: Device, version: int = 4, lse: View | None = None) -> None:
        names = "pse mask lengths key_lengths 7 8 9 quant quant_offset scale offset table query_padding"
        names += (
            " key_padding key_scale key_offset value_scale value_offset prefix value_prefix prefix_length"
        )
        names += " query_rope key_rope 26 query_scale sink" + (" start key_start" if version == 5 else "")
        given = [self.given.get(name) for name in names.split()]
        numbers = [HEADS, SCALE, self.given.get("before", FAR), self.given.get("behind", FAR), self.layout]
        numbers += [KEY_HEADS, self.given.get("mode", 0), 0, self.given.get("block", 0)]
        numbers += [self.given.get("scale_mode", 0), lse is not None]
        numbers += [self.given.get("scale_mode", 0)] * 2 + [0] * (version - 3)
        name = f"FusedInferAttentionScoreV{version}"
        device.call(name, self.query, self.key, self.value, *given, *numbers, self.out, lse)


def together(rows: list[Array], layout: str) -> Array:
    """Sequences [heads, positions, width] behind each other."""
    made = np.concatenate(rows, 1)
    return np.ascontiguousarray(made.swapaxes(0, 1)) if layout == "TND" else made


def blocks(rows: list[Array], size: int, kind: str, seed: int = 9) -> tuple[Array, Array]:
    """A cache, and the table of the blocks of each sequence, which are anywhere; what is unused is NaN."""
    counts = [-(-r.shape[1] // size) for r in rows]
    heads, _, width = rows[0].shape
    order = np.random.default_rng(seed).permutation(sum(counts) + 2)
    dtype = rows[0].dtype
    cache = np.full((len(order), heads, size, width), 99 if dtype == np.int8 else np.nan, dtype)
    table, at = np.full((len(rows), max(counts) + 1), -1, np.int32), 0
    for b, row in enumerate(rows):
        for k in range(counts[b]):
            table[b, k] = order[at]
            part = row[:, k * size : (k + 1) * size]
            cache[order[at], :, : part.shape[1]] = part
            at += 1
    if kind == "rows":
        cache = cache.swapaxes(1, 2).reshape(len(order), size, heads * width)
    elif kind == "parts":
        cache = cache.reshape(len(order), heads, size, width // 16, 16).swapaxes(2, 3)
    return np.ascontiguousarray(cache), table


def sequences(dtype: str = "float32") -> tuple[list[Array], list[Array], list[Array]]:
    q = [some(HEADS, n, WIDTH, dtype=dtype, seed=n) for n in QUERIES]
    k, v = ([some(KEY_HEADS, n, WIDTH, dtype=dtype, seed=s + n) for n in KEYS] for s in (20, 40))
    return q, k, v


def close(out: Array, wanted: Array, dtype: str = "float32") -> None:
    bound = BOUNDS[dtype]
    np.testing.assert_allclose(out.astype(np.float64), wanted, rtol=bound, atol=bound)


@pytest.mark.parametrize("dtype", list(BOUNDS))
@pytest.mark.parametrize("layout", ["TND", "NTD", "NTD_TND"])
def test_sequences_behind_each_other(device: Device, layout: str, dtype: str) -> None:
    q, k, v = sequences(dtype)
    first, last = layout[:3], layout[-3:]
    ends, key_ends = tuple(np.cumsum(QUERIES).tolist()), tuple(np.cumsum(KEYS).tolist())
    mask = whole(np.triu(np.ones((2048, 2048), np.int8), 1))
    for mode, before, behind in ((0, FAR, FAR), (3, FAR, FAR), (4, 2, 1)):
        rows = [attended(*t, hides(mode, len(t[0][0]), len(t[1][0]), before, behind), 0, -np.inf)
                for t in zip(q, k, v, strict=True)]  # fmt: skip
        out, lse = whole(np.full_like(together(q, last), 77)), whole(np.zeros((9, HEADS, 1), np.float32))
        given = {"lengths": ends, "key_lengths": key_ends, "mode": mode, "before": before, "behind": behind}
        given["mask"] = mask if mode else None
        operands = (whole(together(t, first)) for t in (q, k, v))
        query, key, value = operands
        Call(query, [key], [value], layout, out, given).make(device, 4 if mode else 5, lse)
        close(out.after(), together([r[0] for r in rows], last), dtype)
        close(lse.after(), together([r[1] for r in rows], "TND"), dtype)


@pytest.mark.parametrize("kind", ["rows", "heads", "parts"])
@pytest.mark.parametrize("layout", ["TND", "BNSD", "BSND", "BSH", "BSND_NBSD", "BSH_NBSD", "BNSD_BSND"])
def test_keys_in_blocks(device: Device, layout: str, kind: str) -> None:
    q, k, v = sequences("float16")
    size, given = 4, {"key_lengths": KEYS, "block": 4, "mode": 3}
    wanted = [
        attended(*t, hides(3, len(t[0][0]), len(t[1][0])), 0, -np.inf)[0] for t in zip(q, k, v, strict=True)
    ]
    (keys, table), (values, _) = (blocks(t, size, kind) for t in (k, v))
    given["table"] = whole(table)
    if layout == "TND":
        given["lengths"] = tuple(np.cumsum(QUERIES).tolist())
        query, expected = together(q, "TND"), together(wanted, "TND")
    else:  # as many positions as the longest has; the others' are not read, and become 0
        given["lengths"] = QUERIES
        padded, placed = np.full((3, HEADS, 5, WIDTH), np.nan, np.float16), np.zeros((3, HEADS, 5, WIDTH))
        for b, n in enumerate(QUERIES):
            padded[b, :, :n], placed[b, :, :n] = q[b], wanted[b]
        query, expected = (
            laid(t, way) for t, way in zip((padded, placed), layout.split("_") * 2, strict=False)
        )
        if "_" in layout:
            expected = laid(placed, layout.split("_")[1])
    out = whole(np.full(expected.shape, 77, np.float16))
    Call(whole(query), [whole(keys)], [whole(values)], layout, out, given).make(device)
    close(out.after(), expected, "float16")
    one = [t[:, -1:] for t in q]
    if layout == "BNSD":
        out, old = whole(np.zeros((3, HEADS, 1, WIDTH), np.float16)), [None] * 7
        operands = [
            whole(np.stack(one)),
            [whole(keys)],
            [whole(values)],
            None,
            None,
            KEYS,
            *old,
            given["table"],
        ]
        device.call("IncreFlashAttentionV3", *operands, HEADS, SCALE, layout, KEY_HEADS, size, 0, out)
        close(
            out.after(),
            np.stack([attended(*t, False, 0, -np.inf)[0] for t in zip(one, k, v, strict=True)]),
            "float16",
        )


def laid(t: Array, layout: str) -> Array:
    """[sequences, heads, positions, width] in a layout."""
    axes = {"BNSD": (0, 1, 2, 3), "NBSD": (1, 0, 2, 3)}.get(layout, (0, 2, 1, 3))
    made = np.ascontiguousarray(t.transpose(axes))
    return made.reshape(*made.shape[:2], -1) if layout == "BSH" else made


@pytest.mark.parametrize("paged", [False, True])
def test_parts_that_rotate_and_sinks(device: Device, paged: bool) -> None:
    """As latent attention has them: scores are sums of two products, values are the latent part."""
    q, k, _ = sequences()
    q_rope = [some(HEADS, n, 8, seed=60 + n) for n in QUERIES]
    k_rope = [some(KEY_HEADS, n, 8, seed=80 + n) for n in KEYS]
    sink = some(HEADS, seed=5)
    ends, key_ends = tuple(np.cumsum(QUERIES).tolist()), tuple(np.cumsum(KEYS).tolist())
    given: dict[str, Any] = {"lengths": ends, "key_lengths": KEYS if paged else key_ends, "sink": whole(sink)}
    given["query_rope"], out = whole(together(q_rope, "TND")), whole(np.zeros((9, HEADS, WIDTH), np.float32))
    if paged:
        (keys, table), (ropes, _) = blocks(k, 4, "rows"), blocks(k_rope, 4, "heads")
        given |= {"table": whole(table), "block": 4, "key_rope": whole(ropes)}
    else:
        keys, given["key_rope"] = together(k, "TND"), whole(together(k_rope, "TND"))
    Call(whole(together(q, "TND")), [whole(keys)], [whole(keys)], "TND", out, given).make(device)
    parts = [
        attended(np.concatenate(a, -1), np.concatenate(b, -1), b[0], np.False_, np.float64(0), sink)[0]
        for a, b in zip(zip(q, q_rope, strict=True), zip(k, k_rope, strict=True), strict=True)
    ]
    close(out.after(), together(parts, "TND"))
    del given["key_rope"]
    with pytest.raises(Failed, match="queries have a part that rotates, and keys have none"):
        Call(whole(together(q, "TND")), [whole(keys)], [whole(keys)], "TND", out, given).make(device)


def test_keys_and_values_of_integers(device: Device) -> None:
    q = some(2, HEADS, 1, WIDTH, dtype="float16")
    k, v = (
        np.random.default_rng(s).integers(-128, 128, (2, KEY_HEADS, 7, WIDTH)).astype(np.int8) for s in (1, 2)
    )
    columns, of_keys = some(2, 2, KEY_HEADS, 1, WIDTH, seed=3) / 64, some(2, 1, 2, 7, seed=4) / 64

    def run(given: dict[str, Any], scales: list[Array], offsets: list[Array]) -> None:
        out = whole(np.zeros_like(q))
        Call(whole(q), [whole(k)], [whole(v)], "BNSD", out, given).make(device)
        real = [(t + o.astype(np.float64)) * s for t, s, o in zip((k, v), scales, offsets, strict=True)]
        wanted = [
            attended(a, b, c, np.False_, np.float64(0), np.float64(-np.inf))[0]
            for a, b, c in zip(q, *real, strict=True)
        ]
        np.testing.assert_allclose(out.after().astype(np.float64), np.stack(wanted), rtol=5e-3, atol=5e-3)

    per_column = [np.ascontiguousarray(t[0][None]) for t in columns]
    shifts = [np.round(t * 64) for t in per_column]
    named: dict[str, Any] = {"key_scale": whole(per_column[0]), "key_offset": whole(shifts[0])}
    named |= {"value_scale": whole(per_column[1]), "value_offset": whole(shifts[1])}
    run(named, per_column, shifts)
    pair = np.stack([t[0] for t in per_column])
    run({"scale": whole(pair), "offset": whole(np.round(pair * 64))}, per_column, shifts)
    tokens = [t.reshape(1, 2, 7) for t in of_keys]
    named = {"key_scale": whole(tokens[0]), "value_scale": whole(tokens[1]), "scale_mode": 1}
    spread = [t.reshape(2, 1, 7, 1) for t in tokens]
    run(named, spread, [np.zeros(1)] * 2)
    with pytest.raises(Failed, match="keys and values of integers need their scales"):
        run({}, spread, spread)


def test_lengths_at_the_right_lists_of_keys_and_results_of_integers(device: Device) -> None:
    q, k, v = some(2, HEADS, 6, WIDTH), *(some(2, KEY_HEADS, 9, WIDTH, seed=s) for s in (1, 2))
    shift = some(2, HEADS, 8, 11, seed=3)  # more than there are positions
    given: dict[str, Any] = {"lengths": (4, 2), "key_lengths": (5, 8), "pse": whole(shift)}
    given |= {f"{name}_padding": whole(np.array([1])) for name in ("query", "key")}
    wanted = np.zeros(q.shape)
    for b, (m, n) in enumerate(((4, 5), (2, 8))):
        parts = q[b, :, 5 - m : 5], k[b, :, 8 - n : 8], v[b, :, 8 - n : 8]
        wanted[b, :, 5 - m : 5] = attended(*parts, np.False_, shift[b, :, :m, :n], np.float64(-np.inf))[0]
    out = whole(np.full_like(q, 77))
    Call(whole(q), [whole(k)], [whole(v)], "BNSD", out, given).make(device)
    close(out.after(), wanted)
    lists = [[whole(t[b : b + 1]) for b in range(2)] for t in (k, v)]
    Call(whole(q), *lists, "BNSD", out := whole(np.full_like(q, 77)), given).make(device)
    close(out.after(), wanted)
    scales, offset = some(HEADS, WIDTH, seed=7) * 20, whole(np.full((HEADS, WIDTH), 3, np.float32))
    given |= {"quant": whole(scales), "quant_offset": offset}
    Call(whole(q), *lists, "BNSD", out := whole(np.full(q.shape, 7, np.int8)), given).make(device)
    exact = np.where(wanted.any(-1, keepdims=True), np.clip(wanted * scales[:, None] + 3, -128, 127), 0)
    assert np.abs(out.after() - exact).max() <= 0.51
    old, far = whole(np.full_like(q, 77)), [FAR, FAR]
    plain = [whole(q), whole(k), whole(v), None, None, (4, 2), HEADS, SCALE, *far, "BNSD", KEY_HEADS, old]
    device.call("PromptFlashAttention", *plain)
    rows = attended(q[0, :, :4], k[0], v[0], np.False_, np.float64(0), np.float64(-np.inf))[0]
    close(old.after()[0, :, :4], rows)
    assert not old.after()[0, :, 4:].any()


@pytest.mark.parametrize("version", ["V3", "V4", "V5"])
def test_the_most_memory_is_asked_for_with_the_same_arguments(device: Device, version: str) -> None:
    nothing = [ctypes.c_void_p()] * 52
    assert (
        getattr(device.acl, f"aclnnFusedInferAttentionScore{version}GetMaxWorkspaceSize")(*nothing) == 161001
    )


def test_what_does_not_fit_is_said(device: Device) -> None:
    q, k, _ = sequences()
    query, key = whole(together(q, "TND")), whole(together(k, "TND"))
    out = whole(np.zeros((9, HEADS, WIDTH), np.float32))
    ends = {"lengths": (3, 4, 9), "key_lengths": (7, 11, 21)}
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("TND", ends, "sequence 2 has positions 11 to 21 of 20"),
        ("TND", {"lengths": (3, 4, 9)}, "need their ends"),
        ("DNT", ends, r"layout \[DNT\] is none of"),
        ("BNSD", ends, r"layout \[BNSD\] has 4 axes, a tensor 3"),
        ("TND", ends | {"query_scale": query}, "queries of integers isn't there"),
        ("TND", ends | {"prefix": query}, "shared prefixes isn't there"),
    ]
    for layout, given, message in cases:
        with pytest.raises(Failed, match=message):
            Call(query, [key], [key], layout, out, given).make(device)
    cache, table = blocks(k, 4, "heads")
    paged = {"lengths": (3, 4, 9), "key_lengths": (7, 4, 9), "block": 4, "table": whole(table[:, :1])}
    with pytest.raises(Failed, match="no blocks for 7 positions of sequence 0"):
        Call(query, [whole(cache)], [whole(cache)], "TND", out, paged).make(device)
    table[1, 0] = 99
    with pytest.raises(Failed, match="block 99 of"):
        Call(query, [whole(cache)], [whole(cache)], "TND", out, paged | {"table": whole(table)}).make(device)


@pytest.mark.parametrize("dtype", list(BOUNDS))
@pytest.mark.parametrize("version", ["", "V4"])
def test_sequences_of_training_and_their_gradients(device: Device, version: str, dtype: str) -> None:
    """Gradients against differences of the definition's values: dy . y moves by them."""
    q, k, v = sequences(dtype)
    dy = [some(HEADS, n, WIDTH, dtype=dtype, seed=70 + n) for n in QUERIES]
    ends, key_ends = tuple(np.cumsum(QUERIES).tolist()), tuple(np.cumsum(KEYS).tolist())
    mask = np.random.default_rng(3).random((8, 12)) > 0.7
    mask[:, 0] = False
    packed = [whole(together(t, "TND")) for t in (q, k, v, dy)]
    for mode, given in ((0, whole(mask)), (3, whole(np.triu(np.ones((2048, 2048), bool), 1)))):
        tops, sums = (whole(np.zeros((9, HEADS, 8), np.float32)) for _ in range(2))
        out = whole(np.zeros((9, HEADS, WIDTH), DTYPES[dtype]))
        numbers = [SCALE, 1.0, FAR, FAR, HEADS, "TND", 0, mode]
        lists = [None, None, None, given, None, ends, key_ends]
        states = ["same_as_input"] if version else []
        behind = [*numbers, *states, tops, sums, None, out]
        device.call(f"FlashAttentionVarLenScore{version}", *packed[:3], *lists, *behind)
        hidden = [mask[:m, :n] if mode == 0 else hides(3, m, n) for m, n in zip(QUERIES, KEYS, strict=True)]
        parts = list(zip(q, k, v, hidden, strict=True))
        close(out.after(), together([attended(*t, 0, -np.inf)[0] for t in parts], "TND"), dtype)
        made = [whole(np.zeros_like(t.whole)) for t in packed[:3]]
        kept = [whole(t.after()) for t in (tops, sums)]
        behind = [*kept, None, whole(out.after()), None, ends, key_ends, *numbers, *made, None, *states]
        device.call(f"FlashAttentionUnpaddingScoreGrad{version}", *packed, *lists[:4], *behind)
        rng = np.random.default_rng(8)
        for which, grads in enumerate(made):
            expected, found = 0.0, 0.0
            for b, part in enumerate(parts):
                step = rng.normal(size=part[which].shape)
                values = []
                for way in (1e-6, -1e-6):
                    moved = [np.asarray(t, np.float64) for t in part[:3]]
                    moved[which] = moved[which] + way * step
                    values.append((attended(*moved, part[3], 0, -np.inf)[0] * dy[b].astype(np.float64)).sum())
                expected += (values[0] - values[1]) / 2e-6
                start, end = ([0, *(key_ends if which else ends)])[b : b + 2]
                found += (grads.after()[start:end].astype(np.float64).swapaxes(0, 1) * step).sum()
            assert found == pytest.approx(expected, rel=20 * BOUNDS[dtype], abs=20 * BOUNDS[dtype])
    operands = [*packed[:3], *lists]
    operands[8] = (3, 4, 10)
    with pytest.raises(Failed, match="sequence 2 has positions 4 to 10 of 9"):
        device.call("FlashAttentionVarLenScore", *operands, *numbers, tops, sums, None, out)
    numbers[5] = "BSND"
    with pytest.raises(Failed, match=r"have the layout TND, not \[BSND\]"):
        device.call("FlashAttentionVarLenScore", *packed[:3], *lists, *numbers, tops, sums, None, out)


def test_dropping_of_sequences(device: Device) -> None:
    """Bits lie behind each other, those of a sequence's heads, queries and keys first."""
    q, k, v = sequences()
    ends, key_ends = tuple(np.cumsum(QUERIES).tolist()), tuple(np.cumsum(KEYS).tolist())
    sizes = [HEADS * m * n for m, n in zip(QUERIES, KEYS, strict=True)]
    bits = np.random.default_rng(1).random(sum(sizes) + 8 - sum(sizes) % 8) > 0.4
    states = [whole(np.zeros((9, HEADS, 8), np.float32)) for _ in range(2)]
    packed = [whole(together(t, "TND")) for t in (q, k, v)]
    out, drop = whole(np.zeros((9, HEADS, WIDTH), np.float32)), whole(np.packbits(bits, bitorder="little"))
    lists, numbers = (
        [None, drop, None, None, None, ends, key_ends],
        [SCALE, 0.6, FAR, FAR, HEADS, "TND", 0, 0],
    )
    device.call("FlashAttentionVarLenScore", *packed, *lists, *numbers, *states, None, out)
    wanted, at = [], 0
    for a, b, c, size in zip(q, k, v, sizes, strict=True):
        keys, values = (np.repeat(t.astype(np.float64), 2, 0) for t in (b, c))
        scores = SCALE * a @ keys.swapaxes(1, 2)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        keep = bits[at : at + size].reshape(e.shape) / 0.6
        wanted.append(e / e.sum(-1, keepdims=True) * keep @ values)
        at += size
    close(out.after(), together(wanted, "TND"))
    made, dy = [whole(np.zeros_like(t.whole)) for t in packed], some(9, HEADS, WIDTH, seed=3)
    behind = [
        *(whole(t.after()) for t in states),
        None,
        whole(out.after()),
        *lists[4:],
        *numbers,
        *made,
        None,
    ]
    device.call("FlashAttentionUnpaddingScoreGrad", *packed, whole(dy), *lists[:4], *behind)
    # values are weighed linearly: what goes back to them, times them, is dy . y
    found = (made[2].after().astype(np.float64) * packed[2].whole).sum()
    assert found == pytest.approx((dy * together(wanted, "TND")).sum(), rel=1e-4)


@pytest.mark.parametrize("kind", [None, 1, 0])
def test_what_is_added_to_scores_of_training(device: Device, kind: int | None) -> None:
    """Before they are scaled, but for the kind 0; its gradient against differences."""
    q, k, v, dy = (
        some(2, HEADS, 4, WIDTH),
        *(some(2, KEY_HEADS, 5, WIDTH, seed=s) for s in (1, 2)),
        some(2, HEADS, 4, WIDTH, seed=3),
    )
    shift, times = some(1, HEADS, 4, 5, seed=4), 1 if kind == 0 else SCALE

    def values(moved: Array) -> Array:
        none = np.zeros((4, 5), bool)
        parts = [attended(*t, none, times * moved[0], -np.inf)[0] for t in zip(q, k, v, strict=True)]
        return np.stack(parts)

    states, out = [whole(np.zeros((2, HEADS, 4, 8), np.float32)) for _ in range(2)], whole(np.zeros_like(q))
    more = [] if kind is None else [None, None]
    numbers = [*more, SCALE, 1.0, FAR, FAR, HEADS, "BNSD", 0, 0, *([] if kind is None else [kind])]
    packed, lists, name = (
        [whole(t) for t in (q, k, v)],
        [whole(shift), None, None, None],
        "V2" if more else "",
    )
    device.call(f"FlashAttentionScore{name}", *packed, *lists, None, *numbers, *states, empty(0), out)
    close(out.after(), values(shift.astype(np.float64)))
    made, grad = [whole(np.zeros_like(t.whole)) for t in packed], whole(np.zeros_like(shift))
    behind = [*(whole(t.after()) for t in states), None, whole(out.after()), None, *numbers, *made, grad]
    device.call(f"FlashAttentionScoreGrad{name}", *packed, whole(dy), *lists, *behind)
    step = np.random.default_rng(5).normal(size=shift.shape)
    moved = [(values(shift + way * step) * dy).sum() for way in (1e-6, -1e-6)]
    assert (grad.after() * step).sum() == pytest.approx((moved[0] - moved[1]) / 2e-6, rel=1e-3, abs=1e-3)
