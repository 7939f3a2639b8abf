"""Quantises models of models/ with ascend_ep, onnxruntime.quantization and NNCF, and prints a table of them.

Validation data are random inputs, and what the float model gives for them. The judge of accuracy is
onnxruntime's CPU provider, without its optimisations that change results; times are medians of turns, each
quantiser's model in our runtime and in onnxruntime, one thread; what quantising takes is CPU time. NNCF takes
part where it is installed.

The scores of random weights are near ties, of which any error turns some. `--classes 20` gives a model what
training would: inputs of so many classes, and a last layer that is fitted to tell them apart by what the
layers before it compute (ridge regression). The table then says how many unseen inputs a model gets right.

    python tools/compare_quantisers.py --models resnet50,bert_base --classes 20
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
    """A model with its data, and what onnxruntime's and NNCF's quantisers are told of the kind of model.

    `of_class(label, seed)` is an input of a class; `labels` are those of `validation`, if it has classes.
    """

    model: onnx.ModelProto
    calibration: list[Sample]
    validation: list[Sample]
    is_transformer: bool
    of_class: Callable[[int, int], Sample]
    labels: np.ndarray | None = None


def noise(rng: np.random.Generator, size: int, scales: tuple[int, ...]) -> np.ndarray:
    """float64 [1, 3, size, size] of low frequencies: `scale` patches a side, for each scale."""
    x = np.zeros((1, 3, size, size))
    for scale in scales:
        coarse = rng.standard_normal((1, 3, scale, scale))
        x += np.repeat(np.repeat(coarse, size // scale, 2), size // scale, 3) / scale**0.5
    return x


def image(size: int, seed: int, of: np.ndarray | float = 0.0) -> Sample:
    """Noise, normalised as photographs are, on twice what its class has in common."""
    x = 2 * of + noise(np.random.default_rng(seed), size, (4, 8, 16, 32))
    return {"x": ((x - x.mean()) / x.std()).astype(np.float32)}


def of_images(model: onnx.ModelProto, size: int) -> Case:
    def of_class(label: int, seed: int) -> Sample:
        return image(size, seed, noise(np.random.default_rng([label]), size, (4, 8, 16)))

    calibration, validation = (
        [image(size, seed) for seed in seeds] for seeds in (range(24), range(100, 200))
    )
    return Case(model, calibration, validation, False, of_class)


def of_tokens(size: str, length: int, calibration: int, count: int) -> Case:
    """A class has four tokens of its own, which are half of an input."""
    import bert

    def of_class(label: int, seed: int) -> Sample:
        sample = bert.sample_inputs(size, 1, length, seed)
        ids = sample["input_ids"]
        own = np.random.default_rng([label]).choice(bert.SIZES[size].vocabulary, 4)
        rng = np.random.default_rng(seed)
        sample["input_ids"] = np.where(rng.random(ids.shape) < 0.5, rng.choice(own, ids.shape), ids)
        return sample

    data = [bert.sample_inputs(size, 1, length, seed) for seed in range(calibration + count)]
    return Case(bert.build(size, 1, length), data[:calibration], data[calibration:], True, of_class)


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
    return of_tokens("base", 128, 16, 32)


def bert_tiny() -> Case:
    return of_tokens("tiny", 16, 24, 100)


CASES = {
    "resnet18": resnet18,
    "resnet50": resnet50,
    "mobilenet_v2": mobilenet_v2,
    "bert_tiny": bert_tiny,
    "bert_base": bert_base,
}


def features_of(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model up to what its classifier reads; of a sequence the mean: [1, features]."""
    cut = copy.deepcopy(model)
    outputs = [output.name for output in cut.graph.output]
    del cut.graph.output[:]
    last = next(node for node in cut.graph.node if outputs[0] in node.output)
    if last.op_type == "Gemm":
        cut.graph.node.remove(last)
        for unused in [t for t in cut.graph.initializer if t.name in last.input]:
            cut.graph.initializer.remove(unused)
        name = last.input[0]
    else:
        name = "features"
        cut.graph.node.append(onnx.helper.make_node("ReduceMean", outputs[:1], [name], axes=[1], keepdims=0))
    cut.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, None]))
    return cut


