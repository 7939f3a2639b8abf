"""One backend in a process of its own, driven line by line: a JSON request on stdin, a JSON answer on stdout.

    python -m benchmark.worker BACKEND THREADS

Requests name a method of Worker and its arguments. An answer is {"ok": ...} or {"error": text}.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from .backends import BACKENDS, Backend, Call, library_version, save_prepacked
from .feeds import read_feeds
from .probe import Probe

#: Calls are timed in blocks of about this many seconds, so that the clock costs nothing.
BLOCK = 20e-6
#: A slot has at least this many blocks, besides the first, which finds the caches cold.
LEAST_BLOCKS = 3


class Worker:
    def __init__(self, backend: str, threads: int) -> None:
        self.backend, self.threads = backend, threads
        self.opened: Backend | None = None
        self.call: Call | None = None
        self.block = 1
        self.probe: Probe | None = None

    def version(self) -> str:
        """Of the library timed. Raises ImportError."""
        return library_version(self.backend)

    def open(self, model: str, feeds: str, outputs: str | None = None) -> dict[str, Any]:
        """Loads a model, runs it once, writes what it computed to `outputs`, and sizes the blocks. Seconds of
        loading and of the first run, and whether a part of an own bundle is onnxruntime's."""
        self.close()
        given = read_feeds(feeds)
        begin = time.perf_counter()
        self.opened = BACKENDS[self.backend](model, self.threads)
        loaded = time.perf_counter()
        self.call = self.opened.call(given)
        first = time.perf_counter() - loaded
        if outputs:
            np.savez(outputs, *self.opened.outputs())
        self.call()
        self.block = 1
        while (spent := self._timed()) < BLOCK and self.block < 1000:
            self.block = min(1000, max(self.block * 2, int(self.block * BLOCK / max(spent, 1e-9))))
        return {"load": loaded - begin, "first": first, "hosted": self.opened.hosted}

    def slot(self, seconds: float) -> dict[str, float]:
        """Runs for about `seconds`: the median seconds of one call, and how many blocks that is of."""
        self._timed()
        times: list[float] = []
        end = time.perf_counter() + seconds
        while len(times) < LEAST_BLOCKS or time.perf_counter() < end:
            times.append(self._timed())
        return {"seconds": statistics.median(times) / self.block, "blocks": len(times)}

    def load(self, model: str, feeds: str) -> dict[str, float]:
        """Opens a model anew and runs it once: seconds of each; the files are warm from the time before."""
        self.close()
        given = read_feeds(feeds)
        begin = time.perf_counter()
        opened = BACKENDS[self.backend](model, self.threads)
        loaded = time.perf_counter()
        opened.call(given)
        return {"load": loaded - begin, "first": time.perf_counter() - loaded}

    def profile(self, model: str, feeds: str, seconds: float) -> dict[str, float]:
        """The share of a run of each kernel of a bundle, and of all else, largest first."""
        from ascend_ep.cli.om_bench import Trial, kernel_shares

        found = kernel_shares(Trial(model, read_feeds(feeds), self.threads, None, 1, seconds))
        times = {name: kernel["seconds"] for name, kernel in found["kernels"].items()}
        times |= {"outside kernels": found["outside"], "timer of the profile": found["timer"]}
        shares = sorted(times.items(), key=lambda item: -item[1])
        return {name: round(spent / found["total"], 4) for name, spent in shares}

    def close(self) -> None:
        self.call = self.opened = None
        gc.collect()

    def peak_memory(self) -> int:
        """Bytes of the largest resident set of this process so far."""
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):  # ru_maxrss would begin with the parent's
                return int(line.split()[1]) * 1024
        raise OSError("the system doesn't say")

    def save_prepacked(self, source: str, target: str) -> None:
        save_prepacked(source, target, self.threads)

    def limits(self, library: str, reads: int, writes: int) -> dict[str, float]:
        if self.probe is None:
            self.probe = Probe(library, self.threads)
        return self.probe.limits(reads, writes).as_json()

    def _timed(self) -> float:
        assert self.call is not None
        call, repeat = self.call, range(self.block)
        begin = time.perf_counter()
        for _ in repeat:
            call()
        return time.perf_counter() - begin


def main() -> None:
    """Answers requests until stdin ends. What libraries print goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = Worker(sys.argv[1], int(sys.argv[2]))
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"ok": getattr(worker, request.pop("do"))(**request)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
