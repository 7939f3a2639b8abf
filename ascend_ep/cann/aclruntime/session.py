"""aclruntime's InferenceSession: a bundle on one device, its shapes chosen beforehand, its runs timed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep import regular_file
from ascend_ep.errors import AscendError
from ascend_ep.runtime import session as runtime
from ascend_ep.runtime.options import SessionOptions

from . import data_types
from .descriptions import describe, most_elements, tensor_desc
from .devices import check_device
from .dumping import Dumper
from .failure import Failure
from .memory_summary import MemorySummary
from .settings import read_settings
from .shape_choice import Shape, ShapeChoice, shape_text
from .tensors import BaseTensor, Tensor

Array = NDArray[Any]
DEBUG, INFO = 1, 2


@dataclass
class session_options:
    """loop: runs of each feed. log_level: 1 debug, 2 info, 3 warnings. acl_json_path: of settings, or ""."""

    loop: int = 1
    log_level: int = INFO
    acl_json_path: str = ""


@dataclass
class infer_options:
    """How run_pipeline writes files: where, in which format, and whose shapes are the files' own."""

    output_dir: str = ""
    out_format: str = "BIN"
    auto_dym_shape: bool = False
    auto_dym_dims: bool = False
    pure_infer_mode: bool = False


class ExecutionTime(float):
    """The milliseconds of a run, which unpacks as its start and end, in milliseconds too."""

    start: float
    end: float

    def __new__(cls, start: float, end: float) -> ExecutionTime:
        made = super().__new__(cls, end - start)
        made.start, made.end = start, end
        return made

    def __iter__(self) -> Any:
        return iter((self.start, self.end))

    def __getitem__(self, index: int) -> float:
        return (self.start, self.end)[index]


class sumary:
    """Of a session: the time of every run since the last reset."""

    def __init__(self) -> None:
        #: start and end of each run, in nanoseconds
        self.stamps: list[tuple[int, int]] = []

    @property
    def exec_time_list(self) -> list[ExecutionTime]:
        return [ExecutionTime(start / 1e6, end / 1e6) for start, end in self.stamps]


