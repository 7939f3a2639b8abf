"""`InferenceSession`: onnxruntime's interface on a bundle."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, cast

from ascend_ep import regular_file
from ascend_ep.errors import AscendError

from . import options, refused_members, session_calls
from .binding import lib, open_model, path_bytes
from .bundle import Bundle
from .executor import Executor
from .host_partition import HostPartition
from .io_binding import IOBinding
from .ort_value import OrtValue
from .profile import Profile

Source = str | os.PathLike[str] | bytes | bytearray | memoryview
#: What onnxruntime shows for a model without a version.
NO_VERSION = 2**63 - 1
_WARNING = 2  # level of asc_log_fn


@refused_members.refuse(refused_members.SESSION)
class InferenceSession:
    """Runs a bundle of ascend-atc, given by path or by its bytes.

    `sess_options` may be ours or onnxruntime's. `providers` may name AscendEP and CPUExecutionProvider,
    `provider_options` give AscendEP's num_threads, trust, native_code (0: none is loaded, whoever trusts it),
    low_memory (the memory of weights is given back after each use) and map_weights (0: they are read, not
    mapped, as a file needs that may be overwritten). Given an ONNX model instead, this is onnxruntime's
    InferenceSession with AscendEP. Any number of threads may call `run` at once.

    Raises AscendError, as every method does.
    """

    #: Makes a session of what is no bundle: the provider's, which the package gives.
    _model_session: ClassVar[Callable[..., Any] | None] = None

    def __new__(cls, path_or_bytes: Source, *args: Any, **kwargs: Any) -> InferenceSession:
        """onnxruntime's session for a source that is no bundle."""
        if cls._model_session is None or is_bundle(path_or_bytes):
            return super().__new__(cls)
        return cast(InferenceSession, cls._model_session(path_or_bytes, *args, **kwargs))

    def __init__(
        self,
        path_or_bytes: Source,
        sess_options: Any = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        self._source = path_or_bytes
        self._options = sess_options if sess_options is not None else options.SessionOptions()
        session_calls.check(self._options)
        self._profile = Profile(self._options) if self._options.enable_profiling else None
        self._lock = threading.Lock()
        self._workers: ThreadPoolExecutor | None = None
        self.set_providers(providers, provider_options)

    def set_providers(
        self,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Opens the bundle with these providers and options; runs in flight finish on the old ones."""
        chosen = options.provider_options(providers, provider_options, self._options)
        flags = lib.ASC_OPEN_LOW_MEMORY if chosen.low_memory else 0
        flags |= 0 if chosen.map_weights else lib.ASC_OPEN_NO_MMAP
        flags |= 0 if chosen.native_code else lib.ASC_OPEN_NO_NATIVE
        model = open_model(self._source, chosen.num_threads, chosen.trust, flags, _warn)
        self._provider_options = chosen
        self._executor = Executor(Bundle(model), self._options, self._profile, chosen.num_threads)

    # --- running ------------------------------------------------------------------------------

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: Any = None,
    ) -> list[Any]:
        """The named outputs (all for None or an empty list) for these inputs, as new arrays."""
        return self._executor.run(output_names, input_feed, run_options)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any,
        run_options: Any = None,
    ) -> None:
        """As run, on another thread, which calls `callback(results, user_data, error)`; error is "" or the
        sentence of what went wrong."""

        def work() -> None:
            try:
                results, error = self.run(output_names, input_feed, run_options), ""
            except Exception as failure:
                results, error = [], str(failure)
            callback(results, user_data, error)

        with self._lock:
            if self._workers is None:
                self._workers = ThreadPoolExecutor(thread_name_prefix="ascend_ep")
        self._workers.submit(work)

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, Any],
        run_options: Any = None,
    ) -> list[OrtValue]:
        """As run, on OrtValues (ours or onnxruntime's)."""
        results = self.run(output_names, input_dict_ort_values, run_options)
        return [OrtValue.ortvalue_from_numpy(r) for r in results]

    def io_binding(self) -> IOBinding:
        """A new, empty binding of this session's inputs and outputs."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: Any = None) -> None:
        """Runs on bound inputs; results land in the bound outputs."""
        places = iobinding.places()
        if run_options is None:
            made = self._executor.run_bound(iobinding.feed, places)
            if made is not None:
                return iobinding.receive_all(made)
        results = self._executor.run_into(iobinding.feed, iobinding.targets(), run_options)
        return iobinding.receive(results)

    # --- describing ---------------------------------------------------------------------------

    def get_inputs(self) -> list[options.NodeArg]:
        """The model's inputs, in order."""
        return list(self._executor.input_args)

    def get_outputs(self) -> list[options.NodeArg]:
        """The model's outputs, in order."""
        return list(self._executor.output_args)

    def get_overridable_initializers(self) -> list[options.NodeArg]:
        """Always empty: a bundle's initializers are constants."""
        return []

    def get_providers(self) -> list[str]:
        """AscendEP, and CPUExecutionProvider when there is a host partition."""
        hosts = any(isinstance(p, HostPartition) for p in self._executor.partitions)
        return ["AscendEP", "CPUExecutionProvider"] if hosts else ["AscendEP"]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """By provider the options in force, as texts."""
        given = self._provider_options.as_strings()
        return {name: given if name == "AscendEP" else {} for name in self.get_providers()}

    def get_input_memory_infos(self) -> list[Any]:
        """Per input onnxruntime's word for CPU memory. Raises AscendError E40010 where there is none."""
        return [_cpu_memory() for _ in self.get_inputs()]

    def get_output_memory_infos(self) -> list[Any]:
        """Per output the same. Raises AscendError E40010 where there is no onnxruntime."""
        return [_cpu_memory() for _ in self.get_outputs()]

    def get_tuning_results(self) -> list[Any]:
        """Always empty: nothing is tuned while a bundle runs."""
        return []

    def disable_fallback(self) -> None:
        """Nothing to forbid: a bundle never goes to another provider."""

    def create_ortvalue_from_shape_and_type(
        self, shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """Uninitialised memory. element_type: a numpy type or an ONNX number."""
        return OrtValue.ortvalue_from_shape_and_type(shape, element_type, device_type, device_id)

    def get_session_options(self) -> Any:
        """The options that the session was made with, ours or onnxruntime's."""
        return self._options

    def get_modelmeta(self) -> options.ModelMetadata:
        """What the model said of itself when it was converted."""
        meta = self._executor.bundle.meta
        prefix = "custom:"
        return options.ModelMetadata(
            {k.removeprefix(prefix): v for k, v in meta.items() if k.startswith(prefix)},
            meta.get("model.description", ""),
            meta.get("model.domain", ""),
            meta.get("model.graph_description", ""),
            meta.get("model.graph_name", ""),
            meta.get("model.producer_name", ""),
            _whole(meta.get("model.version", ""), NO_VERSION),
        )

    @property
    def bundle(self) -> Bundle:
        """What the open file says about itself."""
        return self._executor.bundle

    def get_profiling_start_time_ns(self) -> int:
        """When profiling began, on the clock of time.time_ns; 0 without profiling."""
        return 0 if self._profile is None else self._profile.epoch_ns

    def end_profiling(self) -> str:
        """Writes the trace and returns its path. Raises AscendError E40001 when profiling was not enabled."""
        if self._profile is None:
            raise AscendError(
                "E40001", "profiling is not enabled", fix="Set enable_profiling on the SessionOptions."
            )
        return self._profile.write()


def open_models_with(function: Callable[..., Any]) -> None:
    """Sessions on what is no bundle are what this makes, with the arguments of InferenceSession."""
    InferenceSession._model_session = staticmethod(function)


def is_bundle(source: Source) -> bool:
    """Whether this is for the runtime: bytes or a file that begin as bundles do, or any path named .om.

    Raises AscendError E40002 for a file that can't be read.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source[:4]) == b"IMOD"
    path = os.fspath(source)
    if path.endswith(".om"):
        return True
    try:
        with regular_file.opened(os.fsdecode(path_bytes(path))) as file:
            return file.read(4) == b"IMOD"
    except OSError as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError):
            return False
        raise AscendError("E40002", f"{path}: {error.strerror}") from error


def open_with_threads(source: Source, threads: int, **more: str) -> InferenceSession:
    """A bundle's session whose runs have so many threads, whatever ASCEND_EP_THREADS says (that goes before a
    session's options); 0: as it says. `more`: of the provider's options. Raises AscendError like sessions."""
    return InferenceSession(source, providers=[("AscendEP", {"num_threads": str(threads), **more})])


def _cpu_memory() -> Any:
    ort = options.onnxruntime()
    return ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_DEVICE_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)


def _whole(text: str, otherwise: int) -> int:
    """The number that a bundle's text says, if it does."""
    try:
        return int(text)
    except ValueError:
        return otherwise


def _warn(level: int, text: str) -> None:
    if level >= _WARNING:
        warnings.warn(text, RuntimeWarning, stacklevel=2)
