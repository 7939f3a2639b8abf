"""Options and paths common to all suites."""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import resource
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Generator, Iterator
from functools import lru_cache
from pathlib import Path

import hypothesis
import pytest

# A busy machine is no defect of what is tested.
hypothesis.settings.register_profile(
    "shared machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("shared machine")

ROOT = Path(__file__).resolve().parent.parent
# Processes that tests start import the package these tests import: the installed one, whatever folder they
# are started in, or the source tree when that is what is tested.
os.environ["PYTHONSAFEPATH"] = "1"
# Model and plan are checked between any two passes, in processes that tests start, too.
os.environ.setdefault("ASCEND_EP_VERIFY", "1")
# What tests write needn't outlive a failure of the power.
os.environ.setdefault("ASCEND_EP_SYNC", "0")
# Programs on AscendCL log below $HOME unless they are told otherwise.
logs = Path(tempfile.gettempdir()) / f"ascend_ep-test-logs-{os.getuid()}"
os.environ.setdefault("ASCEND_PROCESS_LOG_PATH", str(logs))
package = importlib.util.find_spec("ascend_ep")
if package and package.origin and Path(package.origin).parent.parent == ROOT:
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
# Model builders and the benchmark are outside the package; the suites' shared modules sit beside their tests.
suites = (str(p) for p in sorted((ROOT / "tests").iterdir()) if p.is_dir())
sys.path[:0] = [str(ROOT / "models"), str(ROOT / "tools"), *suites]


@pytest.fixture(scope="session", autouse=True)
def interrupts() -> None:
    """What tests start gets Ctrl-C as they do: the shell of a background job has it ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def compile_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """All processes of a run share what they compile, unless $ASCEND_EP_CACHE says where it is kept. Tests of
    the cache, and of what a search measures, have their own."""
    shared = tmp_path_factory.getbasetemp()
    shared = (shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared) / "compiled"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_EP_CACHE", os.environ.get("ASCEND_EP_CACHE") or str(shared))
        yield


#: Python looks for cycles after every 700 new objects, a tenth of what a process of tests computes.
gc.set_threshold(10_000, 20, 20)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is loaded by now, a million objects, stays to the end and needs no looking through."""
    gc.collect()
    gc.freeze()
    session.config.stash[SPENT] = cpu_seconds()


def pytest_runtest_setup() -> None:
    """PyTorch's exporter reads the 500 functions of its library anew for every model, half of what an export
    costs. A process of tests keeps them, once one of its tests has exported. And a test looks up composite
    operators once (ascend_ep/frameworks/torch/composites.py)."""
    utils = sys.modules.get("torch._export.utils")
    if look_up := getattr(utils, "_materialize_cpp_cia_ops", None):
        vars(utils)["_materialize_cpp_cia_ops"] = lru_cache(1)(getattr(look_up, "__wrapped__", look_up))
    module = sys.modules.get("torch.onnx._internal.exporter._registration")
    registry = getattr(module, "ONNXRegistry", None)
    read = getattr(registry, "from_torchlib", None)
    if read is None or read.__name__ == "kept":
        return  # not loaded, of another release, or kept already
    from ascend_ep.frameworks.torch.torchlib import shared

    registry.from_torchlib = classmethod(shared(read))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests that take minutes")
    parser.addoption("--budget", action="store_true", help="show each folder's CPU seconds beside its budget")


#: What a process of tests had taken when its last test ended, and by folder what tests took.
SPENT = pytest.StashKey[float]()
FOLDERS: defaultdict[str, float] = defaultdict(float)


def cpu_seconds() -> float:
    """Of this process, and of those it has waited for."""
    used = (resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    before, now = item.config.stash.get(SPENT, 0.0), cpu_seconds()
    report.cpu_seconds, item.config.stash[SPENT] = now - before, now
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    FOLDERS[report.nodeid.split("/")[1]] += getattr(report, "cpu_seconds", 0.0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Nothing fails by it: another CPU takes other times. Whoever adds tests sees what they cost."""
    if not config.getoption("--budget"):
        return
    budget = json.loads((ROOT / "tests" / "cpu_seconds.json").read_text())
    terminalreporter.section("CPU seconds by folder, and their budget")
    for folder, spent in sorted(FOLDERS.items(), key=lambda pair: -pair[1]):
        over = "  over" if spent > budget.get(folder, 0) else ""
        terminalreporter.line(f"{folder:16}{spent:8.1f}{budget.get(folder, 0):6}{over}")
    terminalreporter.line(f"{'all':16}{sum(FOLDERS.values()):8.1f}{sum(budget.values()):6}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        # Neighbours take the machine's time now and then; a defect is there both times. The summary counts
        # second attempts.
        if "measures" in item.keywords or item.path.is_relative_to(ROOT / "tests" / "serving"):
            item.add_marker(pytest.mark.flaky(reruns=1, reruns_delay=2))
    if not config.getoption("--slow"):
        skip = pytest.mark.skip(reason="takes minutes; run with --slow")
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(skip)
