"""Operators defined by a formula: elementwise parts become tile programs, reductions kernel calls.

Arithmetic is in float32. Without reductions it is in float64 when an input is float64 or an integer of 32
bits or more; with reductions, float64 is refused. A formula without reductions is one program. Each
reduction splits it: what it reduces is written to a temporary, and so is every named value that both a
reduction and something else read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ascend_ep.compiler.lower.elementwise import COMPUTABLE, Program, emit_program, input_value, power
from ascend_ep.compiler.lower.reduction import OPS as REDUCE_OPS
from ascend_ep.compiler.lowering import Dim, NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.compiler.tile_program import ProgramError, Value
from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.broadcast import broadcast
from ascend_ep.opdef.dims import product
from ascend_ep.opdef.expression import (
    Apply,
    Cast,
    Constant,
    Expression,
    Index,
    Input,
    Local,
    Reduce,
    walk,
)
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.formula_shape import resolve_axes
from ascend_ep.opdef.shape_rule import Inapplicable
from ascend_ep.opdef.specialize import specialize

#: The numbers of native/kernels/reduce.c.
REDUCTIONS = {name.removeprefix("Reduce").lower(): number for name, number in REDUCE_OPS.items()}

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
    if b.op == "const" and isinstance(b.immediate, float) and b.immediate != 0.0:
        return a * (1.0 / b.immediate)
    return a / b


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


class _Formula:
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
        reduces = any(isinstance(n, Reduce) for tree in [*lets.values(), *outputs] for n in walk(tree))
        wide = types & ({dtypes.FLOAT64} if reduces else WIDE)
        self.dtype = dtypes.FLOAT64 if wide else dtypes.FLOAT32
        self.operands = operands
        self.lets = lets
        self.builder = b
        self.stored: dict[Expression, Ref] = {}

    # ---- shapes ----------------------------------------------------------------------------

    def dims(self, node: Expression) -> tuple[Dim, ...]:
        if isinstance(node, Input):
            return self.operands[node.name].dims
        if isinstance(node, Local):
            return self.dims(self.lets[node.name])
        if isinstance(node, Cast):
            return self.dims(node.arg)
        if isinstance(node, Reduce):
            dims, axes = self.dims(node.arg), self.axes(node)
            if node.keepdims:
                return tuple(1 if i in axes else d for i, d in enumerate(dims))
            return tuple(d for i, d in enumerate(dims) if i not in axes)
        if isinstance(node, Index):
            dims, axis = self.dims(node.like), self.index_axis(node)
            return () if node.size else tuple(d if i == axis else 1 for i, d in enumerate(dims))
        return broadcast(*map(self.dims, node.args)) if isinstance(node, Apply) else ()

    def axes(self, node: Reduce) -> list[int]:
        try:
            return sorted(resolve_axes(node.axes, len(self.dims(node.arg))))
        except Inapplicable as error:
            raise Unsupported(f"its reduction can't be done: {error}") from None

    def index_axis(self, node: Index) -> int:
        try:
            return resolve_axes(node.axis, len(self.dims(node.like)))[0]
        except Inapplicable as error:
            raise Unsupported(f"its index can't be counted: {error}") from None

    # ---- memory ----------------------------------------------------------------------------

    def store_shared(self, outputs: list[Expression]) -> None:
        """Gives memory to the named values that a reduction and something else read."""
        trees = [*self.lets.values(), *outputs]
        reductions = [n for tree in trees for n in walk(tree) if isinstance(n, Reduce)]
        reduced = {n.name for r in reductions for n in walk(r.arg) if isinstance(n, Local)}
        uses = Counter(n.name for tree in trees for n in walk(tree) if isinstance(n, Local))
        for name, value in self.lets.items():
            if name in reduced and uses[name] > 1 and not isinstance(value, Reduce):
                self.stored[Local(name)] = self.memory(value)

    def memory(self, node: Expression) -> Ref:
        """The value of a node, contiguous and in the compute type."""
        if node in self.stored:
            return self.stored[node]
        if isinstance(node, Input) and self.operands[node.name].dtype == self.dtype:
            return self.builder.ref(self.operands[node.name])
        if isinstance(node, Local):
            made = self.memory(self.lets[node.name])
        elif isinstance(node, Reduce):
            made = self.reduced(node)
        else:
            made = self.builder.temp(self.dtype, self.dims(node))
            self.write(node, made, self.dtype)
        self.stored[node] = made
        return made

    def reduced(self, node: Reduce) -> Ref:
        """One reduction by its kernel; the variance is the mean of squared distances from the mean."""
        if node.op == "var":
            centred = Apply("sub", (node.arg, Reduce("mean", node.arg, node.axes)))
            self.stored[node.arg] = self.memory(node.arg)
            self.stored[centred] = self.memory(centred)
            return self.memory(Reduce("mean", Apply("mul", (centred, centred)), node.axes, node.keepdims))
        made = self.builder.temp(self.dtype, self.dims(node))
        source = self.memory(node.arg)
        self.builder.emit("reduce", [source], [made], [REDUCTIONS[node.op], *self.axes(node)])
        return made

    # ---- elementwise parts -----------------------------------------------------------------

    def write(self, node: Expression, target: Ref, dtype: int) -> None:
        """One program that computes `node` into `target`."""
        part = _Part(self, target.dims)
        try:
            value = part.value(node)
            if value.dtype == dtypes.BOOL and dtype != dtypes.BOOL:
                value = part.program.cast(value, self.dtype)
            part.program.output(value, dtype)
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
        if node in formula.stored or isinstance(node, Reduce):
            ref = formula.memory(node)
            return p.input(ref, ref.dtype)
        if isinstance(node, Input):
            value = input_value(p, formula.builder, formula.operands[node.name])
            return value if value.dtype in (dtypes.BOOL, formula.dtype) else p.cast(value, formula.dtype)
        if isinstance(node, Local):
            if node.name not in self.locals:
                self.locals[node.name] = self.value(formula.lets[node.name])
            return self.locals[node.name]
        if isinstance(node, Cast):
            rounded = p.cast(self.value(node.arg), node.dtype)
            return rounded if rounded.dtype == formula.dtype else p.cast(rounded, formula.dtype)
        if isinstance(node, Index):
            return self.index(node)
        assert isinstance(node, Apply), "specialize leaves no other nodes"
        args = [self.value(arg) for arg in node.args]
        return COMPOSED[node.op](p, *args) if node.op in COMPOSED else p.call(node.op, *args)

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
