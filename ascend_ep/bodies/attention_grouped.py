"""GroupQueryAttention: attention over a cache of keys and values that fewer heads have than queries.

Row b of a batch has seqlens_k[b] + 1 tokens after a step, of which the queries are the last; where the step
is a prompt, its tokens are the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ascend_ep.bodies.body import Body, written
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.dims import static
from ascend_ep.plan.node_view import Unsupported

QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, SEQLENS, TOTAL, COS, SIN, POSITIONS, BIAS, SINK = range(12)
#: Inputs that the CPU provider refuses, or whose caches differ, with what they are for.
OTHER_FORMS = {12: "its cache is quantised", 13: "its cache is quantised", 14: "it norms its queries",
               15: "it norms its keys", 16: "its queries are padded"}  # fmt: skip


@dataclass
class Step:
    """What the nodes are made of: sizes as scalars, and for each row its end and its first new place."""

    length: str
    total: str
    #: whether it is one, a scalar
    prompt: str
    ends: str
    starts: str
    #: whether there are as many keys as tokens; else the cache is a buffer with room for more
    exact: bool
    #: whether all rows are full, and new keys are what follows all past ones
    plain: bool


@written("grouped_attention")
def write_grouped_attention(body: Body) -> None:
    body.refuse_half_types()
    _refuse_forms(body)
    heads, groups = body.integer("num_heads"), body.integer("kv_num_heads")
    q, k, v = _parts(body, heads, groups)
    step = _step(body, q)
    if body.integer("do_rotary"):
        q, k = (_rotated(body, x, step) for x in (q, k))
    causal = body.integer("causal", 1)
    window = body.integer("local_window_size", -1)
    softened = body.number("softcap", 0.0) or body.integer("smooth_softmax") > 0 or body.given(SINK)
    if step.plain and causal and window < 0 and not softened and not body.given(BIAS):
        pasts, present = [body.given(PAST_KEY), body.given(PAST_VALUE)], [body.wanted(1), body.wanted(2)]
        inputs = [q, k, v, "", *pasts]
        body.several("Attention", inputs, ["body.y", *present], is_causal=1, scale=_scale(body))
    else:
        keys, values = (_cache(body, x, step, *at) for x, at in ((k, (PAST_KEY, 1)), (v, (PAST_VALUE, 2))))
        seen = _seen(body, keys, step, causal, window)
        if softened:
            _soften(body, q, keys, values, seen)
        else:
            mask = _with_bias(body, body.given(BIAS), seen) if body.given(BIAS) else seen
            body.add("Attention", q, keys, values, mask, into="body.y", scale=_scale(body))
    together = body.add("Transpose", "body.y", perm=[0, 2, 1, 3])
    body.add("Reshape", together, body.constant([0, 0, -1]), into=body.wanted(0))


def _refuse_forms(body: Body) -> None:
    for index, why in OTHER_FORMS.items():
        body.refuse(bool(body.given(index)), why)
    body.refuse(bool(body.wanted(3)), "it hands out its scores")
    body.refuse(bool(body.integer("sliding_window_cache")), "its cache forgets")
    body.refuse(
        bool(body.given(PAST_KEY)) != bool(body.given(PAST_VALUE)), "it has only one of keys and values past"
    )


def _parts(body: Body, heads: int, groups: int) -> list[str]:
    """Queries, keys and values as [B, heads, S, D]."""
    counts = [heads, groups, groups]
    if body.given(KEY):
        given = zip(range(3), counts, strict=True)
        parts = [body.add("Reshape", body.given(i), body.constant([0, 0, n, -1])) for i, n in given]
    else:
        packed = body.add("Reshape", body.given(QUERY), body.constant([0, 0, sum(counts), -1]))
        parts = ["body.q", "body.k", "body.v"]
        body.several("Split", [packed, body.constant(counts)], parts, axis=2)
    return [body.add("Transpose", part, perm=[0, 2, 1, 3]) for part in parts]


def _step(body: Body, q: str) -> Step:
    query, total, past = body.needed(QUERY), body.needed(TOTAL), body.operand(PAST_KEY)
    length = body.size(q, 2)
    whole = body.add("Reshape", body.add("Cast", total.name, to=dtypes.INT64), body.constant([]))
    counted = body.add("Reshape", body.add("Cast", body.given(SEQLENS), to=dtypes.INT64), body.constant([-1]))
    ends = body.add("Add", counted, body.constant(1))
    before = body.add("Sub", ends, length)
    none = body.add("Mul", ends, body.constant(0))
    prompt = body.add("Equal", length, whole)
    starts = none if past is None else body.add("Where", prompt, none, before)
    known = (total.shape_value or (None,))[0]
    exact = past is None or known == past.dims[2] + query.dims[1]
    plain = past is None or (exact and query.dims[0] == 1)
    return Step(length, whole, prompt, ends, starts, exact, plain)


def _rotated(body: Body, x: str, step: Step) -> str:
    """By the angles of each token's place, or of those that are given; a prompt has the first of these."""
    cos = body.needed(COS)
    line, given = body.counted(step.length), body.given(POSITIONS)
    places = body.add("Add", body.along(step.starts, [1]), line)
    if given:
        first = body.add("Gather", body.add("Reshape", given, body.constant([-1])), body.constant(0))
        places = body.add("Where", step.prompt, body.add("Add", first, line), given)
    named = {"interleaved": body.integer("rotary_interleaved")}
    half = static(cos.dims[1])
    if half is not None and 2 * half != _head_size(body):
        named["rotary_embedding_dim"] = 2 * half
    made = body.several("RotaryEmbedding", [x, cos.name, body.given(SIN), places], [f"{x}.rotated"], **named)
    return made[0]


