"""Versions come, change and go while requests are answered."""

from __future__ import annotations

import gc
import json
import os
import shutil
import statistics
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from reloading import Load, answer, entry, place, states
from running import Running
from served_models import put

import ascend_ep
from ascend_ep.errors import AscendError
from ascend_ep.runtime.binding import Model
from ascend_ep.runtime.comparison import Difference
from ascend_ep.serving import checked_session
from ascend_ep.serving.repository.index import IndexEntry
from ascend_ep.serving.repository.memory import bound_heaps
from ascend_ep.serving.settings import Settings

#: What 3/4 of the reloads may add: a session kept by mistake has 40 KB, so that 1,000 of them show.
MEMORY_BOUND = 8 << 20


def load(running: Running, name: str) -> None:
    running.call(running.server.repository.load_model(name))


def unload(running: Running, name: str) -> None:
    running.call(running.server.repository.unload_model(name))


def explicit(root: Path, *names: str) -> Running:
    return Running(
        Settings(root, http_port=0, model_control_mode="explicit", load_models=names, exit_on_error=False)
    )


def test_load_and_unload(tmp_path: Path, bundles: dict[float, bytes]) -> None:
    place(tmp_path, "m", 1, bundles[1.0])
    place(tmp_path, "other", 1, bundles[1.0])
    with explicit(tmp_path, "m") as running:
        assert states(running) == {"m/1": "READY", "other/": ""}
        place(tmp_path, "m", 2, bundles[2.0])
        assert answer(running, "m") == 1.0
        load(running, "m")
        assert answer(running, "m") == 2.0
        assert states(running) == {"m/2": "READY", "other/": ""}
        unload(running, "m")
        assert entry(running, "m", 2).reason == "unloaded"
        status, _, body = running.ask("POST", "/v2/models/m/infer", {"inputs": []})
        assert status == 503, body
        load(running, "m")
        assert answer(running, "m") == 2.0
        with pytest.raises(AscendError, match="There is no model"):
            load(running, "absent")


def test_a_corrupted_version_keeps_the_old(tmp_path: Path, bundles: dict[float, bytes]) -> None:
    place(tmp_path, "m", 1, bundles[1.0])
    with explicit(tmp_path, "m") as running:
        repository = running.server.repository
        corrupted = bytearray(bundles[2.0])
        corrupted[-5] ^= 1
        place(tmp_path, "m", 2, bytes(corrupted))
        with pytest.raises(AscendError, match="can't be loaded") as caught:
            load(running, "m")
        assert str(tmp_path) not in str(caught.value)
        assert answer(running, "m") == 1.0
        assert entry(running, "m", 2).state == "UNAVAILABLE"
        assert entry(running, "m", 2).reason
        assert repository.ready
        assert repository.models["m"].load_failures == 1
        place(tmp_path, "m", 1, bytes(corrupted))
        shutil.rmtree(tmp_path / "m" / "2")
        with pytest.raises(AscendError):
            load(running, "m")
        assert entry(running, "m", 1).state == "READY"
        assert "E4000" in entry(running, "m", 1).reason
        assert answer(running, "m") == 1.0
        place(tmp_path, "m", 1, bundles[3.0])
        load(running, "m")
        assert entry(running, "m", 1) == IndexEntry("m", "1", "READY", "")
        assert answer(running, "m") == 3.0


@pytest.mark.parametrize("cut", [0, 100, 0.5, -1])
def test_half_copied_files_are_refused(tmp_path: Path, bundles: dict[float, bytes], cut: float) -> None:
    whole = bundles[1.0]
    size = int(cut * len(whole)) if isinstance(cut, float) else cut % len(whole)
    place(tmp_path, "m", 1, whole[:size])
    with explicit(tmp_path, "m") as running:
        assert states(running) == {"m/1": "UNAVAILABLE"}
        assert not running.server.repository.ready
        place(tmp_path, "m", 1, whole)
        load(running, "m")
        assert running.server.repository.ready


