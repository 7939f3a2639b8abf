"""The real client of Triton, in its own environment, over gRPC."""

from __future__ import annotations

import subprocess
from pathlib import Path

from running import Running

CLIENTS = Path(__file__).parent / "clients"


def test_tritonclient(running: Running, triton_python: str) -> None:
    command = [triton_python, str(CLIENTS / "triton_grpc.py"), str(running.grpc_port)]
    made = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr
