"""ascend-op as tests give it."""

from __future__ import annotations

from collections.abc import Callable

#: A command's status, output and errors.
Run = Callable[..., tuple[int, str, str]]

#: The documents' command.
SWISH = (
    "--prompt",
    "Swish(x) = x * sigmoid(x)",
    "--input_shape",
    "[1, 512]",
    "--output_name",
    "swish_custom",
)
