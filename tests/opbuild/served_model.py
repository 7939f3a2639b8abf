"""A language model on the loopback, as far as a client sees one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ascend_ep.frontends.language_model import Endpoint

Answer = str | bytes | Callable[[BaseHTTPRequestHandler], None]


class Model:
    """An endpoint that gives prepared answers in turn, the last one again and again."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                model.requests.append({"path": self.path, **json.loads(self.rfile.read(length))})
                model.keys.append(self.headers.get("Authorization"))
                answer = model.answers.pop(0) if len(model.answers) > 1 else model.answers[0]
                if callable(answer):
                    answer(self)
                    return
                if isinstance(answer, str):
                    answer = json.dumps({"choices": [{"message": {"content": answer}}]}).encode()
                self.send_response(200)
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Silence."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def endpoint(self, **changes: Any) -> Endpoint:
        host, port = self.server.server_address[:2]
        return Endpoint(f"http://{host!s}:{port}/v1", "coder", **{"seconds": 5.0, **changes})

    @property
    def url(self) -> str:
        return self.endpoint().url

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@contextmanager
def models() -> Iterator[Callable[..., Model]]:
    """What starts models with these answers, as many as are asked for; they end with it."""
    started: list[Model] = []

    def start(*answers: Answer) -> Model:
        started.append(Model(answers))
        return started[-1]

    try:
        yield start
    finally:
        for one in started:
            one.close()
