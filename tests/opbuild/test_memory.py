"""What a proof's cases take: a bound told from shapes, held to what is really taken, and to build's limit."""

from __future__ import annotations

import math
import random
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from ascend_ep.cli.op_build import MOST_MEMORY
from ascend_ep.codegen.graph import NotGenerated
from ascend_ep.codegen.library_session import TensorSpec
from ascend_ep.errors import AscendError
from ascend_ep.frontends.description import describe
from ascend_ep.opbuild.proof.cases import MOST_BYTES, MOST_KEPT, large_case, small_cases
from ascend_ep.opbuild.proof.footprint import footprint
from ascend_ep.opbuild.proof.harness import Case
from ascend_ep.opbuild.proof.numerical import expected
from ascend_ep.opbuild.proof.prove import prove_type
from ascend_ep.opbuild.proof.sizes import free_sizes
from ascend_ep.opbuild.proof.subject import Subject
from ascend_ep.opdef.dtypes import FLOAT32
from ascend_ep.opdef.expression_text import program_text
from ascend_ep.opdef.proof_report import Check

UNARY = ["tanh({})", "exp({})", "sin({})", "{}**2", "30*{}", "sqrt(abs({}))", "softplus({})", "round({})"]
BINARY = ["{} + {}", "{} * {}", "{} / {}", "max({}, {})", "({} if {} > 0 else 1)", "{} % {}"]
FOLDS = ["sum({})", "mean({})", "var({})", "max({})", "logsumexp({})", "softmax({})", "argmax({})",
         "sum({}, axis=0)", "prod({})", "topk({}, 1)"]  # fmt: skip


def written(rng: random.Random, names: list[str], depth: int) -> str:
    """A random formula; folds only where there is an axis."""
    if depth == 0:
        return rng.choice(names)
    kind = rng.choice(["unary", "binary", "fold"])
    pattern = rng.choice({"unary": UNARY, "binary": BINARY, "fold": FOLDS}[kind])
    parts = [written(rng, names, rng.randrange(depth)) for _ in range(pattern.count("{}"))]
    return "(" + pattern.format(*parts) + ")"


def subject_of(formula: str, *dims: tuple[int, ...]) -> Subject:
    return Subject(describe(formula).opdef, tuple(TensorSpec(FLOAT32, d) for d in dims), {})


def drawn(seed: int) -> Subject:
    """A random formula over one or two inputs of rank 0 to 6, most of their sizes equal."""
    rng = random.Random(seed)
    while True:
        rank, size = rng.randrange(7), rng.choice([2, 3, 8, 16, 67, 512, 30000])
        shape = [size if rng.random() < 0.8 else rng.choice([1, 5, 64]) for _ in range(rank)]
        other = [d if rng.random() < 0.7 else 1 for d in shape][rng.randrange(rank + 1) :]
        if rng.random() < 0.3:  # an outer product
            turn = [rng.random() < 0.5 for _ in shape]
            shape, other = (
                [d if t is own else 1 for d, t in zip(shape, turn, strict=True)] for own in (True, False)
            )
        if math.prod(shape) > 1 << 31:
            continue
        formula = f"Foo(x, y) = {written(rng, ['x', 'y'], 4)} + 0*x*y"
        try:
            found = subject_of(formula, tuple(shape), tuple(other))
            free_sizes(found)
        except (AscendError, NotGenerated):
            continue
        return found


def cases_of(subject: Subject) -> list[Case]:
    large = large_case(subject)
    return [*small_cases(subject), *([] if large is None else [large])]


def taken(subject: Subject, case: Case) -> int:
    """The most bytes of arrays at a time while what is right of a case is computed."""
    tracemalloc.start()
    expected(subject, case)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("seed", range(24))
