"""HCCL between processes, and between the threads of one: values, and ranks that differ or die."""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from .conftest import Runner

RANK = Path(__file__).parent / "programs" / "hccl_rank.py"
ROOT_INFO_BYTES = 4108


def start(
    toolkit: Path, ranks: int, case: str, which: Sequence[int], **env: str
) -> list[subprocess.Popen[str]]:
    """Processes of these ranks, of a communicator of `ranks`."""
    library = str(toolkit / "lib64" / "libhccl.so")
    root = ctypes.create_string_buffer(ROOT_INFO_BYTES)
    assert ctypes.CDLL(library).HcclGetRootInfo(root) == 0
    started = []
    for rank in which:
        command = [sys.executable, str(RANK), library, str(ranks), str(rank), case]
        environment = {**os.environ, "ASCEND_EP_DEVICES": str(ranks), **env}
        with tempfile.TemporaryFile() as given:
            given.write(root.raw)
            given.seek(0)
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        started.append(process)
    return started


def end(processes: list[subprocess.Popen[str]]) -> list[str]:
    """What they printed, once all are done."""
    return [process.communicate(timeout=120)[0] for process in processes]


@pytest.fixture(autouse=True)
def litter() -> Iterator[None]:
    """Nothing is left in shared memory."""
    before = set(os.listdir("/dev/shm"))
    yield
    assert {name for name in os.listdir("/dev/shm") if "hccl" in name} <= before


@pytest.mark.parametrize("ranks", [2, 3])
def test_values(toolkit: Path, ranks: int) -> None:
    processes = start(toolkit, ranks, "everything", range(ranks))
    printed = end(processes)
    assert [process.returncode for process in processes] == [0] * ranks, printed


def test_checking_mode(toolkit: Path) -> None:
    """Devices' memory is out of the host's reach."""
    processes = start(toolkit, 2, "some", range(2), ASCEND_EP_ACL_CHECK="1")
    printed = end(processes)
    assert [process.returncode for process in processes] == [0, 0], printed
    assert not [line for line in printed if "ACL CHECK" in line]


def test_every_function_without_arguments(toolkit: Path) -> None:
    """All that the header declares are there, and refuse NULL with a code and a text."""
    library = ctypes.CDLL(str(toolkit / "lib64" / "libhccl.so"))
    library.aclGetRecentErrMsg.restype = ctypes.c_char_p
    header = (toolkit / "include" / "hccl" / "hccl.h").read_text()
    names = re.findall(r"ACL_FUNC_VISIBILITY HcclResult (\w+)\(", header)
    assert len(names) > 45
    for name in names:
        if name not in ("HcclSetConfig", "HcclGroupStart"):  # sound without any
            assert getattr(library, name)(*[ctypes.c_void_p()] * 10) in (1, 2, 5, 15), name
            assert f"{name} failed with" in library.aclGetRecentErrMsg().decode(), name


@pytest.mark.parametrize("way", ["all", "root", "config", "table", "sub", "group"])
def test_threads(run: Runner, tmp_path: Path, way: str) -> None:
    table = tmp_path / "hccl.json"
    devices = [{"device_id": str(i), "device_ip": f"10.0.0.{i}", "rank_id": str(i)} for i in range(3)]
    servers = [{"server_id": "10.0.0.9", "device": devices}]
    table.write_text(json.dumps({"version": "1.0", "status": "completed", "server_list": servers}))
    done = run("hccl_threads.cpp", way, 3, table, ASCEND_EP_DEVICES="3")
    assert (done.status, done.out) == (0, "done\n"), done


def test_ranks_that_differ(toolkit: Path) -> None:
    """Rank r reduces r + 1 elements: both ranks get an error that says so."""
    for printed in end(start(toolkit, 2, "differ", range(2))):
        assert "code 1 " in printed
        assert "EI0005" in printed
        assert "differ in their counts" in printed


def test_a_rank_is_killed(toolkit: Path) -> None:
    """The other one, which waits for it, gets an error at once, and the communicator stays broken."""
    processes = start(toolkit, 2, "wait", range(2))
    assert processes[1].stdout is not None
    assert processes[1].stdout.readline() == "ready\n"
    processes[1].send_signal(signal.SIGKILL)
    printed, _ = end(processes)
    assert "code 21 " in printed
    assert "rank 1" in printed
    assert "its process ended" in printed
    assert "again 21" in printed


def test_a_communicator_is_destroyed(toolkit: Path) -> None:
    """Its operation, which waits, ends, and so does that of the other rank."""
    first, second = end(start(toolkit, 2, "destroy", range(2)))
    assert "Terminating operation due to external request" in first
    assert "code 507010: EI0002" in second
    assert "rank 0 of communicator" in second


def test_a_rank_that_never_comes(toolkit: Path) -> None:
    (printed,) = end(start(toolkit, 2, "everything", [1], HCCL_CONNECT_TIMEOUT="1"))
    assert "HcclCommInitRootInfo: 9: EI0006" in printed
    assert "rank 0 of 2 has not come within HCCL_CONNECT_TIMEOUT (1 s)" in printed
    assert "a card takes 120 to 7200" in printed


def test_a_rank_that_does_nothing(toolkit: Path) -> None:
    processes = start(toolkit, 2, "wait", range(2), HCCL_EXEC_TIMEOUT="1")
    printed = processes[0].communicate(timeout=60)[0]
    processes[1].kill()
    end(processes[1:])
    assert "code 9 " in printed
    assert "has not answered rank 0 within 1 s" in printed


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "isn't JSON from line 1 on"),
        ("{}", "has no server_list with a server"),
        ('{"server_list": [{"device": []}]}', "has no device"),
        ('{"server_list": [{}, {}]}', "ranks are on one host here"),
        ('{"server_list": [{"device": [{"device_id": "0"}]}]}', "no rank_id"),
        ('{"server_list": [{"device": [{"rank_id": "0"}]}]}', "no device_id"),
        ('{"server_list": [{"device": [{"rank_id": "1", "device_id": "0"}]}]}', "but no rank_id 0"),
    ],
)
def test_rank_tables(toolkit: Path, tmp_path: Path, text: str, says: str) -> None:
    library = ctypes.CDLL(str(toolkit / "lib64" / "libhccl.so"))
    library.aclGetRecentErrMsg.restype = ctypes.c_char_p
    table = tmp_path / "hccl.json"
    table.write_text(text)
    comm = ctypes.c_void_p()
    assert library.HcclCommInitClusterInfo(str(table).encode(), 0, ctypes.byref(comm)) in (1, 5)
    message = library.aclGetRecentErrMsg().decode()
    assert message.startswith("EI0004")
    assert says in message
