"""model_warmup of a config.pbtxt: inputs that every version is run on before it takes requests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ascend_ep.serving.datatypes import BYTES, DTYPES
from ascend_ep.serving.request import Array

from .config import Warmup

#: Of one warm-up input.
MAX_ELEMENTS = 1 << 24
MAX_COUNT = 1000


def read_warmups(
    given: Iterable[Any], max_batch_size: int, refuse: Callable[[str, str], None]
) -> tuple[Warmup, ...]:
    """With a max_batch_size, shapes begin with the warm-up's batch_size. `refuse` raises."""
    found = []
    for i, warmup in enumerate(given):
        place = f"model_warmup[{i}]"
        if warmup.count > MAX_COUNT:
            refuse(f"{place}.count", f"{MAX_COUNT} is the most")
        if max_batch_size and warmup.batch_size > max_batch_size:
            refuse(f"{place}.batch_size", f"max_batch_size is {max_batch_size}")
        batch = [warmup.batch_size or 1] if max_batch_size else []
        inputs = tuple(
            (name, _array(name, tensor, batch, place, refuse)) for name, tensor in warmup.inputs.items()
        )
        found.append(Warmup(warmup.name, inputs, max(1, warmup.count)))
    return tuple(found)


def _array(name: str, tensor: Any, batch: list[int], place: str, refuse: Callable[[str, str], None]) -> Array:
    types = tensor.DESCRIPTOR.fields_by_name["data_type"].enum_type.values_by_number
    datatype = types[tensor.data_type].name.removeprefix("TYPE_")
    datatype = BYTES if datatype == "STRING" else datatype
    shape = [*batch, *tensor.dims]
    if datatype not in DTYPES:
        refuse(f"{place}.inputs", f"input [{name}] has no data_type")
    if any(size < 0 for size in shape) or math.prod(shape) > MAX_ELEMENTS:
        refuse(f"{place}.inputs", f"input [{name}] needs sizes, with a product of {MAX_ELEMENTS} at most")
    if tensor.WhichOneof("input_data_type") == "input_data_file":
        refuse(f"{place}.inputs", "input_data_file isn't supported: bundles carry samples of their own")
    if datatype == BYTES:
        return np.full(shape, "", object)
    if not tensor.random_data:
        return np.zeros(shape, DTYPES[datatype])
    drawn = np.random.default_rng(0).random(shape)
    return (drawn * 2).astype(DTYPES[datatype])
