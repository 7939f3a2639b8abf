"""Sessions of stock onnxruntime on AscendEP: results, threads, IO binding, errors, options."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime as ort
import pytest
from provider_graphs import FLOAT, NOISE, model, two_layers, two_layers_reference, value, weights, with_noise

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.errors import AscendError
from ascend_ep.graph.reference import reference_run
from ascend_ep.provider import placement, report

TOLERANCE = 1e-5  # two float32 products of depth 16 on values of order 1


def session(content: bytes, options: dict[str, object] | None = None, **entries: str) -> ort.InferenceSession:
    so = ort.SessionOptions()
    so.log_severity_level = 3
    for key, entry in entries.items():
        so.add_session_config_entry(key.replace("__", "."), entry)
    return ort.InferenceSession(content, so, providers=[("AscendEP", options or {})], enable_fallback=0)


def strict(content: bytes) -> ort.InferenceSession:
    """A session that can't be created unless AscendEP takes every node."""
    return session(content, session__disable_cpu_ep_fallback="1")


@pytest.mark.parametrize("batch", [1, 3, 0, 64])
def test_a_supported_model_runs_wholly_on_the_provider(batch: int) -> None:
    s = strict(two_layers())
    x = weights(batch, batch, 8)
    (y,) = s.run(None, {"x": x})
    assert y.shape == (batch, 4)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, two_layers_reference(x), atol=TOLERANCE)
    assert s.get_providers()[0] == "AscendEP"
    assert report(s).on_cpu == []
    assert report(s).groups == 1


def test_parts_that_do_not_hang_together_are_groups_of_their_own() -> None:
    nodes = [
        oh.make_node("Relu", ["a"], ["p"], name="one"),
        oh.make_node("Neg", ["p"], ["x"], name="two"),
        oh.make_node("Exp", ["b"], ["y"], name="three"),
    ]
    boundary = [value(name, ["N"]) for name in "abxy"]
    s = strict(model(nodes, boundary[:2], boundary[2:]))
    a, b = weights(1, 5), weights(2, 5)
    x, y = s.run(None, {"a": a, "b": b})
    np.testing.assert_array_equal(x, -np.maximum(a, 0))
    np.testing.assert_allclose(y, np.exp(b.astype(np.float64)), rtol=1e-6)
    assert report(s).groups == 2
    assert {p.node for p in report(s).placements} == {"one", "two", "three"}


def test_onnxruntime_agrees_about_the_assignment() -> None:
    s = session(two_layers(), session__record_ep_graph_assignment_info="1")
    placed = {
        node.name: subgraph.ep_name
        for subgraph in s.get_provider_graph_assignment_info()
        for node in subgraph.get_nodes()
    }
    assert placed == dict.fromkeys(["first", "softmax", "second"], "AscendEP")


def test_exactly_the_unsupported_node_is_left_with_its_reason() -> None:
    s = session(with_noise(), session__record_ep_graph_assignment_info="1")
    placed = {n.name: g.ep_name for g in s.get_provider_graph_assignment_info() for n in g.get_nodes()}
    assert placed == {
        "softmax": "AscendEP",
        "noise": "CPUExecutionProvider",
        "expand": "AscendEP",
        "product": "AscendEP",
    }
    (left,) = report(s).on_cpu
    assert (left.node, left.op_type) == ("noise", "RandomUniformLike")
    assert "native kernel" in left.reason
    x, like = weights(1, 5, 4), weights(2, 1, 2)
    (y,) = s.run(None, {"x": x, "s": like})
    np.testing.assert_allclose(y, np.full((5, 2), NOISE), rtol=1e-6)


def test_fallback_can_be_forbidden() -> None:
    with pytest.raises(Exception, match="fallback to CPU EP has been explicitly disabled"):
        strict(with_noise())


