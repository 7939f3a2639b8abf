"""Converts every model of hostile_models in this process; prints as JSON what became of each."""

from __future__ import annotations

import json
import resource
import signal
import sys
import time
import warnings
from pathlib import Path

from hostile_models import MODELS

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError


def peak_megabytes() -> float:
    """Of this process since it was last asked."""
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    Path("/proc/self/clear_refs").write_text("5")
    return int(peak.split()[1]) / 1024


def on_alarm(number: int, frame: object) -> None:
    raise TimeoutError("it took too long")


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    signal.signal(signal.SIGALRM, on_alarm)
    found = {}
    for number, (name, (_, make)) in enumerate(MODELS.items()):
        own = folder / str(number)
        own.mkdir()
        path = make(own)
        before = peak_megabytes() and peak_megabytes()
        start = time.process_time()
        signal.alarm(20)
        try:
            convert(path, ConvertOptions(codegen="off")).to_bytes()
            code, text = "", "converted"
        except AscendError as error:
            code, text = error.code, error.text
        except Exception as error:  # what a traceback would be
            code, text = type(error).__name__, str(error)
        signal.alarm(0)
        seconds = time.process_time() - start
        found[name] = (code, text[:300], seconds, peak_megabytes() - before)
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
