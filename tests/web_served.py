"""The inspector for tests: in this process with a client, or as a program with a browser."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from metier.config import Config
from metier.flow.boundary import Boundary, open_boundary
from metier.serving.endpoint import Endpoint
from metier.web.app import make_app
from metier.web.catalog_threads import CatalogSource, Reading
from metier.web.security import Sessions

PORT = 8766
ORIGIN = f"http://127.0.0.1:{PORT}"


class Inspected:
    """A running inspector, and a browser-like client that has come in."""

    def __init__(self, client: TestClient, sessions: Sessions, reading: Reading) -> None:
        self.client = client
        self.reading = reading
        self.sessions = sessions

    def enter(self) -> None:
        assert self.client.get(f"/enter?token={self.sessions.token}").status_code == 200

    def page(self, path: str, status: int = 200, **query: str) -> str:
        found = self.client.get(path, params=query or None)
        assert found.status_code == status, found.text
        return str(found.text)

    def json(self, path: str, status: int = 200, **query: str) -> Any:
        found = self.client.get(path, params=query or None)
        assert found.status_code == status, found.text
        assert found.headers["content-type"] == "application/json"
        return found.json()

    @property
    def csrf(self) -> str:
        [session] = self.sessions._known
        return self.sessions.csrf(session)

    def post(self, path: str, origin: str = ORIGIN, **fields: str) -> Any:
        """A form, with the token of the session unless another is given."""
        fields = {"csrf": self.csrf, **fields}
        headers = {"Origin": origin} if origin else {}
        return self.client.post(path, data=fields, headers=headers, follow_redirects=False)


@contextmanager
def inspected(
    root: Path | None,
    *,
    trust: str = "record",
    is_in: bool = True,
    endpoint: Endpoint | None = None,
    own_settings: bool = False,
    **config: Any,
) -> Iterator[Inspected]:
    """The inspector over a workspace, or over the current folder, if that is none.

    Documents are looked for only on request. With `own_settings` those of the workspace count.
    """

    def boundary() -> Boundary:
        if own_settings:
            return open_boundary(root, None, trust)
        return open_boundary(root, Config(**{"host_folders": False, **config}), trust)

    reading = Reading(CatalogSource(boundary), refresh_every=1e9)
    reading.start()
    sessions = Sessions(PORT)
    app = make_app(reading, endpoint or Endpoint(port=PORT), sessions)
    with TestClient(app, base_url=ORIGIN, follow_redirects=False) as client:
        made = Inspected(client, sessions, reading)
        if is_in:
            made.enter()
        yield made