def test_shapes_may_change_from_run_to_run() -> None:
    s = strict(two_layers())
    for batch in (2, 7, 2, 1, 31, 7):
        x = weights(batch, batch, 8)
        np.testing.assert_allclose(s.run(None, {"x": x})[0], two_layers_reference(x), atol=TOLERANCE)


def test_eight_threads_share_one_session() -> None:
    s = strict(two_layers())
    inputs = [weights(i, 1 + i % 5, 8) for i in range(8)]
    expected = [s.run(None, {"x": x})[0] for x in inputs]
    wrong: list[int] = []

    def work(i: int) -> None:
        for _ in range(60):
            if not np.array_equal(s.run(None, {"x": inputs[i]})[0], expected[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_sessions_created_on_several_threads() -> None:
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            x = weights(seed, 2, 8)
            for _ in range(4):
                y = strict(two_layers()).run(None, {"x": x})[0]
                np.testing.assert_allclose(y, two_layers_reference(x), atol=TOLERANCE)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []


def test_io_binding_and_parallel_execution() -> None:
    so = ort.SessionOptions()
    so.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    s = ort.InferenceSession(two_layers(), so, providers=["AscendEP"], enable_fallback=0)
    x = weights(5, 6, 8)
    out = np.zeros((6, 4), np.float32)
    binding = s.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y", "cpu", 0, np.float32, out.shape, out.ctypes.data)
    s.run_with_iobinding(binding)
    np.testing.assert_allclose(out, two_layers_reference(x), atol=TOLERANCE)


def test_several_models_at_once() -> None:
    nodes = [oh.make_node("Transpose", ["x"], ["y"], perm=[1, 0])]
    other = strict(model(nodes, [value("x", ["N", 8])], [value("y", [8, "N"])]))
    first = strict(two_layers())
    x = weights(9, 3, 8)
    np.testing.assert_array_equal(other.run(None, {"x": x})[0], x.T)
    np.testing.assert_allclose(first.run(None, {"x": x})[0], two_layers_reference(x), atol=TOLERANCE)


def test_a_run_that_fails_names_the_node_and_leaves_the_session_usable() -> None:
    nodes = [oh.make_node("Gather", ["table", "ids"], ["y"], name="lookup")]
    content = model(
        nodes,
        [value("ids", ["N"], onnx.TensorProto.INT64)],
        [value("y", ["N", 16])],
        {"table": weights(1, 8, 16)},
    )
    s = strict(content)
    with pytest.raises(Exception, match=r"AscendEP: E40011 .*lookup"):
        s.run(None, {"ids": np.array([1, 99])})
    np.testing.assert_array_equal(s.run(None, {"ids": np.array([3, -1])})[0], weights(1, 8, 16)[[3, 7]])


def test_a_shape_the_model_forbids_is_refused() -> None:
    nodes = [oh.make_node("MatMul", ["x", "w"], ["y"], name="product")]
    s = strict(model(nodes, [value("x", ["N", "K"]), value("w", ["K", 3])], [value("y", ["N", 3])]))
    with pytest.raises(Exception, match="AscendEP: E4000"):
        s.run(None, {"x": weights(1, 2, 5), "w": weights(2, 4, 3)})


def test_bodies_of_control_flow_run_too() -> None:
    def body(name: str, weight: str) -> onnx.GraphProto:
        node = oh.make_node("MatMul", ["x", weight], [name], name=f"{name}_product")
        return oh.make_graph([node], name, [], [value(name, ["N", 4])])

    nodes = [oh.make_node("If", ["c"], ["y"], then_branch=body("a", "W"), else_branch=body("b", "V"))]
    inputs = [value("x", ["N", 8]), value("c", [], onnx.TensorProto.BOOL)]
    w, v = weights(1, 8, 4), weights(2, 8, 4)
    s = session(model(nodes, inputs, [value("y", ["N", 4])], {"W": w, "V": v}))
    x = weights(3, 2, 8)
    for condition, weight in ((True, w), (False, v)):
        (y,) = s.run(None, {"x": x, "c": np.array(condition)})
        np.testing.assert_allclose(y, x.astype(np.float64) @ weight.astype(np.float64), atol=TOLERANCE)
    assert {p.node for p in report(s).placements if p.target == "AscendEP"} == {"a_product", "b_product"}


def calling(op: str, function: str | None) -> onnx.ModelProto:
    """y = local::`op`(x), with the model's own function of that name, which is one node; None: without it."""
    opset = oh.make_opsetid("", 17)
    nodes = [oh.make_node(function, ["a"], ["b"])] if function else []
    functions = [oh.make_function("local", op, ["a"], ["b"], nodes, [opset])] if function else []
    call = oh.make_node(op, ["x"], ["y"], domain="local")
    graph = oh.make_graph([call], "g", [value("x", ["N", 4])], [value("y", ["N", 4])])
    opsets = [opset, oh.make_opsetid("local", 1)]
    return oh.make_model(graph, opset_imports=opsets, functions=functions, ir_version=9)


def test_model_local_functions_are_inlined_and_claimed() -> None:
    s = strict(calling("Mix", "Softmax").SerializeToString())
    x = weights(1, 3, 4)
    np.testing.assert_allclose(s.run(None, {"x": x})[0].sum(-1), np.ones(3), rtol=1e-6)


def test_a_models_own_function_is_no_built_in_operator_of_its_name() -> None:
    """In every way to run it: local::Swish negates here, whatever our own Swish computes."""
    content, without = calling("Swish", "Neg"), calling("Swish", None)
    x = weights(1, 3, 4)
    other = strict(without.SerializeToString())  # declares our Swish in this process
    np.testing.assert_allclose(other.run(None, {"x": x})[0], x / (1 + np.exp(-x)), rtol=1e-5)
    by_device = ort.SessionOptions()
    by_device.add_provider_for_devices([d for d in ort.get_ep_devices() if d.ep_name == "AscendEP"], {})
    for s in (
        strict(content.SerializeToString()),
        ort.InferenceSession(content.SerializeToString(), by_device),
        ascend_ep.InferenceSession(content.SerializeToString()),
        ascend_ep.InferenceSession(convert(content).to_bytes()),
    ):
        np.testing.assert_array_equal(s.run(None, {"x": x})[0], -x)
    np.testing.assert_array_equal(reference_run(content, {"x": x})["y"], -x)


@pytest.mark.parametrize("is_read", [True, False])  # by the session hook, which needs a private method
def test_a_models_own_function_by_device(monkeypatch: pytest.MonkeyPatch, is_read: bool) -> None:
    if not is_read:
        monkeypatch.setattr("ascend_ep.provider.pending.announce_functions", lambda functions: None)
    domain = f"undeclared.{is_read}"
    negates = oh.make_function(
        domain, "Swish", ["a"], ["b"], [oh.make_node("Neg", ["a"], ["b"])], [oh.make_opsetid("", 17)]
    )
    nodes = [oh.make_node("Swish", ["x"], ["y"], domain=domain)]
    graph = oh.make_graph(nodes, "g", [value("x", ["N", 4])], [value("y", ["N", 4])])
    opsets = [oh.make_opsetid("", 17), oh.make_opsetid(domain, 1)]
    content = oh.make_model(graph, opset_imports=opsets, functions=[negates], ir_version=9)
    by_device = ort.SessionOptions()
    by_device.add_provider_for_devices([d for d in ort.get_ep_devices() if d.ep_name == "AscendEP"], {})
    x = weights(1, 3, 4)
    session = ort.InferenceSession(content.SerializeToString(), by_device)
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], -x)


