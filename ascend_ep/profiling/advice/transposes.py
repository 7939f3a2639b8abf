"""Transpositions that stand between operators which would be fused: moved until they cancel.

A value is moved when it is the transposition of one that its readers could work on as well: elementwise
operators, reductions and softmaxes of other axes. All that hangs together is moved or nothing: when fewer
transpositions are left, or as many with the arithmetic beside the product that made its operand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from ascend_ep.profiling.advice.graphs import STANDARD, constants_of, copied, opset_of, reads

_ELEMENTWISE = """Abs Add And Cast Ceil Celu Clip Cos Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual
    HardSigmoid HardSwish Identity LeakyRelu Less LessOrEqual Log Max Min Mish Mod Mul Neg Not Or Pow PRelu
    Reciprocal Relu Round Selu Sigmoid Sign Sin Softplus Softsign Sqrt Sub Sum Tanh Where Xor"""
_REDUCTIONS = "L1 L2 LogSumExp Max Mean Min Prod Sum SumSquare"
ELEMENTWISE = frozenset(_ELEMENTWISE.split())
REDUCTIONS = frozenset(f"Reduce{name}" for name in _REDUCTIONS.split())
#: With an axis as attribute, and what it is where it isn't given (from operator set 13 on).
ALONG_AXIS = {"Softmax": -1, "LogSoftmax": -1}
PRODUCTS = frozenset(("Conv", "ConvTranspose", "Gemm", "MatMul"))
#: Before it softmaxes are of all axes behind one.
LEAST_OPSET = 13
Axes = tuple[int, ...]
LAYOUTS = ((0, 2, 3, 1), (0, 3, 1, 2), (0, 2, 3, 4, 1), (0, 4, 1, 2, 3))


@dataclass
class _Region:
    """What hangs together by moved values of one order of axes."""

    entries: list[NodeProto] = field(default_factory=list)
    nodes: list[NodeProto] = field(default_factory=list)
    values: set[str] = field(default_factory=set)
    cancelled: list[NodeProto] = field(default_factory=list)


def move_transposes(model: ModelProto) -> int:
    """Of any order of axes but a layout's; returns how many are gone or moved."""
    return _moved_of(model, lambda order: order not in LAYOUTS)


def keep_layout(model: ModelProto) -> int:
    """Those from channels first to channels last, and back; returns how many are gone or moved."""
    return _moved_of(model, lambda order: order in LAYOUTS)


def _moved_of(model: ModelProto, wanted: Callable[[Axes], bool]) -> int:
    if opset_of(model) < LEAST_OPSET:
        return 0
    moved = 0
    for order in sorted({order for node in model.graph.node if (order := _order(node)) and wanted(order)}):
        moved += _Mover(model.graph, order).move()
    if moved:
        del model.graph.value_info[:]
    return moved


def _order(node: NodeProto) -> Axes:
    if node.op_type != "Transpose" or not node.attribute:
        return ()
    return tuple(node.attribute[0].ints)


def _inverse(order: Axes) -> Axes:
    return tuple(int(i) for i in np.argsort(order))


