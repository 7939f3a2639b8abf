"""ascend-op as tests give it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ascend_ep.errors import AscendError
from ascend_ep.opbuild.proof import compilations

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


def shorten_proofs(patch: pytest.MonkeyPatch) -> None:
    """Proofs at the ISA level in use, without sanitizers, which are most of their time."""
    used = compilations.levels()[:1]
    patch.setattr(compilations, "levels", lambda: used)
    patch.setattr(compilations, "SANITIZERS", ())
    left_out = AscendError("E43002", "cc", "left out of this test")
    patch.setattr(compilations.Compilations, "sanitized", lambda *_: left_out)
