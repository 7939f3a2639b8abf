"""`benchmark.x86_64`: a model on the files that a list names, or on made-up data, with its files of times."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep import atomic_file, regular_file
from ascend_ep.cann import aclruntime
from ascend_ep.cann.aclruntime.failure import Failure
from ascend_ep.cann.ais_bench.input_files import read_file
from ascend_ep.cann.older_tools.msame import as_rows
from ascend_ep.errors import AscendError, did_you_mean

Array = NDArray[Any]

#: By option what it says; written `-name=value`.
OPTIONS = {
    "model_type": "vision, nmt, bert, widedeep, nlp, ...: what the files of times are named by",
    "batch_size": "the batch of the model",
    "om_path": "the .om file",
    "device_id": "number of the device (default 0)",
    "input_text_path": "list of inputs: `number path [path ...] [width height]` a line",
    "input_width": "of no effect: inputs are taken as they are",
    "input_height": "of no effect, as input_width",
    "input_imgFiles_path": "refused: pictures aren't decoded",
    "output_binary": "True: results as bytes; False: as text (default)",
    "useDvpp": "True is refused: pictures aren't decoded",
    "round": "runs on made-up data, without input_text_path",
    "imgType": "of no effect, as input_width",
    "useMpi": "of no effect",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line; returns 0, or 1 after a failure."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "-help", "--help"):
        print("usage: benchmark.x86_64 -om_path=M.om -batch_size=N [-OPTION=VALUE ...]\n")
        print("\n".join(f"  -{name:<20} {said}" for name, said in OPTIONS.items()))
        return 0 if words else 1
    try:
        given = read_options(words)
        if "input_text_path" in given:
            run_list(given)
        else:
            run_made_up(given)
    except AscendError as error:
        print(f"[ERROR] {error}", flush=True)
        return 1
    return 0


def read_options(words: Sequence[str]) -> dict[str, str]:
    """The options by name. Raises Failure E45001, E45002, E45007."""
    found = {}
    for word in words:
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or name not in OPTIONS:
            raise Failure("E45002", f"there is no option [{word}].{did_you_mean(name, OPTIONS)}".rstrip("?."))
        if not equals:
            raise Failure("E45001", name, "it is missing", fix=f"Write -{name}=VALUE.")
        found[name] = value
    for name in ("om_path", "batch_size"):
        if name not in found:
            raise Failure("E45002", f"-{name} is missing")
    for name in ("batch_size", "device_id", "round"):
        if not found.get(name, "1").isdecimal():
            raise Failure("E45001", name, f"[{found[name]}] is no whole number")
    if found.get("useDvpp", "").lower() == "true" or "input_imgFiles_path" in found:
        fix = "Preprocess the pictures to .bin files, and name these in -input_text_path."
        raise Failure("E45007", "useDvpp", "pictures aren't decoded here", fix=fix)
    return found


def _open(given: dict[str, str]) -> aclruntime.InferenceSession:
    session = aclruntime.InferenceSession(given["om_path"], int(given.get("device_id", "0")))
    batch = int(given["batch_size"])
    shape = session.get_inputs()[0].shape
    if shape and shape[0] == -1:
        session.set_dynamic_batchsize(batch)
    elif shape and shape[0] != batch:
        print(f"[WARN] the batch of the model is {shape[0]}, -batch_size {batch}", flush=True)
    return session


def _folder() -> Path:
    folder = Path("result")
    folder.mkdir(exist_ok=True)
    return folder


def run_made_up(given: dict[str, str]) -> None:
    """Times `round` runs on zeros."""
    session, batch = _open(given), int(given["batch_size"])
    feeds = [np.zeros(desc.realsize, np.uint8) for desc in session.get_inputs()]
    rounds = int(given.get("round", "1"))
    for i in range(rounds):
        session.run_arrays(feeds)
        print(f"[INFO] Dataset number: {i} finished cost {session.sumary().exec_time_list[-1]:.3f}ms")
    mean = float(np.mean([float(t) for t in session.sumary().exec_time_list]))
    name, device = Path(given["om_path"]).stem, given.get("device_id", "0")
    line = f"[INFO] ave_throughputRate: {1000 * batch / mean:g}samples/s, ave_latency: {mean / batch:g}ms"
    path = _folder() / f"PureInfer_perf_of_{name}_in_device_{device}.txt"
    atomic_file.write(path, f"{line}\n")
    print(f"[INFO] PureInfer result saved in ./{path}")
    print(f"-----------------PureInfer Performance Summary------------------\n{line}")
    print("----------------------------------------------------------------")
    session.free_resource()


def run_list(given: dict[str, str]) -> None:
    """Runs on the files of the list, a batch at a time, writes every sample's results and the times."""
    session, batch = _open(given), int(given["batch_size"])
    inputs = session.get_inputs()
    samples = read_list(given["input_text_path"], len(inputs))
    device, kind = given.get("device_id", "0"), given.get("model_type", "vision")
    folder = _folder() / f"dumpOutput_device{device}"
    folder.mkdir(exist_ok=True)
    as_bytes = given.get("output_binary", "False").lower() == "true"
    began, reading, writing = time.perf_counter(), 0.0, 0.0
    for start in range(0, len(samples), batch):
        group = samples[start : start + batch]
        at = time.perf_counter()
        feeds = [_feed([sample[i] for sample in group], batch, desc) for i, desc in enumerate(inputs)]
        reading += time.perf_counter() - at
        outputs = session.run_arrays(feeds)
        at = time.perf_counter()
        for i, output in enumerate(outputs, 1):
            for sample, part in zip(group, np.array_split(output, batch), strict=False):
                _write(folder / f"{Path(sample[0]).stem}_{i}", part, as_bytes)
        writing += time.perf_counter() - at
    whole = time.perf_counter() - began
    computing = sum(float(t) for t in session.sumary().exec_time_list) / 1e3
    steps = {"data read": reading, "infer": computing, "post": writing}
    lines = [f"[e2e] throughputRate: {len(samples) / whole:g}, latency: {whole * 1e3:g}"]
    for name, seconds in steps.items():
        rate, spent = len(samples) / max(seconds, 1e-9), seconds * 1e3 / len(samples)
        own = f" Interface throughputRate: {rate:g}," if name == "infer" else ""
        lines.append(f"[{name}] throughputRate: {rate:g},{own} moduleLatency: {spent:g}")
    path = _folder() / f"perf_{kind}_batchsize_{batch}_device_{device}.txt"
    atomic_file.write(path, "\n".join(lines) + "\n")
    print("-----------------Performance Summary------------------")
    print("\n".join(lines))
    print("-----------------------------------------------------------")
    session.free_resource()


