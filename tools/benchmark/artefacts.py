"""The files a row is measured on: the model, its inputs, the float64 reference, and the bundles; kept in a
folder between runs, each under a digest of what it was made from."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

import ascend_ep

from .rows import Model
from .work import Work, work_of

MODELS = Path(__file__).resolve().parents[2] / "models"
PRECISIONS = {"own": "must_keep_origin_dtype", "own_bf16": "allow_mix_precision_bf16"}

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Prepared:
    """A model on disk with one set of inputs."""

    folder: Path
    work: Work

    @property
    def onnx(self) -> Path:
        return self.folder / "m.onnx"

    @property
    def feeds(self) -> Path:
        return self.folder / "feeds.npz"


@dataclass(frozen=True)
class Converted:
    """What ascend-atc made of a model, and how long the whole command took."""

    bundle: Path
    seconds: float

    @property
    def context(self) -> Path:
        return self.bundle.with_name(f"{self.bundle.stem}_ctx.onnx")


class ConversionFailed(Exception):
    """ascend-atc said no; the text is its first line with an error code."""


class Artefacts:
    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def prepare(self, model: Model) -> Prepared:
        """Builds the model and its inputs, unless they are there."""
        folder = self.root / f"{model.builder}-{_model_digest(model)}"
        marker = folder / "work.json"
        if not marker.exists():
            folder.mkdir(parents=True, exist_ok=True)
            proto = _build(model)
            onnx.save(proto, folder / "m.onnx")
            np.savez(folder / "feeds.npz", **_inputs(model, proto))  # type: ignore[arg-type]
            _write(marker, work_of(proto).as_json())
        return Prepared(folder, Work.from_json(json.loads(marker.read_text())))

    def reference(self, prepared: Prepared) -> Arrays:
        """The outputs in float64 arithmetic."""
        path = prepared.folder / "reference.npz"
        if not path.exists():
            from ascend_ep.graph.reference import reference_run

            with np.load(prepared.feeds) as feeds:
                outputs = reference_run(prepared.onnx, dict(feeds))
            partial = path.with_name("partial.npz")
            np.savez(partial, **outputs)  # type: ignore[arg-type]
            partial.rename(path)
        with np.load(path) as found:
            return dict(found)

    def convert(self, prepared: Prepared, backend: str, fresh: bool = False) -> Converted:
        """The bundle for an own backend, by the ascend-atc command; `fresh` converts even if it is there.

        Raises ConversionFailed."""
        output = prepared.folder / f"{backend}-{_package_digest()}"
        marker = output.with_suffix(".json")
        if fresh or not marker.exists():
            for stale in prepared.folder.glob(f"{backend}-*"):
                stale.unlink()
            arguments = [f"--model={prepared.onnx}", "--framework=5", f"--output={output}"]
            arguments += ["--soc_version=Ascend910B3", f"--precision_mode={PRECISIONS[backend]}"]
            _write(marker, {"seconds": _atc(arguments)})
        seconds = json.loads(marker.read_text())["seconds"]
        return Converted(output.with_suffix(".om"), seconds)


def _atc(arguments: list[str]) -> float:
    command = [sys.executable, "-P", "-m", "ascend_ep.cli.atc", *arguments]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stdout + done.stderr).splitlines()
        coded = [line for line in lines if re.search(r"E\d{5}", line)]
        raise ConversionFailed((coded or lines or [f"status {done.returncode}"])[0])
    return time.perf_counter() - start


def _build(model: Model) -> onnx.ModelProto:
    proto: onnx.ModelProto = importlib.import_module(model.builder).build(**model.arguments)
    if model.int8_weights:
        proto = importlib.import_module("weight_only").quantize_weights(proto)
    return proto


def _inputs(model: Model, proto: onnx.ModelProto) -> Arrays:
    sample = getattr(importlib.import_module(model.builder), "sample_inputs", None)
    if sample is None:
        sample = importlib.import_module("blocks").sample_inputs
    given = [proto] if "model" in inspect.signature(sample).parameters else []
    found: Arrays = sample(*given, **model.inputs)
    return found


def _write(path: Path, content: object) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(content))
    partial.rename(path)


def _model_digest(model: Model) -> str:
    digest = hashlib.sha256(repr((model, sorted(model.arguments.items()))).encode())
    for path in _sources([model.builder, *(["weight_only"] if model.int8_weights else [])]):
        digest.update(path.read_bytes())
    digest.update(Path(__file__).with_name("work.py").read_bytes())
    return digest.hexdigest()[:16]


def _sources(modules: list[str]) -> list[Path]:
    """The files of these modules of models/ and of those they import."""
    found: dict[str, Path] = {}
    while modules:
        name = modules.pop()
        path = MODELS / f"{name}.py"
        if name not in found and path.exists():
            found[name] = path
            modules += re.findall(r"^(?:from|import) (\w+)", path.read_text(), re.MULTILINE)
    return [found[name] for name in sorted(found)]


def _package_digest() -> str:
    """Of the installed package's files, by name, size and time."""
    folder = Path(str(ascend_ep.__file__)).parent
    facts = sorted(f"{p} {s.st_size} {s.st_mtime_ns}" for p, s in _files(folder))
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            yield path, path.stat()
