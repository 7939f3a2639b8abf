"""The messages and methods of the protocol beside those that tritonclient was generated from."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2, text_format

from ascend_ep.errors import AscendError
from ascend_ep.serving.protocol import messages

ROOT = Path(__file__).resolve().parents[2]

#: Prints what the client's generated modules declare: facts of messages, enums and methods, by full name.
FACTS = """
import json, sys
from google.protobuf import descriptor_pb2
def facts(files):
    found = {}
    def message(m, scope):
        name = f"{scope}.{m.name}"
        for e in m.enum_type:
            enum(e, name)
        for n in m.nested_type:
            message(n, name)
        for f in m.field:
            oneof = m.oneof_decl[f.oneof_index].name if f.HasField("oneof_index") else ""
            found[f"{name}.{f.name}"] = [f.number, f.label, f.type, f.type_name, oneof]
        found[name] = len(m.field)
    def enum(e, scope):
        found[f"{scope}.{e.name}"] = {v.name: v.number for v in e.value}
    for file in files:
        for m in file.message_type:
            message(m, file.package)
        for e in file.enum_type:
            enum(e, file.package)
        for s in file.service:
            for m in s.method:
                ends = [m.input_type, m.output_type, m.client_streaming, m.server_streaming]
                found[f"{file.package}.{s.name}/{m.name}"] = ends
    return found
"""

CLIENT = """
from tritonclient.grpc import model_config_pb2, service_pb2
files = []
for module in (service_pb2, model_config_pb2):
    files.append(descriptor_pb2.FileDescriptorProto())
    module.DESCRIPTOR.CopyToProto(files[-1])
print(json.dumps(facts(files)))
"""


def our_facts() -> dict[str, object]:
    names: dict[str, object] = {}
    exec(FACTS, names)
    files = [descriptor_pb2.FileDescriptorProto.FromString(f) for f in messages.FILES.values()]
    found = names["facts"]([f for f in files if f.package == "inference"])  # type: ignore[operator]
    return json.loads(json.dumps(found))


def test_every_field_and_method_is_the_clients(triton_python: str) -> None:
    made = subprocess.run([triton_python, "-c", FACTS + CLIENT], capture_output=True, text=True, check=True)
    assert our_facts() == json.loads(made.stdout)


def test_compiled_form_is_that_of_the_proto_files(triton_python: str) -> None:
    if subprocess.run([triton_python, "-c", "import grpc_tools"], capture_output=True).returncode:
        pytest.skip("the clients' environment has no grpcio-tools")
    command = [sys.executable, str(ROOT / "tools" / "protocol_descriptors"), "--check"]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr


def test_a_config_of_another_server_is_read() -> None:
    config = text_format.Parse(
        """
        name: "resnet" platform: "tensorrt_plan" max_batch_size: 8
        input [ { name: "x" data_type: TYPE_FP16 format: FORMAT_NCHW dims: [ 3, -1, 224 ] } ]
        output { name: "y" data_type: TYPE_STRING dims: 1 label_filename: "labels.txt" }
        version_policy: { specific: { versions: [ 1, 3 ] } }
        instance_group [ { count: 2 kind: KIND_GPU gpus: [ 0 ] }, { kind: KIND_CPU } ]
        dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100
          default_queue_policy { timeout_action: DELAY max_queue_size: 16 } }
        optimization { cuda { graphs: true } execution_accelerators {
          gpu_execution_accelerator: [ { name: "tensorrt" parameters { key: "p" value: "FP16" } } ] } }
        parameters { key: "threads" value: { string_value: "2" } }
        model_warmup [ { name: "w" batch_size: 1 inputs { key: "x"
          value: { data_type: TYPE_FP16 dims: [ 3, 224, 224 ] zero_data: true } } } ]
        """,
        messages.ModelConfig(),
    )
    assert list(config.version_policy.specific.versions) == [1, 3]
    assert config.dynamic_batching.preferred_batch_size[1] == 8
    assert config.parameters["threads"].string_value == "2"


def test_bytes_of_no_message() -> None:
    with pytest.raises(AscendError, match="no ModelInferRequest message"):
        messages.parse(messages.ModelInferRequest, b"\xff" * 9)
