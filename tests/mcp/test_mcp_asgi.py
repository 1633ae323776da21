"""`asgi_app`: the server inside another application, asked by real clients."""

import asyncio
import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, Implementation
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from asgi_served import listening
from conftest import REPOSITORY, Workspace
from mcp_served import ENOUGH, ERAS, asked, called, data_of, environment, refreshed
from metier import Agent, Catalog, tool
from metier.errors import UsageError
from metier.mcp import asgi_app
from metier.mcp.asgi import McpApp

pytestmark = pytest.mark.slow

TOKEN = "a-long-enough-token"
ORDER = {"number": 7}


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def catalog(workspace: Workspace) -> Iterator[Catalog]:
    workspace.skill("searcher", extra="capabilities: [web-search]")
    with refreshed(workspace.root) as made:
        yield made


def in_starlette(mcp: McpApp) -> Any:
    async def home(_: Request) -> PlainTextResponse:
        return PlainTextResponse("home")

    return Starlette(routes=[Route("/", home), Mount("/metier", mcp)], lifespan=mcp.lifespan)


def in_fastapi(mcp: McpApp) -> Any:
    fastapi = pytest.importorskip("fastapi")
    app = fastapi.FastAPI(lifespan=mcp.lifespan)
    app.get("/", response_class=PlainTextResponse)(lambda: "home")
    app.mount("/metier", mcp)
    return app


TO_ALLOW = "Host is not this server; to allow another name: asgi_app(catalog, allow_hosts=[NAME])"


def fetched(url: str, **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize("around", [in_starlette, in_fastapi])
@pytest.mark.parametrize("era", ERAS)
def test_it_answers_below_the_path_where_it_is_mounted(
    catalog: Catalog, around: Callable[[McpApp], Any], era: str
) -> None:
    async def talk(client: Client) -> None:
        args = {"requires": ["web-search"]}
        report = data_of(await client.call_tool("capability_resolve", args))
        assert report["selected"] == ["searcher::skills/searcher"]
        assert (await client.read_resource("skill://skills/searcher/SKILL.md")).contents

    with listening(around(asgi_app(catalog))) as origin:
        asked(f"{origin}/metier/mcp", talk, era)
        assert fetched(f"{origin}/") == (200, "home")
        assert json.loads(fetched(f"{origin}/metier/health")[1])["status"] == "ok"


def test_the_route_on_the_page_answers_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastapi")
    monkeypatch.chdir(REPOSITORY)
    codes = (REPOSITORY / "docs" / "mcp.md").read_text().split("```python\n")[1:]
    (code,) = (one.partition("```")[0] for one in codes if "FastAPI()" in one)
    names: dict[str, Any] = {}
    exec(code, names)
    with names["catalog"]:
        task = "a spreadsheet of the disputed invoices for the auditor"
        answer = TestClient(names["app"]).get("/which", params={"task": task})
        assert answer.json()["named"] == ["invoice-check"]


def test_it_can_be_served_alone(catalog: Catalog) -> None:
    with listening(asgi_app(catalog)) as origin:
        assert data_of(called(f"{origin}/mcp", "skill_list"))["total"] == 1


def test_what_another_connection_refreshes_is_seen_at_the_next_request(
    catalog: Catalog, workspace: Workspace
) -> None:
    with listening(in_starlette(asgi_app(catalog))) as origin:
        assert data_of(called(f"{origin}/metier/mcp", "skill_list"))["total"] == 1
        workspace.skill("another")
        catalog.refresh()
        assert data_of(called(f"{origin}/metier/mcp", "skill_list"))["total"] == 2


def test_its_lifespan_may_run_again(catalog: Catalog) -> None:
    mcp = asgi_app(catalog)
    for _ in range(2):
        with listening(in_starlette(mcp)) as origin:
            assert data_of(called(f"{origin}/metier/mcp", "skill_list"))["total"] == 1


def test_runs_have_to_be_allowed_and_know_the_agents_of_python(
    catalog: Catalog, workspace: Workspace
) -> None:
    @tool
    def order_status(number: int) -> str:
        """The state of an order."""
        return {7: "shipped"}[number]

    step = {"stepId": "look", "type": "tool", "config": {"tool": "order_status", "input": ORDER}}
    workspace.trust()

    async def talk(client: Client) -> dict[str, Any]:
        assert "run_start" in [one.name for one in (await client.list_tools()).tools]
        args = {"agent": "support", "task": "where is order 7?"}
        run_id = data_of(await client.call_tool("run_start", args))["runId"]
        while True:
            found = data_of(await client.call_tool("run_get", {"runId": run_id}))
            if found["state"] not in ("pending", "running"):
                return found

    async def with_token(url: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=ENOUGH) as carrier,
            Client(streamable_http_client(url, http_client=carrier)) as client,
        ):
            return await talk(client)

    with Catalog.open(workspace.root) as trusted:
        trusted.refresh()
        trusted.add(Agent("support", "Answers.", tools=[order_status], workflow=[step]))
        with listening(asgi_app(trusted, token=TOKEN, allow_run=True)) as origin:
            found = asyncio.run(with_token(f"{origin}/mcp"))
        assert (found["state"], found["steps"][0]["output"]) == ("succeeded", "shipped")
        with listening(asgi_app(trusted)) as origin:
            assert called(f"{origin}/mcp", "run_start", {}).is_error


