"""ONNX models of the repository become bundles: ascend-atc in a process of its own, with a time limit, into a
cache outside the repository. A bundle is kept under the digest of everything it was made of."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from ascend_ep import atomic_file
from ascend_ep.errors import AscendError
from ascend_ep.runtime.binding import isa_name
from ascend_ep.runtime.cache_folder import cache_path, open_cache
from ascend_ep.serving.release import installed_version
from ascend_ep.serving.settings import Settings

from . import layout
from .conversion_options import files_named, read_options
from .stamp import stamp_files

log = logging.getLogger("ascend_ep.serving")

_BLOCK = 1 << 20
#: Of ascend-atc's output, of which the end says what failed.
_KEPT_OUTPUT = 64 << 10
_MAX_REASON = 1000
_NICENESS = 10
#: Seconds after which a bundle that wasn't loaded goes from the cache.
UNUSED = 30 * 24 * 3600


class Converter:
    """Several conversions wait for each other beyond the number that the settings allow."""

    def __init__(self, settings: Settings, places: layout.Layout) -> None:
        self._places = places
        self._timeout = settings.conversion_timeout
        self._folder = settings.conversion_cache
        self._free = asyncio.Semaphore(settings.conversions)

    async def bundle(self, name: str, model: Path) -> Path:
        """The bundle of an ONNX model, which is made when it isn't there yet.

        Raises AscendError E50043 with what ascend-atc says, E50045 when the model changes meanwhile, E50047
        for its options.
        """
        folder = model.parent
        loop = asyncio.get_running_loop()
        options = read_options(self._places, name, folder)
        before = stamp_files(layout.files(folder))
        key = await loop.run_in_executor(None, self._key, folder, options)
        async with self._free:
            cache = await loop.run_in_executor(None, self._open_cache)
            kept = cache / key
            if not layout.is_file(kept / layout.BUNDLE):
                log.info("model %s: %s is being converted", name, self._places.shown(model))
                began = time.monotonic()
                await self._convert(model, options, kept)
                log.info("model %s: converted in %.1f s", name, time.monotonic() - began)
                if stamp_files(layout.files(folder)) != before:
                    shutil.rmtree(kept, ignore_errors=True)
                    raise AscendError("E50045", self._places.shown(model))
            with contextlib.suppress(OSError):
                os.utime(kept)
        return kept / layout.BUNDLE

    def _key(self, folder: Path, options: dict[str, str]) -> str:
        """The digest of the model with what lies beside it, the options with their files, the compiler."""
        digest = hashlib.sha256(f"{installed_version()} {isa_name()}\n".encode())
        named = files_named(options)
        for flag, value in sorted(options.items()):
            said = ";".join(file.name for file in named[flag]) if flag in named else value
            digest.update(f"--{flag}={said}\n".encode())
        for file in [*layout.files(folder), *(file for files in named.values() for file in files)]:
            digest.update(f"{file.name}\n{file.stat().st_size}\n".encode())
            with self._places.contained(file).open("rb") as opened:
                while block := opened.read(_BLOCK):
                    digest.update(block)
        return digest.hexdigest()

    def _open_cache(self) -> Path:
        """The folder of converted models, which is this user's alone, without what nobody used for long."""
        folder = open_cache(self._folder or open_cache(cache_path()) / "served")
        now = time.time()
        for entry in folder.iterdir():
            with contextlib.suppress(OSError):
                if entry.is_dir() and now - entry.stat().st_mtime > UNUSED:
                    shutil.rmtree(entry, ignore_errors=True)
        return folder

    async def _convert(self, model: Path, options: dict[str, str], kept: Path) -> None:
        work = Path(tempfile.mkdtemp(prefix=".converting-", dir=kept.parent))
        try:
            status, output = await self._run(model, options, work)
            if status != 0 or not layout.is_file(work / layout.BUNDLE):
                raise AscendError("E50043", self._places.shown(model), self._reason(output, work))
            with contextlib.suppress(OSError):  # another server has made it meanwhile
                atomic_file.put(work, kept)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    async def _run(self, model: Path, options: dict[str, str], work: Path) -> tuple[int, str]:
        """ascend-atc's exit status and the end of what it said."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "ascend_ep.cli.serve_conversion"),
            *(f"--model={model}", "--framework=5", f"--output={work / 'model'}"),
            *(f"--{flag}={value}" for flag, value in options.items()),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=work,
            env=_environment(),
            start_new_session=True,
        )
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process.pid, _NICENESS)
        try:
            output = await asyncio.wait_for(_end_of(process), self._timeout)
        except TimeoutError:
            raise AscendError(
                "E50043", self._places.shown(model), f"it took more than {self._timeout:g} s."
            ) from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return process.returncode or 0, output

    def _reason(self, output: str, work: Path) -> str:
        """What ascend-atc says after its verdict, without places outside the repository."""
        said = output.rpartition("Try 'atc --help' for more information")[2].strip() or output.strip()
        text = " ".join(said.split()) or "ascend-atc ended without a word."
        for path in (f"{work}/", f"{self._places.root}/", f"{self._places.root.resolve()}/"):
            text = text.replace(path, "")
        return text if len(text) <= _MAX_REASON else text[:_MAX_REASON] + " ..."


async def _end_of(process: asyncio.subprocess.Process) -> str:
    """The end of what a process writes, once it has ended."""
    assert process.stdout is not None
    kept = b""
    while block := await process.stdout.read(_BLOCK):
        kept = (kept + block)[-_KEPT_OUTPUT:]
    await process.wait()
    return kept.decode("utf-8", "replace")


def _environment() -> dict[str, str]:
    """This process's, for another working directory."""
    environment = dict(os.environ)
    if path := environment.get("PYTHONPATH"):
        environment["PYTHONPATH"] = os.pathsep.join(_absolute(path.split(os.pathsep)))
    return environment


def _absolute(folders: Iterable[str]) -> list[str]:
    return [os.path.abspath(folder) for folder in folders]
