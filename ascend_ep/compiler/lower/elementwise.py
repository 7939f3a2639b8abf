"""Elementwise operators whose arithmetic depends on the element type, as expressions over typed values.

EXPRESSIONS says what each operator computes; activations and functions of floats alone are formulas in
op_schemas and go through lower/formula.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from ascend_ep.compiler.lower.arguments import enum_of, needed, operand
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.broadcast import broadcast
from ascend_ep.opdef.dims import static
from ascend_ep.opdef.expression import Cast, Number
from ascend_ep.plan.tile_program import ProgramError, TileProgram, Value, computed_dtype
from ascend_ep.plan.tile_value import MAX_INPUTS

Program = TileProgram[Ref]
Expression = Callable[["Arguments"], Value]

COMPUTABLE = (*dtypes.FLOATS, *dtypes.INTEGERS, dtypes.BOOL)
CASTS = ("Cast", "CastLike")


class Arguments:
    """The operands of a node as values of the program that computes it."""

    def __init__(self, node: NodeView, b: PlanBuilder) -> None:
        self.node = node
        self.program = Program()
        self._builder = b

    def given(self, index: int) -> bool:
        return operand(self.node.inputs, index) is not None

    def value(self, index: int) -> Value:
        """The elements of an input."""
        stored = self.node.op_type in CASTS
        return input_value(self.program, self._builder, needed(self.node.inputs, index), stored)

    def all(self) -> list[Value]:
        return [self.value(i) for i in range(len(self.node.inputs))]

    def call(self, op: str, *args: Value | float) -> Value:
        return self.program.call(op, *args)


def input_value(program: Program, b: PlanBuilder, source: Operand, stored: bool = False) -> Value:
    """The elements of an operand; a single known number becomes a constant of the program. `stored`: also of
    types that are not computed with."""
    if source.dtype not in COMPUTABLE and not (stored and source.dtype in dtypes.STORED):
        raise Unsupported(f"there is no native arithmetic on {dtypes.name(source.dtype)}")
    if all(static(d) == 1 for d in source.dims):
        if source.constant is not None and source.const is not None:
            return program.const(source.const.reshape(-1)[0].item(), source.dtype)
        if source.shape_value is not None and source.dtype != dtypes.BOOL:
            return program.const(source.shape_value[0], source.dtype)
    return program.input(b.ref(source), source.dtype)


def emit_program(b: PlanBuilder, program: Program, outputs: Sequence[Ref]) -> None:
    """Runs a program that has an output for each of `outputs`."""
    try:
        computed = program.finish()
    except ProgramError as error:
        raise Unsupported(str(error)) from None
    b.compute(computed, outputs)


# ---- what each operator computes ------------------------------------------------------------------


def _primitive(op: str) -> Expression:
    """The kernel's primitive of that name on all operands."""
    return lambda a: a.call(op, *a.all())


def _folded(op: str) -> Expression:
    """A primitive of two operands over any number of them, from the left."""
    return lambda a: reduce(lambda x, y: a.call(op, x, y), a.all())


def _mean(a: Arguments) -> Value:
    return _folded(FOLDED["Mean"])(a) / float(len(a.node.inputs))


#: By the operators that take any number of inputs, the primitive that joins two.
FOLDED = {"Max": "max", "Mean": "add", "Min": "min", "Sum": "add"}


def lower_many(node: NodeView, b: PlanBuilder) -> None:
    """One of FOLDED with more inputs than a program takes: programs that each take the result before."""
    target = needed(node.outputs, 0)
    left = [needed(node.inputs, i) for i in range(len(node.inputs))]
    so_far: list[Ref] = []
    while left:
        taken, left = left[: MAX_INPUTS - len(so_far)], left[MAX_INPUTS - len(so_far) :]
        program = Program()
        values = [program.input(ref, ref.dtype) for ref in so_far]
        values += [input_value(program, b, given) for given in taken]
        value = reduce(lambda x, y: program.call(FOLDED[node.op_type], x, y), values)
        dims = broadcast(*(ref.dims for ref in so_far), *(given.dims for given in taken))
        so_far = [b.temp(computed_dtype(target.dtype), dims) if left else b.out(target)]
        last = value / float(len(node.inputs)) if node.op_type == "Mean" and not left else value
        program.output(last, so_far[0].dtype)
        emit_program(b, program, so_far)


