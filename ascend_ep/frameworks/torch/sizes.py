"""PyTorch's symbolic sizes as dims of definitions, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.described import Operand, Output
from ascend_ep.opdef.dims import Dim, DimExpr, operands, substitute, symbol

Operands = tuple[Operand | None, ...]


class Sizes:
    """The sizes of one call's tensors: numbers, and a symbol for each different SymInt."""

    def __init__(self) -> None:
        self._torch: dict[str, Any] = {}  # SymInt of a symbol
        self._unknown: dict[Dim, Any] = {}  # what elements decide has one SymInt wherever it stands

    def dim(self, size: Any) -> Dim:
        """A size of a tensor as a dim."""
        import torch

        if not isinstance(size, torch.SymInt):
            return int(size)
        number = size.node.maybe_as_int()
        if number is not None:
            return int(number)
        name = f"torch[{size.node.expr}]"
        self._torch.setdefault(name, size)
        return symbol(name)

    def torch_shape(self, dims: Sequence[Dim]) -> list[Any]:
        """The dims as sizes of a tensor."""
        return [self._size(d) for d in dims]

    def solved(self, given: Operands, rule: Callable[[Operands], list[Output]]) -> list[Output]:
        """What the rule gives for the operands. Where it must know that two sizes are equal, as broadcasting
        must, and they are, a guard says so from then on; where it must know more, a guard fixes the sizes."""
        known = given
        try:
            while True:
                kinds = rule(known)
                equal = self._to_be_equal(kinds)
                if not equal:
                    return kinds
                known = _substituted(known, equal)
        except AscendError:
            fixed: dict[str, Dim] = {name: int(size) for name, size in self._torch.items()}
            if not fixed:
                raise
            return rule(_substituted(given, fixed))

    def _to_be_equal(self, kinds: Sequence[Output]) -> dict[str, Dim]:
        """A symbol that a result is the larger of with another dim of the same number, as that dim."""
        import torch

        for _, dims in kinds:
            for a, b in (pair for d in dims for pair in _extrema(d)):
                for one, other in ((a, b), (b, a)):
                    name = str(one)
                    if name in self._torch and self._known(other):
                        size = self._size(other)
                        torch._check(self._torch[name] == size)  # type: ignore[no-untyped-call]
                        return {name: other}
        return {}

    def _known(self, dim: Dim) -> bool:
        return isinstance(dim, int) or dim.symbols() <= self._torch.keys()

    def _size(self, dim: Dim) -> Any:
        import torch

        if isinstance(dim, int):
            return dim
        if dim.symbols() <= self._torch.keys():
            return self._evaluated(dim)
        if dim not in self._unknown:
            self._unknown[dim] = torch.library.get_ctx().new_dynamic_size()
        return self._unknown[dim]

    def _evaluated(self, dim: Dim) -> Any:
        import torch

        if isinstance(dim, int):
            return dim
        total: Any = 0
        for monomial, coefficient in dim.terms:
            term: Any = coefficient
            for atom in monomial:
                if atom.op == "symbol":
                    term = term * self._torch[str(atom.args[0])]
                    continue
                a, b = (self._evaluated(x) for x in operands(atom))
                match atom.op:
                    case "floordiv":
                        term = term * (a // b)
                    case "mod":
                        term = term * (a % b)
                    case "max":
                        term = term * torch.sym_max(a, b)  # type: ignore[no-untyped-call]
                    case _:
                        term = term * torch.sym_min(a, b)  # type: ignore[no-untyped-call]
            total = total + term
        return total


def _extrema(dim: Dim) -> list[tuple[Dim, Dim]]:
    """Operands of every max in a dim, innermost first."""
    found: list[tuple[Dim, Dim]] = []
    if isinstance(dim, DimExpr):
        for monomial, _ in dim.terms:
            for atom in monomial:
                if atom.op != "symbol":
                    a, b = operands(atom)
                    found += [*_extrema(a), *_extrema(b)]
                    found += [(a, b)] if atom.op == "max" else []
    return found


def _substituted(given: Operands, bindings: dict[str, Dim]) -> Operands:
    return tuple(
        None if o is None else replace(o, dims=tuple(substitute(d, bindings) for d in o.dims)) for o in given
    )
