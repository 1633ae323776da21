"""What the resolver remembers from run to run, and when it forgets it."""

import json

import pytest

from conftest import Workspace
from metier import Catalog
from metier.config import Config
from metier.flow import reading
from metier.index.columns import CLAIMS
from metier.values.policy import PRESETS


def aliases(workspace: Workspace, version: str, **names: list[str]) -> None:
    table = {
        "schema_version": "1",
        "alias_table_version": version,
        "aliases": {key.replace("_", "-"): value for key, value in names.items()},
    }
    workspace.write(".dci/aliases.v1.json", json.dumps(table))


def provider(workspace: Workspace, contract: str) -> None:
    workspace.skill("looker", extra=f"metadata:\n  contract: {contract}")


@pytest.fixture
def catalog(workspace: Workspace) -> Catalog:
    workspace.trust()
    return Catalog.open(workspace.root, config=Config(host_folders=False))


@pytest.mark.invariant(id="DCI-ALS-006")
def test_another_alias_table_counts_at_the_next_run_without_a_refresh(
    workspace: Workspace, catalog: Catalog
) -> None:
    provider(workspace, "DCI/1 P(page-lookup)")
    with catalog:
        catalog.refresh()
        assert catalog.resolve(["site-search"]).selected == ()
        aliases(workspace, "7", site_search=["page-lookup"])
        made = catalog.resolve(["site-search"])
        assert made.selected == ("looker::skills/looker",)
        assert made.report.data["diagnostics"]["alias_tables"]["workspace"] == "7"
        aliases(workspace, "8", site_search=["other-thing"])
        assert catalog.resolve(["site-search"]).selected == ()


@pytest.mark.invariant(id="DCI-CACHE-002")
def test_what_is_kept_of_a_candidate_is_kept_under_its_file_its_hash_and_the_reader(
    workspace: Workspace, catalog: Catalog
) -> None:
    provider(workspace, "DCI/1 P(page-lookup)")
    with catalog:
        catalog.refresh()
        [(path, sha256)] = catalog.store.rows("SELECT path, sha256 FROM document")
        assert path == "skills/looker/SKILL.md"
        assert len(sha256) == 64
        assert catalog.store.setting("reader").startswith(reading.READER_VERSION)
        first = catalog.resolve(["page-lookup"])
        second = catalog.resolve(["page-lookup"])
        assert second.pool is first.pool


@pytest.mark.invariant(id="DCI-CACHE-003")
def test_a_changed_contract_counts_after_the_refresh_that_sees_it(
    workspace: Workspace, catalog: Catalog
) -> None:
    provider(workspace, "DCI/1 P(page-lookup)")
    with catalog:
        catalog.refresh()
        assert catalog.resolve(["page-lookup"]).selected
        provider(workspace, "DCI/1 P(page-drawing)")
        catalog.refresh()
        assert not catalog.resolve(["page-lookup"]).selected
        assert catalog.resolve(["page-drawing"]).selected


@pytest.mark.invariant(id="DCI-CACHE-003")
def test_another_reader_forgets_everything(
    workspace: Workspace, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider(workspace, "DCI/1 P(page-lookup)")
    with catalog:
        catalog.refresh()
        catalog.store.connection.execute("UPDATE document SET claims = '', capabilities = '[]'")
        assert not catalog.resolve(["page-lookup"]).selected
        monkeypatch.setattr(reading, "READER_VERSION", "another")
        catalog.refresh()
        assert catalog.resolve(["page-lookup"]).selected


@pytest.mark.invariant(id="DCI-CACHE-001")
def test_a_warm_and_a_cold_run_give_the_same_report(workspace: Workspace) -> None:
    provider(workspace, "DCI/1 P(page-lookup)")
    workspace.skill("reader", "Looks up a page in a book. Use it for pages.")
    reports = []
    for _ in range(2):
        with Catalog.open(workspace.root, config=Config(host_folders=False)) as catalog:
            catalog.refresh()
            reports += [catalog.resolve(["page-lookup"]).report.data for _ in range(2)]
    for report in reports:
        report.pop("run_id")
        report.pop("generated_at")
    assert reports == [reports[0]] * 4


def test_among_some_skills_descriptions_count_as_they_do_among_all(
    workspace: Workspace, catalog: Catalog
) -> None:
    """A skill of words alone is found by its description, whoever else may serve."""
    workspace.skill("drawer", "Draws a bar chart of figures. Use it.")
    workspace.skill("other", "Sends mail. Use it.")
    with catalog:
        catalog.refresh()
        everyone = catalog.resolve(["bar-chart"], policy=PRESETS["prose"])
        both = catalog.resolve(["bar-chart"], policy=PRESETS["prose"], only=["drawer", "other"])
        alone = catalog.resolve(["bar-chart"], policy=PRESETS["prose"], only=["drawer"])
        assert everyone.selected == both.selected == alone.selected
        assert [row["S_desc"] for row in both.report.data["candidates"]] == [
            row["S_desc"] for row in everyone.report.data["candidates"]
        ]
        assert catalog.resolve(["bar-chart"], only=["other"]).selected == ()


def test_a_contract_is_parsed_by_a_refresh_and_not_again_by_a_resolution(
    workspace: Workspace, catalog: Catalog
) -> None:
    provider(workspace, "DCI/1 P(page-lookup)")
    with catalog:
        catalog.refresh()
        catalog.store.connection.execute("UPDATE document SET data = '{}'")
        assert catalog.resolve(["page-lookup"]).selected == ("looker::skills/looker",)


def test_claims_are_found_by_an_index(catalog: Catalog) -> None:
    with catalog:
        plan = catalog.store.rows(f"EXPLAIN QUERY PLAN {CLAIMS}")
    assert "document_by_claims" in str(plan)
