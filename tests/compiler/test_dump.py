"""What --dump writes: the model and the plan after each pass that changed them, in order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from ascend_ep.compiler import pipeline
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.compiler.pipeline import PIPELINE


def source() -> onnx.ModelProto:
    """Work for passes over the model, a partition and the plan: SiLU as two nodes, a product's bias, weights
    that float16 holds."""
    text = """<ir_version: 10, opset_import: ["" : 20]>
    g (float[N,128] x) => (float[N,128] y) <float[128,128] w, float[128] b> {
        i = Identity(x)
        m = MatMul(i, w)
        a = Add(m, b)
        s = Sigmoid(a)
        y = Mul(a, s)
    }"""
    made = onnx.parser.parse_model(text)
    numbers = np.random.default_rng(1)
    del made.graph.initializer[:]
    for name, shape in {"w": (128, 128), "b": (128,)}.items():
        array = numbers.standard_normal(shape).astype(np.float16).astype(np.float32)
        made.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return made


def dumped(folder: Path, **options: object) -> dict[str, str]:
    """The texts of a conversion by file name, in order; numbers count from 0."""
    convert(source(), ConvertOptions(dump=folder, codegen="off", **options))
    names = sorted(p.name for p in folder.iterdir())
    assert [int(n.split("-")[0]) for n in names] == list(range(len(names)))
    return {n.split("-", 1)[1]: (folder / n).read_text() for n in names}


def test_passes_that_change_something_are_written_in_order(tmp_path: Path) -> None:
    texts = dumped(tmp_path, precision="mixed_bfloat16")
    assert list(texts) == [
        "loaded.onnxtxt",
        "shapes.txt",
        "Simplify.onnxtxt",
        "FuseOperators.onnxtxt",
        "simplified.onnxtxt",
        "partitions.txt",
        "p0-before.txt",
        "p0-fuse_epilogues.txt",
        "plan-before.txt",
        "plan-narrow_products.txt",
        "plan.txt",
    ]
    listed = {p.name for s in PIPELINE for p in s.passes}
    named = {name.partition(".")[0].removeprefix("p0-").removeprefix("plan-") for name in texts}
    assert named & listed == {"Simplify", "FuseOperators", "fuse_epilogues", "narrow_products"}


def test_a_file_shows_what_its_pass_changed(tmp_path: Path) -> None:
    texts = dumped(tmp_path, precision="mixed_bfloat16")
    assert "Identity" in texts["loaded.onnxtxt"]
    assert "Identity" not in texts["Simplify.onnxtxt"]
    assert "elementwise(" in texts["p0-before.txt"]
    assert "elementwise(" not in texts["p0-fuse_epilogues.txt"]
    assert "weight float32[128,128] in panel32" in texts["plan-before.txt"]
    assert "weight bfloat16[128,128] in vnni2_32" in texts["plan-narrow_products.txt"]
    assert texts["plan-narrow_products.txt"] == texts["plan.txt"]


def test_weights_of_another_layout_are_a_change(tmp_path: Path) -> None:
    texts = dumped(tmp_path)
    assert "in panel32" in texts["plan-before.txt"]
    assert "in fp16_32" in texts["plan-store_fp16_weights.txt"]


def test_a_conversion_that_begins_again_leaves_one_series(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(*_: object) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(pipeline, "use_winograd", stumble)
    with pytest.warns(RuntimeWarning, match="pass use_winograd"):
        texts = dumped(tmp_path)
    assert len(list(tmp_path.iterdir())) == len(texts)
