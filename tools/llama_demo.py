"""The main job on one page: convert a Llama-style model, run it three ways, compare with float64."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "models"))

Feeds = dict[str, np.ndarray]
Run = Callable[[], list[np.ndarray]]


def convert(model: Path, output: Path) -> None:
    """Runs ascend-atc as a user would, showing the command and what it prints."""
    command = [
        "ascend-atc",
        f"--model={model.name}",
        "--framework=5",
        f"--output={output.name}",
        "--soc_version=Ascend910B3",
        "--precision_mode=must_keep_origin_dtype",
    ]
    print("$", " ".join(command), flush=True)
    if subprocess.run(command, cwd=model.parent, check=False).returncode:
        sys.exit("the conversion failed")


def milliseconds(run: Callable[[], object]) -> float:
    """The median of 20 runs."""
    times = []
    for _ in range(20):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.median(times)) * 1e3


def worst_error(outputs: list[np.ndarray], names: list[str], reference: dict[str, np.ndarray]) -> float:
    """Largest |difference| over the float outputs, relative to the largest |reference| of each."""
    errors = []
    for name, output in zip(names, outputs, strict=True):
        expected = reference[name]
        if output.dtype.kind == "f":
            errors.append(np.abs(output - expected).max() / np.abs(expected).max())
        elif not np.array_equal(output, expected):
            raise SystemExit(f"{name} differs from the reference")
    return float(max(errors))


def report(title: str, run: Run, names: list[str], reference: Feeds) -> None:
    error = worst_error(run(), names, reference)
    print(f"  {title:<46} worst relative difference {error:.1e}   {milliseconds(run):8.2f} ms")
    if error > 1e-4:
        sys.exit("the difference is too large")


def main() -> None:
    import llama
    import onnx

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=sorted(llama.SIZES), default="small")
    parser.add_argument("--seq", type=int, default=32)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "llama.onnx"
        proto = llama.build(options.size, batch=1, seq=options.seq)
        onnx.save(proto, model)
        size = model.stat().st_size / 1e6
        print(f"llama.onnx: {len(proto.graph.node)} nodes, {size:.1f} MB; RoPE, RMSNorm and SwiGLU")
        print("are custom operators that no onnxruntime knows.\n")
        convert(model, Path(folder) / "llama")
        feeds = llama.sample_inputs(proto)
        run_all(Path(folder), feeds)


def run_all(folder: Path, feeds: Feeds) -> None:
    """The own runtime, then stock onnxruntime on the context model and on the original model."""
    import onnxruntime

    import ascend_ep
    from ascend_ep.graph.reference import reference_run

    reference = reference_run(folder / "llama.onnx", feeds)
    print("\nagainst a float64 reference of llama.onnx:")
    own = ascend_ep.InferenceSession(str(folder / "llama.om"))
    names = [output.name for output in own.get_outputs()]
    report("own runtime, llama.om", lambda: own.run(None, feeds), names, reference)
    for file in ("llama_ctx.onnx", "llama.onnx"):
        stock = onnxruntime.InferenceSession(str(folder / file), providers=["AscendEP"])
        title = f"onnxruntime {onnxruntime.__version__} + AscendEP, {file}"
        report(title, lambda stock=stock: stock.run(names, feeds), names, reference)


if __name__ == "__main__":
    main()
