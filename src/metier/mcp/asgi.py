"""The server as an application inside another one."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import lru_cache
from typing import Any

from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from metier.catalog import Catalog
from metier.errors import UsageError
from metier.mcp.http import Service, guarded, inner_app
from metier.mcp.serve import serving
from metier.serving.endpoint import Endpoint
from metier.serving.host_names import OwnNames


class McpApp:
    """Serves a catalog while its lifespan runs; made by `asgi_app`.

    It has connections of its own to the file of the catalog, under the trust that the catalog was
    opened with.
    """

    def __init__(
        self,
        catalog: Catalog,
        endpoint: Endpoint,
        *,
        has_metrics: bool,
        max_requests: int,
        allow_run: bool = False,
    ) -> None:
        endpoint.check()
        catalog.require_file()
        self._catalog = catalog
        self._endpoint = endpoint
        self._has_metrics = has_metrics
        self._most = max_requests
        self._allow_run = allow_run
        self._app: ASGIApp | None = None
        self._alone = Starlette(lifespan=self.lifespan)
        self._names = lru_cache(maxsize=16)(self._names_at)

    @asynccontextmanager
    async def lifespan(self, _app: Any = None) -> AsyncIterator[None]:
        """Serve during the block; for `Starlette(lifespan=…)` and `FastAPI(lifespan=…)`."""
        service = Service(self._most, _metrics() if self._has_metrics else None)
        held = serving(self._opened, allow_run=self._allow_run, metrics=service.metrics)
        server = await asyncio.to_thread(held.__enter__)
        try:
            inner = inner_app(server, service)
            async with inner.router.lifespan_context(inner):
                self._app = guarded(inner, self._endpoint, service, self._names_for)
                yield
        finally:
            self._app = None
            await asyncio.to_thread(held.__exit__, None, None, None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._alone(scope, receive, send)
        elif self._app is None:
            message = "the lifespan of the MCP application is not running"
            raise UsageError(message, hint="Starlette(…, lifespan=app.lifespan)")
        else:
            await self._app(scope, receive, send)

    @contextmanager
    def _opened(self) -> Iterator[Catalog]:
        with self._catalog.new_connection(probes=self._allow_run) as catalog:
            if not catalog.is_built():
                catalog.refresh()
            yield catalog

    def _names_at(self, port: int) -> OwnNames:
        return OwnNames(self._endpoint._replace(port=port), "asgi_app(catalog, allow_hosts=[NAME])")

    def _names_for(self, scope: Scope) -> OwnNames:
        """The own names with the port that the server around it listens on."""
        server = scope.get("server")
        return self._names((server[1] if server else None) or 0)


def _metrics() -> Any:
    from metier.mcp.metrics import Metrics  # an extra

    return Metrics()
