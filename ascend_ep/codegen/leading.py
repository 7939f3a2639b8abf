"""leading_form: how code that is compiled for one shape serves tensors of any number of dimensions.

A formula that is elementwise, or along the last axes, does the same for every index of the dimensions before
those: the leading dimensions. They are broadcast as usual. Neighbours that the same inputs have are one
loop, a group; code is generated for the groups of the shape built for, and formula_abi.h brings each call to
that form. Whether a formula is such is seen from its graph, built at several ranks with a name for each
leading dimension.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ascend_ep.opdef.expression import Program

from .builder import build_graph
from .graph import Axes, Graph, InputType, NotGenerated, reachable

#: Dimensions of a tensor (ASC_MAX_RANK).
MOST_DIMS = 8


@dataclass(frozen=True)
class Form:
    """What tensors generated code takes. inputs: the types it was built for, None for those that are absent.

    own: per input, how many of its last dimensions the formula tells apart; all where groups is empty, and
    then ranks are as built. groups: outermost first, the inputs that have each group's dimensions; one of
    them has all that any has. spreads: these dimensions broadcast; otherwise they are equal. exact: inputs
    that have no dimensions but their own; others without groups may have some of 1.
    """

    inputs: tuple[InputType | None, ...]
    own: tuple[int, ...]
    groups: tuple[frozenset[int], ...] = ()
    spreads: bool = True
    exact: frozenset[int] = frozenset()

    @property
    def leading(self) -> frozenset[int]:
        """The inputs that may have leading dimensions longer than 1."""
        return frozenset[int]().union(*self.groups)

    @property
    def full(self) -> int:
        """The group that all of these have."""
        return self.groups.index(self.leading)

    def types(self) -> list[InputType | None]:
        """The inputs as code is generated for them: groups, then each input's own dimensions."""
        return [
            None if t is None else replace(t, dims=(*self._groups_of(i), *self._own_dims(i)))
            for i, t in enumerate(self.inputs)
        ]

    def _groups_of(self, i: int) -> Iterator[str]:
        if i in self.leading:
            yield from (f"g{k}" if i in group else "1" for k, group in enumerate(self.groups))

    def _own_dims(self, i: int) -> tuple[str, ...]:
        given = self.inputs[i]
        assert given is not None, "it is there"
        return given.dims[len(given.dims) - self.own[i] :]

    def at_rank(self, leading: int, other: int = -1, its: tuple[str, ...] = ()) -> list[InputType | None]:
        """The inputs with so many leading dimensions, each of a name of its own; input `other` has `its`."""
        names = tuple(_name(k) for k in range(leading))
        leads = [names if i in self.leading else () for i in range(len(self.inputs))]
        return [
            None if t is None else replace(t, dims=(*(its if i == other else leads[i]), *self._own_dims(i)))
            for i, t in enumerate(self.inputs)
        ]


def leading_form(
    program: Program,
    names: Sequence[str],
    inputs: Sequence[InputType | None],
    output_types: Sequence[int],
) -> Form:
    """The form with the fewest own dimensions that the formula allows; `inputs` have numbers for dims, "1"
    broadcasts. With the ranks of `inputs` where it allows none."""
    given = {i: t.dims for i, t in enumerate(inputs) if t is not None}
    rank = max(map(len, given.values()), default=0)
    for last in range(rank + 1):
        own = tuple(min(last, len(given.get(i, ()))) for i in range(len(inputs)))
        groups = _groups({i: dims[: len(dims) - own[i]] for i, dims in given.items()})
        if groups is None or len(groups) + last > MOST_DIMS:
            continue
        if not any(groups):
            groups = [frozenset(i for i, dims in given.items() if len(dims) == rank)]
        form = Form(tuple(inputs), own, tuple(groups))
        reader = _Reader(form, program, names, output_types)
        if given and reader.is_map(rank + 2) and (found := reader.with_limits()):
            return found
    return Form(tuple(inputs), tuple(len(given.get(i, ())) for i in range(len(inputs))))


def _groups(leads: dict[int, tuple[str, ...]]) -> list[frozenset[int]] | None:
    """Which inputs have the leading dimensions, neighbours alike joined, with a group of all of them; None
    where they don't broadcast."""
    found: list[frozenset[int]] = []
    for back in range(max(map(len, leads.values()), default=0), 0, -1):
        sizes = {i: dims[-back] for i, dims in leads.items() if back <= len(dims) and dims[-back] != "1"}
        if len(set(sizes.values())) > 1:
            return None
        if sizes and found[-1:] != [frozenset(sizes)]:
            found.append(frozenset(sizes))
    everyone = frozenset[int]().union(*found)
    return found if everyone in found else [everyone, *found]


class _Reader:
    """Reads a formula at the shapes of a form."""

    def __init__(
        self, form: Form, program: Program, names: Sequence[str], output_types: Sequence[int]
    ) -> None:
        self.form = form
        self._formula = program, names
        self._output_types = output_types

    def graph(self, types: Sequence[InputType | None]) -> Graph:
        return build_graph(*self._formula, types, self._output_types)

    def is_map(self, most: int) -> bool:
        """Whether the formula does the same for every index of the leading dimensions, however many there
        are."""
        ranks = set()
        try:
            for leading in range(most + 1):
                graph = self.graph(self.form.at_rank(leading))
                if not _keeps(graph, leading):
                    return False
                ranks.add(tuple(len(node.axes) - leading for node, _ in graph.outputs))
            self.graph(self.form.types())
        except NotGenerated:
            return False
        return len(ranks) == 1

    def with_limits(self) -> Form | None:
        """The form with what broadcasts and what doesn't; None where the shape built for doesn't fit that."""
        form = self.form
        others = frozenset(i for i, t in enumerate(form.inputs) if t is not None) - form.leading
        exact = frozenset(i for i in others if not self._is_alike(i, ("1", "1")))
        spreads = len(form.leading) == 1 or all(
            self._is_alike(i, its) for i in form.leading for its in ((), ("1", "1"))
        )
        longer = [i for i in exact if len(form.inputs[i].dims) > form.own[i]]  # type: ignore[union-attr]
        if longer or not (spreads or len(form.groups) == 1):
            return None
        return replace(form, spreads=spreads, exact=exact)

    def _is_alike(self, i: int, its: tuple[str, ...]) -> bool:
        """Whether outputs have the same shape when input `i` has such leading dimensions."""
        try:
            graphs = [self.graph(self.form.at_rank(2)), self.graph(self.form.at_rank(2, i, its))]
        except NotGenerated:
            return False
        plain, other = ([_names(node.axes) for node, _ in g.outputs] for g in graphs)
        return plain == other


def _keeps(graph: Graph, leading: int) -> bool:
    """Whether every value has all leading dimensions before its others or none of them, and every output has
    them and depends on all inputs."""
    wanted = [_name(k) for k in range(leading)]
    given = {i for i, t in enumerate(graph.inputs) if t is not None}
    for node in graph.nodes():
        names = _names(node.axes)
        found = [n for n in names if n in wanted]
        if found and (found != wanted or names[:leading] != wanted):
            return False
        if set(_names(node.along)) & set(wanted):
            return False
    for node, _ in graph.outputs:
        read = {n.memory.index for n in reachable([node]) if n.memory is not None}
        if _names(node.axes)[:leading] != wanted or read != given:
            return False
    return True


def _name(k: int) -> str:
    return f"leading {k}"


def _names(axes: Axes) -> list[str]:
    return ["1" if a is None else a.root().name for a in axes]
