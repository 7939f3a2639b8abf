"""The public members of onnxruntime's classes, as the installed release has them.

Each works with AscendEP as on the CPU provider, and on a bundle it works the same or is refused with a
reason. A member that no scenario here uses fails by its name, as one of a later release will."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime as ort
import pytest
from provider_graphs import model, value

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.errors import AscendError
from ascend_ep.runtime import refused_members, session_calls

W = np.arange(1, 5, dtype=np.float32)
X = np.array([[1, -2, 3, -4], [0.5, 0.25, -1, 8]], np.float32)
NINE = np.full(4, 9, np.float32)


def _product(external: bool = False) -> bytes:
    """y = relu(x w), with the weight in the model or in the file w.bin."""
    nodes = [
        oh.make_node("Mul", ["x", "w"], ["h"], name="mul"),
        oh.make_node("Relu", ["h"], ["y"], name="relu"),
    ]
    made = onnx.ModelProto.FromString(model(nodes, [value("x", ["N", 4])], [value("y", ["N", 4])], {"w": W}))
    if external:
        weight = made.graph.initializer[0]
        weight.ClearField("raw_data")
        weight.data_location = onnx.TensorProto.EXTERNAL
        weight.external_data.add(key="location", value="w.bin")
    made.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    return made.SerializeToString()


@cache
def _bundle() -> bytes:
    return convert(_product()).to_bytes()


@dataclass
class Api:
    """One way to run the model: onnxruntime on a provider, or our classes on a bundle of it."""

    name: str
    ort: Any
    folder: Path

    def options(self) -> Any:
        made = self.ort.SessionOptions()
        made.log_severity_level = 3
        return made

    def session(self, options: Any = None, external: bool = False) -> Any:
        if self.name == "bundle":
            return ascend_ep.InferenceSession(_bundle(), options or self.options())
        return ort.InferenceSession(_product(external), options or self.options(), providers=[self.name])

    def run(self, change: Callable[[Any], object], external: bool = False) -> Any:
        """y of a session with changed options."""
        options = self.options()
        change(options)
        return self.session(options, external).run(None, {"x": X})[0]

    def value(self, array: Any = X) -> Any:
        return self.ort.OrtValue.ortvalue_from_numpy(array)


def _attribute(name: str, setting: object) -> Callable[[Api], Any]:
    return lambda api: api.run(lambda options: setattr(options, name, setting))


def _profile(api: Api) -> Any:
    options = api.options()
    options.enable_profiling = True
    options.profile_file_prefix = str(api.folder / f"profile_{api.name}")
    made = api.session(options)
    made.run(None, {"x": X})
    assert made.get_profiling_start_time_ns() > 0
    path = made.end_profiling()
    events = json.loads(Path(path).read_text())
    return Path(path).name.startswith(f"profile_{api.name}"), any(e["cat"] == "Node" for e in events)


def _optimized(api: Api) -> Any:
    path = api.folder / f"{api.name}.onnx"
    if api.name == "AscendEP":  # onnxruntime writes no model with compiled parts, whoever compiled them
        with pytest.raises(Exception, match="compiled nodes"):
            api.run(lambda options: setattr(options, "optimized_model_filepath", str(path)))
        return api.run(lambda options: None), True
    result = api.run(lambda options: setattr(options, "optimized_model_filepath", str(path)))
    return result, path.exists()


def _entries(api: Api) -> Any:
    options = api.options()
    options.add_session_config_entry("session.disable_prepacking", "1")
    return options.get_session_config_entry("session.disable_prepacking"), api.session(options).run(
        None, {"x": X}
    )


def _dimension(kind: str, name: str) -> Callable[[Api], Any]:
    def run(api: Api) -> Any:
        options = api.options()
        getattr(options, f"add_free_dimension_override_by_{kind}")(name, 2)
        made = api.session(options)
        return made.get_inputs()[0].shape, made.run(None, {"x": X})

    return run


def _custom_library(api: Api) -> Any:
    with pytest.raises(Exception, match="no_such_library"):
        api.run(lambda options: options.register_custom_ops_library(f"{api.folder}/no_such_library.so"))
    return True


def _cancelled(api: Api) -> Any:
    with pytest.raises(Exception, match=r"(?i)cancel"):
        api.run(lambda options: options.set_load_cancellation_flag(True))
    return api.run(lambda options: options.set_load_cancellation_flag(False))


def _by_options(api: Api, add: Callable[[Any], object]) -> Any:
    """y of a session whose providers the options name."""
    options = api.options()
    assert not options.has_providers()
    add(options)
    assert options.has_providers()
    made = api.session(options) if api.name == "bundle" else ort.InferenceSession(_product(), options)
    assert made.get_providers()[0] in (api.name, "CPUExecutionProvider")
    return made.run(None, {"x": X})


def _provider(api: Api) -> Any:
    if api.name == "CPUExecutionProvider":  # which is there in any case, and not to be added
        return api.session().run(None, {"x": X})
    return _by_options(api, lambda options: options.add_provider("AscendEP", {}))


def _devices(api: Api) -> Any:
    name = "AscendEP" if api.name == "bundle" else api.name
    devices = [d for d in ort.get_ep_devices() if d.ep_name == name]
    return _by_options(api, lambda options: options.add_provider_for_devices(devices, {}))


def _policy(api: Api) -> Any:
    cpu = ort.OrtExecutionProviderDevicePolicy.PREFER_CPU
    return _by_options(api, lambda options: options.set_provider_selection_policy(cpu))


def _policy_delegate(api: Api) -> Any:
    def choose(devices: Any, *others: Any) -> Any:
        return [d for d in devices if d.ep_name in (api.name, "CPUExecutionProvider")]

    return _by_options(api, lambda options: options.set_provider_selection_policy_delegate(choose))


def _context_reader(api: Api) -> Any:
    options = api.options()
    options.set_ep_context_data_read_func(lambda name, buffer: None, 1 << 20)
    options.clear_ep_context_data_read_func()
    return api.session(options).run(None, {"x": X})


KEPT = NINE.tobytes()  # onnxruntime reads it when the session is made
OPTIONS: dict[str, Callable[[Api], Any]] = {
    "add_initializer": lambda api: api.run(lambda o: o.add_initializer("w", api.value(NINE))),
    "add_external_initializers": lambda api: api.run(
        lambda o: o.add_external_initializers(["w"], [api.value(NINE)]), external=True
    ),
    "add_external_initializers_from_files_in_memory": lambda api: api.run(
        lambda o: o.add_external_initializers_from_files_in_memory(["w.bin"], [KEPT], [len(KEPT)]),
        external=True,
    ),
    "add_free_dimension_override_by_name": _dimension("name", "N"),
    "add_free_dimension_override_by_denotation": _dimension("denotation", "DATA_BATCH"),
    "add_provider": _provider,
    "has_providers": lambda api: api.options().has_providers(),
    "add_provider_for_devices": _devices,
    "set_provider_selection_policy": _policy,
    "set_provider_selection_policy_delegate": _policy_delegate,
    "add_session_config_entry": _entries,
    "get_session_config_entry": _entries,
    "register_custom_ops_library": _custom_library,
    "set_ep_context_data_read_func": _context_reader,
    "clear_ep_context_data_read_func": lambda api: api.run(lambda o: o.clear_ep_context_data_read_func()),
    "set_load_cancellation_flag": _cancelled,
    "enable_cpu_mem_arena": _attribute("enable_cpu_mem_arena", False),
    "enable_mem_pattern": _attribute("enable_mem_pattern", False),
    "enable_mem_reuse": _attribute("enable_mem_reuse", False),
    "enable_profiling": _profile,
    "profile_file_prefix": _profile,
    "execution_mode": _attribute("execution_mode", ort.ExecutionMode.ORT_PARALLEL),
    "execution_order": _attribute("execution_order", ort.ExecutionOrder.PRIORITY_BASED),
    "graph_optimization_level": _attribute(
        "graph_optimization_level", ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    ),
    "inter_op_num_threads": _attribute("inter_op_num_threads", 2),
    "intra_op_num_threads": _attribute("intra_op_num_threads", 2),
    "log_severity_level": _attribute("log_severity_level", 4),
    "log_verbosity_level": _attribute("log_verbosity_level", 1),
    "logid": _attribute("logid", "mine"),
    "optimized_model_filepath": _optimized,
    "use_deterministic_compute": _attribute("use_deterministic_compute", True),
    "use_per_session_threads": _attribute("use_per_session_threads", True),
}


def _run_option(name: str, setting: object) -> Callable[[Api], Any]:
    def run(api: Api) -> Any:
        options = api.ort.RunOptions()
        setattr(options, name, setting)
        assert getattr(options, name) == setting
        return api.session().run(None, {"x": X}, options)

    return run


def _terminated(api: Api) -> Any:
    options = api.ort.RunOptions()
    options.terminate = True
    with pytest.raises(Exception, match=r"(?i)terminat"):
        api.session().run(None, {"x": X}, options)
    return True


def _run_entry(api: Api) -> Any:
    options = api.ort.RunOptions()
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "")
    options.add_run_config_entry("mine", "7")
    assert options.get_run_config_entry("mine") == "7"
    options = api.ort.RunOptions()
    options.add_run_config_entry("disable_synchronize_execution_providers", "1")
    return api.session().run(None, {"x": X}, options)


RUN: dict[str, Callable[[Api], Any]] = {
    "add_active_adapter": lambda api: api.ort.RunOptions().add_active_adapter(ort.LoraAdapter()),
    "add_run_config_entry": _run_entry,
    "get_run_config_entry": _run_entry,
    "log_severity_level": _run_option("log_severity_level", 3),
    "log_verbosity_level": _run_option("log_verbosity_level", 1),
    "logid": _run_option("logid", "mine"),
    "only_execute_path_to_fetches": _run_option("only_execute_path_to_fetches", True),
    "terminate": _terminated,
}


def _bound(api: Api, bind: Callable[[Any], object], read: Callable[[Any], Any] | None = None) -> Any:
    made = api.session()
    binding = made.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_output("y")
    bind(binding)
    binding.synchronize_inputs()
    made.run_with_iobinding(binding)
    binding.synchronize_outputs()
    return [binding.copy_outputs_to_cpu()] if read is None else read(binding)


def _bound_output(api: Api) -> Any:
    room = np.zeros((2, 4), np.float32)
    _bound(api, lambda b: b.bind_output("y", "cpu", 0, np.float32, room.shape, room.ctypes.data))
    return room


def _bound_value(api: Api) -> Any:
    room = api.ort.OrtValue.ortvalue_from_shape_and_type([2, 4], np.float32)
    _bound(api, lambda b: b.bind_ortvalue_output("y", room))
    return room.numpy()


def _cleared(api: Api, what: str) -> Any:
    def bind(binding: Any) -> None:
        getattr(binding, f"clear_binding_{what}")()
        binding.bind_cpu_input("x", X * 2) if what == "inputs" else binding.bind_output("y")

    return _bound(api, bind)


BINDING: dict[str, Callable[[Api], Any]] = {
    "bind_cpu_input": lambda api: _bound(api, lambda b: None),
    "bind_input": lambda api: _bound(
        api, lambda b: b.bind_input("x", "cpu", 0, np.float32, X.shape, X.ctypes.data)
    ),
    "bind_ortvalue_input": lambda api: _bound(api, lambda b: b.bind_ortvalue_input("x", api.value())),
    "bind_ortvalue_output": _bound_value,
    "bind_output": _bound_output,
    "clear_binding_inputs": lambda api: _cleared(api, "inputs"),
    "clear_binding_outputs": lambda api: _cleared(api, "outputs"),
    "copy_outputs_to_cpu": lambda api: _bound(api, lambda b: None, lambda b: b.copy_outputs_to_cpu()),
    "get_outputs": lambda api: _bound(api, lambda b: None, lambda b: [v.numpy() for v in b.get_outputs()]),
    "get_outputs_as_ortvaluevector": lambda api: _bound(
        api, lambda b: None, lambda b: [np.array(v.numpy()) for v in b.get_outputs_as_ortvaluevector()]
    ),
    "synchronize_inputs": lambda api: _bound(api, lambda b: b.synchronize_inputs()),
    "synchronize_outputs": lambda api: _bound(api, lambda b: b.synchronize_outputs()),
}


def _update(api: Api) -> Any:
    made = api.value(X.copy())
    made.update_inplace(NINE.reshape(1, 4).repeat(2, 0))
    return api.session().run_with_ort_values(None, {"x": made})[0].numpy()


def _sparse(api: Api) -> Any:
    return api.value().as_sparse_tensor()


VALUE: dict[str, Callable[[Api], Any]] = {
    "as_sparse_tensor": _sparse,
    "ort_value_from_sparse_tensor": lambda api: api.ort.OrtValue.ort_value_from_sparse_tensor(
        ort.SparseTensor.sparse_coo_from_numpy([4], NINE[:2], np.array([1, 2]), ort.OrtDevice.make("cpu", 0))
    ).is_sparse_tensor(),
    "data_ptr": lambda api: api.value().data_ptr() == X.ctypes.data,
    "data_type": lambda api: api.value().data_type(),
    "device_name": lambda api: api.value().device_name(),
    "element_type": lambda api: api.value().element_type(),
    "from_dlpack": lambda api: (
        api.session()
        .run_with_ort_values(None, {"x": api.ort.OrtValue.from_dlpack(np.ascontiguousarray(X))})[0]
        .numpy()
    ),
    "has_value": lambda api: api.value().has_value(),
    "is_sparse_tensor": lambda api: api.value().is_sparse_tensor(),
    "is_tensor": lambda api: api.value().is_tensor(),
    "is_tensor_sequence": lambda api: api.value().is_tensor_sequence(),
    "numpy": lambda api: api.value().numpy(),
    "ortvalue_from_numpy": lambda api: api.value().numpy(),
    "ortvalue_from_numpy_with_onnx_type": lambda api: api.ort.OrtValue.ortvalue_from_numpy_with_onnx_type(
        np.array([0x3F80, 0x4000], np.uint16), onnx.TensorProto.BFLOAT16
    ).element_type(),
    "ortvalue_from_shape_and_type": lambda api: api.ort.OrtValue.ortvalue_from_shape_and_type(
        [2, 3], np.float32
    ).shape(),
    "shape": lambda api: api.value().shape(),
    "tensor_size_in_bytes": lambda api: api.value().tensor_size_in_bytes(),
    "update_inplace": _update,
}


def _later(api: Api) -> Any:
    found: list[Any] = []
    done = threading.Event()

    def callback(results: Any, data: Any, error: str) -> None:
        found.extend((np.array(results[0]), data, error))
        done.set()

    made = api.session()
    made.run_async(None, {"x": X}, callback, 7)
    assert done.wait(20)
    return found


def _vectors(api: Api) -> Any:
    made = api.session()
    if api.name == "bundle":
        return made.run_with_ortvaluevector(None, None, None, None, None, None)
    state = ort.capi.onnxruntime_pybind11_state
    feeds, fetches = state.OrtValueVector(), state.OrtValueVector()
    feeds.push_back(api.value()._ortvalue)
    cpu = [ort.OrtDevice.make("cpu", 0)._get_c_device()]
    made.run_with_ortvaluevector(ort.RunOptions(), ["x"], feeds, ["y"], fetches, cpu)
    return [np.array(v.numpy()) for v in fetches]


def _providers(api: Api) -> Any:
    made = api.session()
    made.set_providers(["AscendEP"] if api.name != "CPUExecutionProvider" else [api.name])
    return made.run(None, {"x": X})


def _assignment(api: Api) -> Any:
    options = api.options()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    found = api.session(options).get_provider_graph_assignment_info()
    return sorted(node.name for group in found for node in group.get_nodes())


def _own(what: str) -> Callable[[Api], Any]:
    """What tells of the provider itself: it is of the right kind, and the values differ by intent."""
    return lambda api: [type(v).__name__ for v in getattr(api.session(), what)()]


def _fallback(name: str) -> Callable[[Api], Any]:
    def run(api: Api) -> Any:
        made = api.session()
        getattr(made, name)()
        return made.run(None, {"x": X})

    return run


def _dynamic(api: Api) -> Any:
    made = api.session()
    try:
        made.set_ep_dynamic_options({"ep.dynamic.workload_type": "Default"})
    except AscendError:
        raise
    except _NOT_HERE:  # onnxruntime's own refusal, for the CPU provider, too
        pass
    return made.run(None, {"x": X})


def _room(api: Api) -> Any:
    made = api.session().create_ortvalue_from_shape_and_type([2, 4], np.float32, "cpu")
    return made.shape(), made.element_type()


def _described(args: Any) -> Any:
    return [(a.name, a.type, a.shape) for a in args]


SESSION: dict[str, Callable[[Api], Any]] = {
    "create_ortvalue_from_shape_and_type": _room,
    "disable_fallback": _fallback("disable_fallback"),
    "enable_fallback": _fallback("enable_fallback"),
    "end_profiling": _profile,
    "get_input_epdevices": lambda api: len(api.session().get_input_epdevices()),
    "get_input_memory_infos": _own("get_input_memory_infos"),
    "get_inputs": lambda api: _described(api.session().get_inputs()),
    "get_modelmeta": lambda api: api.session().get_modelmeta().graph_name,
    "get_output_memory_infos": _own("get_output_memory_infos"),
    "get_outputs": lambda api: _described(api.session().get_outputs()),
    "get_overridable_initializers": lambda api: _described(api.session().get_overridable_initializers()),
    "get_profiling_start_time_ns": _profile,
    "get_provider_graph_assignment_info": _assignment,
    "get_provider_options": lambda api: isinstance(api.session().get_provider_options(), dict),
    "get_providers": lambda api: (
        (api.name if api.name != "bundle" else "AscendEP") == api.session().get_providers()[0]
    ),
    "get_session_options": lambda api: api.session().get_session_options().log_severity_level,
    "get_tuning_results": lambda api: api.session().get_tuning_results(),
    "io_binding": lambda api: _bound(api, lambda b: None),
    "release_captured_graph": lambda api: api.session().release_captured_graph(),
    "run": lambda api: api.session().run(["y"], {"x": X}),
    "run_async": _later,
    "run_with_iobinding": lambda api: _bound(api, lambda b: None),
    "run_with_ort_values": lambda api: [
        v.numpy() for v in api.session().run_with_ort_values(["y"], {"x": api.value()})
    ],
    "run_with_ortvaluevector": _vectors,
    "set_ep_dynamic_options": _dynamic,
    "set_providers": _providers,
    "set_tuning_results": lambda api: api.session().set_tuning_results([]),
}

CLASSES: dict[str, tuple[dict[str, Callable[[Api], Any]], dict[str, Any]]] = {
    "SessionOptions": (OPTIONS, {k: v for k, v in session_calls.METHODS.items() if v is not None}),
    "RunOptions": (RUN, refused_members.RUN),
    "IOBinding": (BINDING, refused_members.BINDING),
    "OrtValue": (VALUE, refused_members.VALUE),
    "InferenceSession": (SESSION, refused_members.SESSION),
}
MEMBERS = [(kind, name) for kind in CLASSES for name in dir(getattr(ort, kind)) if not name.startswith("_")]
#: Not of AscendEP: what onnxruntime itself refuses or can't do on any provider of this kind.
_NOT_HERE = (NotImplementedError, ort.capi.onnxruntime_pybind11_state.Fail, ValueError, RuntimeError)


def _outcome(scenario: Callable[[Api], Any], api: Api) -> Any:
    """What a scenario gives, or the kind of onnxruntime's refusal."""
    try:
        return scenario(api)
    except _NOT_HERE as error:
        if isinstance(error, AscendError):
            raise
        return type(error).__name__


