"""InferenceSession against onnxruntime's behaviour: results, interface, and what it says to wrong calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx.parser
import onnxruntime
import pytest
from small_models import WEIGHT, mixed, model, projection

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError


@pytest.fixture(scope="module")
def bundle() -> bytes:
    return convert(projection()).to_bytes()


@pytest.fixture(scope="module")
def session(bundle: bytes) -> ascend_ep.InferenceSession:
    return ascend_ep.InferenceSession(bundle)


@pytest.fixture(scope="module")
def mixed_bundle() -> bytes:
    return convert(mixed()).to_bytes()


def rows(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, 16)).astype(np.float32)


def close(result: np.ndarray, x: np.ndarray) -> None:
    # 16 products of magnitude ~1 in float32
    np.testing.assert_allclose(result, (x.astype(np.float64) @ WEIGHT).T, rtol=0, atol=16 * 4 * 6e-8 * 3)


@pytest.mark.parametrize("n", [0, 1, 5, 64])
def test_any_size_of_a_free_dimension(session: ascend_ep.InferenceSession, n: int) -> None:
    x = rows(n)
    (y,) = session.run(None, {"x": x})
    assert y.shape == (8, n)
    close(y, x)


def test_more_shapes_than_are_kept(session: ascend_ep.InferenceSession) -> None:
    for n in [*range(1, 40), 3, 2, 1]:
        close(session.run(["y"], {"x": rows(n)})[0], rows(n))


@pytest.mark.parametrize(
    "change",
    [
        np.asfortranarray,
        lambda x: x.astype(">f4"),
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape),
        lambda x: x[::-1][::-1],
        ascend_ep.OrtValue.ortvalue_from_numpy,
        onnxruntime.OrtValue.ortvalue_from_numpy,
    ],
    ids=["fortran", "big-endian", "strided", "unaligned", "reversed twice", "our OrtValue", "their OrtValue"],
)
def test_inputs_in_other_forms(session: ascend_ep.InferenceSession, change: object) -> None:
    x = rows(6)
    expected = session.run(None, {"x": x})[0]
    (y,) = session.run(None, {"x": change(x)})  # type: ignore[operator]
    np.testing.assert_array_equal(y, expected)


def test_results_are_new_arrays(session: ascend_ep.InferenceSession) -> None:
    first = session.run(None, {"x": rows(3)})[0]
    kept = first.copy()
    session.run(None, {"x": rows(3, seed=1)})
    np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize(
    ("feed", "code", "words"),
    [
        ({}, "E40001", "[x] is missing"),
        (None, "E40001", "NoneType"),
        ({"x": np.broadcast_to(np.float32(0), (2**45, 16))}, "E40008", "can't be copied"),
        ({"x": rows(2), "z": rows(2)}, "E40001", "[z] is no input"),
        ({"x": rows(2).astype(np.float64)}, "E40001", "float64"),
        ({"x": rows(2)[:, :3]}, "E40007", "[2, 3]"),
        ({"x": rows(2)[None]}, "E40007", "['N', 16]"),
        ({"x": np.float32(1)}, "E40007", "[]"),
        ({"x": "text"}, "E40001", "tensor(float)"),
    ],
)
def test_wrong_feeds(
    session: ascend_ep.InferenceSession, feed: dict[str, object], code: str, words: str
) -> None:
    session.run(None, {"x": rows(2)})  # the next run with these names and shapes takes the short way
    with pytest.raises(AscendError) as caught:
        session.run(None, feed)
    assert caught.value.code == code
    assert words in caught.value.text
    assert caught.value.where
    assert caught.value.fix


def test_unknown_output(session: ascend_ep.InferenceSession) -> None:
    with pytest.raises(AscendError, match=r"\[q\] is no output"):
        session.run(["y", "q"], {"x": rows(2)})


def test_describes_itself_as_onnxruntime_does(session: ascend_ep.InferenceSession) -> None:
    theirs = onnxruntime.InferenceSession(
        projection().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    for ours, reference in (
        (session.get_inputs(), theirs.get_inputs()),
        (session.get_outputs(), theirs.get_outputs()),
    ):
        assert [(a.name, a.type, a.shape) for a in ours] == [(a.name, a.type, a.shape) for a in reference]
    assert session.get_providers() == ["AscendEP"]
    assert session.get_overridable_initializers() == []
    meta, reference_meta = session.get_modelmeta(), theirs.get_modelmeta()
    for name in ("graph_name", "producer_name", "domain", "version", "custom_metadata_map", "description"):
        assert getattr(meta, name) == getattr(reference_meta, name), name


def test_names_and_dims_stay_as_declared() -> None:
    from onnx import helper

    source = model(
        [helper.make_node("Identity", ["x"], ["y"])],
        [("x", 1, ["batch size", None, "past + 1"])],
        [("y", 1, ["batch size", None, "past + 1"])],
    )
    theirs = onnxruntime.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    ours = ascend_ep.InferenceSession(convert(source).to_bytes())
    assert ours.get_inputs()[0].shape == theirs.get_inputs()[0].shape
    assert ours.get_outputs()[0].shape == theirs.get_outputs()[0].shape


def test_threads_share_a_session(session: ascend_ep.InferenceSession) -> None:
    def work(seed: int) -> None:
        for i in range(150):
            n = 1 + (seed * 7 + i) % 21
            close(session.run(None, {"x": rows(n, seed)})[0], rows(n, seed))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_run_async(session: ascend_ep.InferenceSession) -> None:
    done, seen = threading.Event(), []

    def callback(results: list[np.ndarray], data: object, error: str) -> None:
        seen.append((results, data, error))
        done.set()

    session.run_async(None, {"x": rows(2)}, callback, "mine")
    assert done.wait(20)
    results, data, error = seen[0]
    assert (data, error) == ("mine", "")
    close(results[0], rows(2))
    done.clear()
    session.run_async(None, {}, callback, None)
    assert done.wait(20)
    assert "missing" in seen[1][2]


def test_io_binding_writes_into_the_callers_memory(session: ascend_ep.InferenceSession) -> None:
    x, out = rows(4), np.zeros((8, 4), np.float32)
    binding = session.io_binding()
    binding.bind_input("x", "cpu", 0, np.float32, x.shape, x.ctypes.data)
    binding.bind_output("y", "cpu", 0, np.float32, out.shape, out.ctypes.data)
    session.run_with_iobinding(binding)
    close(out, x)
    assert binding.get_outputs()[0].data_ptr() == out.ctypes.data
    copied = binding.copy_outputs_to_cpu()[0]
    out[:] = 0
    close(copied, x)
    binding.clear_binding_outputs()
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    close(binding.copy_outputs_to_cpu()[0], x)


def test_io_binding_to_memory_that_runs_cant_write(session: ascend_ep.InferenceSession) -> None:
    x = rows(4)
    expected = session.run(None, {"x": x})[0]
    whole = np.zeros((8, 8), np.float32)
    strided, fixed = whole[:, ::2], np.zeros((8, 4), np.float32)
    fixed.flags.writeable = False
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_ortvalue_output("y", ascend_ep.OrtValue.ortvalue_from_numpy(strided))
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(strided, expected)
    binding.bind_ortvalue_output("y", ascend_ep.OrtValue.ortvalue_from_numpy(fixed))
    with pytest.raises(ValueError, match="read-only"):
        session.run_with_iobinding(binding)
    assert not fixed.any()
    binding.bind_output("y")
    for _ in range(2):
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(binding.get_outputs()[0].numpy(), expected)


def test_inputs_that_are_used_in_another_order_take_one_call_too() -> None:
    text = """<ir_version: 10, opset_import: ["": 21]>
      g (float[N] a, float[M,1] b, float[N] c) => (float[M,N] y)
      { d = Exp(c)  e = Sub(b, d)  y = Mul(e, a) }"""
    session = ascend_ep.InferenceSession(convert(onnx.parser.parse_model(text)).to_bytes())
    (partition,) = session._executor.bundle.partitions
    assert [e.index for e in session._executor.inputs] != list(partition.inputs)
    for n, m in ((3, 2), (4, 1), (3, 2)):
        a, b, c = np.arange(n, dtype=np.float32), np.ones((m, 1), np.float32), np.full(n, -1, np.float32)
        expected = (b - np.exp(c)) * a
        for _ in range(2):
            (y,) = session.run(None, {"c": c, "a": a, "b": b})
            np.testing.assert_allclose(y, expected, rtol=1e-6)
            assert session._executor._call is not None
        binding, target = session.io_binding(), np.zeros((m, n), np.float32)
        for name, array in (("b", b), ("a", a), ("c", c)):
            binding.bind_cpu_input(name, array)
        binding.bind_ortvalue_output("y", ascend_ep.OrtValue.ortvalue_from_numpy(target))
        session.run_with_iobinding(binding)
        np.testing.assert_allclose(binding.get_outputs()[0].numpy(), expected, rtol=1e-6)


def test_as_many_operands_as_a_decoder_has_take_one_call_too() -> None:
    """Keys and values of 40 layers: 80 inputs, 80 outputs."""
    names = [f"{kind}{layer}" for layer in range(40) for kind in "kv"]
    declared = ", ".join(f"float[1,N] {n}" for n in names)
    made = ", ".join(f"float[1,M] {n}_next" for n in names)
    body = " ".join(f"{n}_next = Concat<axis=1>({n}, x)" for n in names)
    text = (
        f"""<ir_version: 10, opset_import: ["": 21]> g (float[1,1] x, {declared}) => ({made}) {{ {body} }}"""
    )
    session = ascend_ep.InferenceSession(convert(onnx.parser.parse_model(text)).to_bytes())
    for length in (3, 4, 3):
        feeds = {n: np.full((1, length), i, np.float32) for i, n in enumerate(names)}
        feeds["x"] = np.full((1, 1), -1, np.float32)
        for _ in range(2):
            for i, y in enumerate(session.run(None, feeds)):
                np.testing.assert_array_equal(y, [[i] * length + [-1]])
            assert session._executor._call is not None


def test_a_call_takes_only_what_it_was_made_for(bundle: bytes) -> None:
    from ascend_ep.runtime._call import Call
    from ascend_ep.runtime.binding import fail, ffi

    session = ascend_ep.InferenceSession(bundle)
    x = rows(4)
    session.run(None, {"x": x})
    call = session._executor._call
    assert isinstance(call, Call)
    with pytest.raises(TypeError):
        call.run({"x": x}, None, "no address")
    bound = session._executor._whole.bind(((4, 16),))
    unaligned = np.zeros(8 * 4 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(8, 4)
    outputs = ((lambda: unaligned, np.dtype(np.float32), (8, 4)),)
    inputs = (("x", np.dtype(np.float32), (4, 16)),)
    address = int(ffi.cast("uintptr_t", bound.pointer))
    made = Call(address, bound, inputs, outputs, lambda at: fail(ffi.cast("asc_status *", at), "here"))
    for _ in range(3):
        assert made.run({"x": x}) is None  # numpy says that it isn't aligned
        assert made.run({"x": x}, [np.empty((8, 4), np.float32)]) is not None
    with pytest.raises(ZeroDivisionError):
        Call(address, bound, inputs, ((lambda: 1 / 0, *outputs[0][1:]),), fail).run({"x": x})


def test_io_binding_to_their_ortvalue(session: ascend_ep.InferenceSession) -> None:
    out = onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros((8, 2), np.float32))
    binding = session.io_binding()
    binding.bind_cpu_input("x", rows(2))
    binding.bind_ortvalue_output("y", out)
    session.run_with_iobinding(binding)
    close(out.numpy(), rows(2))


def test_io_binding_refuses_a_buffer_of_another_shape(session: ascend_ep.InferenceSession) -> None:
    binding = session.io_binding()
    binding.bind_cpu_input("x", rows(3))
    binding.bind_ortvalue_output("y", ascend_ep.OrtValue.ortvalue_from_shape_and_type([8, 2], np.float32))
    with pytest.raises(AscendError, match=r"\[8, 3\].*\[8, 2\]"):
        session.run_with_iobinding(binding)
    with pytest.raises(AscendError, match=r"\[q\] is no output"):
        binding.bind_output("q")
    with pytest.raises(AscendError, match="no device"):
        binding.bind_output("y", "cuda")


@pytest.mark.parametrize(
    ("providers", "options", "words"),
    [
        (["CUDAExecutionProvider"], None, "CUDAExecutionProvider"),
        (["CPUExecutionProvider"], None, "leaves out"),
        (["AscendEP"], [{"speed": "high"}], "speed"),
        (["AscendEP"], [{"num_threads": "many"}], "many"),
        (["AscendEP"], [{}, {}], "length"),
    ],
)
def test_wrong_providers(
    bundle: bytes, providers: list[str], options: list[dict[str, str]], words: str
) -> None:
    with pytest.raises(AscendError, match=words):
        ascend_ep.InferenceSession(bundle, providers=providers, provider_options=options)


def test_options_of_both_kinds(bundle: bytes) -> None:
    theirs, ours = onnxruntime.SessionOptions(), ascend_ep.SessionOptions()
    for options in (theirs, ours):
        options.intra_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        made = ascend_ep.InferenceSession(bundle, options)
        assert made.get_provider_options() == {"AscendEP": {"num_threads": "1", "low_memory": "0"}}
        close(made.run(None, {"x": rows(2)})[0], rows(2))
    with pytest.raises(AttributeError):
        ours.no_such_option = 1


def test_profile(bundle: bytes, mixed_bundle: bytes, tmp_path: Path) -> None:
    for image, names in ((bundle, {"MatMul", "Transpose"}), (mixed_bundle, {"MatMul", "Concat"})):
        options = ascend_ep.SessionOptions()
        options.enable_profiling = True
        options.profile_file_prefix = str(tmp_path / f"p{len(names)}{len(image)}")
        made = ascend_ep.InferenceSession(image, options)
        made.run(None, {"x": rows(3)})
        events = json.loads(Path(made.end_profiling()).read_text())
        assert names <= {e["args"]["op_name"] for e in events if e["cat"] == "Node"}
        whole = next(e for e in events if e["name"] == "model_run")
        assert all(e["dur"] <= whole["dur"] for e in events)


def test_profiling_must_be_enabled(session: ascend_ep.InferenceSession) -> None:
    with pytest.raises(AscendError, match="not enabled"):
        session.end_profiling()


def test_host_partitions(mixed_bundle: bytes) -> None:
    reference = onnxruntime.InferenceSession(mixed().SerializeToString(), providers=["CPUExecutionProvider"])
    made = ascend_ep.InferenceSession(mixed_bundle)
    assert made.get_providers() == ["AscendEP", "CPUExecutionProvider"]
    for n in (1, 4):
        x = rows(n)
        for ours, theirs in zip(made.run(None, {"x": x}), reference.run(None, {"x": x}), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    x = rows(2)
    copied = made.run(["x"], {"x": x})[0]
    assert not np.shares_memory(copied, x)


def test_terminated_run(mixed_bundle: bytes) -> None:
    options = ascend_ep.RunOptions()
    made = ascend_ep.InferenceSession(mixed_bundle)
    made.run(None, {"x": rows(1)}, options)
    options.terminate = True
    with pytest.raises(AscendError, match="terminated"):
        made.run(None, {"x": rows(1)}, options)


def test_missing_file_and_wrong_file(tmp_path: Path) -> None:
    with pytest.raises(AscendError) as caught:
        ascend_ep.InferenceSession(str(tmp_path / "none.om"))
    assert caught.value.code == "E40002"
    (tmp_path / "bad.om").write_bytes(b"PK\3\4" + bytes(400))
    with pytest.raises(AscendError) as caught:
        ascend_ep.InferenceSession(tmp_path / "bad.om")
    assert caught.value.code == "E40003"


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


def test_loading_a_bundle_imports_nothing_heavy(bundle: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.om").write_bytes(bundle)
    found = run_python(
        "import sys, numpy, ascend_ep\n"
        f"s = ascend_ep.InferenceSession({str(tmp_path / 'm.om')!r})\n"
        "s.run(None, {'x': numpy.zeros((2, 16), 'f')})\n"
        "heavy = ('onnx', 'onnxruntime', 'onnx_ir', 'onnxscript')\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in heavy"
        " or m.startswith(('ascend_ep.compiler', 'ascend_ep.graph', 'ascend_ep.frontends'))))"
    )
    assert found.stdout.strip() == "[]", found.stdout + found.stderr


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


@pytest.mark.parametrize("threads", ["many", "-1", "0", "²"])
def test_a_number_of_threads_that_is_none(
    threads: str, bundle: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_EP_THREADS", threads)
    with pytest.raises(AscendError, match="ASCEND_EP_THREADS"):
        ascend_ep.InferenceSession(bundle)


def test_the_environment_goes_before_the_session_options(
    bundle: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ascend_ep.SessionOptions()
    asked.intra_op_num_threads = 3
    monkeypatch.delenv("ASCEND_EP_THREADS", raising=False)
    made = ascend_ep.InferenceSession(bundle, asked)
    assert made.get_provider_options()["AscendEP"]["num_threads"] == "3"
    monkeypatch.setenv("ASCEND_EP_THREADS", "2")
    made = ascend_ep.InferenceSession(bundle, asked)
    assert made.get_provider_options()["AscendEP"]["num_threads"] == "0"


def test_what_is_neither_bundle_nor_model(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"nothing of the kind")
    for source, code in ((tmp_path / "m.onnx", "E10041"), (b"no model", "E10041"), (tmp_path, "E10410")):
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