class _Mover:
    """Of one order of axes."""

    def __init__(self, graph: GraphProto, order: Axes) -> None:
        self.graph, self.all_nodes = graph, list(graph.node)
        self.order, self.rank = order, len(order)
        self.constants = constants_of(graph)
        self.readers: dict[str, list[NodeProto]] = defaultdict(list)
        for node in self.all_nodes:
            for name in reads(node):
                self.readers[name].append(node)
        self.makers = {name: node for node in graph.node for name in node.output}
        self.results = {v.name for v in graph.output}
        self.region_of: dict[str, _Region] = {}

    def move(self) -> int:
        for node in self.all_nodes:
            self._see(node)
        regions = {id(r): r for r in self.region_of.values()}
        chosen = [r for r in regions.values() if self._pays(r)]
        if chosen:
            self._rewrite(chosen)
        return sum(len(r.entries) for r in chosen)

    # --- finding -----------------------------------------------------------------------------------

    def _see(self, node: NodeProto) -> None:
        if _order(node) == _inverse(self.order) and node.input[0] in self.region_of:
            self.region_of[node.input[0]].cancelled.append(node)
        elif _order(node) == self.order:
            self._region_with((), node, entry=True)
        elif self._is_movable(node):
            self._region_with([n for n in node.input if n in self.region_of], node, entry=False)

    def _region_with(self, names: Iterable[str], node: NodeProto, entry: bool) -> None:
        """The node joins the regions of what it reads; an entry begins one."""
        region = _Region()
        for name in names:
            other = self.region_of[name]
            if other is region:
                continue
            region.entries += other.entries
            region.nodes += other.nodes
            region.cancelled += other.cancelled
            region.values |= other.values
            for value in other.values:
                self.region_of[value] = region
        (region.entries if entry else region.nodes).append(node)
        kept = () if not entry and self._absorbs(node) else node.output
        region.values.update(kept)
        for value in region.values:
            self.region_of[value] = region

    def _is_movable(self, node: NodeProto) -> bool:
        if node.domain not in STANDARD or not any(n in self.region_of for n in node.input):
            return False
        if node.op_type in ELEMENTWISE:
            return len(node.output) == 1 and all(
                not n or n in self.region_of or self._const_rank(n) <= self.rank for n in node.input
            )
        if node.op_type in ALONG_AXIS:
            return True
        if node.op_type in REDUCTIONS and node.input[0] in self.region_of:
            axes = self._axes(node)
            return axes is not None and (_attribute(node, "keepdims", 1) == 1 or self._keeps_order(axes))
        return False

    def _const_rank(self, name: str) -> int:
        tensor = self.constants.get(name)
        return len(tensor.dims) if tensor is not None else self.rank + 1

    def _axes(self, node: NodeProto) -> Axes | None:
        """Of a reduction, counted from the front; None where they aren't constant."""
        if len(node.input) > 1 and node.input[1]:
            tensor = self.constants.get(node.input[1])
            if tensor is None:
                return None
            given: Sequence[int] = numpy_helper.to_array(tensor).reshape(-1).tolist()
        else:
            given = next((list(a.ints) for a in node.attribute if a.name == "axes"), [])
        return tuple(int(a) % self.rank for a in given) or tuple(range(self.rank))

    def _absorbs(self, node: NodeProto) -> bool:
        """Whether its result needs no transposition: a reduction without the axes that were exchanged."""
        return node.op_type in REDUCTIONS and _attribute(node, "keepdims", 1) == 0

    def _keeps_order(self, axes: Axes) -> bool:
        rest = [self.order[i] for i in range(self.rank) if i not in axes]
        return rest == sorted(rest)

    # --- choosing ----------------------------------------------------------------------------------

    def _exits(self, region: _Region) -> list[str]:
        """Moved values that something else needs as they were."""
        inside = {id(n) for n in (*region.nodes, *region.cancelled)}
        made = {name for node in region.nodes for name in node.output} & region.values
        return sorted(
            name
            for name in made
            if name in self.results or any(id(reader) not in inside for reader in self.readers[name])
        )

    def _kept_entries(self, region: _Region) -> int:
        inside = {id(n) for n in (*region.nodes, *region.cancelled)}
        return sum(
            e.output[0] in self.results or any(id(r) not in inside for r in self.readers[e.output[0]])
            for e in region.entries
        )

    def _pays(self, region: _Region) -> bool:
        if not region.nodes:
            return False
        before = len(region.entries) + len(region.cancelled)
        after = len(self._exits(region)) + self._kept_entries(region)
        behind = any(
            (maker := self.makers.get(e.input[0])) is not None and maker.op_type in PRODUCTS
            for e in region.entries
        )
        return after < before or (after == before and behind)

    # --- rewriting ---------------------------------------------------------------------------------

    def _rewrite(self, regions: Sequence[_Region]) -> None:
        entries = [e for region in regions for e in region.entries]
        exits = {name for region in regions for name in self._exits(region)}
        inner = {value: f"{value}/moved" for region in regions for value in region.values}
        for entry in entries:  # in order: an entry may read what another region moved
            inner[entry.output[0]] = entry.input[0]
        moved = {id(node) for region in regions for node in region.nodes}
        cancelled = {id(node) for region in regions for node in region.cancelled}
        made: list[NodeProto] = []
        for node in self.all_nodes:
            if id(node) in cancelled:
                made.append(helper.make_node("Identity", [inner[node.input[0]]], list(node.output)))
            elif id(node) in moved:
                made.append(self._moved(node, inner))
                ends = [name for name in node.output if name in exits]
                made += [helper.make_node("Transpose", [inner[n]], [n], perm=self.order) for n in ends]
            else:
                made.append(copied(node))
        wanted = {name for node in made for name in reads(node)} | self.results
        unused = {e.output[0] for e in entries} - wanted
        kept = [n for n in made if not (n.op_type == "Transpose" and n.output[0] in unused)]
        del self.graph.node[:]
        self.graph.node.extend(kept)

    def _moved(self, node: NodeProto, inner: dict[str, str]) -> NodeProto:
        new = copied(node)
        if node.op_type in ALONG_AXIS:
            _set_axis(new, self.order[_attribute(node, "axis", ALONG_AXIS[node.op_type]) % self.rank])
        if node.op_type in REDUCTIONS:
            self._set_axes(new, self._axes(node) or ())
        first = 1 if node.op_type in REDUCTIONS else len(node.input)
        for i, name in enumerate(node.input[:first]):
            new.input[i] = inner[name] if name in inner else self._constant(name)
        new.output[:] = [inner.get(name, name) for name in node.output]
        return new

    def _constant(self, name: str) -> str:
        """The constant as it broadcasts to what was not transposed."""
        tensor = self.constants.get(name)
        if tensor is None or not tensor.dims:
            return name
        array = numpy_helper.to_array(tensor)
        array = array.reshape((1,) * (self.rank - array.ndim) + array.shape).transpose(_inverse(self.order))
        while array.ndim > 1 and array.shape[0] == 1:  # patterns know weights by their rank
            array = array[0]
        made = f"{name}/{''.join(map(str, self.order))}"
        if made not in self.constants:
            self.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(array), made))
            self.constants[made] = self.graph.initializer[-1]
        return made

    def _set_axes(self, node: NodeProto, axes: Axes) -> None:
        moved = sorted(self.order[a] for a in axes)
        given = [a for a in node.attribute if a.name == "axes"]
        if given or len(node.input) < 2:
            for attribute in given:
                attribute.ints[:] = moved
            return
        name = f"{node.output[0]}/axes"
        self.graph.initializer.append(helper.make_tensor(name, TensorProto.INT64, [len(moved)], moved))
        node.input[1] = name


def _attribute(node: NodeProto, name: str, otherwise: int) -> int:
    return next((int(a.i) for a in node.attribute if a.name == name), otherwise)


def _set_axis(node: NodeProto, axis: int) -> None:
    kept = [a for a in node.attribute if a.name != "axis"]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute("axis", axis)])
