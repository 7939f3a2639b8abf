"""The lines of ais_bench: `[INFO] ...` on standard output."""

from __future__ import annotations

import logging
import sys

_FORM = "[%(levelname)s] %(message)s"


class _Output(logging.Handler):
    """Writes to what is standard output when it writes."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stdout, flush=True)


# Programs that import ais_bench find the root logger like this, unless they configured it before.
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=_FORM)

logger = logging.getLogger("ais_bench.infer")
if not logger.handlers:
    output = _Output()
    output.setFormatter(logging.Formatter(_FORM))
    logger.addHandler(output)
    logger.setLevel(logging.INFO)
    logger.propagate = False
