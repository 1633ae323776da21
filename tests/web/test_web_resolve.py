"""Resolve, its reports, and Inject: what the pages of the inspector say, and what they change."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from markupsafe import escape

from conftest import Workspace
from mcp_served import example, own_home
from metier.errors import NotFoundError
from metier.flow.injected_parts import messages_of
from metier.web.pages.inject import LONGEST_ADDRESS
from metier.web.pasted import MOST, Pasted
from metier.web.pictures_resolve import score_bar
from metier.web.query import address
from metier.web.question import Question
from metier.web.spec_words import in_words
from web_served import Inspected, inspected

ASKED: dict[str, Any] = {"require": "web-search,summarization"}
HOSTILE = "<script>alert(1)</script>\u202e"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspected]:
    """The example workspace, which its user trusts."""
    with own_home(tmp_path_factory.mktemp("home")):
        root = example(tmp_path_factory.mktemp("site"))
        with inspected(root) as made:
            yield made


def contract(text: str) -> str:
    return f"metadata:\n  contract: '{text}'"


def asked_for(skill: str) -> dict[str, Any]:
    return {"for": skill}


def stored(made: Inspected, question: str) -> str:
    """The id of a new report."""
    found = made.post("/do/store-report", question=question)
    assert found.status_code == 303, found.text
    [report] = parse_qs(urlsplit(found.headers["location"]).query)["id"]
    return str(report)


# Resolve


def test_a_hint_names_fields_of_the_form_instead_of_options(workspace: Workspace) -> None:
    workspace.skill("web-search", "Search the web. Use it for any web search.")
    with inspected(workspace.root) as made:
        for mode in ("best-effort", "strict"):
            [note] = made.json("/resolve.json", require="web-search", mode=mode)["answer"]["notes"]
            assert "the preset prose" in note
            assert "--" not in note


def test_resolve_ranks_candidates_by_stacked_parts_and_shows_penalties_and_gates(
    site: Inspected,
) -> None:
    answer = site.json("/resolve.json", **ASKED)["answer"]
    assert answer["outcome"] == "not-needed"
    first = answer["candidates"][0]
    assert (first["handle"], first["rank"], first["isSelected"]) == ("do-everything", 1, True)
    parts = sum(one["weight"] * one["value"] for one in first["parts"])
    assert parts == pytest.approx(first["total"])
    assert parts - sum(first["penalties"].values()) == pytest.approx(first["final"])
    assert {gate["name"] for gate in first["gates"]} >= {"min-total-score", "min-contract-score"}
    assert "before log-search" in first["tieBreak"]
    text = site.page("/resolve", **ASKED)
    assert 'class="lost"' in text
    assert "inflation −0.15" in text
    assert "metier resolve --require=web-search --require=summarization" in text


def test_words_come_first_and_the_terms_of_the_specification_after(site: Inspected) -> None:
    text = site.page("/resolve", require="nothing-has-it,web-search")
    assert '<span class="badge warn">decision needed</span>' in text
    assert "decision needed (what is missing may be emulated)" in text
    assert '<span class="term">pending-decision, offer-emulation</span>' in text
    assert "is below the required 0.60" in text
    assert "--policy" not in text.partition('<div id="answer"')[2].partition("<h2")[0]


@pytest.mark.parametrize(
    ("text", "words", "terms"),
    [
        (
            "S_contract 0.25 is below min-contract-score 0.30",
            "contract score 0.25 is below the required 0.30",
            "S_contract, min-contract-score",
        ),
        (
            "S_total_final 0.4 is below the min-total-score 0.50 that it sets itself",
            "final score 0.4 is below the 0.50 that it sets itself",
            "S_total_final, min-total-score",
        ),
        (
            "below min-contract-score 0.30",
            "below the required contract score of 0.30",
            "min-contract-score",
        ),
        (
            "runtime-incompatible: it does not list codex",
            "made for other runtimes: it does not list codex",
            "runtime-incompatible",
        ),
        ("web-cache (fuzzy: web-searching)", "web-cache (fuzzy: web-searching)", ""),
    ],
)
def test_terms_of_the_specification_are_said_in_words(text: str, words: str, terms: str) -> None:
    assert in_words(text) == (words, terms)


def test_the_matrix_has_a_cell_for_each_capability_and_candidate(site: Inspected) -> None:
    matrix = site.json("/resolve.json", **ASKED)["answer"]["matrix"]
    assert [row["capability"] for row in matrix["rows"]] == ["web-search", "summarization"]
    assert all(len(row["cells"]) == len(matrix["candidates"]) for row in matrix["rows"])
    at = matrix["candidates"].index("summarize")
    assert matrix["rows"][0]["cells"][at]["match"] == "none"
    assert matrix["rows"][1]["cells"][at]["match"] == "exact"


def test_resolve_without_a_question_is_a_form_that_completes_capabilities(site: Inspected) -> None:
    text = site.page("/resolve")
    assert '<option value="web-search">' in text
    assert 'href="/resolve?require=web-search"' in text
    assert "metier resolve" not in text
    assert site.json("/resolve.json")["answer"] is None


def test_what_if_compares_with_the_question_before(site: Inspected) -> None:
    was = "require=web-search&require=summarization"
    asked: dict[str, Any] = {**ASKED, "selection-mode": "cover", "min-total-score": "0.55"}
    found = site.json("/resolve.json", **asked, was=was)["before"]
    assert {one["key"]: (one["old"], one["new"]) for one in found["policy"]} == {
        "min-total-score": (0.45, 0.55),
        "selection-mode": ("single", "cover"),
    }
    assert found["selected"][0] == ["do-everything"]
    assert found["selected"][1] == ["summarize", "searx-search"]
    moves = {one["name"]: (one["old_rank"], one["new_rank"]) for one in found["moves"]}
    assert moves["do-everything"] == (1, None)
    assert moves["summarize"] == (None, 1)
    assert "log-search" not in moves
    assert "Compared with before" in site.page("/resolve", **asked, was=was)
    link = "was=require%3Dweb-search%252Csummarization"
    assert link in site.page("/resolve", **ASKED)
    site.json("/resolve.json", 400, **ASKED, was="mode=strict")


def test_every_option_of_the_command_can_be_asked_and_copied(site: Inspected) -> None:
    asked: dict[str, Any] = {
        **ASKED,
        "query": "find prices",
        "mode": "strict",
        "host": "codex",
        "preset": "prose",
        "max-candidates": "3",
        "depth": "1",
        "no-divergence": "1",
        "full": "1",
        "decision": "abort",
    }
    found = site.json("/resolve.json", **asked)
    assert found["answer"]["policy"]["min-total-score"] == 0.3
    assert found["answer"]["policy"]["max-candidates"] == 3
    assert found["everyone"]["total"] == 16
    text = site.page("/resolve", **asked)
    command = (
        "--mode=strict --host=codex --policy=prose --policy=max-candidates=3 --decision=abort"
        " --depth=1 --no-divergence --full-report -- &#39;find prices&#39;"
    )
    assert command in text


def test_a_skills_own_requirements_are_resolved(workspace: Workspace) -> None:
    workspace.skill("search", extra=contract("DCI/1 P(web-search)"))
    workspace.skill("report", extra=contract("DCI/1 P(report) R(web-search)"))
    with inspected(workspace.root) as made:
        answer = made.json("/resolve.json", **asked_for("report"))["answer"]
        assert answer["required"] == ["web-search"]
        assert answer["selected"] == ["search::skills/search"]
        assert made.json("/resolve.json", 404, **asked_for("nobody"))["error"]["hint"]


def test_what_providers_require_is_shown_as_a_tree(workspace: Workspace) -> None:
    workspace.skill("search", extra=contract("DCI/1 P(web-search) R(fetching)"))
    workspace.skill("fetch", extra=contract("DCI/1 P(fetching)"))
    with inspected(workspace.root) as made:
        [tree] = made.json("/resolve.json", require="web-search")["answer"]["trees"]
        assert tree["text"] == "search requires fetching"
        assert tree["below"][0]["text"] == "fetching ← fetch"


@pytest.mark.parametrize(
    "query",
    [
        {"min-total-score": "2"},
        {"max-candidates": "0"},
        {"mode": "sometimes"},
        {"depth": "9"},
        {"preset": "x"},
    ],
    ids=str,
)
def test_a_wrong_policy_is_told(site: Inspected, query: dict[str, Any]) -> None:
    assert site.json("/resolve.json", 400, **ASKED, **query)["error"]["code"] == "USAGE"


def test_a_question_survives_its_address() -> None:
    text = "require=a&require=b%2Cc&for=x&mode=strict&min-total-score=0.2&full=1"
    question = Question.from_text(text)
    assert question.requires == ("a", "b", "c")
    assert question.overrides == {"min-total-score": "0.2"}
    assert question.command()[:4] == ["resolve", "--require=a", "--require=b", "--require=c"]


# Reports


def test_a_stored_report_has_an_address_of_its_own(workspace: Workspace) -> None:
    workspace.skill("search", extra=contract("DCI/1 P(web-search)"))
    with inspected(workspace.root) as made:
        assert "No report is stored here yet" in made.page("/report")
        report = stored(made, "require=web-search")
        assert made.json("/report.json", id=report)["report"]["selected"] == [
            "search::skills/search"
        ]
        assert made.json("/report.json")["id"] == report
        [row] = made.json("/reports.json")["reports"]["rows"]
        assert (row["id"], row["outcome"], row["selected"]) == (report, "resolved", "search")
        assert f"metier reports show {report}" in made.page("/report", id=report)
        assert made.json("/report.json", 404, id="2020")["error"]["code"] == "NOT_FOUND"


def test_two_reports_are_compared(workspace: Workspace) -> None:
    workspace.skill("search", extra=contract("DCI/1 P(web-search)"))
    with inspected(workspace.root) as made:
        old = stored(made, "require=web-search")
        new = stored(made, "require=web-search&min-total-score=0.99")
        found = made.json("/reports.json", old=old, new=new)["difference"]
        assert not found["equal"]
        [change] = next(one for one in found["sections"] if one["title"] == "Policy")["changes"]
        assert change == {"key": "min-total-score", "old": "0.45", "new": "0.99"}
        [move] = found["moves"]
        assert (move["old_rank"], move["new_rank"]) == (1, None)
        assert f"metier reports diff {old} {new}" in made.page("/reports", old=old, new=new)
        same = stored(made, "require=web-search")
        assert made.json("/reports.json", old=old, new=same)["difference"]["equal"]
        assert "The same, except for id and time" in made.page("/reports", old=old, new=same)


def test_a_comparison_says_of_which_candidates_a_report_has_no_row(workspace: Workspace) -> None:
    gone = workspace.skill("gone", extra=contract("DCI/1 P(search)"))
    with inspected(workspace.root) as made:
        old = stored(made, "require=search")
        gone.unlink()
        workspace.skill("added", extra=contract("DCI/1 P(search)"))
        made.post("/do/refresh")
        page = made.page("/reports", old=old, new=stored(made, "require=search"))
    [lost] = re.findall(r'>gone</a>.*?<td class="long">(.*?)</td>', page, re.DOTALL)
    assert lost == "<del>passed</del> <ins>not listed</ins>"
    [won] = re.findall(r'>added</a>.*?<td class="long">(.*?)</td>', page, re.DOTALL)
    assert won == "<del>not listed</del> <ins>passes</ins>"


def test_a_pending_decision_is_taken_on_the_page(workspace: Workspace) -> None:
    workspace.skill("search", extra=contract("DCI/1 P(web-search)"))
    with inspected(workspace.root) as made:
        report = stored(made, "require=web-search&require=nothing-has-it")
        text = made.page("/report", id=report)
        assert 'value="continue-with-partial"' in text
        assert made.post("/do/decide-report", id=report, decision="maybe").status_code == 400
        found = made.post("/do/decide-report", id=report, decision="continue-with-partial")
        assert found.headers["location"] == f"/report?id={report}"
        decided = made.json("/report.json", id=report)["report"]
        assert decided["outcome"] == "continued-partial"
        assert not decided["isPending"]
        assert made.post("/do/decide-report", id=report, decision="abort").status_code == 400


def test_reports_are_stored_only_with_the_token_of_the_page(workspace: Workspace) -> None:
    workspace.skill("search", extra=contract("DCI/1 P(web-search)"))
    with inspected(workspace.root) as made:
        for name in ("store-report", "decide-report", "inject"):
            assert made.post(f"/do/{name}", csrf="", question="require=a").status_code == 403
            assert made.client.get(f"/do/{name}").status_code == 405
        assert made.post("/do/store-report", question="").status_code == 400
        assert made.json("/reports.json")["reports"]["total"] == 0


def test_outside_a_workspace_no_report_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with inspected(None) as made:
        assert "store-report" not in made.page("/resolve", require="a")
        assert made.post("/do/store-report", question="require=a").status_code == 400


# Recompute


def test_each_figure_is_recomputed_from_its_inputs(site: Inspected) -> None:
    found = site.json("/recompute.json", **ASKED, candidate="do-everything")
    [one] = found["candidates"]
    parts = {part["name"]: part for part in one["parts"]}
    assert parts["S_total"]["formula"] == "0.60 × 1 + 0.20 × 0 + 0.10 × 0 + 0.10 × 1"
    assert parts["penalties"]["formula"] == "0 + 0.05 + 0.15 + 0"
    assert parts["S_total_final"]["formula"] == "max(0, 0.7 - 0.2) × 1"
    assert any("BM25 over 16 texts" in note for note in parts["S_desc"]["notes"])
    text = site.page("/recompute", **ASKED, candidate="do-everything")
    assert 'id="S_total_final"' in text
    to = address("recompute", **ASKED, candidate="do-everything::skills/do-everything")
    assert f"{escape(to)}#S_desc" in site.page("/resolve", **ASKED)
    site.json("/recompute.json", 404, **ASKED, candidate="nobody")


def test_figures_of_a_stored_report_stay_when_skills_change(workspace: Workspace) -> None:
    skill = workspace.skill("search", extra=contract("DCI/1 P(web-search)"))
    with inspected(workspace.root) as made:
        report = stored(made, "require=web-search")
        skill.unlink()
        made.post("/do/refresh", back="/resolve")
        [one] = made.json("/recompute.json", id=report)["candidates"]
        assert one["selected"]
        assert f"metier reports explain {report}" in made.page("/recompute", id=report)
        assert made.json("/resolve.json", require="web-search")["answer"]["selected"] == []


# Inject


def test_inject_shows_the_exact_text_by_document(site: Inspected) -> None:
    asked: dict[str, Any] = {"task": "review this pull request for security problems"}
    found = site.json("/inject.json", **asked)["answer"]
    assert "".join(piece["text"] for piece in found["pieces"]) == found["text"]
    abilities = [piece["id"] for piece in found["pieces"] if piece["kind"] == "ability"]
    assert "code-review" in abilities
    assert sum(part["tokens"] for part in found["parts"]) >= found["tokens"] > 0
    text = site.page("/inject", **asked)
    assert "metier inject &#39;--task=review this pull request" in text
    assert 'aria-label="tokens of 10000: abilities' in text


def test_inject_leads_to_which_for_skills(workspace: Workspace) -> None:
    workspace.skill("notes", "Write release notes")
    with inspected(workspace.root) as made:
        text = made.page("/inject", task="write release notes")
    assert "Nothing is injected." in text
    assert "no ability and no card was left out" in text
    assert 'For skills: <a href="/which?task=write+release+notes">' in text


def test_inject_says_what_was_left_out_and_why(site: Inspected) -> None:
    asked: dict[str, Any] = {
        "task": "review this pull request for security problems",
        "budget": "400",
    }
    found = site.json("/inject.json", **asked)["answer"]
    assert found["budget"] == 400
    assert found["isTruncated"]
    rows = {row["id"]: row for row in found["leftOut"]["rows"]}
    assert rows["code-review"]["reason"] == "over-budget"
    assert rows["code-review"]["tokens"] > 0
    assert rows["trunk-releases"]["reason"] == "conflict"
    assert "--max-tokens=400" in site.page("/inject", **asked)


def test_cards_are_pieces_of_the_text(site: Inspected) -> None:
    asked: dict[str, Any] = {"task": "export the figures of this report with sql"}
    found = site.json("/inject.json", **asked)["answer"]
    cards = [piece for piece in found["pieces"] if piece["kind"] == "card"]
    assert "data-desk" in [piece["id"] for piece in cards]
    assert cards[0]["text"].startswith("<reference code=")
    assert "".join(piece["text"] for piece in found["pieces"]) == found["text"]
    assert 'class="piece card"' in site.page("/inject", **asked)


def test_a_missing_core_ability_means_that_nothing_is_injected(site: Inspected) -> None:
    found = site.json("/inject.json", task="review", core="nobody, code-review")["answer"]
    assert found["isFailed"]
    assert found["text"] == ""
    assert "ABILITY_NOT_FOUND" in site.page("/inject", task="review", core="nobody")


def test_an_agent_adds_its_core_abilities(site: Inspected) -> None:
    found = site.json("/inject.json", task="hello", agent="reviewer")["answer"]
    assert [one["id"] for one in found["abilities"]["rows"] if one["isInjected"]]
    unknown = site.json("/inject.json", task="hello", agent="reviewr")["answer"]
    assert "did you mean 'reviewer'?" in unknown["notes"][0]


def test_a_short_conversation_has_an_address_and_a_long_one_a_key(site: Inspected) -> None:
    short = site.post("/do/inject", task="review this", agent="reviewer", budget="")
    assert short.headers["location"] == "/inject?task=review+this&agent=reviewer"
    text = "review this pull request " * 400
    assert len(text) > LONGEST_ADDRESS
    to = site.post("/do/inject", task=text, budget="5000").headers["location"]
    assert to.startswith("/inject?pasted=")
    assert len(to) < 100
    found: Any = site.client.get(to).text
    assert "metier inject --max-tokens=5000 --task=-" in found
    assert "kept in memory" in found
    assert site.json("/inject.json", 404, pasted="0" * 16)["error"]["hint"].startswith("paste it")


def test_only_the_latest_pasted_texts_are_kept() -> None:
    pasted = Pasted()
    keys = [pasted.keep(f"text {number}") for number in range(MOST + 1)]
    assert pasted.find(keys[-1]) == f"text {MOST}"
    with pytest.raises(NotFoundError, match="no longer kept"):
        pasted.find(keys[0])


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("one", ["one"]),
        ("one\n---\n two\nlines\n-----\n", ["one", "two\nlines"]),
        ("User: hi\nthere\n**Assistant:** yes\nuser: no", ["hi\nthere", "yes", "no"]),
        ("useful: this is no speaker", ["useful: this is no speaker"]),
        ("  \n", []),
    ],
)
def test_a_conversation_is_read_as_messages(text: str, messages: list[str]) -> None:
    assert messages_of(text) == messages


@pytest.mark.parametrize("query", [{"budget": "x"}, {"min-signal": "nan"}, {"session": "x"}])
def test_wrong_numbers_are_told(site: Inspected, query: dict[str, Any]) -> None:
    assert site.json("/inject.json", 400, task="a", **query)["error"]["code"] == "USAGE"


# What is hostile, and what is not trusted


def test_hostile_texts_are_escaped_everywhere(workspace: Workspace) -> None:
    workspace.skill("evil", HOSTILE, extra=contract("DCI/1 P(web-search,<b>x</b>)"))
    workspace.write(
        "abilities/evil.md",
        f"---\nname: evil\ndescription: {HOSTILE!r}\nversion: 1.0.0\ncategory: x\ntags: [evil]\n"
        f"---\n# evil\n\n{HOSTILE} </pre>\n",
    )
    with inspected(workspace.root) as made:
        report = stored(made, "require=web-search&query=%3Cscript%3Ealert(1)%3C/script%3E")
        pages = [
            made.page("/resolve", require=f"web-search,{HOSTILE}", query=HOSTILE, host=HOSTILE),
            made.page("/report", id=report),
            made.page("/recompute", id=report),
            made.page("/reports", old=report, new=report),
            made.page("/inject", task=f"evil {HOSTILE}", agent=HOSTILE, core="evil"),
            made.page("/recompute", 404, id=report, candidate=HOSTILE),
        ]
        shown = [number for number, text in enumerate(pages) if "&lt;script&gt;alert" in text]
        assert shown == [0, 1, 4, 5]  # the others show no text of a question or a document
        for text in pages:
            assert "<script>alert" not in text
            assert "<b>x</b>" not in text
            assert "\u202e" not in text


def test_an_untrusted_workspace_is_resolved_without_its_settings(workspace: Workspace) -> None:
    workspace.skill("search", extra=contract("DCI/1 P(web-search)"))
    workspace.write("metier.toml", "[tools.x]\nargv = ['x']\n")
    with inspected(workspace.root, trust="none") as made:
        text = made.page("/resolve", require="web-search")
        assert "Restricted." in text
        assert "search::skills/search" in text.replace("%3A", ":").replace("%2F", "/")


def test_the_picture_of_a_score_says_what_it_shows() -> None:
    parts = [{"label": "<contract>", "value": 1.0, "weight": 0.6}]
    drawn = score_bar(parts, 0.4, 0.45, label="one")
    assert "one: 0.400 of &lt;contract&gt; 0.600; lost 0.200; limit 0.45" in drawn
    assert 'role="img"' in drawn
    assert "style=" not in drawn