class _EitherWay:
    """A method that programs call on the class, too."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __get__(self, instance: Any, owner: Any) -> Any:
        return lambda: self.function(instance)


class InferenceSession:
    """Opens a bundle. Raises Failure, which is a RuntimeError, as every method does.

    Inputs are bytes, as on a device: an array of another type is read as the input's type, and must have just
    the bytes of the shapes in force.
    """

    def __init__(self, model_path: str, device_id: int = 0, options: session_options | None = None) -> None:
        self._options = options or session_options()
        settings = read_settings(self._options.acl_json_path)
        for remark in settings.remarks:
            self._say("WARN", remark)
        self._say("INFO", "acl init success")
        self.device_id = check_device(int(device_id))
        self._say("INFO", f"open device {self.device_id} success")
        self.model_path = str(model_path)
        inner = SessionOptions()
        if settings.profile is not None:
            settings.profile.mkdir(parents=True, exist_ok=True)
            inner.enable_profiling = True
            inner.profile_file_prefix = str(settings.profile / "msprof_trace")
        if not runtime.is_bundle(self.model_path):
            raise Failure("E45003", model_path, "it is no .om of ascend-atc")
        try:
            self._session: runtime.InferenceSession | None = runtime.InferenceSession(self.model_path, inner)
        except AscendError as error:
            raise Failure.of(error) from error
        self._profiled = settings.profile is not None
        self._dumper: Dumper | None = None
        self._say("INFO", f"load model {model_path} success")
        bundle = self._session.bundle
        self._shapes = ShapeChoice(bundle)
        #: whether the sizes of outputs aren't known before a run
        choices = bundle.profiles or ({},)
        where = self._shapes.where
        self._inputs = [describe(e, most_elements(e.dims, choices), where) for e in self._shapes.inputs]
        outputs = [e for e in bundle.edges if e.is_output]
        self._outputs = [describe(e, most_elements(e.dims, choices), where) for e in outputs]
        self._names = [d.name for d in self._outputs]
        if settings.dumps:
            path = self._options.acl_json_path
            self._dumper = Dumper(self.model_path, path, self.device_id, self._shapes)
        self._types = [data_types.array_type(d.datatype) for d in self._inputs]
        self._summary = sumary()
        self._largest = self._shapes.largest()
        self._chosen: dict[tuple[str, str], list[Shape]] = {}
        self._custom_sizes: list[int] = []
        self._carried: list[Any] = []
        self._in_force: list[Shape] | None = None
        self._use(self._largest)
        self._say("INFO", "create model description success")

    # --- describing ---------------------------------------------------------------------------

    def get_inputs(self) -> list[tensor_desc]:
        return self._inputs

    def get_outputs(self) -> list[tensor_desc]:
        return self._outputs

    def options(self) -> session_options:
        """The options in force: what is changed in them counts at the next run."""
        return self._options

    def __repr__(self) -> str:
        lines = ["<Model>", f"device:\t{self.device_id}"]
        for title, found in (("input", self._inputs), ("output", self._outputs)):
            lines += [f"{title}:", *(f"  #{i}    {desc}" for i, desc in enumerate(found))]
        return "\n".join(lines) + "\n"

    def sumary(self) -> sumary:
        return self._summary

    def reset_sumaryinfo(self) -> None:
        self._summary.stamps.clear()

    # --- choosing shapes ----------------------------------------------------------------------

    def set_staticbatch(self) -> None:
        """No choice: the shapes of a static model, or the largest profile."""
        if self._in_force is not self._largest:
            self._use(self._largest)

    def set_dynamic_batchsize(self, batch: int) -> None:
        self._use(self._shapes.of_batch(int(batch)))

    def get_max_dym_batchsize(self) -> int:
        return self._shapes.largest_batch()

    def set_dynamic_hw(self, height: int, width: int) -> None:
        self._use(self._shapes.of_image(int(height), int(width)))

    def set_dynamic_hw_of(self, shapes: Sequence[Sequence[int]]) -> None:
        """The images of the profile in which the inputs that vary have these shapes."""
        self._use(self._shapes.of_images(shapes))

    def set_dynamic_dims(self, text: str) -> None:
        """`a:1,2;b:3,4`, the dims of a profile."""
        self._use(self._remembered("dims", text))

    def set_dynamic_shape(self, text: str) -> None:
        """`a:1,2;b:3,4`, any within the model's ranges; a run says whether they are."""
        self._use(self._remembered("shape", text))

    def set_custom_outsize(self, sizes: Sequence[int]) -> None:
        """Room for each output in bytes. A run whose outputs take more fails, as on a device."""
        self._custom_sizes = [int(n) for n in sizes]
        self._is_checked = False

    def _remembered(self, how: str, text: str) -> list[Shape]:
        found = self._chosen.get((how, text))
        if found is None:
            found = self._shapes.of_dims(text) if how == "dims" else self._shapes.of_shapes(text)
            self._chosen = {**self._chosen, (how, text): found} if len(self._chosen) < 64 else {}
        return found

    def _use(self, shapes: list[Shape] | None) -> None:
        if shapes is not None and shapes is self._in_force:
            return
        self._in_force = shapes
        self._is_checked = False
        for i, desc in enumerate(self._inputs):
            size = 0 if shapes is None else int(np.prod(shapes[i], dtype=np.int64)) * self._types[i].itemsize
            desc.realsize = desc.size if shapes is None else size
        self._expected = [
            (desc.name, kind, shape, desc.realsize)
            for desc, kind, shape in zip(self._inputs, self._types, shapes or (), strict=False)
        ]

    # --- running ------------------------------------------------------------------------------

    def run(self, names: Sequence[str], feeds: Any) -> list[Tensor]:
        """The named outputs, as tensors of the device, for tensors by name or in order."""
        results = self.run_arrays(self._ordered(feeds))
        found = dict(zip(self._names, results, strict=True))
        unknown = [n for n in names if n not in found]
        if unknown:
            fix = f"The outputs are {', '.join(self._names)}."
            raise Failure("E45003", unknown[0], "it is no output", where=self._shapes.where, fix=fix)
        return [Tensor.owning(found[n], self.device_id) for n in names]

    def run_arrays(self, arrays: Sequence[Array]) -> list[Array]:
        """All outputs for inputs in order."""
        if self._in_force is None:
            raise self._shapes.needed()
        if self._session is None:
            raise Failure("E45003", self.model_path, "the session was finalized", fix="Make a new one.")
        if not self._is_checked:
            self._check_choice(self._in_force)
        if len(arrays) != len(self._expected):
            text = f"{len(arrays)} are given, the model takes {len(self._expected)}"
            raise Failure("E45003", "inputs", text, where=self._shapes.where)
        clock = time.perf_counter_ns
        began = clock()
        feed = {}
        for array, (name, kind, shape, size) in zip(arrays, self._expected, strict=True):
            fits = array.dtype == kind and array.shape == shape
            feed[name] = array if fits else self._read(array, name, kind, shape, size)
        MemorySummary.H2D_time_list.append((clock() - began) / 1e6)
        options = self._options
        try:
            if options.loop == 1:
                began = clock()
                results: list[Array] = self._session.run(None, feed)
                self._summary.stamps.append((began, clock()))
            else:
                results = self._repeat(self._session.run, feed, options)
        except AscendError as error:
            raise Failure.of(error) from error
        if self._dumper is not None:
            for _ in range(options.loop):
                self._dumper.run(feed, self._in_force)
        if options.log_level <= DEBUG:
            self._say("DEBUG", f"model aclExec cost : {self._summary.exec_time_list[-1]:f}")
        if self._custom_sizes:
            self._check_room(results)
        return results

    def _check_choice(self, shapes: Sequence[Shape]) -> None:
        """Whether a model whose shapes are free can run at these, with room for its outputs."""
        self._shapes.check_ranges(shapes)
        room = [desc.size for desc in self._outputs]
        room[: len(self._custom_sizes)] = self._custom_sizes[: len(room)]
        unknown = [desc.name for desc, size in zip(self._outputs, room, strict=True) if not size]
        if unknown:
            fix = "Give --outputSize, or set_custom_outsize: bytes for each output."
            text = f"the size of output [{unknown[0]}] isn't known before a run"
            raise Failure("E45003", "outputs", text, where=self._shapes.where, fix=fix)
        self._is_checked = True

    def _repeat(self, run: Any, feed: Mapping[str, Array], options: session_options) -> list[Array]:
        clock, stamps, loop = time.perf_counter_ns, self._summary.stamps, options.loop
        results: list[Array] = []
        shown = -1
        for i in range(loop):
            began = clock()
            results = run(None, feed)
            stamps.append((began, clock()))
            if options.log_level <= INFO and 100 * (i + 1) // loop > shown:
                shown = 100 * (i + 1) // loop
                print(f"\rloop inference exec: ({i + 1}/{loop})", end="\n" * (i + 1 == loop), flush=True)
        return results

    def _read(self, array: Array, name: str, kind: Any, shape: Shape, size: int) -> Array:
        """The bytes of an array as the input that the model takes."""
        if array.nbytes != size:
            text = f"it has {array.nbytes} bytes ({array.dtype}{list(array.shape)}); the model takes {size}"
            raise Failure("E45003", name, f"{text} ({kind}{list(shape)})", where=self._shapes.where)
        found: Array = np.ascontiguousarray(array).reshape(-1).view(np.uint8).view(kind).reshape(shape)
        return found

    def _ordered(self, feeds: Any) -> list[Array]:
        if isinstance(feeds, Mapping):
            names = [d.name for d in self._inputs]
            if sorted(feeds) != sorted(names):
                text = f"they are {', '.join(feeds)}; the model's are {', '.join(names)}"
                raise Failure("E45003", "inputs", text, where=self._shapes.where)
            feeds = [feeds[n] for n in names]
        for feed in feeds:
            if not isinstance(feed, Tensor | BaseTensor):
                raise TypeError(f"a Tensor or BaseTensor is needed, not {type(feed).__name__}")
        return [feed.memory for feed in feeds]

    def _check_room(self, results: Sequence[Array]) -> None:
        for desc, result, room in zip(self._outputs, results, self._custom_sizes, strict=False):
            if result.nbytes > room:
                raise Failure("E45005", desc.name, result.nbytes, room, where=self._shapes.where)

    # --- runs that follow each other ------------------------------------------------------------

    def first_inner_run(self, names: Sequence[str], feeds: Any) -> None:
        """Runs, and keeps inputs and outputs for inner_run."""
        self._carried = [f if isinstance(f, np.ndarray) else f.memory for f in feeds]
        self._last = self.run_arrays(self._carried)

    def inner_run(
        self,
        in_out_list: Sequence[int],
        names: Sequence[str],
        get_outputs: bool = False,
        mem_copy: bool = True,
    ) -> list[Tensor]:
        """Runs again: input i is the last output in_out_list[i], or stays what it was for -1. Outputs that
        aren't asked for are kept for the next."""
        for i, source in enumerate(in_out_list):
            if not -1 <= source < len(self._last) or i >= len(self._carried):
                raise Failure(
                    "E45003", "in_out_list", f"[{source}] for input {i} is no output's number, or -1"
                )
            if source >= 0:
                self._carried[i] = self._last[source]
        self._last = self.run_arrays(self._carried)
        if not get_outputs:
            return []
        found = dict(zip(self._names, self._last, strict=True))
        return [Tensor.owning(found[n], self.device_id) for n in names]

    def run_pipeline(
        self,
        names: Sequence[str],
        feeds_list: Sequence[Any],
        shapes_list: Sequence[Sequence[Sequence[int]]],
        auto_shape: bool = False,
        auto_dims: bool = False,
    ) -> list[list[Tensor]]:
        """One run for each feed, with its own shapes where they are chosen; outputs on the host."""
        made = []
        for feeds, shapes in zip(feeds_list, shapes_list, strict=True):
            if auto_shape or auto_dims:
                text = shape_text([d.name for d in self._inputs], shapes)
                (self.set_dynamic_shape if auto_shape else self.set_dynamic_dims)(text)
            outputs = self.run(names, feeds)
            for tensor in outputs:
                tensor.to_host()
            made.append(outputs)
        return made

    def create_tensor_from_fileslist(self, desc: tensor_desc, files: Sequence[str]) -> Tensor:
        """A tensor of the device with the bytes of these files behind one another, in this shape."""
        try:
            raw = b"".join(regular_file.read(file) for file in files)
        except OSError as error:
            raise Failure("E45003", error.filename, f"it can't be read: {error.strerror}") from None
        if len(raw) != desc.realsize:
            text = f"the files have {len(raw)} bytes; the model takes {desc.realsize}"
            raise Failure("E45003", desc.name, text, where=self._shapes.where)
        array = np.frombuffer(raw, data_types.array_type(desc.datatype))
        i = next((i for i, d in enumerate(self._inputs) if d.name == desc.name), None)
        tensor = Tensor(array if i is None or self._in_force is None else array.reshape(self._in_force[i]))
        tensor.to_device(self.device_id)
        return tensor

    # --- images prepared by the device ---------------------------------------------------------

    def get_dym_aipp_input_exist(self) -> int:
        """How many inputs take parameters of AIPP with every run: none; dynamic AIPP takes images here."""
        return 0

    def check_dym_aipp_input_exist(self) -> int:
        return 0

    # --- ending ---------------------------------------------------------------------------------

    def free_resource(self) -> None:
        """Closes the bundle, and writes the profile if there is one."""
        if self._session is None:
            return
        session, self._session = self._session, None
        if self._profiled:
            self._say("INFO", f"profile written: {session.end_profiling()}")
        if self._dumper is not None:
            self._dumper.end()
            self._dumper = None
        self._say("INFO", "unload model success, model Id is 1")

    def _finalize(self) -> None:
        if self is None:  # called on the class: sessions end with their last reference
            return
        was_open = self._session is not None
        self.free_resource()
        if was_open:
            for line in ("destroy context", f"reset device is {self.device_id}", "finalize acl"):
                self._say("INFO", f"end to {line}")

    finalize = _EitherWay(_finalize)

    def _say(self, level: str, text: str) -> None:
        if {"DEBUG": 1, "INFO": 2, "WARN": 3}[level] >= self._options.log_level:
            print(f"[{level}] {text}", flush=True)


def model(modelPath: str, deviceId: int = 0, options: session_options | None = None) -> InferenceSession:
    """A session, by the names of the interface."""
    return InferenceSession(modelPath, deviceId, options)
