"""Values of variables that tools see appear on no page, in no error and in no form's answer."""

from collections.abc import Iterator

import pytest

from conftest import Workspace
from metier.catalog import Catalog
from metier.web.exporting import Exporter
from web_served import Inspected, inspected

VALUE = "k3y-of-the-gateway"
TOOL = """
[tools.fetch]
description = "Fetches."
argv = ["true"]
environment = ["GATEWAY_KEY"]
"""


@pytest.fixture
def secretive(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("GATEWAY_KEY", VALUE)
    workspace.write("metier.toml", f"host-folders = false\n{TOOL}")
    workspace.skill("gateway", f"Opens the gateway with {VALUE}")
    workspace.write("abilities/gateway.md", f"---\ntags: [gateway]\n---\nUse {VALUE} first.\n")
    workspace.write(f"abilities/{VALUE}.md", "---\ntags: [open]\n---\nOpen.\n")
    workspace.write("agents/odd.json", f'{{"agentId": "odd", "{VALUE}": 1}}')
    workspace.trust()
    return workspace


@pytest.fixture
def site(secretive: Workspace) -> Iterator[Inspected]:
    with inspected(secretive.root, own_settings=True) as made:
        yield made


@pytest.mark.parametrize(
    "address",
    [
        f"/document?kind=skill&id={VALUE}",
        f"/catalog?kind={VALUE}&sort={VALUE}",
        f"/run?id={VALUE}",
        f"/resolve?require=a&mode={VALUE}",
        f"/inject?task=a&min-signal={VALUE}",
        f"/inject?task=a&session={VALUE}",
    ],
)
def test_an_error_does_not_repeat_a_secret(site: Inspected, address: str) -> None:
    for path in (address, address.replace("?", ".json?", 1)):
        found = site.client.get(path)
        assert found.status_code in (400, 404), found.text
        told = found.text.replace(address, "")
        assert VALUE not in told
        assert "[secret]" in told


@pytest.mark.parametrize(
    ("action", "fields"),
    [
        ("case", {"task": "open", "skill": VALUE}),
        ("cancel-run", {"id": VALUE}),
        ("resume-run", {"id": VALUE}),
    ],
)
def test_a_rejected_form_does_not_repeat_a_secret(
    site: Inspected, action: str, fields: dict[str, str]
) -> None:
    found = site.post(f"/do/{action}", **fields)
    assert found.status_code == 404
    assert VALUE not in found.text
    assert "[secret]" in found.text


def test_no_page_shows_a_secret_of_a_document(site: Inspected) -> None:
    for path in (
        "/document?kind=skill&id=gateway",
        "/document?kind=ability&id=gateway",
        "/inject?task=gateway",
        "/catalog",
        "/overview",
        "/which?task=open+the+gateway",
    ):
        for address in (path, path.replace("?", ".json?", 1) if "?" in path else f"{path}.json"):
            found = site.page(address)
            assert VALUE not in found, address
            assert ("[secret]" in found) is (path != "/overview"), address  # which has no texts


def test_an_exported_error_does_not_repeat_a_secret(secretive: Workspace) -> None:
    secretive.write(f"skills/{VALUE}/SKILL.md", "---\nname: [\n---\n")
    with Catalog.open(secretive.root, trust="record") as catalog:
        catalog.refresh()
        exported = dict(Exporter(catalog).files())
    assert b"[secret]" in b"".join(exported.values())
    assert not [name for name, content in exported.items() if VALUE.encode() in content]
