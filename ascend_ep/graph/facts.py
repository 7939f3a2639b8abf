"""What is known about every value of a model before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from ascend_ep.element_types import BOOL
from ascend_ep.graph.shape_constraints import Constraints
from ascend_ep.opdef.dims import Dim, DimExpr, symbols

#: the largest tensor of integers whose elements are tracked one by one
MAX_TRACKED = 1024

INT_TYPES = frozenset({2, 3, 4, 5, 6, 7, 12, 13})
TRACKED_TYPES = INT_TYPES | {BOOL}

Array = npt.NDArray[np.generic]


class Fact:
    """The type of a value, and its contents when they are known.

    `dtype`: ONNX element type; 0 when unknown or not a tensor. `dims`: None when the rank is unknown.
    `const`: the elements, for initializers and whatever follows from them (loaded when first asked for).
    `shape_value`: for integers and booleans (as 0 and 1), the elements in row-major order when all are known
    as Dims; those of a small constant too. `varies`: of an unknown rank that is another at other sizes or
    data, whatever the model declares.
    """

    __slots__ = ("_array", "_shape_value", "dims", "dtype", "tensor", "varies")

    def __init__(
        self,
        dtype: int = 0,
        dims: Sequence[Dim] | None = None,
        shape_value: Sequence[Dim] | None = None,
        tensor: ir.TensorProtocol | None = None,
        varies: bool = False,
    ) -> None:
        self.dtype = dtype
        self.varies = varies
        self.dims: tuple[Dim, ...] | None = None if dims is None else tuple(dims)
        self.tensor = tensor
        self._shape_value: tuple[Dim, ...] | None = None if shape_value is None else tuple(shape_value)
        self._array: Array | None = None

    @property
    def rank(self) -> int | None:
        return None if self.dims is None else len(self.dims)

    @property
    def static_dims(self) -> tuple[int, ...] | None:
        """The dims when all are numbers."""
        if self.dims is None:
            return None
        known = tuple(d for d in self.dims if isinstance(d, int))
        return known if len(known) == len(self.dims) else None

    @property
    def is_const(self) -> bool:
        """Whether `const` is known; loads nothing."""
        values = self._shape_value
        return self.tensor is not None or (
            values is not None and not any(isinstance(v, DimExpr) for v in values)
        )

    @property
    def const(self) -> Array | None:
        if self._array is None and self.is_const:
            if self.tensor is not None:
                self._array = self.tensor.numpy()
            else:
                shape = self.static_dims
                assert shape is not None
                dtype = ir.DataType(self.dtype).numpy()
                self._array = np.array(list(self._shape_value or ()), dtype=dtype).reshape(shape)
        return self._array

    @property
    def shape_value(self) -> tuple[Dim, ...] | None:
        trackable = (
            self.dtype in TRACKED_TYPES and self.tensor is not None and self.tensor.size <= MAX_TRACKED
        )
        if self._shape_value is None and trackable:
            array = self.const
            assert array is not None
            self._shape_value = tuple(int(v) for v in array.reshape(-1))
        return self._shape_value

    def __repr__(self) -> str:
        dims = "?" if self.dims is None else "[" + ",".join(map(str, self.dims)) + "]"
        value = "" if self._shape_value is None else " = {" + ",".join(map(str, self._shape_value)) + "}"
        name = ir.DataType(self.dtype).name if self.dtype else "?"
        return f"{name}{dims}{value or (' const' if self.tensor is not None else '')}"


UNKNOWN = Fact()


class Facts:
    """A Fact per value of a model; `input_symbols` are those that the shapes of the model's inputs give.

    A dim with any other symbol depends on the data. `constraints`: what inputs must satisfy; dims are written
    as these allow, those of inputs too.
    """

    def __init__(
        self, input_symbols: frozenset[str] = frozenset(), constraints: Constraints | None = None
    ) -> None:
        self.input_symbols = input_symbols
        self.constraints = constraints or Constraints()
        #: of inputs whose dims the constraints write in another way: as they are declared
        self.declared_dims: dict[ir.Value, tuple[Dim, ...]] = {}
        #: nodes whose inference raised what it shouldn't, and what that was
        self.setbacks: dict[ir.Node, str] = {}
        self._facts: dict[ir.Value, Fact] = {}

    def __getitem__(self, value: ir.Value) -> Fact:
        """The fact of `value`; an unknown one for a value never seen."""
        return self._facts.get(value, UNKNOWN)

    def __setitem__(self, value: ir.Value, fact: Fact) -> None:
        self._facts[value] = fact

    def __contains__(self, value: ir.Value) -> bool:
        return value in self._facts

    def __iter__(self) -> Iterator[ir.Value]:
        return iter(self._facts)

    def copy(self) -> Facts:
        """The same, to be changed without changing these."""
        made = Facts(self.input_symbols, self.constraints)
        made.declared_dims, made.setbacks = dict(self.declared_dims), dict(self.setbacks)
        made._facts = dict(self._facts)
        return made

    def boundary_dims(self, value: ir.Value) -> tuple[Dim, ...] | None:
        """The dims of `value`, with the names that an input declares."""
        return self.declared_dims.get(value, self[value].dims)

    def depends_on_data(self, value: ir.Value) -> bool:
        """Whether the shape of `value` can't be computed from those of the model's inputs."""
        dims = self[value].dims
        return dims is None or not symbols(dims) <= self.input_symbols
