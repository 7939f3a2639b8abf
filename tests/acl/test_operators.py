"""Single operators: loaded, compiled, converted, multiplied; what doesn't match gets its code."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from ascend_ep.cli.atc import main as atc

from .conftest import Run, Runner

TENSOR = {"format": "ND", "shape": [2, 3], "type": "float"}
OPERATORS = [
    {"op": "Add", "input_desc": [TENSOR, TENSOR], "output_desc": [TENSOR]},
    {
        "op": "SoftmaxV2",
        "input_desc": [TENSOR],
        "output_desc": [TENSOR],
        "attr": [{"name": "axes", "type": "list_int", "value": [-1]}],
    },
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("operators")
    (made / "list.json").write_text(json.dumps(OPERATORS))
    words = [f"--singleop={made / 'list.json'}", f"--output={made / 'models'}", "--soc_version=Ascend910B3"]
    assert atc([*words, "--precision_mode_v2=origin"]) == 0
    return made / "models"


def results(done: Run) -> dict[str, str]:
    assert done.status == 0, done.err
    rows = [line for line in done.out.splitlines() if line]
    names = ("loaded", "absent", "other types", "softmax", "other attributes", "cast", "compiled", "product")
    names += ("handle", "by handle", "too few", "gone", "row", "number", "exact")
    return {name: row[len(name) + 1 :] for row in rows for name in names if row.startswith(f"{name} ")}


def values(text: str) -> np.ndarray:
    code, after, *numbers = text.split()
    assert (code, after) == ("0", "0"), text
    return np.array(numbers, float)


def test_loaded_compiled_and_computed(run: Runner, folder: Path, toolkit: Path) -> None:
    env = {"PATH": f"{toolkit}/bin:{os.environ['PATH']}", "ASCEND_HOME_PATH": str(toolkit)}
    got = results(run("operators.c", folder, **env))
    x = np.arange(6.0).reshape(2, 3)
    assert np.allclose(values(got["loaded"]), (x + x).ravel())
    e = np.exp(x - x.max(1, keepdims=True))
    assert np.allclose(values(got["softmax"]), (e / e.sum(1, keepdims=True)).ravel(), rtol=1e-5)
    assert np.allclose(values(got["cast"]), [7, -8, 9, 1, 2, 3])
    assert np.allclose(values(got["compiled"]), (x * x).ravel())
    assert np.allclose(values(got["row"]), [1, 2, 3, 1, 2, 3])
    assert np.allclose(values(got["number"]), [5] * 6)
    assert values(got["exact"]).tolist() == [-0.1, -0.2, -0.3, -0.4, -0.6, -0.7]
    assert np.allclose(values(got["product"]), (2 * x @ x.T).ravel() + np.arange(4))
    assert np.allclose(values(got["by handle"]), (x + x).ravel())
    assert (got["handle"], got["too few"], got["gone"]) == ("0", "100000", "100000")
    assert got["absent"].startswith("100024 0")
    assert got["other types"].startswith("100021 0")
    assert got["other attributes"].startswith("100023 0")
    assert "{axes=[-1]}, not {axes=[0]}" in got["other attributes"]


def test_without_the_converter(run: Runner, folder: Path) -> None:
    got = results(run("operators.c", folder, PATH="/nowhere", ASCEND_HOME_PATH=""))
    assert got["compiled"].startswith("200006 0")
    assert "the operator is compiled by ascend-atc" in got["compiled"]


REFUSED = {
    "alone": ["launched 500002", "stream 0", "again 0", "device 0", "after 0"],
    "other": [
        "launched 500002",
        "stream 500002 Unheard",
        "again 500002 Unheard",
        "device 500002 Unheard",
        "after 0",
    ],
    "goes-on": ["launched 500002", "more 0", "stream 0", "again 0", "device 0", "after 0"],
    "report": ["unsubscribed 0", "stream 107019", "again 0", "device 0", "after 0"],
}


@pytest.mark.parametrize("who", REFUSED)
def test_a_failed_launch_is_told_to_those_who_wait(run: Runner, toolkit: Path, who: str) -> None:
    """Who launched has the code; a thread that only waits would find a sound stream, and read garbage."""
    env = {"PATH": f"{toolkit}/bin:{os.environ['PATH']}", "ASCEND_HOME_PATH": str(toolkit)}
    done = run("refused.c", who, **env)
    assert done.status == 0, done.err
    assert done.out.splitlines() == REFUSED[who]


def test_each_kind_of_launch_tells_its_failure(run: Runner) -> None:
    done = run("refused.c", "kinds")
    assert done.status == 0, done.err
    for line in done.out.splitlines():
        launched, waited, after = re.findall(r" (\d+)", line)
        assert launched == waited != "0", line
        assert after == "0", line
    assert len(done.out.splitlines()) == 10
