"""The executions of a program beside onnxruntime's on the same inputs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from acl_programs import aipp, operators
from acl_programs.bundles import Bundle

TOLERANCE = 1e-4


@dataclass(frozen=True)
class Comparison:
    """`worst` is the largest difference, relative to the largest value of that output."""

    executions: int
    worst: float
    failure: str = ""
    #: The numbers that the reference has first, to be looked for in what the program prints.
    top: tuple[float, ...] = ()

    @property
    def agreed(self) -> bool:
        return self.executions > 0 and not self.failure and self.worst <= TOLERANCE


def compare(record: Path, bundles: list[Bundle]) -> Comparison:
    folders = sorted((f for f in record.glob("*") if f.name.isdigit()), key=lambda f: int(f.name))
    worst, top, failure = 0.0, [], ""
    sessions: dict[Path, onnxruntime.InferenceSession] = {}
    for folder in folders:
        if (folder / "operator").exists():
            difference = _operator_difference(folder)
            failure = failure or (
                "" if difference is not None else "an operator that the runner doesn't compute"
            )
            worst = float(np.maximum(worst, difference or 0.0))  # NaN stays
            continue
        opened = Path((folder / "model").read_text())
        bundle = _bundle(opened, bundles)
        if bundle is None:
            failure = f"{opened.name or 'a model from memory'} isn't one of the page's"
            continue
        session = sessions.get(bundle.source)
        if session is None:
            session = sessions[bundle.source] = onnxruntime.InferenceSession(
                str(bundle.source), providers=["CPUExecutionProvider"]
            )
        feeds = _feeds(folder, session, bundle)
        expected = session.run(None, feeds)
        for i, want in enumerate(expected):
            got = np.fromfile(folder / f"out_{i}.bin", want.dtype)
            if got.size < want.size:
                failure = f"output {i} has {got.size} values, not {want.size}"
                continue
            got = got[: want.size]
            scale = float(np.abs(want).max()) or 1.0
            difference = float(np.abs(got.astype(np.float64) - want.ravel()).max()) / scale
            worst = float(np.maximum(worst, difference))  # NaN stays
            top.append(float(want.max()))
    return Comparison(len(folders), worst, failure, tuple(top))


def _operator_difference(folder: Path) -> float | None:
    """In units of the type's rounding where it is short, so that float16 may differ by its last bits."""
    op = operators.read(folder)
    want = operators.expected(op)
    if want is None or not op.outputs:
        return None
    got = op.outputs[0]
    scale = float(np.abs(want).max()) or 1.0
    difference = float(np.abs(got.astype(np.float64).ravel() - want.ravel()).max()) / scale
    allowed = 2.0**-10 if got.dtype == np.float16 else 0.0
    return float(np.maximum(0.0, difference - allowed))


def _bundle(opened: Path, bundles: list[Bundle]) -> Bundle | None:
    same = [b for b in bundles if opened.name == b.path.name]
    if same:
        return same[0]
    if opened.exists():
        data = opened.read_bytes()
        return next((b for b in bundles if b.path.read_bytes() == data), None)
    return None


def _feeds(
    folder: Path, session: onnxruntime.InferenceSession, bundle: Bundle
) -> dict[str, NDArray[np.generic]]:
    """Bytes of each input as the model takes them, at the sizes that an extra input chooses."""
    feeds = {}
    shapes = _chosen_shapes(folder, [(e.name, e.shape) for e in session.get_inputs()], bundle)
    for i, entry in enumerate(session.get_inputs()):
        raw, shape = np.fromfile(folder / f"in_{i}.bin", np.uint8), shapes[entry.name]
        if bundle.preprocessing and i == 0:
            data = aipp.apply(bundle.preprocessing, raw, shape)
            feeds[entry.name] = data[: shape[0]] if shape[0] > 0 else data
            continue
        kind = np.dtype(KINDS[entry.type])
        count = int(np.prod(shape)) if all(d >= 0 for d in shape) else 0
        if kind == np.float32 and raw.nbytes == 2 * count:  # --input_fp16_nodes
            values = raw.view(np.float16).astype(np.float32)
        else:
            values = raw[: raw.nbytes // kind.itemsize * kind.itemsize].view(kind)
        feeds[entry.name] = values[: count or None].reshape(shape)
    return feeds


KINDS = {
    "tensor(float)": "f4",
    "tensor(float16)": "f2",
    "tensor(int32)": "i4",
    "tensor(int64)": "i8",
    "tensor(uint8)": "u1",
    "tensor(bool)": "?",
}


def _chosen_shapes(
    folder: Path, inputs: list[tuple[str, list[int | str]]], bundle: Bundle
) -> dict[str, list[int]]:
    """Shapes of all inputs at the sizes that the program chose; -1 where nothing says them."""
    file = folder / "chosen"
    word, *rest = file.read_text().split() if file.exists() else [""]
    numbers = [int(n) for n in rest]
    shapes = {}
    for name, declared in inputs:
        dims = bundle.dims.get(name) or [d if isinstance(d, int) else -1 for d in declared]
        if word == "dims":
            shapes[name], numbers = numbers[: len(dims)], numbers[len(dims) :]
            continue
        free = iter(numbers * (len(dims) if word == "batch" else 1))
        shapes[name] = [next(free, -1) if d < 0 else d for d in dims]
    return shapes


_NUMBER = re.compile(r"\d+\.\d{3,}")


def printed(text: str, comparison: Comparison) -> str:
    """Whether the reference's largest value is among the numbers that the program prints."""
    numbers = [float(n) for n in _NUMBER.findall(text)]
    if not numbers or not comparison.top:
        return "-"
    found = [any(abs(n - t) <= 2e-3 * max(abs(t), 1e-2) for n in numbers) for t in comparison.top]
    return "yes" if any(found) else "no"
