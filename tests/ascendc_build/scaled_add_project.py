"""The project that these tests build."""

from __future__ import annotations

from pathlib import Path

PROJECT = Path(__file__).parent / "projects" / "ScaledAdd"
