"""Where the writer put the blobs of a bundle: weights, host models, native code and samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ascend_ep.plan.plan import HostPartition, Native, Weight


@dataclass(frozen=True)
class Segment:
    """Where a blob lies in its partition."""

    offset: int
    size: int
    sha256: bytes


@dataclass(frozen=True)
class WeightFile:
    """A file that holds `count` weights from number `first` on; `name` is relative to the bundle's folder."""

    name: str
    first: int
    count: int
    size: int
    sha256: bytes


@dataclass(frozen=True)
class Placement:
    """Where the writer put the blobs. Weights with equal bytes share a segment, so `weight_of` maps each
    weight to its number in `weights`."""

    weights: Sequence[Segment]
    weight_of: dict[Weight, int]
    hosts: dict[HostPartition, Segment]
    natives: dict[Native, Segment]
    samples: Sequence[Segment]
    weight_files: Sequence[WeightFile] = ()
