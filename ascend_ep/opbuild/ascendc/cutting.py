"""Cuts a program into stages: what may be one stage of rows stays together, the rest folds, ranks or moves apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ascend_ep.codegen.c_source import NotGenerated
from ascend_ep.opdef.expression import (
    Apply,
    Cast,
    Constant,
    Expression,
    Index,
    Input,
    Local,
    Program,
    Reduce,
    SumTo,
    TopK,
    Unsqueeze,
    children,
    walk,
    with_children,
)
from ascend_ep.opdef.reductions import ELEMENTARY, expanded

from .instructions import Selected, select_fold, select_instructions
from .shapes import SCALAR, Shapes, axes_text, axis_text
from .stages import Operand, Stage, Staged, mark_waits, merged, needed
from .values import reachable

#: reductions that a row's passes compute
_IN_ROWS = frozenset({"sum", "mean", "var", "prod", "max", "min", "any", "all", "logsumexp"})
#: of these, those that a repetition of every element changes
_COUNTING = frozenset({"sum", "prod", "logsumexp"})
_FOLDS = frozenset({"sum", "prod", "max", "min"})


def cut_into_stages(program: Program, inputs: Iterable[str], scalars: Mapping[str, str]) -> Staged:
    """`program` is specialised; `scalars` maps locals that stand for attributes to their C++ text. Raises
    NotGenerated."""
    cutter = _Cutter(tuple(inputs), dict(scalars))
    for name, value in program.lets:
        cutter.let(name, cutter.cut(value))
    outputs = {}
    for name, value in program.outputs:
        cut = cutter.cut(value)
        outputs[name] = cutter.shape(cut)
        cutter.rows(cut, name)
    stages = merged(needed(cutter.stages, set(outputs)), cutter.scalars)
    held = {t: d for t, d in cutter.held.items() if any(t in s.outputs for s in stages)}
    used = {v.text for s in stages for v in reachable(v for _, v in s.selected.outputs) if v.op == "scalar"}
    counts = {n: t for n, t in cutter.counts.items() if any(n in text for text in used)}
    mark_waits(stages, set(held))
    return Staged(stages, cutter.shapes, held, outputs, counts)


class _Cutter:
    def __init__(self, inputs: tuple[str, ...], scalars: dict[str, str]) -> None:
        self.scalars = scalars
        self.shapes = Shapes(inputs)
        self.shapes.of_local.update(dict.fromkeys(scalars, SCALAR))
        self.operands = {n: Operand(n, n, i) for i, n in enumerate(inputs)}
        self.prefix = "_" if any(n.startswith(("held", "view", "places", "count")) for n in inputs) else ""
        self.lets: dict[str, Expression] = {}
        self.stages: list[Stage] = []
        self.held: dict[str, int] = {}
        self.counts: dict[str, str] = {}
        self.made: dict[tuple[str, Expression], Expression] = {}

    def let(self, name: str, value: Expression) -> Local:
        self.lets[name] = value
        self.shapes.of_local[name] = self.shapes.of(value)
        return Local(name)

    def shape(self, node: Expression) -> int:
        """The number of a tensor's shape."""
        number = self.shapes.of(node)
        return self.shapes.new("Alone", ()) if number == SCALAR else number

    # ---- expressions without what has a stage of its own -------------------------------------------

    def cut(self, node: Expression) -> Expression:
        """The node over operands; only reductions that may be a row's stay."""
        if isinstance(node, Constant | Input | Local):
            return node
        key = ("cut", node)
        if key not in self.made:
            self.made[key] = self._cut(node)
        return self.made[key]

    def _cut(self, node: Expression) -> Expression:
        if isinstance(node, Apply | Cast):
            return with_children(node, [self.cut(c) for c in children(node)])
        if isinstance(node, Reduce):
            return self._cut_reduce(node)
        if isinstance(node, Index):
            return self._cut_index(node)
        if isinstance(node, TopK):
            return self._cut_topk(node)
        if isinstance(node, Unsqueeze):
            arg = self.cut(node.arg)
            if self.shapes.of(arg) == SCALAR or not self._is_operand(arg):
                arg = self.hold(arg)
            assert isinstance(arg, Input)
            return self._operand(
                "view", self.operands[arg.name].tensor, self.shapes.of(Unsqueeze(arg, node.axes))
            )
        if isinstance(node, SumTo):
            return self._cut_sum_to(node)
        raise NotGenerated(f"{type(node).__name__} has no Ascend C")

    def _is_operand(self, node: Expression) -> bool:
        return isinstance(node, Input)

    def _cut_reduce(self, node: Reduce) -> Expression:
        arg = self.cut(node.arg)
        if self.shapes.of(arg) == SCALAR and node.axes == "all":
            arg = self.hold(arg)
        if node.op in ("argmax", "argmin"):
            # Both of its reductions must see the same bits.
            arg = self.hold(arg) if self.has_reduce(arg) else arg
            return self.cut(expanded(replace(node, arg=arg)))
        whole = replace(node, arg=arg)
        return whole if _of_rows(whole) else self.folded(whole)

    def _cut_index(self, node: Index) -> Expression:
        like = self.shapes.of(self.cut(node.like))
        if like == SCALAR:
            raise NotGenerated("positions along an axis of a number")
        if node.size:
            return self._count(f"SizeOf(s[{like}], {axis_text(node.axis)})")
        return self._operand("places", "", self.shapes.new("Position", (like,), axis_text(node.axis)))

    def _count(self, text: str) -> Local:
        name = next((n for n, t in self.counts.items() if t == text), f"{self.prefix}count{len(self.counts)}")
        self.counts[name] = text
        self.scalars[name] = f"{name}_"
        self.shapes.of_local[name] = SCALAR
        return Local(name)

    def _operand(self, kind: str, tensor: str, dims: int) -> Input:
        for o in self.operands.values():
            if (o.tensor, o.dims) == (tensor, dims):
                return Input(o.name)
        name = f"{kind}{len(self.operands)}{self.prefix}"
        self.operands[name] = Operand(name, tensor, dims)
        self.shapes.of_input[name] = dims
        return Input(name)

    def _new_held(self, dims: int) -> Input:
        name = f"held{len(self.held)}{self.prefix}"
        self.held[name] = dims
        self.operands[name] = Operand(name, name, dims)
        self.shapes.of_input[name] = dims
        return Input(name)

    def _cut_topk(self, node: TopK) -> Expression:
        arg = self.hold(self.cut(node.arg))
        whole = replace(node, arg=arg)
        assert isinstance(arg, Input)
        k, axes = axis_text(node.k), f"Axes{{{axis_text(node.axis)}}}"
        operands = (self.operands[arg.name],)
        for stage in self.stages:
            if (stage.kind, stage.operands, stage.axes, stage.k, stage.largest) == (
                "topk", operands, axes, k, node.largest
            ):  # fmt: skip
                break
        else:
            nothing = Selected((), 0, False)
            stage = Stage(
                "topk",
                operands,
                ["", ""],
                (operands[0].dims,),
                nothing,
                Program((), ()),
                axes,
                k,
                bool(node.largest),
                self.shapes.of(whole),
            )
            self.stages.append(stage)
        if not stage.outputs[node.indices]:
            stage.outputs[node.indices] = self._new_held(self.shapes.of(whole)).name
        return self._operand("view", stage.outputs[node.indices], self.shapes.of(whole))

    def _cut_sum_to(self, node: SumTo) -> Expression:
        arg = self.elementwise(self.cut(node.arg))
        shape, like = self.shapes.of(arg), self.shapes.of(self.cut(node.like))
        if shape == like:
            return arg
        if like == SCALAR:
            return self.folded(Reduce("sum", arg, "all", False)) if shape != SCALAR else arg
        if shape == SCALAR:
            total = arg
        else:
            dims = self.shapes.new("SummedTo", (shape, like))
            total = self._fold("sum", arg, dims, f"SummedAxes(s[{shape}], s[{like}])")
        spread = self._new_held(like)
        self.rows(total, spread.name, (like,))
        return spread

    # ---- reductions ----------------------------------------------------------------------------

    def folded(self, node: Reduce) -> Expression:
        """A reduction of a cut expression, over held tensors."""
        key = ("folded", node)
        if key not in self.made:
            self.made[key] = self._folded(node)
        return self.made[key]

    def _folded(self, node: Reduce) -> Expression:
        if _of_rows(node):
            before = len(self.stages)
            try:
                return self.hold(node, only_rows=True)
            except NotGenerated:
                del self.stages[before:]
        if node.op in _FOLDS:
            arg = self.elementwise(node.arg)
            return self._fold(
                node.op, arg, self.shapes.reduced(self.shapes.of(arg), node), axes_text(node.axes)
            )
        if node.op == "mean":
            total = self.folded(replace(node, op="sum"))
            shape = self.shapes.of(node.arg)
            return Apply("div", (total, self._count(f"CountOf(s[{shape}], {axes_text(node.axes)})")))
        assert node.op not in ELEMENTARY, "each has its branch"
        return self.elementwise(self.cut(expanded(node)))

    def _fold(self, op: str, arg: Expression, dims: int, axes: str) -> Expression:
        held = self._new_held(dims)
        program = self._program(held.name, arg)
        selected = select_fold(program, op, self.scalars)
        operands = self._read(selected)
        frame = tuple(sorted({self.shapes.of(arg), *(o.dims for o in operands)} - {SCALAR}))
        self.stages.append(Stage("fold", operands, [held.name], frame, selected, program, axes))
        return held

    def elementwise(self, node: Expression) -> Expression:
        """The node with held tensors for reductions."""
        if isinstance(node, Reduce):
            return self.folded(node)
        if isinstance(node, Local):
            if node.name not in self.lets or not self.has_reduce(node):
                return node
            name = f"{node.name} elementwise"
            if name not in self.lets:
                return self.let(name, self.elementwise(self.lets[node.name]))
            return Local(name)
        below = children(node)
        return with_children(node, [self.elementwise(c) for c in below]) if below else node

    def has_reduce(self, node: Expression) -> bool:
        return any(
            isinstance(n, Reduce)
            or (isinstance(n, Local) and n.name in self.lets and self.has_reduce(self.lets[n.name]))
            for n in walk(node)
        )

    # ---- stages of rows ------------------------------------------------------------------------

    def hold(self, node: Expression, only_rows: bool = False) -> Expression:
        """A held tensor, or the operand that has this value."""
        if isinstance(node, Local) and node.name in self.lets:
            return self.hold(self.lets[node.name], only_rows)
        if isinstance(node, Input) and self.operands[node.name].tensor:
            return node
        key = ("hold", node)
        if key not in self.made:
            held = self._new_held(self.shape(node))
            self.rows(node, held.name, only_rows=only_rows)
            self.made[key] = held
        return self.made[key]

    def rows(
        self, node: Expression, tensor: str, frame: tuple[int, ...] = (), only_rows: bool = False
    ) -> None:
        """A stage that writes the node's value to a tensor."""
        try:
            self.stages.append(self._rows(node, tensor, frame))
        except NotGenerated:
            if only_rows or not self.has_reduce(node):
                raise
            self.stages.append(self._rows(self.elementwise(node), tensor, frame))

    def _rows(self, node: Expression, tensor: str, frame: tuple[int, ...]) -> Stage:
        self._check_repetition(node)
        program = self._program(tensor, node)
        selected = select_instructions(program, self.scalars)
        operands = self._read(selected)
        dims = tuple(sorted({*frame, *(o.dims for o in operands)}))
        return Stage("rows", operands, [tensor], dims, selected, program)

    def _check_repetition(self, node: Expression) -> None:
        """A row of the stage may repeat the elements of an operand that has one for several: then a result
        has fewer elements than the stage, or a reduction counts some too often."""
        whole = self._dims_of(self.inputs_of(node))
        reduces = list(self._reduces(node))
        if reduces and self._free(node) not in (frozenset(), whole):
            raise NotGenerated("the result may have fewer elements than what is reduced")
        for reduce in reduces:
            if reduce.op in _COUNTING and self._free(reduce.arg) != whole:
                raise NotGenerated("a reduction counts elements that the row may repeat")
            if isinstance(reduce.axes, tuple) and len(reduce.axes) > 1 and len(whole) > 1:
                raise NotGenerated("several axes are one in memory for a single operand only")

    def _dims_of(self, names: Iterable[str]) -> frozenset[int]:
        return frozenset(self.operands[n].dims for n in names)

    def _free(self, node: Expression) -> frozenset[int]:
        """The shapes of the operands that an expression reads, but for those within reductions."""
        if isinstance(node, Reduce):
            return frozenset()
        if isinstance(node, Input):
            return self._dims_of((node.name,))
        if isinstance(node, Local):
            return self._free(self.lets[node.name]) if node.name in self.lets else frozenset()
        return frozenset().union(*(self._free(c) for c in children(node)))

    def _reduces(self, node: Expression) -> Iterable[Reduce]:
        for n in walk(node):
            if isinstance(n, Reduce):
                yield n
            elif isinstance(n, Local) and n.name in self.lets:
                yield from self._reduces(self.lets[n.name])

    def inputs_of(self, node: Expression) -> frozenset[str]:
        """The operands that an expression reads."""
        found: set[str] = set()
        for n in walk(node):
            if isinstance(n, Input):
                found.add(n.name)
            elif isinstance(n, Local) and n.name in self.lets:
                found |= self.inputs_of(self.lets[n.name])
        return frozenset(found)

    def _read(self, selected: Selected) -> tuple[Operand, ...]:
        used = {v.text for v in reachable(v for _, v in selected.outputs) if v.op == "input"}
        return tuple(o for n, o in self.operands.items() if n in used)

    def _program(self, tensor: str, node: Expression) -> Program:
        """The node with the assignments that it needs."""
        needed: set[str] = set()
        stack = [node]
        while stack:
            for n in walk(stack.pop()):
                if isinstance(n, Local) and n.name in self.lets and n.name not in needed:
                    needed.add(n.name)
                    stack.append(self.lets[n.name])
        return Program(tuple((n, v) for n, v in self.lets.items() if n in needed), ((tensor, node),))


def _of_rows(node: Reduce) -> bool:
    """Whether a row's passes can compute it: over last axes, counted from the end."""
    if not isinstance(node.axes, tuple) or node.op not in _IN_ROWS:
        return False
    return bool(node.axes) and sorted(node.axes) == list(range(-len(node.axes), 0))
