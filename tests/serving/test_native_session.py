"""A session whose code runs in a process of its own: what passes through it, how it ends and begins again."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest
from moody_models import Mood, moody_bundle
from onnx import TensorProto, helper, numpy_helper
from served_models import TYPES

from ascend_ep.errors import AscendError
from ascend_ep.serving.datatypes import BYTES, DTYPES
from ascend_ep.serving.native import native_session as session_module
from ascend_ep.serving.native.line import Line
from ascend_ep.serving.native.native_session import NativeSession
from ascend_ep.serving.repository.sessions import Sessions
from ascend_ep.serving.settings import Settings

Opened = Callable[..., NativeSession]


def all_types() -> onnx.ModelProto:
    """Moody on x [N, 4], many times its output, a scalar, and of each datatype T in_T [N, 2] as out_T."""
    nodes = [
        helper.make_node("Moody", ["x"], ["y"], domain="own"),
        helper.make_node("Tile", ["y", "times"], ["many"]),
        helper.make_node("ReduceSum", ["y"], ["sum"], keepdims=0),
        *(helper.make_node("Identity", [f"in_{name}"], [f"out_{name}"]) for name in TYPES),
    ]
    info = helper.make_tensor_value_info
    ins = [info("x", 1, ["N", 4]), *(info(f"in_{n}", t, ["N", 2]) for n, t in TYPES.items())]
    outs = [info("y", 1, ["N", 4]), info("many", 1, ["N", 40000]), info("sum", 1, [])]
    outs += [info(f"out_{n}", t, ["N", 2]) for n, t in TYPES.items()]
    times = numpy_helper.from_array(np.array([1, 10000]), "times")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    graph = helper.make_graph(nodes, "all", ins, outs, [times])
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, moody_library: Path) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("native")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_EP_TRUST", str(made / "trust"))
        moody_bundle(made / "model.om", moody_library)
        (made / "all").mkdir()
        moody_bundle(made / "all" / "model.om", moody_library, all_types())
        yield made


@pytest.fixture
def opened(folder: Path) -> Iterator[Opened]:
    """Opens sessions that end with the test."""
    made = []

    def start(path: str = "model.om", **more: object) -> NativeSession:
        settings = Settings(folder, native_timeout=5, **more)  # type: ignore[arg-type]
        made.append(Sessions(folder / path, "m, version 1", settings))
        return made[-1].open(0, True)

    yield start
    for one in made:
        one.close()


def x(rows: int = 1, first: float = 1.0) -> np.ndarray:
    values = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
    values[0, 0] = first
    return values


def run(made: NativeSession, values: np.ndarray) -> np.ndarray:
    return made.run(None, {"x": values})[0]


def failure(made: NativeSession, mood: Mood) -> AscendError:
    with pytest.raises(AscendError) as caught:
        run(made, x(1, mood))
    return caught.value


def process_id(made: NativeSession) -> int:
    return made._process._process.pid


def test_every_type_passes(opened: Opened) -> None:
    made = opened("all/model.om")
    for rows in (1, 0, 3):
        passes(made, rows)


def passes(made: NativeSession, rows: int) -> None:
    random = np.random.default_rng(rows)
    feed = {"x": random.standard_normal((rows, 4)).astype(np.float32)}
    for name, number in TYPES.items():
        if number == TensorProto.STRING:
            feed[f"in_{name}"] = np.array([["ä", ""], ["x" * 1000, "\0"], ["1", "2"]], object)[:rows]
        else:
            feed[f"in_{name}"] = random.integers(0, 2, (rows, 2)).astype(DTYPES[name])
    y, many, total, *others = made.run(None, feed)
    np.testing.assert_array_equal(y, 2 * feed["x"])
    np.testing.assert_array_equal(many, np.tile(y, (1, 10000)))
    assert total.shape == ()
    np.testing.assert_allclose(total, y.sum(), rtol=1e-5, atol=1e-6)
    for name, array in zip(TYPES, others, strict=True):
        assert array.dtype == DTYPES[name] or name == BYTES
        np.testing.assert_array_equal(array, feed[f"in_{name}"])
        array[...] = array  # its memory is the caller's


def test_many_threads_and_sizes(opened: Opened) -> None:
    made = opened()

    def several(seed: int) -> None:
        for rows in np.random.default_rng(seed).integers(1, 20000, 12):
            values = x(int(rows))
            np.testing.assert_array_equal(run(made, values), 2 * values)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(several, range(8)))
    assert made.counts.starts == 1


def test_a_refusal_ends_nothing(opened: Opened) -> None:
    made = opened()
    assert failure(made, Mood.REFUSES).code == "E40011"
    with pytest.raises(AscendError, match="E40007"):
        run(made, np.zeros((2, 5), np.float32))
    run(made, x())
    assert (made.counts.starts, sum(made.counts.ends.values())) == (1, 0)


def test_one_that_ended_between_runs_costs_no_request(opened: Opened) -> None:
    """Whether it is noticed before the next run or by it."""
    made = opened()
    for wait in (0.0, 0.3):
        os.kill(process_id(made), signal.SIGKILL)
        time.sleep(wait)
        values = x(3)
        np.testing.assert_array_equal(run(made, values), 2 * values)
    assert made.counts.ends == {"SIGKILL": 2}


def test_an_end_counts_before_another_one_begins(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or pauses would be too short. Cleaning up is slow here, so that the next run doesn't wait for it."""
    hang_up = Line.hang_up

    def slowly(line: Line) -> None:
        time.sleep(0.3)
        hang_up(line)

    monkeypatch.setattr(Line, "hang_up", slowly)
    made = opened()
    for count in (1, 2):
        failure(made, Mood.EXITS)
        assert made.counts.ends == {"exit": count}
        run(made, x())


