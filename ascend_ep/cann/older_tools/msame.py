"""`msame`: runs a model on binary files or folders of them, and writes its outputs as numbers or bytes."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep import atomic_file
from ascend_ep.cann import aclruntime
from ascend_ep.cann.aclruntime.failure import Failure
from ascend_ep.cann.ais_bench.input_files import read_file
from ascend_ep.errors import AscendError, did_you_mean

Array = NDArray[Any]

#: By option what it says. Each takes a value, as `--loop 2` or `--loop=2`.
OPTIONS = {
    "model": "the .om file",
    "input": "files or folders, by commas, one for each input; without: zeros",
    "output": "folder for results",
    "outfmt": "TXT or BIN (default BIN)",
    "loop": "runs, 1 to 100 (default 1)",
    "debug": "true: also describe the model",
    "profiler": "true: write the times of kernels to OUTPUT/profiler",
    "dump": "true: write what operators read and write to OUTPUT/dump",
    "device": "number of the device (default 0)",
    "dymBatch": "2: the batch of a profile",
    "dymHW": "300,500: the height and width of a profile",
    "dymDims": "a:1,600;b:1,600: the shapes of a profile",
    "dymShape": "a:1,600;b:1,600: shapes within the model's ranges",
    "outputSize": "bytes for each output, by commas",
}
LONGEST_LOOP = 100


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line; returns 0, or 1 after a failure."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--help" in words or not words:
        print("usage: msame --model M.om [--OPTION VALUE ...]\n")
        print("\n".join(f"  --{name:<12} {said}" for name, said in OPTIONS.items()))
        return 0 if words else 1
    try:
        Run(read_options(words)).run()
    except AscendError as error:
        print(f"[ERROR] {error}", flush=True)
        return 1
    print(f"[INFO] pid: {os.getpid()} Execute sample success", flush=True)
    return 0


def read_options(words: Sequence[str]) -> dict[str, str]:
    """The options by name. Raises Failure E45001 and E45002."""
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in OPTIONS:
            raise Failure("E45002", f"there is no option [{word}].{did_you_mean(name, OPTIONS)}".rstrip("?."))
        if not equals:
            if not rest:
                raise Failure("E45001", name, "it is missing")
            value = rest.pop(0)
        found[name] = value
    if "model" not in found or "output" not in found:
        raise Failure("E45002", "--model and --output are needed")
    if not 1 <= _whole(found, "loop", 1) <= LONGEST_LOOP:
        raise Failure("E45001", "loop", f"it is 1 to {LONGEST_LOOP}")
    if found.get("outfmt", "BIN") not in ("TXT", "BIN"):
        raise Failure("E45001", "outfmt", f"[{found['outfmt']}] is neither TXT nor BIN")
    if found.get("profiler") == found.get("dump") == "true":
        raise Failure("E45002", "--profiler and --dump can't both be on")
    if sum(name in found for name in ("dymBatch", "dymHW", "dymDims", "dymShape")) > 1:
        raise Failure("E45002", "dymBatch, dymHW, dymDims and dymShape choose the same shapes")
    return found


def _whole(given: dict[str, str], name: str, otherwise: int) -> int:
    text = given.get(name, str(otherwise))
    if not re.fullmatch(r"\d{1,9}", text):
        raise Failure("E45001", name, f"[{text}] is no whole number")
    return int(text)


class Run:
    """One command line, checked."""

    def __init__(self, given: dict[str, str]) -> None:
        self.given = given
        self.loop = _whole(given, "loop", 1)
        options = aclruntime.session_options(log_level=1 if given.get("debug") == "true" else 2)
        if given.get("profiler") == "true":
            options.acl_json_path = self._settings("profiler", {"switch": "on"}, "output")
        elif given.get("dump") == "true":
            model = Path(given["model"]).name.removesuffix(".om")
            asked = {"dump_mode": "all", "dump_list": [{"model_name": model}]}
            options.acl_json_path = self._settings("dump", asked, "dump_path")
        self.session = aclruntime.InferenceSession(given["model"], _whole(given, "device", 0), options)
        self._choose_shapes()
        if options.log_level == 1:
            print(self.session)
        self.inputs = self.session.get_inputs()
        self.folder = self._make_folder()

    def _settings(self, section: str, asked: dict[str, Any], where: str) -> str:
        """An acl.json that asks for this, with the folder of what is written as `where`."""
        folder = os.path.join(self.given["output"], section)
        path = os.path.join(self.given["output"], "acl.json")
        try:
            os.makedirs(folder, exist_ok=True)
            atomic_file.write(Path(path), json.dumps({section: {**asked, where: folder}}))
        except OSError as error:
            raise Failure("E45008", path, error.strerror) from None
        return path

    def _choose_shapes(self) -> None:
        given, session = self.given, self.session
        if "dymBatch" in given:
            session.set_dynamic_batchsize(_whole(given, "dymBatch", 0))
        elif "dymHW" in given:
            sizes = given["dymHW"].split(",")
            if len(sizes) != 2 or not all(s.strip().isdecimal() for s in sizes):
                raise Failure("E45001", "dymHW", f"[{given['dymHW']}] isn't height,width")
            session.set_dynamic_hw(*map(int, sizes))
        elif "dymDims" in given:
            session.set_dynamic_dims(given["dymDims"])
        elif "dymShape" in given:
            session.set_dynamic_shape(given["dymShape"])
        if "outputSize" in given:
            sizes = given["outputSize"].split(",")
            if not all(s.strip().isdecimal() for s in sizes):
                raise Failure("E45001", "outputSize", f"[{given['outputSize']}] has no numbers by commas")
            session.set_custom_outsize(list(map(int, sizes)))

    def _make_folder(self) -> str:
        now = datetime.now()
        date, moment = (
            f"{now.year}{now.month}{now.day}",
            f"{now.hour}_{now.minute}_{now.second}_{now.microsecond}",
        )
        folder = os.path.join(self.given["output"], f"{date}_{moment}")
        try:
            os.makedirs(folder, 0o775, exist_ok=True)
        except OSError as error:
            raise Failure("E45008", folder, error.strerror) from None
        print(folder)
        return folder

    def run(self) -> None:
        """Runs on zeros, on one file for each input, or on the files of folders."""
        given = [part for part in self.given.get("input", "").split(",") if part]
        if given and os.path.isdir(given[0]):
            return self._run_folders(given)
        model = Path(self.given["model"]).name.removesuffix(".om")
        feeds = [np.zeros(desc.realsize, np.uint8) for desc in self.inputs]
        if given:
            feeds = [self._read(path) for path in given]
        times = []
        for _ in range(self.loop):
            outputs, spent = self._infer(feeds)
            times.append(spent)
        self._write(outputs, model)
        print(f"Inference average time: {sum(times) / len(times):f} ms")
        if len(times) > 1:
            print(f"Inference average time without first time: {sum(times[1:]) / (len(times) - 1):f} ms")
        return self.session.free_resource()

    def _run_folders(self, folders: Sequence[str]) -> None:
        """The files of the first folder, with those of the same names in the others."""
        names = sorted(name for name in os.listdir(folders[0]) if not name.startswith("."))
        if not names:
            raise Failure("E45003", folders[0], "it holds no files")
        times = []
        for name in names:
            outputs, spent = self._infer([self._read(os.path.join(folder, name)) for folder in folders])
            times.append(spent)
            self._write(outputs, os.path.splitext(name)[0])
        print(f"Inference average time : {sum(times) / len(times):.2f} ms")
        if len(times) > 1:
            print(f"Inference average time without first time: {sum(times[1:]) / (len(times) - 1):.2f} ms")
        self.session.free_resource()

    def _read(self, path: str) -> Array:
        print(f"[INFO] start to process file:{path}")
        return read_file(path)

    def _infer(self, feeds: Sequence[Array]) -> tuple[list[Array], float]:
        began = time.perf_counter()
        outputs = self.session.run_arrays(feeds)
        spent = (time.perf_counter() - began) * 1e3
        print(f"[INFO] model execute success\nInference time: {spent:g}ms")
        return outputs, spent

    def _write(self, outputs: Sequence[Array], name: str) -> None:
        as_text = self.given.get("outfmt", "BIN") == "TXT"
        for i, output in enumerate(outputs):
            path = os.path.join(self.folder, f"{name}_output_{i}.{'txt' if as_text else 'bin'}")
            try:
                content = as_rows(output) if as_text else output.tobytes()
                atomic_file.write(Path(path), content, synced=False)
            except OSError as error:
                raise Failure("E45008", path, error.strerror) from None
        print("[INFO] output data success")


def as_rows(array: Array) -> str:
    """The numbers with six digits and a space after each, a line for each row of the last axis."""
    rows = array.reshape(-1, array.shape[-1] if array.ndim else 1)
    if rows.dtype.kind not in "iub":
        rows = rows.astype(np.float64)
    shown = "{:d} " if rows.dtype.kind in "iub" else "{:g} "
    return "".join("".join(shown.format(value) for value in row) + "\n" for row in rows.tolist())
