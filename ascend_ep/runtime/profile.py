"""The trace of a profiled session: Chrome trace events, in onnxruntime's file naming."""

from __future__ import annotations

import json
import os
import threading
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ascend_ep.errors import AscendError

from .binding import ffi, lib
from .bundle import Bundle

if TYPE_CHECKING:
    from .native_partition import NativePartition


class Profile:
    """Collects the events of all runs of a session. Times are nanoseconds on the library's clock."""

    def __init__(self, session_options: Any) -> None:
        prefix = session_options.profile_file_prefix
        self.path = f"{prefix}_{datetime.now():%Y-%m-%d_%H-%M-%S}.json"
        self.epoch_ns = time.time_ns()
        self._start = self.now()
        self._events: list[dict[str, Any]] = []
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
            args = {
                "op_name": op_type.rsplit("::", 1)[-1] or kernel,
                "provider": "AscendEP",
                "kernel": kernel,
                "node_index": str(partition.info.insns[i]),
            }
            self._add("Node", f"{node or kernel}_kernel_time", ns[2 * i], ns[2 * i + 1], args)

    def partition(self, name: str, began: int) -> None:
        self._add("Session", f"partition_{name}", began, self.now(), {})

    def model(self, began: int) -> None:
        self._add("Session", "model_run", began, self.now(), {})

    def write(self) -> str:
        """Writes what was collected and returns the path. Raises AscendError E40002."""
        with self._lock:
            events = list(self._events)
        try:
            with open(self.path, "w", encoding="utf-8") as file:
                json.dump(events, file)
        except OSError as error:
            raise AscendError("E40002", f"can't write the profile [{self.path}]: {error.strerror}") from error
        return self.path

    def _add(self, category: str, name: str, began: int, ended: int, args: dict[str, str]) -> None:
        event = {
            "cat": category,
            "pid": os.getpid(),
            "tid": threading.get_native_id(),
            "ts": (began - self._start) // 1000,
            "dur": (ended - began) / 1000,
            "ph": "X",
            "name": name,
            "args": args,
        }
        with self._lock:
            self._events.append(event)
