"""The real tritonclient, HTTP and aio, in its own process."""

from __future__ import annotations

import subprocess
from pathlib import Path

from running import Running


def test_tritonclient_http(running: Running, triton_python: str) -> None:
    program = Path(__file__).with_name("triton_http_program.py")
    address = f"127.0.0.1:{running.port}"
    done = subprocess.run(
        [triton_python, str(program), address],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
