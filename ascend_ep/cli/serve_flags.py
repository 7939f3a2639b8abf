"""The flags of ascend-serve: one row each. Names are Triton's where it has such a flag.

A default stands in `serving.settings` and nowhere else. A flag of Triton's that changes nothing on a CPU is
accepted with the reason; one that would change what is served, and isn't there, is refused with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Flag:
    """field: of Settings, with a dot of what is inside it; "" for what the command itself reads."""

    group: str
    name: str
    #: path (must exist) | new path | text | int (from 1) | count | port | bytes | seconds | share | bool |
    #: switch | repeat | digests (repeatable) | one of several, by |
    kind: str
    field: str
    help: str


_MODELS, _HTTP, _GRPC, _METRICS = "models", "HTTP", "gRPC", "metrics"
_RUNS, _LIMITS, _SECURITY, _LOG, _END = "execution", "limits", "security", "log and traces", "shutdown"

FLAGS: tuple[Flag, ...] = (
    Flag(
        _MODELS,
        "model-repository",
        "path",
        "model_repository",
        "the folder with <model>/<version>/model.om",
    ),
    Flag(
        _MODELS,
        "model-control-mode",
        "none|poll|explicit",
        "model_control_mode",
        "none: all are loaded at the start; poll: the folder is looked at again and again; explicit: only "
        "--load-model, and what clients load and unload",
    ),
    Flag(
        _MODELS,
        "load-model",
        "repeat",
        "load_models",
        'a model that mode explicit loads at the start, "*" for all; repeatable',
    ),
    Flag(_MODELS, "repository-poll-secs", "seconds", "repository_poll", "how often mode poll looks"),
    Flag(_MODELS, "exit-on-error", "bool", "exit_on_error", "end when a model can't be loaded at the start"),
    Flag(_MODELS, "strict-readiness", "bool", "strict_readiness", "ready only when every model is"),
    Flag(
        _MODELS,
        "trust",
        "digests",
        "trust",
        "sha256:HEX of native code in a bundle that may run here (ascend-om inspect shows it); repeatable",
    ),
    Flag(
        _MODELS,
        "model-name",
        "text",
        "model_name",
        "the repository is this one model's folder, or just its bundle's",
    ),
    Flag(_MODELS, "model-load-thread-count", "int", "load_threads", "versions that are loaded at a time"),
    Flag(_MODELS, "conversions", "int", "conversions", "ONNX models that are converted at a time"),
    Flag(_MODELS, "conversion-timeout-secs", "seconds", "conversion_timeout", "for one conversion"),
    Flag(
        _MODELS,
        "conversion-cache",
        "new path",
        "conversion_cache",
        "where converted models are kept (in the user's cache)",
    ),
    Flag(_MODELS, "check", "switch", "", "load and try every model, say what was found, and exit"),
    Flag(_HTTP, "allow-http", "bool", "", "serve HTTP (true)"),
    Flag(_HTTP, "http-address", "text", "http_address", "where it listens"),
    Flag(_HTTP, "http-port", "port", "http_port", "0: any free one"),
    Flag(_HTTP, "http-max-input-size", "bytes", "limits.body", "the largest body, of gRPC messages too"),
    Flag(_GRPC, "allow-grpc", "bool", "", "serve gRPC (true)"),
    Flag(_GRPC, "grpc-address", "text", "grpc_address", "where it listens"),
    Flag(_GRPC, "grpc-port", "port", "grpc_port", "0: any free one (8001)"),
    Flag(_METRICS, "allow-metrics", "bool", "", "serve /metrics for Prometheus (true)"),
    Flag(_METRICS, "metrics-address", "text", "metrics_address", "where it listens"),
    Flag(_METRICS, "metrics-port", "port", "metrics_port", "0: any free one (8002)"),
    Flag(_RUNS, "instances", "int", "instances", "runs of one model at a time (by measurement)"),
    Flag(_RUNS, "threads", "int", "threads", "threads of one run (by measurement)"),
    Flag(
        _RUNS, "tuning-secs", "seconds", "tuning", "measuring a model that is loaded, at most; 0: not at all"
    ),
    Flag(
        _RUNS,
        "auto-implementation",
        "switch",
        "auto_implementation",
        "compiled, interpreted or the ONNX model on onnxruntime: whichever is the fastest, by live timings",
    ),
    Flag(
        _RUNS,
        "native-timeout-secs",
        "seconds",
        "native_timeout",
        "for a run of a bundle with native code of its maker's; then its process is ended",
    ),
    Flag(
        _RUNS,
        "native-memory",
        "bytes",
        "native_memory",
        "that such a process may allocate (three quarters of the machine's)",
    ),
    Flag(
        _RUNS,
        "native-confined",
        "bool",
        "native_confined",
        "such a process may read files and compute, and nothing else: no writing, no network, no programs",
    ),
    Flag(_RUNS, "max-queue", "int", "max_queue", "requests that may wait for one model"),
    Flag(_RUNS, "max-queue-bytes", "bytes", "max_queue_bytes", "tensors that may wait for one version"),
    Flag(_RUNS, "request-timeout-secs", "seconds", "timeout", "for requests that name no deadline"),
    Flag(_LIMITS, "max-connections", "int", "limits.connections", "clients at a time"),
    Flag(_LIMITS, "max-grpc-requests", "int", "limits.rpcs", "gRPC's requests at a time; a stream is one"),
    Flag(
        _LIMITS,
        "max-rpcs-of-connection",
        "int",
        "limits.rpcs_of_connection",
        "of them, one client's",
    ),
    Flag(_LIMITS, "max-header-bytes", "bytes", "limits.header", "the largest header of a request"),
    Flag(
        _LIMITS,
        "max-body-memory",
        "bytes",
        "limits.bodies",
        "bodies that are received or wait, in all (a quarter of the memory there is, at most 1 GiB)",
    ),
    Flag(_LIMITS, "max-tensors", "int", "limits.tensors", "tensors in one request"),
    Flag(_LIMITS, "header-timeout-secs", "seconds", "limits.header_seconds", "for a header to be complete"),
    Flag(
        _LIMITS,
        "body-timeout-secs",
        "seconds",
        "limits.body_seconds",
        "for a body, and one more per 64 KB",
    ),
    Flag(_LIMITS, "idle-timeout-secs", "seconds", "limits.idle_seconds", "without a request"),
    Flag(
        _SECURITY,
        "ssl-certificate-file",
        "path",
        "ssl_certificate",
        "TLS on every port: PEM with the certificate and its chain; read again at SIGHUP",
    ),
    Flag(_SECURITY, "ssl-private-key-file", "path", "ssl_private_key", "its key, unless it is in that file"),
    Flag(
        _SECURITY,
        "ssl-client-ca-file",
        "path",
        "ssl_client_ca",
        "only clients whose certificate these authorities have signed",
    ),
    Flag(
        _SECURITY,
        "auth-token-file",
        "path",
        "auth_tokens",
        "only requests with one of its bearer tokens, one a line (or sha256: and its digest); "
        "/v2/health/live and /ready need none; read again at SIGHUP",
    ),
    Flag(
        _SECURITY,
        "admin-socket",
        "new path",
        "admin_socket",
        "a Unix socket, for its owner only, on which models are loaded and unloaded, splits and shadows set, "
        "the server drained",
    ),
    Flag(_LOG, "log-level", "debug|info|warning|error", "log_level", "the least that is logged"),
    Flag(_LOG, "log-verbose", "count", "", "from 1 on: log-level debug"),
    Flag(_LOG, "log-format", "text|json|default|ISO8601", "log_format", "the last two are text"),
    Flag(_LOG, "log-file", "new path", "log_file", "instead of standard error"),
    Flag(_LOG, "log-requests", "bool", "log_requests", "a line for every request; failures have one always"),
    Flag(_LOG, "otel-endpoint", "text", "otel_endpoint", "send spans there, by OTLP over HTTP (extra otel)"),
    Flag(_LOG, "otel-sample", "share", "otel_sample", "of the requests that come without a trace"),
    Flag(
        _LOG,
        "profile-dir",
        "new path",
        "profile_dir",
        "take requests with the header ascend-profile: 1, and write what ran for them here, as ascend-prof",
    ),
    Flag(_END, "exit-timeout-secs", "seconds", "exit_timeout", "for requests in flight at the end"),
    Flag(
        _END,
        "drain-delay-secs",
        "seconds",
        "drain_delay",
        "from not being ready to taking no more connections, so that a load balancer notices (5 behind one)",
    ),
)

_GPU = "there is no GPU here"
_BACKENDS = "there are no backends to choose from"

#: Flags of Triton's without a meaning here, and why: said, and otherwise ignored.
IDLE: dict[str, str] = {
    "allow-gpu-metrics": _GPU,
    "allow-cpu-metrics": "the metrics have the process's CPU time and memory always",
    "metrics-interval-ms": "values are collected when they are asked for",
    "backend-directory": _BACKENDS,
    "backend-config": _BACKENDS,
    "pinned-memory-pool-byte-size": _GPU,
    "cuda-memory-pool-byte-size": _GPU,
    "cuda-virtual-address-size": _GPU,
    "min-supported-compute-capability": _GPU,
    "model-load-gpu-limit": _GPU,
    "enable-peer-access": _GPU,
    "http-thread-count": "one event loop takes all connections",
    "grpc-infer-allocation-pool-size": "messages are allocated when they come",
    "grpc-infer-thread-count": "one event loop takes all requests",
    "grpc-max-response-pool-size": "answers are allocated when they go",
    "buffer-manager-thread-count": "tensors aren't copied by threads",
    "disable-auto-complete-config": "what a config leaves open is always taken from the bundle",
    "strict-model-config": "what a config leaves open is always taken from the bundle",
    "log-info": "use --log-level",
    "log-warning": "use --log-level",
    "log-error": "use --log-level",
}

#: Flags of Triton's that would change what is served, or to whom: refused, saying what there is instead.
REFUSED: dict[str, str] = {
    "grpc-use-ssl": "use --ssl-certificate-file and --ssl-private-key-file, for HTTP and gRPC",
    "grpc-use-ssl-mutual": "use --ssl-client-ca-file",
    "grpc-server-cert": "use --ssl-certificate-file",
    "grpc-server-key": "use --ssl-private-key-file",
    "grpc-root-cert": "use --ssl-client-ca-file",
    "http-restricted-api": "use --auth-token-file, and --admin-socket for what only operators may do",
    "grpc-restricted-protocol": "use --auth-token-file, and --admin-socket for what only operators may do",
    "http-header-forward-pattern": "headers aren't handed to models",
    "grpc-header-forward-pattern": "metadata isn't handed to models",
    "reuse-http-port": "one process owns a port",
    "reuse-grpc-port": "one process owns a port",
    "allow-sagemaker": "there is no such endpoint",
    "allow-vertex-ai": "there is no such endpoint",
    "model-namespacing": "names of models are unique",
    "repoagent-directory": "nothing but the server reads the repository",
    "cache-config": "answers aren't cached",
    "cache-directory": "answers aren't cached",
    "response-cache-byte-size": "answers aren't cached",
    "rate-limit": "use --instances and --max-queue",
    "rate-limit-resource": "use --instances and --max-queue",
    "host-policy": "use taskset or a container's CPU set",
    "trace-file": "use --otel-endpoint",
    "trace-level": "use --otel-endpoint",
    "trace-count": "use --otel-sample",
    "trace-log-frequency": "use --otel-endpoint",
    "trace-config": "use --otel-endpoint and --otel-sample",
    "trace-rate": "use --otel-sample",
}
