"""A wholly native bundle runs where only numpy, cffi and ascend-ep are installed.

tools/test makes that environment and names its interpreter in ASCEND_EP_TEST_BARE_PYTHON; without
it the same process runs in this environment with everything else hidden from import.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conversion import Converted, assert_close
from zoo import WHOLLY_NATIVE

PROGRAM = """
import sys
HIDDEN = {"onnx", "onnxruntime", "onnx_ir", "onnxscript", "torch", "jsonschema"}
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hide())
import numpy as np, ascend_ep
bundle, feeds, results = sys.argv[1:]
session = ascend_ep.InferenceSession(bundle)
outputs = session.run(None, dict(np.load(feeds)))
np.savez(results, **{o.name: a for o, a in zip(session.get_outputs(), outputs)})
print(sorted(HIDDEN & set(sys.modules)), session.get_providers())
"""


def marks(name: str) -> list[pytest.MarkDecorator]:
    """What a bundle imports depends on no exporter: one of each model by default, both with --slow."""
    return [pytest.mark.slow] if name.endswith("_dynamo") else []


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in WHOLLY_NATIVE])
def test_runs_with_nothing_but_numpy_and_cffi(
    name: str, converted: Callable[[str], Converted], tmp_path: Path
) -> None:
    model = converted(name)
    np.savez(tmp_path / "feeds.npz", **model.feeds[0])
    bare = os.environ.get("ASCEND_EP_TEST_BARE_PYTHON")
    python = bare or sys.executable
    environment = {k: v for k, v in os.environ.items() if not (bare and k == "PYTHONPATH")}
    command = [
        python,
        "-c",
        PROGRAM,
        str(model.om),
        str(tmp_path / "feeds.npz"),
        str(tmp_path / "results.npz"),
    ]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[] ['AscendEP']"
    results = np.load(tmp_path / "results.npz")
    assert_close([results[n] for n in results.files], list(results.files), model.references[0], 2e-5)
