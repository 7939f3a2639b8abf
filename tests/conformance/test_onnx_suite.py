"""ONNX's own test-suite, against the recorded lists of what passes and what is native.

By default a sample over every operator; with --slow all. tools/conformance records the lists.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from onnx_suite import lists
from onnx_suite.cases import Case, Loaded, all_cases
from onnx_suite.fleet import Result, run_all
from onnx_suite.runners import OURS, run_case


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return all_cases()


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Formulas aren't compiled: the lists were recorded so."""
    monkeypatch.setenv("ASCEND_EP_CODEGEN", "0")
    monkeypatch.setenv("ASCEND_EP_BACKEND", "own")  # run_case changes it


def run(cases: Sequence[Case]) -> list[Result]:
    """Both of our runners, in this process."""
    results = []
    for case in cases:
        loaded = case.load()
        for runner in OURS:
            try:
                results.append(Result(case.name, runner, host=run_case(case, loaded, runner)))
            except Exception as error:
                results.append(Result(case.name, runner, f"{type(error).__name__}: {error}"))
    return results


def sample(cases: Sequence[Case]) -> list[Case]:
    """The middle one of every operator's recorded cases; two of the whole models."""
    recorded = {case for case, _ in lists.read(lists.PASSING)}
    groups: dict[str, list[Case]] = {}
    for case in cases:
        if case.name in recorded:
            groups.setdefault(case.operator or case.name.partition("/")[0], []).append(case)
    return [group[len(group) // 2] for name, group in groups.items() if name != "real"]


def test_sample_of_the_recorded_cases(cases: list[Case], interpreted: None) -> None:
    chosen = sample(cases)
    assert len(chosen) > 150
    assert lists.losses(run(chosen)) == []


@pytest.mark.slow
def test_all_recorded_cases(cases: list[Case], interpreted: None) -> None:
    assert lists.losses(run_all(cases, OURS)) == []


def test_whatever_onnxruntime_passes_passes() -> None:
    marked = (lists.FOLDER / lists.MARK).read_text().split()
    assert len(marked) > 1500
    wanted = {(case, runner) for case in marked for runner in OURS}
    assert wanted <= lists.read(lists.PASSING)


# --- the tool itself ------------------------------------------------------------------------


def planted(name: str, load: object) -> Case:
    return Case(name, "", 1e-3, 1e-7, load)  # type: ignore[arg-type]


def test_a_process_that_dies_or_hangs_costs_its_case_alone(cases: list[Case]) -> None:
    good = next(c for c in cases if c.name == "node/test_relu")
    dying = planted("node/test_dies", lambda: os._exit(7))
    hanging = planted("node/test_hangs", lambda: time.sleep(60))
    results = run_all([dying, good, hanging], ["own"], processes=1, limit=5)
    found = {r.case: r for r in results}
    assert found["node/test_relu"].native
    assert found["node/test_dies"].failure == "the process ended with 7"
    assert found["node/test_hangs"].failure == "took more than 5 s"


def test_lists_tell_what_was_lost(tmp_path: Path, cases: list[Case]) -> None:
    folder = tmp_path
    before = [
        Result("node/test_a", "onnxruntime"),
        *(Result("node/test_a", r) for r in OURS),
        Result("node/test_b", "own"),
        Result("node/test_b", "plugin", "wrong"),
    ]
    lists.write(before, cases, folder)
    assert (folder / lists.PASSING).read_text() == "node/test_a\nnode/test_b own\n"
    assert lists.losses(before, folder) == []
    after = [Result("node/test_a", "own", "wrong"), Result("node/test_b", "own", host="Abs: no kernel")]
    assert lists.losses(after, folder) == [
        "node/test_a fails in own: wrong",
        "node/test_b isn't native in own: Abs: no kernel",
    ]
    assert lists.gains([Result("node/test_b", "plugin")], folder) == [("node/test_b", "plugin")]
    assert lists.shortfall([before[0], Result("node/test_a", "plugin", "wrong")]) == [
        "node/test_a fails in plugin: wrong"
    ]


def test_wrong_outputs_are_seen(cases: list[Case], interpreted: None) -> None:
    case = next(c for c in cases if c.name == "node/test_relu")
    loaded = case.load()
    inputs, outputs = loaded.data[0]
    wrong = Loaded(loaded.model, [(inputs, [outputs[0] + 1])])
    with pytest.raises(AssertionError):
        run_case(case, wrong, "own")
