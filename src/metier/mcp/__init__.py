"""The catalog over the Model Context Protocol: a thin surface over `Catalog`."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from metier.core.arguments import check_count, check_text, check_texts, wrong_argument
from metier.errors import UsageError, install_hint

if TYPE_CHECKING:
    from metier.catalog import Catalog
    from metier.mcp.asgi import McpApp as McpApp

__all__ = ["McpApp", "asgi_app"]


if not TYPE_CHECKING:  # so that a type checker finds names that do not exist

    def __getattr__(name: str) -> object:
        """`McpApp`; the SDK is loaded for it only."""
        if name != "McpApp":
            raise AttributeError(f"module 'metier.mcp' has no attribute '{name}'")
        from metier.mcp.asgi import McpApp

        return McpApp


def asgi_app(
    catalog: "Catalog",
    *,
    token: str = "",
    allow_hosts: Sequence[str] = (),
    metrics: bool = False,
    max_requests: int = 256,
    allow_run: bool = False,
) -> "McpApp":
    """An ASGI application that serves a catalog at `/mcp`, to mount or to serve alone.

    Its `lifespan` has to run: give it to the application around it. Requests for hosts other than
    this machine and `allow_hosts` are rejected; `metrics` adds `/metrics`. `allow_run` lets
    clients run agents, those added to the catalog too, and needs a token. Raises `UsageError` for
    a catalog in memory, and if a package is missing.
    """
    if not hasattr(catalog, "require_file"):
        raise wrong_argument("catalog", "an open Catalog", catalog)
    check_text("token", token)
    check_texts("allow_hosts", allow_hosts, "skills.example.org")
    check_count("max_requests", max_requests, 1)
    if allow_run and not token:
        message = "with allow_run anyone who reaches the application could run agents"
        raise UsageError(message, hint="give it a token: asgi_app(catalog, token=…)")
    for name in ("mcp", *(["prometheus_client"] if metrics else [])):
        if find_spec(name) is None:
            message = f"the package {name.replace('_', '-')} is not installed"
            raise UsageError(message, hint=install_hint("mcp"))
    from metier.mcp.asgi import McpApp  # the SDK loads a lot
    from metier.serving.endpoint import Endpoint

    endpoint = Endpoint(token=token, names=tuple(allow_hosts))
    return McpApp(
        catalog, endpoint, has_metrics=metrics, max_requests=max_requests, allow_run=allow_run
    )
