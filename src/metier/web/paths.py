"""Routes of fixed paths, found at once: Starlette alone tries one after the other."""

from collections.abc import Sequence

from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send


class FixedPaths(BaseRoute):
    """Passes a request to the route whose path it names exactly."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = {route.path: route for route in routes}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        route = self._routes.get(scope["path"])
        return route.matches(scope) if route is not None else (Match.NONE, {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._routes[scope["path"]].handle(scope, receive, send)
