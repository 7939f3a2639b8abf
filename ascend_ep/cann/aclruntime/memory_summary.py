"""The milliseconds that bringing inputs to the device and outputs back took, of the whole process."""

from __future__ import annotations

from typing import ClassVar


class MemorySummary:
    """Every instance shows the same two lists, which `reset` empties.

    Device and host share their memory here, so an entry is the time of the copies that are made, if any.
    """

    H2D_time_list: ClassVar[list[float]] = []
    D2H_time_list: ClassVar[list[float]] = []

    @classmethod
    def reset(cls) -> None:
        cls.H2D_time_list.clear()
        cls.D2H_time_list.clear()
