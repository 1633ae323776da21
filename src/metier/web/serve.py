"""Runs the server of the pages."""

import asyncio
import logging
import sys
from collections.abc import Callable

from metier.serving.endpoint import Endpoint
from metier.serving.listening import listen
from metier.web.app import make_app
from metier.web.catalog_threads import CatalogSource, Reading
from metier.web.security import ENTER, Sessions


def run_web(source: CatalogSource, endpoint: Endpoint, ready: Callable[[str, str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; `ready` gets the address without and with the token."""
    endpoint.check()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    with endpoint.bound() as bound:
        endpoint = endpoint._replace(port=bound.getsockname()[1])
        sessions = Sessions(endpoint.port)
        reading = Reading(source)
        try:
            reading.start()
            stopping = asyncio.Event()
            app = make_app(reading, endpoint, sessions, stopping)
            token = f"{ENTER}?token={sessions.token}"

            def told() -> None:
                ready(endpoint.url("/"), endpoint.url(token))

            asyncio.run(listen(app, bound, told, on_stop=stopping.set))
        finally:
            reading.close()
