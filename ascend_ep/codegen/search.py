"""The best schedule for a program, element types and a shape: candidates are compiled and run.

Candidates take turns, so that a busy machine slows all of them alike; a candidate's time is the median of its
turns. Another than the first is chosen only when it is faster by more than the spread of the first's turns.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np

from ascend_ep import atomic_file
from ascend_ep.element_types import numpy_dtype
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import Program
from ascend_ep.opdef.expression_text import program_text
from ascend_ep.runtime.binding import lib, text_of
from ascend_ep.runtime.cache_folder import cache_path, open_cache
from ascend_ep.runtime.session import InferenceSession

from .c_source import InputType, Source, generate_c, mathematics
from .cache import note_use
from .compiled_library import compile_library
from .compiler_process import CompilerPool
from .compilers import find_compiler
from .library_session import TensorSpec, library_session
from .schedule import Schedule

#: Seconds that one turn of a candidate should take.
TURN = 0.004
LEAST_TURNS = 5


@dataclass(frozen=True)
class Candidate:
    """seconds: the median of a run; spread: half of what lies between the quartiles."""

    schedule: Schedule
    source_hash: str
    seconds: float
    spread: float


@dataclass(frozen=True)
class SearchResult:
    """The schedule to use. candidates: fastest first, none without measuring. cached: found before."""

    best: Schedule
    candidates: tuple[Candidate, ...]
    cached: bool = False


def search(
    op_type: str,
    program: Program,
    names: Sequence[str],
    inputs: Sequence[TensorSpec | None],
    output_types: Sequence[int],
    budget_seconds: float = 5.0,
    log: Callable[[str], None] = lambda _: None,
    threads: int = 0,
    anew: bool = False,
) -> SearchResult:
    """Measures candidates for at most about `budget_seconds`, compiling included; with 0 the cost model alone
    decides. `inputs` say the shape to measure at. The result is kept by expression, shape class and CPU;
    `anew` replaces what was kept.

    Raises NotGenerated, and AscendError as compile_library does.
    """
    types = [None if spec is None else InputType(spec.dtype, _pattern(spec.dims)) for spec in inputs]
    first = predicted(inputs)
    generate_c(op_type, program, names, types, output_types, first)  # says at once when there is no code
    if budget_seconds <= 0:
        return SearchResult(first, ())
    kept = open_cache() / f"{_key(program, types, output_types, inputs)}.search.json"
    found = None if anew else _read(kept)
    if found is not None:
        note_use(kept)
        for candidate in found.candidates:
            log(f"{_line(candidate)} (found earlier)")
        return found
    start = time.monotonic()
    make = lambda schedule: generate_c(op_type, program, names, types, output_types, schedule)  # noqa: E731
    sources = _distinct(make, [first, *(s for s in candidates() if s != first)])
    sessions = _compile(sources, inputs, output_types, start + 0.6 * budget_seconds, threads)
    measured = _measure(sessions, _feeds(inputs), start + budget_seconds)
    for candidate in measured:
        log(_line(candidate))
    best = _choose(measured, first)
    result = SearchResult(best, tuple(sorted(measured, key=lambda c: c.seconds)))
    _write(kept, result)
    return result


def known_schedule(
    program: Program, inputs: Sequence[TensorSpec | None], output_types: Sequence[int]
) -> Schedule | None:
    """What an earlier search found for this shape class on this CPU, or None."""
    types = [None if spec is None else InputType(spec.dtype, _pattern(spec.dims)) for spec in inputs]
    found = _read(cache_path() / f"{_key(program, types, output_types, inputs)}.search.json")
    return None if found is None else found.best


def candidates() -> list[Schedule]:
    """Every schedule that may be tried, those that matter most first."""
    found = [
        Schedule(tile, unroll, keep, optimize)
        for optimize, keep, tile, unroll in product((2, 3), (6, 1, 1000), (4096, 16384, 1024), (2, 4, 1))
    ]
    return sorted(
        found,
        key=lambda s: sum(
            a != b for a, b in zip(asdict(s).values(), asdict(Schedule()).values(), strict=True)
        ),
    )


def predicted(inputs: Sequence[TensorSpec | None]) -> Schedule:
    """The cost model: tiles of all operands together fill half of a first-level cache of 32 KB."""
    bytes_of = [np.dtype(numpy_dtype(s.dtype)).itemsize for s in inputs if s is not None]
    room = 16384 // (sum(bytes_of) + 4)
    return Schedule(tile=min(16384, max(1024, 1 << room.bit_length())))


def _pattern(dims: Sequence[int]) -> tuple[str, ...]:
    return tuple(str(d) for d in dims)


def _distinct(
    make: Callable[[Schedule], Source], schedules: Sequence[Schedule]
) -> list[tuple[Schedule, Source]]:
    """Schedules that give different code; which loops a program has decides what matters to it."""
    found: dict[tuple[str, int], tuple[Schedule, Source]] = {}
    for schedule in schedules:
        source = make(schedule)
        found.setdefault((source.hash, schedule.optimize), (schedule, source))
    return list(found.values())


def _compile(
    sources: Sequence[tuple[Schedule, Source]],
    inputs: Sequence[TensorSpec | None],
    output_types: Sequence[int],
    deadline: float,
    threads: int,
) -> list[tuple[Schedule, Source, InferenceSession]]:
    """Sessions of the candidates that were compiled in time; of the first in any case."""
    outputs = [
        TensorSpec(dtype, tuple(map(int, dims)))
        for dtype, dims in zip(output_types, sources[0][1].output_dims, strict=True)
    ]
    made = []
    workers = max(1, min(2, len(os.sched_getaffinity(0))))
    with CompilerPool(workers) as pool:
        for at in range(0, len(sources), workers):
            if at and time.monotonic() > deadline:
                break
            group = sources[at : at + workers]
            for (schedule, source), library in zip(
                group, pool.map(compile_library, (s for _, s in group)), strict=True
            ):
                made.append((schedule, source, library_session(library, inputs, outputs, threads)))
    return made


def _feeds(inputs: Sequence[TensorSpec | None]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    found = {}
    for i, spec in enumerate(inputs):
        if spec is not None:
            values = (
                rng.standard_normal(spec.dims)
                if spec.dtype in dtypes.FLOATS
                else rng.integers(0, 2, spec.dims)
            )
            found[f"x{i}"] = np.asarray(values).astype(numpy_dtype(spec.dtype))
    return found


def _measure(
    sessions: Sequence[tuple[Schedule, Source, InferenceSession]],
    feeds: Mapping[str, np.ndarray],
    deadline: float,
) -> list[Candidate]:
    turns: list[list[float]] = [[] for _ in sessions]
    repeats = []
    for _, _, session in sessions:
        session.run(None, feeds)
        start = time.perf_counter()
        session.run(None, feeds)
        repeats.append(max(1, int(TURN / (time.perf_counter() - start))))
    while len(turns[0]) < LEAST_TURNS or time.monotonic() < deadline:
        for (_, _, session), spent, repeat in zip(sessions, turns, repeats, strict=True):
            start = time.perf_counter()
            for _ in range(repeat):
                session.run(None, feeds)
            spent.append((time.perf_counter() - start) / repeat)
    found = []
    for (schedule, source, _), spent in zip(sessions, turns, strict=True):
        low, middle, high = statistics.quantiles(spent, n=4)
        found.append(Candidate(schedule, source.hash, middle, (high - low) / 2))
    return found


def _choose(measured: Sequence[Candidate], first: Schedule) -> Schedule:
    usual = next((c for c in measured if c.schedule == first), measured[0])
    fastest = min(measured, key=lambda c: c.seconds)
    return fastest.schedule if fastest.seconds < usual.seconds - usual.spread else usual.schedule


def _line(candidate: Candidate) -> str:
    return (
        f"{candidate.schedule}: source {candidate.source_hash[:16]}, {candidate.seconds * 1e6:.1f} us"
        f" +- {candidate.spread * 1e6:.1f}"
    )


def _key(
    program: Program,
    types: Sequence[InputType | None],
    output_types: Sequence[int],
    inputs: Sequence[TensorSpec | None],
) -> str:
    """Expression, element types, sizes to the next power of two, ISA level, CPU and compiler."""
    classes = [None if s is None else [d.bit_length() for d in s.dims] for s in inputs]
    kinds = [None if t is None else t.dtype for t in types]
    isa = text_of(lib.asc_isa_name(lib.asc_isa_current()))
    math = hashlib.sha256((mathematics(True) + mathematics(False)).encode()).hexdigest()
    parts = [
        program_text(program),
        program.outputs,
        kinds,
        list(output_types),
        classes,
        isa,
        _cpu(),
        find_compiler().version,
        math,
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _read(path: Path) -> SearchResult | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        known = [Candidate(Schedule(**c.pop("schedule")), **c) for c in found["candidates"]]
        return SearchResult(Schedule(**found["best"]), tuple(known), cached=True)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _write(path: Path, result: SearchResult) -> None:
    text = json.dumps({"best": asdict(result.best), "candidates": [asdict(c) for c in result.candidates]})
    atomic_file.write(path, text)