def _cache(body: Body, new: str, step: Step, past: int, present: int) -> str:
    """Of each row what is past, below its start, then what is new; zeros from its end on. Gives as many keys,
    or values, as there are tokens, and in the output what else the buffer holds."""
    before, wanted = body.given(past), body.wanted(present)
    if not before:
        return body.add("Identity", new, into=wanted) if wanted else new
    old = body.size(before, 2)
    both = body.add("Concat", before, new, axis=2)
    places = body.counted(step.total if step.exact else body.add("Max", step.total, old))
    behind = body.add("Sub", places, body.along(step.starts, [1]))
    last = body.add("Sub", body.add("Add", old, step.length), body.constant(1))
    among_new = body.add("Min", body.add("Add", behind, old), last)
    chosen = body.add("Where", body.add("Less", behind, body.constant(0)), places, among_new)
    shape = body.add(
        "Concat",
        body.add("Shape", new, end=2),
        body.add("Shape", places),
        body.add("Shape", new, start=3),
        axis=0,
    )
    index = body.add("Expand", body.along(chosen, [1, 3]), shape)
    found = body.add("GatherElements", both, index, axis=2)
    filled = body.along(body.add("Less", places, body.along(step.ends, [1])), [1, 3])
    whole = body.add("Where", filled, found, body.constant(0.0, np.float32), into=wanted)
    if step.exact:
        return whole
    total = body.add("Reshape", step.total, body.constant([1]))
    begun = body.add("Slice", whole, body.constant([0]), total, body.constant([2]))
    sizes = [body.add("Shape", new, end=2), total, body.add("Shape", new, start=3)]
    return body.add("Reshape", begun, body.add("Concat", *sizes, axis=0))


def _seen(body: Body, keys: str, step: Step, causal: int, window: int) -> str:
    """[B, 1, S, L]: whether a query sees a key."""
    places = body.counted(body.size(keys, 2))
    seen = body.add("Less", places, body.along(step.ends, [1, 2]))
    if causal:
        own = body.along(body.add("Add", body.along(step.starts, [1]), body.counted(step.length)), [2])
        seen = body.add("And", seen, body.add("LessOrEqual", places, own))
        if window >= 0:  # what pads a row beyond its end sees the last key: of none, softmax is NaN
            last = body.add("Sub", body.along(step.ends, [1, 2]), body.constant(1))
            first = body.add("Sub", body.add("Min", own, last), body.constant(window))
            seen = body.add("And", seen, body.add("Greater", places, first))
    return body.along(seen, [1])


def _with_bias(body: Body, scores: str, seen: str) -> str:
    return body.add("Where", seen, scores, body.constant(-math.inf, np.float32))


def _soften(body: Body, q: str, keys: str, values: str, seen: str) -> None:
    """body.y, by the matrix of scores: through a soft cap, and with one more share that nothing gets."""
    groups = body.integer("kv_num_heads")
    size = body.add("Shape", q, start=3)
    rows = body.add("Concat", body.constant([0, groups, -1]), size, axis=0)
    scaled = body.add("Mul", q, body.constant(_scale(body), np.float32))
    columns = body.add("Transpose", keys, perm=[0, 1, 3, 2])
    products = body.add("MatMul", body.add("Reshape", scaled, rows), columns)
    apart = body.add("Concat", body.add("Shape", q, end=3), body.add("Shape", keys, start=2, end=3), axis=0)
    scores = body.add("Reshape", products, apart)
    if cap := body.number("softcap", 0.0):
        limit = body.constant(cap, np.float32)
        scores = body.add("Mul", body.add("Tanh", body.add("Div", scores, limit)), limit)
    if body.given(BIAS):
        scores = body.add("Add", scores, body.given(BIAS))
    shares = _shares(body, _with_bias(body, scores, seen))
    back = body.add("Concat", body.constant([0, groups, -1]), body.add("Shape", keys, start=2, end=3), axis=0)
    sums = body.add("MatMul", body.add("Reshape", shares, back), values)
    body.add("Reshape", sums, body.add("Shape", q), into="body.y")


def _shares(body: Body, scores: str) -> str:
    sink = body.given(SINK)
    if not sink and body.integer("smooth_softmax") <= 0:
        return body.add("Softmax", scores, axis=-1)
    column = body.add("Concat", body.add("Shape", scores, end=3), body.constant([1]), axis=0)
    more = body.add("Reshape", sink, body.constant([1, -1, 1, 1])) if sink else body.constant(0.0, np.float32)
    wide = body.add("Concat", scores, body.add("Expand", more, column), axis=3)
    return body.add(
        "Slice",
        body.add("Softmax", wide, axis=-1),
        body.constant([0]),
        body.constant([-1]),
        body.constant([3]),
    )


def _head_size(body: Body) -> int:
    heads, groups = body.integer("num_heads"), body.integer("kv_num_heads")
    width = static(body.needed(QUERY).dims[2])
    if width is None:
        raise Unsupported("its head size is known only at run time")
    return width // (heads if body.given(KEY) else heads + 2 * groups)


def _scale(body: Body) -> float:
    return body.number("scale", 0.0) or 1 / math.sqrt(_head_size(body))