def test_a_model_without_onnxruntime_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ascend_ep.AscendError, match=r"E40010.*\n.*ascend-ep\[onnxruntime\]"):
        ascend_ep.InferenceSession(two_layers())


def test_weights_of_any_size_arrive(tmp_path: Path) -> None:
    """Inline, in the model file, and in an external file."""
    for count in (1, 64, 65, 5000):
        w = weights(count, 4, count)
        nodes = [oh.make_node("MatMul", ["x", "W"], ["y"])]
        content = onnx.load_from_string(
            model(nodes, [value("x", ["N", 4])], [value("y", ["N", count])], {"W": w})
        )
        path = tmp_path / f"m{count}.onnx"
        onnx.save(content, path, save_as_external_data=True, location=f"{count}.bin", size_threshold=0)
        so = ort.SessionOptions()
        s = ort.InferenceSession(str(path), so, providers=["AscendEP"], enable_fallback=0)
        x = weights(7, 3, 4)
        (y,) = s.run(None, {"x": x})
        np.testing.assert_allclose(y, x.astype(np.float64) @ w.astype(np.float64), atol=TOLERANCE)
        assert report(s).on_cpu == []


def test_this_is_the_release_under_test() -> None:
    assert os.environ.get("ASCEND_EP_EXPECT_ORT", ort.__version__) == ort.__version__


