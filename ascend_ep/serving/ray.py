"""The same protocol on Ray Serve: autoscaled replicas, each with the repository, batches and routes of
ascend-serve, behind Ray's proxy.

    serve run ascend_ep.serving.ray:app model_repository=/models num_cpus=0.5 max_replicas=4

Every replica opens the bundles itself: the folder must be at the same place on every machine. Ray routes,
starts, scales and replaces replicas; nothing of that is done here. Ray's proxy answers 500 to what a replica
had taken when it died; asking again is safe.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.extras import named

with named("ray"):
    from ray import serve
    from starlette.requests import Request as ProxyRequest
    from starlette.responses import Response as ProxyResponse

    from .http.budget import Budget
    from .http.message import Request, Response
    from .http.refused import refused
    from .http.router import Router
    from .http.v2 import V2
    from .refusals import internal
    from .repository.repository import Repository
    from .service import InferenceService
    from .settings import Limits, Settings

#: Arguments of `app` and their defaults: strings, as `serve run` has them, or numbers.
DEFAULTS: dict[str, Any] = {
    "model_repository": None,
    "num_cpus": 1.0,
    "min_replicas": 1,
    "max_replicas": 1,
    "target_ongoing_requests": 16.0,
    "max_ongoing_requests": 64,
}


class Replica:
    """One process of the deployment. Ray calls `check_health` before it sends requests: models are loaded
    then, and a replica whose models can't be loaded never becomes healthy."""

    def __init__(self, settings: Settings) -> None:
        self._limits = settings.limits
        self._repository = Repository(settings)
        self._service = InferenceService(self._repository, settings.timeout)
        self._v2 = V2(self._service, settings.limits)
        self._router = Router()
        self._v2.add_to(self._router)
        self._budget = Budget(settings.limits.bodies)
        self._loading: asyncio.Future[None] | None = None

    async def check_health(self) -> None:
        """Raises AscendError when the models can't be loaded."""
        if self._loading is None:
            self._loading = asyncio.ensure_future(self._repository.load_all())
        await asyncio.shield(self._loading)

    async def __call__(self, received: ProxyRequest) -> ProxyResponse:
        """Answers as ascend-serve does."""
        try:
            await self.check_health()
            response = await self._answer(await self._request(received))
        except Exception as failure:
            response = refused(internal(failure))
        headers = dict(response.headers)
        body = b"".join(response.body)
        return ProxyResponse(body, response.status, headers, media_type=response.content_type)

    async def shut_down(self) -> None:
        """Finishes what was taken."""
        self._service.draining = True
        self._v2.close()
        await self._repository.close()

    async def __del__(self) -> None:
        await self.shut_down()

    async def _request(self, received: ProxyRequest) -> Request:
        """Raises AscendError E50005 for a body beyond the limit, E50006 when there is no room for it."""
        headers = {name.lower(): value for name, value in received.headers.items()}
        path = received.scope.get("raw_path", received.url.path.encode()).decode("latin-1")
        query = received.url.query
        request = Request(received.method, path, query, headers, b"", True, self._budget)
        body = bytearray()
        try:
            async for piece in received.stream():
                if len(body) + len(piece) > self._limits.body:
                    raise AscendError("E50005", len(body) + len(piece), self._limits.body)
                request.hold(len(piece))
                body += piece
        except BaseException:
            request.release()
            raise
        request.body = memoryview(body)
        return request

    async def _answer(self, request: Request) -> Response:
        answered: asyncio.Future[Response] = asyncio.get_running_loop().create_future()

        def send(response: Response) -> None:
            if not answered.done():
                answered.set_result(response)

        try:
            self._router(request, send)
            return await answered
        except asyncio.CancelledError:
            if request.on_gone is not None:
                request.on_gone()
            raise
        finally:
            request.release()


def app(arguments: Mapping[str, Any]) -> serve.Application:
    """The application that `serve run` deploys. Arguments: model_repository (a folder), num_cpus of a replica
    (a fraction is allowed), min_replicas and max_replicas, target_ongoing_requests (of a replica: beyond, Ray
    adds another) and max_ongoing_requests (which one replica takes, and batches).

    Raises AscendError E50060 for an argument that is unknown, missing or no number.
    """
    for name in arguments:
        if name not in DEFAULTS:
            raise AscendError("E50060", name, f"there is no such argument.{did_you_mean(name, DEFAULTS)}")
    given = {**DEFAULTS, **arguments}
    root = given["model_repository"]
    if root is None or not Path(root).is_dir():
        raise AscendError("E50060", "model_repository", f"[{root}] is no folder")
    cpus = _number(given, "num_cpus", 0.01)
    threads = max(1, int(cpus))
    settings = Settings(Path(root).resolve(), http_port=None, instances=1, threads=threads, limits=Limits())
    at_once = int(_number(given, "max_ongoing_requests", 1))
    least = int(_number(given, "min_replicas", 0))
    deployment = serve.deployment(
        Replica,
        name="ascend-serve",
        max_ongoing_requests=at_once,
        ray_actor_options={"num_cpus": cpus},
        autoscaling_config={
            "min_replicas": least,
            "max_replicas": max(least, int(_number(given, "max_replicas", 1))),
            "target_ongoing_requests": _number(given, "target_ongoing_requests", 0.01),
        },
        health_check_period_s=2,
    )
    made: serve.Application = deployment.bind(settings)
    return made


def _number(given: Mapping[str, Any], name: str, least: float) -> float:
    try:
        value = float(given[name])
    except (TypeError, ValueError):
        raise AscendError("E50060", name, f"[{given[name]}] is no number") from None
    if not least <= value < 1e6:
        raise AscendError("E50060", name, f"[{given[name]}] isn't between {least:g} and a million")
    return value
