"""Running an open bundle on numpy arrays: its partitions in order, or one C call when it has just one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_ep.element_types import BFLOAT16, numpy_dtype, type_name
from ascend_ep.errors import AscendError

from . import feed, tracing
from ._call import Call
from .binding import ffi, lib
from .bundle import Bundle
from .bundle_records import Edge
from .contradictions import Contradictions, contradiction_of
from .host_partition import HostPartition
from .native_partition import NativePartition
from .options import NodeArg
from .profile import Profile
from .profiles import SHAPE_DATA, with_profile

Array = NDArray[Any]

#: How a run may end that contradicts what the model declares: with shapes that don't fit, with data that a
#: kernel refuses, or that make other sizes.
_UNFIT, _REFUSED, _DECLARED = "E40007", "E40011", "E40013"
_DOUBTFUL = (_UNFIT, _REFUSED, _DECLARED)


class Executor:
    """Any number of threads may run it at once. Feeds and results have the order of the model's boundary."""

    def __init__(
        self, bundle: Bundle, session_options: Any, profile: Profile | None, num_threads: int = 0
    ) -> None:
        self.bundle = bundle
        self.where = bundle.model.where
        self.inputs = [e for e in bundle.edges if e.is_input]
        self.outputs = [e for e in bundle.edges if e.is_output]
        self._args = {e.index: _node_arg(bundle, e) for e in bundle.edges}
        self.input_args = [self._args[e.index] for e in self.inputs]
        self.output_args = [self._args[e.index] for e in self.outputs]
        self._session_options = session_options
        self._num_threads = num_threads
        self._contradiction = Contradictions(bundle, self.inputs)
        self._apart: Executor | None = None
        self._lock = threading.Lock()
        self._names = [e.name for e in self.outputs]
        self.output_at = {e.name: i for i, e in enumerate(self.outputs)}
        self.partitions: list[NativePartition | HostPartition] = [
            NativePartition(bundle, p)
            if p.is_native
            else HostPartition(bundle, p, session_options, num_threads)
            for p in bundle.partitions
        ]
        self._fed = [e.index for e in self.inputs]
        #: each partition with the edges that it reads and the numbers of those that it writes
        self._steps = [
            (made, [bundle.edges[i] for i in p.inputs], p.outputs)
            for made, p in zip(self.partitions, bundle.partitions, strict=True)
        ]
        self._profile = profile
        self._whole = self._single_native()
        at = {e.index: i for i, e in enumerate(self.inputs)}
        #: of that partition, the place of each of its inputs among the model's
        self._order = [at[i] for i in self.bundle.partitions[0].inputs] if self._whole else []
        #: the run of the shapes seen last
        self._call: Call | None = None
        #: of the inputs seen last, which could be taken as they were, name, type and shape
        self._taken: list[tuple[str, np.dtype[Any], tuple[int, ...]]] = []

    def _single_native(self) -> NativePartition | None:
        """The only partition, when it is native and its boundary is the model's, with inputs in any order:
        then a run is one call."""
        if len(self.partitions) != 1 or self._profile is not None:
            return None
        info, only = self.bundle.partitions[0], self.partitions[0]
        ins = sorted(e.index for e in self.inputs) == sorted(info.inputs)
        outs = [e.index for e in self.outputs] == list(info.outputs)
        return only if ins and outs and isinstance(only, NativePartition) else None

    def _without_names(self) -> Executor:
        """What runs inputs whose sizes contradict names, or what is declared of other values."""
        with self._lock:
            if self._apart is None:
                apart = self.bundle.apart
                assert apart is not None
                self._apart = Executor(apart, self._session_options, self._profile, self._num_threads)
        return self._apart

    def run(self, names: Sequence[str] | None, given: Mapping[str, Any], run_options: Any) -> list[Any]:
        """The named outputs, or all, as new arrays."""
        if self._call is not None and run_options is None:
            results = self._in_one_call(self._call, given, None, 0)
            if results is not None:
                return self._select(names, results) if names else results
        arrays = self._normalise(given)
        return self._select(names, self._run_arrays(arrays, {}, run_options))

    def run_at(self) -> tuple[Callable[..., list[Any]], tuple[str, ...]] | None:
        """What runs inputs of the shapes seen last by the addresses of their elements, and their names in
        its order; None when a run is more than one call. Elements lie side by side, and the caller keeps
        them."""
        if self._call is None or self._whole is None or self.bundle.apart is not None:
            return None
        return self._call.run_at, tuple(self.inputs[i].name for i in self._order)

    def run_bound(self, given: Mapping[str, Any], places: list[Array | None]) -> list[Any] | None:
        """As `run_into` in one call: all outputs, those with a place written there; None when this needs more
        than one call."""
        return None if self._call is None else self._in_one_call(self._call, given, places, 0)

    def run_timed(self, given: Mapping[str, Any], ns: Any) -> list[Any] | None:
        """As `run`; `ns` (uint64_t[2n]) gets the nanoseconds of every instruction's start and end. None when
        this needs more than one call, or no run has had these shapes before."""
        address = int(ffi.cast("uintptr_t", ns))
        return None if self._call is None else self._in_one_call(self._call, given, None, address)

    def _in_one_call(
        self, call: Call, given: Mapping[str, Any], places: list[Array | None] | None, ns: int
    ) -> list[Any] | None:
        try:
            results: list[Any] | None = call.run(given, places, ns)
            return results
        except AscendError as error:
            if not self._is_doubtful(error):
                raise
            self._call = None
            return None

    def _is_doubtful(self, error: AscendError) -> bool:
        """Whether a run that failed so may do without what the model declares."""
        return error.code in _DOUBTFUL and not self.bundle.insists and self.bundle.apart is not None

    def run_into(
        self, given: Mapping[str, Any], targets: Mapping[str, Array | None], run_options: Any
    ) -> dict[str, Any]:
        """The outputs named in `targets`; one whose target has room for it is written there.

        Raises AscendError E40007 when an output has another shape or type than its target.
        """
        arrays = self._normalise(given)
        results = self._run_arrays(arrays, targets, run_options)
        self._select(list(targets), results)
        return {name: self._store(name, results[self.output_at[name]], targets[name]) for name in targets}

    def _run_arrays(
        self, arrays: Sequence[Any], targets: Mapping[str, Array | None], run_options: Any
    ) -> list[Any]:
        """All outputs for inputs that are checked; with one call, those whose target has room for them are
        written there."""
        against = self._contradiction(arrays)
        if against is not None:
            results = self._without_names()._run_arrays(arrays, targets, run_options)
            against.say()
            return results
        try:
            return self._run_plan(arrays, targets, run_options)
        except AscendError as error:
            if not self._is_doubtful(error) or (run_options is not None and run_options.terminate):
                raise
            return self._run_again(error, arrays, targets, run_options)

    def _run_again(
        self,
        error: AscendError,
        arrays: Sequence[Any],
        targets: Mapping[str, Array | None],
        run_options: Any,
    ) -> list[Any]:
        """As `_run_arrays` without what the model declares, after `error` was the end of a run. Where that
        fails too, its error says why if the first was about what is declared."""
        try:
            results = self._without_names()._run_arrays(arrays, targets, run_options)
        except AscendError as other:
            declared = error.code == _DECLARED or (error.code, other.code) == (_UNFIT, _REFUSED)
            raise (other if declared else error) from None
        contradiction_of(self.bundle, error).say()
        return results

    def _run_plan(
        self, arrays: Sequence[Any], targets: Mapping[str, Array | None], run_options: Any
    ) -> list[Any]:
        whole = self._whole
        if whole is None or run_options is not None:
            return self._run_partitions(arrays, run_options)
        arrays = [arrays[i] for i in self._order]
        bound = whole.bind(tuple([a.shape for a in arrays]))
        raw, results = whole.allocate(bound)
        for i, edge in enumerate(self.outputs) if targets else ():
            target = targets.get(edge.name)
            if target is not None and _writable(target, results[i]):
                raw[i], results[i] = target.view(raw[i].dtype), target
        whole.execute(bound, arrays, raw)
        self._call = bound.call
        return results

    def _store(self, name: str, result: Any, target: Array | None) -> Any:
        if target is None or target is result:
            return result
        if target.shape != result.shape or target.dtype != result.dtype:
            raise AscendError(
                "E40007",
                f"output [{name}] is {result.dtype}{list(result.shape)}; "
                f"the bound buffer is {target.dtype}{list(target.shape)}",
                where=self.where,
                fix="Bind a buffer of that shape and type, or bind the name alone.",
            )
        np.copyto(target, result)
        return target

    def _normalise(self, given: Mapping[str, Any]) -> list[Any]:
        """The inputs in order, checked and brought into the form that native code reads."""
        arrays = self._as_before(given)
        if arrays is None:
            arrays = self._checked(given)
            pairs = zip(self.inputs, arrays, strict=True)
            same = all(type(a) is np.ndarray and given.get(e.name) is a for e, a in pairs)
            names = [e.name for e in self.inputs]
            self._taken = [(n, a.dtype, a.shape) for n, a in zip(names, arrays, strict=True)] if same else []
        return arrays

    def _as_before(self, given: Mapping[str, Any]) -> list[Any] | None:
        """Inputs of the types and shapes seen last, which need no look at the rest; else None."""
        taken = self._taken
        if not taken or type(given) is not dict or len(given) != len(taken):
            return None
        arrays = []
        for name, dtype, shape in taken:
            value = given.get(name)
            if type(value) is not np.ndarray or value.shape != shape or value.dtype != dtype:
                return None
            if value.flags.num & feed.CARRAY != feed.CARRAY:
                return None
            arrays.append(value)
        return arrays

    def _checked(self, given: Mapping[str, Any]) -> list[Any]:
        if self.bundle.profiles and SHAPE_DATA in given:
            given = with_profile(given, self.bundle, self.where)
        feed.check_names(given, self.inputs, self.where)
        return [
            feed.normalise(given[edge.name], edge, arg, self.where)
            for edge, arg in zip(self.inputs, self.input_args, strict=True)
        ]

    def _run_partitions(self, arrays: Sequence[Any], run_options: Any) -> list[Any]:
        """Partition after partition; the values between them are kept until the end of the run."""
        profile = self._profile
        traced = tracing.is_on()
        values: dict[int, Any] = dict(zip(self._fed, arrays, strict=True))
        start = lib.asc_clock_ns() if profile or traced else 0
        for partition, read, written in self._steps:
            if run_options is not None and run_options.terminate:
                why, fix = "the run was terminated by its run options", "Set terminate to False to run again."
                raise AscendError("E40011", why, where=self.where, fix=fix)
            began = lib.asc_clock_ns() if profile or traced else 0
            if isinstance(partition, NativePartition):
                outs = self._run_native(partition, [(edge, values[edge.index]) for edge in read])
            else:
                outs = partition.run([_shown(values[edge.index], edge) for edge in read], run_options)
            if profile:
                profile.partition(partition.name, began)
            if traced and not isinstance(partition, NativePartition):
                tracing.span(lib.ASC_SPAN_HOST, partition.name, began)
            values.update(zip(written, outs, strict=True))
        if profile:
            profile.model(start)
        if traced:
            tracing.span(lib.ASC_SPAN_MODEL, self.where, start)
        return [_shown(values[e.index], e) for e in self.outputs]

    def _run_native(self, partition: NativePartition, ins: Sequence[tuple[Edge, Any]]) -> list[Array]:
        arrays = [feed.normalise(value, edge, self._args[edge.index], partition.name) for edge, value in ins]
        bound = partition.bind(tuple(a.shape for a in arrays))
        raw, shown = partition.allocate(bound)
        if self._profile is None:
            partition.execute(bound, arrays, raw)
        else:
            ns = self._profile.timestamps(partition)
            partition.execute(bound, arrays, raw, ns)
            self._profile.instructions(self.bundle, partition, ns)
        return shown

    def _select(self, names: Sequence[str] | None, results: list[Any]) -> list[Any]:
        if not names or names == self._names:
            return results
        unknown = [n for n in names if n not in self.output_at]
        if unknown:
            raise AscendError(
                "E40001",
                f"[{unknown[0]}] is no output",
                where=self.where,
                fix=f"The outputs are {', '.join(self.output_at)}.",
            )
        return [results[self.output_at[n]] for n in names]


def _node_arg(bundle: Bundle, edge: Edge) -> NodeArg:
    return NodeArg(edge.name, type_name(edge.dtype), list(bundle.declared_dims(edge)))


def _writable(target: Array, made: Array) -> bool:
    """Whether native code can write this result straight into a bound output."""
    return target.shape == made.shape and target.dtype == made.dtype and bool(target.flags.carray)


def _shown(value: Any, edge: Edge) -> Any:
    """bfloat16 travels as uint16 inside and is shown as what it is."""
    return value.view(numpy_dtype(BFLOAT16)) if edge.dtype == BFLOAT16 else value
