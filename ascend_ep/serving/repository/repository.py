"""The models that are served, which version answers a request, how they are loaded and taken away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.serving.request import InferRequest, Parameter
from ascend_ep.serving.settings import Settings

from . import layout
from .index import IndexEntry, State
from .loading import Loader
from .model import ServedModel
from .poll import Poller
from .reasons import reason
from .stamp import ModelStamp, stamp_model
from .version import LoadedVersion

T = TypeVar("T")

log = logging.getLogger("ascend_ep.serving")


class Repository:
    """All methods are called on the event loop; loading happens on threads.

    models: those that were asked for, whether they could be loaded or not.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.places = layout.Layout(settings.model_repository, settings.model_name)
        self.models: dict[str, ServedModel] = {}
        self._loader = Loader(settings, self.places)
        #: models without which the server isn't ready
        self._required: set[str] = set()
        self._started = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self.poller = Poller(self.places, self._follow_stamp, self._forget)

    # --- for requests -------------------------------------------------------------------------

    def model(self, name: str) -> ServedModel:
        """Raises AscendError E50002 when there is none of that name."""
        found = self.models.get(name)
        if found is None:
            raise AscendError("E50002", name, did_you_mean(name, self.models))
        return found

    def version(self, name: str, number: str) -> LoadedVersion:
        """The version of that number, the latest for "". Raises AscendError E50002; E50003 when it isn't
        ready."""
        model = self.model(name)
        if not number:
            latest = model.latest
            if latest is None:
                raise AscendError("E50003", name)
            return latest
        known = int(number) if layout.VERSION.fullmatch(number) else 0
        found = model.versions.get(known)
        if found is None:
            if known in model.states:
                raise AscendError("E50003", f"{name}, version {number}")
            raise AscendError("E50002", f"{name}, version {number}", "")
        return found

    def choose(self, request: InferRequest) -> LoadedVersion:
        """The version that answers a request."""
        return self.version(request.model, request.version)

    # --- for operators ------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Whether everything was loaded that must be: the models of the start, and those that were ready
        since and weren't unloaded. Without strict readiness, whether the start is over."""
        if not self._started or not self._settings.strict_readiness:
            return self._started
        return all(name in self.models and self.models[name].ready for name in self._required)

    def index(self, ready_only: bool = False) -> list[IndexEntry]:
        """Every model of the folder and every version that was asked for. Raises AscendError E50021."""
        names = sorted({*self.models, *self.places.names()})
        entries: list[IndexEntry] = []
        for name in names:
            model = self.models.get(name)
            if model is not None:
                entries += model.index()
            elif self.places.is_model(name):
                entries.append(IndexEntry(name))
        return [e for e in entries if e.state == State.READY] if ready_only else entries

    async def load_all(self) -> None:
        """Loads what the control mode asks for at the start, and begins to poll when it is told to.

        Raises AscendError when the repository can't be read; with exit_on_error also when a model can't be
        loaded.
        """
        settings = self._settings
        names = self.places.names()
        if settings.model_control_mode == "explicit":
            asked = settings.load_models
            names = names if "*" in asked else list(dict.fromkeys(asked))
        else:
            names = [name for name in names if self.places.is_model(name)]
        self._required.update(names)
        failures = [f for found in await asyncio.gather(*map(self._follow, names)) for f in found]
        if failures and settings.exit_on_error:
            raise AscendError("E50035", len(failures), details=[str(f) for f in failures])
        self._started = True
        if settings.model_control_mode == "poll":
            self.poller.start(settings.repository_poll)

    async def load_model(self, name: str, parameters: Mapping[str, Parameter] | None = None) -> None:
        """Loads what is new or changed of a model, and what failed before. Returns when it is ready.

        Raises AscendError E50002 when there is no such model; E50040 with the reason when it can't be loaded:
        what served before goes on serving; E50013 in mode poll, and for parameters.
        """
        self._refuse_polled()
        for parameter in parameters or ():
            raise AscendError("E50013", f"the parameter [{parameter}] of a load: models come from the folder")
        known = self.places.names()
        if name not in known:
            raise AscendError("E50002", name, did_you_mean(name, known))
        failures = await self._to_its_end(self._follow(name, retry=True))
        if failures:
            raise AscendError("E50040", name, reason(failures[0], self.places).rstrip("."))

    async def unload_model(self, name: str, unload_dependents: bool = False) -> None:
        """Takes a model away when its requests in flight are answered. (No model depends on another.) Raises
        AscendError E50002; E50013 in mode poll."""
        self._refuse_polled()
        model = self.model(name)
        self._required.discard(name)
        await self._to_its_end(model.unload())

    async def close(self) -> None:
        """Gives up what is being loaded, finishes what was taken, and gives up every version."""
        await self.poller.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(model.unload() for model in self.models.values()))
        self.models.clear()
        await self._loader.close()

    # --- inside -------------------------------------------------------------------------------

    async def _to_its_end(self, change: Coroutine[Any, Any, T]) -> T:
        """What it returns; it goes on when whoever asked for it is gone."""
        task = asyncio.get_running_loop().create_task(change)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    def _refuse_polled(self) -> None:
        if self._settings.model_control_mode == "poll":
            raise AscendError("E50013", "the server polls its repository (--model-control-mode=poll)")

    async def _follow(self, name: str, retry: bool = False) -> list[AscendError]:
        """Brings a model to what lies in its folder now."""
        try:
            if name not in self.places.names():
                raise AscendError("E50002", name, "")
            stamp = stamp_model(self.places, name)
        except AscendError as error:
            log.error("model %s: %s", name, error)
            return [error]
        return await self._follow_stamp(name, stamp, retry)

    async def _follow_stamp(self, name: str, stamp: ModelStamp, retry: bool = False) -> list[AscendError]:
        model = self.models.get(name)
        if model is None:
            model = self.models[name] = ServedModel(name, self._loader, self.places)
        failures = await model.follow(stamp, retry)
        self.poller.note(name, stamp)
        if model.ready:
            self._required.add(name)
        return failures

    async def _forget(self, name: str) -> None:
        """The model's folder is gone."""
        self._required.discard(name)
        model = self.models.get(name)
        if model is not None:
            await model.unload()
            self.models.pop(name, None)
