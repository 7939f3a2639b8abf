"""The sessions of one bundle: in this process, or, when it brings its maker's native code, in another."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ascend_ep.runtime.binding import lib, open_model
from ascend_ep.runtime.bundle import Bundle
from ascend_ep.serving.checked_session import checked_session
from ascend_ep.serving.native.process import Opening
from ascend_ep.serving.native.session import NativeSession
from ascend_ep.serving.settings import Settings

#: Of the machine's memory, for a process with native code when nothing else is said.
_SHARE = 0.75
_START_SECONDS = 60.0
#: Bytes a second that a bundle is read and checked with, at least.
_SLOWEST = 50e6


class Sessions:
    """version: for people. Raises AscendError as opening a bundle does."""

    def __init__(self, path: Path, version: str, settings: Settings) -> None:
        self._path = path
        self._version = version
        self._settings = settings
        self._bundle = Bundle(open_model(path, flags=lib.ASC_OPEN_NO_NATIVE))
        self._opened: list[NativeSession] = []

    def open(self, threads: int, native_code: bool) -> Any:
        """With so many threads for a run, 0 for all; with the bundle's native code or without."""
        options = {"num_threads": str(threads), "native_code": str(int(native_code))}
        if native_code and self._bundle.foreign_natives:
            made = NativeSession(self._bundle, self._opening(options))
            self._opened.append(made)
            return made
        return checked_session(self._path, options, self._settings.trust, self._version)

    def close(self) -> None:
        """Ends their processes."""
        for session in self._opened:
            session.close()

    def _opening(self, options: dict[str, str]) -> Opening:
        settings = self._settings
        memory = settings.native_memory or int(_machine_bytes() * _SHARE)
        return Opening(
            self._path,
            self._version,
            options,
            settings.trust,
            settings.native_timeout,
            _START_SECONDS + self._path.stat().st_size / _SLOWEST,
            memory,
            memory,
        )


def _machine_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