def _prelu(a: Arguments) -> Value:
    x, slope = a.all()
    return a.program.select(a.call("lt", x, 0), slope * x, x)


def _pow(a: Arguments) -> Value:
    """base ^ exponent in the base's type; an integer base with a float exponent goes through float64."""
    base, exponent = a.all()
    if base.dtype == exponent.dtype or base.dtype in dtypes.FLOATS:
        return power(a.program, base, a.program.cast(exponent, base.dtype))
    if exponent.dtype not in dtypes.FLOATS:
        return a.call("pow", base, a.program.cast(exponent, base.dtype))
    wide = [a.program.cast(v, dtypes.FLOAT64) for v in (base, exponent)]
    return a.program.cast(a.call("pow", *wide), base.dtype)


def power(program: TileProgram[Ref], base: Value, exponent: Value) -> Value:
    """base ^ exponent; small whole exponents, of whatever type the model gives them, are multiplications."""
    given = exponent.node.arg if isinstance(exponent.node, Cast) else exponent.node
    if isinstance(given, Number) and given.value == 2:
        return base * base
    if isinstance(given, Number) and given.value == 3:
        return base * base * base
    return program.call("pow", base, exponent)


def _mod(a: Arguments) -> Value:
    x, y = a.all()
    if a.node.attr("fmod", 0):
        return a.call("fmod", x, y)
    if x.dtype in dtypes.FLOATS:
        raise Unsupported("Mod of floats needs fmod=1")
    return a.call("mod", x, y)


def _clip(a: Arguments) -> Value:
    x = a.value(0)
    if a.node.version < 11:
        low, high = a.node.attr("min"), a.node.attr("max")
        return a.program.clip(x, low, high)
    bounds = [a.value(i) if a.given(i) else None for i in (1, 2)]
    return a.program.clip(x, *bounds)


def _where(a: Arguments) -> Value:
    return a.program.select(*a.all())


def _is_inf(a: Arguments) -> Value:
    x = a.value(0)
    signs = (("detect_positive", float("inf")), ("detect_negative", float("-inf")))
    found = [a.call("eq", x, limit) for name, limit in signs if a.node.attr(name, 1)]
    return reduce(lambda p, q: a.call("or", p, q), found, a.program.const(0, dtypes.BOOL))


def _bit_shift(a: Arguments) -> Value:
    """Signed numbers are filled up with their sign, and so is what a shift that is negative, or of all bits,
    leaves of them."""
    x, by = a.all()
    if enum_of(a.node, "direction", ("RIGHT", "LEFT"), ""):
        return a.call("shl", x, by)
    if x.dtype not in dtypes.SIGNED:
        return a.call("shr", x, by)
    return a.program.select(
        a.call("lt", x, 0), a.call("not", a.call("shr", a.call("not", x), by)), a.call("shr", x, by)
    )


def _cast(a: Arguments) -> Value:
    """The output's type is the target; its definition says so of Cast (`to`) and CastLike alike. A float8
    takes its largest number for what is beyond it, unless saturate is 0. Integers of less than a byte round
    halves away from zero, as in onnxruntime."""
    x, dtype = a.value(0), needed(a.node.outputs, 0).dtype
    largest = dtypes.FLOAT8_LARGEST.get(dtype)
    if largest is not None and a.node.attr("saturate", 1):
        wide = x if x.dtype == dtypes.FLOAT32 else a.program.cast(x, dtypes.FLOAT32)
        return a.program.clip(wide, -largest, largest)
    if dtype in dtypes.SUB_BYTE and x.dtype in (dtypes.FLOAT32, dtypes.FLOAT64):
        whole = a.call("trunc", x)
        is_half = a.call("ge", a.call("abs", x - whole), 0.5)
        x = whole + a.program.select(is_half, a.call("sign", x), 0)
    return a.program.cast(x, dtype)


def _compared(op: str) -> Expression:
    def expression(a: Arguments) -> Value:
        x, y = a.all()
        if x.dtype == dtypes.BOOL and op != "eq":
            raise Unsupported("there is no order of bools")
        return a.call(op, x, y)

    return expression


