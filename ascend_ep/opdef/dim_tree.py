"""Dimensions as trees of binary operations, which is how bundles hold them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from ascend_ep.opdef.dims import Atom, Dim, operands


@dataclass(frozen=True, slots=True)
class Node:
    """One node of an expression tree: `op` is const, symbol, add, sub, mul, floordiv, mod, max or min.

    `value` is the constant's value or the symbol's name; `args` are the two operands of the others.
    """

    op: str
    args: tuple[Node, ...] = ()
    value: int | str = 0


def tree(dim: Dim) -> Node:
    """`dim` as a tree of binary operations."""
    if isinstance(dim, int):
        return Node("const", value=dim)
    total: Node | None = None
    for monomial, coefficient in sorted(dim.terms, key=lambda t: t[1] < 0):
        size = abs(coefficient)
        factors = ([Node("const", value=size)] if size != 1 or not monomial else []) + [
            _atom_tree(a) for a in monomial
        ]
        term = reduce(lambda x, y: Node("mul", (x, y)), factors)
        if total is None:
            total = term if coefficient > 0 else Node("sub", (Node("const", value=0), term))
        else:
            total = Node("add" if coefficient > 0 else "sub", (total, term))
    assert total is not None
    return total


def _atom_tree(atom: Atom) -> Node:
    if atom.op == "symbol":
        return Node("symbol", value=str(atom.args[0]))
    return Node(atom.op, tuple(map(tree, operands(atom))))
