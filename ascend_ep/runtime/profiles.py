"""Profiles as callers of ACL choose them: by a tensor of sizes, beside inputs with room for the largest."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ascend_ep.errors import AscendError

from .bundle import Bundle
from .bundle_records import Edge

#: The name under which atc's models with profiles take the chosen sizes.
SHAPE_DATA = "ascend_mbatch_shape_data"
#: The META entry that says what each of those sizes is of: a symbol, or a fixed size.
COLUMNS = "profile_columns"


def with_profile(feed: Mapping[str, Any], bundle: Bundle, where: str) -> dict[str, Any]:
    """The feed without SHAPE_DATA, each input cut to its first elements, in the shape that the profile gives.

    Raises AscendError E40007 when the sizes are no profile's, or an input is too small for them.
    """
    columns = json.loads(bundle.meta.get(COLUMNS, "[]"))
    sizes = [int(n) for n in np.asarray(feed[SHAPE_DATA]).ravel()]
    chosen = {column: size for column, size in zip(columns, sizes, strict=False) if isinstance(column, str)}
    fixed = all(c == s for c, s in zip(columns, sizes, strict=False) if isinstance(c, int))
    if len(sizes) != len(columns) or not fixed or chosen not in bundle.profiles:
        allowed = "; ".join(",".join(str(p.get(c, c)) for c in columns) for p in bundle.profiles)
        text = f"[{SHAPE_DATA}] is {sizes}, none of the model's profiles ({allowed})"
        raise AscendError("E40007", text, where=where)
    edges = {edge.name: edge for edge in bundle.edges if edge.is_input}
    return {
        name: _cut(value, edges[name], chosen, where) if name in edges else value
        for name, value in feed.items()
        if name != SHAPE_DATA
    }


def _cut(value: Any, edge: Edge, chosen: Mapping[str, int], where: str) -> Any:
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    shape = tuple(chosen.get(d, -1) if isinstance(d, str) else d for d in edge.dims)
    if array.shape == shape or -1 in shape:
        return array
    count = math.prod(shape)
    if array.size < count:
        text = f"input [{edge.name}] has {array.size} elements; the chosen profile takes {list(shape)}"
        raise AscendError("E40007", text, where=where)
    return array.ravel()[:count].reshape(shape)
