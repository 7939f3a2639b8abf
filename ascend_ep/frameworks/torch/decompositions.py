"""ATen operators in terms of others, where torch.onnx's translation means something else: at infinities, NaN
and zeros of a sign, where it multiplies by a mask, where digits cancel, or for numbers of any kind. The check
of first results sees that only where the first call has such numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ascend_ep.frameworks.torch import (
    decomposed_doubles,
    decomposed_norms,
    decomposed_pools,
    decomposed_scatters,
)
from ascend_ep.frameworks.torch.decomposed_doubles import in_doubles


def decompositions() -> dict[Any, Callable[..., Any]]:
    """By operator. NotImplemented from one of them: torch.onnx translates that call."""
    import torch

    aten = torch.ops.aten
    return {
        aten.squeeze.dims: _squeezed,
        aten.sign.default: _sign,
        aten.signbit.default: _signbit,
        aten.floor_divide.default: _floor_divided,
        aten.div.Tensor_mode: _divided,
        aten.div.Scalar_mode: _divided,
        aten.remainder.Tensor: _remainder,
        aten.remainder.Scalar: _remainder,
        aten.remainder.Scalar_Tensor: _remainder,
        aten.atan2.default: _atan2,
        aten.diagonal.default: _diagonal,
        aten.diagonal_copy.default: _diagonal,
        aten.logcumsumexp.default: _logcumsumexp,
        aten.topk.default: _topk,
        aten.max.dim: _extreme_of_axis,
        aten.min.dim: _extreme_of_axis,
        aten.copy.default: _copied,
        aten.arange.start_step: _arange,
        aten.avg_pool2d.default: partial(decomposed_pools.averaged, 2),
        aten.avg_pool3d.default: partial(decomposed_pools.averaged, 3),
        aten._adaptive_avg_pool2d.default: partial(decomposed_pools.adapted, 2),
        aten._adaptive_avg_pool3d.default: partial(decomposed_pools.adapted, 3),
        aten.max_pool2d_with_indices.default: partial(decomposed_pools.greatest, 2),
        aten.max_pool3d_with_indices.default: partial(decomposed_pools.greatest, 3),
        aten.elu.default: _elu,
        aten.expm1.default: _expm1,
        aten.log1p.default: _log1p,
        aten.pow.Tensor_Scalar: _power,
        aten.angle.default: _angle,
        aten.amax.default: partial(decomposed_norms.extreme, "amax"),
        aten.amin.default: partial(decomposed_norms.extreme, "amin"),
        aten.scatter.src: partial(decomposed_scatters.scattered, "scatter"),
        aten.scatter_add.default: partial(decomposed_scatters.scattered, "scatter_add"),
        aten.scatter_reduce.two: decomposed_scatters.reduced,
        aten.linalg_vector_norm.default: decomposed_norms.norm,
        aten.native_layer_norm.default: decomposed_norms.layer_norm,
        aten.native_group_norm.default: decomposed_norms.group_norm,
        aten.var.correction: decomposed_norms.variance,
        aten.var_mean.correction: decomposed_norms.variance_and_mean,
        aten.leaky_relu.default: in_doubles(decomposed_doubles.leaky_relu),
        aten.hardtanh.default: in_doubles(decomposed_doubles.hardtanh),
        aten.log10.default: in_doubles(decomposed_doubles.log10),
        aten.log2.default: in_doubles(decomposed_doubles.log2),
    }


def _copied(over: Any, source: Any, non_blocking: bool = False) -> Any:
    """What is assigned, in the place of the whole: torch.onnx's translation doesn't broadcast it."""
    return source.to(over.dtype).expand(over.shape).clone()


def _sign(x: Any) -> Any:
    """0 of NaN, of which torch.onnx's translation makes NaN."""
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype) if x.is_floating_point() else NotImplemented


def _squeezed(x: Any, dims: Sequence[int]) -> Any:
    """Without those of the axes that have one element."""
    dropped = {d % x.dim() for d in dims if x.dim()}
    return x.view([n for axis, n in enumerate(x.shape) if axis not in dropped or n != 1])


def _widened(x: Any, y: Any) -> tuple[Any, Any, Any]:
    """Floats in which narrow ones are rounded once, at the end, and the type of the result; None where that
    isn't one of floats."""
    import torch

    dtype = torch.result_type(x, y)
    if not dtype.is_floating_point:
        return x, y, None
    wide = torch.promote_types(dtype, torch.float32)
    of = next(t for t in (x, y) if isinstance(t, torch.Tensor))
    x, y = (t.to(wide) if isinstance(t, torch.Tensor) else of.new_full((), t, dtype=wide) for t in (x, y))
    return x, y, dtype


def _floor_divided(x: Any, y: Any) -> Any:
    """Of floats by their remainder: the quotient that torch.onnx's translation takes the floor of may be
    rounded up to a whole number, and is a number where x is infinite."""
    import torch

    x, y, dtype = _widened(x, y)
    if dtype is None:
        return NotImplemented
    rest = torch.fmod(x, y)
    quotient = (x - rest) / y
    other = (rest != 0) & ((rest < 0) ^ (y < 0))
    quotient = torch.where(other, quotient - 1, quotient)
    whole = torch.floor(quotient)
    whole = torch.where(quotient - whole > 0.5, whole + 1, whole)
    return torch.where(y == 0, x / y, whole).to(dtype)


