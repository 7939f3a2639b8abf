"""Memory of a session's tensors inside onnxruntime: where results begin, and that they stay what they are."""

from __future__ import annotations

import gc
import re
from pathlib import Path

import numpy as np
import onnx.helper as oh
import onnxruntime as ort
import pytest
from provider_graphs import model, run_python, value, weights, with_noise
from test_sessions import session, strict

RELEASE = int(ort.__version__.split(".")[1])
#: Older ones use a provider's allocator after they deleted it.
OFFERED = pytest.mark.skipif(RELEASE < 28, reason="memory is offered from onnxruntime 1.28 on")
LARGE = (64, 1024)  # 256 KB
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")


def doubled() -> bytes:
    """y = 2 x of any two dimensions."""
    nodes = [oh.make_node("Add", ["x", "x"], ["y"], name="twice")]
    return model(nodes, [value("x", ["N", "M"])], [value("y", ["N", "M"])])


def offset(address: int) -> int:
    return address % 4096


@OFFERED
@pytest.mark.parametrize("shape", [LARGE, (67, 1021)])
def test_large_results_begin_at_a_page(shape: tuple[int, int]) -> None:
    s, x = strict(doubled()), weights(0, *shape)
    (y,) = s.run(None, {"x": x})
    (z,) = s.run_with_ort_values(None, {"x": ort.OrtValue.ortvalue_from_numpy(x)})
    binding = s.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y", "cpu")
    s.run_with_iobinding(binding)
    (bound,) = binding.get_outputs()
    assert [offset(a) for a in (y.ctypes.data, z.data_ptr(), bound.data_ptr())] == [0, 0, 0]
    for result in (y, z.numpy(), bound.numpy()):
        np.testing.assert_array_equal(result, x + x)


def is_huge(address: int) -> bool:
    """Whether the system may use huge pages there, as it was told to."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(found[1], 16) <= address < int(found[2], 16)
        elif inside and line.startswith("VmFlags:"):
            return "hg" in line.split()
    return False


@OFFERED
@pytest.mark.skipif(not HUGE_PAGES.exists(), reason="this system has no transparent huge pages")
def test_results_of_megabytes_are_in_huge_pages() -> None:
    s, x = strict(doubled()), weights(0, 1024, 1024)  # 4 MB
    (y,) = s.run(None, {"x": x})
    assert is_huge(y.ctypes.data + y.nbytes // 2)


@OFFERED
def test_memory_that_was_let_go_of_is_used_again() -> None:
    s, x = strict(doubled()), weights(0, *LARGE)
    addresses = {s.run(None, {"x": x})[0].ctypes.data for _ in range(20)}
    assert len(addresses) == 1


def test_results_that_are_kept_share_no_memory() -> None:
    s = strict(doubled())
    inputs = [weights(i, *LARGE) for i in range(8)]
    results = [s.run(None, {"x": x})[0] for x in inputs]
    for x, y in zip(inputs, results, strict=True):
        np.testing.assert_array_equal(y, x + x)


@pytest.mark.parametrize("shape", [(0, 4), (1, 1), (3, 5), (128, 128), (1, 16384), (1, 16385)])
def test_results_of_any_size_are_right(shape: tuple[int, int]) -> None:
    s, x = strict(doubled()), weights(0, *shape)
    for _ in range(2):
        np.testing.assert_array_equal(s.run(None, {"x": x})[0], x + x)


def test_nodes_of_the_cpu_provider_share_the_memory() -> None:
    s, x = session(with_noise()), weights(0, 5000, 4)
    first = s.run(None, {"x": x, "s": np.zeros((1, 2), np.float32)})[0]
    again = s.run(None, {"x": x, "s": np.zeros((1, 2), np.float32)})[0]
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(first, np.full((5000, 2), 2.5), rtol=1e-6)


@pytest.mark.measures
def test_memory_is_given_back_when_asked_to() -> None:
    s, x = strict(doubled()), weights(0, 2048, 4096)  # 32 MB
    shrink = ort.RunOptions()
    shrink.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    np.testing.assert_array_equal(s.run(None, {"x": x}, shrink)[0], x + x)
    s.run(None, {"x": x})
    gc.collect()
    before = resident()
    s.run(None, {"x": x[:1]}, shrink)
    if RELEASE >= 28:
        assert before - resident() > 24e6


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


#: glibc's allocator overwrites what is freed, so that whoever still reads it falls.
OVERWRITTEN = {"MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
OUTLIVES = """
    import gc, sys
    import numpy as np, onnxruntime as ort, ascend_ep
    from test_memory import doubled

    x = np.ones((64, 1024), np.float32)
    if sys.argv[1] == "arena":  # an allocator of the user's, for all sessions
        info = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
        ort.create_and_register_allocator(info, ort.OrtArenaCfg(0, -1, -1, -1))
    so = ort.SessionOptions()
    so.add_session_config_entry("session.use_env_allocators", "1" if sys.argv[1] == "arena" else "0")
    so.log_severity_level = 3
    make = lambda: ort.InferenceSession(doubled(), so, providers=["AscendEP"], enable_fallback=0)
    s = make()
    kept = s.run(None, {"x": x})
    kept += s.run_with_ort_values(None, {"x": ort.OrtValue.ortvalue_from_numpy(x)})
    del s
    gc.collect()
    others = [make() for _ in range(5)]
    ort.unregister_execution_provider_library("AscendEP")
    kept += others[0].run(None, {"x": x})
    del others
    gc.collect()
    assert all((k if isinstance(k, np.ndarray) else k.numpy()).sum() == 2 * x.size for k in kept)
    del kept
    gc.collect()
    print("alive")
"""


@pytest.mark.parametrize("memory", ["provider", "arena"])
def test_results_outlive_their_session_and_the_registration(memory: str) -> None:
    done = run_python(OUTLIVES, memory, env=OVERWRITTEN)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
