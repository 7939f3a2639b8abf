"""What the server says of itself and its models, in the protocol's words: every front end shows these.

Field names are those of the protocol's messages (`inference.ModelConfig`, ...), so that the dicts are the
JSON of HTTP as they are and can be parsed into messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NotRequired, TypedDict

from .datatypes import BYTES
from .histogram import Histogram
from .release import installed_version
from .repository.model import ServedModel
from .repository.version import LoadedVersion
from .signature import TensorSpec
from .statistics import BatchSize, Duration

EXTENSIONS = ("binary_tensor_data", "classification", "model_configuration", "model_repository", "statistics")
PLATFORM = "ascend_om"


class ServerMetadata(TypedDict):
    name: str
    version: str
    extensions: list[str]


class TensorMetadata(TypedDict):
    """shape: -1 for a size that a request chooses."""

    name: str
    datatype: str
    shape: list[int]


class ModelMetadata(TypedDict):
    name: str
    versions: list[str]
    platform: str
    inputs: list[TensorMetadata]
    outputs: list[TensorMetadata]


class ConfiguredTensor(TypedDict):
    """data_type: `TYPE_` and the protocol's name; TYPE_STRING for BYTES."""

    name: str
    data_type: str
    dims: list[int]


class ModelConfiguration(TypedDict):
    name: str
    platform: str
    backend: str
    version_policy: dict[str, Any]
    max_batch_size: int
    input: list[ConfiguredTensor]
    output: list[ConfiguredTensor]
    default_model_filename: str
    parameters: dict[str, dict[str, str]]
    instance_group: NotRequired[list[dict[str, Any]]]
    dynamic_batching: NotRequired[dict[str, Any]]


class StatisticDuration(TypedDict):
    count: int
    ns: int


class BatchStatistic(TypedDict):
    """The runs of so many rows."""

    batch_size: int
    compute_input: StatisticDuration
    compute_infer: StatisticDuration
    compute_output: StatisticDuration


class VersionStatistic(TypedDict):
    """inference_count: rows; execution_count: runs of the model. last_inference: milliseconds since 1970, 0
    before the first."""

    name: str
    version: str
    last_inference: int
    inference_count: int
    execution_count: int
    inference_stats: dict[str, StatisticDuration]
    batch_stats: list[BatchStatistic]


class ModelStatistics(TypedDict):
    model_stats: list[VersionStatistic]


def server_metadata() -> ServerMetadata:
    return {
        "name": "ascend-serve",
        "version": installed_version(),
        "extensions": list(EXTENSIONS),
    }


def model_metadata(model: ServedModel, version: LoadedVersion) -> ModelMetadata:
    """`version` is the one whose tensors are shown."""
    return {
        "name": model.name,
        "versions": [str(n) for n in sorted(model.versions)],
        "platform": PLATFORM,
        "inputs": [_metadata(spec) for spec in version.signature.inputs],
        "outputs": [_metadata(spec) for spec in version.signature.outputs],
    }


def model_config(version: LoadedVersion) -> ModelConfiguration:
    """As Triton's model configuration; sizes of tensors are without the batch's when `max_batch_size` > 0.
    parameters: how the server found it best to run it."""
    config, signature = version.config, version.signature
    largest = config.max_batch_size or 0
    shown: ModelConfiguration = {
        "name": version.model,
        "platform": PLATFORM,
        "backend": "ascend",
        "version_policy": _policy(version),
        "max_batch_size": largest,
        "input": [_configured(spec, largest) for spec in signature.inputs],
        "output": [_configured(spec, largest) for spec in signature.outputs],
        "default_model_filename": "model.om",
        "parameters": {key: {"string_value": text} for key, text in version.describe().items()},
    }
    if config.instances is not None:
        shown["instance_group"] = [
            {"name": f"{version.model}_0", "kind": "KIND_CPU", "count": config.instances}
        ]
    if config.batching is not None:
        shown["dynamic_batching"] = {
            "preferred_batch_size": list(config.batching.preferred),
            "max_queue_delay_microseconds": round(config.batching.max_delay * 1e6),
        }
    return shown


def model_statistics(versions: Iterable[LoadedVersion]) -> ModelStatistics:
    return {"model_stats": [_statistics(version) for version in versions]}


def _metadata(spec: TensorSpec) -> TensorMetadata:
    return {"name": spec.name, "datatype": spec.datatype, "shape": spec.shape}


def _configured(spec: TensorSpec, largest: int) -> ConfiguredTensor:
    name = "STRING" if spec.datatype == BYTES else spec.datatype
    return {
        "name": spec.name,
        "data_type": f"TYPE_{name}",
        "dims": spec.shape[1:] if largest else spec.shape,
    }


def _policy(version: LoadedVersion) -> dict[str, Any]:
    policy = version.config.policy
    if policy.specific:
        return {"specific": {"versions": list(policy.specific)}}
    return {"latest": {"num_versions": policy.latest}} if policy.latest else {"all": {}}


def _statistics(version: LoadedVersion) -> VersionStatistic:
    kept = version.statistics
    return {
        "name": version.model,
        "version": version.name,
        "last_inference": kept.last_inference_ms,
        "inference_count": kept.inferences,
        "execution_count": kept.executions,
        "inference_stats": {
            "success": _duration(kept.success),
            "fail": _duration(kept.fail),
            "queue": _duration(kept.queue),
            "compute_input": _duration(kept.compute_input),
            "compute_infer": _duration(kept.compute_infer),
            "compute_output": _duration(kept.compute_output),
            "cache_hit": _duration(_NEVER),
            "cache_miss": _duration(_NEVER),
        },
        "batch_stats": [_batches(rows, size) for rows, size in sorted(kept.batches.items())],
    }


def _batches(rows: int, size: BatchSize) -> BatchStatistic:
    return {
        "batch_size": rows,
        "compute_input": {"count": size.count, "ns": size.compute_input},
        "compute_infer": {"count": size.count, "ns": size.compute_infer},
        "compute_output": {"count": size.count, "ns": size.compute_output},
    }


_NEVER = Duration()


def _duration(kept: Duration | Histogram) -> StatisticDuration:
    return {"count": kept.count, "ns": kept.ns}
