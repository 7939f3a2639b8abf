"""Operators defined by a formula: elementwise parts become tile programs, reductions kernel calls.

Arithmetic is in float32, but in float64 when an input is float64 or, without reductions, an integer of 32
bits or more. A formula without reductions is one program. Each
reduction and top-k splits it: what it reads is written to a temporary, and so is every named value that both
a reduction and something else read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from ascend_ep.compiler.lower.elementwise import COMPUTABLE, Program, emit_program, input_value, power
from ascend_ep.compiler.lower.formula_facts import FormulaFacts
from ascend_ep.compiler.lower.formula_moves import emit_move
from ascend_ep.compiler.lower.matmul import emit_matmul, right_operand
from ascend_ep.compiler.lower.matmul_exact import exact_product
from ascend_ep.compiler.lower.reduction import OPS as REDUCE_OPS
from ascend_ep.compiler.lowering import Dim, NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.dims import product
from ascend_ep.opdef.expression import (
    MOVES,
    Apply,
    Cast,
    Concat,
    Constant,
    Expression,
    Index,
    Input,
    Local,
    MatMul,
    Reduce,
    SumTo,
    TopK,
    Transpose,
    Unsqueeze,
    children,
    gives_positions,
    walk,
)
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.formula_shape import folded_dims, reduced_shape, topk_axis
from ascend_ep.opdef.moves import Move, single_axis
from ascend_ep.opdef.reductions import expanded
from ascend_ep.opdef.specialize import specialize
from ascend_ep.plan.kernel_params import ARG_REDUCE, REDUCE, TOPK
from ascend_ep.plan.tile_program import ProgramError, Value

#: The kernel's number of each reduction.
REDUCTIONS = {name.removeprefix("Reduce").lower(): number for name, number in REDUCE_OPS.items()}

#: Nodes that read a whole tensor: what is below them is a program of its own.
SPLITTING = (Reduce, TopK, SumTo, MatMul, *MOVES)

WIDE = {dtypes.FLOAT64, dtypes.INT32, dtypes.INT64, dtypes.UINT32, dtypes.UINT64}

#: Operations that are not a primitive of the same name.
COMPOSED: dict[str, Callable[..., Value]] = {
    "pow": power,
    "div": lambda p, a, b: _divide(a, b),
    "floordiv": lambda p, a, b: p.call("floor", a / b),
    "log2": lambda p, x: p.call("log", x) * 1.4426950408889634,
    "log10": lambda p, x: p.call("log", x) * 0.4342944819032518,
    "isnan": lambda p, x: p.isnan(x),
    "isinf": lambda p, x: p.isinf(x),
    "select": lambda p, c, a, b: p.select(c, a, b),
}


def _divide(a: Value, b: Value) -> Value:
    """a / b; by a constant, the product with its reciprocal: at most one more rounding."""
    if isinstance(b.number, float) and b.number != 0.0:
        return a * (1.0 / b.number)
    return a / b


def converted(p: Program, x: Value, dtype: int) -> Value:
    """x in an element type. Of whole ones the nearest where x is beyond them, and 0 for NaN: the kernel's own
    conversion gives the least number of 32 and 64 bits for both, and wraps that of fewer."""
    if dtype not in dtypes.INTEGERS or x.dtype not in (dtypes.FLOAT32, dtypes.FLOAT64):
        return p.cast(x, dtype)
    limits = np.iinfo(np.dtype(dtypes.NUMPY[dtype]))
    least, most = int(limits.min), int(limits.max)
    if limits.bits < 32:
        return p.cast(p.clip(x, float(least), float(most)), dtype)
    whole = p.cast(p.call("max", x, 0.0) if least == 0 else x, dtype)
    largest = p.const(most if most < 2**63 else -1, dtype)  # its bits
    whole = p.select(p.call("ge", x, float(most + 1)), largest, whole)
    return p.select(p.call("eq", x, x), whole, p.const(0, dtype))


@lowers("formula")
def lower_formula(node: NodeView, b: PlanBuilder) -> None:
    """A node whose definition is a formula."""
    if node.opdef is None:
        raise Unsupported("its definition is not at hand")
    specs = node.opdef.inputs
    operands = {
        spec.name: o for spec, o in zip(specs, node.inputs, strict=False) if o is not None and spec.name
    }
    try:
        attributes = bind_attributes(node.opdef, node.attributes)
        program = specialize(formula_program(node.opdef), attributes, operands)
    except AscendError as error:
        raise Unsupported(error.text) from None
    values = [value for _, value in program.outputs]
    lowering = _Formula(operands, dict(program.lets), values, b)
    lowering.store_shared(values)
    for target, (_, value) in zip(node.outputs, program.outputs, strict=False):
        if target is not None:
            lowering.write(value, b.out(target), target.dtype)


class _Formula(FormulaFacts):
    """One formula being lowered. Shapes are NumPy's; `stored` are the values that have memory."""

    def __init__(
        self,
        operands: dict[str, Operand],
        lets: dict[str, Expression],
        outputs: list[Expression],
        b: PlanBuilder,
    ) -> None:
        for operand in operands.values():
            if operand.dtype not in COMPUTABLE:
                raise Unsupported(f"there is no native arithmetic on {dtypes.name(operand.dtype)}")
        types = {operand.dtype for operand in operands.values()}
        reduces = any(
            isinstance(n, Reduce | TopK | SumTo | MatMul)
            for tree in [*lets.values(), *outputs]
            for n in walk(tree)
        )
        wide = types & ({dtypes.FLOAT64} if reduces else WIDE)
        self.dtype = dtypes.FLOAT64 if wide else dtypes.FLOAT32
        super().__init__(operands, lets)
        self.builder = b
        self.stored: dict[Expression, Ref] = {}
        self.positions: dict[Expression, Ref] = {}

    # ---- memory ----------------------------------------------------------------------------

    def store_shared(self, outputs: list[Expression]) -> None:
        """Gives memory to the named values that a reduction and something else read."""
        trees = [*self.lets.values(), *outputs]
        reductions = [n for tree in trees for n in walk(tree) if isinstance(n, SPLITTING)]
        read = [operand for r in reductions for operand in children(r)[: 1 if isinstance(r, SumTo) else 2]]
        reduced = {n.name for operand in read for n in walk(operand) if isinstance(n, Local)}
        uses = Counter(n.name for tree in trees for n in walk(tree) if isinstance(n, Local))
        for name, value in self.lets.items():
            if name in reduced and uses[name] > 1 and not isinstance(value, SPLITTING):
                self.stored[Local(name)] = self.memory(value)

    def memory(self, node: Expression) -> Ref:
        """The value of a node, contiguous and in the compute type."""
        if node in self.stored:
            return self.stored[node]
        if isinstance(node, Input) and self.operands[node.name].dtype == self.dtype:
            return self.builder.ref(self.operands[node.name])
        if isinstance(node, Local):
            made = self.memory(self.lets[node.name])
        elif isinstance(node, Unsqueeze):
            made = self.builder.view(self.memory(node.arg), self.dims(node))
        elif isinstance(node, TopK) and not node.indices:
            self.topk(node)
            return self.stored[node]
        elif isinstance(node, MatMul):
            made = self.product(node)
        elif isinstance(node, MOVES):
            made = self.moved(node)
        elif isinstance(node, Reduce) and (made_by_kernel := self.reduced(node)):
            made = made_by_kernel
        elif isinstance(node, SumTo) and (total := self.summed(node)) and total.dims == self.dims(node):
            made = total
        else:
            made = self.builder.temp(self.dtype, self.dims(node))
            self.write(node, made, self.dtype)
        self.stored[node] = made
        return made

    def product(self, node: MatMul) -> Ref:
        """A matrix product by its kernel."""
        made = Operand(f"product{len(self.builder.values)}", self.dtype, self.dims(node))
        if self.dtype == dtypes.FLOAT64:
            exact_product(self.builder, self.memory(node.a), self.memory(node.b), made)
            return self.builder.ref(made)
        (left, left_transposed), (right, right_transposed) = map(self.factor, (node.a, node.b))
        weight = self.operands.get(right.name) if isinstance(right, Input) else None
        if weight is not None and weight.dtype == self.dtype:
            panels, right_transposed = right_operand(self.builder, weight, bool(right_transposed))
        else:
            panels = self.memory(right)
        operands = (self.memory(left), panels)
        emit_matmul(
            self.builder,
            operands,
            self.builder.out(made),
            transposed=(left_transposed, int(right_transposed)),
        )
        return self.builder.ref(made)

    def factor(self, node: Expression) -> tuple[Expression, int]:
        """A factor of a product, and whether the kernel is to take it transposed."""
        node = self.resolved(node)
        if isinstance(node, Transpose):
            rank = len(self.dims(node.arg))
            axes = {single_axis(a, rank) for a in (node.first, node.second)}
            if axes == {rank - 2, rank - 1}:
                return self.resolved(node.arg), 1
        return node, 0

    def moved(self, node: Move) -> Ref:
        """The operands' memory read in another order."""
        refs = [self.memory(c) for c in children(node)[: None if isinstance(node, Concat) else 1]]
        return emit_move(self.builder, node, refs, self.dims(node), self.taken)

    def taken(self, node: Expression) -> Ref:
        """Indices, as whole numbers."""
        whole = self.resolved(node)
        if isinstance(whole, Input) and self.operands[whole.name].dtype in (dtypes.INT32, dtypes.INT64):
            return self.builder.ref(self.operands[whole.name])
        if gives_positions(whole):
            return self.position(whole)
        return self.builder.cast(self.memory(node), dtypes.INT64)

    def reduced(self, node: Reduce) -> Ref | None:
        """One reduction by its kernel; None when it is a program over others."""
        axes = self.axes(node)
        if node.op == "var":
            mean = expanded(node)
            assert isinstance(mean, Reduce), "var is a mean of squares"
            centred = children(mean.arg)[0]
            self.stored[node.arg] = self.memory(node.arg)
            self.stored[centred] = self.memory(centred)
            return self.memory(mean)
        if node.op not in REDUCTIONS:
            return None
        made = self.builder.temp(self.dtype, self.dims(node))
        self.builder.emit(
            "reduce", [self.memory(node.arg)], [made], REDUCE.pack(axes, op=REDUCTIONS[node.op])
        )
        return made

    def summed(self, node: SumTo) -> Ref | None:
        """The operand summed over what broadcasting added, without dimensions that `like` lacks; None when
        nothing is summed."""
        key = SumTo(node, node.like)
        if key in self.stored:
            return self.stored[key]
        dims, like = self.dims(node.arg), self.dims(node.like)
        folded = folded_dims(dims, like)
        extra = max(0, len(dims) - len(like))
        for axis in range(extra, len(dims)):
            if axis not in folded and dims[axis] not in (1, like[axis - len(dims)]):
                raise Unsupported("which dimensions broadcast is known only at run time")
        if not folded:
            return None
        total = self.builder.temp(self.dtype, reduced_shape(dims, folded, True))
        self.builder.emit(
            "reduce", [self.memory(node.arg)], [total], REDUCE.pack(folded, op=REDUCTIONS["sum"])
        )
        self.stored[key] = self.builder.view(total, total.dims[extra:])
        return self.stored[key]

    def topk(self, node: TopK) -> None:
        """Both results of a top-k."""
        values, indices = (TopK(node.arg, node.k, node.axis, node.largest, i) for i in (False, True))
        assert isinstance(node.k, int), "it is specialized"
        axis = topk_axis(node, self.dims(node.arg))
        self.stored[values] = self.builder.temp(self.dtype, self.dims(node))
        self.positions[indices] = self.builder.temp(dtypes.INT64, self.dims(node))
        outs = [self.stored[values], self.positions[indices]]
        ints = TOPK.pack(axis=axis, k=node.k, largest=int(bool(node.largest)))
        self.builder.emit("topk", [self.memory(node.arg)], outs, ints)

    def position(self, node: Expression) -> Ref:
        """The int64 positions that a node of gives_positions() gives."""
        if node not in self.positions:
            if isinstance(node, TopK):
                self.topk(node)
            else:
                assert isinstance(node, Reduce), "nothing else gives positions"
                made = self.builder.temp(dtypes.INT64, self.dims(node))
                ints = ARG_REDUCE.pack(axis=self.axes(node)[0], last=0)
                self.builder.emit(node.op, [self.memory(node.arg)], [made], ints)
                self.positions[node] = made
        return self.positions[node]

    # ---- elementwise parts -----------------------------------------------------------------

    def write(self, node: Expression, target: Ref, dtype: int) -> None:
        """One program that computes `node` into `target`."""
        part = _Part(self, target.dims)
        try:
            whole = self.resolved(node)
            if gives_positions(whole) and dtype == dtypes.INT64:
                value = part.program.input(self.position(whole), dtype)
            else:
                value = part.value(node)
            if value.dtype == dtypes.BOOL and dtype != dtypes.BOOL:
                value = part.program.cast(value, self.dtype)
            part.program.output(converted(part.program, value, dtype), dtype)
        except ProgramError as error:
            raise Unsupported(str(error)) from None
        emit_program(self.builder, part.program, [target])


