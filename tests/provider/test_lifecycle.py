"""Creating and deleting sessions leaks nothing; other onnxruntime releases pass the same tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from provider_graphs import PACKAGE_ROOT, run_python

HERE = Path(__file__).resolve().parent
SUITES = [
    "test_sessions.py",
    "test_memory.py",
    "test_custom_operators.py",
    "test_context.py",
    "test_registration.py",
]

CYCLES = """
    import gc, os, sys
    import numpy as np, onnxruntime as ort, ascend_ep
    from provider_graphs import two_layers
    from ascend_ep.compiler.convert import convert

    kind, cycles, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    x = np.ones((3, 8), np.float32)
    model = two_layers()
    if kind == "context":
        conversion = convert(model)
        conversion.write(folder + "/m.om")
        open(folder + "/m.onnx", "wb").write(conversion.context_model("m.om"))
        model = folder + "/m.onnx"

    def resident():
        gc.collect()
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def cycle(n):
        for _ in range(n):
            s = ort.InferenceSession(model, providers=["AscendEP"], enable_fallback=0)
            s.run(None, {"x": x})

    cycle(int(sys.argv[4]))
    sizes = [resident()]
    for _ in range(int(sys.argv[5])):
        cycle(cycles)
        sizes.append(resident())
    growth = min(after - before for before, after in zip(sizes, sizes[1:]))
    open_files, threads = (len(os.listdir("/proc/self/" + kind)) for kind in ("fd", "task"))
    print(growth / cycles, open_files, threads)
"""


def leak_per_cycle(
    kind: str, cycles: int, folder: Path, warm: int = 0, timeout: float = 120, spans: int = 1
) -> float:
    """Growth of memory in bytes, the least of so many spans of cycles: a leak is in each of them."""
    words = (kind, str(cycles), str(folder), str(warm or cycles // 5), str(spans))
    done = run_python(CYCLES, *words, env={"OMP_NUM_THREADS": "1"}, timeout=timeout)
    assert done.returncode == 0, done.stderr
    growth, files, threads = done.stdout.split()
    assert int(files) < 20
    assert int(threads) < 20
    return float(growth)


@pytest.mark.measures
def test_compiled_models_leak_nothing(tmp_path: Path) -> None:
    # A leaked session, node or bundle is kilobytes. The heap grows in steps of up to 1 MB, not in every span.
    assert leak_per_cycle("context", 500, tmp_path, warm=300, spans=3) < 600


@pytest.mark.measures
def test_models_compiled_in_the_process_leak_nothing(tmp_path: Path) -> None:
    # 150 cycles end in the noise of the heap now and then; a leak is there both times.
    assert any(leak_per_cycle("plain", 150, tmp_path) < 6000 for _ in range(2))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["context", "plain"])
def test_ten_thousand_cycles(kind: str, tmp_path: Path) -> None:
    # Under 2 MB between the 1,000th and the 10,000th; onnxruntime's own CPU sessions take 0.5 MB of it.
    assert leak_per_cycle(kind, 9000, tmp_path, warm=1000, timeout=1800) * 9000 < 2e6


def releases() -> list[Path]:
    given = os.environ.get("ASCEND_EP_TEST_ORT_DIRS")
    if given:
        return [Path(p) for p in given.split(os.pathsep)]
    return sorted((HERE.parent.parent / ".cache" / "onnxruntime").glob("[0-9]*"))


def release_parameters() -> list[Any]:
    """The oldest by default, the others with --slow."""
    found = releases()
    return [pytest.param(p, id=p.name, marks=[pytest.mark.slow] * (i > 0)) for i, p in enumerate(found)]


@pytest.mark.parametrize("release", release_parameters())
def test_other_releases(release: Path) -> None:
    """Prepared by tools/onnxruntime_versions."""
    path = os.pathsep.join([str(release), PACKAGE_ROOT])
    command = [
        *(sys.executable, "-m", "pytest", "-x"),
        *("--import-mode=importlib", "-p", "no:cacheprovider"),
    ]
    done = subprocess.run(
        [*command, *(str(HERE / suite) for suite in SUITES)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "ASCEND_EP_EXPECT_ORT": release.name},
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
