"""How a server is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: Programs that run inside the rivals' environments.
RIVALS = Path(__file__).resolve().parent / "rivals"


@dataclass(frozen=True)
class Launch:
    """A command, the folder it is started in, and environment variables besides those of this process."""

    command: list[str]
    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)
