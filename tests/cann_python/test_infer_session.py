"""`ais_bench.infer.interface` and aclruntime: what they compute, how shapes are chosen, what they refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ascend_ep.cann import aclruntime
from ascend_ep.cann.ais_bench.interface import InferSession, MemorySummary, MultiDeviceSession
from ascend_ep.errors import AscendError


def image(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


def test_arrays_go_in_and_come_out(bundles: dict[str, str]) -> None:
    session, x = InferSession(0, bundles["static"]), image(2, 3, 8, 8)
    y, z = session.infer([x])
    np.testing.assert_array_equal(z, -x)
    np.testing.assert_allclose(y, -x.mean((2, 3), keepdims=True), rtol=1e-5, atol=1e-6)
    (first, _), second = session.infer_pipeline([[x], [2 * x]])
    np.testing.assert_array_equal(first, y)
    np.testing.assert_array_equal(second[1], -2 * x)


def test_inputs_are_bytes(bundles: dict[str, str]) -> None:
    session, x = InferSession(0, bundles["static"]), image(2, 3, 8, 8)
    for given in (np.frombuffer(x.tobytes()), x.reshape(-1).view(np.int8), np.asfortranarray(x)):
        np.testing.assert_array_equal(session.infer([given])[1], -x)
    with pytest.raises(RuntimeError, match=r"has 768 bytes.* takes 1536"):
        session.infer([x[:1]])


@pytest.mark.parametrize(
    ("kind", "mode", "shape"),
    [
        ("batch", "dymbatch", (2, 3, 8, 8)),
        ("image", "dymhw", (1, 3, 16, 4)),
        ("wide", "dymhw", (1, 3, 8, 16)),
        ("dims", "dymdims", (2, 8)),
        ("range", "dymshape", (5, 7)),
    ],
)
def test_shapes_of_inputs_choose_those_of_the_model(
    bundles: dict[str, str], kind: str, mode: str, shape: tuple[int, ...]
) -> None:
    session = InferSession(0, bundles[kind])
    feeds = [image(*shape) for _ in session.get_inputs()]
    outputs = session.infer(feeds, mode)
    whole = -feeds[0] if len(feeds) == 1 else feeds[0] + feeds[1]
    np.testing.assert_array_equal(outputs[1 if len(feeds) == 1 else 0], whole)
    with pytest.raises(RuntimeError, match="E45004"):
        session.infer([image(*(17 * n for n in shape)) for _ in feeds], mode)


def test_descriptions_are_those_of_acl(bundles: dict[str, str]) -> None:
    session = InferSession(0, bundles["batch"])
    (x,), (y, z) = session.get_inputs(), session.get_outputs()
    assert (x.name, x.shape, x.size, x.format, int(x.datatype)) == ("x", [-1, 3, 8, 8], 4 * 3 * 64 * 4, 0, 0)
    assert (y.name, y.size, z.size) == ("y", 4 * 3 * 4, x.size)
    session.set_dynamic_batchsize(2)
    assert session.get_inputs()[0].realsize == x.size // 2
    assert str(x.datatype) == "dtype.float32"
    assert session.get_max_dym_batchsize() == 4
    ranged = InferSession(0, bundles["range"])
    assert [d.size for d in ranged.get_outputs()] == [0, 0]
    assert [d.datatype.name for d in ranged.get_outputs()] == ["float32", "int32"]
    assert "#1    b  (-1, -1)  float32  0  0" in str(ranged.session)


def test_times_are_numbers_that_unpack(bundles: dict[str, str]) -> None:
    session = InferSession(0, bundles["static"], loop=3)
    session.infer([image(2, 3, 8, 8)])
    times = session.summary().exec_time_list
    assert len(times) == 3
    (start, end), time = times[0], times[0]
    assert end - start == pytest.approx(time)
    assert np.mean(times) == pytest.approx(sum(map(float, times)) / 3)
    assert f"{time:.3f}" == f"{float(time):.3f}"
    session.reset_sumaryinfo()
    assert session.sumary().exec_time_list == []


def test_room_for_outputs_is_what_a_device_would_need(bundles: dict[str, str]) -> None:
    session = InferSession(0, bundles["range"])
    feeds = [image(2, 3), image(2, 3)]
    session.infer(feeds, "dymshape", custom_sizes=[24, 24])
    with pytest.raises(RuntimeError, match=r"E45005.*\[s\] has 24 bytes, its buffer 23"):
        session.infer(feeds, "dymshape", custom_sizes=23)
    with pytest.raises(RuntimeError, match="custom_sizes"):
        session.infer(feeds, "dymshape", custom_sizes="23")


def test_runs_that_feed_each_other(bundles: dict[str, str]) -> None:
    session = InferSession(0, bundles["pair"])
    a, b = np.ones((2, 4), np.float32), np.full((2, 4), 2, np.float32)
    s, _ = session.infer_iteration([a, b], [-1, 0], iteration_times=5)
    np.testing.assert_array_equal(s, b + 5)


def test_a_process_for_each_device(
    bundles: dict[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASCEND_EP_DEVICES", "2")
    x = image(2, 3, 8, 8)
    found = MultiDeviceSession(bundles["static"]).infer({0: [[x]], 1: [[2 * x]]})
    np.testing.assert_array_equal(found[0][0][1], -x)
    np.testing.assert_array_equal(found[1][0][1], -2 * x)
    assert MultiDeviceSession(bundles["static"]).infer({0: [[x[:1]]]}) == {}
    assert "subprocess run failed error_callback:E45003" in capfd.readouterr().out


def test_aclruntime_keeps_tensors_on_the_device(bundles: dict[str, str]) -> None:
    options = aclruntime.session_options()
    session = aclruntime.InferenceSession(bundles["static"], 0, options)
    x = image(2, 3, 8, 8)
    tensor = aclruntime.Tensor(x)
    MemorySummary.reset()
    tensor.to_device(0)
    assert (tensor.device, tensor.type.name, len(MemorySummary.get_H2D_time_list())) == (
        0,
        "memory_device",
        1,
    )
    (out,) = session.run(["z"], {"x": tensor})
    with pytest.raises(RuntimeError, match="tensor is in npu"):
        np.array(out)
    out.to_host()
    assert out.shape == [2, 3, 8, 8]
    np.testing.assert_array_equal(np.array(out), -x)
    base = aclruntime.BaseTensor(x.ctypes.data, x.nbytes)
    np.testing.assert_array_equal(session.run(["z"], [base])[0].memory, -x)
    with pytest.raises(TypeError, match="not ndarray"):
        session.run(["z"], [x])
    with pytest.raises(RuntimeError, match="E45006"):
        tensor.to_device(100)
    with pytest.raises(RuntimeError, match=r"\[q\] is refused: it is no output"):
        session.run(["q"], [base])
    session.free_resource()
    with pytest.raises(RuntimeError, match="finalized"):
        session.run(["z"], [base])


@pytest.mark.parametrize("device", [-1, 1, 100])
def test_there_are_as_many_devices_as_set(bundles: dict[str, str], device: int) -> None:
    with pytest.raises(RuntimeError, match="E45006") as found:
        InferSession(device, bundles["static"])
    assert isinstance(found.value, AscendError)


def test_what_cannot_be_opened_is_named(tmp_path: Path, bundles: dict[str, str]) -> None:
    with pytest.raises(RuntimeError, match=r"none\.om"):
        InferSession(0, "none.om")
    (tmp_path / "acl.json").write_text("{")
    with pytest.raises(RuntimeError, match="it isn't JSON"):
        InferSession(0, bundles["static"], str(tmp_path / "acl.json"))
    with pytest.raises(RuntimeError, match="wrong infer_mode:dym"):
        InferSession(0, bundles["static"]).infer([image(2, 3, 8, 8)], "dym")
    with pytest.raises(RuntimeError, match="Choose its shapes with --dymBatch"):
        InferSession(0, bundles["batch"]).infer([image(2, 3, 8, 8)], "dymdims")
    with pytest.raises(RuntimeError, match="free sizes"):
        InferSession(0, bundles["dims"]).infer([image(2, 8), image(2, 8)])
