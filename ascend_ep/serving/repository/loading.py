"""From files to a version that can run: opened once, every byte checked, the sample run repeated, warm."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ascend_ep
from ascend_ep.errors import AscendError
from ascend_ep.runtime.sample_run import check_samples
from ascend_ep.serving.settings import Settings
from ascend_ep.serving.signature import Signature

from . import layout
from .config import ModelConfig
from .config_check import check_config
from .conversion import Converter
from .stamp import stamp_files
from .version import LoadedVersion


class Loader:
    """Loads versions, several at a time, on threads of its own."""

    def __init__(self, settings: Settings, places: layout.Layout) -> None:
        self._settings = settings
        self._places = places
        self._converter = Converter(settings, places)
        self._threads = ThreadPoolExecutor(settings.load_threads, "ascend-load")

    async def load(self, name: str, number: int, folder: Path, config: ModelConfig) -> LoadedVersion:
        """A version that takes jobs. Raises AscendError for whatever is wrong with it."""
        loop = asyncio.get_running_loop()
        source = layout.source(folder)
        if source is None:
            raise AscendError("E50045", self._places.shown(folder))
        path = self._places.contained(source)
        before = stamp_files(layout.files(folder))
        if source.name == layout.ONNX:
            path = await self._converter.bundle(name, path)
        made = await loop.run_in_executor(self._threads, self._open, name, number, path, config)
        if stamp_files(layout.files(folder)) != before:
            raise AscendError("E50045", self._places.shown(source))
        made.start(self._settings, loop)
        return made

    async def release(self, version: LoadedVersion) -> None:
        """Finishes what the version has taken, then gives its memory back at once."""
        await version.close()
        await asyncio.get_running_loop().run_in_executor(self._threads, version.release)

    async def close(self) -> None:
        self._threads.shutdown(wait=False)

    def _open(self, name: str, number: int, path: Path, config: ModelConfig) -> LoadedVersion:
        chosen = {"num_threads": str(config.threads or 0), "map_weights": "0"}
        session = ascend_ep.InferenceSession(str(path), providers=[("AscendEP", chosen)])
        session.bundle.model.verify_weights()
        for output, difference in check_samples(session).items():
            if difference.exceeds:
                raise AscendError("E50044", f"{name}, version {number}", f"output [{output}]: {difference}")
        check_config(name, config, Signature.of_session(session, str(path)))
        return LoadedVersion(name, number, session, config, str(path))
