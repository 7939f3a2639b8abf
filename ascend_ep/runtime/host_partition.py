"""Running a host partition: an ONNX model inside the bundle, on onnxruntime's CPU provider."""

from __future__ import annotations

from typing import Any

from ascend_ep.errors import AscendError

from . import options
from .bundle import Bundle
from .bundle_records import Partition
from .host_options import host_session_options
from .host_session import HostSession


class HostPartition:
    """onnxruntime is imported when the first of these is made; its session is shared by all threads."""

    def __init__(
        self, bundle: Bundle, partition: Partition, session_options: Any, num_threads: int = 0
    ) -> None:
        assert partition.model is not None
        self.name = partition.name
        self._outputs = [bundle.edges[i].name for i in partition.outputs]
        self._inputs = [bundle.edges[i].name for i in partition.inputs]
        try:
            onnxruntime = options.onnxruntime()
        except AscendError as error:
            raise AscendError(
                "E40010",
                f"partition [{partition.name}] needs onnxruntime, which isn't installed ({partition.reason})",
                where=bundle.model.where,
            ) from error
        try:
            session = onnxruntime.InferenceSession(
                bytes(partition.model),
                sess_options=host_session_options(session_options, num_threads),
                providers=["CPUExecutionProvider"],
            )
        except Exception as error:
            raise AscendError(
                "E40006",
                f"onnxruntime refused partition [{partition.name}]: {error}",
                where=bundle.model.where,
                fix="Describe the operator with --custom_op_info when converting.",
            ) from error
        self._session = HostSession(session)

    def run(self, values: list[Any], run_options: Any) -> list[Any]:
        """Outputs for these inputs, both in the partition's order."""
        feed = dict(zip(self._inputs, values, strict=True))
        try:
            return self._session.run(self._outputs, feed, options.for_host(run_options))
        except Exception as error:
            raise AscendError("E40011", f"onnxruntime: {error}", where=self.name) from error
