"""DFT and STFT against NumPy's float64; products of up to 60 terms of magnitude 1: 1e-5."""

from __future__ import annotations

import numpy as np
import pytest
from single_node import run_node

RANDOM = np.random.default_rng(43)
X = RANDOM.standard_normal((2, 10, 3, 1)).astype(np.float32)
Z = RANDOM.standard_normal((2, 10, 3, 2)).astype(np.float32)
BOUNDS = {"rtol": 1e-4, "atol": 1e-5}


def parts(z: np.ndarray) -> np.ndarray:
    return np.stack([z.real, z.imag], axis=-1)


@pytest.mark.parametrize("length", [None, 7, 16])
@pytest.mark.parametrize("axis", [1, 2])
def test_transforms(axis: int, length: int | None) -> None:
    count = None if length is None else np.array(length)
    given = [count, np.array(axis)]
    known = [1, 2] if length else [2]
    real, whole = X[..., 0].astype(np.float64), Z[..., 0] + 1j * Z[..., 1]
    for x, signal in ((X, real), (Z, whole)):
        for inverse in (0, 1):
            want = (np.fft.ifft if inverse else np.fft.fft)(signal, length, axis)
            (y,) = run_node("DFT", [x, *given], {"inverse": inverse}, opset=20, known=known, **BOUNDS)
            np.testing.assert_allclose(y, parts(want), **BOUNDS)
    (y,) = run_node("DFT", [X, *given], {"onesided": 1}, opset=20, known=known, **BOUNDS)
    np.testing.assert_allclose(y, parts(np.fft.rfft(real, length, axis)), **BOUNDS)


def test_the_opset_before_names_the_axis_in_an_attribute() -> None:
    run_node("DFT", [Z], {"axis": 2}, opset=17, **BOUNDS)
    run_node("DFT", [X], {}, opset=17, **BOUNDS)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("onesided", [0, 1])
def test_short_time_transforms(onesided: int, known: bool) -> None:
    signal = RANDOM.standard_normal((2, 100, 1)).astype(np.float32)
    window = np.hanning(24).astype(np.float32)
    given = [signal, np.array(7), window, np.array(24)]
    frames = np.stack([signal[:, i * 7 : i * 7 + 24, 0] * window for i in range(11)], axis=1).astype(
        np.float64
    )
    want = np.fft.rfft(frames) if onesided else np.fft.fft(frames)
    (y,) = run_node(
        "STFT", given, {"onesided": onesided}, opset=17, known=[1, 3, *([2] if known else [])], rtol=1, atol=9
    )
    np.testing.assert_allclose(y, parts(want), **BOUNDS)


@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
def test_windows(op: str, periodic: int) -> None:
    attrs = {"periodic": periodic}
    run_node(op, [np.array(9)], attrs, opset=17, known=[0], atol=1e-6)
    run_node(
        op, [np.array(9, np.int32)], {**attrs, "output_datatype": 11}, opset=17, declared=[(9,)], atol=1e-6
    )


def test_a_window_of_another_size_than_declared() -> None:
    with pytest.warns(RuntimeWarning, match="element 0 is 8 where"):
        run_node("HannWindow", [np.array(8)], opset=17, declared=[(9,)])
