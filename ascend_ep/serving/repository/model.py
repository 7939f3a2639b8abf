"""One model of the repository: its versions, the state of each, how it follows what lies in its folder."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass

from ascend_ep.errors import AscendError
from ascend_ep.serving.refusals import internal

from . import layout
from .config import ModelConfig
from .config_file import read_config
from .index import IndexEntry, State
from .loading import Loader
from .reasons import reason
from .stamp import FilesStamp, ModelStamp
from .version import LoadedVersion

log = logging.getLogger("ascend_ep.serving")


@dataclass
class VersionState:
    """reason: why it isn't ready, or why the one that is isn't the newest, or not its bundle. stamp: of the
    files that were loaded, or failed to."""

    state: State
    reason: str = ""
    stamp: tuple[FilesStamp, FilesStamp] | None = None


class ServedModel:
    """versions: those that are ready, by number. Everything happens on the event loop; what changes the model
    is done one after another."""

    def __init__(self, name: str, loader: Loader, places: layout.Layout) -> None:
        self.name = name
        self.versions: dict[int, LoadedVersion] = {}
        #: the one with the highest number
        self.latest: LoadedVersion | None = None
        self.states: dict[int, VersionState] = {}
        self.config = ModelConfig()
        #: why its folder was refused as a whole: its configuration, or that it has no version
        self.refusal = ""
        self.loads = 0
        self.load_failures = 0
        #: seconds that the last load took, with everything that it consists of
        self.load_seconds = 0.0
        self._loader = loader
        self._places = places
        self._changing = asyncio.Lock()
        self._config_stamp: FilesStamp | None = None

    @property
    def ready(self) -> bool:
        """Whether it answers; where its policy names versions, all of those."""
        return bool(self.versions) and all(n in self.versions for n in self.config.policy.specific)

    def index(self) -> list[IndexEntry]:
        if not self.states:
            state = State.UNAVAILABLE if self.refusal else ""
            return [IndexEntry(self.name, "", state, self.refusal)]
        return [
            IndexEntry(self.name, str(number), known.state, known.reason or self.refusal)
            for number, known in sorted(self.states.items())
        ]

    async def follow(self, stamp: ModelStamp, retry: bool = False) -> list[AscendError]:
        """Loads what is new or changed of the wanted versions, then gives up those that aren't wanted any
        more, unless one that is failed. Returns the failures; what served before goes on serving.

        retry: also what failed before and hasn't changed.
        """
        async with self._changing:
            try:
                self._read_config(stamp.settings)
            except AscendError as error:
                self._refused(error)
                return [error]
            failures = []
            wanted = self.config.policy.choose(stamp.versions)
            if not wanted:
                failures.append(self._empty(stamp))
            for number in sorted(wanted, reverse=True):
                found = (stamp.settings, stamp.versions[number])
                known = self.states.get(number)
                if known is not None and known.stamp == found and not (retry and known.reason):
                    continue
                failure = await self._load(number, found)
                if failure is not None:
                    failures.append(failure)
            if all(n in self.versions for n in wanted):
                await self._retire(n for n in list(self.states) if n not in wanted)
            return failures

    async def unload(self) -> None:
        """Finishes what was taken, then gives every version up. Its states stay, to be seen in the index."""
        async with self._changing:
            await self._retire(list(self.states), "unloaded")
            self._config_stamp = None

    # --- inside -------------------------------------------------------------------------------

    def _read_config(self, stamp: FilesStamp) -> None:
        if stamp != self._config_stamp:
            self.config = read_config(self._places, self.name)
            self._config_stamp = stamp
        self.refusal = ""

    def _refused(self, error: AscendError) -> None:
        self.load_failures += 1
        self.refusal = reason(error, self._places)
        log.error("model %s: %s", self.name, error)

    def _empty(self, stamp: ModelStamp) -> AscendError:
        there = ", ".join(map(str, sorted(stamp.versions))) or self._places.instead(self.name)
        error = AscendError("E50048", self.name, there)
        self._refused(error)
        return error

    async def _load(self, number: int, stamp: tuple[FilesStamp, FilesStamp]) -> AscendError | None:
        known = self.states.setdefault(number, VersionState(State.LOADING))
        if number not in self.versions:
            known.state, known.reason = State.LOADING, ""
        known.stamp = stamp
        began = time.monotonic()
        try:
            folder = self._places.versions(self.name).get(number)
            if folder is None:
                raise AscendError("E50045", f"{self.name}/{number}")
            old = self.versions.get(number)
            made = await self._loader.load(self.name, number, folder, self.config, old)
        except Exception as failure:
            return self._failed(number, known, internal(failure))
        self.load_seconds = time.monotonic() - began
        self.loads += 1
        self._serve(number, made)
        known.state, known.reason = State.READY, made.unused_bundle
        log.info("model %s version %d is ready (%.0f ms)", self.name, number, self.load_seconds * 1e3)
        if old is not None:
            await self._loader.release(old)
        return None

    def _failed(self, number: int, known: VersionState, error: AscendError) -> AscendError:
        self.load_failures += 1
        known.reason = reason(error, self._places)
        if number not in self.versions:
            known.state = State.UNAVAILABLE
            log.error("model %s version %d can't be loaded: %s", self.name, number, error)
        else:
            log.error("model %s version %d stays as it was; the new one: %s", self.name, number, error)
        return error

    def _serve(self, number: int, version: LoadedVersion | None) -> LoadedVersion | None:
        """Puts a version in its place, or takes it away; returns the one that was there."""
        old = self.versions.pop(number, None)
        if version is not None:
            self.versions[number] = version
        self.latest = self.versions[max(self.versions)] if self.versions else None
        return old

    async def _retire(self, numbers: Iterable[int], why: str = "") -> None:
        """`why`: how the index explains it; without, the version is forgotten."""
        for number in numbers:
            old = self._serve(number, None)
            if old is not None:
                self.states[number] = VersionState(State.UNLOADING)
                await self._loader.release(old)
                log.info("model %s version %d was unloaded", self.name, number)
            if why:
                self.states[number] = VersionState(State.UNAVAILABLE, why)
            else:
                del self.states[number]
