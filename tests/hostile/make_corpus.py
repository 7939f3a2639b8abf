"""Writes the corpora of bundles and models that tools/fuzz starts from: `python make_corpus.py`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import onnx.parser

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "models")]

BRANCHES = """<ir_version: 9, opset_import: ["" : 17, "own" : 1]>
agraph (float[N,4] x, bool c) => (float[N,4] y)
<float[4] w = {1, 2, 3, 4}>
{
  h = own.scaled(x, w)
  y = If (c) <then_branch = t () => (float[N,4] a) { a = Relu(h) },
              else_branch = e () => (float[N,4] b) { b = Neg(h) }>
}
<domain: "own", opset_import: ["" : 17]>
scaled (a, b) => (c) { m = Mul(a, b) c = Add(m, b) }
"""
LOOP = """<ir_version: 9, opset_import: ["" : 17]>
agraph (float[2] x) => (float[2] y)
<int64 n = {3}, bool go = {1}>
{
  y = Loop (n, go, x) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t)
                       { d = Identity(c) t = Add(s, s) }>
}
"""

#: What it declares of y need not hold, so that the bundle has a second plan without it.
APART = """<ir_version: 10, opset_import: ["" : 21]>
agraph (float[3,4] x, int64[1] a) => (float[1,4] y) { s = ReduceSum(x, a) y = Neg(s) }
"""


def main() -> None:
    from test_bundles import BUNDLES

    from ascend_ep.compiler.convert import convert
    from ascend_ep.compiler.convert_options import ConvertOptions

    for name, make in BUNDLES.items():
        model = make().model(17, "ai.custom", "com.microsoft")
        (HERE / "corpus" / "onnx_model" / name).write_bytes(model.SerializeToString())
        if name in ("gated", "quantised", "windowed"):
            bundle = convert(model, ConvertOptions(codegen="off", sample_seed=None)).to_bytes()
            (HERE / "corpus" / "bundle" / name).write_bytes(bundle)
    options = ConvertOptions(codegen="off", precision="origin", sample_seed=None)
    apart = convert(onnx.parser.parse_model(APART), options).to_bytes()
    (HERE / "corpus" / "bundle" / "apart").write_bytes(apart)
    with tempfile.TemporaryDirectory() as folder:  # its weights are not found: what names them is read
        path = Path(folder) / "m.om"
        outside = ConvertOptions(codegen="off", sample_seed=None, external_weight=1)
        convert(BUNDLES["gated"]().model(17, "ai.custom", "com.microsoft"), outside).write(path)
        (HERE / "corpus" / "bundle" / "weight_files").write_bytes(path.read_bytes())
    for name, text in (("branches", BRANCHES), ("loop", LOOP)):
        content = onnx.parser.parse_model(text).SerializeToString()
        (HERE / "corpus" / "onnx_model" / name).write_bytes(content)


if __name__ == "__main__":
    main()
