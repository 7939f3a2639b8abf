"""Python functions of the tensor DSL for operations it has no call for: text for generated files.

Errors are those of float32: erf by Abramowitz and Stegun's 7.1.26 (1.5e-7 absolute), sine by a polynomial on
[-pi/2, pi/2] after reduction by multiples of pi in three parts, expm1 and log1p as Kahan writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

TEXTS: dict[str, str] = {
    "_alike": '''
def _alike(*tensors):
    """The tensors in the shape of their broadcast."""
    shape = shape_util.shape_to_list(tensors[0].shape)
    for tensor in tensors[1:]:
        _, _, shape = shape_util.broadcast_shapes(shape, shape_util.shape_to_list(tensor.shape))
    return [dsl.broadcast(tensor, shape) for tensor in tensors]
''',
    "_sign": '''
def _sign(x):
    """-1, 0 or 1."""
    return dsl.vcmpsel(x, 0.0, "gt", _filled(x, 1.0), dsl.vcmpsel(x, 0.0, "lt", _filled(x, -1.0), x))
''',
    "_filled": '''
def _filled(x, value):
    """`value` in the shape of x."""
    return dsl.broadcast(tvm.const(value, "float32"), shape_util.shape_to_list(x.shape))
''',
    "_chosen": '''
def _chosen(x, operation, number, a, b):
    """a where x compares so with the number, else b; x where a or b is None."""
    return dsl.vcmpsel(x, tvm.const(number, "float32"), operation, x if a is None else a, x if b is None else b)
''',
    "_reciprocal": '''
def _reciprocal(x):
    """1 / x, exactly rounded."""
    return dsl.vdiv(_filled(x, 1.0), x)
''',
    "_rounded": '''
def _rounded(x, rounding):
    """dsl.floor, ceil, round or trunc, as float32. Numbers from 2^23 are whole."""
    near = dsl.cast_to(rounding(dsl.vmins(dsl.vmaxs(x, -8388608.0), 8388608.0)), "float32")
    return _chosen(dsl.vabs(x), "lt", 8388608.0, near, x)
''',
    "_expm1": '''
def _expm1(x):
    """e^x - 1 without cancellation."""
    u = dsl.vexp(x)
    v = dsl.vadds(u, -1.0)
    safe = _chosen(v, "eq", 0.0, _filled(x, 1.0), None)
    log = dsl.vlog(_chosen(u, "eq", 1.0, _filled(x, 2.0), _chosen(u, "le", 0.0, _filled(x, 2.0), u)))
    small = dsl.vdiv(dsl.vmul(safe, x), log)
    middle = _chosen(v, "eq", 0.0, x, small)
    return _chosen(dsl.vabs(x), "lt", 1.0, middle, v)
''',
    "_log1p": '''
def _log1p(x):
    """log(1 + x) without cancellation."""
    u = dsl.vadds(x, 1.0)
    v = dsl.vadds(u, -1.0)
    safe = _chosen(v, "eq", 0.0, _filled(x, 1.0), None)
    near = dsl.vdiv(dsl.vmul(dsl.vlog(u), x), safe)
    return _chosen(dsl.vabs(x), "lt", 1.0, _chosen(v, "eq", 0.0, x, near), dsl.vlog(u))
''',
    "_tanh": '''
def _tanh(x):
    """-t / (t + 2) with t = e^(-2|x|) - 1, and the sign of x."""
    t = _expm1(dsl.vmuls(dsl.vabs(x), -2.0))
    return dsl.vmul(dsl.vdiv(dsl.vmuls(t, -1.0), dsl.vadds(t, 2.0)), _sign(x))
''',
    "_sigmoid": '''
def _sigmoid(x):
    """e^min(x, 0) / (1 + e^-|x|)."""
    below = dsl.vexp(dsl.vmins(x, 0.0))
    return dsl.vdiv(below, dsl.vadds(dsl.vexp(dsl.vmuls(dsl.vabs(x), -1.0)), 1.0))
''',
    "_softplus": '''
def _softplus(x):
    """log(1 + e^x) without overflow."""
    return dsl.vadd(dsl.vmaxs(x, 0.0), _log1p(dsl.vexp(dsl.vmuls(dsl.vabs(x), -1.0))))
''',
    "_polynomial": '''
def _polynomial(x, coefficients):
    """By Horner's rule, the highest power first."""
    total = dsl.vadds(dsl.vmuls(x, coefficients[0]), coefficients[1])
    for c in coefficients[2:]:
        total = dsl.vadds(dsl.vmul(total, x), c)
    return total
''',
    "_erf": '''
def _erf(x):
    """The error function: 1 - p(t) e^(-x^2) with t = 1 / (1 + 0.3275911 |x|), and the sign of x; near 0 a
    power series."""
    size = dsl.vabs(x)
    t = _reciprocal(dsl.vadds(dsl.vmuls(size, 0.3275911), 1.0))
    p = dsl.vmul(_polynomial(t, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)), t)
    square = dsl.vmul(x, x)
    far = dsl.vadds(dsl.vmuls(dsl.vmul(p, dsl.vexp(dsl.vmuls(square, -1.0))), -1.0), 1.0)
    series = (1.1283791670955126 / 216, -1.1283791670955126 / 42, 0.11283791670955126, -0.37612638903183754)
    near = dsl.vmul(size, _polynomial(square, (*series, 1.1283791670955126)))
    return dsl.vmul(_chosen(size, "lt", 0.35, near, far), _sign(x))
