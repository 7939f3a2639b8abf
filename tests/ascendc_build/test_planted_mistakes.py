"""Mistakes that tools/kernel_mutants plants in kernels: each is named at its line."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "tools" / "kernel_mutation" / "kernels"


def planted(*words: str) -> dict[str, list[int]]:
    """The table of the tool: what became of the mistakes of each class."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "kernel_mutation", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tools")},
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
    )
    rows = [
        [c.strip() for c in line.split("|")[1:-1]] for line in done.stdout.splitlines() if line[:1] == "|"
    ]
    assert rows, done.stderr
    return {name: [int(n or 0) for n in counts] for name, *counts in rows[2:]}


def test_each_mistake_with_an_event_or_a_copy_is_named():
    flags = (KERNELS / "events.cpp").read_text().splitlines()[0].partition("run:")[2]
    classes = "Flag|event|Barrier|no whole|zero|Copy left"
    table = planted(str(KERNELS / "events.cpp"), *shlex.split(flags), "--most", "1", "--only", classes)
    assert len(table) == 9
    for name, (count, named, *_) in table.items():
        assert named == count, name


def test_mistakes_in_the_header_of_a_mixed_kernel_are_named_and_held_to_a_formula():
    kernel = KERNELS / "mixed.cpp"
    flags = shlex.split(kernel.read_text().splitlines()[0].partition("run:")[2])
    formula = "max(matmul(x, y), 0.125*matmul(x, y))"
    table = planted(str(kernel), *flags, "--formula", formula, "--most", "1", "--only", "CrossCore")
    for name in ("CrossCoreSetFlag left out", "CrossCoreWaitFlag left out"):
        count, named, *_ = table[name]
        assert count == named == 1, name


@pytest.mark.slow
def test_a_kernel_that_differs_from_its_formula_is_refused():
    flags = shlex.split((KERNELS / "queues.cpp").read_text().splitlines()[0].partition("run:")[2])
    with pytest.raises(AssertionError, match=r"as it stands: output 0 differs from the formula"):
        planted(str(KERNELS / "queues.cpp"), *flags, "--formula", "x", "--only", "EnQue twice")


@pytest.mark.slow
def test_what_breaks_a_rule_is_named_and_no_more():
    table = planted("--most", "2")
    count, named, *_, seen_in_values, _, unseen = table["all"]
    assert count > 100
    assert unseen <= 4  # those that change nothing: the same written by all blocks, a count that fits
    assert seen_in_values <= 14
    assert named >= count - 24
