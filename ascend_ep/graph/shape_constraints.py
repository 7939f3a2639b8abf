"""What the dims of a model's inputs must satisfy for its nodes to work, found while shapes are inferred.

Exporters give each axis of each input a name; which of them depend on each other only the nodes tell: a
product of scores and values needs as many of the one as of the other, a sum equal sizes or 1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import product

import onnx_ir as ir

from ascend_ep.graph.naming import label
from ascend_ep.opdef.constraints import Constraint, OrOne, solved
from ascend_ep.opdef.dims import Dim, DimTooComplex, common_factors_removed, substitute, symbol, symbols

#: Constraints that are kept: more say nothing new.
MOST = 256
#: Facts of each kind that an inference may record; conclusions take time that grows with their number.
MOST_SEEN = 4096
#: Characters of a constraint that a message could show; what is longer, kernels find out.
LONGEST = 160


class Constraints:
    """What is known so far; grows from one inference to the next over the same model.

    `same`: what a symbol always is, in terms of others. `into`: pairs of which the first is the second or 1.
    Conclusions follow facts by loops over what was not looked at before, as facts may point at each other in
    circles. What becomes too complex to be written down isn't concluded.
    """

    def __init__(self) -> None:
        self.same: dict[str, Dim] = {}
        self.into: set[tuple[Dim, Dim]] = set()
        self.recording = False
        self.setback = ""  # what made it give up
        #: whether something was concluded from what the model declares of others than its inputs
        self.by_declaration = False
        self._found: dict[tuple[Dim, Dim, OrOne], str] = {}
        self._equal: dict[tuple[Dim, Dim], str] = {}
        self._beside: dict[tuple[Dim, Dim], tuple[Dim, str]] = {}
        self._made: dict[Dim, list[tuple[Dim, Dim]]] = {}  # the pairs of _beside, by what they make
        self._quotients: dict[Dim, tuple[Dim, Dim]] = {}

    def give_up(self, reason: str) -> None:
        """Forgets everything, and learns nothing any more."""
        self.__init__()  # type: ignore[misc]
        self.setback = reason

    def canonical(self, dims: Sequence[Dim]) -> tuple[Dim, ...]:
        """The dims with every symbol that is something else replaced by it."""
        return tuple(map(self._canonical, dims)) if self.same else tuple(dims)

    def _canonical(self, dim: Dim) -> Dim:
        try:
            return substitute(dim, self.same)
        except (DimTooComplex, ZeroDivisionError):
            return dim

    def broadcasts(self, a: Dim, b: Dim) -> bool:
        """Whether `a` is known to be `b` or 1."""
        return a in (1, b) or (a, b) in self.into

    def see_equal(self, a: Dim, b: Dim, node: ir.Node) -> None:
        """A node needs both to be the same size."""
        if self.recording and len(self._equal) < MOST_SEEN:
            self._equal.setdefault((a, b), label(node))

    def see_declared(self, made: Dim, declared: Dim, node: ir.Node) -> None:
        """What broadcasting made is declared to be one of the sizes that it was made of."""
        if made != declared and self._operands_beside(made, declared):
            self.by_declaration = True
            self.see_equal(made, declared, node)

    def see_broadcast(self, a: Dim, b: Dim, result: Dim, node: ir.Node) -> None:
        """A node needs both to be the same size, or one to be 1."""
        if self.recording and (a, b) not in self._beside and len(self._beside) < MOST_SEEN:
            self._beside[(a, b)] = result, label(node)
            self._made.setdefault(result, []).append((a, b))

    def see_quotient(self, quotient: Dim, total: Dim, rest: Dim) -> None:
        """A node divides `total` by `rest` and fails where something is left."""
        if self.recording and not isinstance(quotient, int) and len(self._quotients) < MOST_SEEN:
            self._quotients.setdefault(quotient, (total, rest))

    def can_say(self, a: Dim, b: Dim, order: Collection[str]) -> bool:
        """Whether that both are equal would be `found`, once it is seen."""
        readable = len(str(a)) + len(str(b)) <= LONGEST
        return not self.setback and readable and len(self._found) < MOST and symbols([a, b]) <= set(order)

    def learn(self, order: Mapping[str, int]) -> bool:
        """Draws conclusions from what an inference saw; whether they make another one worth while.

        `order`: the symbols of the inputs, as these declare them. What depends on others isn't concluded on.
        """
        if self.setback:
            return False
        before = len(self.same), len(self.into)
        for (a, b), node in self._equal.items():
            if len(self._found) < MOST and symbols([a, b]) <= order.keys():
                left, right = self.canonical([a, b])
                self._conclude(left, right, node, order)
        for (a, b), (_, node) in self._beside.items():
            for one, other in ((a, b), (b, a)):
                if isinstance(other, int) and symbols([one]) <= order.keys() and len(self._found) < MOST:
                    self._is_into(one, other, node)
        changed = before != (len(self.same), len(self.into))
        if changed:
            self.into = {(x, y) for a, b in self.into for x, y in (self.canonical([a, b]),) if x != y}
            self._equal.clear()
            self._beside.clear()
            self._made.clear()
            self._quotients.clear()
        return changed

    def found(self) -> list[Constraint]:
        """What inputs must satisfy, but what nobody could read; `text` names the node that asks for it."""
        found = [
            Constraint(a, b, or_one, node)
            for (a, b, or_one), node in self._found.items()
            if str(a) in self.same or len(str(a)) + len(str(b)) <= LONGEST
        ]
        return found + self._either_one()[: max(0, MOST - len(found))]

    def _either_one(self) -> list[Constraint]:
        """What broadcasting asks of sizes of which either may be 1, pair by pair."""
        pairs: dict[tuple[Dim, Dim], str] = {}
        for (a, b), (_, node) in self._beside.items():
            if len(pairs) >= MOST:
                break
            for pair in product(self._broadcast_from(a), self._broadcast_from(b)):
                one, other = sorted(pair, key=str)
                numbers = isinstance(one, int) or isinstance(other, int)  # those are known otherwise
                if one != other and not numbers and len(str(one)) + len(str(other)) <= LONGEST:
                    pairs.setdefault((one, other), node)
        return [Constraint(a, b, OrOne.EITHER, node) for (a, b), node in pairs.items()]

    def _broadcast_from(self, dim: Dim) -> list[Dim]:
        """The sizes that broadcasting made this one of, or only itself."""
        found: list[Dim] = []
        pending, seen = [dim], {dim}
        while pending:
            result = pending.pop()
            made = [pair for pair in self._made.get(result, ()) if result not in pair][:1]
            if not made:
                found.append(result)
            for operand in reversed([d for pair in made for d in pair if d not in seen]):
                seen.add(operand)
                pending.append(operand)
        return found

    def _conclude(self, a: Dim, b: Dim, node: str, order: Mapping[str, int]) -> None:
        """What follows from `a` being `b`."""
        divided: set[tuple[Dim, Dim]] = set()
        while a != b and not (isinstance(a, int) and isinstance(b, int)):
            for result, other in ((a, b), (b, a)):
                for one in self._operands_beside(result, other)[:1]:
                    self._is_into(one, other, node)
                    return
            quotient = next(((x, y) for x, y in ((a, b), (b, a)) if x in self._quotients), None)
            if quotient is None or quotient in divided:
                self._solve(a, b, node, order)
                return
            divided.add(quotient)
            total, rest = self._quotients[quotient[0]]
            try:
                a, b = shared_factors_removed(total, rest * quotient[1])
            except DimTooComplex:
                self._solve(a, b, node, order)
                return

    def _solve(self, a: Dim, b: Dim, node: str, order: Mapping[str, int]) -> None:
        """Replaces the symbol of the last input that equality of the two settles."""
        for name in sorted(symbols([a, b]) & order.keys(), key=order.__getitem__, reverse=True):
            try:
                value = solved(a, b, name)
                if value is None or not _is_size(value):
                    continue
                same = {n: substitute(d, {name: value}) for n, d in self.same.items()}
            except (DimTooComplex, ZeroDivisionError):
                continue
            self._found[(symbol(name), value, OrOne.NONE)] = node
            self.same = same | {name: value}
            return
        self._found.setdefault((a, b, OrOne.NONE), node)

    def _operands_beside(self, result: Dim, one: Dim) -> list[Dim]:
        """What was broadcast with `one` to `result`."""
        return [b if one == a else a for a, b in self._made.get(result, ()) if one in (a, b)]

    def _is_into(self, a: Dim, b: Dim, node: str) -> None:
        """`a`, and what it was broadcast from beside `b`, is `b` or 1."""
        pending = [a]
        while pending:
            one = pending.pop()
            if isinstance(one, int) or one == b or (one, b) in self.into:
                continue
            self.into.add((one, b))
            inner = self._operands_beside(one, b)
            pending += reversed(inner)
            if not inner:
                self._found.setdefault((one, b, OrOne.LEFT), node)


def _is_size(dim: Dim) -> bool:
    """Whether it is no difference, which could be negative."""
    return dim >= 0 if isinstance(dim, int) else all(c > 0 for _, c in dim.terms)


def shared_factors_removed(a: Dim, b: Dim) -> tuple[Dim, Dim]:
    """Both without the numbers and dims that are factors of each, for products that are equal."""
    try:
        return common_factors_removed(a, b)
    except DimTooComplex:
        return a, b
