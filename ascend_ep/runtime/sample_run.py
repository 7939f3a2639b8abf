"""The sample run: what a bundle computed when it was converted, it computes here."""

from __future__ import annotations

import numpy as np

from .comparison import Difference, compare
from .session import InferenceSession


def check_samples(session: InferenceSession) -> dict[str, Difference]:
    """How far every sample output is from the stored one; empty for a bundle without samples. Another ISA
    level may round differently."""
    stored = session.bundle.samples()
    outputs = {edge.name: array for edge, array in stored if edge.is_output}
    if not outputs:
        return {}
    inputs = {edge.name: np.array(array) for edge, array in stored if edge.is_input}
    results = session.run(list(outputs), inputs)
    return {name: compare(result, outputs[name]) for name, result in zip(outputs, results, strict=True)}
