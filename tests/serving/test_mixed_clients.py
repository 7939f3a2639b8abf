"""tritonclient's HTTP, gRPC and both aio clients at once, against versions side by side that batch."""

from __future__ import annotations

import json
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from running import Running
from served_models import columns, put, rows, wide_rows

import ascend_ep
from ascend_ep.serving.settings import Settings

CLIENT = Path(__file__).parent / "clients" / "mixed.py"
CONFIG = """
version_policy { all {} }
max_batch_size: 16
dynamic_batching { preferred_batch_size: [ 8 ] max_queue_delay_microseconds: 1000 }
"""
POOL = 64
COUNT, MANY = 400, 10_000


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models of two versions."""
    root: Path = tmp_path_factory.mktemp("versions")
    for version in (1, 2):
        put(root, "rows", version, partial(rows, version))
        put(root, "columns", version, partial(columns, version + 0.3))
        put(root, "wide_rows", version, partial(wide_rows, version))
    for folder in root.iterdir():
        (folder / "config.pbtxt").write_text(CONFIG)
    return root


def pools(models: Path, folder: Path) -> None:
    """Rows of every version, each run alone."""
    random = np.random.default_rng(5)
    for bundle in models.glob("*/*/model.om"):
        session = ascend_ep.InferenceSession(str(bundle))
        assert session.get_providers() == ["AscendEP"]
        inputs = {
            arg.name: random.standard_normal((POOL, *arg.shape[1:])).astype(np.float32)
            for arg in session.get_inputs()
        }
        single = [session.run(None, {n: a[i : i + 1] for n, a in inputs.items()}) for i in range(POOL)]
        outputs = {
            f"={arg.name}": np.concatenate([run[at] for run in single])
            for at, arg in enumerate(session.get_outputs())
        }
        np.savez(folder / f"{bundle.parents[1].name}.{bundle.parent.name}.npz", **inputs, **outputs)


def test_every_row_is_that_of_a_run_alone(
    models: Path, tmp_path: Path, triton_python: str, pytestconfig: pytest.Config
) -> None:
    count = MANY if pytestconfig.getoption("--slow") else COUNT
    pools(models, tmp_path)
    with Running(Settings(models, http_port=0, grpc_port=0)) as server:
        ports = {"http": server.port, "grpc": server.grpc_port}
        given = json.dumps({**ports, "count": count, "seed": 3, "data": str(tmp_path)})
        made = subprocess.run(
            [triton_python, str(CLIENT), given], capture_output=True, text=True, timeout=900
        )
        assert made.returncode == 0, made.stderr[-4000:]
        kept = [
            version.statistics
            for model in server.server.repository.models.values()
            for version in model.versions.values()
        ]
    checked = json.loads(made.stdout)
    assert checked["versions"] == 6
    taken = count - checked["refused"]
    answered = sum(k.success.count for k in kept)
    assert taken - checked["cancelled"] <= answered <= taken
    assert sum(k.executions for k in kept) < answered  # some ran in batches
    assert all(set(k.failures) <= {"E50018"} for k in kept)  # cancelled
