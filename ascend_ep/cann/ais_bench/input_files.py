"""The files of a model's inputs: which of them make one run, and what they hold."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep import array_file, regular_file
from ascend_ep.cann.aclruntime.failure import Failure

from .log import logger

#: In the place of a file: made-up data; the first file again, where a batch isn't full.
PURE, PADDING = "pure_infer_data", "padding_infer_fake_file"

#: Of a run, the files of each input.
Run = list[list[str]]
_SUFFIXES = (".npy", ".bin")


def runs_of(inputs: str | None, descriptions: Sequence[Any], one_file_a_run: bool = False) -> list[Run]:
    """The runs that `--input` asks for: files or folders, as many for each input of the model.

    Files smaller than the input are put together until they fill it, the last time with the first file again;
    one_file_a_run: they are of any size. Raises Failure E45003.
    """
    if not inputs:
        return [[[PURE] for _ in descriptions]]
    files = _files_of_inputs(inputs, len(descriptions))
    count = 1 if one_file_a_run else _files_of_a_run(files[0][0], descriptions[0])
    runs = math.ceil(len(files[0]) / count)
    sizes = f"files0 size:{_bytes_of(files[0][0])} tensor0size:{descriptions[0].realsize}"
    logger.info(f"get filesperbatch {sizes} filesperbatch:{count} runcount:{runs}")
    groups = [list(split(each, count, PADDING)) for each in files]
    return [[group[i] for group in groups] for i in range(runs)]


def _files_of_inputs(inputs: str, n_inputs: int) -> list[list[str]]:
    given = inputs.split(",")
    missing = next((g for g in given if not os.path.exists(g)), None)
    if missing is not None:
        raise Failure("E45003", missing, "there is no such file or folder", fix="Check --input.")
    folders = [os.path.isdir(g) for g in given]
    if any(folders) != all(folders):
        raise Failure("E45003", inputs, "files and folders are mixed", fix="Give --input one kind.")
    files = (
        [files_in(g) for g in given] if folders[0] else list(split(given, len(given) // n_inputs or 1, None))
    )
    if len(files) != n_inputs or any(len(f) != len(files[0]) for f in files):
        kind = "folders" if folders[0] else "files"
        text = f"the model has {n_inputs} inputs; these are {len(given)} {kind}"
        if folders[0] and len(files) == n_inputs:
            text = f"the folders hold {', '.join(str(len(f)) for f in files)} files"
        fix = "Give as many for each input, in the model's order: first all of the first."
        raise Failure("E45003", inputs, text, fix=fix)
    return files


def files_in(folder: str) -> list[str]:
    """The .npy and .bin files there, in the order of the numbers in their names. Raises Failure E45003."""
    found = [os.path.join(folder, f) for f in sorted(os.listdir(folder)) if f.lower().endswith(_SUFFIXES)]
    if not found:
        raise Failure("E45003", folder, "it holds no .npy or .bin files")
    return sorted(found, key=_natural)


def _natural(path: str) -> list[Any]:
    return [
        (0, int(word), "") if word.isdecimal() else (1, 0, word.lower()) for word in re.split(r"(\d+)", path)
    ]


def split(items: Sequence[Any], count: int, filling: Any) -> Iterator[list[Any]]:
    """Groups of `count`, the last one filled up with `filling`, unless that is None."""
    for start in range(0, len(items), count):
        group = list(items[start : start + count])
        yield group if filling is None else group + [filling] * (count - len(group))


def _files_of_a_run(first: str, description: Any) -> int:
    size, room = _bytes_of(first), description.realsize
    if not size or room % size:
        text = f"it has {size} bytes, input [{description.name}] {room}"
        raise Failure("E45003", first, text, fix="Give files of the input's size, or of an equal part of it.")
    return int(room // size)


def _bytes_of(path: str) -> int:
    if path.lower().endswith(".npy"):
        return int(read_file(path).nbytes)
    return os.path.getsize(path)


def read_file(path: str) -> NDArray[Any]:
    """The array in an .npy file, else the bytes. Raises Failure E45003."""
    try:
        if path.lower().endswith(".npy"):
            return array_file.load_one(path)
        return np.frombuffer(regular_file.read(path), np.int8)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise Failure("E45003", path, f"it can't be read: {reason}") from None


def read_input(
    files: Sequence[str], description: Any, pure_data_type: str, any_size: bool = False
) -> NDArray[Any]:
    """What the files of one input hold, behind each other. pure_data_type: zero or random, for PURE.

    Raises Failure E45003, unless any_size, when that isn't what the input takes.
    """
    arrays = []
    for file in files:
        if file == PURE:
            arrays.append(_made_up(description.realsize, pure_data_type))
        else:
            arrays.append(read_file(files[0] if file == PADDING else file))
    if len(arrays) == 1:
        return arrays[0]
    array = np.concatenate([np.ascontiguousarray(a).reshape(-1).view(np.uint8) for a in arrays])
    if not any_size and array.nbytes != description.realsize:
        text = (
            f"with the files beside it, it has {array.nbytes} bytes; the model takes {description.realsize}"
        )
        raise Failure("E45003", files[0], text)
    return array


def _made_up(size: int, kind: str) -> NDArray[np.uint8]:
    if kind == "random":
        return np.random.default_rng().integers(0, 256, size, np.uint8)
    return np.zeros(size, np.uint8)