# --- options ----------------------------------------------------------------------------------


def test_the_long_name_is_an_alias() -> None:
    s = ort.InferenceSession(
        two_layers(), providers=[("AscendExecutionProvider", {"device_id": 0})], enable_fallback=0
    )
    assert s.get_providers()[0] == "AscendEP"


def test_an_unknown_option_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(
        ascend_ep.AscendError, match="unknown provider option 'num_thread'; did you mean 'num_threads'"
    ) as e:
        session(two_layers(), {"num_thread": 2})
    assert e.value.code == "E40001"


@pytest.mark.parametrize(
    ("option", "bad"),
    [
        ("num_threads", "two"),
        ("num_threads", "-1"),
        ("device_id", "1"),
        ("npu_mem_limit", "1GB"),
        ("precision_mode", "fast"),
        ("enable_cann_graph", "yes"),
        ("custom_op_info", "no/such/file.json"),
        ("custom_op", "Swish"),
    ],
)
def test_an_impossible_value_is_refused(option: str, bad: str) -> None:
    with pytest.raises(ascend_ep.AscendError):
        session(two_layers(), {option: bad})


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """The options of every session, as the plugin received them."""
    from ascend_ep.provider import placement

    seen: list[dict[str, str]] = []
    original = placement.options_of

    def options_of(ep: object) -> dict[str, str]:
        seen.append(original(ep))
        return seen[-1]

    monkeypatch.setattr(placement, "options_of", options_of)
    return seen


def test_cann_options_are_accepted(received: list[dict[str, str]]) -> None:
    given = {
        "device_id": 0,
        "arena_extend_strategy": "kNextPowerOfTwo",
        "npu_mem_limit": 2 * 1024**3,
        "enable_cann_graph": True,
        "op_select_impl_mode": "high_performance",
        "precision_mode_v2": "origin",
    }
    session(two_layers(), given)
    assert received[-1] == {name: str(setting) for name, setting in given.items()}


def test_the_memory_limit_holds() -> None:
    s = session(two_layers(), {"npu_mem_limit": 64 * 1024})
    s.run(None, {"x": weights(1, 2, 8)})
    with pytest.raises(Exception, match="AscendEP: E40008"):
        s.run(None, {"x": weights(1, 65536, 8)})


def test_intra_op_threads_are_handed_on(
    received: list[dict[str, str]],
) -> None:
    so = ort.SessionOptions()
    so.intra_op_num_threads = 3
    ort.InferenceSession(two_layers(), so, providers=["AscendEP"])
    assert received[-1]["session_threads"] == "3"
    ort.InferenceSession(two_layers(), so, providers=[("AscendEP", {"num_threads": 1})])
    assert received[-1] == {"num_threads": "1", "session_threads": "3"}


