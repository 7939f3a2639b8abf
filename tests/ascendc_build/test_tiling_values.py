"""Tiling data as people give it becomes the structure that the kernel reads."""

from __future__ import annotations

import struct

import pytest

from ascend_ep.errors import AscendError
from ascend_ep.opbuild.kernels.signature import chosen_kernel
from ascend_ep.opbuild.kernels.tiling_values import tiling_bytes

PLAIN = """\
struct PlainTiling { uint32_t total; float alpha; uint64_t sizes[2]; uint16_t last = 3; };
extern "C" __global__ __aicore__ void plain(GM_ADDR x, __gm__ PlainTiling *tiling) { }
"""
OLDER = """\
typedef struct { int32_t M; int32_t N; float gelu_const; } GemmTiling;
extern "C" __global__ __aicore__ void older(GM_ADDR x, __gm__ GemmTiling* tiling) { }
"""
MACROS = """\
#include "macros_tiling.h"
extern "C" __global__ __aicore__ void macros(GM_ADDR x, GM_ADDR tiling) { GET_TILING_DATA(t, tiling); }
"""
HEADER = """\
BEGIN_TILING_DATA_DEF(MacroTiling)
TILING_DATA_FIELD_DEF(uint64_t, length);
TILING_DATA_FIELD_DEF_ARR(int32_t, 3, parts);
END_TILING_DATA_DEF;
"""


def packed(tmp_path, source: str, text: str) -> bytes:
    (tmp_path / "macros_tiling.h").write_text(HEADER)
    file = tmp_path / "kernel.cpp"
    file.write_text(source)
    return tiling_bytes(text, chosen_kernel([file], ""), [tmp_path])


@pytest.mark.parametrize(
    ("source", "text", "wanted"),
    [
        (PLAIN, "total=7,alpha=0.5,sizes=3,4", struct.pack("@IfQQH", 7, 0.5, 3, 4, 0)),
        (PLAIN, "7,0.5f,3,4,9", struct.pack("@IfQQH", 7, 0.5, 3, 4, 9)),
        (OLDER, "M=8,N=0x10", struct.pack("@iif", 8, 16, 0)),
        (MACROS, "length=9,parts=1,-2,3", struct.pack("@Qiii", 9, 1, -2, 3)),
        ('extern "C" __global__ __aicore__ void k(GM_ADDR t) { }', "4,2.5", struct.pack("@If", 4, 2.5)),
    ],
)
def test_values_become_the_structure(tmp_path, source, text, wanted):
    assert packed(tmp_path, source, text) == wanted


def test_bytes_come_from_a_file(tmp_path):
    (tmp_path / "t.bin").write_bytes(b"\1\2\3\4")
    assert packed(tmp_path, PLAIN, str(tmp_path / "t.bin")) == b"\1\2\3\4"


@pytest.mark.parametrize(
    ("text", "reason"), [("totl=3", "no field totl.*total"), ("total=many", "many is no number")]
)
def test_wrong_values_are_refused(tmp_path, text, reason):
    with pytest.raises(AscendError, match=reason):
        packed(tmp_path, PLAIN, text)
