"""What attributes and the presence of optional inputs decide in a program, before any tensor is there."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_ep.opdef.expression import (
    Apply,
    AttributeRef,
    Constant,
    Expression,
    Given,
    Local,
    Program,
    children,
    walk,
    with_children,
)
from ascend_ep.opdef.specialize import used_lets


def with_decisions_in_place(program: Program) -> Program:
    """The program without names for what attributes and optional inputs decide."""
    decided: dict[str, Expression] = {}

    def placed(node: Expression) -> Expression:
        if isinstance(node, Local):
            return decided.get(node.name, node)
        return with_children(node, [placed(c) for c in children(node)])

    lets = []
    for name, value in program.lets:
        value = placed(value)
        if is_decided(value):
            decided[name] = value
        else:
            lets.append((name, value))
    return Program(tuple(lets), tuple((name, placed(value)) for name, value in program.outputs))


def is_decided(tree: Expression) -> bool:
    """Whether a value is known once the attributes and the optional inputs that are given are."""
    leaves = [n for n in walk(tree) if not children(n)]
    return all(isinstance(n, AttributeRef | Given | Constant) for n in leaves)


def conditions(program: Program) -> Iterator[Expression]:
    """Conditions of selections that are known once the attributes are."""
    for node in program.expressions():
        if isinstance(node, Apply) and node.op == "select" and is_decided(node.args[0]):
            yield node.args[0]


def assumed(program: Program, condition: Expression, truth: bool) -> Program:
    """The program where a condition is known."""

    def known(node: Expression) -> Expression:
        if isinstance(node, Apply) and node.op == "select" and node.args[0] == condition:
            return known(node.args[1 if truth else 2])
        return with_children(node, [known(c) for c in children(node)])

    lets = [(name, known(value)) for name, value in program.lets]
    outputs = [(name, known(value)) for name, value in program.outputs]
    return Program(used_lets(lets, outputs), tuple(outputs))
