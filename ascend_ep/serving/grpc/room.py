"""Memory for messages of gRPC, whose own code keeps what has come of them and doesn't say how much that is.

A message on its way may be as large as the largest that is taken. One that came whole is held with what is
made of it. Both are counted, and there is never more than the process has memory for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from ascend_ep.errors import AscendError
from ascend_ep.serving.memory_limit import memory_bytes, own_bytes
from ascend_ep.serving.repository.memory import trim

#: A message that came whole: itself, its tensors, the outputs, and the answer.
_COPIES = 4
#: Smaller ones aren't counted once they are whole.
SMALL = 1 << 20
#: Of all memory a message may be as much as leaves room to run one, to copy another as it is taken from
#: gRPC, and for three that are on their way.
_COPIED = 2
_SHARES = _COPIES + _COPIED + 3
#: Seconds that one may be on its way while others wait; between two looks at what the process has; and at
#: what it has without a message.
_PATIENCE, _LOOK, _REST = 2.0, 0.01, 1.0
#: Growth at which heaps are given back to the system.
_MUCH = 64 << 20


class Room:
    """largest: bytes of a message. A place is for one message on its way; `cut` breaks it off."""

    def __init__(self, largest: int) -> None:
        self._most = memory_bytes() * 9 // 10
        self._base = own_bytes()
        self.largest = min(largest, max((self._most - self._base) // _SHARES, SMALL))
        self._full = self._most - (_COPIES + _COPIED) * self.largest
        self._most -= _COPIED * self.largest
        self._taken = 0
        #: when the process held no message and was looked at, and when it was last; whether it had too much
        self._rested = self._looked = 0.0
        self._is_full = False
        #: what breaks off, and since when, oldest first
        self._places: dict[Callable[[], None], float] = {}
        self._queue: dict[asyncio.Future[None], None] = {}
        self._hurrying = False

    async def enter(self, cut: Callable[[], None]) -> None:
        """Takes a place, when there is one."""
        if self._queue or not self._has(self.largest):
            place = asyncio.get_running_loop().create_future()
            self._queue[place] = None
            self._hurry_later()
            try:
                await place
            except asyncio.CancelledError:
                self._queue.pop(place, None)
                if place.done() and not place.cancelled():
                    self._give(self.largest)  # it was given at that moment
                raise
        else:
            self._taken += self.largest
        self._places[cut] = time.monotonic()

    def leave(self, cut: Callable[[], None]) -> None:
        """Gives the place back."""
        del self._places[cut]
        self._give(self.largest)

    def hold(self, size: int) -> None:
        """Counts a whole message. Raises AscendError E50006 when there is no memory to run it."""
        if size <= SMALL:
            return
        if not self._has(size * _COPIES):
            raise AscendError("E50006", f"{self._taken} bytes of messages")
        self._taken += size * _COPIES

    def release(self, size: int) -> None:
        """Takes back what `hold` counted."""
        if size > SMALL:
            self._give(size * _COPIES)

    def is_short(self) -> bool:
        """Whether half of what there is beside the models is taken, by whatever."""
        return own_bytes() > (self._base + self._most) // 2

    def _has(self, size: int) -> bool:
        """Whether there is so much more: by the count, and by what the process has. The only one may be
        larger than what is left by the count: it is tried."""
        now = time.monotonic()
        if not self._taken:
            if now > self._rested + _REST:
                self._rested = now
                self._base = self._own()
            return True
        if self._base + self._taken + size > self._most:
            return False
        if now > self._looked + _LOOK or size > self.largest:
            self._looked = now
            self._is_full = own_bytes() > self._full and self._own() > self._full
        return not self._is_full

    def _own(self) -> int:
        """What the process has, with what was freed given back to the system where that may be much."""
        if own_bytes() > self._base + _MUCH:
            trim()
        return own_bytes()

    def _give(self, size: int) -> None:
        self._taken -= size
        self._admit()

    def _admit(self) -> None:
        """Gives places to those that wait."""
        while self._queue and self._has(self.largest):
            place = next(iter(self._queue))
            del self._queue[place]
            if not place.done():
                self._taken += self.largest
                place.set_result(None)

    def _hurry_later(self) -> None:
        if not self._hurrying:
            self._hurrying = True
            asyncio.get_running_loop().call_later(_PATIENCE / 4, self._hurry)

    def _hurry(self) -> None:
        """Breaks off what has been on its way for long, while others wait for a place."""
        self._hurrying = False
        self._admit()
        if not self._queue:
            return
        late = time.monotonic() - _PATIENCE
        for cut in [cut for cut, since in self._places.items() if since < late]:
            cut()
        self._hurry_later()
