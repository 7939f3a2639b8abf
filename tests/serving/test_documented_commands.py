"""The commands of the page on serving, as they stand there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import Served

from ascend_ep.cli.serve_flags import FLAGS

SECTION = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
SHELL = re.findall(r"```sh\n(.*?)```", SECTION, re.S)
PYTHON = re.findall(r"```python\n(.*?)```", SECTION, re.S)

#: Flags in it of other commands, besides those with an underscore: they are ascend-atc's.
OTHERS = {"model", "framework", "output", "unix-socket", "write-docs", "minutes"}

#: The project's commands, from wherever it is; what is installed already isn't installed again.
PRELUDE = f"""set -euo pipefail
ascend-atc() {{ {shlex.quote(sys.executable)} -m ascend_ep.cli.atc "$@"; }}
python() {{ {shlex.quote(sys.executable)} "$@"; }}
ascend-serve() {{ {shlex.quote(sys.executable)} -m ascend_ep.cli.serve "$@"; }}
pip() {{ :; }}
curl() {{ command curl --silent --show-error --fail-with-body "$@"; echo; }}
"""


def shell(folder: Path, text: str) -> str:
    """What the commands print. They must succeed."""
    command = ["bash", "-c", PRELUDE + text]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def without_servers(text: str) -> str:
    """The lines that don't go on serving."""
    kept = (line for line in text.splitlines() if not line.startswith("ascend-serve") or "--check" in line)
    return "\n".join(kept)


@pytest.fixture(scope="module", autouse=True)
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The compile cache and the trust store are the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_EP_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("ASCEND_EP_TRUST", str(tmp_path_factory.mktemp("trust") / "store"))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a user is: empty, until the page's own commands make a model and convert it."""
    made: Path = tmp_path_factory.mktemp("documented")
    shell(made, without_servers(SHELL[0]))
    return made


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    """On ports that are free, with the admin socket of the page."""
    running = Served(folder / "served", f"--admin-socket={folder / 'admin.sock'}")
    yield running
    assert running.end()[0] == 0


def at(served: Served, text: str) -> str:
    return text.replace("localhost:8000", f"localhost:{served.ports['HTTP']}")


def test_the_flags_of_the_page_are_known() -> None:
    found = re.findall(r"--([a-z][a-z_-]*)", SECTION)
    flags = {flag for flag in found if "_" not in flag and flag not in OTHERS}
    assert len(flags) > 10
    assert flags <= {flag.name for flag in FLAGS} | {"help"}


def test_curl(served: Served, folder: Path) -> None:
    described, answered = shell(folder, at(served, SHELL[1])).splitlines()
    assert '"name":"swish"' in described
    assert '"data":[-0.2689414' in answered


def test_tritonclient(served: Served, folder: Path, triton_python: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    command = [triton_python, "-c", at(served, PYTHON[0])]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "-0.2689414" in ran.stdout


def test_operators(served: Served, folder: Path) -> None:
    checked, state, split, shadow, level, drained = shell(folder, without_servers(SHELL[2])).splitlines()
    assert checked.startswith("swish 1: x FP32[-1, 4] -> y FP32[-1, 4]")
    assert state.startswith('{"ready":true')
    assert '"split":{"1":1.0}' in split
    assert '"share":0.1' in shadow
    assert level == '{"level":"info"}'
    assert drained == '{"draining":true}'
