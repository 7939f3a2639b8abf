"""From files to a version that can run: opened once, every byte checked, the sample run repeated, warm."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from ascend_ep.errors import AscendError
from ascend_ep.serving.settings import Settings

from . import layout
from .config import ModelConfig
from .conversion import Converter
from .memory import trim
from .reasons import reason
from .sessions import Sessions
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
            made.release()
            raise AscendError("E50045", self._places.shown(source))
        if old is not None:
            made.take_over(old)
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
        # What answers well goes on answering when the new one can't be used.
        instead = None if old is not None and not old.unused_bundle else original
        sessions = Sessions(path, f"{name}, version {number}", self._settings, instead)
        try:
            made = LoadedVersion(
                name, number, sessions.open, config, str(path), original, self._settings.tuning, old
            )
            _warm_up(made, config)
        except BaseException:
            sessions.close()
            raise
        if sessions.failure is not None:
            made.unused(sessions.failure.code, reason(sessions.failure, self._places))
        for native in made.refused_natives:
            log.warning(
                "%s, version %d: its native code %s isn't trusted here and is interpreted"
                " (--trust=sha256:%s)",
                *(name, number, native.name, native.sha256),
            )
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