def read_list(path: str, n_inputs: int) -> list[list[str]]:
    """The files of each sample. Raises Failure E45003."""
    try:
        lines = [line.split() for line in regular_file.read(path).decode().splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise Failure("E45003", path, f"it can't be read: {reason}") from None
    samples = [words[1 : 1 + n_inputs] for words in lines]
    for number, (words, sample) in enumerate(zip(lines, samples, strict=True), 1):
        if len(sample) < n_inputs or not words[0].isdecimal():
            fix = f"Each line has a number and {n_inputs} paths."
            raise Failure("E45003", f"{path}:{number}", f"[{' '.join(words)}] names too few files", fix=fix)
    if not samples:
        raise Failure("E45003", path, "it names no files")
    return samples


def _feed(paths: Sequence[str], batch: int, desc: aclruntime.tensor_desc) -> Array:
    """The bytes of the files behind each other, the last batch filled up with the first of them."""
    arrays = [np.ascontiguousarray(read_file(p)).reshape(-1).view(np.uint8) for p in paths]
    return np.concatenate(arrays + [arrays[0]] * (batch - len(arrays)))


def _write(path: Path, array: Array, as_bytes: bool) -> None:
    try:
        if as_bytes:
            atomic_file.write(Path(f"{path}.bin"), array.tobytes(), synced=False)
        else:
            atomic_file.write(Path(f"{path}.txt"), as_rows(array), synced=False)
    except OSError as error:
        raise Failure("E45008", os.fspath(path), error.strerror) from None
