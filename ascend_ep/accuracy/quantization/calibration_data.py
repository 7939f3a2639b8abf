"""Samples for a model's inputs: from a folder, from files, or from what a Python program holds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep import array_file, regular_file
from ascend_ep.element_types import ELEMENT_TYPES, numpy_dtype
from ascend_ep.errors import AscendError

from .observe import Array, Sample

SUFFIXES = (".npy", ".npz", ".bin")


@dataclass(frozen=True)
class Input:
    """An input of a model: its sizes, None where they are free."""

    name: str
    dtype: np.dtype[Any]
    dims: tuple[int | None, ...]


def read_samples(
    data: Any, inputs: Sequence[Input], batch_num: int | None = None, data_types: Sequence[str] = ()
) -> list[Sample]:
    """One mapping from input to array each, at most `batch_num`.

    `data`: a path, or several with ; between, one for each input; or arrays, or mappings. A folder holds
    .npz files, each a sample with an array for each input; or .npy and .bin files of the only input; or a
    folder for each input, by its name, whose files go together in the order of their names. A file may hold
    many samples along its first axis, where the model takes one. `data_types` of .bin files, by input.
    Raises AscendError.
    """
    if isinstance(data, str | os.PathLike):
        found = _from_paths(os.fspath(data), inputs, data_types)
    else:
        found = _from_program(data, inputs)
    samples: list[Sample] = []
    for given in found:
        samples += _split(given, inputs)
        if batch_num is not None and len(samples) >= batch_num:
            break
    if not samples:
        raise AscendError("E10001", str(data), "--data", "It holds no sample.")
    return samples[:batch_num]


def _from_program(data: Iterable[Any], inputs: Sequence[Input]) -> Iterable[dict[str, Array]]:
    listed = [data] if isinstance(data, np.ndarray | Mapping) else data
    for each in listed:
        if isinstance(each, Mapping):
            yield {name: np.asarray(array) for name, array in each.items()}
        elif isinstance(each, tuple | list) and len(each) == len(inputs):
            yield {i.name: np.asarray(array) for i, array in zip(inputs, each, strict=True)}
        else:
            yield {inputs[0].name: np.asarray(each)}


def _from_paths(text: str, inputs: Sequence[Input], types: Sequence[str]) -> Iterable[dict[str, Array]]:
    paths = [Path(p) for p in text.split(";") if p]
    for path in paths:
        if not path.exists():
            raise AscendError("E10410", str(path))
    if len(paths) == 1 and paths[0].is_dir():
        folders = [paths[0] / i.name for i in inputs]
        if all(f.is_dir() for f in folders):
            paths = folders
    kinds = _types(inputs, types)
    if len(paths) == 1:
        for file in _files(paths[0]):
            yield _of_file(file, inputs, kinds)
        return
    if len(paths) != len(inputs):
        names = ", ".join(i.name for i in inputs)
        raise AscendError(
            "E10001", text, "--data", f"The inputs are {names}: one folder for each, in this order."
        )
    listed = [_files(path) for path in paths]
    if len({len(files) for files in listed}) > 1:
        counts = ", ".join(f"{p}: {len(f)}" for p, f in zip(paths, listed, strict=True))
        raise AscendError(
            "E10001", text, "--data", f"The folders differ in their numbers of files ({counts})."
        )
    for files in zip(*listed, strict=True):
        yield {i.name: _array(f, i, kinds[i.name]) for i, f in zip(inputs, files, strict=True)}


def _types(inputs: Sequence[Input], names: Sequence[str]) -> dict[str, np.dtype[Any]]:
    """The element types of .bin files."""
    if names and len(names) != len(inputs):
        raise AscendError("E10001", ";".join(names), "--data_types", f"The model has {len(inputs)} inputs.")
    found = {i.name: i.dtype for i in inputs}
    return found | {i.name: type_named(name) for i, name in zip(inputs, names, strict=False)}


def type_named(name: str) -> np.dtype[Any]:
    """float32, fp16, int64: as AMCT names the types of .bin files. Raises AscendError E10001."""
    array = name.strip().lower().replace("fp", "float")
    number = next((row.number for row in ELEMENT_TYPES.values() if row.array == array), None)
    if number is None:
        raise AscendError("E10001", name, "--data_types", "It is no type, such as float32, uint8 or int64.")
    return numpy_dtype(number)


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    found = sorted(f for f in path.iterdir() if f.suffix in SUFFIXES)
    if not found:
        raise AscendError(
            "E10001", str(path), "--data", f"It has no file that ends in {', '.join(SUFFIXES)}."
        )
    return found


def _of_file(file: Path, inputs: Sequence[Input], kinds: Mapping[str, np.dtype[Any]]) -> dict[str, Array]:
    if file.suffix == ".npz":
        return dict(_load(file))
    if len(inputs) > 1:
        names = ", ".join(i.name for i in inputs)
        reason = f"It is one array, and the inputs are {names}: use .npz files, or a folder for each."
        raise AscendError("E10001", str(file), "--data", reason)
    return {inputs[0].name: _array(file, inputs[0], kinds[inputs[0].name])}


def _array(file: Path, wanted: Input, kind: np.dtype[Any]) -> Array:
    if file.suffix != ".bin":
        found = _load(file)
        if isinstance(found, np.ndarray):
            return found
        return found[wanted.name] if wanted.name in found else next(iter(found.values()))
    try:
        raw = np.frombuffer(regular_file.read(file), np.uint8)
    except OSError as error:
        raise AscendError("E40002", f"can't read [{file}]: {error.strerror}") from error
    fixed = [d for d in wanted.dims if d is not None]
    size = int(np.prod(fixed, dtype=np.int64)) * kind.itemsize
    free = wanted.dims.count(None)
    if not size or raw.size % size or (not free and wanted.dims[:1] != (1,) and raw.size != size) or free > 1:
        reason = f"It has {raw.size} bytes, and {wanted.name} is {_text(wanted)} of {kind}."
        raise AscendError("E10001", str(file), "--data", reason)
    dims = [-1 if d is None else d for d in wanted.dims]
    if not free and dims:
        dims[0] = -1
    return raw.view(kind).reshape(dims)


def _load(file: Path) -> Any:
    """An array, or those of an .npz file by name. Pickled objects are refused."""
    try:
        return array_file.load(file)
    except OSError as error:
        raise AscendError("E40002", f"can't read [{file}]: {error.strerror}") from error
    except ValueError as error:
        raise array_file.refused(file) from error


def _split(given: Mapping[str, Array], inputs: Sequence[Input]) -> list[Sample]:
    """Samples of the model's own sizes: cast, with a batch axis, and apart where many lie along the first."""
    missing = [i.name for i in inputs if i.name not in given]
    if missing:
        reason = f"It has {', '.join(given)}, and input {missing[0]} is missing."
        raise AscendError("E10001", "a sample", "--data", reason)
    arrays = {i.name: _fitted(np.asarray(given[i.name]), i) for i in inputs}
    counts = {len(a) for i in inputs if (a := arrays[i.name]).ndim and i.dims[0] == 1}
    many = counts.pop() if len(counts) == 1 else 1
    if many == 1:
        return [arrays]
    parts = {i.name: i.dims[:1] == (1,) for i in inputs}
    return [{n: a[at : at + 1] if parts[n] else a for n, a in arrays.items()} for at in range(many)]


def _fitted(array: Array, wanted: Input) -> NDArray[Any]:
    rank = len(wanted.dims)
    if array.ndim == rank - 1 and wanted.dims[0] in (1, None):
        array = array[None]
    fits = array.ndim == rank and all(
        d is None or d == n or (axis == 0 and d == 1)
        for axis, (d, n) in enumerate(zip(wanted.dims, array.shape, strict=True))
    )
    kinds = {"f": "f", "i": "iu", "u": "iu", "b": "b"}
    same = array.dtype == wanted.dtype or array.dtype.kind in kinds.get(wanted.dtype.kind, "")
    if not fits or not same:
        reason = f"Input {wanted.name} is {_text(wanted)} of {wanted.dtype}."
        raise AscendError("E10001", f"{list(array.shape)} of {array.dtype}", "--data", reason)
    return array.astype(wanted.dtype, copy=False)


def _text(wanted: Input) -> str:
    return "[" + ",".join("?" if d is None else str(d) for d in wanted.dims) + "]"
