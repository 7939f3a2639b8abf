"""The process that runs a bundle's native code: `python -m ascend_ep.serving.native.main DESCRIPTOR`.

It ends with the server: when the socket of that number has no other end any more, whatever runs.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.serving.checked_session import checked_session
from ascend_ep.serving.signature import Signature

from .confinement import confine
from .messages import (
    Failed,
    Message,
    NeedsRoom,
    NewLine,
    Open,
    Opened,
    Place,
    Ran,
    Run,
    Take,
    TensorArg,
    receive,
    send,
)
from .segment import Segment, placed, received_segment

#: Of the system's memory killer: this process goes before the server.
_KILLED_FIRST = "500"


def main(descriptor: int) -> None:
    control = socket.socket(fileno=descriptor)
    threading.Thread(target=_end_with, args=(control,), daemon=True).start()
    opening, _ = receive(control)
    if not isinstance(opening, Open):
        return
    _limit(opening.memory)
    if opening.confined:
        confine()
    try:
        session = checked_session(Path(opening.path), opening.options, opening.trust, opening.version)
        signature = Signature.of_session(session, opening.path)
    except Exception as failure:
        send(control, Failed.of(_as_ascend(failure)))
        return
    send(control, Opened(_args(session.get_inputs()), _args(session.get_outputs())))
    while True:
        message, descriptors = receive(control)
        if not isinstance(message, NewLine):
            os._exit(0)  # whatever runs
        line = socket.socket(fileno=descriptors[0])
        threading.Thread(target=_serve, args=(line, session, signature), daemon=True).start()


def _end_with(control: socket.socket) -> None:
    watched = select.poll()
    watched.register(control, 0)  # hang-ups are told unasked
    while not watched.poll():
        pass
    os._exit(0)


def _limit(memory: int) -> None:
    """What doesn't fit fails here; a crash leaves no file of its memory."""
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_KILLED_FIRST)


def _serve(line: socket.socket, session: Any, signature: Signature) -> None:
    """Runs what comes on a line, until its other end is gone or the native code has closed it."""
    with contextlib.suppress(OSError):
        _serve_line(line, session, signature)


def _serve_line(line: socket.socket, session: Any, signature: Signature) -> None:
    segment: Segment | None = None
    while True:
        message, descriptors = receive(line)
        if descriptors:
            segment = received_segment(descriptors[0])
        if not isinstance(message, Run) or segment is None:
            return
        try:
            outputs = _run(session, signature, segment, message.inputs)
        except Exception as failure:
            send(line, Failed.of(_as_ascend(failure)))
            continue
        tensors, size = placed(outputs)
        if size > segment.size:
            answer, descriptors = _asked(line, NeedsRoom(size))
            if not isinstance(answer, Take) or not descriptors:
                return
            segment = received_segment(descriptors[0])
        segment.write(tensors)
        send(line, Ran([place for place, _ in tensors]))
        del outputs, tensors


def _run(
    session: Any, signature: Signature, segment: Segment, inputs: Sequence[Place]
) -> list[tuple[str, str, Any]]:
    made = session.run(None, {place.name: segment.read(place) for place in inputs})
    return [(spec.name, spec.datatype, array) for spec, array in zip(signature.outputs, made, strict=True)]


def _asked(line: socket.socket, message: Message) -> tuple[Message | None, list[int]]:
    send(line, message)
    return receive(line)


def _as_ascend(failure: Exception) -> AscendError:
    return failure if isinstance(failure, AscendError) else AscendError("E40012", repr(failure))


def _args(args: Sequence[Any]) -> list[TensorArg]:
    return [TensorArg(arg.name, arg.type, list(arg.shape)) for arg in args]


if __name__ == "__main__":
    main(int(sys.argv[1]))