def test_what_a_case_takes_is_told_from_its_shapes(seed: int) -> None:
    subject = drawn(seed)
    sampled = random.Random(seed)
    cases = cases_of(subject)
    told = [footprint(subject, [None if a is None else a.shape for a in c.inputs]) for c in cases]
    assert max(t.peak for t in told) <= MOST_BYTES, subject.program
    assert max(t.kept for t in told) <= MOST_KEPT, subject.program
    largest = max(range(len(cases)), key=lambda i: told[i].peak)
    for i in {largest, sampled.randrange(len(cases))}:
        shown = (program_text(subject.program), cases[i].about)
        assert taken(subject, cases[i]) <= told[i].peak + 100_000, shown


@pytest.mark.parametrize(
    ("rank", "size"), [(r, s) for r in range(7) for s in (8, 512, 30000) if s**r <= 1 << 31]
)
def test_a_square_has_cases_of_every_tail(rank: int, size: int) -> None:
    """Sizes that only happen to be equal change apart, so each case is as small as that of a row."""
    subject = subject_of("Foo(x) = 30*tanh(x/30)", (size,) * rank)
    cases = cases_of(subject)
    tails = {c.inputs[0].shape[-1] for c in cases if c.inputs[0].shape}  # type: ignore[union-attr]
    assert {1, 3, 17, 1030} <= tails or rank == 0
    assert max(c.inputs[0].size for c in cases) <= 1 << 18  # type: ignore[union-attr]


def test_dimensions_that_broadcast_together_change_together() -> None:
    subject = subject_of("Foo(x, y) = x + y", (8, 8), (8,))
    for case in cases_of(subject):
        x, y = (a.shape for a in case.inputs if a is not None)
        assert x[max(len(x) - len(y), 0) :] == y[max(len(y) - len(x), 0) :] or 1 in (*x, *y)
    square = {len(set(c.inputs[0].shape)) == 1 for c in cases_of(subject) if c.inputs[0].ndim == 2}  # type: ignore[union-attr]
    assert square == {True, False}


def test_positions_are_compared_with_every_element() -> None:
    """A ranking's bound compares each of k places with a whole row."""
    subject = subject_of("def foo(x):\n    return torch.topk(x, 1000)", (8, 4000))
    cases = cases_of(subject)
    assert all(c.inputs[0].shape[-1] >= 1000 for c in cases)  # type: ignore[union-attr]
    told = [footprint(subject, [c.inputs[0].shape]).peak for c in cases]  # type: ignore[union-attr]
    at = told.index(max(told))
    assert taken(subject, cases[at]) <= told[at] <= MOST_BYTES


def test_a_formula_that_no_case_fits_is_not_proven() -> None:
    """Of a ranking of everything every place is compared with every other: too many here for any case."""
    subject = subject_of("def foo(x):\n    return torch.topk(x, 100000)", (1, 100000))
    found: list[Check] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "ascend_ep.opbuild.proof.prove.run_apart", lambda *_: pytest.fail("it has nothing to run")
        )
        prove_type(subject, True, None, found.append)  # type: ignore[arg-type]
    (check,) = found
    assert check.passed is False
    assert "no case fits" in check.detail


@pytest.mark.usefixtures("compiler")
@pytest.mark.measures
def test_the_whole_of_build(tmp_path: Path) -> None:
    """Square sizes, an intermediate value of 6 GB, and results that no memory of this machine holds."""
    program = """
import resource, sys
from ascend_ep.cli.op import main
status = main(sys.argv[1:])
# A process begins with the ru_maxrss of the one that started it.
own = next(line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
most = [int(own.split()[1]), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss]
print("memory", status, sum(most))
"""
    prompt = ["--prompt", "Foo(x, y) = softmax(x*y, axis=0)", "--input_shape", "[40000,1];[1,40000]"]
    command = [sys.executable, "-c", program, "build", *prompt, "--search=0", "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    status, kilobytes = map(int, done.stdout.splitlines()[-1].removeprefix("memory ").split())
    assert status == 0, done.stderr
    assert kilobytes << 10 <= MOST_MEMORY
    assert "times are of [2500, 1];[1, 5000]" in done.stdout
