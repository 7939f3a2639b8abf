"""How much memory there is: of the machine, or of the container or service that this process is in; and how
much of it this process has."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

#: What holds of all limits for the bodies of requests; the rest is for what is made of them.
_SHARE = 4
_MOST_BODIES = 1 << 30
_PAGE = os.sysconf("SC_PAGE_SIZE")


def memory_bytes(groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> int:
    found = [_PAGE * os.sysconf("SC_PHYS_PAGES")]
    for file in _limits(groups, own):
        with contextlib.suppress(OSError, ValueError):  # "max" is none
            found.append(int(file.read_text()))
    return min(found)


def body_bytes() -> int:
    """Bodies that a server takes at a time unless it is told otherwise."""
    return min(_MOST_BODIES, memory_bytes() // _SHARE)


def own_bytes() -> int:
    """Memory that this process holds and that is of no file."""
    with contextlib.suppress(OSError):
        _, resident, shared, *_ = Path("/proc/self/statm").read_text().split()
        return (int(resident) - int(shared)) * _PAGE
    return 0


def _limits(groups: Path, own: Path) -> Iterator[Path]:
    """Files of limits, of both versions of control groups: of the groups that this process is in, up to the
    root that it sees. In a container that is often its own group, however its path reads."""
    paths = {"": PurePosixPath("/"), "memory": PurePosixPath("/")}
    with contextlib.suppress(OSError, ValueError):
        for line in own.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            name = "memory" if "memory" in controllers.split(",") else controllers
            if name in paths:
                paths[name] = PurePosixPath(path)
    for name, file in (("", "memory.max"), ("memory", "memory.limit_in_bytes")):
        for folder in (paths[name], *paths[name].parents):
            yield groups / name / folder.relative_to("/") / file
