"""Sessions that are fit to serve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ascend_ep.errors import AscendError
from ascend_ep.runtime.sample_run import check_samples
from ascend_ep.runtime.session import InferenceSession


def checked_session(
    path: Path, options: Mapping[str, str], trust: Sequence[str], version: str
) -> InferenceSession:
    """A session whose bytes are all what was written, and that computes what was computed at conversion.

    The weights are read, not mapped: whoever overwrites the file doesn't change what is served.
    """
    chosen = {**options, "map_weights": "0"}
    if trust:
        chosen["trust"] = ",".join(trust)
    session = InferenceSession(str(path), providers=[("AscendEP", chosen)])
    session.bundle.model.verify_weights()
    for output, difference in check_samples(session).items():
        if difference.exceeds:
            raise AscendError("E50044", version, f"output [{output}]: {difference}")
    return session
