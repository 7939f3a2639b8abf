"""The models tried. A model is here with valid inputs, or not at all."""

from __future__ import annotations

from model_zoo import images, speech, tables, text
from model_zoo.model import Model

MODELS: list[Model] = [*speech.MODELS, *images.MODELS, *text.MODELS, *tables.MODELS]