def test_unfinished_and_hidden_names_are_ignored(tmp_path: Path, bundles: dict[float, bytes]) -> None:
    place(tmp_path, "m", 1, bundles[1.0])
    for name in (".hidden", "copy.tmp", "copy.part", "bad name", "m~"):
        place(tmp_path, name, 1, bundles[1.0])
    for version in ("02", "-1", "0", ".3", "4.tmp", "latest", "1" * 30):
        shutil.copytree(tmp_path / "m" / "1", tmp_path / "m" / version)
    (tmp_path / "m" / "5").mkdir()
    shutil.copy(tmp_path / "m" / "1" / "model.om", tmp_path / "m" / "5" / "model.om.tmp")
    (tmp_path / "m" / "5" / "model_ctx.onnx").write_bytes(b"")
    with Running(Settings(tmp_path, http_port=0)) as running:
        assert states(running) == {"m/1": "READY"}


@pytest.mark.parametrize("linked", ["model", "version", "file"])
def test_links_out_of_the_repository_are_refused(
    tmp_path: Path, bundles: dict[float, bytes], linked: str
) -> None:
    root, outside = tmp_path / "models", tmp_path / "outside"
    place(outside, "m", 1, bundles[1.0])
    place(root, "good", 1, bundles[1.0])
    parts = {"model": "m", "version": "m/1", "file": "m/1/model.om"}[linked]
    (root / parts).parent.mkdir(parents=True, exist_ok=True)
    (root / parts).symlink_to(outside / parts)
    (root / "good" / "2").symlink_to("1")
    with Running(Settings(root, http_port=0, exit_on_error=False)) as running:
        assert states(running) == {"good/2": "READY", "m/1": "UNAVAILABLE"}
        assert entry(running, "m", 1).reason == "E50042: [m/1/model.om] lies outside the repository."
        assert not running.server.repository.ready


def test_folder_of_one_model(tmp_path: Path, bundles: dict[float, bytes]) -> None:
    (tmp_path / "model.om").write_bytes(bundles[2.0])
    with Running(Settings(tmp_path, http_port=0, model_name="mine")) as running:
        assert answer(running, "mine") == 2.0
        assert states(running) == {"mine/1": "READY"}
    place(tmp_path, "", 7, bundles[3.0])
    with Running(Settings(tmp_path, http_port=0, model_name="mine")) as running:
        assert answer(running, "mine", "7") == 3.0


def test_reloads_under_load(tmp_path: Path, bundles: dict[float, bytes], pytestconfig: pytest.Config) -> None:
    """Requests never fail, answers are always of a version that was there, memory stays: 1,000 reloads with
    --slow."""
    reloads = 1000 if pytestconfig.getoption("--slow") else 40
    place(tmp_path, "m", 1, bundles[1.0])
    factors = (1.0, 2.0, 3.0)
    memory = []
    with explicit(tmp_path, "m") as running:
        load_ = Load(lambda: answer(running, "m"))
        for i in range(reloads):
            place(tmp_path, "m", 1, bundles[factors[i % 3]])
            load(running, "m")
            memory.append(resident_bytes())
        answers = load_.end()
        model = running.server.repository.models["m"]
        assert (model.loads, model.load_failures) == (reloads + 1, 0)
        assert answer(running, "m") == factors[(reloads - 1) % 3]
    assert set(answers) == set(factors)
    print(
        f"\n{reloads} reloads, {len(answers)} requests; MB at the start, the middle, the end: "
        f"{memory[0] >> 20}, {memory[len(memory) // 2] >> 20}, {memory[-1] >> 20}"
    )
    assert usual_growth(memory) < 20 << 10
    if reloads == 1000:
        assert memory[-1] - memory[250] < MEMORY_BOUND


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def usual_growth(memory: list[int]) -> float:
    """What is lost is lost at every reload; a process of 1 GB grows now and then for reasons of its own."""
    return statistics.median(after - before for before, after in pairwise(memory))


