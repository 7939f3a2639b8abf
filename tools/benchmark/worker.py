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

from .backends import BACKENDS, Arrays, Backend, library_version, save_prepacked
from .feeds import read_feeds
from .probe import Probe
from .timing import Timed, in_turn


class Worker:
    def __init__(self, backend: str, threads: int) -> None:
        self.backend, self.threads = backend, threads
        self.opened: Backend | None = None
        self.timed: Timed | None = None
        self.beside: Timed | None = None
        self.probe: Probe | None = None

    def version(self) -> str:
        """Of the library timed. Raises ImportError."""
        return library_version(self.backend)

    def open(
        self,
        model: str,
        feeds: str,
        outputs: str | None = None,
        beside: str | None = None,
        beside_first: bool = False,
    ) -> dict[str, Any]:
        """Loads a model, runs it once, writes what it computed to `outputs`, and sizes the blocks. Seconds of
        loading and of the first run, and whether a part of an own bundle is onnxruntime's. `beside` is a
        bundle for the own runtime to open in this process, before or after the model, for paired_slot."""
        self.close()
        given = read_feeds(feeds)
        if beside and beside_first:
            self.beside = self._own(beside, given)
        begin = time.perf_counter()
        self.opened = BACKENDS[self.backend](model, self.threads)
        loaded = time.perf_counter()
        call = self.opened.call(given)
        first = time.perf_counter() - loaded
        if outputs:
            np.savez(outputs, *self.opened.outputs())
        self.timed = Timed(call)
        if beside and not beside_first:
            self.beside = self._own(beside, given)
        return {"load": loaded - begin, "first": first, "hosted": self.opened.hosted}

    def feed(self, feeds: str, others: str | None = None) -> None:
        """Other inputs for the model that is open; `others` take turns with them."""
        assert self.opened is not None
        self.timed = _taking_turns(self.opened, feeds, others)

    def open_beside(self, backend: str, model: str, feeds: str, others: str | None = None) -> None:
        """Opens a model in another backend of this process, for paired_slot."""
        self.beside = _taking_turns(BACKENDS[backend](model, self.threads), feeds, others)

    def slot(self, seconds: float) -> float:
        """Runs for about `seconds`: the median seconds of one call."""
        assert self.timed is not None
        return statistics.median(self.timed.blocks(seconds))

    def paired_slot(self, seconds: float) -> tuple[float, float]:
        """The backend and what is open beside it in turn, for about `seconds` together: the median seconds
        of one call of each."""
        assert self.timed is not None
        assert self.beside is not None
        return in_turn(self.timed, self.beside, seconds)

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
        self.timed = self.beside = self.opened = None
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

    def _own(self, bundle: str, feeds: Arrays) -> Timed:
        return Timed(BACKENDS["own"](bundle, self.threads).call(feeds))


def _taking_turns(opened: Backend, feeds: str, others: str | None) -> Timed:
    """`others` holds more inputs of these shapes, [n, *shape]."""
    given = [read_feeds(feeds)]
    if others:
        more = read_feeds(others)
        count = len(next(iter(more.values())))
        given += [{name: more[name][i, ...] for name in more} for i in range(count)]  # scalars stay arrays
    return Timed(*map(opened.call, given))


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
