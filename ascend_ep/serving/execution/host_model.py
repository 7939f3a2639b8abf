"""The ONNX model of a version on onnxruntime's CPU provider, as a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.runtime.bundle import Bundle
from ascend_ep.runtime.comparison import compare
from ascend_ep.runtime.host_session import HostSession
from ascend_ep.runtime.options import onnxruntime
from ascend_ep.serving.request import Array


class HostModel:
    """Any number of threads may run it. bundle: the one that was made of it, as far as that can be read.

    Raises AscendError E40010 without onnxruntime, E40006 when that can't run the model, E50044 when its
    results aren't those that the bundle stores.
    """

    def __init__(self, path: Path, threads: int, bundle: Bundle | None = None, version: str = "") -> None:
        self.bundle = bundle
        self._session = _host_session(path, threads)
        if bundle is not None:
            self._agree(bundle, version)

    def get_inputs(self) -> Sequence[Any]:
        found: Sequence[Any] = self._session.session.get_inputs()
        return found

    def get_outputs(self) -> Sequence[Any]:
        found: Sequence[Any] = self._session.session.get_outputs()
        return found

    def run(self, names: Sequence[str] | None, inputs: Mapping[str, Array]) -> list[Array]:
        """Raises AscendError E40011 with what onnxruntime says."""
        try:
            return self._session.run(names, inputs)
        except AscendError:
            raise
        except Exception as error:
            raise AscendError("E40011", f"onnxruntime: {error}") from error

    def _agree(self, bundle: Bundle, version: str) -> None:
        stored = [(edge, array.copy()) for edge, array in bundle.samples()]
        inputs = {edge.name: array for edge, array in stored if edge.is_input}
        outputs = {edge.name: array for edge, array in stored if edge.is_output}
        try:
            made = self.run(list(outputs), inputs) if outputs else []
        except AscendError as error:
            raise AscendError("E50044", version, error.text) from None
        for mine, (name, theirs) in zip(made, outputs.items(), strict=True):
            difference = compare(mine, theirs)
            if difference.exceeds:
                raise AscendError("E50044", version, f"output [{name}]: {difference}")


def _host_session(path: Path, threads: int) -> HostSession:
    module = onnxruntime()
    options = module.SessionOptions()
    options.intra_op_num_threads = threads
    try:
        return HostSession(module.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]))
    except Exception as error:
        raise AscendError("E40006", f"onnxruntime refused [{path.name}]: {error}") from error
