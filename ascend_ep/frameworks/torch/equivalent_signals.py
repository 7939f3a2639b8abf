"""DFT and STFT in PyTorch: complex numbers are its own, and two real ones outside."""

from __future__ import annotations

from typing import Any

from ascend_ep.frameworks.torch.equivalent_arguments import Attributes, widened


def _complex(x: Any) -> Any:
    """In float32 at least: PyTorch transforms no others everywhere."""
    import torch

    real, *imaginary = widened(x).unbind(-1)
    return torch.complex(real, imaginary[0] if imaginary else real * 0)


def transformed(x: Any, length: Any, axis: Any, *, a: Attributes) -> Any:
    """DFT, and its inverse."""
    import torch

    rank = x.dim()
    at = (-2 if axis is None else int(axis)) % rank
    inverse, half = bool(a.get("inverse", 0)), bool(a.get("onesided", 0))
    if inverse and half:
        count = 2 * (x.shape[at] - 1) if length is None else int(length)
        return torch.fft.irfft(_complex(x), count, at)[..., None].to(x.dtype)
    count = x.shape[at] if length is None else int(length)
    made = (torch.fft.ifft if inverse else torch.fft.fft)(_complex(x), count, at)
    if half:
        made = made.narrow(at, 0, count // 2 + 1)
    return torch.stack((made.real, made.imag), -1).to(x.dtype)


def frames_transformed(x: Any, step: Any, window: Any, length: Any, *, a: Attributes) -> Any:
    """STFT."""
    import torch

    count = int(length) if length is not None else len(window) if window is not None else x.shape[1]
    frames = x.unfold(1, count, int(step)).transpose(2, 3)  # batch, frames, count, 1 or 2
    if window is not None:
        frames = widened(frames) * widened(window)[:, None]
    made = torch.fft.fft(_complex(frames), count, 2)
    if a.get("onesided", 1):
        made = made.narrow(2, 0, count // 2 + 1)
    return torch.stack((made.real, made.imag), -1).to(x.dtype)