''',
    "_sin": '''
def _sin(x):
    """(-1)^k sin(x - k pi), k the nearest whole number to x / pi."""
    k = _rounded(dsl.vmuls(x, 0.3183098861837907), dsl.round)
    r = dsl.vadd(x, dsl.vmuls(k, -3.140625))
    r = dsl.vadd(r, dsl.vmuls(k, -0.0009670257568359375))
    r = dsl.vadd(r, dsl.vmuls(k, -6.277114152908325e-07))
    odd = dsl.vadd(k, dsl.vmuls(_rounded(dsl.vmuls(k, 0.5), dsl.floor), -2.0))
    square = dsl.vmul(r, r)
    series = (2.7557319e-06, -0.00019841270, 0.0083333333, -0.16666667, 1.0)
    sine = dsl.vmul(r, _polynomial(square, (-2.5052108e-08, *series)))
    return dsl.vmul(sine, dsl.vadds(dsl.vmuls(odd, -2.0), 1.0))
''',
    "_cos": '''
def _cos(x):
    """sin(x + pi / 2)."""
    return _sin(dsl.vadds(x, 1.5707963267948966))
''',
    "_tan": '''
def _tan(x):
    """sin / cos."""
    return dsl.vdiv(_sin(x), _cos(x))
''',
    "_sinh": '''
def _sinh(x):
    """(t + t / (t + 1)) / 2 with t = e^|x| - 1, and the sign of x."""
    t = _expm1(dsl.vabs(x))
    return dsl.vmul(dsl.vmuls(dsl.vadd(t, dsl.vdiv(t, dsl.vadds(t, 1.0))), 0.5), _sign(x))
''',
    "_cosh": '''
def _cosh(x):
    """(e^x + e^-x) / 2."""
    return dsl.vmuls(dsl.vadd(dsl.vexp(x), dsl.vexp(dsl.vmuls(x, -1.0))), 0.5)
''',
    "_asinh": '''
def _asinh(x):
    """log1p(a + a^2 / (1 + sqrt(a^2 + 1))) with a = |x|, and the sign of x."""
    size = dsl.vabs(x)
    square = dsl.vmul(size, size)
    root = dsl.vadds(dsl.vsqrt(dsl.vadds(square, 1.0)), 1.0)
    return dsl.vmul(_log1p(dsl.vadd(size, dsl.vdiv(square, root))), _sign(x))
''',
    "_acosh": '''
def _acosh(x):
    """log(x + sqrt(x^2 - 1))."""
    return dsl.vlog(dsl.vadd(x, dsl.vsqrt(dsl.vadds(dsl.vmul(x, x), -1.0))))
''',
    "_atanh": '''
def _atanh(x):
    """log1p(2 a / (1 - a)) / 2 with a = |x|, and the sign of x."""
    size = dsl.vabs(x)
    ratio = dsl.vdiv(dsl.vmuls(size, 2.0), dsl.vadds(dsl.vmuls(size, -1.0), 1.0))
    return dsl.vmul(dsl.vmuls(_log1p(ratio), 0.5), _sign(x))
''',
    "_pow": '''
def _pow(a, b):
    """e^(b log|a|); negative if a is and b is odd, not a number if a is negative and b isn't whole; 1 if b is 0."""
    size = dsl.vexp(dsl.vmul(b, dsl.vlog(dsl.vabs(a))))
    whole = _rounded(b, dsl.floor)
    odd = dsl.vadd(whole, dsl.vmuls(_rounded(dsl.vmuls(whole, 0.5), dsl.floor), -2.0))
    sign = dsl.vmul(size, dsl.vadds(dsl.vmuls(odd, -2.0), 1.0))
    below = dsl.vcmpsel(b, whole, "eq", sign, _filled(b, float("nan")))
    return _chosen(b, "eq", 0.0, _filled(b, 1.0), _chosen(a, "lt", 0.0, below, size))
''',
    "_floordiv": '''
def _floordiv(a, b):
    """floor(a / b)."""
    return _rounded(dsl.vdiv(a, b), dsl.floor)
''',
    "_mod": '''
def _mod(a, b):
    """a - b floor(a / b)."""
    return dsl.vsub(a, dsl.vmul(b, _floordiv(a, b)))
''',
}


def functions(used: Iterable[str]) -> Iterator[str]:
    """The texts of these functions and of those they call, each once, callees first."""
    done: set[str] = set()

    def visit(name: str) -> Iterator[str]:
        if name in done:
            return
        done.add(name)
        for called in re.findall(r"(?<!\w)_[a-z]\w*(?=\()", TEXTS[name].partition(":")[2]):
            if called in TEXTS:
                yield from visit(called)
        yield TEXTS[name].strip("\n")

    for name in sorted(used):
        yield from visit(name)
