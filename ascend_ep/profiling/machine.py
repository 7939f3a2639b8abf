"""What this machine attains: measured with the library's own kernels, in a tenth of a second.

Attainable, not theoretical: a product of matrices that fit the caches, a copy that doesn't, an exponential.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from functools import cache

import numpy as np
import onnx

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.profiling.copying import copy_seconds
from ascend_ep.runtime.binding import lib
from ascend_ep.runtime.session import InferenceSession, open_with_threads

#: Side of the matrices, and elements of what is copied: 64 MiB read, and as many written.
SIDE, COPIED, EXPONENTIALS = 512, 1 << 24, 1 << 16
SECONDS = 0.03

#: Runs of each, however long others keep them: with one or two, peaks came out thirty times too low.
LEAST_RUNS = 10


@dataclass(frozen=True)
class Machine:
    """Rates a second: operations of float32 products, bytes moved to and from memory, exponentials."""

    products: float
    bytes: float
    functions: float
    threads: int

    def as_json(self) -> dict[str, float]:
        return asdict(self)

    def bound_seconds(self, products: int, functions: int, moved: int) -> tuple[float, str]:
        """The least time that a call can take, and what sets it."""
        times = {
            "compute": products / self.products + functions / self.functions,
            "memory": moved / self.bytes,
        }
        kind = max(times, key=lambda k: times[k])
        return times[kind], kind


def _session(text: str, threads: int, **constants: np.ndarray) -> InferenceSession:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> probe {text}')
    model.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in constants.items())
    plain = ConvertOptions(self_check=False, sample_seed=None)
    return open_with_threads(convert(model, plain).to_bytes(), threads)


def _least(session: InferenceSession, feed: dict[str, np.ndarray]) -> float:
    session.run(None, feed)
    least, runs, end = float("inf"), 0, time.perf_counter() + SECONDS
    while True:
        began = time.perf_counter()
        session.run(None, feed)
        now = time.perf_counter()
        least, runs = min(least, now - began), runs + 1
        if now > end and runs >= LEAST_RUNS:
            return least


@cache
def measure(threads: int = 0) -> Machine:
    """With so many threads; 0: all. Measured once in the life of a process."""
    rng = np.random.default_rng(0)
    square = rng.standard_normal((SIDE, SIDE)).astype(np.float32)
    shape = f"float[{SIDE},{SIDE}]"
    product = _session(f"({shape} x) => ({shape} y) {{ y = MatMul(x, w) }}", threads, w=square)
    source, target = np.ones(COPIED, np.float32), np.ones(COPIED, np.float32)
    values = np.zeros(EXPONENTIALS, np.float32)
    exponential = _session(
        f"(float[{EXPONENTIALS}] x) => (float[{EXPONENTIALS}] y) {{ y = Exp(x) }}", threads
    )
    return Machine(
        2 * SIDE**3 / _least(product, {"x": square}),
        2 * source.nbytes / min(copy_seconds(source, target, threads) for _ in range(5)),
        EXPONENTIALS / _least(exponential, {"x": values}),
        threads or int(lib.asc_threads_default()),
    )
