"""ascend-ep toolkit and npu-smi."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ascend_ep.cli.device_state import STATE, devices
from ascend_ep.cli.ep import main

from .conftest import Runner

#: As build files of samples have it.
CMAKE = """cmake_minimum_required(VERSION 3.5...3.26)
project(sample CXX)
include_directories($ENV{DDK_PATH}/runtime/include/)
link_directories($ENV{NPU_HOST_LIB})
add_executable(main main.cpp)
target_link_libraries(main ascendcl acl_dvpp stdc++)
"""
SOURCE = """#include "acl/acl.h"
#include "acl/ops/acl_dvpp.h"
#include <cstdio>
int main() { uint32_t n = 0; aclrtGetDeviceCount(&n); printf("%u %s\\n", n, aclrtGetSocName()); }
"""
#: Tools and modules that scripts expect of an installation.
PROGRAM = "import acl, ais_bench; print(acl.init(), ais_bench.__name__)"
#: As run scripts of the samples find the chip and its family.
CHIP = """
import configparser, ctypes, os
name = ctypes.create_string_buffer(256)
runtime, count = ctypes.CDLL("libruntime.so"), ctypes.c_int32()
assert runtime.rtGetSocVersion(name, ctypes.c_uint32(8)) != 0
assert runtime.rtGetSocVersion(name, ctypes.c_uint32(256)) == 0
assert (runtime.rtGetDeviceCount(ctypes.byref(count)), count.value) == (0, 3)
said = configparser.ConfigParser()
path = os.environ["ASCEND_HOME_DIR"] + "/compiler/data/platform_config/" + name.value.decode() + ".ini"
assert said.read(path)
print(said["version"]["Short_SoC_version"], said["SoCInfo"]["vector_core_cnt"], said["AICoreSpec"]["ub_size"])
"""
TOOLS = f"msprof --help && msame --help && python3 -c '{PROGRAM}' && python3 -c '{CHIP}'"


def test_a_build_file_finds_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "it's cann"
    assert main(["toolkit", str(folder)]) == 0
    line = capsys.readouterr().out.strip().replace("source ", ". ")
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "main.cpp").write_text(SOURCE)
    script = f"{line} && cmake -S . -B build >/dev/null && cmake --build build >/dev/null && ./build/main"
    env = {k: v for k, v in os.environ.items() if not k.startswith("ASCEND")} | {"ASCEND_EP_DEVICES": "3"}
    done = subprocess.run(
        ["sh", "-c", f"{script} && atc --help | head -1 && npu-smi info -l && {TOOLS}"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 Ascend910B3\n")
    assert "Total Count                   : 3" in done.stdout
    assert done.stdout.splitlines()[-2:] == ["0 ais_bench", "Ascend910B 40 196608"]
    for usage in ("ascend-prof msprof", "msame"):
        assert usage in done.stdout


#: Below /usr/local/Ascend, as build files of programs have them.
INSTALLED = (
    "ascend-toolkit/set_env.sh",
    "ascend-toolkit/latest/aarch64-linux/include/acl/acl.h",
    "ascend-toolkit/latest/x86_64-linux/lib64/libascendcl.so",
    "ascend-toolkit/latest/x86_64-linux/ascend_toolkit_install.info",
    "latest/runtime/lib64/stub/libascendcl.so",
    "nnrt/latest/acllib/include/acl/acl.h",
    "cann/include/acl/acl.h",
    "driver/lib64/driver/libascend_hal.so",
    "driver/lib64/common/libascend_hal.so",
)


def test_a_folder_that_stands_for_an_installation(tmp_path: Path) -> None:
    assert main(["toolkit", str(tmp_path / "Ascend")]) == 0
    assert [p for p in INSTALLED if not (tmp_path / "Ascend" / p).exists()] == []


def test_again_and_never_over_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    assert main(["toolkit", str(ours)]) == 0
    assert main(["toolkit", str(ours)]) == 0
    theirs.mkdir()
    (theirs / "version.info").touch()
    assert main(["toolkit", str(theirs)]) == 1
    assert "`ascend-ep toolkit` didn't make it" in capsys.readouterr().err
    assert [p.name for p in theirs.iterdir()] == ["version.info"]


def test_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(STATE, str(tmp_path))
    monkeypatch.setenv("ASCEND_EP_DEVICES", "2")
    monkeypatch.setenv("ASCEND_EP_DEVICE_MEMORY", "1024")
    (tmp_path / str(os.getpid())).write_text(f"1 {300 << 20}\n")
    (tmp_path / "999999999").write_text("0 1\n")  # of a process that ended
    assert [d.used >> 20 for d in devices()] == [0, 300]
    assert main(["npu-smi", "info"]) == 0
    table = capsys.readouterr().out
    lines = table.splitlines()
    assert {len(line) for line in lines} == {98}
    assert "| 1     910B3               | OK            |" in table
    assert "300  / 1024" in table
    assert "No running processes found in NPU 0" in table
    assert any(str(os.getpid()) in line and "300" in line for line in lines)
    assert main(["npu-smi", "info", "-t", "memory", "-i", "1"]) == 0
    assert "HBM Capacity(MB)               : 1024" in capsys.readouterr().out
    assert main(["npu-smi", "info", "-i", "7"]) == 1


def test_many_threads_agree_in_every_bit(run: Runner, convert: object) -> None:
    assert callable(convert)
    model = convert("m (float[2, 3] x) => (float[2, 3] y) { y = Softmax(x) }")
    assert run("threads.c", model, 300).out == "0\n"
