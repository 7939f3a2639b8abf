"""`ais_bench.infer.interface`: sessions that take arrays, in the old versions' names and the new ones'."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.cann import aclruntime
from ascend_ep.cann.aclruntime.failure import Failure
from ascend_ep.cann.aclruntime.shape_choice import shape_text
from ascend_ep.errors import AscendError

from .processes import fresh_processes

Array = NDArray[Any]
Sizes = int | Sequence[int] | None
#: Room in bytes for each output, when shapes are chosen and nothing else is said.
USUAL_ROOM = 100000
MODES = ("static", "dymbatch", "dymhw", "dymdims", "dymshape")


class InferSession:
    """A model on a device. Raises RuntimeError, as every method does.

    acl_json_path: a settings file; debug: more lines; loop: runs of each feed.
    """

    def __init__(
        self,
        device_id: int,
        model_path: str,
        acl_json_path: str | None = None,
        debug: bool = False,
        loop: int = 1,
    ) -> None:
        self.device_id, self.model_path, self.loop = device_id, model_path, loop
        self.acl_json_path, self.debug = acl_json_path, debug
        self.options_ = aclruntime.session_options(loop, 1 if debug else 2, acl_json_path or "")
        self.session = aclruntime.InferenceSession(model_path, device_id, self.options_)
        self.intensors_desc = self.session.get_inputs()
        self.outtensors_desc = self.session.get_outputs()
        self.outputs_names = [d.name for d in self.outtensors_desc]

    # --- describing ---------------------------------------------------------------------------

    def get_inputs(self) -> list[aclruntime.tensor_desc]:
        """Of each input: name, datatype, format, shape, size and realsize."""
        return self.session.get_inputs()

    def get_outputs(self) -> list[aclruntime.tensor_desc]:
        """The same of each output."""
        return self.session.get_outputs()

    def summary(self) -> aclruntime.sumary:
        """exec_time_list: the milliseconds of every run since the last reset."""
        return self.session.sumary()

    def reset_summaryinfo(self) -> None:
        """Forgets them."""
        self.session.reset_sumaryinfo()

    sumary, reset_sumaryinfo = summary, reset_summaryinfo

    # --- choosing shapes ----------------------------------------------------------------------

    def set_loop_count(self, loop: int) -> None:
        self.session.options().loop = loop

    def set_staticbatch(self) -> None:
        self.session.set_staticbatch()

    def set_dynamic_batchsize(self, dym_batch: int | str) -> None:
        self.session.set_dynamic_batchsize(int(dym_batch))

    def get_max_dym_batchsize(self) -> int:
        return self.session.get_max_dym_batchsize()

    def set_dynamic_hw(self, w: int, h: int) -> None:
        """Height and width, in this order whatever the names of the interface say."""
        self.session.set_dynamic_hw(w, h)

    def set_dynamic_dims(self, dym_dims: str) -> None:
        self.session.set_dynamic_dims(dym_dims)

    def set_dynamic_shape(self, dym_shape: str) -> None:
        self.session.set_dynamic_shape(dym_shape)

    def set_custom_outsize(self, custom_sizes: Sequence[int]) -> None:
        self.session.set_custom_outsize(custom_sizes)

    # --- tensors ------------------------------------------------------------------------------

    def create_tensor_from_fileslist(self, desc: Any, files: Sequence[str]) -> aclruntime.Tensor:
        return self.session.create_tensor_from_fileslist(desc, files)

    def create_tensor_from_arrays_to_device(self, arrays: Any) -> aclruntime.Tensor:
        tensor = aclruntime.Tensor(arrays)
        tensor.to_device(self.device_id)
        return tensor

    @staticmethod
    def convert_tensors_to_host(tensors: Sequence[aclruntime.Tensor]) -> None:
        for tensor in tensors:
            tensor.to_host()

    @staticmethod
    def convert_tensors_to_arrays(tensors: Sequence[aclruntime.Tensor]) -> list[Array]:
        return [np.array(tensor) for tensor in tensors]

    # --- running ------------------------------------------------------------------------------

    def run(self, feeds: Sequence[Any], out_array: bool = False) -> list[Any]:
        """All outputs for arrays or tensors, as arrays, or tensors of the device."""
        if not (feeds and isinstance(feeds[0], np.ndarray)):
            tensors = self.session.run(self.outputs_names, feeds)
            if not out_array:
                return tensors
            self.convert_tensors_to_host(tensors)
            return [tensor.memory for tensor in tensors]
        results = self.session.run_arrays(feeds)
        return results if out_array else [aclruntime.Tensor.owning(r, self.device_id) for r in results]

    def infer(
        self,
        feeds: Sequence[Any],
        mode: str = "static",
        custom_sizes: Sizes = USUAL_ROOM,
        out_array: bool = True,
    ) -> list[Any]:
        """All outputs for numpy arrays or scalars, PyTorch's tensors, or aclruntime's.

        mode: static, or whose shapes choose the model's: dymbatch, dymhw, dymdims, dymshape. custom_sizes: in
        dymshape, room in bytes for each output, or one number for all.
        """
        arrays = [feed if type(feed) is np.ndarray else as_array(feed) for feed in feeds]
        if mode == "static":
            self.session.set_staticbatch()
        else:
            self._choose(mode, [a.shape for a in arrays], custom_sizes)
        results = self.session.run_arrays(arrays)
        return results if out_array else [aclruntime.Tensor.owning(r, self.device_id) for r in results]

    def infer_pipeline(
        self, feeds_list: Sequence[Sequence[Any]], mode: str = "static", custom_sizes: Sizes = USUAL_ROOM
    ) -> list[list[Array]]:
        """`infer` of each of the feeds."""
        return [self.infer(feeds, mode, custom_sizes) for feeds in feeds_list]

    def infer_iteration(
        self,
        feeds: Sequence[Any],
        in_out_list: Sequence[int] | None = None,
        iteration_times: int = 1,
        mode: str = "static",
        custom_sizes: Sizes = None,
        mem_copy: bool = True,
    ) -> list[Array]:
        """The outputs of the last of several runs, where input i is the last run's output in_out_list[i], or
        stays as it was for -1."""
        if iteration_times == 1:
            return self.infer(feeds, mode, custom_sizes or USUAL_ROOM)
        self.first_inner_run(feeds, mode, custom_sizes)
        for _ in range(iteration_times - 1):
            outputs = self.inner_run(in_out_list or [-1] * len(feeds), True, mem_copy) or []
        self.convert_tensors_to_host(outputs)
        return self.convert_tensors_to_arrays(outputs)

    def first_inner_run(self, feeds: Sequence[Any], mode: str = "static", custom_sizes: Sizes = None) -> None:
        """A run whose inputs and outputs are kept for inner_run."""
        arrays = [as_array(feed) for feed in feeds]
        self._choose(mode, [a.shape for a in arrays], custom_sizes)
        self.session.first_inner_run(self.outputs_names, arrays)

    def inner_run(
        self, in_out_list: Sequence[int], get_outputs: bool = False, mem_copy: bool = True
    ) -> list[aclruntime.Tensor] | None:
        """The next run: see infer_iteration."""
        outputs = self.session.inner_run(in_out_list, self.outputs_names, get_outputs, mem_copy)
        return outputs if get_outputs else None

    def _choose(self, mode: str, shapes: Sequence[Sequence[int]], custom_sizes: Sizes) -> None:
        if mode not in MODES:
            text = f'wrong infer_mode:{mode}, only support "static","dymbatch","dymhw","dymdims","dymshape"'
            raise Failure("E45007", mode, text)
        session, inputs = self.session, self.session.get_inputs()
        if mode == "static":
            return session.set_staticbatch()
        if len(shapes) != len(inputs):
            raise Failure("E45003", "inputs", f"{len(shapes)} are given, the model takes {len(inputs)}")
        if mode == "dymbatch":
            session.set_dynamic_batchsize(_first_free(inputs, shapes))
        elif mode == "dymhw":
            session.set_dynamic_hw_of(shapes)
        elif mode == "dymdims":
            session.set_dynamic_dims(shape_text([d.name for d in inputs], shapes))
        else:
            session.set_dynamic_shape(shape_text([d.name for d in inputs], shapes))
            self._make_room(custom_sizes)
        return None

    def _make_room(self, custom_sizes: Sizes) -> None:
        if isinstance(custom_sizes, bool) or not isinstance(custom_sizes, int | list | tuple | None):
            raise Failure("E45003", "custom_sizes", f"{custom_sizes} is neither a number nor a list of them")
        if custom_sizes is None:
            custom_sizes = []
        sizes = [custom_sizes] * len(self.outputs_names) if isinstance(custom_sizes, int) else custom_sizes
        self.session.set_custom_outsize(sizes)

    # --- ending -------------------------------------------------------------------------------

    def free_resource(self) -> None:
        """Closes the model."""
        self.session.free_resource()

    def finalize(self) -> None:
        """The same, and the end of the device's use."""
        self.session.finalize()


