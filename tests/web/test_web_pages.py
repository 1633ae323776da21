"""The pages of the inspector: what each says, and that its JSON says the same."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Workspace
from mcp_served import example, own_home
from metier.catalog import Catalog
from metier.errors import REFRESH_HINT, RUNS_HINT, StoreError
from metier.flow.usage_kept import kept_with
from metier.flow.usage_sessions import SessionUse
from metier.hosts.events import Fired
from metier.storage.places import state_room
from metier.web.app import all_actions, all_pages
from metier.web.marking import marked_words
from metier.web.pictures import Part, columns, stacked
from metier.web.query import Query, address
from metier.web.words import in_browser
from web_served import Inspected, inspected

QUERIES = {
    "competing": "?id=summarize",
    "document": "?kind=skill&id=summarize",
    "which": "?task=summarize",
}
"""What pages need that show nothing without a query."""
CONTRACT = "metadata:\n  contract: 'DCI/1 P(web-search) R(summarization)'"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspected]:
    """The example workspace, which its user trusts."""
    with own_home(tmp_path_factory.mktemp("home")):
        root = example(tmp_path_factory.mktemp("site"))
        with inspected(root) as made:
            yield made


@pytest.mark.parametrize("page", all_pages(), ids=lambda page: page.name)
def test_every_page_has_a_permalink_a_json_twin_and_one_heading(
    site: Inspected, page: object
) -> None:
    name = page.name  # type: ignore[attr-defined]
    text = site.page(f"/{name}{QUERIES.get(name, '')}")
    assert text.count("<h1") == 1
    assert f'href="/{name}.json' in text
    assert '<a class="skip" href="#main">' in text
    assert '<html lang="en">' in text
    assert isinstance(site.json(f"/{name}.json{QUERIES.get(name, '')}"), dict)


def test_names_of_pages_and_actions_are_unique() -> None:
    names = [page.name for page in all_pages()]
    assert sorted(set(names)) == sorted(names)
    assert len({action.name for action in all_actions()} | {"refresh"}) == len(all_actions()) + 1


def test_the_first_page_is_the_overview(site: Inspected) -> None:
    assert site.client.get("/").headers["location"] == "/overview"


def test_an_unknown_page_and_document_are_told(site: Inspected) -> None:
    assert "NOT_FOUND" in site.page("/nothing", 404)
    assert "no skill is called &#39;nobody&#39;" in site.page("/document", 404, id="nobody")
    found = site.json("/document.json", 404, id="nobody")
    assert found["error"]["code"] == "NOT_FOUND"
    assert site.json("/document.json", 400)["error"]["message"] == "no document is named"
    assert site.json("/catalog.json", 400, page="x")["error"]["code"] == "USAGE"


# Overview


def test_the_overview_says_a_reason_for_exclusion_once(workspace: Workspace) -> None:
    for name in ("one", "two"):
        workspace.write(f"skills/{name}/SKILL.md", "No front matter.\n")
    with inspected(workspace.root) as made:
        page = made.page("/overview")
    assert page.count("the file has no front matter") == 1
    assert page.index("skills/one/SKILL.md") < page.index("skills/two/SKILL.md")


@pytest.mark.parametrize("part", ["div#answer", "div#found", "", "div", 'div#"><script>', "div#A"])
def test_an_error_is_shown_where_htmx_puts_the_answer(site: Inspected, part: str) -> None:
    headers = {"HX-Request": "true", "HX-Target": part}
    found = site.client.get("/document?kind=skill&id=nobody", headers=headers)
    assert found.status_code == 404
    assert "no skill is called" in found.text
    known = part in ("div#answer", "div#found")
    assert (f'<div id="{part[4:]}" aria-live' in found.text) == known


def test_the_overview_counts_documents_and_says_how_to_fix_what_is_excluded(
    workspace: Workspace,
) -> None:
    workspace.skill("one")
    workspace.skill("one", folder="skills/copy")
    workspace.write("skills/bad/SKILL.md", b"\xff\xfe\x00")
    with inspected(workspace.root) as made:
        found = made.json("/overview.json")
        kinds = {one["kind"]: one for one in found["kinds"]}
        assert kinds["skill"]["active"] == 1
        assert found["excluded"]["total"] == 2
        hints = {one["path"]: one["hint"] for one in found["excluded"]["files"]}
        assert hints["skills/one/SKILL.md"] or hints["skills/copy/SKILL.md"]
        text = made.page("/overview")
        assert "skills/bad/SKILL.md" in text
        assert "Excluded, and how to fix it" in text


def test_the_overview_shows_excluded_files_of_each_reason(workspace: Workspace) -> None:
    for number in range(20):
        workspace.write(f"skills/bad-{number}/SKILL.md", b"\xff\xfe\x00")
    workspace.skill("off", extra="enabled: false")
    with inspected(workspace.root) as made:
        found = made.json("/overview.json")["excluded"]
        [many, few] = found["reasons"].items()
        assert (many[1], few) == (20, ("disabled", 1))
        shown = [one["reason"] for one in found["files"]]
        assert (shown.count(many[0]), shown.count("disabled")) == (4, 1)
        assert "and 16 more" in made.page("/overview")


def test_the_overview_shows_excluded_files_of_each_finding(workspace: Workspace) -> None:
    for number in range(20):
        workspace.write(f"skills/bare-{number}/SKILL.md", "Draws charts.\n")
    workspace.write("skills/open/SKILL.md", "---\nname: open\n")
    workspace.write("skills/zero/SKILL.md", "")
    with inspected(workspace.root) as made:
        found = made.json("/overview.json")["excluded"]
    assert list(found["reasons"].values()) == [22]
    details = [one["detail"] for one in found["files"]]
    assert (len(details), len(set(details))) == (8, 3)


def test_joined_emoji_are_one_picture_and_other_joiners_are_seen(workspace: Workspace) -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    workspace.skill("one", f"Draw {family} and hide a\u200db when asked to draw.")
    with inspected(workspace.root) as made:
        page = made.page("/document", kind="skill", id="one")
    assert f"Draw {family} and hide a\\u200db when" in page
    assert page.count("\u200d") == page.count(family) * 2


def test_the_overview_shows_the_listing_budget_of_hosts(
    workspace: Workspace, empty_home: Path
) -> None:
    workspace.skill("one", folder=".claude/skills/one")
    with inspected(workspace.root, host_folders=True) as made:
        [host] = made.json("/overview.json")["hosts"]
        assert host["host"] == "claude-code"
        assert host["counts"]["whole"] == 1
        assert 'aria-label="Claude Code: fits' in made.page("/overview")


def test_runs_and_hooks_appear_without_a_change_of_the_catalog(workspace: Workspace) -> None:
    workspace.skill("one")
    with inspected(workspace.root) as made:
        assert made.json("/overview.json")["hooks"]["requests"] == 0
        assert "No agent has run yet" in made.page("/overview")


# Which


def test_which_says_who_fires_and_who_lost_and_why(site: Inspected) -> None:
    found = site.json("/which.json", task="write release notes for the new version")
    assert found["answer"]["named"] == ["release-notes"]
    first, *others = found["skills"]
    assert first["isNamed"]
    assert first["why"] == ""
    assert others
    assert all(one["why"] for one in others)
    assert sum(first["parts"].values()) == pytest.approx(first["evidence"], abs=1e-4)
    text = site.page("/which", task="write release notes for the new version")
    assert '<mark class="matched">release</mark>' in text
    assert "threshold 2.85" in text
    assert "metier which -- &#39;write release notes for the new version&#39;" in text


def test_which_says_what_would_make_another_win(site: Inspected) -> None:
    found = site.json("/which.json", task="search for prices", expect="changelog")
    assert found["answer"]["expectation"]["name"].endswith("changelog")
    assert found["answer"]["expectation"]["missing"]
    assert "How to make" in site.page("/which", task="search for prices", expect="changelog")


def test_which_shows_what_a_misspelt_word_probably_means(site: Inspected) -> None:
    text = site.page("/which", task="the enviroment of the priices", expect="changelog")
    assert "<code>enviroment</code> (environment), <code>priices</code> (prices)." in text


def test_which_without_a_prompt_is_an_empty_form(site: Inspected) -> None:
    text = site.page("/which")
    assert "<textarea" in text
    assert "metier which" not in text
    assert site.json("/which.json")["answer"] is None


def test_which_rejects_an_unknown_host(site: Inspected) -> None:
    assert site.json("/which.json", 400, task="x", host="nobody")["error"]["code"] == "USAGE"


@pytest.mark.parametrize("typed", ["rele", "Release Notes", "release-nots"])
def test_which_answers_without_a_skill_that_is_unknown_and_names_the_nearest(
    site: Inspected, typed: str
) -> None:
    task = "write release notes"
    found = site.json("/which.json", task=task, expect=typed)
    assert found["answer"] == site.json("/which.json", task=task)["answer"]
    assert found["unknown"]["near"] == ["release-notes"]
    text = site.page("/which", task=task, expect=typed)
    assert f"No skill is called &#39;{typed}&#39;. Nearest: <a" in text
    assert 'href="/which?task=write+release+notes&amp;expect=release-notes"' in text
    assert f'name="expect" value="{typed}"' in text
    assert 'data-copy="metier which -- &#39;write' in text
    assert site.json("/which.json", task=task, expect="release-notes")["unknown"] is None


@pytest.mark.parametrize("path", ["/which?task=x+y&expect=zz9", "/document?id=zz9", "/run?id=zz9"])
def test_hints_are_for_a_browser(site: Inspected, path: str) -> None:
    text = site.client.get(path).text
    assert "zz9&#39;" in text
    assert "lists all" in text
    assert "Python" not in text
    assert "metier list skills" not in text


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (REFRESH_HINT, "the button Refresh reads the documents again"),
        (RUNS_HINT, "the page Runs lists all"),
        (
            "metier list skills (Python: catalog.names('skill'))",
            "the page Catalog lists all skills",
        ),
        ("name a capability with -r (Python: requires=[…])", "name a capability in the form"),
        ("metier trust", "metier trust"),
    ],
)
def test_a_hint_names_pages_instead_of_commands(hint: str, expected: str) -> None:
    assert in_browser(hint) == expected


# Catalog


def names(found: object) -> list[str]:
    return [one["name"] for one in found["documents"]["rows"]]  # type: ignore[index]


def test_the_catalog_filters_sorts_and_pages(site: Inspected) -> None:
    everything = site.json("/catalog.json", size="500")
    assert everything["documents"]["total"] == len(everything["documents"]["rows"])
    cards = site.json("/catalog.json", kind="card")
    assert {one["kind"] for one in cards["documents"]["rows"]} == {"card"}
    falling = site.json("/catalog.json", size="500", sort="-name")
    assert names(falling) == sorted(names(everything), key=str.lower, reverse=True)
    pages = [names(site.json("/catalog.json", size="7", page=str(one))) for one in (1, 2, 3)]
    assert [*pages[0], *pages[1], *pages[2]] == names(everything)[:21]
    assert names(site.json("/catalog.json", page="99")) == []


def test_the_facet_of_hosts_is_about_hooks_which_name_skills_that_no_host_loads(
    site: Inspected,
) -> None:
    facets = {one["name"]: one for one in site.json("/catalog.json")["facets"]}
    assert facets["host"]["title"] == "Named by hooks of"
    for one in facets["host"]["values"]:
        found = site.json("/catalog.json", host=one["value"], size="500")["documents"]["rows"]
        assert {row["kind"] for row in found} == {"skill"}
        assert one["documents"] == len(found)


def test_facets_count_what_fits_all_others(site: Inspected) -> None:
    found = site.json("/catalog.json", kind="skill")
    facets = {
        one["name"]: {v["value"]: v["documents"] for v in one["values"]} for one in found["facets"]
    }
    everything = site.json("/catalog.json")["documents"]["total"]
    assert sum(facets["kind"].values()) == everything
    chosen = site.json("/catalog.json", kind="skill", capability="web-search")
    assert chosen["documents"]["total"] == facets["capability"]["web-search"]
    code, times = next(iter(facets["finding"].items()))
    assert site.json("/catalog.json", kind="skill", finding=code)["documents"]["total"] == times


def test_documents_are_filtered_by_the_agents_they_belong_to(workspace: Workspace) -> None:
    workspace.skill("named")
    workspace.skill("other")
    workspace.write("abilities/core.md", "---\nabilityId: core\n---\nAlways.\n")
    workspace.write("abilities/mine.md", "---\napplicableTo: [bob]\n---\nFor Bob.\n")
    workspace.write("abilities/all.md", "---\napplicableTo: ['*']\n---\nFor all.\n")
    for name, more in (
        ("bob", {"skills": ["named"], "abilities": {"core": ["core"]}}),
        ("eve", {}),
    ):
        profile = {"agentId": name, "version": "1.0.0", "description": "Helps.", **more}
        workspace.write(f"agents/{name}.json", json.dumps({**profile, "systemPrompt": "Do."}))
    with inspected(workspace.root) as made:
        found = made.json("/catalog.json", agent="bob")
        assert sorted(names(found)) == ["bob", "core", "mine", "named"]
        assert names(made.json("/catalog.json", agent="bob", kind="skill")) == ["named"]
        [facet] = [one for one in found["facets"] if one["name"] == "agent"]
        values = {one["value"]: one["documents"] for one in facet["values"]}
        assert values == {"bob": 4, "eve": 1}
        assert names(made.json("/catalog.json", agent="nobody")) == []


def test_files_without_a_name_come_last(workspace: Workspace) -> None:
    workspace.skill("named")
    workspace.write("skills/bad/SKILL.md", "no front matter")
    with inspected(workspace.root) as made:
        assert names(made.json("/catalog.json")) == ["named", "skills/bad/SKILL.md"]
        assert names(made.json("/catalog.json", sort="-name"))[-1] == "skills/bad/SKILL.md"


def test_the_catalog_is_searched_by_the_ranker(site: Inspected) -> None:
    found = site.json("/catalog.json", search="write release notes", kind="skill")
    assert names(found)[0] == "release-notes"
    assert found["documents"]["sort"] == "best"
    assert names(site.json("/catalog.json", search="zzzqqq")) == []


def test_a_facet_links_to_its_addition_and_removal(site: Inspected) -> None:
    text = site.page("/catalog", kind="card")
    assert 'class="chosen" aria-current="true"' in text
    assert 'href="/catalog?kind=card&amp;kind=skill"' in text
    assert "metier list cards" in text


@pytest.mark.parametrize(
    ("chosen", "command"),
    [
        ({"state": "excluded"}, "metier list skills --excluded"),
        ({"state": "shadowed", "search": "log"}, "metier list skills --search=log --shadowed"),
        ({"state": "excluded", "search": "log"}, "metier list skills --search=log"),
    ],
)
def test_the_command_of_the_catalog_takes_over_its_filters(
    site: Inspected, chosen: dict[str, Any], command: str
) -> None:
    assert f"<code>{command}</code>" in site.page("/catalog", **chosen)


@pytest.mark.parametrize(
    "query", ["kind=nothing", "finding=XX999", "host=nobody", "state=%27%20OR%201=1"]
)
def test_a_value_that_no_document_has_finds_nothing(site: Inspected, query: str) -> None:
    found = site.client.get(f"/catalog.json?{query}")
    assert found.status_code == 200
    assert found.json()["documents"]["total"] == 0


# Document


def test_a_document_shows_contract_findings_hosts_and_who_requires_it(workspace: Workspace) -> None:
    workspace.skill("search", extra=CONTRACT, folder=".claude/skills/search", body="# Do\n\n- it")
    needs = "metadata:\n  contract: 'DCI/1 P(report) R(web-search)'"
    workspace.skill("report", extra=needs)
    workspace.skill("Bad_Name")
    with inspected(workspace.root, host_folders=True) as made:
        found = made.json("/document.json", kind="skill", id="search")
        assert {one["clause"]: one["values"] for one in found["contract"]} == {
            "P": ["web-search"],
            "R": ["summarization"],
        }
        assert found["capabilities"] == [{"name": "web-search", "requiredBy": ["report"]}]
        hosts = {one["host"]: one for one in found["hosts"]}
        assert hosts["claude-code"]["listed"] == "whole"
        assert hosts["codex"]["state"] == "elsewhere"
        text = made.page("/document", kind="skill", id="search")
        assert "<h3>Do</h3>" in text
        assert "shown whole" in text
        bad = made.json("/document.json", kind="skill", id="Bad_Name")
        assert all(one["hint"] for one in bad["findings"])
        assert bad["findings"]


@pytest.mark.parametrize(("kind", "wanted"), [("ability", "code-review"), ("agent", "reviewer")])
def test_documents_of_every_kind_are_shown(site: Inspected, kind: str, wanted: str) -> None:
    assert site.json("/document.json", kind=kind, id=wanted)["id"] == wanted
    assert wanted in site.page("/document", kind=kind, id=wanted)


def test_an_agent_is_shown_with_the_plan_of_its_workflow(workspace: Workspace) -> None:
    step = "{stepId: read, type: prompt, config: {prompt: Read}}"
    after = "{stepId: judge, type: prompt, dependencies: [read], config: {prompt: Judge}}"
    workspace.write(
        "agents/judge.yaml",
        f"agentId: judge\nversion: 1.0.0\ndescription: Judges.\nsystemPrompt: Judge well.\n"
        f"execution: parallel\nworkflow:\n- {step}\n- {after}\n",
    )
    with inspected(workspace.root) as site:
        found = site.json("/document.json", kind="agent", id="judge")
        layers = found["plan"]["layers"]
        assert [[one["stepId"] for one in layer] for layer in layers] == [["read"], ["judge"]]
        page = site.page("/document", kind="agent", id="judge")
    assert 'aria-label="Plan of judge:' in page
    assert page.count("Judge well.") == 1
    assert "/runs?agent=judge" in page


def test_a_document_that_was_removed_is_told(workspace: Workspace) -> None:
    file = workspace.skill("one")
    with inspected(workspace.root) as made:
        file.unlink()
        assert "cannot be read" in made.page("/document", kind="skill", id="one")


# What is in force


def test_a_refresh_shows_what_changed(workspace: Workspace) -> None:
    workspace.skill("one")
    with inspected(workspace.root) as made:
        workspace.skill("two")
        assert names(made.json("/catalog.json")) == ["one"]
        assert made.post("/do/refresh", back="/catalog").status_code == 303
        assert names(made.json("/catalog.json")) == ["one", "two"]


def test_outside_a_workspace_pages_are_shown_from_memory(tmp_path: Path) -> None:
    with inspected(tmp_path) as made:
        assert made.page("/overview")


def test_an_untrusted_workspace_is_restricted(workspace: Workspace) -> None:
    workspace.skill("one")
    workspace.write("metier.toml", "[tools.x]\nargv = ['x']\n")
    with inspected(workspace.root, trust="none") as made:
        text = made.page("/overview")
        assert "Restricted." in text
        assert "metier trust" in text
        assert made.json("/overview.json")["isRestricted"]
        assert ">one</a>" in made.page("/catalog")
        assert "untrusted" in made.page("/document", kind="skill", id="one")
        assert not (workspace.state / "catalog.db").exists()
    workspace.trust()
    with inspected(workspace.root) as made:
        assert "Restricted." not in made.page("/overview")


def test_pages_cannot_write_to_the_catalog(workspace: Workspace) -> None:
    workspace.skill("one")
    with inspected(workspace.root) as made:
        reading = made.reading
        catalog: list[bool] = []

        def look(found: Catalog) -> None:
            catalog.append(found.store.is_read_only)
            with pytest.raises(StoreError, match="cannot be written"):
                found.store.remember("a", "b")

        made.client.portal.call(reading.ask, look)  # type: ignore[union-attr]
        assert catalog == [True]


# The parts of pages


def test_pictures_have_a_text_and_no_style() -> None:
    drawn = [
        stacked([Part("<b>", 1), Part("two", 2)], 4, mark=2.5, label="sum"),
        columns([("mon", 1), ("tue", 0)], label="days"),
    ]
    for one in drawn:
        assert 'role="img"' in one
        assert "<title>" in one
        assert "style=" not in one
        assert "<b>" not in one
    assert "<span>mon</span><span>highest 1</span><span>tue</span>" in drawn[1]
    heights = re.findall(r'<rect class="(\w+)" [^>]* height="([\d.]+)"', drawn[1])
    assert heights == [("ground", "1"), ("t1", "48.00"), ("ground", "1"), ("t1", "0.00")]
    assert "sum: &lt;b&gt; 1, two 2; threshold 2.50" in drawn[0]


def test_addresses_are_encoded() -> None:
    assert address("which", task="a&b=c #1") == "/which?task=a%26b%3Dc+%231"
    assert (
        address("catalog", Query([("kind", "card"), ("page", "3")]), page=None)
        == "/catalog?kind=card"
    )


def test_marked_pieces_add_up_to_the_text() -> None:
    text = "Write the release-notes, please.\nRelease!"
    pieces = marked_words(text, {"releas"}, {"write"})
    assert "".join(one["text"] for one in pieces) == text
    assert [one["text"] for one in pieces if one["mark"] == "matched"] == ["release", "Release"]
    assert json.dumps(pieces)
    assert re.search("Write", text)


def test_a_document_shows_how_often_it_was_used(workspace: Workspace) -> None:
    workspace.skill("one")
    workspace.skill("two")
    with inspected(workspace.root) as made:
        assert "Not counted yet" in made.page("/document", kind="skill", id="one")
        use = SessionUse("claude-code", "s")
        use.fired("one", Fired("one", "", 1_700_000_000.0, "model", "1"), None)
        kept_with(state_room(str(workspace.root)), [use])
        found = made.json("/document.json", kind="skill", id="one")["usage"]
        assert (found["sessions"], found["model"], found["user"]) == (1, 1, 0)
        assert "Fired 1 time in 1 session" in made.page("/document", kind="skill", id="one")
        assert "It never fired" in made.page("/document", kind="skill", id="two")


def test_a_skill_is_compared_with_all_others(workspace: Workspace) -> None:
    text = "Write release notes for customers. Use when a version is about to be released."
    workspace.skill("notes", text)
    workspace.skill("announce", text.replace("customers", "users"))
    workspace.skill("sql", "Query the reporting database. Use for questions about orders.")
    with inspected(workspace.root) as made:
        found = made.json("/competing.json", id="notes")
        assert [one["other"] for one in found["pairs"]] == ["announce"]
        assert "announce" in made.page("/competing", id="notes")
        assert "No skill overlaps" in made.page("/competing", id="sql")
        assert made.json("/competing.json", 400)["error"]["code"] == "USAGE"


def test_competing_skills_are_shown_with_what_separates_them(workspace: Workspace) -> None:
    text = "Write release notes for customers"
    for name in ("notes", "announce"):
        workspace.skill(name, f"{text}.")
    workspace.skill("digest", f"{text} as a weekly digest of the changelog.")
    with inspected(workspace.root) as made:
        found = made.json("/competing.json", id="digest", least="30")
        page = made.page("/competing", id="digest", least="30")
        assert f"--at-least={found['least']:g} --limit=5" in page
    assert found["least"] == 0.3
    assert found["pairs"]
    for pair in found["pairs"]:
        assert pair["advice"]
        assert pair["advice"] in page
        for edit in pair["edits"]:
            assert f"In <code>{edit['skill']}</code>" in page


def test_a_document_says_that_its_file_is_not_utf8(workspace: Workspace) -> None:
    front = "---\nname: latin\ndescription: Pr\xfcft Rechnungen auf Fehler.\n---\n"
    workspace.write("skills/latin/SKILL.md", f"{front}Pr\xfcft die Rechnung.\n".encode("latin-1"))
    workspace.skill("plain")
    with inspected(workspace.root) as made:
        assert "The file is not UTF-8" in made.page("/document", id="latin")
        assert "The file is not UTF-8" not in made.page("/document", id="plain")
