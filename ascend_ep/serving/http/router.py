"""Which handler answers a path."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from urllib.parse import unquote

from ascend_ep.errors import AscendError
from ascend_ep.serving.refusals import internal

from .message import Request, Response, Send
from .refused import refused

#: Answers from a request and the names in its path.
Simple = Callable[[Request, dict[str, str]], Response]
Slow = Callable[[Request, dict[str, str]], Coroutine[None, None, Response]]
#: Answers by the last argument, maybe later.
Deferred = Callable[[Request, dict[str, str], Send], None]

_CACHED_PATHS = 1024
_CACHED_LENGTH = 256


class _Route:
    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern
        self.methods: dict[str, Deferred] = {}


class Router:
    """Templates like `/v2/models/{model}/infer`; a name in braces takes what is between two slashes."""

    def __init__(self) -> None:
        self._routes: dict[str, _Route] = {}
        self._found: dict[str, tuple[dict[str, Deferred], dict[str, str]]] = {}

    @property
    def operations(self) -> set[tuple[str, str]]:
        """Every method and template."""
        return {(method, t) for t, route in self._routes.items() for method in route.methods}

    def add(self, method: str, template: str, handler: Deferred) -> None:
        route = self._routes.get(template)
        if route is None:
            pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(template))
            pattern += "" if template.endswith("/") else "/?"
            route = self._routes[template] = _Route(re.compile(pattern))
        route.methods[method] = handler

    def add_simple(self, method: str, template: str, handler: Simple) -> None:
        self.add(method, template, lambda request, names, send: send(handler(request, names)))

    def add_slow(self, method: str, template: str, handler: Slow) -> None:
        """A coroutine: for what waits, such as loading."""

        async def answer(request: Request, names: dict[str, str], send: Send) -> None:
            try:
                send(await handler(request, names))
            except Exception as failure:
                send(refused(internal(failure)))

        tasks: set[asyncio.Task[None]] = set()

        def begin(request: Request, names: dict[str, str], send: Send) -> None:
            task = asyncio.get_running_loop().create_task(answer(request, names, send))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        self.add(method, template, begin)

    def __call__(self, request: Request, send: Send) -> None:
        """Raises AscendError E50009 for an unknown path, E50014 for another method than the path has."""
        found = self._found.get(request.path) or self._find(request.path)
        methods, names = found
        handler = methods.get(request.method) or (methods.get("GET") if request.method == "HEAD" else None)
        if handler is None:
            allowed = ", ".join(sorted(methods))
            refusal = refused(AscendError("E50014", request.method[:20], f" {allowed} is."))
            send(Response(refusal.status, [("allow", allowed)], refusal.body))
            return
        handler(request, names, send)

    def _find(self, path: str) -> tuple[dict[str, Deferred], dict[str, str]]:
        for route in self._routes.values():
            match = route.pattern.fullmatch(path)
            if match:
                names = {k: unquote(v) for k, v in match.groupdict().items()}
                if len(path) <= _CACHED_LENGTH:
                    if len(self._found) >= _CACHED_PATHS:
                        self._found.clear()
                    self._found[path] = route.methods, names
                return route.methods, names
        fix = "Metrics have a port of their own: --metrics-port." if path == "/metrics" else None
        raise AscendError("E50009", path[:200], fix=fix)
