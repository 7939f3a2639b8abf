"""What a model says of its inputs and outputs, as ACL does: -1 for free dims, bytes for the largest sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ascend_ep.opdef.dim_text import parse_dim
from ascend_ep.opdef.dims import evaluate
from ascend_ep.runtime.bundle_records import DimText, Edge

from . import data_types
from .failure import Failure

#: aclFormat: of images, and of everything else.
NCHW, ND = 0, 2


@dataclass
class tensor_desc:
    """size: bytes for the largest shape, 0 where there is none; realsize: bytes for the shape in force."""

    name: str = ""
    datatype: Any = data_types.dtype.float32
    format: int = ND
    shape: list[int] = field(default_factory=list)
    realsize: int = 0
    size: int = 0

    def __str__(self) -> str:
        shape = ", ".join(map(str, self.shape))
        return f"{self.name}  ({shape})  {self.datatype.name}  {self.size}  {self.realsize}"


def describe(edge: Edge, largest: int, where: str) -> tensor_desc:
    """The description of an input or output that has `largest` elements at most (0: unknown).

    Raises Failure E45007 for a type that ACL lacks.
    """
    try:
        kind = data_types.of_onnx(edge.dtype)
    except KeyError:
        raise Failure("E45007", edge.name, "ACL has no number for its type", where=where) from None
    size = largest * data_types.array_type(kind).itemsize
    shape = [d if isinstance(d, int) else -1 for d in edge.dims]
    return tensor_desc(edge.name, kind, NCHW if len(shape) == 4 else ND, shape, size, size)


def most_elements(dims: Sequence[DimText], choices: Iterable[Mapping[str, int]]) -> int:
    """The largest number of elements for any of these sizes of symbols; 0 where a dim needs others."""
    return max((elements(dims, sizes) for sizes in choices), default=0)


def elements(dims: Sequence[DimText], sizes: Mapping[str, int]) -> int:
    """The number of elements for these sizes of symbols, or 0."""
    try:
        return math.prod(d if isinstance(d, int) else evaluate(parse_dim(d), sizes) for d in dims)
    except (KeyError, ZeroDivisionError):
        return 0