PARALLEL = """
import os, sys
import numpy as np, onnx.parser, onnxruntime, ascend_ep
graph = "g (float[300,400] x, float[400,500] w) => (float[300,500] y) { h = MatMul(x, w) y = Softmax(h) }"
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + graph)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[1])
own = {"num_threads": sys.argv[2]} if sys.argv[2:] else {}
session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=[("AscendEP", own)])
feeds = {"x": np.ones((300, 400), np.float32), "w": np.ones((400, 500), np.float32)}
before = len(os.listdir("/proc/self/task"))
for _ in range(3):
    session.run(None, feeds)
print(before, len(os.listdir("/proc/self/task")))
"""


def test_partitions_run_on_the_threads_of_the_session() -> None:
    """Whose own workers spin while it runs: a second pool would wait for their CPUs."""
    assert [threads_added("3"), threads_added("3", "2")] == [0, 0]
    assert [threads_added("3", environment="3"), threads_added("1")] == [0, 0]


def test_threads_that_are_named_beyond_the_session_are_our_own() -> None:
    assert [threads_added("1", "3"), threads_added("2", "3"), threads_added("1", environment="2")] == [
        2,
        2,
        1,
    ]


def threads_added(*words: str, environment: str = "") -> int:
    """Threads that the first runs of a session of words[0] threads start."""
    command, own = [sys.executable, "-c", PARALLEL, *words], {**os.environ, "ASCEND_EP_THREADS": environment}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=own)
    before, after = map(int, done.stdout.split())
    return after - before


def test_dumps_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session(two_layers(), {"dump_graphs": 1, "dump_om_model": 1})
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".om", ".onnx"]
    (bundle,) = tmp_path.glob("*.om")
    x = weights(3, 2, 8)
    np.testing.assert_allclose(
        ascend_ep.InferenceSession(bundle).run(None, {"x": x})[0], two_layers_reference(x), atol=TOLERANCE
    )


def test_devices_api_works_as_well() -> None:
    so = ort.SessionOptions()
    devices = [d for d in ort.get_ep_devices() if d.ep_name == "AscendEP"]
    so.add_provider_for_devices(devices, {"num_threads": "1"})
    s = ort.InferenceSession(two_layers(), so, enable_fallback=0)
    assert s.get_providers()[0] == "AscendEP"
    x = weights(1, 2, 8)
    np.testing.assert_allclose(s.run(None, {"x": x})[0], two_layers_reference(x), atol=TOLERANCE)


def test_a_group_that_is_refused_is_left_with_the_details(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AscendError("E10041", "the group", "its names are too long")

    monkeypatch.setattr(placement, "compile_model", refuse)
    found = report(session(two_layers()))
    assert {p.reason for p in found.on_cpu} == {
        "E10041: Failed to load the model from [the group]. its names are too long"
    }


def test_many_islands_are_capped_with_a_reason() -> None:
    nodes, last = [], "x"
    for i in range(130):
        nodes.append(oh.make_node("Softmax", [last], [f"p{i}"], name=f"soft{i}"))
        nodes.append(oh.make_node("RandomUniformLike", [f"p{i}"], [f"d{i}"], name=f"noise{i}"))
        nodes.append(oh.make_node("Expand", [f"d{i}", "shape"], [f"e{i}"], name=f"expand{i}"))
        last = f"e{i}"
    content = model(nodes, [value("x", [3, 3])], [value(last, [3, 3], FLOAT)], {"shape": np.array([3, 3])})
    s = session(content)
    assert report(s).groups == 100
    assert any("separate groups" in p.reason for p in report(s).on_cpu)


def test_precision_mode_is_obeyed() -> None:
    """Products in bfloat16 differ from exact ones, a little."""
    model = two_layers()
    x = weights(1, 5, 8)
    exact = session(model, {}).run(None, {"x": x})[0]
    narrow = session(model, {"precision_mode": "allow_mix_precision_bf16"}).run(None, {"x": x})[0]
    error = np.abs(narrow - exact).max() / np.abs(exact).max()
    assert 0 < error < 2e-2
