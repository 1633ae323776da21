"""An ASGI application with a catalog in it: two pages of its own, and MCP at /metier/mcp.

In the root of a clone: uvicorn --app-dir examples/python asgi_catalog:app
"""

import asyncio
import os
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from metier import Catalog
from metier.mcp import asgi_app


def make_app(root: str) -> Starlette:
    # a catalog belongs to the thread that opened it
    thread = ThreadPoolExecutor(max_workers=1)
    catalog = thread.submit(Catalog.open, root).result()
    thread.submit(catalog.refresh).result()
    mcp = asgi_app(catalog, token=os.environ.get("METIER_MCP_TOKEN", ""))

    async def asked(method: Any, *args: Any, **more: Any) -> Any:
        call = asyncio.get_running_loop().run_in_executor
        return await call(thread, lambda: method(*args, **more))

    async def which(request: Request) -> JSONResponse:
        task = request.query_params.get("task", "")
        if not task:
            return JSONResponse({"error": "say which task: /which?task=…"}, status_code=400)
        found = await asked(catalog.which, task, everything=False)
        return JSONResponse([one.name for one in found.named])

    async def refresh(_: Request) -> JSONResponse:
        changes = (await asked(catalog.refresh)).changes
        return JSONResponse({"added": changes.added, "removed": changes.removed})

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        async with mcp.lifespan(app):
            yield
        await asked(catalog.close)
        thread.shutdown()

    routes = [
        Route("/which", which),
        Route("/refresh", refresh, methods=["POST"]),
        Mount("/metier", mcp),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


def __getattr__(name: str) -> Starlette:
    """`app`, opened when a server asks for it."""
    if name != "app":
        raise AttributeError(name)
    return make_app(os.environ.get("WORKSPACE", "examples/workspace"))
