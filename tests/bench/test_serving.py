"""What tools/bench_serving sends, reads and concludes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from page_section import write_section
from serving_bench.forms import HEADER_LENGTH, answer, request
from serving_bench.load import Slot
from serving_bench.report import END, START, Results, errors, table, verdicts

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_binary_request_carries_the_bytes_behind_its_header() -> None:
    sent = request("v2 binary", "m", X)
    length = int(sent.headers[HEADER_LENGTH])
    header = json.loads(sent.body[:length])
    assert header["inputs"] == [
        {"name": "x", "shape": [2, 3], "datatype": "FP32", "parameters": {"binary_data_size": 24}}
    ]
    assert sent.body[length:] == X.tobytes()


def test_answers_are_read_in_every_form() -> None:
    tensor = {"name": "y", "shape": [2, 3], "datatype": "FP32"}
    plain = json.dumps({"outputs": [{**tensor, "data": X.ravel().tolist()}]}).encode()
    header = json.dumps({"outputs": [{**tensor, "parameters": {"binary_data_size": 24}}]}).encode()
    binary = answer("v2 binary", {HEADER_LENGTH.lower(): str(len(header))}, header + X.tobytes())
    assert np.array_equal(answer("v2 json", {}, plain), X)
    assert np.array_equal(binary, X)
    assert np.array_equal(answer("raw", {}, X.tobytes()), X.ravel())


def results(times: float, p99: float, failed: int = 0) -> Results:
    """Two rounds, the second on a machine at half speed, where ours is `times` as fast as FastAPI."""
    machine, settings = {"cpu": "some", "cpus": 2}, {"rounds": 2, "seconds": 1, "connections": 16}
    slots = {
        ("ascend", "v2 binary", "small"): [
            Slot(times * r, 0.001, p99, failed, 0.5, 1e-5) for r in (1000.0, 500.0)
        ],
        ("fastapi", "raw", "small"): [Slot(r, 0.002, 0.004, 0, 0.2, 1e-4) for r in (1000.0, 500.0)],
    }
    return Results(machine, settings, {"fastapi": "1"}, slots)


@pytest.mark.parametrize(
    ("times", "p99", "reached"), [(2.5, 0.003, True), (1.9, 0.003, False), (2.5, 0.005, False)]
)
def test_goal_is_twice_the_rate_and_no_worse_a_tail(times: float, p99: float, reached: bool) -> None:
    (found,) = verdicts(results(times, p99))
    assert found.times == pytest.approx(times)
    assert found.reached == reached
    assert ("✓ |" in table(results(times, p99))) == reached


def test_results_and_table_are_kept(tmp_path: Path) -> None:
    run = results(3.0, 0.001, failed=2)
    run.save(tmp_path / "run.json")
    again = Results.load(tmp_path / "run.json")
    assert again == run
    assert errors(again) == 4
    page = tmp_path / "page.md"
    page.write_text(f"before\n{START}\nold\n{END}\nafter\n")
    write_section(page, START, END, table(again))
    assert page.read_text() == f"before\n{START}\n\n{table(run)}\n\n{END}\nafter\n"
    with pytest.raises(ValueError, match="lacks the markers"):
        write_section(tmp_path / "run.json", START, END, "")
