"""The request to a program of native/include/ascendc/host/program.h, and its answer."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.cann.soc import Soc
from ascend_ep.element_types import ELEMENT_TYPES, numpy_dtype

Array = NDArray[Any]
#: ge::DataType of each element type, by ONNX's number; and back.
GE_NUMBERS = {n: row.acl for n, row in ELEMENT_TYPES.items() if row.acl >= 0}
OF_GE = {ge: n for n, ge in GE_NUMBERS.items()}
FORMAT_ND = 2


@dataclass(frozen=True)
class Wanted:
    """An output as a request names it: dtype (ONNX's number; None: as the host says), the input whose shape it
    has, or its dims; neither where the host says."""

    dtype: int | None = None
    like: int = -1
    dims: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Plain:
    """What a kernel without host code is launched with."""

    blocks: int = 1
    key: int = 0
    workspace: int = 0
    tiling: bytes = b""


@dataclass(frozen=True)
class CallRequest:
    """inputs: by place in the definition an array, None (absent), or a list of arrays (a dynamic one); outputs
    likewise. attributes: by place (kind, value). values: arguments that are no addresses, as bytes. ub, cores: another chip's.
    strict: every synchronisation must be written, none is the compiler's. stop: the first fault ends the run."""

    soc: Soc
    inputs: Sequence[Array | Sequence[Array] | None]
    outputs: Sequence[Wanted | Sequence[Wanted]]
    attributes: Sequence[tuple[str, Any]] = ()
    plain: Plain = Plain()
    values: Sequence[bytes] = ()
    ub: int | None = None
    cores: int | None = None
    strict: bool = False
    stop: bool = False


#: Kinds of work, in the order of cpu/work.h.
WORK_KINDS = ("scalar", "vector", "cube", "read", "written")


@dataclass(frozen=True)
class KernelWork:
    """What a launch asks of a chip, by kind: of all cores, and of the one that does most of it."""

    cores: int
    all: Sequence[int]
    most: Sequence[int]


@dataclass
class Answer:
    """refused: why nothing ran. lines: broken rules and advice; `failed`: whether a rule was broken. work: what the
    kernel asks of a chip, if it was checked. printed: lines that kernel and host code wrote."""

    refused: str = ""
    failed: bool = False
    lines: list[str] = field(default_factory=list)
    blocks: int = 0
    key: int = 0
    workspace: int = 0
    tiling: bytes = b""
    outputs: list[Array] = field(default_factory=list)
    work: KernelWork | None = None
    printed: list[str] = field(default_factory=list)


def pack(request: CallRequest) -> bytes:
    """The request's bytes."""
    return b"".join(_parts(request))


def _number(value: int) -> bytes:
    return struct.pack("<Q", value & (1 << 64) - 1)


def _bytes(content: bytes) -> bytes:
    return _number(len(content)) + content


def chip_numbers(soc: Soc, ub: int | None = None, cores: int | None = None) -> tuple[int, ...]:
    """Of fe::PlatFormInfos: ub, l1, l0a, l0b, l0c, l2, hbm; cube, vector and extra vector cores; separate."""
    separate = soc.is_second_generation
    vectors = cores or (soc.vector_cores if separate else soc.ai_cores)
    extra = 0 if separate else soc.vector_cores
    return (
        ub or soc.ub,
        soc.l1,
        soc.l0a,
        soc.l0b,
        soc.l0c,
        soc.l2,
        soc.hbm,
        soc.ai_cores,
        vectors,
        extra,
        int(separate),
    )


def _parts(request: CallRequest) -> Iterator[bytes]:
    yield _number(request.strict) + _number(request.stop)
    yield _bytes(request.soc.name.encode())
    yield from map(_number, chip_numbers(request.soc, request.ub, request.cores))
    yield _number(len(request.inputs))
    for given in request.inputs:
        listed = isinstance(given, list | tuple)
        arrays = [] if given is None else list(given) if isinstance(given, list | tuple) else [given]
        yield _number(-1 if given is None else len(arrays)) + _number(listed)
        for array in arrays:
            yield from _tensor(np.asarray(array, order="C"))
    yield _number(len(request.outputs))
    for place in request.outputs:
        group = [place] if isinstance(place, Wanted) else list(place)
        yield _number(len(group)) + _number(not isinstance(place, Wanted))
        for wanted in group:
            yield _number(-1 if wanted.dtype is None else GE_NUMBERS[wanted.dtype]) + _number(wanted.like)
            yield _number(-1 if wanted.dims is None else len(wanted.dims))
            yield from map(_number, wanted.dims or ())
    yield _number(len(request.attributes))
    for kind, value in request.attributes:
        yield from _attribute(kind, value)
    plain = request.plain
    yield _number(plain.blocks) + _number(plain.key) + _number(plain.workspace) + _bytes(plain.tiling)
    yield _number(len(request.values))
    yield from map(_bytes, request.values)


def _tensor(array: Array) -> Iterator[bytes]:
    from ascend_ep.element_types import number_of

    yield _number(GE_NUMBERS[number_of(array.dtype)]) + _number(FORMAT_ND)
    yield _number(array.ndim)
    yield from map(_number, array.shape)
    yield _bytes(array.tobytes())


def _attribute(kind: str, value: Any) -> Iterator[bytes]:
    if value is None:
        yield _number(0)
    elif kind == "int":
        yield _number(1) + _number(int(value))
    elif kind == "float":
        yield _number(2) + _bytes(struct.pack("<f", value))
    elif kind == "bool":
        yield _number(3) + _number(bool(value))
    elif kind == "string":
        yield _number(4) + _bytes(str(value).encode())
    else:
        yield _number({"ints": 5, "floats": 6, "bools": 7}[kind]) + _bytes(list_bytes(kind, value))


def list_bytes(kind: str, value: Sequence[Any]) -> bytes:
    """A list's elements as gert::RuntimeAttrs holds them."""
    types: dict[str, type[np.generic]] = {"ints": np.int64, "floats": np.float32, "bools": np.uint8}
    return np.asarray(value, dtype=types[kind]).tobytes()


class _Reader:
    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def number(self) -> int:
        (value,) = struct.unpack_from("<q", self.content, self.at)
        self.at += 8
        return int(value)

    def bytes(self) -> bytes:
        size = self.number()
        self.at += size
        return self.content[self.at - size : self.at]


def unpack(content: bytes) -> Answer:
    """The answer. Raises struct.error for bytes that are none."""
    read = _Reader(content)
    status = read.number()
    lines = [read.bytes().decode("utf-8", "replace") for _ in range(read.number())]
    if status == 1:
        return Answer(refused="; ".join(lines))
    answer = Answer("", status == 2, lines, read.number(), read.number(), read.number(), read.bytes())
    for _ in range(read.number()):
        kind = numpy_dtype(OF_GE[read.number()])
        dims = [read.number() for _ in range(read.number())]
        answer.outputs.append(np.frombuffer(read.bytes(), kind).reshape(dims))
    cores, *numbers = (read.number() for _ in range(1 + 2 * len(WORK_KINDS)))
    if cores:
        answer.work = KernelWork(cores, numbers[: len(WORK_KINDS)], numbers[len(WORK_KINDS) :])
    return answer