def test_it_waits_longer_each_time(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_FREE", 1)
    monkeypatch.setattr(session_module, "_FIRST_PAUSE", 0.2)
    made = opened()
    for _ in range(2):
        assert failure(made, Mood.EXITS).code == "E50050"
    waits = failure(made, Mood.EXITS)
    assert waits.code == "E50051"
    assert "it ended by itself, with exit status 3; it is started again in 0." in waits.text
    assert not made.alive
    time.sleep(0.25)
    run(made, x())
    assert made.alive
    assert failure(made, Mood.EXITS).code == "E50050"
    time.sleep(0.25)
    assert failure(made, Mood.EXITS).code == "E50051"  # 0.4 s now
    assert made.counts.ends == {"exit": 3}


def test_other_files_are_not_started_in_its_place(opened: Opened, folder: Path) -> None:
    made = opened()
    os.utime(folder / "model.om", (1, 1))
    assert failure(made, Mood.CRASHES).code == "E50050"
    changed = failure(made, Mood.CRASHES)
    assert changed.code == "E50051"
    assert "changed since it was loaded" in changed.text


def running_of(group: int) -> list[str]:
    """Processes of a group; what ended and waits for its parent isn't counted."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, its_group = entry.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state not in "ZX":
                found.append(entry.parent.name)
    return found


def test_nothing_is_left_behind(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process that runs or wasn't reaped, also of what it has started; no thread, no descriptor."""
    monkeypatch.setattr(session_module, "_FREE", 100)
    made = opened()
    run(made, x())

    def held() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), threading.active_count()

    before, seen = held(), []
    for mood in (Mood.LEAVES_A_CHILD, Mood.SPEAKS):
        seen.append(process_id(made))
        failure(made, mood)
        run(made, x())
    seen.append(process_id(made))
    assert held() == before
    made.close()
    for group in seen:
        with pytest.raises(ProcessLookupError):
            os.kill(group, 0)
        until = time.monotonic() + 5
        while running_of(group) and time.monotonic() < until:
            time.sleep(0.01)
        assert not running_of(group)


def test_closing_ends_what_hangs(opened: Opened) -> None:
    made = opened()
    with ThreadPoolExecutor(1) as threads:
        hanging = threads.submit(failure, made, Mood.HANGS)
        time.sleep(0.1)
        began = time.monotonic()
        made.close()
        assert time.monotonic() - began < 2
        assert hanging.result(2).code == "E50050"
    with pytest.raises(AscendError, match="E50003"):
        run(made, x())
    assert made.counts.ends == {}


def test_memory_is_limited(opened: Opened) -> None:
    assert "SIGABRT" in failure(opened(native_memory=600 << 20), Mood.EATS_MEMORY).text


confined = pytest.mark.skipif(platform.machine() != "x86_64", reason="the filter has x86-64's numbers")


@confined
def test_it_can_compute_and_nothing_else(opened: Opened) -> None:
    """Writing, sockets, programs, signals, limits, folders: none of it; a crash is still a crash."""
    made = opened()
    assert run(made, x(1, Mood.ESCAPES))[0, 0] == 0
    assert not Path("/tmp/asc_moody_was_here").exists()
    assert "SIGSEGV" in failure(made, Mood.CRASHES).text
    np.testing.assert_array_equal(run(made, x(3)), 2 * x(3))
    assert "Seccomp:\t2" in Path(f"/proc/{process_id(made)}/status").read_text()


@confined
def test_it_may_be_let_out(opened: Opened) -> None:
    """Otherwise the test above would show nothing. What is tried in vain alone is to be another program."""
    made = opened(native_confined=False)
    with pytest.raises(AscendError, match="E50050"):
        run(made, x(1, Mood.ESCAPES))
    for left in ("/tmp/asc_moody_was_here", "/tmp/asc_moody_folder", "/tmp/asc_moody_other"):
        path = Path(left)
        if path.is_dir():
            path.rmdir()
        path.unlink(missing_ok=True)
