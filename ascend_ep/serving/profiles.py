"""Profiles of single requests: what runs for one is recorded into a folder PROF_... of its own.

The recorder is one for the process, so one request is profiled at a time. It runs as it would have: it waits
in its queue, and in a batch with others what is recorded is the batch.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from ascend_ep import atomic_file
from ascend_ep.errors import AscendError
from ascend_ep.runtime import tracing

from .refusals import sentence
from .request import Array, InferRequest, Parameter, Timings

log = logging.getLogger("ascend_ep.serving")

Run = Callable[[dict[str, Array]], Sequence[Array]]
#: Writes what readers want beside the traces of a profile's folder; False when those hold nothing.
Export = Callable[[Path], bool]

#: Folders in the profiles' own beyond which no more are made, and the bytes of a trace.
MOST_FOLDERS = 100
_TRACE_BYTES = 64 << 20
_WRITABLE = "Give a folder that the server may write to."


class RequestProfile:
    """Of one request. `around` is called where it runs; the others on the event loop."""

    def __init__(self, folder: Path, free: Callable[[], None]) -> None:
        self._output = folder
        self._free = free
        self._lock = threading.Lock()
        self._recording = self._answered = False
        self.folder: Path | None = None
        self.error: AscendError | None = None

    def around(self, run: Run) -> Run:
        """The run, recorded. What can't be recorded is run all the same."""

        def recorded_run(inputs: dict[str, Array]) -> Sequence[Array]:
            if not self._begin():
                return run(inputs)
            try:
                return run(inputs)
            finally:
                self._end()

        return recorded_run

    def answered(self) -> None:
        """Whatever comes of the request: another may be profiled, at the latest when its run has ended."""
        with self._lock:
            self._answered = True
            if not self._recording:
                self._free()

    def fail(self, why: str, failure: BaseException | None = None) -> None:
        """The client is told why; the log has the failure, whose text may have paths of this machine."""
        self.error = AscendError("E50053", why)
        if failure is not None:
            log.error("%s", self.error, exc_info=failure)

    def _begin(self) -> bool:
        with self._lock:
            if self._answered:
                return False
            folder = self.folder
            try:
                folder = folder or tracing.new_folder(self._output)
                here = threading.get_native_id()
                tracing.start(folder / tracing.DATA, max_bytes=_TRACE_BYTES, thread=here)
            except AscendError as error:
                self.fail("it can't be recorded", error)
                if folder is not None and self.folder is None:
                    tracing.remove_folder(folder)
                return False
            self.folder = folder
            self._recording = True
            return True

    def _end(self) -> None:
        lost = tracing.stop()
        with self._lock:
            if lost is not None:
                self.fail("not all of it could be recorded", lost)
            self._recording = False
            if self._answered:
                self._free()


def recorded(run: Run, profile: RequestProfile | None, arrived: int, thread: int) -> Run:
    """The run of what waited in a queue, recorded for the request or by a profiler of the whole server: with
    since when it waited (`arrived`, of time.monotonic_ns), and which thread it came to."""
    if profile is None and not tracing.is_on():
        return run
    taken = time.monotonic_ns()

    def queued_run(inputs: dict[str, Array]) -> Sequence[Array]:
        profile_begun = time.monotonic_ns() - taken  # which took milliseconds, and is no wait
        tracing.say_queued(arrived + profile_begun, thread)
        try:
            return run(inputs)
        finally:
            tracing.say_queued(0, 0)

    return queued_run if profile is None else profile.around(queued_run)


class Profiles:
    """Profiles go into `folder`; None: there are none. `export` completes each, on a thread of its own."""

    def __init__(self, folder: Path | None, export: Export | None = None) -> None:
        self.folder = folder
        self._export = export
        self._busy = False
        self._writer: ThreadPoolExecutor | None = None

    def prepare(self) -> None:
        """Makes the folder where it isn't there. Raises AscendError E50034 when it can't be written to."""
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            why = f"no profile can be written there ({error.strerror})"
            raise AscendError("E50034", self.folder, "profile-dir", why, fix=_WRITABLE) from error

    def begin(self) -> RequestProfile:
        """For a request that wants one. Raises AscendError E50013 where there are none, E50006 while another
        is being profiled."""
        if self.folder is None:
            raise AscendError("E50013", "no requests are profiled (--profile-dir)")
        if self._busy:
            raise AscendError("E50006", "another request is profiled, and no second one is")
        if tracing.is_on():
            raise AscendError("E50013", "the whole server is profiled already")
        if sum(1 for _ in self.folder.glob("PROF_*")) >= MOST_FOLDERS:
            raise AscendError("E50013", f"the folder of profiles has {MOST_FOLDERS}; some must go first")
        if self._writer is None:
            self._writer = _writer()
        self._busy = True
        return RequestProfile(self.folder, self._free)

    def finish(
        self, profile: RequestProfile, request: InferRequest, timings: Timings, then: Callable[[], None]
    ) -> None:
        """Calls `then` on the event loop when the profile is complete, or there is none."""
        profile.answered()
        if profile.folder is None or self._writer is None:
            if profile.error is None:
                profile.fail("nothing ran for it alone")
            then()
            return
        loop = asyncio.get_running_loop()

        def write() -> None:
            try:
                self._complete(profile, request, timings)
            finally:
                loop.call_soon_threadsafe(then)

        self._writer.submit(write)

    def _complete(self, profile: RequestProfile, request: InferRequest, timings: Timings) -> None:
        folder = profile.folder
        assert folder is not None
        try:
            atomic_file.write(folder / "request.json", _facts(request, timings), synced=False)
            if self._export is not None and not self._export(folder) and profile.error is None:
                profile.fail("none of its run was in this process, or onnxruntime ran all of it")
            log.info("%s: profile in %s", request.model, folder)
        except Exception as failure:
            profile.fail("its files can't be written", failure)

    def _free(self) -> None:
        self._busy = False


def _writer() -> ThreadPoolExecutor:
    """With its thread, so that a request is refused, and none left without an answer, where the system gives
    none. Raises AscendError E50006."""
    made = ThreadPoolExecutor(1, "ascend-profile")
    try:
        made.submit(int)
    except RuntimeError as error:
        raise AscendError("E50006", "there is no thread to write its profile") from error
    return made


def parameters_of(profile: RequestProfile) -> dict[str, Parameter]:
    """What the answer says: the name of the folder, and what went wrong with it."""
    found: dict[str, Parameter] = {}
    if profile.folder is not None:
        found["ascend_profile"] = profile.folder.name
    if profile.error is not None:
        found["ascend_profile_error"] = sentence(profile.error)
    return found


def _facts(request: InferRequest, timings: Timings) -> bytes:
    """Which request it was and how long it waited, for people and programs."""
    return msgspec.json.encode(
        {
            "model": request.model,
            "version": request.version,
            "id": request.id,
            "traceparent": request.traceparent,
            "queue_ns": timings.queue,
            "compute_input_ns": timings.compute_input,
            "compute_infer_ns": timings.compute_infer,
            "compute_output_ns": timings.compute_output,
            "batch_rows": timings.batch,
        }
    )
