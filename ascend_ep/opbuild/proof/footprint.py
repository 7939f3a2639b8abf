"""How many bytes a proof takes for inputs of given shapes, told from the shapes alone; and the operations of
a program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ascend_ep.codegen.graph import cost_of
from ascend_ep.element_types import numpy_dtype
from ascend_ep.opbuild.proof.product_bound import MOST_PRODUCTS
from ascend_ep.opbuild.proof.subject import Subject
from ascend_ep.opdef.expression import (
    Apply,
    Constant,
    Expression,
    Local,
    MatMul,
    Program,
    Reduce,
    SumTo,
    TopK,
    gives_positions,
)
from ascend_ep.opdef.formula_shape import ShapeScope
from ascend_ep.opdef.reductions import expanded
from ascend_ep.opdef.shape_rule import Inapplicable, Shape

#: Bytes for an element of a value and its bound, both float64, as long as they are needed.
HELD = 16
#: Bytes for an element of the largest operand or result of an operation while its bound is computed: float64
#: temporaries and truth values. tests/opbuild/test_memory.py holds these numbers to what is really taken.
WORK = 176
#: Bytes for every element that a chosen position is compared with.
COMPARED = 72
#: Bytes for an element of an output while its interval is made of reference and bound.
JUDGED = 136
#: Bytes for an element of an output that stay until an element type is proven: reference, least, greatest,
#: NaN. So many times the bytes of its results stay as well: of each way of running it, and of their files.
KEPT, RESULTS = 32, 6
#: Operations per element of a matrix product's operands, as a guess: the sizes aren't at hand.
PRODUCT_WORK = 64


@dataclass(frozen=True)
class Footprint:
    """Bytes. peak: while the reference and its bound are computed. kept: of a case until all are compared.
    moved: operands of one run, and what may go through memory between its passes."""

    peak: int
    kept: int
    moved: int


def footprint(subject: Subject, dims: Sequence[tuple[int, ...] | None]) -> Footprint:
    """Of a case with inputs of these dims (None: absent); where the formula doesn't take them, until that
    is found out."""
    given = {n: d for n, d in zip(subject.names, dims, strict=False) if d is not None}
    scope = _Counting(given)
    try:
        outputs = [_elements(shape) for shape in scope.outputs(subject.program)]
    except Inapplicable:
        outputs = []
    widened = sum(8 * math.prod(d) for d in given.values())
    taken = sum(math.prod(given[n]) * _width(t.dtype) for n, t in subject.given.items())
    made = sum(n * _width(t) for n, t in zip(outputs, subject.output_types, strict=False))
    peak = max(scope.peak, scope.live + JUDGED * max(outputs, default=0)) + widened + 8 * sum(outputs)
    return Footprint(peak, 4 * taken + RESULTS * made + KEPT * sum(outputs), taken + made + scope.between)


def _width(dtype: int) -> int:
    """Bytes of an element, at least those of a float32, in which narrower ones are computed."""
    return max(4, numpy_dtype(dtype).itemsize)


def _elements(shape: Shape) -> int:
    return math.prod(map(int, shape))  # type: ignore[arg-type]


class _Counting(ShapeScope):
    """live: bytes held at this moment of propagate (error_bound.py). between: bytes before and behind folds
    and rankings, which compiled code may keep in memory."""

    live = 0
    peak = 0
    between = 0

    def shape(self, node: Expression) -> Shape:
        if isinstance(node, Reduce) and node.op == "logsumexp":
            return self.shape(expanded(node))
        before = self.live
        result = super().shape(node)
        if isinstance(node, Local | Constant):
            return result
        elements = _elements(result)
        largest = max(elements, (self.live - before) // HELD)
        work = WORK * largest
        if isinstance(node, MatMul):
            inner = _elements(super().shape(node.a)[-1:])
            columns = _elements(super().shape(node.b)[-1:])
            work += WORK * min(elements * inner, max(MOST_PRODUCTS, inner * columns))
        if isinstance(node, Reduce | SumTo | TopK | MatMul):
            self.between += 8 * largest
            if gives_positions(node):
                work += COMPARED * largest * (node.k if isinstance(node, TopK) else 1)  # type: ignore[operator]
        self.peak = max(self.peak, self.live + work)
        self.live = before + HELD * elements
        return result


def work_of(program: Program) -> int:
    """Operations per element of the largest operand, by the generator's table of costs."""
    total = 0
    for node in program.expressions():
        if isinstance(node, Apply):
            total += _work_of_power(node) if node.op == "pow" else cost_of(node.op)
        elif isinstance(node, Reduce):
            total += 3 if node.op == "var" else 1
        elif isinstance(node, MatMul):
            total += PRODUCT_WORK
    return max(total, 1)


def _work_of_power(node: Apply) -> int:
    """Small constant exponents are multiplications and roots."""
    exponent = node.args[1]
    known = exponent.value if isinstance(exponent, Constant) and not isinstance(exponent.value, str) else None
    return 2 if known is not None and abs(float(known)) <= 4 else cost_of("pow")
