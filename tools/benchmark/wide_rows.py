"""The rows of the wide table: architectures that nobody tuned for, in real sizes, each in float32 beside the
best of onnxruntime and OpenVINO f32, and in bfloat16 beside OpenVINO's default. models/wide.py makes them."""

from __future__ import annotations

import importlib

from .rows import FLOAT32_PEERS, Goal, Model, Row, bf16

#: A row may be this far behind, which is what two processes of the same program differ by.
LEVEL = 0.97
BATCHES = (1, 4)


def wide_rows() -> tuple[Row, ...]:
    """A row for each architecture and batch."""
    return tuple(
        Row(
            f"{name}_b{batch}",
            f"{name}, batch {batch}",
            Model("wide", {"architecture": name, "batch": batch}, {"architecture": name, "batch": batch}),
            (Goal(LEVEL, "own", FLOAT32_PEERS), bf16(LEVEL)),
        )
        for name in importlib.import_module("wide_names").NAMES
        for batch in BATCHES
    )
