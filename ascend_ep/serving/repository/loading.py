"""From files to a version that can run: opened once, every byte checked, the sample run repeated, warm."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import ascend_ep
from ascend_ep.errors import AscendError
from ascend_ep.runtime.sample_run import check_samples
from ascend_ep.serving.settings import Settings

from . import layout
from .config import ModelConfig
from .conversion import Converter
from .memory import trim
from .stamp import stamp_files
from .version import LoadedVersion

log = logging.getLogger("ascend_ep.serving")


class Loader:
    """Loads versions, several at a time, on threads of its own."""

    def __init__(self, settings: Settings, places: layout.Layout) -> None:
        self._settings = settings
        self._places = places
        self._converter = Converter(settings, places)
        self._threads = ThreadPoolExecutor(settings.load_threads, "ascend-load")

    async def load(
        self, name: str, number: int, folder: Path, config: ModelConfig, old: LoadedVersion | None = None
    ) -> LoadedVersion:
        """A version that takes jobs, and counts on where the `old` one in whose place it comes is. Raises
        AscendError for whatever is wrong with it."""
        loop = asyncio.get_running_loop()
        source = layout.source(folder)
        if source is None:
            raise AscendError("E50045", self._places.shown(folder))
        path = self._places.contained(source)
        before = stamp_files(layout.files(folder))
        if source.name == layout.ONNX:
            path = await self._converter.bundle(name, path)
        config = _with_defaults(config, self._settings)
        original = layout.original(folder)
        if original is not None:
            original = self._places.contained(original)
        made = await loop.run_in_executor(
            self._threads, self._open, name, number, path, config, original, old
        )
        if stamp_files(layout.files(folder)) != before:
            raise AscendError("E50045", self._places.shown(source))
        if old is not None:
            made.statistics = old.statistics
        made.start(self._settings, loop)
        return made

    async def release(self, version: LoadedVersion) -> None:
        """Finishes what the version has taken, then gives its memory back at once."""
        await version.close()
        await asyncio.get_running_loop().run_in_executor(self._threads, _release, version)

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _open(
        self,
        name: str,
        number: int,
        path: Path,
        config: ModelConfig,
        original: Path | None,
        old: LoadedVersion | None,
    ) -> LoadedVersion:
        def open_session(threads: int, native_code: bool) -> Any:
            options = {"num_threads": str(threads), "native_code": str(int(native_code))}
            return _checked_session(path, options, self._settings.trust, f"{name}, version {number}")

        made = LoadedVersion(
            name, number, open_session, config, str(path), original, self._settings.tuning, old
        )
        for native in made.session.bundle.refused_natives:
            log.warning(
                "%s, version %d: its native code %s isn't trusted here and is interpreted"
                " (--trust=sha256:%s)",
                *(name, number, native.name, native.sha256),
            )
        _warm_up(made, config)
        return made


def _with_defaults(config: ModelConfig, settings: Settings) -> ModelConfig:
    """What a model's configuration leaves open is as the server was told."""
    automatic = config.auto_implementation
    return replace(
        config,
        instances=config.instances or settings.instances,
        threads=config.threads or settings.threads,
        auto_implementation=settings.auto_implementation if automatic is None else automatic,
    )


def _checked_session(path: Path, options: dict[str, str], trust: Sequence[str], version: str) -> Any:
    """A session whose bytes are all what was written, and that computes what was computed at conversion.

    The weights are read, not mapped: whoever overwrites the file doesn't change what is served.
    """
    chosen = options | {"map_weights": "0"}
    if trust:
        chosen["trust"] = ",".join(trust)
    session = ascend_ep.InferenceSession(str(path), providers=[("AscendEP", chosen)])
    session.bundle.model.verify_weights()
    for output, difference in check_samples(session).items():
        if difference.exceeds:
            raise AscendError("E50044", version, f"output [{output}]: {difference}")
    return session


def _release(version: LoadedVersion) -> None:
    version.release()
    trim()


def _warm_up(version: LoadedVersion, config: ModelConfig) -> None:
    """Runs what the model's configuration wants to be run. Raises AscendError E50041 when it doesn't fit."""
    for warmup in config.warmups:
        inputs = dict(warmup.inputs)
        try:
            version.signature.check(inputs)
            for _ in range(warmup.count):
                version.run(inputs)
        except AscendError as error:
            raise AscendError(
                "E50041", version.model, f"model_warmup [{warmup.name}]: {error.text}"
            ) from None
