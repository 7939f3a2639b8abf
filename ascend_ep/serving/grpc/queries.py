"""What clients ask of the server and its models besides inference: states, descriptions, the repository."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any

from google.protobuf import json_format

from ascend_ep.errors import AscendError
from ascend_ep.serving import descriptions
from ascend_ep.serving.protocol.messages import message_class
from ascend_ep.serving.repository.version import LoadedVersion
from ascend_ep.serving.service import InferenceService

#: Answers a request message, by the JSON of the response message.
Query = Callable[[Any], Mapping[str, Any] | Awaitable[Mapping[str, Any]]]

_SHARED_MEMORY = "shared memory isn't supported; tensors travel in the request and its answer"

#: Methods that are declared for the clients' sake, and why they are refused.
UNSUPPORTED = {
    "SystemSharedMemoryStatus": _SHARED_MEMORY,
    "SystemSharedMemoryRegister": _SHARED_MEMORY,
    "SystemSharedMemoryUnregister": _SHARED_MEMORY,
    "CudaSharedMemoryStatus": _SHARED_MEMORY,
    "CudaSharedMemoryRegister": _SHARED_MEMORY,
    "CudaSharedMemoryUnregister": _SHARED_MEMORY,
}


class Queries:
    """control: whether clients may load and unload models."""

    def __init__(self, service: InferenceService, control: bool) -> None:
        self._service = service
        self._control = control
        self._repository = service.repository

    @property
    def methods(self) -> dict[str, Query]:
        """By the names of the protocol."""
        return {
            "ServerLive": self.server_live,
            "ServerReady": self.server_ready,
            "ModelReady": self.model_ready,
            "ServerMetadata": self.server_metadata,
            "ModelMetadata": self.model_metadata,
            "ModelConfig": self.model_config,
            "ModelStatistics": self.model_statistics,
            "TraceSetting": self.settings,
            "LogSettings": self.settings,
            "RepositoryIndex": self.repository_index,
            "RepositoryModelLoad": self.repository_model_load,
            "RepositoryModelUnload": self.repository_model_unload,
        }

    def server_live(self, request: Any) -> Mapping[str, Any]:
        return {"live": True}

    def server_ready(self, request: Any) -> Mapping[str, Any]:
        return {"ready": self._service.ready}

    def model_ready(self, request: Any) -> Mapping[str, Any]:
        """An unknown model isn't ready, as in Triton: clients that wait for one to be put there ask again."""
        try:
            self._version(request)
        except AscendError:
            return {"ready": False}
        return {"ready": True}

    def server_metadata(self, request: Any) -> Mapping[str, Any]:
        return descriptions.server_metadata()

    def model_metadata(self, request: Any) -> Mapping[str, Any]:
        version = self._version(request)
        return descriptions.model_metadata(self._repository.model(request.name), version)

    def model_config(self, request: Any) -> Mapping[str, Any]:
        return {"config": descriptions.model_config(self._version(request))}

    def model_statistics(self, request: Any) -> Mapping[str, Any]:
        """Of one version, of all of a model, of all models."""
        if request.name and request.version:
            versions = [self._version(request)]
        else:
            models = (
                [self._repository.model(request.name)] if request.name else self._repository.models.values()
            )
            versions = [v for model in models for _, v in sorted(model.versions.items())]
        return descriptions.model_statistics(versions)

    def settings(self, request: Any) -> dict[str, Any]:
        """Nothing can be set: no settings. Raises AscendError E50024 for a request that sets one."""
        if request.settings:
            what = "settings of traces and logs are flags of the server, which requests don't change"
            raise AscendError("E50024", what)
        return {}

    def repository_index(self, request: Any) -> Mapping[str, Any]:
        return {"models": [asdict(entry) for entry in self._repository.index(request.ready)]}

    async def repository_model_load(self, request: Any) -> Mapping[str, Any]:
        self._check_control()
        await self._repository.load_model(request.model_name, request.parameters)
        return {}

    async def repository_model_unload(self, request: Any) -> Mapping[str, Any]:
        self._check_control()
        dependents = request.parameters["unload_dependents"].bool_param
        await self._repository.unload_model(request.model_name, dependents)
        return {}

    def _check_control(self) -> None:
        if not self._control:
            raise AscendError("E50013", "models are loaded as the server decides (--model-control-mode)")

    def _version(self, request: Any) -> LoadedVersion:
        return self._repository.version(request.name, request.version)


def response(name: str, shown: Mapping[str, Any]) -> bytes:
    """The bytes of a response message of the method `name` from its JSON."""
    made: bytes = json_format.ParseDict(
        shown, message_class(f"inference.{name}Response")()
    ).SerializeToString()
    return made
