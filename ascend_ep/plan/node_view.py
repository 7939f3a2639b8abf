"""What a lowering sees of the graph: one node, its attributes, and the values it reads and makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.dims import Dim

from .plan import TensorSource


class Unsupported(Exception):
    """This node can't run natively; the text is one sentence that says why."""


@dataclass(frozen=True, eq=False)
class Operand:
    """A value of the graph as a node sees it.

    `shape_value` holds the elements (row-major) of an int tensor whose elements are known as dims.
    """

    name: str
    dtype: int
    dims: tuple[Dim, ...]
    constant: NDArray[np.generic] | TensorSource | None = field(default=None, repr=False)
    shape_value: tuple[Dim, ...] | None = None

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def const(self) -> NDArray[Any] | None:
        """The elements when they are known at conversion, else None. Reads them from disk if need be."""
        if self.constant is None or isinstance(self.constant, np.ndarray):
            return self.constant
        return self.constant.numpy()


@dataclass(frozen=True, eq=False)
class NodeView:
    """One node: `version` is the opset in force for its domain; an absent operand is None.

    `opdef` is the definition that names the lowering; attributes that the node leaves out have its defaults.
    """

    op_type: str
    inputs: Sequence[Operand | None]
    outputs: Sequence[Operand | None]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    domain: str = ""
    version: int = 1
    name: str = ""
    opdef: OpDef | None = None

    def attr(self, name: str, default: Any = None) -> Any:
        """int, float, str, list of these, or an array for a tensor attribute; `default` when not given."""
        return self.attributes.get(name, default)

    def has_attr(self, name: str) -> bool:
        return name in self.attributes