EXPRESSIONS: dict[str, Expression] = {
    "Abs": _primitive("abs"),
    "Add": _primitive("add"),
    "And": _primitive("and"),
    "BitShift": _bit_shift,
    "BitwiseAnd": _primitive("and"),
    "BitwiseNot": _primitive("not"),
    "BitwiseOr": _primitive("or"),
    "BitwiseXor": _primitive("xor"),
    "Cast": _cast,
    "CastLike": _cast,
    "Clip": _clip,
    "Div": _primitive("div"),
    "Equal": _compared("eq"),
    "Greater": _compared("gt"),
    "GreaterOrEqual": _compared("ge"),
    "IsInf": _is_inf,
    "IsNaN": lambda a: a.program.isnan(a.value(0)),
    "Less": _compared("lt"),
    "LessOrEqual": _compared("le"),
    "Max": _folded(FOLDED["Max"]),
    "Mean": _mean,
    "Min": _folded(FOLDED["Min"]),
    "Mod": _mod,
    "Mul": _primitive("mul"),
    "Neg": _primitive("neg"),
    "Not": _primitive("not"),
    "Or": _primitive("or"),
    "PRelu": _prelu,
    "Pow": _pow,
    "Relu": lambda a: a.call("max", a.value(0), 0),
    "Sign": _primitive("sign"),
    "Sub": _primitive("sub"),
    "Sum": _folded(FOLDED["Sum"]),
    "Where": _where,
    "Xor": _primitive("xor"),
}


@lowers("elementwise")
def lower_elementwise(node: NodeView, b: PlanBuilder) -> None:
    """One operator of EXPRESSIONS, or a view where the elements stay as they are."""
    target = needed(node.outputs, 0)
    expression = EXPRESSIONS.get(node.op_type)
    if expression is None:
        raise Unsupported(f"there is no elementwise program for {node.op_type}")
    if _old_broadcast(node):
        raise Unsupported("broadcasting by attributes (opset 6 and before) is not implemented")
    if node.op_type in CASTS and needed(node.inputs, 0).dtype == target.dtype:
        b.bind(target, b.ref(needed(node.inputs, 0)))
        return
    if node.op_type in FOLDED and len(node.inputs) > MAX_INPUTS:
        try:
            lower_many(node, b)
        except (ProgramError, ValueError) as error:
            raise Unsupported(str(error)) from None
        return
    arguments = Arguments(node, b)
    if target.dtype not in COMPUTABLE and not (node.op_type in CASTS and target.dtype in dtypes.STORED):
        raise Unsupported(f"there is no native arithmetic on {dtypes.name(target.dtype)}")
    try:
        value = expression(arguments)
        if value.dtype != computed_dtype(target.dtype):
            raise Unsupported(f"its result is {dtypes.name(value.dtype)}, not {dtypes.name(target.dtype)}")
        arguments.program.output(value, target.dtype)
    except ProgramError as error:
        raise Unsupported(str(error)) from None
    emit_program(b, arguments.program, [b.out(target)])


def _old_broadcast(node: NodeView) -> bool:
    return node.version < 7 and (node.has_attr("axis") or bool(node.attr("broadcast", 0)))


# ---- operators without arithmetic on their input --------------------------------------------------


@lowers("dropout")
def lower_dropout(node: NodeView, b: PlanBuilder) -> None:
    """Dropout at inference: the input itself, and a mask of true."""
    training = operand(node.inputs, 2)
    if training is not None and (training.const is None or bool(training.const)):
        raise Unsupported("it may run in training mode")
    if node.version < 7 and not node.attr("is_test", 0):
        raise Unsupported("it runs in training mode")
    target, mask = operand(node.outputs, 0), operand(node.outputs, 1)
    if target is not None:
        b.bind(target, b.ref(needed(node.inputs, 0)))
    if mask is not None:
        program = Program()
        program.output(program.const(1, dtypes.BOOL), dtypes.BOOL)
        emit_program(b, program, [b.out(mask)])


@lowers("bit_cast")
def lower_bit_cast(node: NodeView, b: PlanBuilder) -> None:
    b.emit("bitcast", [b.ref(needed(node.inputs, 0))], [b.out(needed(node.outputs, 0))])
