"""Whether a request is for this server, by its Host and Origin headers."""

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from metier.serving.endpoint import Endpoint


class OwnNames:
    """The names of a server, compared exactly: a page of another site reaches none of it."""

    def __init__(self, endpoint: Endpoint, to_allow: str = "--allow-host NAME") -> None:
        """`to_allow` is what adds a name, for whoever is rejected."""
        self._hint = f"to allow another name: {to_allow}"
        self._hosts = endpoint.hosts()
        self._origins = {
            f"{scheme}://{host}" for scheme in ("http", "https") for host in self._hosts
        }

    def rejection(self, request: Request) -> Response | None:
        """The answer to a request for another host (421) or from another origin (403)."""
        hosts, origins = request.headers.getlist("host"), request.headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return PlainTextResponse(f"Host is not this server; {self._hint}", 421)
        if origins and (len(origins) > 1 or origins[0].lower() not in self._origins):
            return PlainTextResponse(f"Origin is not this server; {self._hint}", 403)
        return None
