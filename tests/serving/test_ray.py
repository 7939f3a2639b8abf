"""The deployment of Ray Serve on a real local cluster of several processes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from served_models import put, rows

PROGRAM = Path(__file__).with_name("ray_program.py")
#: Ray kills a proxy that isn't ready in 5 s, which one among other tests isn't always.
_PATIENT = {"RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60"}


@pytest.fixture(scope="module")
def happened(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    python = os.environ.get("ASCEND_EP_TEST_RAY_PYTHON")
    if not python:
        pytest.skip('ASCEND_EP_TEST_RAY_PYTHON names no Python with "ascend-ep[ray]"')
    models = tmp_path_factory.mktemp("ray_models")
    for version in (1, 2):
        put(models, "rows", version, rows)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = subprocess.run(
        [python, str(PROGRAM), str(models), str(port)],
        cwd=tmp_path_factory.mktemp("ray"),
        env=os.environ | _PATIENT,
        capture_output=True,
        text=True,
        timeout=400,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines, done.stdout[-2000:] + done.stderr[-4000:]
    told: dict[str, Any] = json.loads(lines[-1])
    return told


def test_every_answer_is_right_though_a_replica_is_killed(happened: dict[str, Any]) -> None:
    assert happened["before"] >= 40
    assert happened["after"] >= 40
    assert happened["wrong"] == 0


def test_the_killed_replica_is_replaced(happened: dict[str, Any]) -> None:
    assert happened["processes"] == 2
    assert happened["replaced"], happened
    assert happened["quiet"] > 1, "still refusing at the end"


def test_arguments_that_are_refused(happened: dict[str, Any]) -> None:
    assert [text.split(":")[0] for text in happened["refusals"]] == ["E50060"] * 4
    unknown, folder, number, small = happened["refusals"]
    assert "Did you mean [num_cpus]?" in unknown
    assert "is no folder" in folder
    assert "[many] is no number" in number
    assert "isn't between" in small
