"""One caller's connection to a process: a run at a time, its tensors in a segment that grows as needed."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections.abc import Mapping

from ascend_ep.errors import AscendError
from ascend_ep.serving.request import Array
from ascend_ep.serving.signature import Signature

from .messages import Failed, Message, NeedsRoom, Nonsense, Ran, Run, Take, receive, send
from .segment import Segment, new_segment, placed


class Gone(Exception):
    """The other end is closed: the process has ended, or is about to. begun: whether it may have read what it
    was sent."""

    def __init__(self, begun: bool = True) -> None:
        super().__init__()
        self.begun = begun


class Line:
    """signature: of the model. most: bytes of a run's outputs that are taken."""

    def __init__(self, ours: socket.socket, signature: Signature, most: int) -> None:
        self._socket = ours
        self._signature = signature
        self._most = most
        self._segment: Segment | None = None

    def run(self, inputs: Mapping[str, Array], seconds: float) -> list[Array]:
        """The outputs in the model's order, as new arrays.

        Raises what the process refuses; Gone, Nonsense, and TimeoutError after so many seconds: then the line
        can't be used again.
        """
        until = time.monotonic() + seconds
        specs = self._signature.inputs
        tensors, size = placed([(spec.name, spec.datatype, inputs[spec.name]) for spec in specs])
        fresh = []
        if self._segment is None or size > self._segment.size:
            self._segment, descriptor = new_segment(size)
            fresh.append(descriptor)
        self._segment.write(tensors)
        answer = self._asked(Run([place for place, _ in tensors]), fresh, until)
        if isinstance(answer, NeedsRoom):
            if not 0 < answer.size <= self._most:
                raise Nonsense(f"its outputs have {answer.size} bytes; {self._most} are the most")
            self._segment, descriptor = new_segment(answer.size)
            answer = self._asked(Take(), [descriptor], until)
        if isinstance(answer, Failed):
            raise _refusal(answer)
        if not isinstance(answer, Ran):
            raise Nonsense(f"{type(answer).__name__} is no answer to a run")
        return self._outputs(answer, self._segment)

    def hang_up(self) -> None:
        """Whoever waits for an answer gets Gone. May be called on any thread, more than once."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Gives its memory back. Nobody uses it any more."""
        self._socket.close()
        self._segment = None

    def _asked(self, message: Message, descriptors: list[int], until: float) -> Message:
        try:
            send(self._socket, message, descriptors)
        except OSError:
            raise Gone(begun=False) from None
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return answer_of(self._socket, until)

    def _outputs(self, answer: Ran, segment: Segment) -> list[Array]:
        """Copies, which the process can't change any more."""
        specs = self._signature.outputs
        if [place.datatype for place in answer.outputs] != [spec.datatype for spec in specs]:
            raise Nonsense("its outputs aren't the model's")
        try:
            return [segment.read(place).copy() for place in answer.outputs]
        except AscendError as error:
            raise Nonsense(error.text) from None


def answer_of(line: socket.socket, until: float) -> Message:
    """The next message. Raises Gone, Nonsense, and TimeoutError when it is `until` (of time.monotonic)."""
    ready = select.poll()
    ready.register(line, select.POLLIN)
    if not ready.poll(max(until - time.monotonic(), 0) * 1000):
        raise TimeoutError
    try:
        message, descriptors = receive(line)
    except ConnectionResetError:  # it ended before it had read what it was sent
        raise Gone(begun=False) from None
    except OSError:
        raise Gone from None
    for descriptor in descriptors:
        os.close(descriptor)
    if message is None:
        raise Gone
    return message


def _refusal(answer: Failed) -> AscendError:
    try:
        return answer.error()
    except (KeyError, TypeError):
        raise Nonsense(f"[{answer.code}] is no code of an error") from None
