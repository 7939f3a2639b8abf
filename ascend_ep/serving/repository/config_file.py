"""The optional `config.pbtxt` of a model: Triton's text form of ModelConfig.

What a field would change that the server can't do is refused, with its line; what has no meaning on a CPU is
said in the log and otherwise ignored. What is refused because the bundle says otherwise: `config_check`.
"""

from __future__ import annotations

import logging
from typing import Any

from ascend_ep.errors import AscendError

from .config import Batching, Declarations, DeclaredTensor, ModelConfig, VersionPolicy
from .config_lines import Lines
from .config_parameters import read_parameters
from .config_warmup import read_warmups
from .layout import BUNDLE, CONFIG, ONNX, Layout, is_file, is_folder

log = logging.getLogger("ascend_ep.serving")

MAX_BYTES = 1 << 20

_GPU = "there is no GPU here"
#: Fields that change nothing here, and why.
_IDLE = {
    "platform": "bundles are the only platform",
    "backend": "there are no backends to choose from",
    "runtime": "there are no backends to choose from",
    "cc_model_filenames": _GPU,
    "optimization": "ascend-atc has optimized the bundle",
    "metric_tags": "metrics have the model's name and version",
    "model_metrics": "metrics have fixed buckets",
    "response_cache": "answers aren't cached",
    "dynamic_batching.preserve_ordering": "a connection's answers are always in order",
    "dynamic_batching.priority_queue_policy": "all priorities have the default policy",
    "dynamic_batching.default_queue_policy.timeout_action": "what is late is refused",
    "instance_group.gpus": _GPU,
    "instance_group.profile": _GPU,
    "instance_group.rate_limiter": "use count",
    "instance_group.secondary_devices": _GPU,
    "instance_group.host_policy": "use taskset or a container's CPU set",
}
#: Fields that would change what is answered, and that the server has nothing for.
_REFUSED = {
    "sequence_batching": "sequences aren't supported: a model has no state between requests",
    "ensemble_scheduling": "ensembles aren't supported: convert the whole graph into one bundle",
    "model_operations": "libraries from a repository aren't loaded",
    "model_repository_agents": "agents aren't supported",
    "batch_input": "batches have rows only",
    "batch_output": "batches have rows only",
}
_REFUSED_OF_TENSORS = {
    "reshape": "tensors have the bundle's shapes; reshaping them isn't supported",
    "is_shape_tensor": "there are no shape tensors",
    "allow_ragged_batch": "ragged batches aren't supported",
    "optional": "every input of a bundle is required",
    "is_non_linear_format_io": "tensors are linear",
}


def read_config(places: Layout, name: str) -> ModelConfig:
    """What the operator says of the model; nothing without a file.

    Raises AscendError E50041 with the line of what is refused, E50042 for a link out of the repository.
    """
    path = places.model(name) / CONFIG
    if not is_file(path) and not is_folder(path):
        return ModelConfig()
    try:
        with places.contained(path).open("rb") as file:
            body = file.read(MAX_BYTES + 1)
        text = body.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise AscendError("E50041", name, error) from None
    if len(body) > MAX_BYTES:
        raise AscendError("E50041", name, f"it has more than {MAX_BYTES} bytes")
    return config_from_text(name, text)


def config_from_text(name: str, text: str) -> ModelConfig:
    """Raises AscendError E50041."""
    return _Reader(name, text).config()


