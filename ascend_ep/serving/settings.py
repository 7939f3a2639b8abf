"""What ascend-serve can be told, and its limits: all finite."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """Bytes, seconds and counts beyond which a request is refused."""

    body: int = 64 << 20
    header: int = 16 << 10
    json_depth: int = 16
    tensors: int = 64
    connections: int = 1024
    #: bytes of bodies being received or waiting, over all connections
    bodies: int = 1 << 30
    #: seconds for a whole header, and without a byte of a body
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    idle_seconds: float = 75.0


@dataclass(frozen=True)
class Settings:
    """http_port 0: any free one. A port of None: not served."""

    model_repository: Path
    http_address: str = "127.0.0.1"
    http_port: int | None = 8000
    instances: int = 2
    max_queue: int = 256
    #: seconds a request may take that names no deadline
    timeout: float = 30.0
    exit_timeout: float = 30.0
    limits: Limits = Limits()
