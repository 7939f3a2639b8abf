"""What every case is drawn with: sizes, tensors, and a model of one node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper
from saturation import unsaturated

Array = npt.NDArray[Any]
MICROSOFT = "com.microsoft"


class Draw:
    """Random numbers of one seed, as shapes and tensors."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.rng = np.random.default_rng(seed)

    def chance(self, share: float = 0.5) -> bool:
        return self.random.random() < share

    def one_of(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def size(self, *also: int) -> int:
        """Mostly small and odd; now and then 1, or what a block of vectors holds, and one more."""
        return int(self.random.choice((1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 33, *also)))

    def shape(self, least: int = 1, most: int = 3) -> list[int]:
        return [self.size() if self.chance(0.95) else 0 for _ in range(self.random.randint(least, most))]

    def floats(self, *shape: int, scale: float = 1.0, dtype: Any = np.float32) -> Array:
        return np.asarray(self.rng.standard_normal(shape) * scale).astype(dtype)

    def integers(self, low: int, high: int, *shape: int, dtype: Any = np.int32) -> Array:
        """From low to high, both among them."""
        return np.asarray(self.rng.integers(low, high, shape, endpoint=True)).astype(dtype)

    def bytes(self, dtype: Any, *shape: int) -> Array:
        limits = np.iinfo(dtype)
        return unsaturated(self.integers(limits.min, limits.max, *shape, dtype=dtype))

    def maybe(self, make: Any, share: float = 0.5) -> Any:
        """What `make` gives, or None."""
        return make() if self.chance(share) else None


@dataclass
class Case:
    """One node and what it is fed. An input is an array or None; those of `constant` are initializers."""

    op_type: str
    inputs: Sequence[Array | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    constant: frozenset[int] = frozenset()
    domain: str = MICROSOFT
    #: inputs whose only element is the first size of another input, as exporters write it
    sized: frozenset[int] = frozenset()
    #: which sizes the model leaves open: none; all but those of last axes; the same, with one name a size
    free: str = "none"
    #: the elements of a result that are specified; none: it isn't compared
    specified: dict[int, Array | None] = field(default_factory=dict)
    #: words of errors that are right, although onnxruntime runs it
    refusals: Sequence[str] = ()

    def __str__(self) -> str:
        given = ", ".join(self._told(i, x) for i, x in enumerate(self.inputs))
        named = ", ".join(f"{n}={v}" for n, v in self.attributes.items())
        return f"{self.op_type}({given}; {named}) -> {self.outputs}, sizes open: {self.free}"

    def _told(self, index: int, x: Array | None) -> str:
        if x is None:
            return "-"
        elements = f"={x.tolist()}" if x.dtype.kind in "iu" and 0 < x.size < 9 else ""
        return f"{x.dtype}{list(x.shape)}{elements}{' constant' if index in self.constant else ''}"

    @property
    def names(self) -> list[str]:
        return ["" if x is None else f"x{i}" for i, x in enumerate(self.inputs)]

    def feeds(self) -> dict[str, Array]:
        pairs = enumerate(zip(self.names, self.inputs, strict=True))
        given = {n: (i, x) for i, (n, x) in pairs if x is not None and i not in self.constant}
        return {
            n: np.zeros(int(x.reshape(-1)[0]), np.float32) if i in self.sized else x
            for n, (i, x) in given.items()
        }

    @staticmethod
    def _sizing(name: str, like: Array | None) -> list[onnx.NodeProto]:
        """The size of an input in the type and shape of `like`."""
        assert like is not None
        kind, rank = helper.np_dtype_to_tensor_dtype(like.dtype), like.ndim
        nodes = [helper.make_node("Shape", [name], [f"{name}.shape"])]
        if rank == 0:
            nodes.append(helper.make_node("ReduceMax", [f"{name}.shape"], [f"{name}.scalar"], keepdims=0))
        last = f"{name}.scalar" if rank == 0 else f"{name}.shape"
        return [*nodes, helper.make_node("Cast", [last], [f"{name}.size"], to=kind)]

    def _dim(self, name: str, axis: int, x: Array) -> int | str:
        size = x.shape[axis]
        if self.free == "none" or size < 2 or (axis == x.ndim - 1 and x.ndim > 1):
            return size
        return f"n{size}" if self.free == "shared" else f"{name}d{axis}"

    def model(self) -> onnx.ModelProto:
        """Outputs have any shape."""
        names = self.names
        while names and not names[-1]:
            names.pop()
        results = [f"y{i}" for i in range(self.outputs)]
        sized = {f"x{i}": f"x{i}.size" for i in self.sized}
        read = [sized.get(n, n) for n in names]
        node = helper.make_node(self.op_type, read, results, "node", domain=self.domain, **self.attributes)
        nodes = [n for i in self.sized for n in self._sizing(f"x{i}", self.inputs[i])] + [node]
        inputs = []
        for name, x in self.feeds().items():
            dims = [self._dim(name, i, x) for i in range(x.ndim)]
            kind = helper.np_dtype_to_tensor_dtype(x.dtype)
            inputs.append(helper.make_tensor_value_info(name, kind, dims))
        constants = [
            numpy_helper.from_array(x, f"x{i}")
            for i, x in enumerate(self.inputs)
            if i in self.constant and x is not None
        ]
        floats = self.inputs[0].dtype if self.inputs[0] is not None else np.dtype(np.float32)
        outputs = [helper.make_empty_tensor_value_info(n) for n in results]
        if len(results) > 3 and floats.kind == "f":
            outputs[3] = helper.make_tensor_value_info("y3", helper.np_dtype_to_tensor_dtype(floats), None)
        graph = helper.make_graph(nodes, "case", inputs, outputs, constants)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)
