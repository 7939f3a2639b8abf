"""Built libraries at random ranks, sizes and element types: what their description promises runs and agrees
with float64, and what it doesn't promise is refused with a reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from programs import Operator, drawn
from promises import MOST_DIMS, call, promised

from ascend_ep.codegen.builder import build_graph
from ascend_ep.codegen.compiled_library import compile_assembly
from ascend_ep.codegen.graph import Node, NotGenerated
from ascend_ep.codegen.library_call import run_library
from ascend_ep.codegen.library_session import TensorSpec
from ascend_ep.codegen.schedule import Schedule
from ascend_ep.errors import AscendError
from ascend_ep.frontends.description import describe
from ascend_ep.opbuild.operators.taken import taken
from ascend_ep.opbuild.proof.cases import values
from ascend_ep.opbuild.proof.harness import Case
from ascend_ep.opbuild.proof.numerical import expected
from ascend_ep.opbuild.proof.subject import Subject, assembly_of, generate
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression_text import program_text
from ascend_ep.opdef.output_types import OutputType, infer

CALLS = 25
QUICK = Schedule(unroll=1, optimize=1)
#: Formulas, the shapes they are built for, and whether these must serve any rank.
FORMULAS = {
    "one input": ("F(x) = x * sigmoid(x)", "2,3,5", True),
    "a scalar": ("F(x) = x * x + 1", "", True),
    "a row beside": ("F(x, w) = x * w + 1", "4,33;33", True),
    "a column beside": ("F(x, w) = x * w + 1", "4,33;4,1", True),
    "rows and columns": ("F(x, w) = tanh(x + w)", "4,1;1,5", True),
    "a middle dimension": ("F(x, w) = x - w", "2,3,5;2,1,5", True),
    "three inputs": ("F(x, w, b) = x * w + b", "2,3,4;4;3,1", True),
    "a number beside": ("F(x, a) = max(x, 0) + a * min(x, 0)", "4,33;1", True),
    "softmax": ("F(x) = exp(x - max(x, axis=-1)) / sum(exp(x - max(x, axis=-1)), axis=-1)", "4,33", True),
    "norm": ("F(x, g) = x / sqrt(mean(x*x, axis=-1, keepdims=True) + 1e-5) * g", "2,4,33;33", True),
    "last two axes": ("F(x) = x - mean(x, axis=(-2, -1), keepdims=True)", "2,4,5", True),
    "masked": ("F(x, m) = sum(x * m, axis=-1, keepdims=False)", "2,3,4,9;2,1,4,9", True),
    "product": ("F(x, w) = x @ w + 1", "2,4,5;5,3", True),
    "top": ("F(x) -> v, i = topk(x, 3)", "4,9", True),
    "taken": ("F(x, i) = take(x, i, axis=-1)", "4,9;3", True),
    "first axis": ("F(x) = x / sum(x*x + 1, axis=0, keepdims=True)", "4,5", False),
    "taken first": ("F(x, i) = take(x, i, axis=0)", "8,4;3", False),
    "everything": ("F(x) = x - sum(x, axis=(0, 1), keepdims=True)", "4,5", False),
    "joined": ("F(x, w) = concat(x, w, axis=-1)", "4,5;4,3", True),
    "parts": ("F(x) = slice(x, 0, 3) * chunk(x, 2, 0)", "4,6", True),
    "two results": ("F(x, w) -> a, b = x + 1, x * w", "4,5;5", False),
}


def _kinds(opdef_kinds: Sequence[str]) -> list[int]:
    return [dtypes.NUMBERS[k] for k in opdef_kinds]


def _check(subject: Subject, random: Random, name: str) -> Iterator[str]:
    """Builds it, and calls it in many ways; yields what the calls were."""
    subjects = [Subject(v.opdef, v.inputs, v.attributes, QUICK) for v in subject.variants()]
    parts = [(v, generate(v)) for v in subjects]
    library = compile_assembly(assembly_of(parts, 'ascend-op build --prompt "F"'))
    takes = taken(parts)
    rng = np.random.default_rng(random.getrandbits(32))
    slots = [i for i, t in enumerate(subject.inputs) if t is not None]
    for _ in range(CALLS):
        kinds, shapes = call(takes, random)
        if max(map(len, shapes), default=0) > MOST_DIMS:
            continue
        about = f"{name}: {list(zip(kinds, shapes, strict=True))}, {takes}"
        inputs: list[np.ndarray | None] = [None] * len(subject.inputs)
        for slot, kind, dims in zip(slots, _kinds(kinds), shapes, strict=True):
            is_index = kind in (dtypes.INT32, dtypes.INT64) and "take" in program_text(subject.program)
            inputs[slot] = (
                np.zeros(dims, dtypes.NUMPY[kind]) if is_index else values(rng, dims, kind, "ordinary")
            )
        results, refusal = _called(library.path, subject, inputs)
        if refusal is not None:
            assert not promised(takes, kinds, shapes) or takes["constraints"][1:], f"{about}: {refusal}"
            assert refusal.code == "E40007", about
            assert len(refusal.text) > 20, about
            yield "refused"
            continue
        assert promised(takes, kinds, shapes), f"it runs, and isn't promised: {about}"
        specs = tuple(
            None if a is None else TensorSpec(t, a.shape)
            for a, t in zip(inputs, _every(kinds, slots, len(inputs)), strict=True)
        )
        same = Subject(subject.opdef, specs, subject.attributes)
        wanted = _inferred(same)
        if wanted is None:
            continue
        assert [tuple(d) for _, d in wanted if d is not None] == [r.shape for r in results], about
        case = Case(tuple(inputs), about)
        bound = expected(same, case)
        if bound is not None:
            for o, result in enumerate(results):
                right = bound.holds(o, result.astype(np.float64)) | bound.lost(o)
                assert np.all(right), f"{about}: output {o} is {result}, not {bound.reference[o]}"
        yield "ran"


def _inferred(subject: Subject) -> list[OutputType] | None:
    """The outputs of the definition; None where it refuses a ranking that no result needs, so that the code
    has none."""
    types = [None if s is None else (s.dtype, s.dims) for s in subject.inputs]
    try:
        return infer(subject.opdef, types, subject.attributes)
    except AscendError as error:
        if "k is " in error.text and not any(n.ranking for n in _nodes(subject)):
            return None
        raise


def _nodes(subject: Subject) -> list[Node]:
    form = subject.form
    return build_graph(subject.program, subject.names, form.types(), subject.output_types).nodes()


def _called(
    path: Path, subject: Subject, inputs: Sequence[np.ndarray | None]
) -> tuple[list[np.ndarray], AscendError | None]:
    try:
        return run_library(path, subject.opdef.op, inputs, len(subject.output_types)), None
    except AscendError as error:
        return [], error


def _every(kinds: Sequence[str], slots: Sequence[int], count: int) -> list[int]:
    found = [0] * count
    for slot, kind in zip(slots, _kinds(kinds), strict=True):
        found[slot] = kind
    return found


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_of_every_kind(name: str) -> None:
    prompt, shapes, is_any = FORMULAS[name]
    opdef = describe(prompt).opdef
    specs = tuple(
        TensorSpec(s.types[0], tuple(int(d) for d in dims.split(",") if d))
        for s, dims in zip(opdef.inputs, shapes.split(";"), strict=True)
    )
    subject = Subject(opdef, specs, {})
    assert bool(subject.form.groups) == is_any
    assert "ran" in _check(subject, Random(name), name)


def _random(operators: Sequence[Operator]) -> None:
    seen: set[object] = set()
    for operator in operators:
        arrays = operator.inputs(0)
        specs = tuple(
            None if a is None else TensorSpec(t, a.shape) for a, t in zip(arrays, operator.types, strict=True)
        )
        subject = Subject(operator.opdef, specs, operator.given)
        try:
            seen |= set(_check(subject, Random(operator.seed), str(operator)))
        except NotGenerated:
            continue
        seen.add(bool(subject.form.groups))
    assert seen == {"ran", "refused", True, False}


def test_random_operators() -> None:
    """Some that serve any rank, which few do, and some that don't."""
    operators = drawn(104, seed=14)
    _random([operators[i] for i in (0, 1, 23, 43, 50, 91, 103)])


@pytest.mark.slow
def test_many_random_operators() -> None:
    _random(drawn(200, seed=15))
