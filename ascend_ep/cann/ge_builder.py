"""Putting together the ONNX nodes that one operator of the real tool's graph engine means."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ascend_ep.errors import AscendError, did_you_mean

from .single_op import OpDesc, TensorDesc


class Builder:
    """ONNX nodes for one operator. Its inputs are named x0, x1, ...; absent ones are "".

    Attributes are taken one by one; those that nobody takes are an error.
    """

    def __init__(self, desc: OpDesc, where: str) -> None:
        self.desc, self._where = desc, where
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.inputs = ["" if t is None else f"x{i}" for i, t in enumerate(desc.inputs)]
        self._taken: set[str] = set()
        self._values = 0

    def attr(self, name: str, default: Any = None, *, also: str = "") -> Any:
        """The attribute of this name (`also`: of this older name)."""
        self._taken |= {name, also}
        given = self.desc.attributes
        return given[name] if name in given else given.get(also, default)

    def check_taken(self) -> None:
        """Raises E10030 for an attribute that the operator doesn't have."""
        for name in self.desc.attributes:
            if name not in self._taken:
                have = sorted(self._taken - {""})
                reason = f"the operator has no such attribute; it has {', '.join(have) or 'none'}."
                raise self.wrong(name, reason + did_you_mean(name, have))

    def wrong(self, attribute: str, reason: str) -> AscendError:
        return AscendError("E10030", attribute, self.desc.op, where=self._where, details=[reason])

    def tensor(self, index: int) -> TensorDesc:
        """The input of this position, which must be there."""
        found = self.desc.inputs[index] if index < len(self.desc.inputs) else None
        if found is None:
            reason = f"input {index} is required"
            raise AscendError(
                "E10027", "type", "input", index, self.desc.op, where=self._where, details=[reason]
            )
        return found

    def input(self, index: int) -> str:
        """The name of an input that must be there."""
        self.tensor(index)
        return self.inputs[index]

    def given(self, index: int) -> str:
        """The name of an optional input, or ""."""
        return self.inputs[index] if index < len(self.inputs) else ""

    def rank(self, index: int = 0) -> int:
        return len(self.tensor(index).shape)

    def ints(self, index: int, attribute: str, also: str = "") -> list[int]:
        """Integers that come as a constant input or, in older operators, as an attribute."""
        value = self.attr(attribute, also=also)
        if value is not None:
            return [value] if isinstance(value, int) else list(value)
        tensor = self.tensor(index)
        if tensor.value is None:
            reason = f"input {index} must be constant: is_const and const_value"
            raise AscendError(
                "E10027", "is_const", "input", index, self.desc.op, where=self._where, details=[reason]
            )
        return [int(n) for n in tensor.value.reshape(-1)]

    def add(self, op_type: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: Any) -> str:
        """A node; the name of its first result, r<n>; the others are r<n>_1, ..."""
        name = f"r{self._values}"
        self._values += 1
        names = [name, *(f"{name}_{i}" for i in range(1, outputs))]
        given = [*inputs]
        while given and not given[-1]:
            given.pop()
        kept = {k: v for k, v in attributes.items() if v is not None}
        self.nodes.append(helper.make_node(op_type, given, names, domain=domain, **kept))
        return name

    def constant(self, array: Any) -> str:
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name
