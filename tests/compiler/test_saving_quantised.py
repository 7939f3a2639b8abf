"""Quantised models as files: the old model, with its weights, until the new one is there."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from ascend_ep import atomic_file
from ascend_ep.accuracy.quantization import saving
from ascend_ep.accuracy.quantization.saving import save_onnx
from ascend_ep.errors import AscendError


def model_of(*weights: NDArray[np.generic]) -> onnx.ModelProto:
    tensors = [numpy_helper.from_array(w, f"w{n}") for n, w in enumerate(weights)]
    outputs = [helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in tensors]
    return helper.make_model(helper.make_graph([], "g", [], outputs, tensors), ir_version=8)


def weights_in(path: Path) -> list[NDArray[np.generic]]:
    return [numpy_helper.to_array(t, str(path.parent)) for t in onnx.load(path).graph.initializer]


ONE = [np.arange(n, dtype=np.int32) for n in (5000, 3, 700)]
TWO = [array[::-1].copy() for array in ONE]


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(saving, "MOST_INSIDE", 100)
    return tmp_path / "m.onnx"


def test_weights_beside_a_model_are_replaced_after_it(target: Path) -> None:
    save_onnx(model_of(*ONE), target)
    onnx.save(onnx.load(target), target, save_as_external_data=True, location="m.onnx.data")  # as once
    for name in ("m.onnx.notes.data", "m.onnx.0123456789abcdef.data"):  # of nobody, as far as is known
        (target.parent / name).write_text("mine")
    save_onnx(model_of(*ONE), target)
    save_onnx(model_of(*ONE), target)  # the same weights, the same file
    np.testing.assert_equal(weights_in(target), ONE)
    save_onnx(model_of(*TWO), target)
    np.testing.assert_equal(weights_in(target), TWO)
    (beside,) = [p for p in target.parent.iterdir() if p.stat().st_size > 5000]
    assert beside.name.startswith("m.onnx.")
    assert (target.parent / "m.onnx.notes.data").read_text() == "mine"
    assert (target.parent / "m.onnx.0123456789abcdef.data").read_text() == "mine"
    saving.MOST_INSIDE = 1 << 20
    save_onnx(model_of(*ONE), target)
    np.testing.assert_equal(weights_in(target), ONE)
    assert not beside.exists()


def test_a_failure_leaves_the_old_model_with_its_weights(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_onnx(model_of(*ONE), target)
    before = sorted(target.parent.iterdir())
    order: list[str] = []
    replacing = atomic_file.replacing

    def full(path: Path) -> object:
        order.append(path.suffix)
        if path == target:
            raise OSError(28, "No space left on device")
        return replacing(path)

    monkeypatch.setattr(atomic_file, "replacing", full)
    with pytest.raises(AscendError, match=r"E40002.*m\.onnx\]: No space left"):
        save_onnx(model_of(*TWO), target)
    assert order == [".data", ".onnx"]
    assert sorted(target.parent.iterdir()) == before
    np.testing.assert_equal(weights_in(target), ONE)


def test_a_pipe_is_written_to(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(target)
    with pytest.raises(AscendError, match=r"E40001.*is no file"):
        save_onnx(model_of(*ONE), target)
    monkeypatch.setattr(saving, "MOST_INSIDE", 1 << 20)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(target.read_bytes()), daemon=True)
    reader.start()
    save_onnx(model_of(*ONE), target)
    reader.join(20)
    assert target.is_fifo()
    assert found == [model_of(*ONE).SerializeToString()]
    assert list(target.parent.iterdir()) == [target]
