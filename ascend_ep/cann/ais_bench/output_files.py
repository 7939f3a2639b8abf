"""The files of a model's outputs: `<first input's name>_<output>.<bin, npy or txt>`, one for each sample."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep import atomic_file
from ascend_ep.cann.aclruntime.failure import Failure

from .input_files import PADDING, Run
from .summary import Summary


def write_outputs(
    outputs: Sequence[NDArray[Any]],
    folder: str,
    run: Run,
    number: int,
    outfmt: str,
    axis: int,
    summary: Summary,
) -> None:
    """Splits the outputs of a run along `axis` into as many samples as it had files, and writes each.

    Raises Failure E45002 where the axis can't be split, E45008 where a file can't be written.
    """
    samples = list(zip(*run, strict=True))
    for i, output in enumerate(outputs):
        for j, part in enumerate(_parts(output, len(samples), axis)):
            first = samples[j][0]
            if first == PADDING:
                continue
            path = os.path.join(folder, f"{os.path.basename(first).split('.')[0]}_{i}.{outfmt.lower()}")
            sample = number * len(samples) + j
            summary.add_sample_id_infiles(sample, samples[j])
            summary.append_sample_id_outfile(sample, path)
            write_array(path, part)


def _parts(output: NDArray[Any], count: int, axis: int) -> list[NDArray[Any]]:
    if count == 1:
        return [output]
    if axis >= output.ndim or output.shape[axis] % count:
        text = (
            f"an output of shape {list(output.shape)} can't be split along axis {axis} into {count} samples"
        )
        raise Failure("E45002", text, fix="Give the axis of its batch with --output_batchsize_axis.")
    return np.array_split(output, count, axis)


def write_array(path: str, array: NDArray[Any]) -> None:
    """Writes the array as the name of the file says. Raises Failure E45008."""
    try:
        with atomic_file.replacing(Path(path), synced=False) as file:
            if path.endswith(".npy"):
                np.save(file, array)
            else:
                file.write(_text(array).encode() if path.endswith(".txt") else array.tobytes())
    except OSError as error:
        raise Failure("E45008", path, error.strerror) from None


def _text(array: NDArray[Any]) -> str:
    """A line for each row of the last axis, a space after each number."""
    rows = array.reshape(-1, array.shape[-1] if array.ndim else 1)
    shown = "%d" if rows.dtype.kind in "iub" else "%f"
    return "".join("".join(f"{shown % value} " for value in row) + "\n" for row in rows.tolist())