def ridge(features: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights [features, classes] and bias [classes]: penalised least squares to one-hot scores."""
    mean = features.mean(0)
    x, y = features - mean, np.eye(labels.max() + 1)[labels]
    penalty = 1e-3 * np.trace(x.T @ x) * np.eye(x.shape[1])
    weights = np.linalg.solve(x.T @ x + penalty, x.T @ (y - y.mean(0)))
    return weights, y.mean(0) - mean @ weights


def with_classes(case: Case, classes: int) -> Case:
    """The model with a fitted last layer, and inputs of these classes: 12 each to fit, 10 to validate."""
    model = features_of(case.model)
    name = model.graph.output[0].name
    session = stock(model)
    to_fit = [(label, case.of_class(label, 1000 * label + i)) for label in range(classes) for i in range(12)]
    unseen = [
        (label, case.of_class(label, 1000 * label + 500 + i)) for label in range(classes) for i in range(10)
    ]
    features = np.concatenate([session.run(None, sample)[0] for _, sample in to_fit]).astype(np.float64)
    weights, bias = ridge(features, np.array([label for label, _ in to_fit]))
    for tensor, values in (("fitted_weight", weights), ("fitted_bias", bias)):
        model.graph.initializer.append(onnx.numpy_helper.from_array(values.astype(np.float32), tensor))
    model.graph.node.append(onnx.helper.make_node("Gemm", [name, "fitted_weight", "fitted_bias"], ["scores"]))
    scores = onnx.helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, [1, classes])
    model.graph.output[0].CopyFrom(scores)
    calibration = [sample for _, sample in to_fit][:: len(to_fit) // 24]
    labels = np.array([label for label, _ in unseen])
    return replace(
        case, model=model, calibration=calibration, validation=[s for _, s in unseen], labels=labels
    )


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
    same = f"{float(np.mean(a.argmax(-1) == b.argmax(-1))):.1%}"
    if case.labels is not None:
        same += f", {float(np.mean(b.argmax(-1) == case.labels)):.1%} right"
    size = model.ByteSize() / 1e6
    mine, theirs = times(case.validation[0], model) if timed else ("", "")
    return f"| {name} | {rms:.4f} | {same} | {size:.1f} | {mine} | {theirs} | {seconds:.0f} |"


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
    parser.add_argument(
        "--classes", type=int, default=0, help="inputs of so many classes, told apart by a fitted layer"
    )
    given = parser.parse_args()
    timed = not given.no_times
    logging.disable(logging.WARNING)
    print(
        "| model, quantiser | rms error | same top-1 | MB | ms, ours | ms, onnxruntime | CPU s to quantise |"
    )
    print("|---|---|---|---|---|---|---|", flush=True)
    for name in given.models.split(","):
        case = CASES[name]()
        if given.classes:
            case = with_classes(case, given.classes)
        session = stock(case.model)
        wanted = [session.run(None, s) for s in case.validation]
        print(row(f"{name}, float", case, case.model, wanted, 0.0, timed), flush=True)
        for quantiser, run in QUANTISERS.items():
            # onnxruntime's preparation moves the weights of the model that it is given into a file
            own = replace(case, model=copy.deepcopy(case.model))
            begun = time.process_time()
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    made = run(own)
            except Exception as error:  # a quantiser that can't
                print(
                    f"| {name}, {quantiser} | {type(error).__name__}: {str(error)[:80]} | | | | | |",
                    flush=True,
                )
                continue
            seconds = time.process_time() - begun
            print(row(f"{name}, {quantiser}", case, made, wanted, seconds, timed), flush=True)


if __name__ == "__main__":
    main()
