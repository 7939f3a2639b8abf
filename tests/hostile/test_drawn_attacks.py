"""Attacks drawn by seed end in a code, in limited time, and harm nothing else; more of them with `--slow`."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import drawn_models
import drawn_requests
import pytest
from raw_http import GOOD, IMPATIENT, Raw
from running import Running
from served_models import put, rows
from try_drawn import KINDS

from ascend_ep.serving.settings import Settings

HERE = Path(__file__).resolve().parent
#: Seeds of each kind: of a sample, and of all.
COUNTS = {"model": (20, 3000), "definition": (40, 3000), "prompt": (40, 3000)}


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}


@pytest.mark.parametrize("kind", KINDS)
def test_attacks_on_the_converter(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    count = COUNTS[kind][request.config.getoption("--slow")]
    command = [sys.executable, str(HERE / "try_drawn.py"), kind, "0", str(count), str(tmp_path)]
    run = subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        env=environment(),
        check=False,
        cwd=tmp_path,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert json.loads(run.stdout.splitlines()[-1]) == {}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    root: Path = tmp_path_factory.mktemp("served") / "models"
    root.mkdir()
    put(root, "rows", 1, rows)
    settings = Settings(
        root, http_port=0, model_control_mode="explicit", load_models=("rows",), limits=IMPATIENT
    )
    with Running(settings) as running:
        yield running


def test_attacks_on_the_server(server: Running, request: pytest.FixtureRequest) -> None:
    """Every answer is one of the protocol, none of them says that the server failed, and it goes on."""
    seen: Counter[int] = Counter()
    for seed in range(20_000 if request.config.getoption("--slow") else 150):
        with Raw(server.port) as raw:
            raw.send(drawn_requests.request(seed, GOOD))
            with contextlib.suppress(OSError):
                raw.socket.shutdown(1)
            answer = raw.answer()
        seen[answer.status if answer else 0] += 1
        if answer is not None:
            assert answer.status < 500 or answer.status in (501, 504, 505), (seed, answer)
            assert not any(word in answer.body for word in (b"Traceback", b".py", b"/tmp")), seed
    assert server.ask("POST", "/v2/models/rows/infer", GOOD)[0] == 200
    assert seen[200], seen
    assert seen[400] > 10, seen


def surrounded(command: list[str], folder: Path, given: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Runs it in surroundings; standard error is kept where it isn't closed."""
    work = folder / "work"
    work.mkdir()

    def enter() -> None:
        os.chdir(work)
        if given["gone"]:
            work.rmdir()
        elif given["readonly"]:
            work.chmod(0o500)
        for name, size in given["limits"]:
            limit = getattr(resource, f"RLIMIT_{name}")
            resource.setrlimit(limit, (size, size))
        for descriptor in given["closed"]:
            os.close(descriptor)

    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env=os.environ | given["variables"],
        preexec_fn=enter,
        timeout=300,
        check=False,
    )


def works_at_all(folder: Path, given: dict[str, Any]) -> bool:
    """Whether Python itself, and numpy, start there."""
    command = [sys.executable, "-c", "import numpy, onnx, threading; threading.Thread(target=int).start()"]
    return surrounded(command, folder, given).returncode == 0


def test_attacks_by_surroundings(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """ascend-atc ends with 0 or an error, and a code where it can say one, wherever Python itself starts."""
    model = tmp_path / "m.onnx"
    model.write_bytes(drawn_models.plain())
    tried = 0
    for seed in range(150 if request.config.getoption("--slow") else 5):
        given = drawn_requests.surroundings(seed)
        folder = tmp_path / str(seed)
        (folder / "first").mkdir(parents=True)
        if not works_at_all(folder / "first", given):
            continue
        tried += 1
        command = [sys.executable, "-m", "ascend_ep.cli.atc", f"--model={model}", "--framework=5"]
        run = surrounded([*command, f"--output={folder}/m", "--soc_version=Ascend310P3"], folder, given)
        assert run.returncode in (0, 1, 2, 255), (seed, given, run)
        assert "Traceback" not in run.stderr, (seed, given, run.stderr[-2000:])
        said = (run.stdout + run.stderr).splitlines()
        if run.returncode and not {1, 2} & set(given["closed"]):
            assert any(line.startswith("E") for line in said), (seed, given, said)
        written = folder / "m.om"
        assert written.exists() == (run.returncode == 0), (seed, given, run)
        assert not [p for p in folder.iterdir() if p.name not in ("m.om", "m_ctx.onnx", "work", "first")], (
            seed
        )
    assert tried > 1