class _Part:
    """One tile program of a formula. `dims` is the shape it runs over."""

    def __init__(self, formula: _Formula, dims: tuple[Dim, ...]) -> None:
        self.formula = formula
        self.dims = dims
        self.program = Program()
        self.locals: dict[str, Value] = {}

    def value(self, node: Expression) -> Value:
        p, formula = self.program, self.formula
        if isinstance(node, Constant):
            kind = dtypes.BOOL if isinstance(node.value, bool) else formula.dtype
            return p.const(float(node.value) if kind != dtypes.BOOL else int(node.value), kind)
        if node in formula.stored:
            return self.loaded(node)
        if gives_positions(node):
            return p.cast(p.input(formula.position(node), dtypes.INT64), formula.dtype)
        if isinstance(node, Reduce):
            return self.reduced(node)
        if isinstance(node, (TopK, Unsqueeze, MatMul, *MOVES)):
            return self.loaded(node)
        if isinstance(node, SumTo):
            total = formula.summed(node)
            return p.input(total, total.dtype) if total else self.value(node.arg)
        if isinstance(node, Input):
            value = input_value(p, formula.builder, formula.operands[node.name])
            return value if value.dtype in (dtypes.BOOL, formula.dtype) else p.cast(value, formula.dtype)
        if isinstance(node, Local):
            if node.name not in self.locals:
                self.locals[node.name] = self.value(formula.lets[node.name])
            return self.locals[node.name]
        if isinstance(node, Cast):
            rounded = converted(p, self.value(node.arg), node.dtype)
            return rounded if rounded.dtype == formula.dtype else p.cast(rounded, formula.dtype)
        if isinstance(node, Index):
            return self.index(node)
        assert isinstance(node, Apply), "specialize leaves no other nodes"
        args = [self.value(arg) for arg in node.args]
        return COMPOSED[node.op](p, *args) if node.op in COMPOSED else p.call(node.op, *args)

    def loaded(self, node: Expression) -> Value:
        """A value that has memory. Truth values are kept as 1 and 0."""
        ref = self.formula.memory(node)
        value = self.program.input(ref, ref.dtype)
        return self.program.call("ne", value, 0.0) if self.formula.is_bool(node) else value

    def reduced(self, node: Reduce) -> Value:
        made = None if node.op in ("any", "all") else self.formula.reduced(node)
        if made is None:
            return self.value(expanded(node))
        self.formula.stored[node] = made
        return self.program.input(made, made.dtype)

    def index(self, node: Index) -> Value:
        """Positions along an axis, from the row-major position in the shape the program runs over."""
        like = self.formula.dims(node.like)
        axis = self.formula.index_axis(node) - len(like)
        if node.size:
            count = self.program.const(like[axis], dtypes.INT64)
            return self.program.cast(count, self.formula.dtype)
        if like[axis] == 1:
            return self.program.const(0.0, self.formula.dtype)
        if like[axis] != self.dims[axis]:
            raise Unsupported("whether a counted axis is repeated is known only at run time")
        inner = product(self.dims[len(self.dims) + axis + 1 :])
        line = self.program.call("div", self.program.position(), self.program.const(inner, dtypes.INT64))
        along = self.program.call("mod", line, self.program.const(like[axis], dtypes.INT64))
        return self.program.cast(along, self.formula.dtype)