class _Reader:
    def __init__(self, name: str, text: str) -> None:
        from google.protobuf import text_format

        from ascend_ep.serving.protocol import messages

        self._name = name
        self._given: Any = messages.ModelConfig()
        try:
            text_format.Parse(text, self._given, descriptor_pool=messages.POOL)
        except text_format.ParseError as error:
            raise AscendError("E50041", name, f"line {error}".replace(" : ", ": ", 1)) from None
        self._lines = Lines(text)

    def config(self) -> ModelConfig:
        given = self._given
        self._check_whole()
        largest = given.max_batch_size if "max_batch_size" in self._lines else None
        if largest is not None and largest < 0:
            self.refuse("max_batch_size", "it is 0 (no batches) or more")
        threads, split, shadow, automatic = read_parameters(given.parameters, self.refuse, self._say)
        return ModelConfig(
            max_batch_size=largest,
            batching=self._batching(largest),
            instances=self._instances(),
            threads=threads,
            policy=self._policy(),
            split=split,
            shadow=shadow[0],
            shadow_share=shadow[1],
            auto_implementation=automatic,
            warmups=read_warmups(given.model_warmup, largest or 0, self.refuse),
            declared=Declarations(
                self._tensors("input"), self._tensors("output"), self._lines["max_batch_size"]
            ),
        )

    def refuse(self, field: str, why: str) -> None:
        raise AscendError("E50041", self._name, f"line {self._lines[field]}, {_plain(field)}: {why}")

    def _say(self, field: str, why: str) -> None:
        line = self._lines[field]
        log.warning("model %s: config.pbtxt line %d, %s has no effect: %s", self._name, line, field, why)

    def _check_whole(self) -> None:
        given = self._given
        if given.name and given.name != self._name:
            self.refuse("name", f"the model's folder is [{self._name}]")
        for field, why in _REFUSED.items():
            if field in self._lines:
                self.refuse(field, why)
        if given.model_transaction_policy.decoupled:
            self.refuse("model_transaction_policy", "every request has exactly one answer")
        if given.default_model_filename not in ("", BUNDLE, ONNX):
            self.refuse("default_model_filename", f"it is {BUNDLE} or {ONNX}, whichever is there")
        for field, why in _IDLE.items():
            if field in self._lines:
                self._say(field, why)

    def _policy(self) -> VersionPolicy:
        policy = self._given.version_policy
        chosen = policy.WhichOneof("policy_choice")
        if chosen == "all":
            return VersionPolicy(latest=0)
        if chosen == "specific":
            if not policy.specific.versions or min(policy.specific.versions) < 1:
                self.refuse("version_policy.specific", "it names versions, which are positive numbers")
            return VersionPolicy(latest=0, specific=tuple(sorted(set(policy.specific.versions))))
        if chosen == "latest":
            return VersionPolicy(latest=policy.latest.num_versions or 1)
        return VersionPolicy()

    def _batching(self, largest: int | None) -> Batching | None:
        if not self._given.HasField("dynamic_batching"):
            return None
        if largest == 0:
            self.refuse("dynamic_batching", "there are no batches with max_batch_size 0")
        given = self._given.dynamic_batching
        for i, size in enumerate(given.preferred_batch_size):
            if size < 1 or (largest is not None and size > largest):
                self.refuse(
                    f"dynamic_batching.preferred_batch_size[{i}]",
                    f"it is between 1 and max_batch_size ({largest if largest is not None else 'not given'})",
                )
        if given.default_priority_level > given.priority_levels:
            self.refuse("dynamic_batching.default_priority_level", "it is at most priority_levels")
        queue = given.default_queue_policy
        return Batching(
            preferred=tuple(sorted(set(given.preferred_batch_size))),
            max_delay=given.max_queue_delay_microseconds / 1e6,
            max_queue=queue.max_queue_size or None,
            timeout=queue.default_timeout_microseconds / 1e6 or None,
            priority_levels=given.priority_levels,
            default_priority=given.default_priority_level,
            allow_override=queue.allow_timeout_override or not queue.default_timeout_microseconds,
        )

    def _instances(self) -> int | None:
        groups = self._given.instance_group
        for i, group in enumerate(groups):
            if group.count < 0:
                self.refuse(f"instance_group[{i}].count", "it is 1 or more")
            if group.kind == group.DESCRIPTOR.enum_values_by_name["KIND_GPU"].number:
                self._say(f"instance_group[{i}].kind", f"{_GPU}; its instances run on the CPU")
        return sum(group.count or 1 for group in groups if not group.passive) or None

    def _tensors(self, kind: str) -> tuple[DeclaredTensor, ...]:
        found = []
        for i, tensor in enumerate(getattr(self._given, kind)):
            place = f"{kind}[{i}]"
            for field, why in _REFUSED_OF_TENSORS.items():
                known = tensor.DESCRIPTOR.fields_by_name.get(field)
                if known is not None and any(known.number == set_.number for set_, _ in tensor.ListFields()):
                    self.refuse(f"{place}.{field}", why)
            types = tensor.DESCRIPTOR.fields_by_name["data_type"].enum_type.values_by_number
            datatype = types[tensor.data_type].name.removeprefix("TYPE_")
            if tensor.DESCRIPTOR.fields_by_name.get("label_filename") and tensor.label_filename:
                self._say(f"{place}.label_filename", "classes are told by their index")
            if not tensor.name:
                self.refuse(place, "it has no name")
            if any(size < -1 for size in tensor.dims):
                self.refuse(f"{place}.dims", "a size is -1 (any), 0 or more")
            datatype = {"STRING": "BYTES", "INVALID": ""}.get(datatype, datatype)
            found.append(DeclaredTensor(tensor.name, datatype, tuple(tensor.dims), self._lines[place]))
        return tuple(found)


def _plain(field: str) -> str:
    return field.removesuffix("[0]")
