"""Bytes of bodies that are held at once, over all connections."""

from __future__ import annotations

from ascend_ep.errors import AscendError


class Budget:
    def __init__(self, size: int) -> None:
        self.size = size
        self.held = 0

    def take(self, size: int) -> None:
        """Negative: gives back. Raises AscendError E50006 when there is no room."""
        if size > 0 and self.held + size > self.size:
            raise AscendError("E50006", f"{self.held} bytes of bodies")
        self.held += size
