"""What programs that make sessions ask onnxruntime for: its enumerations, and what there is to run on."""

from __future__ import annotations

import enum
import importlib.util


class GraphOptimizationLevel(enum.IntEnum):
    """onnxruntime's numbers. A bundle was optimized at conversion; host partitions' sessions follow them."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """onnxruntime's numbers; for host partitions."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


def available_providers() -> list[str]:
    """AscendEP, and onnxruntime's CPU provider where that is installed."""
    host = ["CPUExecutionProvider"] if importlib.util.find_spec("onnxruntime") else []
    return ["AscendEP", *host]


def device() -> str:
    """The device, by onnxruntime's name."""
    return "CPU"
