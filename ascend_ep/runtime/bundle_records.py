"""What bundle.py reads out of a bundle: a record for each thing that its sections list."""

from __future__ import annotations

from dataclasses import dataclass

#: A size, or text over symbols.
DimText = int | str


@dataclass(frozen=True)
class Edge:
    """A tensor between partitions or at the boundary. dtype 0: none. dims: sizes, or text over symbols."""

    index: int
    name: str
    dtype: int
    dims: tuple[DimText, ...]
    is_input: bool
    is_output: bool


@dataclass(frozen=True)
class Partition:
    """inputs and outputs are edge numbers. `model` is the ONNX model of a host partition, else None."""

    index: int
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    insns: range
    values: range
    model: memoryview | None
    reason: str

    @property
    def is_native(self) -> bool:
        return self.model is None


@dataclass(frozen=True)
class Value:
    name: str
    kind: str
    dtype: int
    dims: tuple[DimText, ...]
    layout: str


@dataclass(frozen=True)
class Instruction:
    """One kernel call; ints and floats are its arguments in the kernel's order."""

    index: int
    node: str
    kernel: str
    op_type: str
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value | None, ...]
    ints: tuple[DimText, ...]
    floats: tuple[float, ...]
    native: int | None


@dataclass(frozen=True)
class Segment:
    name: str
    offset: int
    size: int
    sha256: str


@dataclass(frozen=True)
class WeightFile:
    """A file beside the bundle that holds these of its weights; `name` is relative to the bundle's folder."""

    name: str
    weights: range
    size: int
    sha256: str


@dataclass(frozen=True)
class Symbol:
    name: str
    min: int
    max: int | None


@dataclass(frozen=True)
class Constraint:
    """What inputs must satisfy: `left` is `right`, or `or_one` (1: the left, 2: either) is 1; `text` says it
    in words."""

    left: DimText
    right: DimText
    or_one: int
    text: str
