"""The trace of a profiled session: Chrome trace events, in onnxruntime's file naming.

Times have the precision of the clock, nanoseconds as fractions of a microsecond: events of a thread follow
one another or lie within one another, so no viewer drops one. What is kept is bounded, as onnxruntime's is.
"""

from __future__ import annotations

import json
import os
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_ep import atomic_file
from ascend_ep.errors import AscendError

from .binding import ffi, lib
from .bundle import Bundle

#: Events that a session keeps; what comes later is counted.
MOST_EVENTS = 1_000_000

if TYPE_CHECKING:
    from .native_partition import NativePartition


class Profile:
    """Collects the events of all runs of a session. Times are nanoseconds on the library's clock."""

    def __init__(self, session_options: Any) -> None:
        prefix = session_options.profile_file_prefix
        self.path = f"{prefix}_{datetime.now():%Y-%m-%d_%H-%M-%S}.json"
        self.epoch_ns = time.time_ns()
        self._start = self.now()
        #: start and end on the clock, thread, and which of the kinds it is
        self._events: list[tuple[int, int, int, int]] = []
        self._kinds: dict[tuple[str, str], int] = {}
        self._shown: list[dict[str, Any]] = []
        self._lost = 0
        self._lock = threading.Lock()
        self._names: dict[str, list[tuple[str, str, str]]] = {}

    def now(self) -> int:
        return int(lib.asc_clock_ns())

    def timestamps(self, partition: NativePartition) -> Any:
        """Room for the start and end of every instruction."""
        return ffi.new("uint64_t[]", 2 * len(partition.info.insns) or 1)

    def instructions(self, bundle: Bundle, partition: NativePartition, ns: Any) -> None:
        """Adds the instructions of one run of a partition."""
        names = self._names.get(partition.name)
        if names is None:
            found = bundle.instructions(partition.info)
            names = self._names[partition.name] = [(i.node, i.op_type, i.kernel) for i in found]
        for i, (node, op_type, kernel) in enumerate(names):
            said = {
                "op_name": op_type.rsplit("::", 1)[-1] or kernel,
                "provider": "AscendEP",
                "kernel": kernel,
                "node_index": str(partition.info.insns[i]),
            }
            key = (partition.name, str(i))
            self._add(key, "Node", f"{node or kernel}_kernel_time", ns[2 * i], ns[2 * i + 1], said)

    def partition(self, name: str, began: int) -> None:
        self._add(("partition", name), "Session", f"partition_{name}", began, self.now(), {})

    def model(self, began: int) -> None:
        self._add(("model", ""), "Session", "model_run", began, self.now(), {})

    def write(self) -> str:
        """Writes what was collected and returns the path. Raises AscendError E40002."""
        with self._lock:
            events, shown, lost = list(self._events), list(self._shown), self._lost
        pid = os.getpid()
        try:
            with atomic_file.replacing_text(Path(self.path), synced=False) as file:
                between = "["
                for began, ended, thread, kind in events:
                    times = {
                        "pid": pid,
                        "tid": thread,
                        "ts": _us(began - self._start),
                        "dur": _us(ended - began),
                    }
                    file.write(between + json.dumps({**shown[kind], **times, "ph": "X"}))
                    between = ",\n"
                if lost:
                    said = {
                        "cat": "Session",
                        "name": "events_lost",
                        "ph": "M",
                        "pid": pid,
                        "args": {"count": lost},
                    }
                    file.write(between + json.dumps(said))
                file.write("]" if events else "[]")
        except OSError as error:
            raise AscendError("E40002", f"can't write the profile [{self.path}]: {error.strerror}") from error
        return self.path

    def _add(
        self, key: tuple[str, str], category: str, name: str, began: int, ended: int, args: dict[str, str]
    ) -> None:
        thread = threading.get_native_id()
        with self._lock:
            if len(self._events) >= MOST_EVENTS:
                self._lost += 1
                return
            kind = self._kinds.setdefault(key, len(self._kinds))
            if kind == len(self._shown):
                self._shown.append({"cat": category, "name": name, "args": args})
            self._events.append((began, ended, thread, kind))


def _us(ns: int) -> float:
    return ns / 1000
