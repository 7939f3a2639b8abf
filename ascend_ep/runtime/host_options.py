"""Options of the onnxruntime sessions that run host partitions beside native ones."""

from __future__ import annotations

import os
from typing import Any

from .binding import lib
from .options import for_host, onnxruntime

#: onnxruntime's threads spin on after a run, for the next one's sake; here native code needs these CPUs next.
STOP_SPINNING = "session.force_spinning_stop"
_SPINNING = (STOP_SPINNING, "session.intra_op.allow_spinning")


def host_session_options(given: Any, num_threads: int = 0) -> Any:
    """onnxruntime's options for those of a bundle's session, ours or onnxruntime's, or None.

    Threads stop spinning at the end of a run unless an entry says otherwise, also in onnxruntime's own
    object, which can't be copied; there are `num_threads` unless the options say how many.
    """
    made = for_host(given)
    made = onnxruntime().SessionOptions() if made is None else made
    if not any(_has(made, key) for key in _SPINNING):
        made.add_session_config_entry(STOP_SPINNING, "1")
    if made is not given and not made.intra_op_num_threads:
        made.intra_op_num_threads = num_threads or _threads_of_environment()
    return made


def _threads_of_environment() -> int:
    return lib.asc_threads_default() if os.environ.get("ASCEND_EP_THREADS") else 0


def _has(options: Any, key: str) -> bool:
    try:
        options.get_session_config_entry(key)
    except RuntimeError:
        return False
    return True
