"""The plan in memory: what lowering builds and the writer stores. Indices exist only in the file; here
things refer to each other directly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ascend_ep.opdef.constraints import Constraint
from ascend_ep.opdef.dims import Dim
from ascend_ep.opdef.expression import Expression
from ascend_ep.runtime._rt import lib

from .joined_names import Part, distinct, joined
from .watched import Watched

INPUT, OUTPUT, TEMP, WEIGHT, VIEW = range(5)  # ASC_VALUE_...

#: The kernel of instructions that hold expressions.
ELEMENTWISE = "elementwise"
MAX_RANK: int = lib.ASC_MAX_RANK

AttrValue = Sequence[Dim] | Sequence[float] | str


class TensorSource(Protocol):
    """Anything that gives an array when asked: an `onnx_ir` tensor, which may still be on disk."""

    def numpy(self) -> NDArray[np.generic]: ...


def elements(source: NDArray[np.generic] | TensorSource) -> NDArray[np.generic]:
    """The array itself, or the one that the source gives."""
    return source if isinstance(source, np.ndarray) else source.numpy()


@dataclass(eq=False)
class Weight:
    """A constant of the model. `source` is read when the bundle is written, not before.

    layout "panel32" packs [K, N] matrices, [..., K, N], at write time (ascend_rt.h, ASC_LAYOUT_PANEL32);
    "vnni2_32" rounds float32 ones to bfloat16 as well (ASC_LAYOUT_VNNI2_32); "fp16_32" is panels of float16,
    "bytes32" of int8, "nibbles32" of its low four bits, "vnni4_32" of int8 with four rows side by side.
    """

    source: NDArray[np.generic] | TensorSource
    layout: str = "plain"

    def load(self) -> NDArray[np.generic]:
        """The elements in row-major order, before packing; may be a view of a mapped file."""
        array = self.array()
        return array if array.flags.c_contiguous else np.ascontiguousarray(array)

    def array(self) -> NDArray[np.generic]:
        """The same with any strides."""
        return elements(self.source)


@dataclass(eq=False)
class Ref:
    """A value of the plan: dtype (ONNX number) and dims, and where its memory comes from.

    strides (elements) is None when contiguous. A VIEW's base is never itself a view.

    `last` and `origin` are what dumps say of it, as in asc_origin.h: 1 or more where channels are last, and
    the name of a tensor of the model ("": none); None where nothing is known.
    """

    name: str
    dtype: int
    dims: tuple[Dim, ...]
    kind: int = TEMP
    base: Ref | None = None
    offset: Dim = 0
    strides: tuple[Dim, ...] | None = None
    weight: Weight | None = None
    last: int = 0
    origin: str | None = None

    @property
    def rank(self) -> int:
        return len(self.dims)


def contiguous_strides(dims: Sequence[Dim]) -> tuple[Dim, ...]:
    """Row-major strides in elements."""
    strides: list[Dim] = []
    step: Dim = 1
    for d in reversed(dims):
        strides.append(step)
        step = step * d
    return tuple(reversed(strides))


@dataclass(frozen=True)
class Native:
    """A shared object carried in the bundle; equal ones are stored once. `generated`: from a formula."""

    name: str
    path: str
    generated: bool = False


@dataclass(eq=False)
class Insn:
    """One kernel call; with `native`, one call of a custom-operator library. `expressions`: what an
    elementwise one computes, by output, in the place of ints and floats (tile_expression.py). `joins`: names
    and operators of the nodes whose work it does, in their order, where it took in others than its own."""

    name: str
    kernel: str
    ins: tuple[Ref | None, ...]
    outs: tuple[Ref, ...]
    ints: tuple[Dim, ...] = ()
    floats: tuple[float, ...] = ()
    op_type: str = ""
    native: Native | None = None
    attrs: Mapping[str, AttrValue] = field(default_factory=dict)
    expressions: tuple[Expression, ...] = ()
    unfused: Insn | None = None  # of an elementwise one: what does the same faster, should nothing join it
    joins: tuple[Part, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """Name and operator of each node that it computes."""
        return self.joins or ((self.name, self.op_type),)

    @property
    def joined_name(self) -> str:
        """The names of all its nodes, as bundles and profiles have it."""
        return joined(name for name, _ in self.parts)

    @property
    def joined_type(self) -> str:
        """The operators of all its nodes, likewise."""
        return joined(op_type for _, op_type in self.parts)


def joining(made: Insn, taken: Sequence[Insn]) -> Insn:
    """`made`, called after all those that it does the work of, in their order."""
    return replace(made, joins=distinct(part for insn in taken for part in insn.parts))


@dataclass(eq=False)
class Edge:
    """A tensor between partitions or at the boundary of the model. dtype 0: no tensor (host to host only)."""

    name: str
    dtype: int
    dims: tuple[Dim, ...]
    is_input: bool = False
    is_output: bool = False


@dataclass(eq=False)
class NativePartition:
    """Instructions for libascend_rt. inputs and outputs pair an edge with the value that holds it.

    `fallback` has the same edges and calls no library: it runs where the libraries of this one may not.
    `version` counts the changes of its lists, so that what was found out of them is known to hold.
    """

    name: str
    values: list[Ref] = field(default_factory=list)
    insns: list[Insn] = field(default_factory=list)
    inputs: list[tuple[Edge, Ref]] = field(default_factory=list)
    outputs: list[tuple[Edge, Ref]] = field(default_factory=list)
    fallback: NativePartition | None = None
    version: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.values = Watched(self.values, self._changed)
        self.insns = Watched(self.insns, self._changed)
        self.outputs = Watched(self.outputs, self._changed)

    def _changed(self) -> None:
        self.version += 1


@dataclass(eq=False)
class HostPartition:
    """An ONNX model that onnxruntime runs between native partitions, and why it has to."""

    name: str
    model: bytes
    reason: str
    inputs: list[Edge] = field(default_factory=list)
    outputs: list[Edge] = field(default_factory=list)


Partition = NativePartition | HostPartition


@dataclass(eq=False)
class Sample:
    """A stored input or output of one self-check run."""

    edge: Edge
    array: NDArray[np.generic]


@dataclass(frozen=True)
class SymbolRange:
    """The sizes a free dimension may take; max None is unbounded."""

    min: int = 0
    max: int | None = None


@dataclass(eq=False)
class Plan:
    """A whole model: edges in declaration order, partitions in execution order."""

    edges: list[Edge] = field(default_factory=list)
    partitions: list[Partition] = field(default_factory=list)
    symbols: dict[str, SymbolRange] = field(default_factory=dict)
    meta: dict[str, str] = field(default_factory=dict)
    #: the only sizes of free dimensions at which the model runs, each with the same symbols; none: any
    profiles: list[Mapping[str, int]] = field(default_factory=list)
    #: what sizes of inputs must satisfy
    constraints: list[Constraint] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    #: the same model for sizes that contradict the names of its inputs' dims
    apart: Plan | None = None

    def native_parts(self) -> Iterator[NativePartition]:
        """The native partitions, each followed by what it falls back on, if anything."""
        for owner in self.partitions:
            if isinstance(owner, NativePartition):
                yield owner
                if owner.fallback is not None:
                    yield owner.fallback
