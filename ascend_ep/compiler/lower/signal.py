"""DFT and STFT as products with the matrix of the transform: of a frame, or of frames that overlap in memory;
and the windows that go with them, as constants.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.lower.arguments import expect_ints, known_ints, needed, operand, wrap_axis
from ascend_ep.compiler.lower.elementwise import Program, emit_program
from ascend_ep.compiler.lower.matmul import emit_matmul, require_float
from ascend_ep.compiler.lower.views import permuted
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.dims import static

#: The longest transform: its matrix has as many rows, and twice as many columns.
MOST = 2048


#: Of a window function: the factors of cos(0), -cos(2 pi i / N), cos(4 pi i / N).
WINDOWS = {
    "HannWindow": (0.5, 0.5, 0.0),
    "HammingWindow": (25 / 46, 21 / 46, 0.0),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}


@lowers("window")
def lower_window(node: NodeView, b: PlanBuilder) -> None:
    """HannWindow, HammingWindow, BlackmanWindow."""
    target = needed(node.outputs, 0)
    size = static(target.dims[0])
    if size is None or target.dtype not in dtypes.NUMPY:
        raise Unsupported("its size depends on the input shapes, or it is of no type of numbers")
    expect_ints(b, needed(node.inputs, 0), [(size,)])
    period = size if int(node.attr("periodic", 1)) else size - 1
    with np.errstate(invalid="ignore"):  # a symmetric window of one element is NaN, as in onnxruntime
        angles = 2 * np.pi * np.arange(size) / period if size else np.zeros(0)
    constant, once, twice = WINDOWS[node.op_type]
    values = constant - once * np.cos(angles) + twice * np.cos(2 * angles)
    b.bind(target, b.constant(values.astype(dtypes.NUMPY[target.dtype])))


def transform(n: int, parts: int, length: int, inverse: bool, onesided: bool) -> NDArray[np.float32]:
    """The matrix that takes n elements of `parts` numbers (1: real, 2: real and imaginary) to their transform
    of that length, padded with zeros or cut off: [n*parts, K*2], or [n*parts, length] of an inverse onesided
    transform, which is real."""
    if not 0 < length <= MOST or n > MOST:
        raise Unsupported(f"its length {max(n, length)} is beyond the {MOST} of the native transform")
    units = np.eye(n)[:, None, :] * np.array([1, 1j][:parts])[None, :, None]
    rows = units.reshape(n * parts, n)
    if inverse and onesided:
        return np.fft.irfft(rows, length).astype(np.float32)
    spectrum = np.fft.ifft(rows, length) if inverse else np.fft.fft(rows, length)
    kept = spectrum[:, : length // 2 + 1] if onesided else spectrum
    return np.stack([kept.real, kept.imag], axis=-1).reshape(n * parts, -1).astype(np.float32)


def _number(source: Operand | None, what: str) -> int | None:
    return None if source is None else known_ints(source, what)[0]


@lowers("dft")
def lower_dft(node: NodeView, b: PlanBuilder) -> None:
    source, target = needed(node.inputs, 0), needed(node.outputs, 0)
    require_float(source)
    axis = _number(operand(node.inputs, 2), "axis") if node.version >= 20 else int(node.attr("axis", 1))
    place = wrap_axis(-2 if axis is None else axis, source.rank)
    n, parts = static(source.dims[place]), static(source.dims[-1])
    if n is None or parts not in (1, 2) or place == source.rank - 1:
        raise Unsupported("its length or its parts are known only at run time, or it transforms the parts")
    inverse, onesided = bool(node.attr("inverse", 0)), bool(node.attr("onesided", 0))
    given = _number(operand(node.inputs, 1), "dft_length")
    length = given or (2 * (n - 1) if inverse and onesided else n)
    matrix = transform(n, parts, length, inverse, onesided)
    order = [*(i for i in range(source.rank - 1) if i != place), place, source.rank - 1]
    x = b.contiguous(permuted(b, b.ref(source), order))
    y = _multiplied(b, b.view(x, [*x.dims[:-2], n * parts]), matrix)
    parts_after = 1 if inverse and onesided else 2
    spectrum = b.view(y, [*x.dims[:-2], matrix.shape[1] // parts_after, parts_after])
    back = permuted(b, spectrum, [order.index(i) for i in range(source.rank)])
    if order == sorted(order):
        b.bind(target, spectrum)
    else:
        b.emit("copy", [back], [b.out(target)])


def _multiplied(b: PlanBuilder, x: Ref, matrix: NDArray[Any]) -> Ref:
    y = b.temp(x.dtype, [*x.dims[:-1], matrix.shape[1]])
    emit_matmul(b, (x, b.constant(matrix, "panel32")), y)
    return y


@lowers("stft")
def lower_stft(node: NodeView, b: PlanBuilder) -> None:
    """STFT of real signals: the frames are a view of the signal in which neighbours overlap."""
    signal, window, target = needed(node.inputs, 0), operand(node.inputs, 2), needed(node.outputs, 0)
    require_float(signal)
    if signal.rank == 3 and static(signal.dims[2]) != 1:
        raise Unsupported("its signal is complex")
    step = known_ints(needed(node.inputs, 1), "frame_step")[0]
    length = _number(operand(node.inputs, 3), "frame_length")
    if length is None:
        length = None if window is None else static(window.dims[0])
    if length is None or step < 1:
        raise Unsupported("its frame_length is known only at run time, or its step is not positive")
    x = b.contiguous(b.ref(signal))
    batch, samples = signal.dims[:2]
    frames = b.view(x, [batch, target.dims[1], length], 0, [samples, step, 1])
    matrix = transform(length, 1, length, inverse=False, onesided=bool(node.attr("onesided", 1)))
    if window is not None and window.const is not None:
        matrix = matrix * window.const.reshape(-1, 1)
    elif window is not None:
        frames = _windowed(b, frames, b.ref(window))
    b.bind(target, b.view(_multiplied(b, frames, matrix.astype(np.float32)), target.dims))


def _windowed(b: PlanBuilder, frames: Ref, window: Ref) -> Ref:
    program = Program()
    value = program.input(frames, frames.dtype) * program.input(window, window.dtype)
    program.output(value, frames.dtype)
    y = b.temp(frames.dtype, frames.dims)
    emit_program(b, program, [y])
    return y
