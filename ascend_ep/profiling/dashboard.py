"""A page of a profile that is being recorded, served to a browser: all that was written until it asks."""

from __future__ import annotations

import html
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.profiling.machine import Machine
from ascend_ep.profiling.profile import find_profile, open_profile, tables_of
from ascend_ep.profiling.report import page_of
from ascend_ep.runtime.tracing import DATA

#: Seconds after which a browser asks again.
REFRESH = 5
State = tuple[tuple[str, int], ...]
WAITING = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>profdash</title><style>:root {{ color-scheme: light dark; }} body {{ font: 1rem system-ui; }}</style>
<main><h1>No profile yet</h1><p>Nothing was recorded in {} yet.</main></html>"""


class Dashboard:
    """Makes the page of the newest profile in a folder; the same page until its traces grow."""

    def __init__(self, folder: Path, machine: Machine) -> None:
        self.folder, self.machine = folder, machine
        self._lock = threading.Lock()
        self._state: State = ()
        self._page = ""

    def page(self) -> str:
        with self._lock:
            try:
                found = find_profile(self.folder)
                files = sorted((found / DATA).glob("*.trace")) or tables_of(found)
                state = tuple((str(path), path.stat().st_size) for path in files)
                if state != self._state:
                    self._page, self._state = page_of(open_profile(found), self.machine), state
            except AscendError as error:
                if error.code != "E44002":
                    raise
                return WAITING.format(html.escape(self.folder.name or "this folder"))
            return self._page


def server(dashboard: Dashboard, host: str, port: int) -> ThreadingHTTPServer:
    """Serves the page at /; port 0 takes a free one. Raises AscendError E50019 where it can't listen."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/favicon.ico":  # browsers ask, and report a 404 as an error of the page
                self.send_response(204)
                self.end_headers()
                return
            if path != "/":
                self.send_error(404)
                return
            try:
                body, status = dashboard.page().encode(), 200
            except AscendError as error:
                body, status = str(error).encode(), 500
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8" if status == 200 else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("Refresh", str(REFRESH))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Requests are no news."""

    try:
        return ThreadingHTTPServer((host, port), Handler)
    except (OSError, OverflowError) as error:
        raise AscendError("E50019", f"{host}:{port}", error, fix="Choose another --port.") from error
