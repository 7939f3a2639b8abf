"""ONNX's backend API (onnx.backend.base): `prepare`, `run_model`, `run_node`, `is_compatible`,
`supports_device`.

    import ascend_ep.backend as backend

    outputs = backend.run_model(onnx.load("m.onnx"), [x])

A model is converted in memory and runs in the own runtime; what isn't native, in host partitions. With
ASCEND_EP_BACKEND=onnxruntime it runs in stock onnxruntime with AscendEP instead.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ascend_ep.errors import AscendError
from ascend_ep.extras import named

with named():
    import onnx
    from onnx.backend.base import Backend, BackendRep

    from ascend_ep.compiler.convert import convert
    from ascend_ep.compiler.convert_options import ConvertOptions
    from ascend_ep.compiler.partition_table import PartitionRow
from ascend_ep.plan.writing.host_model import IR_VERSION
from ascend_ep.provider.onnx_session import session as onnxruntime_session
from ascend_ep.provider.options import check_options, precision_of, registry_of
from ascend_ep.provider.plugin_library import EP_NAME
from ascend_ep.runtime.host_session import HostSession
from ascend_ep.runtime.options import SessionOptions
from ascend_ep.runtime.session import InferenceSession

#: Chooses the runtime: "own", the default, or "onnxruntime".
VARIABLE = "ASCEND_EP_BACKEND"

Model = onnx.ModelProto | bytes | str | os.PathLike[str]

#: What ONNX's test-suite passes on to `prepare`, for its own comparison.
_OF_THE_SUITE = ("rtol", "atol")


class Prepared(BackendRep):
    """A model ready to run: `session` runs it; `placement` says of every node where (own runtime only)."""

    def __init__(self, session: Any, placement: Sequence[PartitionRow] = ()) -> None:
        self.session = session
        self.placement = tuple(placement)
        self._names = [argument.name for argument in session.get_inputs()]
        self._outputs = [argument.name for argument in session.get_outputs()]
        self._run = session.run if isinstance(session, InferenceSession) else HostSession(session).run

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """All outputs, in order. `inputs`: a value per input of the model in their order, a dict by name, or
        the value itself of a model with one input. Raises AscendError E40001 for another number of values,
        and what the session's `run` raises."""
        if isinstance(inputs, Mapping):
            feed = dict(inputs)
        else:
            given = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
            if len(given) != len(self._names):
                text = f"{len(given)} values were given to a model with {len(self._names)} inputs"
                raise AscendError("E40001", text, fix=f"Give a list for {', '.join(self._names) or 'none'}.")
            feed = dict(zip(self._names, given, strict=True))
        return tuple(self._run(self._outputs, feed, kwargs.get("run_options")))


class AscendBackend(Backend):
    """The API as a class, for onnx.backend.test.BackendTest."""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """CPU, and what the synthetic device is called: NPU. With or without a device number."""
        return device.partition(":")[0].upper() in ("CPU", "NPU")

    @classmethod
    def is_compatible(cls, model: Model, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether `prepare` accepts this model."""
        try:
            cls.prepare(model, device, **kwargs)
        except AscendError:
            return False
        return True

    @classmethod
    def prepare(cls, model: Model, device: str = "CPU", **kwargs: Any) -> Prepared:
        """The model ready to run. `kwargs`: attributes of SessionOptions and AscendEP's provider options
        (custom_op_info, precision_mode, num_threads, ...). Raises AscendError."""
        if not cls.supports_device(device):
            raise AscendError("E40001", f"device [{device}] is not supported", fix='Use "CPU".')
        session_options, own = _options(kwargs)
        runtime = os.environ.get(VARIABLE, "own")
        if runtime == "onnxruntime":
            body = model.SerializeToString() if isinstance(model, onnx.ModelProto) else model
            return Prepared(_in_onnxruntime(body, session_options, own))
        if runtime != "own":
            raise AscendError(
                "E40001", f"{VARIABLE}=[{runtime}] is no runtime", fix="Use own or onnxruntime."
            )
        return _own(model, session_options, own)

    @classmethod
    def run_model(cls, model: Model, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """Prepares and runs once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Runs a node on arrays, as a model of its own. `outputs_info`: (dtype, shape) per output, where
        inference doesn't give them; `opset_version`: ONNX's newest unless given."""
        version = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        given = list(inputs.values()) if isinstance(inputs, Mapping) else list(inputs)
        model = _node_model(node, [np.asarray(a) for a in given], outputs_info, int(version))
        return cls.run_model(model, given, device, **kwargs)


prepare = AscendBackend.prepare
run_model = AscendBackend.run_model
run_node = AscendBackend.run_node
is_compatible = AscendBackend.is_compatible
supports_device = AscendBackend.supports_device


def _own(model: Model, session_options: SessionOptions, own: dict[str, str]) -> Prepared:
    options = ConvertOptions(
        registry=registry_of(own), precision=precision_of(own), sample_seed=None, self_check=False
    )
    conversion = convert(model, options)
    providers = [(EP_NAME, {name: own[name] for name in ("num_threads",) if name in own})]
    session = InferenceSession(conversion.to_bytes(), session_options, providers)
    return Prepared(session, conversion.partition_table)


def _in_onnxruntime(model: Any, session_options: SessionOptions, own: dict[str, str]) -> Any:
    """onnxruntime's session; its refusals as AscendError."""
    try:
        return onnxruntime_session(model, session_options, providers=[(EP_NAME, own)])
    except Exception as error:
        if not type(error).__module__.startswith("onnxruntime."):
            raise
        raise AscendError("E10041", "the given model", str(error)) from error


def _options(kwargs: Mapping[str, Any]) -> tuple[SessionOptions, dict[str, str]]:
    """Session options and provider options from keyword arguments. Raises AscendError E40001."""
    session_options, own = SessionOptions(), {}
    for name, value in kwargs.items():
        if name in _OF_THE_SUITE:
            continue
        try:
            setattr(session_options, name, value)
        except AttributeError:
            own[name] = str(value)
    check_options(own)
    return session_options, own


def _node_model(
    node: onnx.NodeProto,
    inputs: Sequence[np.ndarray[Any, np.dtype[Any]]],
    outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None,
    version: int,
) -> onnx.ModelProto:
    def info(name: str, dtype: Any, shape: Sequence[int]) -> onnx.ValueInfoProto:
        number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return onnx.helper.make_tensor_value_info(name, number, list(shape))

    names = [n for n in dict.fromkeys(node.input) if n]
    if len(names) != len(inputs):
        raise AscendError("E40001", f"{len(inputs)} values were given to a node with {len(names)} inputs")
    results = [n for n in node.output if n]
    known = outputs_info or []
    if known and len(known) != len(results):
        raise AscendError("E40001", f"outputs_info has {len(known)} entries for {len(results)} outputs")
    graph = onnx.helper.make_graph(
        [node],
        node.op_type,
        [info(n, a.dtype, a.shape) for n, a in zip(names, inputs, strict=True)],
        [info(n, *entry) for n, entry in zip(results, known, strict=True)]
        if known
        else [onnx.ValueInfoProto(name=n) for n in results],
    )
    opsets = [onnx.helper.make_opsetid(node.domain, version)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
