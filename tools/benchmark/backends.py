"""What is timed: one class per backend, each a model opened with so many threads. Only the chosen backend's
library is imported."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
Call = Callable[[], object]


class Backend(Protocol):
    """A loaded model. `call(feeds)` gives what runs one inference on these inputs; `outputs()` is what the
    first one computed, in the model's order; `hosted`, whether a bundle has parts that onnxruntime runs."""

    hosted: bool

    def __init__(self, path: str, threads: int) -> None: ...

    def call(self, feeds: Arrays) -> Call: ...

    def outputs(self) -> list[NDArray[Any]]: ...


class Session:
    """session.run of whatever has onnxruntime's interface."""

    session: Any
    names: list[str]
    last: list[Any]

    def call(self, feeds: Arrays) -> Call:
        run, names = self.session.run, self.names
        self.last = run(names, feeds)
        return lambda: run(names, feeds)

    def outputs(self) -> list[NDArray[Any]]:
        return self.last


class OnnxRuntime(Session):
    """session.run of onnxruntime's CPU provider."""

    providers: tuple[Any, ...] = ("CPUExecutionProvider",)
    hosted = False

    def __init__(self, path: str, threads: int) -> None:
        ort = importlib.import_module("onnxruntime")
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self.configure(options, ort)
        self.session = ort.InferenceSession(path, options, providers=list(self.providers))
        self.names = [o.name for o in self.session.get_outputs()]
        self.last: list[Any] = []

    def configure(self, options: Any, ort: Any) -> None:
        """Room for variants."""


class AscendInOnnxRuntime(OnnxRuntime):
    """The same with AscendEP, in onnxruntime as it comes."""

    def __init__(self, path: str, threads: int) -> None:
        importlib.import_module("ascend_ep")
        self.providers = (("AscendEP", {"num_threads": str(threads)}), *OnnxRuntime.providers)
        super().__init__(path, threads)


class OnnxRuntimeBound(OnnxRuntime):
    """run_with_iobinding, inputs and outputs bound once."""

    def call(self, feeds: Arrays) -> Call:
        session = self.session
        binding = session.io_binding()
        for name, array in feeds.items():
            binding.bind_cpu_input(name, array)
        for name in self.names:
            binding.bind_output(name, "cpu")
        session.run_with_iobinding(binding)
        self.last = binding.copy_outputs_to_cpu()
        kinds = importlib.import_module("onnxruntime").OrtValue
        self.values = [kinds.ortvalue_from_numpy(np.array(a)) for a in self.last]
        binding.clear_binding_outputs()
        for name, value in zip(self.names, self.values, strict=True):
            binding.bind_ortvalue_output(name, value)
        return lambda: session.run_with_iobinding(binding)


class OnnxRuntimePrepacked(OnnxRuntime):
    """Reads what `save_prepacked` wrote: optimised already, weights outside and packed."""

    def configure(self, options: Any, ort: Any) -> None:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL


class OpenVino:
    """infer of OpenVINO in float32, inputs and outputs shared."""

    properties: Mapping[str, Any] = {"INFERENCE_PRECISION_HINT": "f32"}
    hosted = False

    def __init__(self, path: str, threads: int) -> None:
        openvino = importlib.import_module("openvino")
        core = openvino.Core()
        given = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, **self.properties}
        self.model = core.compile_model(path, "CPU", given)
        self.request = self.model.create_infer_request()

    def call(self, feeds: Arrays) -> Call:
        infer = self.request.infer
        self.last = infer(feeds)
        return lambda: infer(feeds, share_inputs=True, share_outputs=True)

    def outputs(self) -> list[NDArray[Any]]:
        return [np.array(self.last[output]) for output in self.model.outputs]


class OpenVinoDefault(OpenVino):
    """The same as it comes: bfloat16 where the CPU has it."""

    properties: Mapping[str, Any] = {}


class Own(Session):
    """run of the own runtime."""

    def __init__(self, path: str, threads: int) -> None:
        ascend_ep = importlib.import_module("ascend_ep")
        options = ascend_ep.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = ascend_ep.InferenceSession(path, options)
        self.hosted = self.session.get_providers() != ["AscendEP"]
        self.names = [o.name for o in self.session.get_outputs()]
        self.last: list[Any] = []


class OwnBound(Own):
    """run_with_iobinding of the own runtime."""

    def call(self, feeds: Arrays) -> Call:
        super().call(feeds)
        session = self.session
        binding = session.io_binding()
        for name, array in feeds.items():
            binding.bind_cpu_input(name, array)
        value = importlib.import_module("ascend_ep").OrtValue
        self.values = [value.ortvalue_from_numpy(np.array(a)) for a in self.last]
        for name, bound in zip(self.names, self.values, strict=True):
            binding.bind_ortvalue_output(name, bound)
        return lambda: session.run_with_iobinding(binding)


BACKENDS: dict[str, type[Backend]] = {
    "ort": OnnxRuntime,
    "ort_bound": OnnxRuntimeBound,
    "ort_prepacked": OnnxRuntimePrepacked,
    "openvino": OpenVino,
    "openvino_default": OpenVinoDefault,
    "ascend_in_ort": AscendInOnnxRuntime,
    "own": Own,
    "own_bound": OwnBound,
    "own_bf16": Own,
}
LIBRARIES = {"ort": "onnxruntime", "openvino": "openvino", "ascend": "onnxruntime", "own": "ascend_ep"}


def library_version(backend: str) -> str:
    """Name and version of the library a backend times. Raises ImportError."""
    if backend == "probe":
        return "probe.c"
    name = LIBRARIES[backend.split("_")[0]]
    found = importlib.import_module(name)
    version = str(getattr(found, "__version__", "")).partition("-")[0]
    return f"{name} {version}".strip()


def save_prepacked(source: str, target: str, threads: int) -> None:
    """Has onnxruntime write the model optimised, with its weights in a file beside it, packed."""
    ort = importlib.import_module("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.optimized_model_filepath = target
    entries = {
        "session.optimized_model_external_initializers_file_name": target.rsplit("/", 1)[-1] + ".data",
        "session.optimized_model_external_initializers_min_size_in_bytes": "1024",
        "session.save_external_prepacked_constant_initializers": "1",
    }
    for key, value in entries.items():
        options.add_session_config_entry(key, value)
    ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
