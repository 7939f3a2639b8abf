"""Every function that the headers declare is there, and refuses what is no good with a code of theirs."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from .interface import WAYS, Function, functions, program, program_of_one_unsound

#: They end what the others need, wait, or don't return to their caller.
ENDS = frozenset({"aclFinalize", "aclFinalizeReference", "aclrtResetDevice", "aclrtResetDeviceForce"})
#: Without a pointer these are sound calls.
SOUND = frozenset(
    (
        "aclnnInit",
        "aclnnFinalize",
        "aclInit",
        "aclrtSetDevice",
        "aclrtSynchronizeDevice",
        "aclrtSynchronizeDeviceWithTimeout",
        "aclrtSynchronizeStream",
        "aclrtSetTsDevice",
        "aclrtSetGroup",
        "aclrtSynchronizeStreamWithTimeout",
        "aclrtDeviceEnablePeerAccess",
        "aclrtDeviceDisablePeerAccess",
        "aclrtSetOpWaitTimeout",
        "aclrtSetOpExecuteTimeOut",
        "aclrtSetOpExecuteTimeOutWithMs",
        "aclrtSetStreamFailureMode",
        "aclrtSetStreamOverflowSwitch",
        "aclrtSetSysParamOpt",
        "aclrtCtxSetSysParamOpt",
        "aclrtStreamAbort",
        "aclrtStreamStop",
        "aclrtSetExceptionInfoCallback",
        "aclopSetCompileFlag",
        "aclmdlInitDump",
        "aclmdlFinalizeDump",
        "aclrtPeekAtLastError",
        "aclrtGetLastError",
        "hi_mpi_sys_init",
        "hi_mpi_sys_exit",
    )
)


#: What libascend_ge calls of this library, and what comparison tools do.
ENGINE = {
    "asc_convert",
    "asc_acl_fail",
    "asc_enter",
    "asc_last_text",
    "asc_make_folder",
    "asc_make_folders",
    "asc_remove_folder",
    "asc_replace_begin",
    "asc_replace_end",
}
ENGINE |= {"ParseDumpProtoToJson"}


@pytest.fixture(scope="module")
def declared(toolkit: Path) -> list[Function]:
    return functions(toolkit / "include" / "acl")


def build(toolkit: Path, source: Path, compiler: list[str]) -> Path:
    target = source.with_suffix("")
    command = [*compiler, "-w", str(source), "-o", str(target), f"-I{toolkit}/runtime/include"]
    command += [f"-L{toolkit}/runtime/lib64/stub", "-lascendcl", "-lacl_dvpp", "-lacl_cblas"]
    subprocess.run(command, check=True, timeout=100)
    return target


def test_all_are_there(declared: list[Function], toolkit: Path, tmp_path: Path) -> None:
    assert len(declared) > 550
    assert len({f.name for f in declared}) == len(declared)
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", f"{toolkit}/lib64/libascendcl.so"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    shown = set(re.findall(r" T (\w+)", listed))
    operators = (toolkit / "include" / "aclnnop").glob("*.h")
    aclnn = toolkit / "include" / "aclnn"
    hccl = toolkit / "include" / "hccl" / "hccl.h"
    read = [*operators, aclnn / "asc_operator.h", aclnn / "asc_custom_library.h", hccl]
    also = set(re.findall(r"(\w+)\((?!\*)", "".join(header.read_text() for header in read)))
    below = {  # what torch_npu links beside ACL, and what the header of launches calls where it is linked
        name for name in shown if re.match(r"rt[A-Z]|Msprof[A-Z]|asc_launch_", name)
    }
    assert shown - also - below - ENGINE == {f.name for f in declared}


def test_what_is_no_good_gets_a_code(declared: list[Function], toolkit: Path, tmp_path: Path) -> None:
    source = tmp_path / "calls.c"
    source.write_text(program(declared, ENDS))
    binary = build(toolkit, source, ["gcc", "-std=c11"])
    env = {**os.environ, "LD_LIBRARY_PATH": f"{toolkit}/lib64"}
    done = subprocess.run([str(binary)], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"crashed after {done.stdout.splitlines()[-1]}"
    codes = documented(toolkit)
    rows = [line.split() for line in done.stdout.splitlines()[:-1]]
    assert len(rows) > 450 * len(WAYS)
    undocumented = {(name, code) for name, _, code in rows if int(code) and int(code) not in codes}
    assert not undocumented
    assert not {name for name, _, code in rows if code == "0"} - SOUND


def test_one_argument_that_is_no_good_among_sound_ones(
    declared: list[Function], toolkit: Path, tmp_path: Path
) -> None:
    source = tmp_path / "calls.c"
    source.write_text(program_of_one_unsound(declared, ENDS))
    binary = build(toolkit, source, ["gcc", "-O0", "-std=c11"])
    env = {**os.environ, "LD_LIBRARY_PATH": f"{toolkit}/lib64"}
    done = subprocess.run(
        [str(binary)], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=90, check=False
    )
    lines = done.stdout.splitlines()
    assert (done.returncode, lines[-1]) == (0, "end"), f"ended after {lines[-1]}"
    begun = [line.split()[1] for line in lines if line.startswith("before ")]
    assert set(begun) == {function.name for function in declared} - ENDS
    rows = [line.split() for line in lines[:-1] if not line.startswith("before ")]
    codes = documented(toolkit)
    assert not {(name, code) for name, _, code in rows if int(code) and int(code) not in codes}


def documented(toolkit: Path) -> set[int]:
    """The codes that the headers name."""
    codes = {-1}  # HI_FAILURE, where a descriptor is returned
    for header in (
        "acl_base.h",
        "error_codes/rt_error_codes.h",
        "error_codes/ge_error_codes.h",
        "../aclnn/acl_meta.h",
    ):
        text = Path(os.path.normpath(toolkit / "include" / "acl" / header)).read_text()
        codes |= {int(n) for n in re.findall(r"_\w+ = (\d{6})", text)}
    for media in (toolkit / "include" / "acl" / "dvpp").glob("*.h"):
        named = re.findall(r"define HI_ERR_\w+ 0x(\w+)", media.read_text())
        codes |= {int(code, 16) - (1 << 32) for code in named}
    return codes


@pytest.mark.parametrize("compiler", [["g++", "-std=c++11"], ["gcc", "-std=c99"]])
def test_each_header_compiles_by_itself(compiler: list[str], toolkit: Path) -> None:
    from .interface import HEADERS

    for header in HEADERS:
        language = "c++" if compiler[0] == "g++" else "c"
        command = [*compiler, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", language, "-"]
        text = f'#include "acl/{header}"\n'
        subprocess.run([*command, f"-I{toolkit}/include"], input=text, text=True, check=True, timeout=60)


def test_what_a_video_channel_is_given_can_be_read_back(declared: list[Function]) -> None:
    names = {function.name for function in declared}
    setters = {name for name in names if re.match(r"aclv(dec|enc)Set", name)}
    assert setters
    assert {name.replace("Set", "Get", 1) for name in setters} - names == set()
