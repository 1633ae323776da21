"""The page of listings: what a host shows the model, and what would fit if some were off."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Workspace
from metier.catalog import Catalog
from metier.config import Config
from metier.flow.listing_changes import lost_text
from metier.hosts.listing_types import Skill
from web_served import Inspected, inspected

HOSTILE = "<script>alert(1)</script> \u202etxet " + "x" * 3_000
FIRST = "first words"


@pytest.fixture
def full(workspace: Workspace, empty_home: Path) -> Iterator[Inspected]:
    """Twelve long skills in a folder of Claude Code."""
    for number in range(12):
        text = f"{FIRST} of {number} {'word ' * 200}"
        workspace.skill(f"skill-{number}", text, folder=f".claude/skills/skill-{number}")
    with inspected(workspace.root, host_folders=True) as made:
        yield made


def test_the_listing_is_what_the_command_computes(full: Inspected, workspace: Workspace) -> None:
    found = full.json("/listing.json", context="200000")
    with Catalog.open(workspace.root, config=Config()) as catalog:
        catalog.refresh()
        computed = catalog.listing("claude-code", 200_000)
    assert found["host"] == "claude-code"
    assert found["now"]["counts"] == computed.counts
    assert "\n".join(found["lines"]) == computed.listing.rendered()
    page = full.page("/listing", context="200000")
    assert "metier listing --host=claude-code --context=200000 --show" in page
    assert "Exactly what the model sees" in page


def test_what_the_model_does_not_see_is_struck_through(full: Inspected) -> None:
    found = full.json("/listing.json", context="30000")
    assert found["now"]["counts"]["no-text"] == 12
    assert found["skills"]["rows"][0]["lost"].startswith(FIRST)
    page = full.page("/listing", context="30000")
    assert f"<del>{FIRST}" in page
    assert "the listing is over its budget" in page


def test_a_larger_context_shows_more(full: Inspected) -> None:
    few, many = (full.json("/listing.json", context=size)["now"] for size in ("90000", "900000"))
    assert few["lost"] > many["lost"] == 0


def test_skills_switched_off_as_a_trial_make_room_for_others(full: Inspected) -> None:
    found = full.json("/listing.json", context="300000")
    assert found["after"] is None
    paths = [row["path"] for row in found["skills"]["rows"]]
    off = "&".join(f"off={path}" for path in paths[:10])
    after = full.json(f"/listing.json?context=300000&{off}")
    assert after["now"] == found["now"]
    assert after["after"]["skills"] == 2
    assert after["after"]["lost"] == 0
    page = full.page(f"/listing?context=300000&{off}")
    assert page.count('name="off"') == 12
    assert page.count(" checked") == 10


def test_the_plan_is_shown_and_tried_on_request(full: Inspected) -> None:
    assert "What would make all fit?" in full.page("/listing", context="300000")
    shown = full.json("/listing.json", context="300000", plan="show")
    assert shown["plan"]["switchOff"] or shown["plan"]["shorten"]
    assert shown["after"] is None
    tried = full.json("/listing.json", context="300000", plan="try")
    assert tried["after"]["lost"] == 0
    assert "skillOverrides" in full.page("/listing", context="30000", plan="show")


def test_states_filter_and_tables_sort_and_page(full: Inspected) -> None:
    found = full.json("/listing.json", context="60000", state="no-text", size="2", sort="-name")
    assert found["skills"]["total"] == found["now"]["counts"]["no-text"]
    names = [row["name"] for row in found["skills"]["rows"]]
    assert names == sorted(names, reverse=True)
    assert full.json("/listing.json", 400, state="lost")["error"]["code"] == "USAGE"
    assert full.json("/listing.json", 400, context="many")["error"]["code"] == "USAGE"
    assert full.json("/listing.json", 400, host="nobody")["error"]["code"] == "USAGE"


def test_a_host_without_skills_or_limit_is_told_so(full: Inspected) -> None:
    page = full.page("/listing", host="opencode")
    assert "without looking at the size of the context" in page
    assert full.json("/listing.json", host="gemini")["now"]["skills"] == 0


def test_hostile_texts_are_escaped_in_every_part(workspace: Workspace, empty_home: Path) -> None:
    workspace.skill("bad", HOSTILE, folder=".claude/skills/bad")
    with inspected(workspace.root, host_folders=True) as made:
        for address, times in (("context=200000", 0), ("context=10", 1), ("host=opencode", 2)):
            page = made.page(f"/listing?{address}")
            assert page.count("&lt;script&gt;alert") == times
            assert "<script>alert" not in page
            assert "\u202e" not in page


@pytest.mark.parametrize(
    ("text", "seen", "lost"),
    [
        ("one two three", "one two", " three"),
        ("one\n two three", "one two…", " three"),
        ("a <b> c d", "a &lt;b&gt;", " c d"),
        ("one", "", "one"),
        ("one", "one", ""),
    ],
)
def test_the_lost_part_follows_what_is_seen(text: str, seen: str, lost: str) -> None:
    assert lost_text(Skill("s", "s", text, "p"), seen) == lost
