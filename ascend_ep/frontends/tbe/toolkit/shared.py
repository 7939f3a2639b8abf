"""impl.util, impl.common_util, impl.constant_util: small computations and words that operators share."""

from __future__ import annotations

from typing import Any

from ascend_ep.frontends.tbe.toolkit.casts import cast
from ascend_ep.frontends.tbe.toolkit.elements import INTEGERS
from ascend_ep.frontends.tbe.toolkit.nodes import Node, apply, constant
from ascend_ep.frontends.tbe.toolkit.tensors import Tensor


def sign(tensor: Tensor) -> Tensor:
    """-1, 0 or 1."""
    return Tensor(Node("sign", (tensor.node,)), tensor.shape, tensor.dtype, tensor.actual)


def get_cof(axes: Any, shape: Any) -> Any:
    """The number of elements that a reduction over axes sums."""
    total = 1.0
    for axis in axes:
        total = shape[axis] * total
    return total


def square(tensor: Tensor) -> Tensor:
    """x * x."""
    return Tensor(apply("mul", tensor.node, tensor.node), tensor.shape, tensor.dtype, tensor.actual)


#: impl.constant_util and impl.common_util: numbers and words by name.
CONSTANTS: dict[str, Any] = {
    **{f"DATA_TYPE_{t.upper()}": t for t in INTEGERS},
    "DATA_TYPE_FP16": "float16", "DATA_TYPE_FP32": "float32", "DATA_SIZE_ONE": 1, "DATA_SIZE_TWO": 2,
    "DATA_SIZE_FOUR": 4, "DATA_SIZE_EIGHT": 8, "SIZE_SIXTEEN": 16, "C0_SIZE": 16, "BLOCK_SIZE": 32,
    "VECTOR_BYTE_SIZE": 256,
    "SHAPE_SIZE_LIMIT": 2**31 - 1, "MIN_FP32": 2**-126, "MIN_FP16": 2**-24, "STRIDE_ZERO": 0, "STRIDE_ONE": 1,
    "REPEAT_STRIDE_EIGHT": 8, "DEFAULT_NBURST": 1, "DEFAULT_BURST_LEN": 1, "SID": 0,
}  # fmt: skip


class Constants:
    """impl.common_util.constant: CONSTANTS as attributes."""

    def __getattr__(self, name: str) -> Any:
        if name not in CONSTANTS:
            raise AttributeError(name)
        return CONSTANTS[name]


class Parameter:
    """What gen_param gives to op_select_format."""

    def __init__(self, *_arguments: Any, **named: Any) -> None:
        self.named = named


def wrapped(tensor: Tensor, dtype: str) -> Tensor:
    """uint8_int8_overflow_proc: a whole number as the 8-bit one with its lowest bits."""
    node = tensor.node
    if dtype == "uint8":
        node = apply("mod", node, constant(256))
    elif dtype == "int8":
        shifted = apply("mod", apply("add", node, constant(128)), constant(256))
        node = apply("sub", shifted, constant(128))
    return cast(Tensor(node, tensor.shape, tensor.dtype, tensor.actual), dtype)


def to_eight_bits(tensor: Tensor, dtype: str) -> Tensor:
    """int_cast_to_b8: cast_to an 8-bit type of a whole number in its range."""
    return cast(tensor, dtype)


class OpAttr:
    """Where an attribute stands, its name and type, and its default."""

    def __init__(self, index: int, name: str, kind: str = "", default: Any = None) -> None:
        self.index, self.name, self.kind, self.default = index, name, kind, default


class _Attributes:
    """LayerNormAttrInfo and its like: a description of each attribute; the values are the operator's."""

    def __getattr__(self, name: str) -> OpAttr:
        if name.startswith("__"):
            raise AttributeError(name)
        return OpAttr(0, name.lower())


def attributes_of(name: str) -> _Attributes:
    """A class of attributes. Raises AttributeError for another name."""
    if not name.endswith("AttrInfo"):
        raise AttributeError(name)
    return _Attributes()


def byte_size(dtype: str) -> int:
    """get_data_size: of an element."""
    return max(1, int("".join(filter(str.isdigit, dtype)) or 8) // 8)


def attribute_by_class(value: Any, described: Any, dtype: Any = None) -> Any:
    """get_attr_by_cls: the value given, or the default; both are known here."""
    return described.default if value is None and isinstance(described, OpAttr) else value


def ceil(a: Any, b: Any) -> Any:
    """a / b, rounded up."""
    return (a + b - 1) // b


def align(a: Any, b: Any) -> Any:
    """The least multiple of b that isn't below a."""
    return ceil(a, b) * b


def shape_range(shape: Any) -> list[tuple[Any, Any]]:
    """gen_range: each size as a range of itself."""
    return [(n, n) for n in shape]
