"""Which client sent a request, as far as a server without sessions can know."""

import json
import os
from hashlib import sha256

from metier.mcp.tool import Context

_OVER_STDIO = os.urandom(8).hex()
"""A process that serves over standard input has one client."""


def client_of(context: Context) -> str:
    """A short digest of the client's address, program and version."""
    request, params = context.request, context.session.client_params
    if request is None:
        said: list[object] = [_OVER_STDIO]
    else:
        peer = request.client.host if request.client is not None else ""
        program = params.client_info if params is not None else None
        said = [
            peer,
            request.headers.get("user-agent", ""),
            [program.name, program.version] if program is not None else [],
        ]
    return sha256(json.dumps(said).encode()).hexdigest()[:8]
