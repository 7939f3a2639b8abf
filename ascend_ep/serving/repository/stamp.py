"""What a model's files look like from outside: two equal stamps, some time apart, mean that nobody is writing
them; two different ones that they have changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ascend_ep.errors import AscendError

from . import layout

MAX_FILES = 10_000

#: Of each file: its path, size, time of change in nanoseconds, and number in the file system.
FilesStamp = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True)
class ModelStamp:
    """settings: of the files that concern every version. versions: by number."""

    settings: FilesStamp
    versions: dict[int, FilesStamp]


def stamp_files(files: Iterable[Path]) -> FilesStamp:
    """Files that vanish meanwhile are left out. Raises AscendError E50046 for too many, E50052 for those that
    can't be looked at."""
    found = []
    for file in files:
        try:
            info = file.stat()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise AscendError("E50052", f"{file.parent.name}/{file.name}", error.strerror) from None
        found.append((str(file), info.st_size, info.st_mtime_ns, info.st_ino))
        if len(found) > MAX_FILES:
            raise AscendError("E50046", MAX_FILES)
    return tuple(found)


def stamp_model(places: layout.Layout, name: str) -> ModelStamp:
    """Raises AscendError E50046 and E50052."""
    folder = places.model(name)
    settings = stamp_files(folder / n for n in (layout.CONFIG, layout.OPTIONS))
    versions = {number: stamp_files(layout.files(path)) for number, path in places.versions(name).items()}
    return ModelStamp(settings, versions)
