"""Profiling a part of a Python program.

with ascend_ep.profile() as p:
    session.run(None, feed)
print(p.table())
p.export_chrome_trace("trace.json")
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.profiling import tables
from ascend_ep.profiling.export import write_files
from ascend_ep.profiling.metrics import DEFAULT
from ascend_ep.profiling.profile import Profile, open_profile
from ascend_ep.profiling.timeline import events, write_events
from ascend_ep.runtime import tracing


class Recording:
    """Records all runs of this process while it is entered; what it found can be asked for afterwards.

    `counters` counts cycles, cache misses and the like of each call, where the machine can.
    Raises AscendError E40001 when the process is being recorded already.
    """

    def __init__(self, counters: bool = False) -> None:
        self._counters = tracing.ALL_COUNTERS if counters else 0
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._profile: Profile | None = None
        #: what of the runs was lost, if anything
        self.lost: AscendError | None = None

    def __enter__(self) -> Recording:
        self._temporary = tempfile.TemporaryDirectory(prefix="ascend_ep_profile_")
        folder = Path(self._temporary.name) / tracing.DATA
        folder.mkdir(parents=True)
        tracing.start(folder, self._counters)
        self._profile = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.lost = tracing.stop()

    @property
    def profile(self) -> Profile:
        """What was recorded. Raises AscendError E44002 before anything was."""
        if self._profile is None:
            if self._temporary is None or tracing.is_on():
                raise AscendError("E44002", "this recording", fix="Ask for it behind the `with` block.")
            self._profile = open_profile(self._temporary.name)
            self._profile.holder = self._temporary
        return self._profile

    def table(self, colour: bool = False) -> str:
        """Where the time went, as text."""
        return tables.text(self.profile, colour)

    def summary(self) -> dict[str, Any]:
        """The same as numbers, in seconds."""
        return tables.summary(self.profile)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> Path:
        """Writes the timeline and returns its path. Raises AscendError E40002."""
        return write_events(Path(path), events(self.profile, self.profile.midnight_ns))

    def export_msprof(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes msprof's files into a folder and returns their paths. Raises AscendError E40002."""
        target = Profile(Path(folder), self.profile.processes)
        return write_files(target, DEFAULT)
