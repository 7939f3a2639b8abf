"""Quantises models of models/ with ascend_ep, onnxruntime.quantization and NNCF, and prints a table of them.

Validation data are random inputs, and what the float model gives for them. The judge of accuracy is
onnxruntime's CPU provider, without its optimisations that change results; times are medians of turns, each
quantiser's model in our runtime and in onnxruntime, one thread. NNCF takes part where it is installed.

    python tools/compare_quantisers.py --models resnet50,bert
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "models")]

import ascend_ep  # noqa: E402

Sample = dict[str, Any]
CPU = ["CPUExecutionProvider"]


@dataclass
class Case:
    """A model with its data. `activations`: what onnxruntime's quantiser is told of the kind of model."""

    model: onnx.ModelProto
    calibration: list[Sample]
    validation: list[Sample]
    is_transformer: bool


def images(size: int, count: int, seed: int) -> list[Sample]:
    """Noise of low frequencies, normalised, as photographs are."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        x = np.zeros((1, 3, size, size))
        for scale in (4, 8, 16, 32):
            coarse = rng.standard_normal((1, 3, scale, scale))
            x += np.repeat(np.repeat(coarse, size // scale, 2), size // scale, 3) / scale**0.5
        x = (x - x.mean()) / x.std()
        found.append({"x": x.astype(np.float32)})
    return found


def of_images(model: onnx.ModelProto, size: int) -> Case:
    return Case(model, images(size, 24, 1), images(size, 100, 2), False)


def resnet50() -> Case:
    import resnet

    return of_images(resnet.build(50), 224)


def resnet18() -> Case:
    import resnet

    return of_images(resnet.build(18), 224)


def mobilenet_v2() -> Case:
    import mobilenet_v2

    return of_images(mobilenet_v2.build(), 224)


def bert_base() -> Case:
    import bert

    data = [bert.sample_inputs("base", 1, 128, seed) for seed in range(48)]
    return Case(bert.build("base", 1, 128), data[:16], data[16:], True)


def bert_tiny() -> Case:
    import bert

    data = [bert.sample_inputs("tiny", 1, 16, seed) for seed in range(124)]
    return Case(bert.build("tiny", 1, 16), data[:24], data[24:], True)


CASES = {
    "resnet18": resnet18,
    "resnet50": resnet50,
    "mobilenet_v2": mobilenet_v2,
    "bert_tiny": bert_tiny,
    "bert_base": bert_base,
}


def with_ascend_ep(case: Case) -> onnx.ModelProto:
    made: onnx.ModelProto = ascend_ep.quantize(case.model, case.calibration).model
    return made


class _Reader:
    def __init__(self, samples: list[Sample]) -> None:
        self._rest: Iterator[Sample] = iter(samples)

    def get_next(self) -> Sample | None:
        return next(self._rest, None)


def with_onnxruntime(case: Case) -> onnx.ModelProto:
    """Its defaults for static quantisation: min-max, QDQ; unsigned activations, scales for each channel."""
    from onnxruntime import quantization as q
    from onnxruntime.quantization.shape_inference import quant_pre_process

    with tempfile.TemporaryDirectory() as folder:
        prepared, target = Path(folder) / "p.onnx", Path(folder) / "q.onnx"
        quant_pre_process(case.model, prepared, skip_symbolic_shape=True)
        reader = type("Reader", (_Reader, q.CalibrationDataReader), {})(case.calibration)
        kinds = {"activation_type": q.QuantType.QUInt8, "weight_type": q.QuantType.QInt8}
        q.quantize_static(prepared, target, reader, q.QuantFormat.QDQ, per_channel=True, **kinds)
        return onnx.load(target)


def with_nncf(case: Case) -> onnx.ModelProto:
    import nncf

    kind = nncf.ModelType.TRANSFORMER if case.is_transformer else None
    data = nncf.Dataset(case.calibration)
    made: onnx.ModelProto = nncf.quantize(
        case.model, data, model_type=kind, subset_size=len(case.calibration)
    )
    return made


QUANTISERS: dict[str, Callable[[Case], onnx.ModelProto]] = {
    "ascend-ep": with_ascend_ep,
    "onnxruntime": with_onnxruntime,
    "NNCF": with_nncf,
}


def stock(model: onnx.ModelProto, optimised: bool = False) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimised else level.ORT_ENABLE_BASIC
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=CPU)


def median(run: Callable[[Sample], Any], sample: Sample, runs: int = 12) -> float:
    run(sample)
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        run(sample)
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e3


def row(
    name: str, case: Case, model: onnx.ModelProto, wanted: list[list[Any]], seconds: float, timed: bool
) -> str:
    session = stock(model)
    got = [session.run(None, s) for s in case.validation]
    first, other = (
        np.concatenate([run[-1].reshape(-1, run[-1].shape[-1]) for run in runs]) for runs in (wanted, got)
    )
    a, b = first.astype(np.float64), other.astype(np.float64)
    rms = np.linalg.norm(a - b) / np.linalg.norm(a)
    same = float(np.mean(a.argmax(-1) == b.argmax(-1)))
    size = model.ByteSize() / 1e6
    mine, theirs = times(case.validation[0], model) if timed else ("", "")
    return f"| {name} | {rms:.4f} | {same:.1%} | {size:.1f} | {mine} | {theirs} | {seconds:.0f} |"


def times(sample: Sample, model: onnx.ModelProto) -> tuple[str, str]:
    """Milliseconds in our runtime, and in onnxruntime."""
    options = ascend_ep.SessionOptions()
    options.intra_op_num_threads = 1
    ours = ascend_ep.convert(model).session(options)
    fast = stock(model, optimised=True)
    mine, theirs = (median(lambda x, s=s: s.run(None, x), sample) for s in (ours, fast))
    return f"{mine:.2f}", f"{theirs:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", default=",".join(CASES))
    parser.add_argument("--no-times", action="store_true", help="only errors and sizes")
    given = parser.parse_args()
    timed = not given.no_times
    logging.disable(logging.WARNING)
    print("| model, quantiser | rms error | same top-1 | MB | ms, ours | ms, onnxruntime | s to quantise |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name in given.models.split(","):
        case = CASES[name]()
        session = stock(case.model)
        wanted = [session.run(None, s) for s in case.validation]
        print(row(f"{name}, float", case, case.model, wanted, 0.0, timed), flush=True)
        for quantiser, run in QUANTISERS.items():
            # onnxruntime's preparation moves the weights of the model that it is given into a file
            own = replace(case, model=copy.deepcopy(case.model))
            begun = time.perf_counter()
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    made = run(own)
            except Exception as error:  # a quantiser that can't
                print(
                    f"| {name}, {quantiser} | {type(error).__name__}: {str(error)[:80]} | | | | | |",
                    flush=True,
                )
                continue
            seconds = time.perf_counter() - begun
            print(row(f"{name}, {quantiser}", case, made, wanted, seconds, timed), flush=True)


if __name__ == "__main__":
    main()
