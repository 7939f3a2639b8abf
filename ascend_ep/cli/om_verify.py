"""The sample run of `ascend-om verify`: what the bundle computed when it was converted, it computes here."""

from __future__ import annotations

import numpy as np

from ascend_ep.runtime.bundle import Bundle
from ascend_ep.runtime.comparison import Difference, compare
from ascend_ep.runtime.session import InferenceSession


def check_samples(path: str, bundle: Bundle) -> dict[str, Difference]:
    """How far every sample output is from the stored one. Another ISA level may round differently."""
    stored = bundle.samples()
    outputs = {edge.name: array for edge, array in stored if edge.is_output}
    if not outputs:
        return {}
    inputs = {edge.name: np.array(array) for edge, array in stored if edge.is_input}
    results = InferenceSession(path).run(list(outputs), inputs)
    return {name: compare(result, outputs[name]) for name, result in zip(outputs, results, strict=True)}
