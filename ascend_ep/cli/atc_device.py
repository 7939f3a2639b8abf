"""The chip that a command line is meant for, its cores, and where its compiled operators are kept."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ascend_ep import atomic_file
from ascend_ep.errors import AscendError

CACHE = "ASCEND_EP_CACHE"

Given = Mapping[str, str]


def check_cores(given: Given) -> None:
    """Refuses a chip that isn't known, and cores that it doesn't have."""
    if not given.get("soc_version"):
        return
    from ascend_ep.cann.soc import find_soc

    soc = find_soc(given["soc_version"])
    if given.get("core_type") == "VectorCore" and not soc.vector_cores:
        reason = f"{soc.name} has no vector cores of their own."
        raise AscendError("E10001", "VectorCore", "--core_type", reason)
    text = given.get("aicore_num", "")
    if not text:
        return
    numbers = re.fullmatch(r"(\d{1,6})(?:\|(\d{1,6}))?", text, re.ASCII)
    if numbers is None:
        reason = 'It must be a number of cores, or "AI cores|vector cores".'
        raise AscendError("E10001", text, "--aicore_num", reason)
    for asked, there in ((numbers[1], soc.ai_cores), (numbers[2], soc.vector_cores)):
        if asked is not None and not 1 <= int(asked) <= there:
            kind = "AI" if there is soc.ai_cores else "vector"
            reason = f"{soc.name} has {soc.ai_cores} AI cores and {soc.vector_cores} vector cores; {asked} is"
            raise AscendError("E10001", text, "--aicore_num", f"{reason} not a number of its {kind} cores.")


@contextmanager
def operator_cache(given: Given) -> Iterator[None]:
    """Meanwhile compiled operators are kept where --op_compiler_cache_dir and _mode say."""
    mode, folder = given.get("op_compiler_cache_mode", ""), given.get("op_compiler_cache_dir", "")
    if not (mode or folder):
        yield
        return
    from ascend_ep.runtime.cache_folder import cache_path, open_cache

    kept = open_cache(Path(folder) if folder else cache_path())
    if mode in ("", "enable"):
        with _cache_in(kept):
            yield
        return
    with tempfile.TemporaryDirectory(prefix="ascend_ep-cache-") as fresh:
        with _cache_in(Path(fresh)):
            yield
        if mode == "force":
            for made in Path(fresh).iterdir():
                if made.is_file() and made.suffix != ".lock":
                    atomic_file.copy(made, kept / made.name)


@contextmanager
def _cache_in(folder: Path) -> Iterator[None]:
    before = os.environ.get(CACHE)
    os.environ[CACHE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[CACHE]
        else:
            os.environ[CACHE] = before