@pytest.mark.parametrize(("kind", "name"), MEMBERS, ids=[f"{k}.{n}" for k, n in MEMBERS])
def test_member(kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scenarios, refused = CLASSES[kind]
    assert name in scenarios, f"onnxruntime {ort.__version__} has {kind}.{name}, which no scenario uses"
    scenario = scenarios[name]
    expected = _outcome(scenario, Api("CPUExecutionProvider", ort, tmp_path))
    _assert_same(_outcome(scenario, Api("AscendEP", ort, tmp_path)), expected)
    bundle = Api("bundle", ascend_ep, tmp_path)
    if name in refused or name == "optimized_model_filepath":
        with pytest.raises(AscendError, match=name) as caught:
            _outcome(scenario, bundle)
        assert caught.value.code == "E40001"
    else:
        _assert_same(_outcome(scenario, bundle), expected)


def _assert_same(found: Any, expected: Any) -> None:
    """Equal; float32 products of one factor are exact."""
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            _assert_same(ours, theirs)
    elif isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected


def test_the_scenarios_name_no_member_that_never_was() -> None:
    """A misspelt scenario would leave its member out; members of other releases may be missing here."""
    for kind, (scenarios, refused) in CLASSES.items():
        assert set(refused) <= set(scenarios), kind
    assert os.environ.get("ASCEND_EP_REGISTER") != "0"
