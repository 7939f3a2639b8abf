"""A plan whose fallback partition doesn't replace its owner is refused."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from formula_models import conversion_of

import ascend_ep
from ascend_ep.errors import AscendError
from ascend_ep.plan.writing import writer
from ascend_ep.runtime._rt import ffi, lib
from ascend_ep.runtime.binding import open_model

X = np.ones((4, 100), np.float32)
FALLBACK = ffi.sizeof("asc_partition") - 4  # the last field
KIND = 4


@pytest.fixture
def bundle(tmp_path: Path, compiler: None) -> bytearray:
    conversion = conversion_of(tmp_path, "always", "x/sum(x)", {"x": X}, [1], [X.shape])
    return bytearray(conversion.to_bytes())


def records(bundle: bytearray) -> int:
    """Where the two partition records begin."""
    model = open_model(bytes(bundle))
    count = ffi.new("uint64_t *")
    start = lib.asc_model_section(model.pointer, lib.ASC_SEC_PARTITIONS, count)
    assert count[0] == 2
    return bytes(bundle).index(bytes(ffi.buffer(ffi.cast("char *", start), 2 * ffi.sizeof("asc_partition"))))


def put(bundle: bytearray, at: int, value: int) -> None:
    struct.pack_into("<I", bundle, at, value)
    writer.stamp(memoryview(bundle))


@pytest.mark.parametrize(
    "change",
    [
        lambda b, at, size: put(b, at + FALLBACK, 0),  # nobody owns the fallback
        lambda b, at, size: put(b, at + FALLBACK, 7),  # it doesn't exist
        lambda b, at, size: put(b, at + size + FALLBACK, 1),  # a fallback has one
        lambda b, at, size: put(b, at + size + KIND, lib.ASC_PARTITION_NATIVE),
        lambda b, at, size: put(b, at + KIND, lib.ASC_PARTITION_FALLBACK),
        lambda b, at, size: put(b, at + KIND, 3),
        lambda b, at, size: put(b, at + size + 6 * 4, struct.unpack_from("<I", b, at + 8 * 4)[0]),
    ],
)
def test_refused(bundle: bytearray, change: Callable[[bytearray, int, int], None]) -> None:
    ascend_ep.InferenceSession(bytes(bundle)).run(None, {"x": X})
    change(bundle, records(bundle), ffi.sizeof("asc_partition"))
    with pytest.raises(AscendError, match="E40003"):
        open_model(bytes(bundle))
