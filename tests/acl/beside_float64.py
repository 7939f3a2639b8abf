"""Operands for PyTorch in float64, and results of the device beside what it makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
Array = np.ndarray[Any, Any]


def wide(t: Array) -> Any:
    return torch.from_numpy(t.astype(np.float64))


def close(made: Array, exact: Any, rtol: float = 2e-5) -> None:
    """Relative to the largest element, besides."""
    exact = np.asarray(exact.detach() if isinstance(exact, torch.Tensor) else exact)
    scale = max(np.abs(exact).max(initial=0), 1e-3)
    np.testing.assert_allclose(
        made.astype(np.float64).reshape(exact.shape), exact, rtol=rtol, atol=rtol * scale
    )
