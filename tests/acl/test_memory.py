"""What may be used of a block of a device: a card gives whole pieces of 32 bytes, and one more."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from .operators import Device

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from acl.test_memory import codes
print(codes(100, (100, 160, 161)))
"""


def codes(size: int, lengths: tuple[int, ...]) -> list[int]:
    """What sets of so many bytes of a block return; the operator's checks of its tensors are the same."""
    device, at = Device(), ctypes.c_void_p()
    try:
        assert device.acl.aclrtMalloc(ctypes.byref(at), ctypes.c_size_t(size), 0) == 0
        found = []
        for n in lengths:
            bytes_ = ctypes.c_size_t(n)
            found.append(int(device.acl.aclrtMemset(at, bytes_, 1, bytes_)))
        assert device.acl.aclrtFree(at) == 0
    finally:
        device.close()
    return found


@pytest.mark.parametrize(("size", "room"), [(1, 64), (32, 64), (100, 160), (128, 160), (513, 576)])
def test_programs_may_use_the_pad_of_a_block(size: int, room: int) -> None:
    assert codes(size, (size, room, room + 1)) == [0, 0, 107000]


def test_checking_mode_knows_what_was_asked_for() -> None:
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tests],
        env=os.environ | {"ASCEND_EP_ACL_CHECK": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[0, 107000, 107000]"
