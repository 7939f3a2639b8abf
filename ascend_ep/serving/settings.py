"""What ascend-serve can be told, and its limits: all finite."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ascend_ep.errors import AscendError

from .memory_limit import body_bytes

#: Bytes that a byte of JSON, or of a message, becomes as objects at most: many small parameters.
EXPANSION = 16
#: Bytes that are always taken.
_SHORT = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Bytes, seconds and counts beyond which a request is refused."""

    body: int = 64 << 20
    header: int = 16 << 10
    tensors: int = 64
    connections: int = 1024
    #: gRPC's requests in flight (a stream is one), in all and of one connection
    rpcs: int = 1024
    rpcs_of_connection: int = 256
    #: bytes of bodies being received or waiting, over all connections
    bodies: int = field(default_factory=body_bytes)
    #: seconds for a whole header; for a body, with 64 KB a second on top; for the next request
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    idle_seconds: float = 75.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", min(self.body, self.bodies))

    def check_text(self, size: int) -> None:
        """Raises AscendError E50001 where what is made of so many bytes of JSON, or of a message, would take
        more memory than bodies may."""
        most = max(self.bodies // EXPANSION, _SHORT)
        if size > most:
            reason = f"{size} bytes beside binary tensors are more than the {most} that there is memory for"
            raise AscendError("E50001", reason, fix="Send tensors in binary, or raise --max-body-memory.")


@dataclass(frozen=True)
class Settings:
    """A port of 0: any free one; of None: not served. Durations are in seconds. threads: of one run; None:
    found by measurement."""

    model_repository: Path
    #: the repository is the folder of this one model
    model_name: str = ""
    #: versions that are loaded, and models that are converted, at the same time
    load_threads: int = 2
    conversions: int = 1
    #: for one conversion of an ONNX model
    conversion_timeout: float = 900.0
    #: where converted models are kept; None: in the user's cache
    conversion_cache: Path | None = None
    http_address: str = "127.0.0.1"
    http_port: int | None = 8000
    grpc_address: str = "127.0.0.1"
    grpc_port: int | None = None
    metrics_address: str = "127.0.0.1"
    metrics_port: int | None = None
    model_control_mode: str = "none"
    #: what is loaded at the start in mode explicit; "*" is every model
    load_models: tuple[str, ...] = ()
    repository_poll: float = 15.0
    exit_on_error: bool = True
    #: whether the server is ready only when every model that was asked for is
    strict_readiness: bool = True
    #: digests of native code in bundles that may run, besides those in the user's trust store
    trust: tuple[str, ...] = ()
    #: of a model, at once; None: found by measurement
    instances: int | None = None
    threads: int | None = None
    #: for measurements of a version when it is loaded; 0: none, one instance with all threads
    tuning: float = 1.0
    #: whether the fastest of a model's implementations is found from live runs, unless its config says
    auto_implementation: bool = False
    #: for a run of native code that users wrote, and the bytes that it may allocate; None: most of the
    #: machine's
    native_timeout: float = 30.0
    native_memory: int | None = None
    #: whether it may do nothing but read files and compute (native/confinement.py)
    native_confined: bool = True
    max_queue: int = 256
    #: of the tensors that wait, for each version
    max_queue_bytes: int = 256 << 20
    #: for a request that names no deadline
    timeout: float = 30.0
    exit_timeout: float = 30.0
    #: how long a server that is told to end says so before it takes no more connections
    drain_delay: float = 0.0
    ssl_certificate: Path | None = None
    ssl_private_key: Path | None = None
    ssl_client_ca: Path | None = None
    auth_tokens: Path | None = None
    admin_socket: Path | None = None
    log_level: str = "info"
    log_format: str = "text"
    log_file: Path | None = None
    #: a line for every request; failures have one always
    log_requests: bool = False
    #: a collector's URL for spans of OpenTelemetry, and the share of requests without a trace that have them
    otel_endpoint: str = ""
    otel_sample: float = 0.01
    #: where profiles of requests that ask for one are written; None: nowhere, such requests are refused
    profile_dir: Path | None = None
    limits: Limits = Limits()
