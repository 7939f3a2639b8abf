"""From a request to its answer, whatever the front end."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Sequence

from ascend_ep.errors import AscendError

from .execution.job import Job
from .outcome import Observer, Outcome
from .profiles import Profiles, parameters_of
from .refusals import internal
from .repository.repository import Repository
from .repository.version import LoadedVersion
from .request import Array, InferRequest, InferResponse, Reply
from .traffic.rules import TrafficRules


class InferenceService:
    def __init__(self, repository: Repository, timeout: float, profiles: Profiles | None = None) -> None:
        self.repository = repository
        self.profiles = profiles or Profiles(None)
        self.traffic = TrafficRules(repository)
        self._timeout = timeout
        #: the server is about to end and says that it isn't ready; it still answers
        self.leaving = False
        #: no more requests are taken
        self.draining = False
        #: requests that had their result, over all versions
        self.answered = 0
        #: requests that were refused before they had a place in a queue, by the code of their errors
        self.refused: Counter[str] = Counter()
        #: called behind every answer (nobody, unless a log or traces were asked for), and behind failures
        self.observers: list[Observer] = []
        self.failure_observers: list[Observer] = []

    @property
    def ready(self) -> bool:
        """Whether the server says that it is: what must be loaded is, and it isn't about to end."""
        return not self.leaving and self.repository.ready

    def submit(self, request: InferRequest, reply: Reply) -> Job | None:
        """Answers by `reply`, on the event loop, maybe before this returns; the job is for cancelling.

        Raises AscendError when the request is refused at once.
        """
        try:
            return self._submit(request, reply)
        except AscendError as error:
            self.refused[error.code] += 1
            self._failed(Outcome(request, None, None, error, 0))
            raise

    def _submit(self, request: InferRequest, reply: Reply) -> Job:
        if self.draining:
            raise AscendError("E50008")
        version = self.traffic.choose(request)
        signature = version.signature
        signature.check(request.inputs)
        if request.outputs:
            signature.check_outputs(request.outputs)
        own_deadline = request.deadline is not None
        if not own_deadline:
            request.deadline = time.monotonic() + self._timeout
        rows = 1
        if version.rows_input is not None:
            rows = request.inputs[version.rows_input].shape[0]

        def done(job: Job, result: Sequence[Array] | AscendError) -> None:
            ended = time.monotonic_ns()

            def answer() -> None:
                try:
                    self._answer(version, job, result, reply, ended)
                except Exception as failure:
                    with contextlib.suppress(Exception):  # the others of its batch have their answers to come
                        reply(internal(failure))

            if job.profile is None:
                answer()
            else:
                self.profiles.finish(job.profile, request, job.timings, answer)

        job = Job(request, request.inputs, rows, done)
        job.own_deadline = own_deadline
        if request.profile:
            job.profile = self.profiles.begin()
        try:
            version.submit(job)
        except BaseException:
            if job.profile is not None:
                job.profile.answered()
            raise
        return job

    def _answer(
        self,
        version: LoadedVersion,
        job: Job,
        result: Sequence[Array] | AscendError,
        reply: Reply,
        ended: int,
    ) -> None:
        ns = ended - job.arrived
        request = job.request
        if isinstance(result, AscendError):
            version.statistics.failed(ns, result.code)
            reply(result)
            self._failed(Outcome(request, version, job, result, ns))
            return
        self.answered += 1
        version.statistics.succeeded(ended, ns, job.timings)
        made = zip(version.signature.outputs, result, strict=True)
        outputs = [(spec.name, spec.datatype, array) for spec, array in made]
        if request.outputs:
            by_name = {name: (name, datatype, array) for name, datatype, array in outputs}
            outputs = [by_name[name] for name in request.outputs]
        said = {} if job.profile is None else parameters_of(job.profile)
        reply(InferResponse(version.model, version.name, outputs, request.id, said, job.timings))
        try:
            self.traffic.answered(version, job, result)
        except Exception as failure:
            internal(failure)
        if self.observers:
            _tell(self.observers, Outcome(request, version, job, None, ns))

    def _failed(self, outcome: Outcome) -> None:
        _tell((*self.observers, *self.failure_observers), outcome)


def _tell(observers: Sequence[Observer], outcome: Outcome) -> None:
    """An observer that fails is logged, and keeps nothing from the others."""
    for observe in observers:
        try:
            observe(outcome)
        except Exception as failure:
            internal(failure)
