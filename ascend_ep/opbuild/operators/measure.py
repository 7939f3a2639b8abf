"""How long a compiled operator takes, and what it could take at best, measured side by side.

The memory floor is the time of a kernel that only copies as many bytes; the arithmetic floor that of the same
work as independent multiply-adds, whose rate a kernel of nothing else gives. All run through the same session
call, in turns, on the same threads.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.codegen.c_source import InputType, Source, generate_c
from ascend_ep.codegen.compiled_library import CompiledLibrary, compile_library
from ascend_ep.codegen.library_session import TensorSpec, library_session
from ascend_ep.codegen.schedule import Schedule
from ascend_ep.element_types import numpy_dtype
from ascend_ep.opbuild.proof.footprint import work_of
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import Apply, Constant, Expression, Input, Program
from ascend_ep.runtime.session import InferenceSession

ROUNDS = 9
#: An operator is timed where its operands, and what goes through memory between its passes, take so many
#: bytes: beyond the caches, and little enough for a session of every candidate and float64 random numbers.
MOST_BYTES = 64 << 20
#: Seconds of one turn.
TURN = 0.003
#: The arithmetic kernel: so many independent chains of so many multiply-adds, each two operations. Fewer
#: chains wait for their results, longer ones run out of registers; this pair comes as near to the peak as any
#: that compiles as fast.
CHAINS, STEPS = 8, 4


@dataclass(frozen=True)
class Times:
    """Seconds over ROUNDS rounds: the median, and the quartiles around it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, rounds: Sequence[float]) -> Times:
        low, median, high = statistics.quantiles(rounds, n=4, method="inclusive")
        return cls(median, low, high)

    @classmethod
    def from_json(cls, value: object) -> Times | None:
        """The inverse of to_json; None for anything else."""
        numbers = [float(v) for v in value if isinstance(v, int | float)] if isinstance(value, list) else []
        return cls(*numbers) if len(numbers) == 3 else None

    def to_json(self) -> list[float]:
        return [self.median, self.low, self.high]

    def __str__(self) -> str:
        return f"{self.median * 1e6:.2f} us ({self.low * 1e6:.2f} to {self.high * 1e6:.2f})"


@dataclass(frozen=True)
class Measured:
    """bytes: of all operands."""

    times: Times
    memory_floor: Times
    arithmetic_floor: Times
    bytes: int

    @property
    def seconds(self) -> float:
        return self.times.median

    @property
    def floor(self) -> Times:
        """The higher of the two."""
        return max(self.memory_floor, self.arithmetic_floor, key=lambda t: t.median)

    def __str__(self) -> str:
        bound = "memory" if self.floor is self.memory_floor else "arithmetic"
        how = f"{self.bytes} bytes; median and quartiles of {ROUNDS} rounds"
        return f"{beside(self.times, self.floor, bound)}; {how}"


def beside(times: Times, floor: Times, bound: str = "") -> str:
    """A time, and how often its floor it is."""
    ratio = times.median / floor.median
    return f"{times}, {ratio:.2f} times the {bound + ' ' if bound else ''}floor of {floor}"


def measure(
    library: CompiledLibrary,
    program: Program,
    inputs: Sequence[TensorSpec | None],
    outputs: Sequence[TensorSpec],
    threads: int = 0,
) -> Measured:
    """Times an operator at a shape beside the two floors. Raises AscendError as compiling and running do."""
    moved = sum(_bytes(t) for t in (*inputs, *outputs) if t is not None)
    elements = max((int(np.prod(t.dims)) for t in (*inputs, *outputs) if t is not None), default=1)
    copied, worked = (TensorSpec(dtypes.FLOAT32, (_whole(n),)) for n in (moved // 8, elements))
    copies, works = map(compile_library, floors())
    sessions = [
        library_session(library, inputs, outputs, threads),
        library_session(copies, [copied], [copied], threads),
        library_session(works, [worked], [worked], threads),
    ]
    feeds = [
        {f"x{i}": _array(t) for i, t in enumerate(inputs) if t is not None},
        {"x0": _array(copied)},
        {"x0": _array(worked)},
    ]
    spent, copying, working = _rounds(sessions, feeds)
    share = _bytes(worked) * 2 / max(moved, 1)
    operations = work_of(program) / (2 * CHAINS * STEPS)
    computing = [max(0.0, w - c * share) * operations for w, c in zip(working, copying, strict=True)]
    return Measured(Times.of(spent), Times.of(copying), Times.of(computing), moved)


def floors() -> tuple[Source, Source]:
    """The kernels of the two floors: one that copies, and one that does nothing but arithmetic."""
    return _floor_source("Copied", _copying()), _floor_source("Worked", _working())


def _rounds(
    sessions: Sequence[InferenceSession], feeds: Sequence[dict[str, NDArray[Any]]]
) -> list[list[float]]:
    """Per session the seconds of a run in each round."""
    repeats, turns = [], []
    for session, feed in zip(sessions, feeds, strict=True):
        session.run(None, feed)
        start = time.perf_counter()
        session.run(None, feed)
        repeats.append(max(1, int(TURN / (time.perf_counter() - start))))
        turns.append([0.0] * ROUNDS)
    for turn in range(ROUNDS):
        for k, (session, feed) in enumerate(zip(sessions, feeds, strict=True)):
            start = time.perf_counter()
            for _ in range(repeats[k]):
                session.run(None, feed)
            turns[k][turn] = (time.perf_counter() - start) / repeats[k]
    return turns


def _floor_source(name: str, value: Expression) -> Source:
    program = Program((), (("y", value),))
    types = [InputType(dtypes.FLOAT32, ("n",))]
    return generate_c(name, program, ["x"], types, [dtypes.FLOAT32], Schedule(unroll=1))


def _copying() -> Expression:
    """x + 0: code is generated for something that computes."""
    return Apply("add", (Input("x"), Constant(0.0)))


def _working() -> Expression:
    chains: list[Expression] = []
    for k in range(CHAINS):
        value: Expression = Apply("mul", (Input("x"), Constant(0.5 + 0.125 * k)))
        for _ in range(STEPS):
            value = Apply("add", (Apply("mul", (value, Constant(0.5))), Constant(0.25)))
        chains.append(value)
    while len(chains) > 1:
        chains = [Apply("add", (a, b)) for a, b in zip(chains[::2], chains[1::2], strict=True)]
    return chains[0]


def _whole(elements: int) -> int:
    """As many whole vectors: a masked access that touches a page not there yet costs microseconds."""
    return max(1, -(-elements // 16)) * 16


def _bytes(spec: TensorSpec) -> int:
    return int(np.prod(spec.dims)) * np.dtype(numpy_dtype(spec.dtype)).itemsize


def _array(spec: TensorSpec) -> NDArray[Any]:
    """Values at the beginning of a larger buffer: see _whole."""
    rng = np.random.default_rng(0)
    kind, size = numpy_dtype(spec.dtype), int(np.prod(spec.dims))
    values = rng.standard_normal(size) if spec.dtype in dtypes.FLOATS else rng.integers(0, 2, size)
    buffer = np.zeros(size + 4096, kind)
    buffer[:size] = values.astype(kind)
    return buffer[:size].reshape(spec.dims)