def test_runs_need_a_token(catalog: Catalog) -> None:
    with pytest.raises(UsageError, match="could run agents") as raised:
        asgi_app(catalog, allow_run=True)
    assert raised.value.hint == "give it a token: asgi_app(catalog, token=…)"


def test_without_its_lifespan_the_error_says_what_is_missing(catalog: Catalog) -> None:
    async def nothing(*_: Any) -> Any: ...

    with pytest.raises(UsageError, match="lifespan") as raised:
        asyncio.run(asgi_app(catalog)({"type": "http"}, nothing, nothing))
    assert "lifespan=" in raised.value.hint


def test_a_catalog_in_memory_cannot_be_served(catalog: Catalog) -> None:
    from metier.flow.boundary import Boundary

    boundary = Boundary(catalog.workspace, catalog.trust, catalog.config)
    with Catalog.in_memory(boundary) as other, pytest.raises(UsageError, match="in memory"):
        asgi_app(other)


def test_other_hosts_and_origins_are_rejected_also_where_it_is_mounted(catalog: Catalog) -> None:
    mcp = asgi_app(catalog, allow_hosts=["api.example"], metrics=True)
    with listening(in_starlette(mcp)) as origin:
        for path in ("health", "metrics"):
            url = f"{origin}/metier/{path}"
            assert fetched(url, Host="evil.example") == (421, TO_ALLOW)
            assert fetched(url, Host="api.example")[0] == 200
            assert fetched(url, Origin="http://evil.example")[0] == 403
        assert fetched(f"{origin}/", Host="evil.example")[0] == 200


def test_with_a_token_only_health_is_for_everyone(catalog: Catalog) -> None:
    mcp = asgi_app(catalog, token="a-long-enough-token", metrics=True)
    with listening(in_starlette(mcp)) as origin:
        assert fetched(f"{origin}/metier/health")[0] == 200
        assert fetched(f"{origin}/metier/metrics")[0] == 401
        shown = {"Authorization": "Bearer a-long-enough-token"}
        assert fetched(f"{origin}/metier/metrics", **shown)[0] == 200


def test_metrics_count_requests_and_calls_by_tool(catalog: Catalog) -> None:
    with listening(asgi_app(catalog, metrics=True)) as origin:
        called(f"{origin}/mcp", "skill_list")
        called(f"{origin}/mcp", "no such tool")
        page = fetched(f"{origin}/metrics")[1]
    assert 'metier_mcp_call_seconds_count{outcome="ok",tool="skill_list"} 1.0' in page
    assert 'metier_mcp_call_seconds_count{outcome="error",tool="unknown"} 1.0' in page
    assert 'metier_mcp_requests_total{status="200"}' in page
    assert "metier_mcp_requests_in_progress 0.0" in page


def test_metrics_are_served_only_on_demand(catalog: Catalog) -> None:
    with listening(asgi_app(catalog)) as origin:
        assert fetched(f"{origin}/metrics")[0] == 404


def test_requests_beyond_the_bound_are_told_to_come_again(catalog: Catalog) -> None:
    with listening(asgi_app(catalog, max_requests=1)) as origin:
        place = urlsplit(origin)
        assert place.hostname
        with socket.create_connection((place.hostname, place.port), 60) as slow:
            head = f"POST /mcp HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: 9\r\n\r\n"
            slow.sendall(head.encode())  # and never the body
            request = urllib.request.Request(f"{origin}/mcp", b"{}")
            for _ in range(1_000):  # until the server has read the head
                with pytest.raises(urllib.error.HTTPError) as raised:
                    urllib.request.urlopen(request)
                raised.value.close()
                if raised.value.code == 503:
                    break
            assert (raised.value.code, raised.value.headers["Retry-After"]) == (503, "1")
            assert fetched(f"{origin}/health")[0] == 200


def test_a_burst_of_one_client_evicts_no_report_of_another(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metier.flow.reports.MOST_REPORTS", 5)
    args = {"requires": ["web-search"]}

    def resolved(url: str, name: str, times: int) -> list[str]:
        async def talk(client: Client) -> list[str]:
            answers = [await client.call_tool("capability_resolve", args) for _ in range(times)]
            return [data_of(one)["run_id"] for one in answers if isinstance(one, CallToolResult)]

        return asked(url, talk, client_info=Implementation(name=name, version="1"))

    own = catalog.resolve(["web-search"])
    catalog.keep_report(own)
    with listening(asgi_app(catalog)) as origin:
        (quiet,) = resolved(f"{origin}/mcp", "quiet", 1)
        burst = resolved(f"{origin}/mcp", "busy", 8)
    assert catalog.report_ids() == [own.report.id, quiet, *burst[-3:]]
