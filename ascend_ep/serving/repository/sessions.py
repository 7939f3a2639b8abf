"""The sessions of one bundle: in this process, or, when it brings its maker's native code, in another."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.runtime.binding import lib, open_model
from ascend_ep.runtime.bundle import Bundle
from ascend_ep.serving.checked_session import checked_session
from ascend_ep.serving.execution.host_model import HostModel
from ascend_ep.serving.memory_limit import memory_bytes
from ascend_ep.serving.native.native_session import NativeSession
from ascend_ep.serving.native.process import Opening
from ascend_ep.serving.settings import Settings

from . import layout
from .stamp import stamp_files

log = logging.getLogger("ascend_ep.serving")

#: Of the machine's memory, for a process with native code when nothing else is said.
_SHARE = 0.75
_START_SECONDS = 60.0
#: Bytes a second that a bundle is read and checked with, at least.
_SLOWEST = 50e6


class Sessions:
    """version: for people. original: the ONNX model that stands in for a bundle that can't be used, if there
    is one. failure: why it does."""

    def __init__(self, path: Path, version: str, settings: Settings, original: Path | None = None) -> None:
        self._path = path
        self._version = version
        self._settings = settings
        self._original = original
        self._bundle: Bundle | None = None
        self._natives: list[NativeSession] = []
        self._worked = False
        self.failure: AscendError | None = None

    def open(self, threads: int, native_code: bool) -> Any:
        """With so many threads for a run, 0 for all; with the bundle's native code or without. Raises
        AscendError as opening a bundle does; E50049 when the ONNX model can't be used either."""
        if self.failure is not None:
            return self._host_model(threads, self.failure)
        try:
            made = self._open(threads, native_code)
        except AscendError as failure:
            if self._worked or self._original is None:
                raise
            host = self._host_model(threads, failure)
            log.error("%s: model.onnx answers in place of its bundle: %s", self._version, failure)
            self.failure = failure
            return host
        self._worked = True
        return made

    def _open(self, threads: int, native_code: bool) -> Any:
        if self._bundle is None:
            self._bundle = Bundle(open_model(self._path, flags=lib.ASC_OPEN_NO_NATIVE))
        options = {"num_threads": str(threads), "native_code": str(int(native_code))}
        if native_code and self._bundle.foreign_natives:
            made = NativeSession(self._bundle, self._opening(options))
            self._natives.append(made)
            return made
        return checked_session(self._path, options, self._settings.trust, self._version)

    def _host_model(self, threads: int, failure: AscendError) -> HostModel:
        """What the bundle stores, if it can be read, must be what the model computes."""
        assert self._original is not None
        try:
            return HostModel(self._original, threads, self._stored(), self._version)
        except AscendError as error:
            why = f"{failure.code}: {failure.text}"
            raise AscendError(
                "E50049", self._version, why, f"{error.code}: {error.text}", fix=failure.fix
            ) from None

    def _stored(self) -> Bundle | None:
        return self._bundle if self._bundle is not None and self._bundle.samples() else None

    def close(self) -> None:
        """Ends their processes."""
        for session in self._natives:
            session.close()

    def _opening(self, options: dict[str, str]) -> Opening:
        settings = self._settings
        memory = settings.native_memory or int(memory_bytes() * _SHARE)
        folder = self._path.parent
        before = stamp_files(layout.files(folder))
        return Opening(
            self._path,
            self._version,
            options,
            settings.trust,
            settings.native_timeout,
            _START_SECONDS + self._path.stat().st_size / _SLOWEST,
            memory,
            memory,
            lambda: stamp_files(layout.files(folder)) == before,
            settings.native_confined,
        )
