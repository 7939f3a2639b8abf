"""The page at `/` and what it polls. It loads nothing from elsewhere; its policy forbids that it could."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from ascend_ep.serving.page.state import StateOfPage

from .message import Response
from .router import Router
from .v2 import as_json

STATE = "/v2/page/state"
_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page/charts.js": ("charts.js", "text/javascript; charset=utf-8"),
    "/page/history.js": ("history.js", "text/javascript; charset=utf-8"),
    "/page/trial.js": ("trial.js", "text/javascript; charset=utf-8"),
    "/page/icon.svg": ("icon.svg", "image/svg+xml"),
    "/page/image.js": ("image.js", "text/javascript; charset=utf-8"),
}
#: Paths that need no token: they show nothing of the server.
OPEN = frozenset(_FILES)

_HEADERS = (
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-cache"),
)


def add_to(router: Router, state: StateOfPage) -> None:
    for path in _FILES:
        router.add_simple("GET", path, lambda request, names: _file(request.path))
    router.add_simple("GET", STATE, lambda request, names: as_json(state.now()))


@cache
def _file(path: str) -> Response:
    name, content_type = _FILES[path.rstrip("/") or "/"]
    content = (files("ascend_ep.serving.page") / name).read_bytes()
    return Response(200, _HEADERS, (content,), content_type)
