"""Arrays that users name by .npy and .npz files, of which any bytes may come."""

from __future__ import annotations

import errno
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep import regular_file
from ascend_ep.errors import AscendError


def load(path: str | os.PathLike[str]) -> NDArray[Any] | dict[str, NDArray[Any]]:
    """The array of an .npy file, or those of an .npz file by name. Pickled objects are refused.

    Raises OSError for what can't be read, and ValueError for what is no such file.
    """
    with regular_file.opened(path) as file:
        try:
            found = np.load(file, allow_pickle=False)
            return dict(found) if isinstance(found, np.lib.npyio.NpzFile) else found
        except Exception as error:  # whatever the parsers of numpy, zipfile and Python raise for such bytes
            # Seeking where a broken directory of an .npz file points is an invalid argument.
            if isinstance(error, ValueError) or getattr(error, "errno", errno.EINVAL) != errno.EINVAL:
                raise
            raise ValueError(str(error) or type(error).__name__) from error


def refused(path: str | os.PathLike[str]) -> AscendError:
    """What `load` has raised ValueError for."""
    try:
        with regular_file.opened(path) as file:
            is_array = file.read(6) == b"\x93NUMPY"
    except OSError:
        is_array = False
    what = "holds Python objects, or is cut" if is_array else "is no .npy or .npz file"
    fix = "Save arrays with numpy.save or numpy.savez."
    return AscendError("E40002", f"[{os.fspath(path)}] {what}", fix=fix)


def load_one(path: str | os.PathLike[str]) -> NDArray[Any]:
    """The array of an .npy file. Raises like `load`, and ValueError for an .npz file."""
    found = load(path)
    if isinstance(found, dict):
        raise ValueError("it is an .npz file of several arrays, in the place of an .npy file")
    return found


def load_several(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file by name. Raises like `load`, and ValueError for an .npy file."""
    found = load(path)
    if not isinstance(found, dict):
        raise ValueError("it is an .npy file of one array, in the place of an .npz file")
    return found
