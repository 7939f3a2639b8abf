"""Every function of AscendCL and HCCL that reads a file which a program names, as their headers declare them:
given a pipe that nobody writes to, a folder, a socket or a device, it returns an error, and doesn't wait.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import ascend_ep

INCLUDE = Path(ascend_ep.__file__).parent / "include"
DECLARED = re.compile(r"ACL_FUNC_VISIBILITY\s+\w+\s+(\w+)\(([^;]*?)\);", re.DOTALL)
NAMED = re.compile(r"const char \*\w*(path|file|dir|clusterInfo)\w*", re.IGNORECASE)
#: Functions that name a file of a source, write to it, or take a folder and another's weights.
OTHERS = re.compile(
    r"aclAppLog|aclop(StartDumpArgs|Compile\w*)|aclGenGraph\w+|aclprof\w+|aclmdlRI\w+|\w+WeightAddress"
)
SPECIAL = ("pipe", "folder", "socket", "device")


def declared() -> dict[str, list[str]]:
    found = {}
    for path in sorted([*INCLUDE.glob("acl/**/*.h"), *INCLUDE.glob("hccl/*.h")]):
        for name, arguments in DECLARED.findall(re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)):
            if NAMED.search(arguments) and not OTHERS.fullmatch(name):
                found[name] = [" ".join(argument.split()) for argument in arguments.split(",")]
    return found


FUNCTIONS = declared()


def test_the_headers_have_them() -> None:
    assert {"aclInit", "aclmdlLoadFromFile", "aclmdlSetDump", "aclrtBinaryLoadFromFile"} < set(FUNCTIONS)
    assert {"aclopSetModelDir", "HcclCommInitClusterInfo"} < set(FUNCTIONS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("special")
    os.mkfifo(made / "pipe")
    (made / "folder").mkdir()
    os.mknod(made / "socket", stat.S_IFSOCK | 0o600)
    (made / "device").symlink_to("/dev/zero")
    return made


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_waits(name: str, folder: Path) -> None:
    """All kinds in one process; other arguments have room, and are 0."""
    given = ["path" if NAMED.fullmatch(a) else "room()" if "*" in a else "0" for a in FUNCTIONS[name]]
    program = f"""
import ctypes
acl = ctypes.CDLL({str(INCLUDE.parent / "lib" / "libascendcl.so")!r})
def room():
    return ctypes.create_string_buffer(4096)
if {name!r} != "aclInit":
    acl.aclInit(None)
    acl.aclrtSetDevice(0)
for path in {[f"{folder}/{kind}".encode() for kind in SPECIAL]!r}:
    print(acl.{name}({", ".join(given)}), flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    codes = done.stdout.split()
    assert len(codes) == len(SPECIAL)
    assert "0" not in codes
