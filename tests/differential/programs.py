"""Random operators: a definition with a formula of up to 30 operations, and inputs of several sizes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
from drawing import MAX_RANK, Drawing, Input, Local, Shape, Typed, joined, nodes_of
from steps import STEPS

from ascend_ep.codegen.graph import ELEMENTS
from ascend_ep.element_types import numpy_dtype
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.expression import Apply, Given, Program
from ascend_ep.opdef.expression_text import program_text
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.loader import parse_definitions

Array = np.ndarray[Any, Any]
MAX_NODES = 30
#: Sizes of the last dimension, around the lengths of vectors and tiles, and of the others.
TAILS = (1, 2, 3, 5, 7, 8, 15, 17, 31, 33, 63, 64, 65, 100, 129, 260)
OTHERS = (1, 2, 3, 5)
CORNERS = (
    0.0, -0.0, 1.0, -1.0, 1e-40, -1e-40, 6e-8, 1.2e-38, 88.0, -104.0, 65504.0, 3.4e38, -3.4e38, np.inf,
    -np.inf, np.nan, 1e7,
)  # fmt: skip
#: Element types of the inputs of a program: usually one that makes arithmetic float32.
_MIXES = (
    *[(dtypes.FLOAT32,)] * 6,
    (dtypes.FLOAT16, dtypes.FLOAT32),
    (dtypes.BFLOAT16, dtypes.FLOAT32, dtypes.FLOAT16),
    (dtypes.FLOAT32, dtypes.INT8, dtypes.UINT8, dtypes.BOOL, dtypes.INT32),
    (dtypes.FLOAT32, dtypes.INT16, dtypes.UINT16, dtypes.BOOL, dtypes.FLOAT16),
    (dtypes.FLOAT32, dtypes.INT64, dtypes.INT32, dtypes.UINT32, dtypes.UINT64),
    (dtypes.FLOAT64, dtypes.FLOAT32),
)
#: Element types of an output: usually floats, else any.
_FLOATS = (*[dtypes.FLOAT32] * 4, dtypes.FLOAT16, dtypes.BFLOAT16)


@dataclass(frozen=True)
class Operator:
    """shapes: per input its dimensions as letters, "1" and numbers; None for one that is absent.
    given: attributes of the node. sizes: per case the letters' sizes. seed: of the inputs' values.
    drawn: the program that the formula was written from."""

    opdef: OpDef
    shapes: tuple[Shape | None, ...]
    types: tuple[int, ...]
    given: Mapping[str, Any]
    sizes: tuple[Mapping[str, int], ...]
    tags: frozenset[str]
    seed: int
    drawn: Program

    @property
    def program(self) -> Program:
        return formula_program(self.opdef)

    @property
    def given_inputs(self) -> list[str]:
        """The names of the inputs that are there."""
        return [s.name for s, dims in zip(self.opdef.inputs, self.shapes, strict=True) if dims is not None]

    def inputs(self, case: int) -> list[Array | None]:
        """The inputs of a case. The second has corners of the number formats among its values."""
        rng = np.random.default_rng((self.seed, case))
        sizes = self.sizes[case]
        found: list[Array | None] = []
        for dims, dtype in zip(self.shapes, self.types, strict=True):
            shape = None if dims is None else [int(d) if d.isdigit() else sizes[d] for d in dims]
            found.append(None if shape is None else values(rng, shape, dtype, corners=case == 1))
        return found

    def __str__(self) -> str:
        tensors = [
            f"{spec.name}: {dtypes.name(t)}{'absent' if dims is None else list(dims)}"
            for spec, dims, t in zip(self.opdef.inputs, self.shapes, self.types, strict=True)
        ]
        results = [f"{o.name}: {dtypes.name(o.types[0])}" for o in self.opdef.outputs]
        text = program_text(self.program)
        return f"{', '.join(tensors)}; {', '.join(results)}; {dict(self.given)}; {list(self.sizes)}\n{text}"


def values(rng: np.random.Generator, shape: list[int], dtype: int, corners: bool) -> Array:
    """Numbers of magnitudes around 1; with `corners` a few in a hundred are from CORNERS."""
    if dtype == dtypes.BOOL:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype not in dtypes.FLOATS:
        return rng.integers(0 if dtype in dtypes.UNSIGNED else -9, 10, shape).astype(numpy_dtype(dtype))
    array = np.asarray(rng.standard_normal(shape) * np.exp(rng.uniform(-2, 1, shape)))
    if corners and array.size:
        flat = array.reshape(-1)
        count = max(1, flat.size // 40)
        flat[rng.permutation(flat.size)[:count]] = rng.choice(CORNERS, count)
        array = flat.reshape(shape)
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array).astype(numpy_dtype(dtype)).reshape(shape)


def operator(random: Random) -> Operator:
    """A definition with cases."""
    d = Drawing(random, MAX_NODES)
    letters = "abcd"[-random.randint(1, MAX_RANK) :]
    mix = d.choose(_MIXES)
    shapes: list[Shape | None] = [tuple(letters)]
    types = [mix[0]]
    for _ in range(random.randint(0, 3)):
        shapes.append(_broadcasting(d, letters))
        types.append(d.choose(mix))
    for i, (shape, dtype) in enumerate(zip(shapes, types, strict=True)):
        assert shape is not None
        d.pool.append(Typed(Input(f"x{i}"), "bool" if dtype == dtypes.BOOL else "number", shape))
    d.unread = list(d.pool)
    optional = _optional(d, shapes, types, mix[0]) if d.often(1) else None
    wanted = random.randint(2, 24)
    names = list(STEPS)
    while len(d.steps) < wanted:
        STEPS[d.choose(names)](d)
    results = _results(d)
    program = d.program(results)
    types_of_results = (*mix, *_FLOATS) if d.often() else tuple(ELEMENTS)
    kinds = [dtypes.BOOL if r.kind == "bool" else d.choose(types_of_results) for r in results]
    opdef = _definition(d, program, types, optional, kinds)
    given_attributes = {n: v for n, (_, _, v) in d.attributes.items() if v is not None}
    sizes = _sizes(d, letters)
    seed = random.getrandbits(32)
    tags = frozenset(d.tags)
    return Operator(opdef, tuple(shapes), tuple(types), given_attributes, sizes, tags, seed, program)


def _broadcasting(d: Drawing, letters: str) -> Shape:
    """A shape that broadcasts to `letters`: a scalar, a row, a column, or with ones anywhere."""
    kind = d.choose(("scalar", "row", "column", "whole", "any", "any"))
    if kind == "scalar":
        return d.choose(((), ("1",), ("1",) * len(letters)))
    if kind == "row":
        return (letters[-1],)
    if kind == "column":
        return (*letters[:-1], "1")
    if kind == "whole":
        return tuple(letters)
    tail = letters[d.choose(range(len(letters))) :]
    return tuple("1" if d.often(1) else letter for letter in tail)


def _optional(d: Drawing, shapes: list[Shape | None], types: list[int], dtype: int) -> str:
    """An optional input of the last shape of the pool, there or not, and what stands for it."""
    like = d.pick()
    assert like is not None
    name = f"x{len(shapes)}"
    d.add(Apply("select", (Given(name), Input(name), like.node)), "number", like.shape)
    shapes.append(like.shape if d.often(2) else None)
    types.append(dtype)
    return name


def _results(d: Drawing) -> list[Typed]:
    """Up to three outputs; what nothing reads is added up where it fits, so that little is drawn in vain."""
    ends = [v for v in d.unread if isinstance(v.node, Local)]
    most = d.choose((1, 2, 3))
    for _ in range(len(ends) * 2):
        if len(ends) <= most or not d.room:
            break
        first, second, *rest = ends
        fit = first.kind == second.kind == "number" and joined(first.shape, second.shape) is not None
        ends = [*rest, d.apply("add", first, second)] if fit else [second, *rest, first]
    return ends[-most:]


def _definition(
    d: Drawing, program: Program, types: list[int], optional: str | None, outputs: list[int]
) -> OpDef:
    inputs = [
        {"name": f"x{i}", "type": dtypes.name(t)}
        | ({"param_type": "optional"} if f"x{i}" == optional else {})
        for i, t in enumerate(types)
    ]
    attributes = [{"name": n, "type": kind, "default": v} for n, (kind, v, _) in d.attributes.items()]
    entry = {
        "op": "Random",
        "inputs": inputs,
        "outputs": [{"name": f"y{i}", "type": dtypes.name(t)} for i, t in enumerate(outputs)],
        "attributes": attributes,
        "formula": program_text(program).split("\n"),
    }
    return parse_definitions(json.dumps(entry))[0]


def _sizes(d: Drawing, letters: str) -> tuple[Mapping[str, int], ...]:
    """Two cases of odd sizes, and one with an empty dimension unless something needs an element of each."""

    def size(letter: str) -> int:
        options = TAILS if letter == letters[-1] else OTHERS
        return d.choose([n for n in options if n >= d.least.get(letter, 0)])

    found = [{letter: size(letter) for letter in letters} for _ in range(2)]
    empty = [letter for letter in letters if not d.least.get(letter)]
    return (*found, *([{**found[0], d.choose(empty): 0}] if empty else []))


def drawn(count: int, seed: int = 0) -> list[Operator]:
    """`count` different operators, named Random0, Random1, ...; of a seed always the same."""
    found: dict[str, Operator] = {}
    for number in itertools.count():
        made = operator(Random(f"{seed}, {number}"))
        if nodes_of(made.program) <= MAX_NODES:
            found.setdefault(str(made), made)
        if len(found) == count:
            break
    return [replace(o, opdef=replace(o.opdef, op=f"Random{i}")) for i, o in enumerate(found.values())]