def _divided(x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    return _floor_divided(x, y) if rounding_mode == "floor" else NotImplemented


def _remainder(x: Any, y: Any) -> Any:
    """Of floats, where torch.onnx's translation subtracts a product: x itself beside an infinite y."""
    import torch

    x, y, dtype = _widened(x, y)
    if dtype is None:
        return NotImplemented
    rest = torch.fmod(x, y)
    return torch.where((rest != 0) & ((rest < 0) ^ (y < 0)), rest + y, rest).to(dtype)


def _is_negative(x: Any) -> Any:
    """Of zeros, too."""
    return (x < 0) | ((x == 0) & (1 / x < 0))


def _signbit(x: Any) -> Any:
    """Of -0.0, too."""
    return _is_negative(x) if x.is_floating_point() else NotImplemented


def _atan2(y: Any, x: Any) -> Any:
    """In all quadrants, with zeros of either sign, infinities and NaN."""
    import torch

    y, x, dtype = _widened(y, x)
    if dtype is None:
        y, x, dtype = y.to(torch.float32), x.to(torch.float32), torch.float32
    a, b = y.abs(), x.abs()
    steep = a > b
    less, more = torch.where(steep, b, a), torch.where(steep, a, b)
    slope = torch.where(less == more, (more != 0).to(less.dtype), less / more)
    angle = torch.atan(slope)
    angle = torch.where(steep, math.pi / 2 - angle, angle)
    angle = torch.where(_is_negative(x), math.pi - angle, angle)
    return torch.where(_is_negative(y), -angle, angle).to(dtype)


def _diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """By steps through the rows laid side by side; torch.onnx's translation sums products with a mask."""
    dim1, dim2 = dim1 % x.dim(), dim2 % x.dim()
    rest = [d for d in range(x.dim()) if d not in (dim1, dim2)]
    rows, columns = x.shape[dim1], x.shape[dim2]
    if not isinstance(rows, int) or not isinstance(columns, int):
        return NotImplemented
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    first = offset if offset > 0 else -offset * columns
    flat = x.permute([*rest, dim1, dim2]).reshape([*(x.shape[d] for d in rest), rows * columns])
    return flat[..., first : first + count * (columns + 1) : columns + 1][..., :count]


def _logcumsumexp(x: Any, dim: int) -> Any:
    """By sums of twice as many elements at each step; torch.onnx's translation subtracts the largest of all,
    beside which others vanish."""
    import torch

    if not x.dim():
        return x.clone()
    size = x.shape[dim]
    if not isinstance(size, int):
        return NotImplemented
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    step = 1
    while step < size:
        before = torch.full_like(wide.narrow(dim, 0, step), -math.inf)
        before = torch.cat([before, wide.narrow(dim, 0, size - step)], dim)
        larger = wide > before
        more, less = torch.where(larger, wide, before), torch.where(larger, before, wide)
        same = (more == less) & more.isinf()
        wide = torch.where(same, more, more + torch.log1p(torch.exp(less - more)))
        step *= 2
    return wide.to(x.dtype)


def _topk(x: Any, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """Of a single number, that number."""
    import torch

    return (x.clone(), torch.zeros_like(x, dtype=torch.int64)) if not x.dim() else NotImplemented


def _extreme_of_axis(x: Any, dim: int, keepdim: bool = False) -> Any:
    """Of a single number, that number, and not the tensor that is given."""
    return _topk(x, 1)


def _arange(start: Any, end: Any, step: Any = 1, *, dtype: Any = None, device: Any = None, **_: Any) -> Any:
    """Of fractions, in float64, as PyTorch counts and adds them: in float32 there may be one more."""
    import torch

    dtype = dtype or torch.get_default_dtype()
    numbers = (start, end, step)
    whole = all(isinstance(n, int) for n in numbers) or not all(isinstance(n, int | float) for n in numbers)
    if whole or not dtype.is_floating_point:
        return NotImplemented
    count = math.ceil((end - start) / step)
    return (torch.arange(count, device=device).to(torch.float64) * step + start).to(dtype)


def _floats(x: Any) -> Any:
    """At least float32, of integers too; None of complex numbers."""
    import torch

    if x.is_complex():
        return None
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _expm1(x: Any) -> Any:
    """tanh(x / 2) (e^x + 1): torch.onnx's translation subtracts 1, beside which a small x vanishes."""
    import torch

    wide = _floats(x)
    if wide is None:
        return NotImplemented
    made = torch.tanh(wide * 0.5) * (torch.exp(wide) + 1)
    return made.to(x.dtype) if x.is_floating_point() else made


def _log1p(x: Any) -> Any:
    """The logarithm of y = x + 1, rounded, by x / (y - 1): what y has lost of a small x is regained."""
    import torch

    wide = _floats(x)
    if wide is None:
        return NotImplemented
    more = wide + 1
    made = torch.where((more == 1) | (wide == math.inf), wide, torch.log(more) * (wide / (more - 1)))
    return made.to(x.dtype) if x.is_floating_point() else made


def _power(x: Any, exponent: Any) -> Any:
    """A half is a root to PyTorch: of -0.0 and -inf, too."""
    import torch

    if not x.is_floating_point() or not isinstance(exponent, float) or abs(exponent) != 0.5:
        return NotImplemented
    return torch.sqrt(x) if exponent > 0 else torch.rsqrt(x)


def _elu(x: Any, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Any:
    """Of a scaled input, which torch.onnx's translation also scales where it is positive; in float64, where
    it rounds the numbers."""
    import torch

    if input_scale == 1 and x.dtype != torch.float64:
        return NotImplemented
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return torch.where(wide > 0, wide * scale, torch.expm1(wide * input_scale) * (alpha * scale)).to(x.dtype)


def _angle(x: Any) -> Any:
    """Of integers, too, and NaN of NaN."""
    import torch

    wide = _floats(x)
    if wide is None:
        return NotImplemented
    angle = torch.where(wide.isnan(), wide, torch.where(wide < 0, wide.new_full((), math.pi), 0.0))
    return angle.to(x.dtype) if x.is_floating_point() else angle.to(torch.float32)
