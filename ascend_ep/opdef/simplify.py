"""Programs as graphs of values without duplicates, simplified while they are built.

Every rule keeps the shape and, but for these exceptions, every bit: x + 0 is x (the sign of a zero sum);
factors of a product join, so it is rounded less often; a known subexpression is rounded as float64.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from ascend_ep.opdef.expression import (
    Apply,
    AttributeRef,
    Constant,
    Expression,
    Given,
    Input,
    Local,
    Program,
    children,
    with_children,
)
from ascend_ep.opdef.specialize import folded

#: What needs no name of its own.
LEAVES = (Constant, Input, Local, AttributeRef, Given)
_MAX_HEIGHT = 60
_ZERO, _ONE = Constant(0.0), Constant(1.0)


def simplify(program: Program, taken: Collection[str] = ()) -> Program:
    """The same program, simplified. `taken`: names that new intermediate values must not have."""
    values = Values()
    return values.program(values.include(program), taken)


class Values:
    """Each distinct operation once, over leaves: `definitions` maps names to them, operands first."""

    def __init__(self) -> None:
        self.definitions: dict[str, Expression] = {}
        self._named: dict[Expression, Local] = {}

    def include(self, program: Program) -> dict[str, Expression]:
        """The leaves that the outputs of a program are."""
        names: dict[str, Expression] = {}
        for name, value in program.lets:
            names[name] = self.add(value, names)
        return {name: self.add(value, names) for name, value in program.outputs}

    def add(self, tree: Expression, names: Mapping[str, Expression] | None = None) -> Expression:
        """The leaf that stands for a tree; `names`: what its Locals mean, by default values of this graph."""
        if isinstance(tree, Local) and names is not None:
            return names[tree.name]
        if isinstance(tree, LEAVES):
            return tree
        node = self._rewritten(with_children(tree, [self.add(c, names) for c in children(tree)]))
        if isinstance(node, LEAVES):
            return node
        if node not in self._named:
            self._named[node] = Local(f"v{len(self.definitions)}")
            self.definitions[self._named[node].name] = node
        return self._named[node]

    def apply(self, op: str, *args: Expression | float) -> Expression:
        """The leaf of an elementwise operation on leaves and numbers."""
        return self.add(Apply(op, tuple(Constant(a) if isinstance(a, int | float) else a for a in args)))

    def meaning(self, leaf: Expression) -> Expression:
        """The operation a leaf stands for; itself if none."""
        return self.definitions[leaf.name] if isinstance(leaf, Local) else leaf

    # ---- rules ---------------------------------------------------------------------------------

    def _rewritten(self, node: Expression) -> Expression:
        if not isinstance(node, Apply):
            return node
        if all(isinstance(a, Constant) for a in node.args):
            return folded(node.op, [a.value for a in node.args if isinstance(a, Constant)])
        rule = {"neg": self._neg, "add": self._add, "sub": self._sub, "mul": self._mul, "div": self._div}
        if node.op in rule:
            return rule[node.op](node)
        if node.op == "pow" and node.args[1] == _ONE:
            return node.args[0]
        if node.op == "select" and isinstance(node.args[0], Constant):
            return node.args[1] if node.args[0].value else node.args[2]
        return node

    def _opposite(self, leaf: Expression) -> Expression | None:
        """x, when the leaf is -x."""
        meaning = self.meaning(leaf)
        return meaning.args[0] if isinstance(meaning, Apply) and meaning.op == "neg" else None

    def _neg(self, node: Apply) -> Expression:
        return self._opposite(node.args[0]) or node

    def _add(self, node: Apply) -> Expression:
        a, b = node.args
        if _ZERO in (a, b):
            return b if a == _ZERO else a
        if (positive := self._opposite(b)) is not None:
            return self._rewritten(Apply("sub", (a, positive)))
        if (positive := self._opposite(a)) is not None:
            return self._rewritten(Apply("sub", (b, positive)))
        return node

    def _sub(self, node: Apply) -> Expression:
        a, b = node.args
        if b == _ZERO:
            return a
        positive = self._opposite(b)
        return node if positive is None else self._rewritten(Apply("add", (a, positive)))

    def _mul(self, node: Apply) -> Expression:
        a, b = node.args if not isinstance(node.args[1], Constant) else node.args[::-1]
        if a == _ONE:
            return b
        if a == Constant(-1.0):
            return self._rewritten(Apply("neg", (b,)))
        for x, y in ((a, b), (b, a)):
            if (positive := self._opposite(x)) is not None:
                return self._rewritten(Apply("neg", (self.apply("mul", positive, y),)))
        inner = self.meaning(b)
        if isinstance(a, Constant) and isinstance(inner, Apply) and inner.op == "mul":
            factor, rest = inner.args
            if isinstance(factor, Constant):
                return self._rewritten(Apply("mul", (folded("mul", [a.value, factor.value]), rest)))
        return Apply("mul", (a, b))

    def _div(self, node: Apply) -> Expression:
        a, b = node.args
        if b == _ONE:
            return a
        if (positive := self._opposite(a)) is not None:
            return self._rewritten(Apply("neg", (self.apply("div", positive, b),)))
        return node

    # ---- back to a program ---------------------------------------------------------------------

    def program(self, outputs: Mapping[str, Expression], taken: Collection[str] = ()) -> Program:
        """The outputs as trees; what is used more than once has a name of its own."""
        needed = self._needed(outputs.values())
        uses = Counter(c for name in needed for c in children(self.definitions[name]))
        uses.update(outputs.values())
        trees: dict[str, Expression] = {}
        heights: dict[str, int] = {}
        lets: list[tuple[str, Expression]] = []
        reserved = {*taken, *outputs}
        for name in needed:
            operands = children(self.definitions[name])
            tree = with_children(self.definitions[name], [_tree(c, trees) for c in operands])
            height = 1 + max((heights[c.name] for c in operands if isinstance(c, Local)), default=0)
            if uses[Local(name)] > 1 or height >= _MAX_HEIGHT:
                free = next(n for n in (f"t{i}" for i in range(len(lets), 10**6)) if n not in reserved)
                reserved.add(free)
                lets.append((free, tree))
                tree, height = Local(free), 0
            trees[name], heights[name] = tree, height
        return Program(tuple(lets), tuple((name, _tree(leaf, trees)) for name, leaf in outputs.items()))

    def _needed(self, roots: Collection[Expression]) -> list[str]:
        """The names the roots need, in the order of definition."""
        found: set[str] = set()
        stack = [leaf for leaf in roots if isinstance(leaf, Local)]
        while stack:
            leaf = stack.pop()
            if leaf.name not in found:
                found.add(leaf.name)
                stack += [c for c in children(self.definitions[leaf.name]) if isinstance(c, Local)]
        return [name for name in self.definitions if name in found]


def _tree(leaf: Expression, trees: Mapping[str, Expression]) -> Expression:
    return trees[leaf.name] if isinstance(leaf, Local) else leaf
