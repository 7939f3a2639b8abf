"""ONNX models of the repository become bundles."""

from __future__ import annotations

from pathlib import Path

from ascend_ep.errors import AscendError
from ascend_ep.serving.settings import Settings

from .layout import Layout


class Converter:
    def __init__(self, settings: Settings, places: Layout) -> None:
        self._settings = settings
        self._places = places

    async def bundle(self, name: str, model: Path) -> Path:
        """The bundle of an ONNX model, which is made when it isn't there yet. Raises AscendError E50043."""
        raise AscendError("E50043", self._places.shown(model), "not yet.")
