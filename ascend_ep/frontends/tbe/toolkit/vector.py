"""The DSL's elementwise functions on one, two or three tensors, or a tensor and a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ascend_ep.frontends.tbe.toolkit.casts import tensor_argument
from ascend_ep.frontends.tbe.toolkit.compute import scalar
from ascend_ep.frontends.tbe.toolkit.elements import FLOATS, Element, Number
from ascend_ep.frontends.tbe.toolkit.failure import DSL, DTYPE, WARNINGS, DslError
from ascend_ep.frontends.tbe.toolkit.nodes import Node, apply, constant
from ascend_ep.frontends.tbe.toolkit.tensors import Tensor, elementwise, operand_node, plain

#: The call that takes a number in place of the second tensor.
_WITH_NUMBER = {
    "vadd": "vadds(tensor, number)",
    "vsub": "vadds(tensor, -number)",
    "vmul": "vmuls(tensor, number)",
    "vdiv": "vmuls(tensor, 1/number)",
    "vmax": "vmaxs(tensor, number)",
    "vmin": "vmins(tensor, number)",
}
_INTEGER_BITS = {"int16": 16, "uint16": 16}


def operand(function: str, value: Any) -> Any:
    """A tensor or a number as given; elements at fixed positions as a tensor without dimensions, which is the
    number that it will be. Raises E90001."""
    if isinstance(value, Tensor):
        return tensor_argument(function, value)
    if isinstance(value, Element) and not isinstance(value, Number):
        return scalar(value)
    operand_node(value)
    return value


def same_dtype(function: str, *values: Any) -> str:
    """The element type of all tensors given. Raises E90001."""
    types = list(dict.fromkeys(v.dtype for v in values if isinstance(v, Tensor)))
    if not types:
        raise DslError(DSL, f"{function} takes a tensor, and none is given")
    floats = [t for t in types if t in FLOATS]
    if len(types) > 1 and floats:
        kind = floats[0] if len(floats) == 1 else "float32"
        WARNINGS.add(f"{function} of {' and '.join(types)} is computed in {kind}: use cast_to")
        return str(kind)
    if len(types) > 1:
        raise DslError(DSL, f"{function} takes tensors of one type, not {' and '.join(types)}: use cast_to")
    return str(types[0])


def check_shapes(function: str, *values: Any) -> None:
    """The real DSL broadcasts only where broadcast() says so: noted."""
    shapes = {plain(v.shape) for v in values if isinstance(v, Tensor) and v.shape}
    if len(shapes) > 1:
        texts = " and ".join(str(list(s)) for s in sorted(shapes, key=len, reverse=True))
        WARNINGS.add(
            f"{function} of shapes {texts} is broadcast; the real DSL wants broadcast(tensor, shape) first"
        )


def floating(function: str, dtype: str) -> None:
    """Raises E80008 for integers."""
    if dtype not in FLOATS:
        raise DslError(DTYPE, f"{function} takes float16 or float32, not {dtype}: use cast_to")


def _two(name: str, op: str, floats_only: bool = False) -> Callable[[Any, Any], Tensor]:
    def combine(lhs: Any, rhs: Any) -> Tensor:
        a, b = operand(name, lhs), operand(name, rhs)
        dtype = same_dtype(name, a, b)
        if floats_only:
            floating(name, dtype)
        if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
            commutes = name in ("vadd", "vmul", "vmax", "vmin")
            proper = _WITH_NUMBER.get(name, "") if isinstance(a, Tensor) or commutes else ""
            use = proper or f"{name}(broadcast(number, shape), tensor)"
            WARNINGS.add(f"{name} takes two tensors, one is a number, which the real DSL refuses: use {use}")
        check_shapes(name, a, b)
        return elementwise(op, dtype, a, b)

    return _named(combine, name)


def _with_number(name: str, op: str, two: str) -> Callable[[Any, Any], Tensor]:
    def combine(raw_tensor: Any, scalar: Any) -> Tensor:
        a, b = operand(name, raw_tensor), operand(name, scalar)
        if (isinstance(b, Tensor) and b.shape) or not isinstance(a, Tensor):
            if not isinstance(a, Tensor) and isinstance(b, Tensor):
                use = f"{name}(tensor, number)"
            else:
                use = f"{two}(tensor, tensor)"
            WARNINGS.add(f"{name} takes a tensor and then a number, which the real DSL insists on: use {use}")
        dtype = same_dtype(name, a, b)
        check_shapes(name, a, b)
        return elementwise(op, dtype, a, b)

    return _named(combine, name)


def _one(name: str, op: str, floats_only: bool = True) -> Callable[..., Tensor]:
    def convert(raw_tensor: Any, impl_mode: str = "high_performance", **_ignored: object) -> Tensor:
        tensor = tensor_argument(name, raw_tensor)
        if floats_only:
            floating(name, tensor.dtype)
        return elementwise(op, tensor.dtype, tensor)

    return _named(convert, name)


def _named(function: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    function.__name__ = name
    return function


vadd, vsub, vmul = _two("vadd", "add"), _two("vsub", "sub"), _two("vmul", "mul")
vdiv = _two("vdiv", "div", floats_only=True)
vmax, vmin, vmod = _two("vmax", "max"), _two("vmin", "min"), _two("vmod", "mod")
vadds, vmuls = _with_number("vadds", "add", "vadd"), _with_number("vmuls", "mul", "vmul")
vsubs, vdivs = _with_number("vsubs", "sub", "vsub"), _with_number("vdivs", "div", "vdiv")
vmaxs, vmins = _with_number("vmaxs", "max", "vmax"), _with_number("vmins", "min", "vmin")
vexp, vlog, vsqrt, vrsqrt = (
    _one("vexp", "exp"),
    _one("vlog", "log"),
    _one("vsqrt", "sqrt"),
    _one("vrsqrt", "rsqrt"),
)
vabs = _one("vabs", "abs", floats_only=False)
vtanh = _one("vtanh", "tanh")
vsin, vcos = _one("vsin", "sin"), _one("vcos", "cos")
vsigmoid = _one("vsigmoid", "sigmoid")


def vrec(raw_tensor: Any, impl_mode: str = "high_performance", **_ignored: object) -> Tensor:
    """1 / x."""
    tensor = tensor_argument("vrec", raw_tensor)
    floating("vrec", tensor.dtype)
    return elementwise("div", tensor.dtype, 1.0, tensor)


def vrelu(raw_tensor: Any) -> Tensor:
    """max(x, 0)."""
    tensor = tensor_argument("vrelu", raw_tensor)
    return elementwise("max", tensor.dtype, tensor, 0.0)


def vlrelu(raw_tensor: Any, alpha: Any = 0) -> Tensor:
    """x where it is at least 0, alpha*x elsewhere."""
    tensor = tensor_argument("vlrelu", raw_tensor)
    slope = operand_node(operand("vlrelu", alpha))
    below = apply("mul", tensor.node, slope)
    node = apply("select", apply("ge", tensor.node, constant(0.0)), tensor.node, below)
    return Tensor(node, tensor.shape, tensor.dtype, tensor.actual)


def vaxpy(lhs: Any, rhs: Any, scalar: Any) -> Tensor:
    """scalar*lhs + rhs."""
    return vadd(vmuls(lhs, scalar), rhs)


def vmla(x: Any, y: Any, z: Any) -> Tensor:
    """x*y + z."""
    return vadd(vmul(x, y), z)


def vmadd(x: Any, y: Any, z: Any) -> Tensor:
    """x*z + y."""
    return vadd(vmul(x, z), y)


def vmaddrelu(x: Any, y: Any, z: Any) -> Tensor:
    """max(x*z + y, 0)."""
    return vrelu(vmadd(x, y, z))


def vaddrelu(lhs: Any, rhs: Any) -> Tensor:
    """max(lhs + rhs, 0)."""
    return vrelu(vadd(lhs, rhs))


def vsubrelu(lhs: Any, rhs: Any) -> Tensor:
    """max(lhs - rhs, 0)."""
    return vrelu(vsub(lhs, rhs))


def clip(data: Any, max_value: Any, min_value: Any) -> Tensor:
    """Between min and max; the larger limit comes first, as in the real DSL."""
    return vmins(vmaxs(data, min_value), max_value)


def round_to(data: Any, max_value: Any, min_value: Any) -> Tensor:
    """The old name of clip."""
    return clip(data, max_value, min_value)


# ---- bits of 16-bit integers, and truth values -----------------------------------------------------


def vnot(raw_tensor: Any) -> Tensor:
    """Every bit inverted."""
    tensor = tensor_argument("vnot", raw_tensor)
    if tensor.dtype == "bool":
        return elementwise("not", "bool", tensor)
    _bits("vnot", tensor.dtype)
    return elementwise("sub", tensor.dtype, -1 if tensor.dtype == "int16" else 65535, tensor)


def vand(lhs: Any, rhs: Any) -> Tensor:
    """Bits that both have."""
    a, b, dtype = _bit_operands("vand", lhs, rhs)
    if dtype == "bool":
        return elementwise("and", dtype, a, b)
    return _common_bits(a, b, dtype)


def vor(lhs: Any, rhs: Any) -> Tensor:
    """Bits that either has: a + b - (a and b)."""
    a, b, dtype = _bit_operands("vor", lhs, rhs)
    if dtype == "bool":
        return elementwise("or", dtype, a, b)
    return elementwise("sub", dtype, elementwise("add", dtype, a, b), _common_bits(a, b, dtype))


def _bit_operands(name: str, lhs: Any, rhs: Any) -> tuple[Tensor, Tensor, str]:
    a, b = tensor_argument(name, lhs), tensor_argument(name, rhs)
    dtype = same_dtype(name, a, b)
    check_shapes(name, a, b)
    if dtype != "bool":
        _bits(name, dtype)
    return a, b, dtype


def _bits(name: str, dtype: str) -> None:
    if dtype not in _INTEGER_BITS:
        raise DslError(DTYPE, f"{name} takes int16 or uint16, not {dtype}")


def _common_bits(a: Tensor, b: Tensor, dtype: str) -> Tensor:
    """The sum of 2^k over the bits that both have; the sign is the bit of -2^15."""
    total: Tensor | None = None
    for k in range(_INTEGER_BITS[dtype]):
        weight = 2**k if dtype == "uint16" or k < 15 else -(2**k)
        both = elementwise("mul", dtype, _bit(a, k), _bit(b, k))
        term = elementwise("mul", dtype, both, weight)
        total = term if total is None else elementwise("add", dtype, total, term)
    assert total is not None
    return total


def _bit(tensor: Tensor, k: int) -> Tensor:
    """0 or 1. A negative number's bits are those of its two's complement, as floor and mod have it."""
    shifted = Node("floordiv", (tensor.node, constant(2**k)))
    node = Node("mod", (shifted, constant(2)))
    return Tensor(node, tensor.shape, tensor.dtype, tensor.actual)