def as_array(feed: Any) -> Array:
    """The array that a feed is or holds. Raises Failure E45003 for what holds none."""
    if isinstance(feed, np.ndarray):
        return feed
    if isinstance(feed, np.generic):
        return np.array(feed).reshape(1)
    if isinstance(feed, aclruntime.Tensor | aclruntime.BaseTensor):
        return feed.memory
    if hasattr(feed, "is_contiguous") and hasattr(feed, "numpy"):  # PyTorch's, without importing it
        found: Array = feed.detach().cpu().numpy()
        return found
    raise Failure("E45003", "feeds", f"type:{type(feed)} invalid", fix="Give numpy arrays.")


def _first_free(inputs: Sequence[Any], shapes: Sequence[Sequence[int]]) -> int:
    """The size that the first free dim has there."""
    for desc, shape in zip(inputs, shapes, strict=True):
        free = [size for dim, size in zip(desc.shape, shape, strict=False) if dim < 0]
        if free and len(desc.shape) == len(shape):
            return free[0]
    raise Failure("E45004", "; ".join(map(str, shapes)), "the model has no such free dims")


class MultiDeviceSession:
    """The calls of InferSession for feeds by device, in a process for each list of feeds.

    A process that fails says so, and its outputs are missing.
    """

    def __init__(
        self, model_path: str, acl_json_path: str | None = None, debug: bool = False, loop: int = 1
    ) -> None:
        self.given = (model_path, acl_json_path, debug, loop)

    def infer(
        self,
        device_feeds: Mapping[int, Sequence[Any]],
        mode: str = "static",
        custom_sizes: Sizes = USUAL_ROOM,
    ) -> dict[int, list[Any]]:
        """By device, the outputs for each of its feeds."""
        return self._everywhere("infer", device_feeds, (mode, custom_sizes))

    def infer_pipeline(
        self,
        device_feeds_list: Mapping[int, Sequence[Any]],
        mode: str = "static",
        custom_sizes: Sizes = USUAL_ROOM,
    ) -> dict[int, list[Any]]:
        """By device, the outputs for each of its lists of feeds."""
        return self._everywhere("infer_pipeline", device_feeds_list, (mode, custom_sizes))

    def infer_iteration(
        self,
        device_feeds: Mapping[int, Sequence[Any]],
        in_out_list: Sequence[int] | None = None,
        iteration_times: int = 1,
        mode: str = "static",
        custom_sizes: Sizes = None,
        mem_copy: bool = True,
    ) -> dict[int, list[Any]]:
        """By device, what infer_iteration gives for each of its feeds."""
        rest = (in_out_list, iteration_times, mode, custom_sizes, mem_copy)
        return self._everywhere("infer_iteration", device_feeds, rest)

    def _everywhere(
        self, method: str, feeds: Mapping[int, Sequence[Any]], rest: tuple[Any, ...]
    ) -> dict[int, list[Any]]:
        jobs = [(device, feed) for device, each in feeds.items() for feed in each]
        found: dict[int, list[Any]] = {}
        with fresh_processes() as context, ProcessPoolExecutor(max(len(jobs), 1), context) as pool:
            runs = [pool.submit(_run_on, self.given, device, method, (feed, *rest)) for device, feed in jobs]
            for (device, _), run in zip(jobs, runs, strict=True):
                try:
                    outputs, began, ended = run.result()
                except AscendError as error:
                    print(f"[ERROR] subprocess run failed error_callback:{error}", flush=True)
                    continue
                print(f"[INFO] device {device}, start_time:{began}, end_time:{ended}", flush=True)
                found.setdefault(device, []).append(outputs)
        return found


def _run_on(
    given: tuple[Any, ...], device: int, method: str, arguments: tuple[Any, ...]
) -> tuple[Any, float, float]:
    session = InferSession(device, *given)
    began = time.time()
    call: Callable[..., Any] = getattr(session, method)
    outputs = call(*arguments)
    ended = time.time()
    session.finalize()
    return outputs, began, ended


class MemorySummary:
    """The milliseconds of copies to and from devices, of the whole process."""

    @staticmethod
    def get_h2d_time_list() -> list[float]:
        return aclruntime.MemorySummary.H2D_time_list

    @staticmethod
    def get_d2h_time_list() -> list[float]:
        return aclruntime.MemorySummary.D2H_time_list

    @staticmethod
    def reset() -> None:
        aclruntime.MemorySummary.reset()

    get_H2D_time_list, get_D2H_time_list = get_h2d_time_list, get_d2h_time_list
