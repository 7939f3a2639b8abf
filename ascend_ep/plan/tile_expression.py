"""The expressions that elementwise instructions hold, one for each output.

They are those of formulas (opdef/expression.py), of these nodes: Apply, of a primitive of the kernel; Cast;
Number; Position; and Input, which names a place among the instruction's inputs. Operands of a primitive are
of one type, as its result is, but for comparisons. Equal parts are one node: `reachable` goes over a graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

from ascend_ep.opdef.dims import symbols
from ascend_ep.opdef.dtypes import BOOL, INT64
from ascend_ep.opdef.expression import Apply, Cast, Expression, Input, Local, Number, Program
from ascend_ep.opdef.expression_text import program_text

from .tile_value import COMPARISONS, computed_dtype


@cache
def load(place: int) -> Input:
    """The elements of the input at this place, broadcast to the output's shape."""
    return Input(f"x{place}")


def place(node: Input) -> int:
    """Which input it is."""
    return int(node.name[1:])


def operands(node: Expression) -> tuple[Expression, ...]:
    if isinstance(node, Apply):
        return node.args
    return (node.arg,) if isinstance(node, Cast) else ()


def with_operands(node: Expression, given: tuple[Expression, ...]) -> Expression:
    """The node over other operands; itself when they are those that it has."""
    if all(a is b for a, b in zip(given, operands(node), strict=True)):
        return node
    return Cast(node.dtype, given[0]) if isinstance(node, Cast) else Apply(_op(node), given)


def _op(node: Expression) -> str:
    assert isinstance(node, Apply), "nothing else has operands"
    return node.op


def reachable(roots: Sequence[Expression]) -> list[Expression]:
    """Every node of a graph once: numbers first, then operands before what uses them."""
    seen: dict[int, Expression] = {}
    stack: list[tuple[Expression, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if id(node) in seen:
            continue
        given = () if ready else operands(node)
        if given:
            stack.append((node, True))
            stack += [(a, False) for a in reversed(given) if id(a) not in seen]
        else:
            seen[id(node)] = node
    numbers = [n for n in seen.values() if isinstance(n, Number)]
    return [*numbers, *(n for n in seen.values() if not isinstance(n, Number))]


def types_of(order: Sequence[Expression], inputs: Sequence[int]) -> dict[int, int]:
    """The type that each node of `reachable` is computed in, by id; `inputs` are the types in memory."""
    found: dict[int, int] = {}
    for node in order:
        if isinstance(node, Apply):
            found[id(node)] = BOOL if node.op in COMPARISONS else found[id(node.args[-1])]
        elif isinstance(node, Input):
            found[id(node)] = computed_dtype(inputs[place(node)])
        elif isinstance(node, Cast):
            found[id(node)] = computed_dtype(node.dtype)
        else:
            found[id(node)] = node.dtype if isinstance(node, Number) else INT64
    return found


def replaced(roots: Sequence[Expression], inputs: Mapping[int, Expression]) -> tuple[Expression, ...]:
    """The expressions with others in the places of these inputs."""
    made: dict[int, Expression] = {}
    for node in reachable(roots):
        if isinstance(node, Input):
            made[id(node)] = inputs.get(place(node), node)
        else:
            made[id(node)] = with_operands(node, tuple(made[id(a)] for a in operands(node)))
    return tuple(made[id(root)] for root in roots)


def places(roots: Sequence[Expression]) -> list[int]:
    """The inputs that they read, in order."""
    return [place(node) for node in reachable(roots) if isinstance(node, Input)]


def size_symbols(roots: Sequence[Expression]) -> frozenset[str]:
    """The symbols that their numbers depend on."""
    numbers = (n.value for n in reachable(roots) if isinstance(n, Number))
    return symbols([n for n in numbers if not isinstance(n, float)])


def expressions_text(roots: Sequence[Expression]) -> str:
    """The expressions as formulas in one line; what is used more than once has a name."""
    order = reachable(roots)
    uses = Counter(id(a) for node in order for a in operands(node))
    trees: dict[int, Expression] = {}
    lets: list[tuple[str, Expression]] = []
    for node in order:
        tree = with_operands(node, tuple(trees[id(a)] for a in operands(node)))
        if uses[id(node)] > 1 and operands(node):
            lets.append((f"t{len(lets)}", tree))
            tree = Local(lets[-1][0])
        trees[id(node)] = tree
    outputs = tuple((f"y{i}", trees[id(root)]) for i, root in enumerate(roots))
    return program_text(Program(tuple(lets), outputs)).replace("\n", "; ")
