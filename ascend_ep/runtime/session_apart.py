"""A session for commands that try a model: code of users, and onnxruntime, run in another process, whose
crash is an error here."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ascend_ep.errors import AscendError

from .sample_process import Ended, Job, run_apart
from .session import InferenceSession

Array = NDArray[Any]


class SessionApart:
    """Opens the bundle here and runs it there, where it has native code or host partitions; without them all
    of it runs here. `session`: what tells of its inputs and outputs."""

    def __init__(
        self, source: str | os.PathLike[str] | bytes, options: Mapping[str, str] | None = None
    ) -> None:
        self._options = dict(options or {})
        if isinstance(source, bytes):
            self.session = self._open(source)
            self._path = self._written(source) if self._is_apart() else Path()
        else:
            self._path = Path(source)
            self.session = self._open(str(source))

    def run(self, names: Sequence[str] | None, feeds: Mapping[str, Array]) -> list[Array]:
        """As a session's. Raises AscendError E41026 besides, for a process that ended."""
        if not self._is_apart():
            return self.session.run(names, dict(feeds))
        wanted = list(names) if names is not None else [arg.name for arg in self.session.get_outputs()]
        try:
            return run_apart(Job(self._path, self._options, dict(feeds), wanted))
        except Ended as end:
            if not end.started:
                return self.session.run(names, dict(feeds))
            raise AscendError("E41026", end) from end

    def _open(self, source: str | bytes) -> InferenceSession:
        return InferenceSession(source, providers=[("AscendEP", self._options)] if self._options else None)

    def _is_apart(self) -> bool:
        return bool(self.session.bundle.natives) or "CPUExecutionProvider" in self.session.get_providers()

    def _written(self, bundle: bytes) -> Path:
        """A file of it, for as long as this session is used."""
        handle, path = tempfile.mkstemp(prefix="ascend_ep_", suffix=".om")
        weakref.finalize(self, _remove, path)
        with os.fdopen(handle, "wb") as file:
            file.write(bundle)
        return Path(path)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
