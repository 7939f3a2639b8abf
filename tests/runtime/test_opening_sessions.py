"""What an InferenceSession says to what it can't open, and what opening one imports and keeps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from isa_levels import isa_levels, isa_name
from small_models import projection

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError


def test_missing_file_and_wrong_file(tmp_path: Path) -> None:
    with pytest.raises(AscendError) as caught:
        ascend_ep.InferenceSession(str(tmp_path / "none.om"))
    assert caught.value.code == "E40002"
    (tmp_path / "bad.om").write_bytes(b"PK\3\4" + bytes(400))
    with pytest.raises(AscendError) as caught:
        ascend_ep.InferenceSession(tmp_path / "bad.om")
    assert caught.value.code == "E40003"


@pytest.mark.parametrize("name", ["pipe.om", "pipe", "bundle.om\0", "bundle.om\0.om"])
def test_a_pipe_is_not_waited_for_and_a_zero_byte_ends_no_name(
    name: str, bundle: bytes, tmp_path: Path
) -> None:
    (tmp_path / "bundle.om").write_bytes(bundle)
    if name.startswith("pipe"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(AscendError, match=r"regular file|zero byte") as caught:
        ascend_ep.InferenceSession(f"{tmp_path}/{name}")
    assert caught.value.code in ("E40002", "E10041")


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_an_unknown_isa_level_is_refused_by_name(bundle: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.om").write_bytes(bundle)
    code = f"import ascend_ep; ascend_ep.InferenceSession({str(tmp_path / 'm.om')!r})"
    found = run_python(code, ASCEND_EP_CPU="sse9")
    assert "E40001" in found.stderr
    assert "sse9" in found.stderr
    assert run_python(code, ASCEND_EP_CPU="baseline").returncode == 0


@pytest.mark.skipif("amx" not in map(isa_name, isa_levels()), reason="a CPU and system without AMX")
@pytest.mark.parametrize(("level", "asks"), [("avx512bf16", False), ("amx", True)])
def test_a_lower_level_leaves_small_stacks_for_signals(
    bundle: bytes, tmp_path: Path, level: str, asks: bool
) -> None:
    """The system refuses them to a process that has asked for tiles of AMX."""
    (tmp_path / "m.om").write_bytes(bundle)
    code = f"import ascend_ep; ascend_ep.InferenceSession({str(tmp_path / 'm.om')!r})\n" + (
        "import ctypes\n"
        "get_permission, tile_data, allowed = 0x1022, 18, ctypes.c_uint64()\n"
        "assert ctypes.CDLL(None).syscall(158, get_permission, ctypes.byref(allowed)) == 0\n"
        "print(bool(allowed.value >> tile_data & 1))"
    )
    found = run_python(code, ASCEND_EP_CPU=level)
    assert found.stdout.strip() == str(asks), found.stderr


def test_loading_a_bundle_imports_nothing_heavy(bundle: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.om").write_bytes(bundle)
    found = run_python(
        "import sys, numpy, ascend_ep\n"
        f"s = ascend_ep.InferenceSession({str(tmp_path / 'm.om')!r})\n"
        "s.run(None, {'x': numpy.zeros((2, 16), 'f')})\n"
        "heavy = ('onnx', 'onnxruntime', 'onnx_ir', 'onnxscript')\n"
        "rooms = ('compiler', 'codegen', 'plan', 'cann', 'graph', 'frontends')\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in heavy"
        " or m.startswith(tuple(f'ascend_ep.{r}' for r in rooms))))"
    )
    assert found.stdout.strip() == "[]", found.stdout + found.stderr


@pytest.mark.measures
def test_memory_is_flat_over_sessions(bundle: bytes, tmp_path: Path) -> None:
    """In a process of its own: what other tests leave behind moves the heap by more than a leak would."""
    path = tmp_path / "m.om"
    path.write_bytes(bundle)
    found = run_python(
        "import os, numpy, ascend_ep\n"
        "x = numpy.ones((2, 16), 'f')\n"
        "def cycle(n):\n"
        "    for _ in range(n):\n"
        f"        ascend_ep.InferenceSession({str(path)!r}).run(None, {{'x': x}})\n"
        "    return int(open('/proc/self/statm').read().split()[1]) * os.sysconf('SC_PAGE_SIZE')\n"
        "before = cycle(1000)\n"
        "print(cycle(9000) - before)"
    )
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) < 2_000_000


def test_what_is_neither_bundle_nor_model(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"nothing of the kind")
    for source, code in ((tmp_path / "m.onnx", "E10041"), (b"no model", "E10041"), (tmp_path, "E41010")):
        with pytest.raises(AscendError) as caught:
            ascend_ep.InferenceSession(source)
        assert caught.value.code == code


@pytest.mark.parametrize("written", ["{", "[" * 5000, "7", "[[1]]"])
def test_metadata_of_someone_elses_making(written: str) -> None:
    with pytest.raises(AscendError, match=r"dims:x"):
        ascend_ep.InferenceSession(convert(projection(), ConvertOptions(meta={"dims:x": written})).to_bytes())


def test_a_version_that_is_no_number() -> None:
    made = convert(projection(), ConvertOptions(meta={"model.version": "seven"})).to_bytes()
    assert ascend_ep.InferenceSession(made).get_modelmeta().version == 2**63 - 1
