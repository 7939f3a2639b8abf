"""The models that are being served, and which version answers a request."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.serving.request import InferRequest
from ascend_ep.serving.settings import Settings

from . import layout
from .config import ModelConfig
from .version import LoadedVersion, load


@dataclass
class ServedModel:
    """versions: those that are ready, by number."""

    name: str
    versions: dict[int, LoadedVersion] = field(default_factory=dict)

    @property
    def latest(self) -> LoadedVersion | None:
        return self.versions[max(self.versions)] if self.versions else None


class Repository:
    """All methods are called on the event loop; loading happens on a thread."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.models: dict[str, ServedModel] = {}

    async def load_all(self) -> None:
        """Every version of every model in the folder. Raises AscendError as loading does."""
        root = self._settings.model_repository
        for name in layout.model_names(root):
            for number in sorted(layout.versions(root / name)):
                await self.load(name, number)

    async def load(self, name: str, number: int) -> None:
        """Loads a version and puts it in the place of one that has its number."""
        path = self._settings.model_repository / name / str(number) / layout.BUNDLE
        loop = asyncio.get_running_loop()
        made = await loop.run_in_executor(None, load, name, number, path, ModelConfig())
        made.start(self._settings, loop)
        model = self.models.setdefault(name, ServedModel(name))
        old = model.versions.get(number)
        model.versions[number] = made
        if old is not None and old.scheduler is not None:
            await old.scheduler.close()

    def model(self, name: str) -> ServedModel:
        """Raises AscendError E50002 when there is none of that name."""
        found = self.models.get(name)
        if found is None:
            raise AscendError("E50002", name, did_you_mean(name, self.models))
        return found

    def version(self, name: str, number: str) -> LoadedVersion:
        """The version of that number, the latest for "". Raises AscendError E50002; E50003 when none is
        ready."""
        model = self.model(name)
        if not number:
            latest = model.latest
            if latest is None:
                raise AscendError("E50003", name)
            return latest
        found = model.versions.get(int(number)) if layout.VERSION.fullmatch(number) else None
        if found is None:
            raise AscendError("E50002", f"{name}, version {number}", "")
        return found

    def choose(self, request: InferRequest) -> LoadedVersion:
        """The version that answers a request."""
        return self.version(request.model, request.version)

    async def close(self) -> None:
        """Finishes what was taken and gives up every version."""
        for model in self.models.values():
            for version in model.versions.values():
                if version.scheduler is not None:
                    await version.scheduler.close()
        self.models.clear()
