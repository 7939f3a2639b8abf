"""Small bundles for tools/fuzz_bundles to mutate: some for each operator of ONNX's own test-suite that
runs natively, and those of test_bundles. `python campaign_bundles.py FOLDER`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import onnx
import onnx.parser

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), *(str(HERE.parent.parent / name) for name in ("models", "tools"))]

#: Bytes: a bundle that is larger costs more to open than it shows.
MOST_BYTES = 1 << 15
#: Cases of the suite for each operator.
EACH = 3


def models() -> Iterator[tuple[str, onnx.ModelProto]]:
    from make_corpus import APART
    from onnx_suite.cases import all_cases
    from test_bundles import BUNDLES

    yield "apart", onnx.parser.parse_model(APART)
    for name, make in BUNDLES.items():
        yield name, make().model(17, "ai.custom", "com.microsoft")
    native = (HERE.parent / "conformance" / "native.txt").read_text(encoding="utf-8").split()
    seen: dict[str, int] = {}
    for case in all_cases():
        if case.name in native and case.operator and seen.setdefault(case.operator, 0) < EACH:
            seen[case.operator] += 1
            yield case.name.replace("/", "-"), case.load().model


def main(folder: Path) -> None:
    from ascend_ep.compiler.convert import convert
    from ascend_ep.compiler.convert_options import ConvertOptions

    warnings.simplefilter("ignore")
    folder.mkdir(parents=True, exist_ok=True)
    options = ConvertOptions(codegen="off", sample_seed=None, self_check=False)
    for name, model in models():
        bundle = convert(model, options).to_bytes()
        if len(bundle) <= MOST_BYTES:
            (folder / f"{name}.om").write_bytes(bundle)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
