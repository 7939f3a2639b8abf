"""What the server and a process with native code say to each other, one datagram each, with descriptors."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

import msgspec

from ascend_ep.errors import CODES, AscendError

#: A message has no tensors, but texts of errors and names of tensors.
_MOST_BYTES = 1 << 17
_MOST_TEXT = 4000
_MOST_LINES = 8


class Message(msgspec.Struct, tag=True):
    """Any of these."""


class Open(Message):
    """To the process, first. options: AscendEP's; trust: digests; memory: bytes that it may allocate;
    confined: whether it may do nothing but compute."""

    path: str
    version: str
    options: dict[str, str]
    trust: list[str]
    memory: int
    confined: bool = True


class TensorArg(msgspec.Struct):
    name: str
    type: str
    shape: list[int | str | None]


class Opened(Message):
    inputs: list[TensorArg]
    outputs: list[TensorArg]


class NewLine(Message):
    """To the process, with the end of a socket on which it takes runs from now on."""


class Place(msgspec.Struct):
    """A tensor in the segment of its line. datatype: the protocol's name."""

    name: str
    datatype: str
    shape: list[int]
    offset: int
    size: int


class Run(Message):
    """On a line, with another segment when the last one is too small."""

    inputs: list[Place]


class NeedsRoom(Message):
    """The answer to a run whose outputs take more bytes than the segment has."""

    size: int


class Take(Message):
    """Behind NeedsRoom, with a segment that has room: the outputs are wanted there."""


class Ran(Message):
    outputs: list[Place]


class Failed(Message):
    """An AscendError of the process."""

    code: str
    text: str
    where: str
    fix: str
    details: list[str]

    @classmethod
    def of(cls, error: AscendError) -> Failed:
        details = [line[:_MOST_TEXT] for line in error.details[:_MOST_LINES]]
        return cls(error.code, error.text[:_MOST_TEXT], error.where, error.fix, details)

    def error(self) -> AscendError:
        """Raises KeyError for a code that isn't one."""
        template = CODES[self.code].template
        made = AscendError(
            self.code, *[""] * template.count("%s"), where=self.where, fix=self.fix, details=self.details
        )
        made.text = self.text
        return made


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Open | Opened | NewLine | Run | NeedsRoom | Take | Ran | Failed).decode


class Nonsense(Exception):
    """What came is no message, or not the one that was to come."""


def send(to: socket.socket, message: Message, descriptors: Sequence[int] = ()) -> None:
    """Raises OSError when nobody listens any more."""
    socket.send_fds(to, [_encode(message)], list(descriptors))


def receive(come: socket.socket) -> tuple[Message | None, list[int]]:
    """The next message with the descriptors that are the receiver's now; None when the other end is gone.
    Raises Nonsense."""
    data, descriptors, _, _ = socket.recv_fds(come, _MOST_BYTES, 1)
    if not data:
        return None, []
    try:
        return _decode(data), descriptors
    except msgspec.MsgspecError as error:
        for descriptor in descriptors:
            os.close(descriptor)
        raise Nonsense(str(error)) from None