def test_requests_in_flight_finish_on_the_version_that_took_them(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """A model of 4 MB, run by instances: every reload finds runs in flight. One session that stayed would
    show in memory at once."""
    bound_heaps()  # as the command does
    reloads = 200 if pytestconfig.getoption("--slow") else 6
    bodies = [put(tmp_path / "made", f"m{n}", 1, lambda n=n: wide(n)).read_bytes() for n in (1, 2)]
    root = tmp_path / "models"
    place(root, "m", 1, bodies[0])
    (root / "m" / "config.pbtxt").write_text("instance_group { count: 2 } max_batch_size: 0")
    memory = []
    with explicit(root, "m") as running:
        asked = Load(lambda: wide_answer(running))
        for i in range(reloads):
            place(root, "m", 1, bodies[(i + 1) % 2])
            load(running, "m")
            memory.append(resident_bytes())
        answers = asked.end()
        assert running.server.repository.models["m"].load_failures == 0
        with (root / "m" / "1" / "model.om").open("r+b") as file:
            file.truncate(10)  # what is served isn't in that file any more
        assert wide_answer(running) in answers
    assert set(answers) <= {1.0, 2.0}
    assert usual_growth(memory) < len(bodies[0]) / 2, [m >> 20 for m in memory]
    if reloads == 200:
        assert memory[-1] - memory[50] < 2 * len(bodies[0]), [m >> 20 for m in memory]


def wide(factor: float) -> onnx.ModelProto:
    """x [N, 1024] -> y = factor * x, by a full matrix and its sum with nothing."""
    weights = [numpy_helper.from_array(np.eye(1024, dtype="f") * f, f"w{f}") for f in (factor, 0.0)]
    nodes = [helper.make_node("MatMul", ["x", w.name], [f"h{w.name}"]) for w in weights]
    nodes.append(helper.make_node("Add", [n.output[0] for n in nodes], ["y"]))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1024])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 1024])
    graph = helper.make_graph(nodes, "wide", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def wide_answer(running: Running) -> float:
    x = np.arange(64 * 1024, dtype="f").reshape(64, 1024)
    size = {"binary_data_size": x.nbytes}
    tensor = {"name": "x", "shape": [64, 1024], "datatype": "FP32", "parameters": size}
    text = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    headers = {"Inference-Header-Content-Length": str(len(text))}
    status, received, body = running.ask("POST", "/v2/models/m/infer", text + x.tobytes(), headers)
    assert status == 200, body[:200]
    y = np.frombuffer(body[int(received["inference-header-content-length"]) :], "f").reshape(x.shape)
    factor = float(y[0, 1])
    np.testing.assert_array_equal(y, factor * x)
    return factor


def test_a_file_replaced_while_it_is_loaded_is_loaded_whole_or_not(
    tmp_path: Path, bundles: dict[float, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    place(tmp_path, "m", 1, bundles[1.0])
    with explicit(tmp_path, "m") as running:
        whole = checked_session.check_samples

        def replaced(session: ascend_ep.InferenceSession) -> dict[str, Difference]:
            place(tmp_path, "m", 1, bundles[3.0])
            return whole(session)

        place(tmp_path, "m", 1, bundles[2.0])
        with monkeypatch.context() as patch:
            patch.setattr(checked_session, "check_samples", replaced)
            with pytest.raises(AscendError, match="changes"):
                load(running, "m")
        assert answer(running, "m") == 1.0
        load(running, "m")
        assert answer(running, "m") == 3.0


def test_a_self_check_that_fails_keeps_the_old(
    tmp_path: Path, bundles: dict[float, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    place(tmp_path, "m", 1, bundles[1.0])
    with explicit(tmp_path, "m") as running:
        place(tmp_path, "m", 2, bundles[2.0])
        with monkeypatch.context() as patch:
            patch.setattr(checked_session, "check_samples", lambda _: {"y": Difference(0.5, 1e-4)})
            with pytest.raises(AscendError, match=r"self-check .* relative difference 0\.5"):
                load(running, "m")
        assert answer(running, "m") == 1.0


def test_what_was_replaced_is_freed_at_once(tmp_path: Path, bundles: dict[float, bytes]) -> None:
    """Without waiting for the collector of cycles, which may come after a thousand reloads."""
    place(tmp_path, "m", 1, bundles[1.0])
    (tmp_path / "m" / "config.pbtxt").write_text("instance_group { count: 2 } max_batch_size: 0")
    where = str(tmp_path / "m" / "1" / "model.om")
    with explicit(tmp_path, "m") as running:
        gc.collect()
        gc.disable()
        asked = Load(lambda: answer(running, "m"))
        try:
            for factor in (2.0, 1.0, 3.0):
                place(tmp_path, "m", 1, bundles[factor])
                load(running, "m")
            asked.end()
            models = [o for o in gc.get_objects() if isinstance(o, Model) and o.where == where]
        finally:
            gc.enable()
        assert len(models) == 1
