"""What records of a plan refer to by number: strings, expressions of dims, runs of indices and of floats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ascend_ep.graph.proto_checks import Limits
from ascend_ep.opdef.dim_tree import Node, tree
from ascend_ep.opdef.dims import Dim
from ascend_ep.runtime._rt import lib

_DIM_OPS = {
    "add": lib.ASC_DIM_ADD,
    "sub": lib.ASC_DIM_SUB,
    "mul": lib.ASC_DIM_MUL,
    "floordiv": lib.ASC_DIM_FLOORDIV,
    "mod": lib.ASC_DIM_MOD,
    "max": lib.ASC_DIM_MAX,
    "min": lib.ASC_DIM_MIN,
}


class Pools:
    """One copy of equal strings, dims and index runs. `symbols`: the names of free dimensions, in order."""

    def __init__(self, symbols: Iterable[str]) -> None:
        self.strings = bytearray(b"\0")
        self.dims: list[tuple[int, int, int, int]] = []  # op, a, b, value
        self.indices: list[int] = []
        self.floats: list[float] = []
        self._string_at: dict[str, int] = {"": 0}
        self._dim_at: dict[tuple[int, int, int, int], int] = {}
        self._dim_of: dict[Dim, int] = {}
        self._run_at: dict[tuple[int, ...], int] = {}
        self._symbol_at = {name: i for i, name in enumerate(symbols)}

    def string(self, text: str) -> int:
        found = self._string_at.get(text)
        if found is None:
            found = self._string_at[text] = len(self.strings)
            # Names of the model are no longer; what was joined of several is for readers, and cut.
            shown = text.replace("\0", "\ufffd").encode("utf-8", "replace")[: Limits.name_length]
            self.strings += shown.decode("utf-8", "ignore").encode() + b"\0"
        return found

    def dim(self, dim: Dim) -> int:
        found = self._dim_of.get(dim)
        if found is None:
            found = self._dim_of[dim] = self._node(tree(dim))
        return found

    def _node(self, node: Node) -> int:
        if node.op == "const":
            record = (lib.ASC_DIM_CONST, 0, 0, int(node.value))
        elif node.op == "symbol":
            record = (lib.ASC_DIM_SYMBOL, self._symbol_at[str(node.value)], 0, 0)
        else:
            a, b = (self._node(arg) for arg in node.args)
            record = (_DIM_OPS[node.op], a, b, 0)
        found = self._dim_at.get(record)
        if found is None:
            found = self._dim_at[record] = len(self.dims)
            self.dims.append(record)
        return found

    def run(self, numbers: Sequence[int]) -> int:
        """Where these numbers stand in INDICES; equal runs are stored once."""
        key = tuple(numbers)
        found = self._run_at.get(key)
        if found is None:
            found = self._run_at[key] = len(self.indices)
            self.indices += key
        return found

    def dim_run(self, dims: Sequence[Dim]) -> int:
        return self.run([self.dim(d) for d in dims])

    def float_run(self, floats: Sequence[float]) -> int:
        first = len(self.floats)
        self.floats += floats
        return first
