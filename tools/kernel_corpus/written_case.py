"""In a process of its own: the call that a gen_data.py writes.

That is input/*.bin and output/golden*.bin, or inputs and then the output in the folder that it runs in, which
its first argument is. Arguments: the script, and where to write. Files of bytes say neither type nor shape:
while the script runs, each ndarray.tofile is observed, and the plain variables beside it, which attributes
have their values of.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np


def main() -> None:
    script, into = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    written: list[dict[str, Any]] = []
    known: set[Path] = set()
    told: dict[str, Any] = {}

    def observe(frame: FrameType, event: str, about: Any) -> None:
        if event != "c_return" or getattr(about, "__name__", "") != "tofile":
            return
        array = about.__self__
        told.update((k, v) for k, v in frame.f_locals.items() if _is_plain(v))
        for path in sorted(p for p in into.rglob("*") if p.is_file() and p not in known):
            known.add(path)
            entry = {
                "file": str(path.relative_to(into)),
                "dtype": array.dtype.name,
                "shape": list(array.shape),
            }
            written.append(entry)

    for name in ("input", "output"):
        (into / name).mkdir()
    os.chdir(into)
    sys.argv = [str(script), "."]
    sys.path.insert(0, str(script.parent))
    np.random.seed(0)
    sys.setprofile(observe)
    try:
        runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.setprofile(None)
    for entry in written:
        assert (into / entry["file"]).stat().st_size == np.dtype(entry["dtype"]).itemsize * int(
            np.prod(entry["shape"])
        )
    golden = [e for e in written if re.search("golden|target", e["file"]) or e["file"].startswith("output")]
    golden = golden or written[1:][-1:]
    inputs = [e for e in written if e not in golden and "tiling" not in e["file"]]
    case = {"name": script.name, "inputs": inputs, "outputs": golden, "told": told}
    (into / "cases.json").write_text(json.dumps([case] if golden else []), encoding="utf-8")


def _is_plain(value: Any) -> bool:
    kinds = bool | int | float | str
    return isinstance(value, kinds) or (isinstance(value, list) and all(isinstance(v, kinds) for v in value))


main()
