"""Frames of HTTP/2, as a hostile client of gRPC would write them."""

from __future__ import annotations

import contextlib
import socket
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 2, 3, 4, 6, 8, 9
END_STREAM, END_HEADERS = 1, 4
CANCEL = (8).to_bytes(4, "big")


def frame(kind: int, payload: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def literal(name: bytes, value: bytes) -> bytes:
    """A field that isn't indexed, neither name nor value coded; both below 127 bytes."""
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value


def head(method: str) -> bytes:
    """The header block of a gRPC call: POST, http, and what isn't in the static table."""
    fields = ((b":path", method.encode()), (b":authority", b"a"), (b"te", b"trailers"))
    typed = (*fields, (b"content-type", b"application/grpc"))
    return b"\x83\x86" + b"".join(literal(*field) for field in typed)


def call(method: str, stream: int) -> bytes:
    return frame(HEADERS, head(method), END_HEADERS, stream)


class Hostile:
    """A connection that has said hello."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.socket.sendall(PREFACE + frame(SETTINGS))

    def __enter__(self) -> Hostile:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> bool:
        """Whether the server took it all; it may hang up instead."""
        try:
            self.socket.sendall(data)
        except ConnectionError:
            return False
        return True

    def hears(self, text: bytes, times: int = 1) -> bool:
        """Whether the server says that, so many times, before it hangs up. It has 10 s."""
        received = b""
        end = time.monotonic() + 10
        self.socket.settimeout(10)
        try:
            while received.count(text) < times and time.monotonic() < end:
                more = self.socket.recv(1 << 16)
                if not more:
                    break
                received += more
        except (ConnectionError, TimeoutError):
            pass
        return received.count(text) >= times

    def pour(self, stream: int, size: int, seconds: float) -> int:
        """Sends so many zeros as the body of a stream, as far as the server's windows allow, and returns how
        many it took in that time."""
        windows = {0: 65535, stream: 65535}
        initial, sent, received = 65535, 0, b""
        self.socket.settimeout(0.05)
        end = time.monotonic() + seconds
        while sent < size and time.monotonic() < end:
            part = min(1 << 14, size - sent, *windows.values())
            if part > 0:
                try:
                    self.socket.sendall(frame(DATA, bytes(part), stream=stream))
                except TimeoutError:  # part of a frame is sent
                    return sent
                sent += part
                windows = {name: left - part for name, left in windows.items()}
                if sent % (1 << 18):
                    continue
            with contextlib.suppress(TimeoutError):
                more = self.socket.recv(1 << 16)
                if not more:
                    return sent
                received += more
            while len(received) >= 9 and len(received) >= 9 + (length := int.from_bytes(received[:3], "big")):
                kind, flags, where = received[3], received[4], int.from_bytes(received[5:9], "big")
                payload, received = received[9 : 9 + length], received[9 + length :]
                if kind == WINDOW_UPDATE and where in windows:
                    windows[where] += int.from_bytes(payload, "big")
                elif kind == SETTINGS:
                    for at in range(0, len(payload), 6):
                        if payload[at : at + 2] == b"\0\4":
                            value = int.from_bytes(payload[at + 2 : at + 6], "big")
                            windows[stream] += value - initial
                            initial = value
                elif kind == PING and not flags & 1:
                    self.socket.sendall(frame(PING, payload, 1))
                elif kind == RST_STREAM or (kind == HEADERS and payload):
                    return sent
        return sent
