"""Usage and evals: what fired, what hooks decided and whether that was right, how evals went."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from conftest import Workspace
from flow.decisions import decision, injecting, text_of
from metier.config import Config
from metier.flow.eval_history import Remembered, keep
from metier.flow.hook_log import read_decisions
from metier.flow.usage import FEW_SESSIONS
from metier.flow.usage_kept import kept_with
from metier.flow.usage_seen import firings_by_day, outcomes_of
from metier.flow.usage_sessions import SessionUse
from metier.hosts.events import Fired
from metier.resolve.reliability import Reliability
from metier.storage.hook_files import DECISIONS
from metier.storage.places import state_room
from metier.storage.room import Room
from metier.web.pictures_lines import LinePicture
from usage.recorded import ClaudeCode, claude_home
from web_served import Inspected, inspected

HOSTILE = "<script>alert(1)</script>\u202e"
NOW = 1_763_300_000.0
DAY = 86_400


def room_of(workspace: Workspace) -> Room:
    return state_room(str(workspace.root))


@pytest.fixture
def site(workspace: Workspace, empty_home: Path) -> Iterator[Inspected]:
    text = "Fill in PDF forms from a table"
    workspace.skill("forms", text, folder=".claude/skills/forms")
    workspace.skill("poems", "Write poems about the sea")
    workspace.trust()
    with inspected(workspace.root, host_folders=True) as made:
        yield made


def use(session: str, *uses: tuple[str, float]) -> SessionUse:
    made = SessionUse("claude-code", session)
    for number, (skill, at) in enumerate(uses):
        made.fired(skill, Fired(skill, "", at, "model", f"{session}-{number}"), None)
    return made


# Skills


def test_stored_counts_say_what_fired_and_what_never_did(
    site: Inspected, workspace: Workspace
) -> None:
    now = time.time()
    kept_with(room_of(workspace), [use("a", ("forms", now - 60), ("forms", now - 50))])
    found = site.json("/usage.json")
    assert found["sessions"] == 1
    assert found["isTooLittle"]
    assert '<p class="small soft">1 session is too few to call a skill unused.</p>' in (
        site.page("/usage", read="1", prompts="1")
    )
    assert found["counts"] == {"fired": 1, "never": 1, "missed": 0}
    assert sum(found["days"].values()) == 2
    assert [row["name"] for row in found["skills"]["rows"]] == ["forms", "poems"]
    [never] = site.json("/usage.json", used="never")["skills"]["rows"]
    assert never["name"] == "poems"
    assert "metier usage" in site.page("/usage")


def test_what_never_fired_is_unknown_without_enough_sessions(
    site: Inspected, workspace: Workspace
) -> None:
    def tiles() -> list[str]:
        found = re.findall(
            r'class="figure">([^<]*)</span><span class="what">([^<]*)', site.page("/usage")
        )
        return [" ".join(one) for one in found[1:3]]

    assert tiles() == ["– skills fired", "– skills never fired"]
    room = room_of(workspace)
    kept_with(room, [use("a", ("forms", time.time()))])
    assert tiles() == ["1 skills fired", "– skills never fired: too few sessions"]
    kept_with(room, [use(str(number), ("forms", time.time())) for number in range(FEW_SESSIONS)])
    assert tiles() == ["1 skills fired", "1 skills never fired"]


def test_firings_are_counted_by_day() -> None:
    sessions = [use("a", ("x", NOW - 10), ("x", NOW - 5)), use("b", ("x", NOW - 2 * DAY - 1))]
    assert list(firings_by_day(sessions, 4, NOW).values()) == [0, 1, 0, 2]
    assert sum(firings_by_day([use("c", ("x", NOW + DAY))], 4, NOW).values()) == 0


def test_transcripts_are_read_on_request_and_prompts_are_shown_only_then(
    site: Inspected, workspace: Workspace, empty_home: Path
) -> None:
    day = time.strftime("%Y-%m-%d", time.gmtime(time.time() - DAY))
    lines = ClaudeCode(str(workspace.root), day=day)
    prompt = "Fill in the PDF forms from this table"
    claude_home(empty_home, [lines.user(prompt), lines.says("Done"), lines.user("Thanks")])
    assert site.json("/usage.json")["transcripts"] is None
    found = site.json("/usage.json", read="1")
    assert found["counts"]["missed"] == 1
    assert found["missed"] == []
    assert prompt not in site.page("/usage", read="1")
    assert prompt in site.page("/usage", read="1", prompts="1")
    assert site.json("/usage.json")["sessions"] == 0  # a page stores nothing


# Hooks


def test_a_verdict_is_given_by_a_form_and_changed_by_another(
    site: Inspected, workspace: Workspace
) -> None:
    room = room_of(workspace)
    room.write(DECISIONS, text_of([injecting(1), decision(2)]))
    found = site.json("/usage.json")["decisions"]
    assert [row["injected"] for row in found["table"]["rows"]] == ["", "billing"]
    wanted = decision(1)["id"]
    assert f'value="{wanted}"' in site.page("/usage")
    for verdict in ("right", "wrong"):
        answer = site.post("/do/label", id=wanted, verdict=verdict, back="verdict=none&d.page=1")
        assert answer.status_code == 303
        assert answer.headers["location"] == "/usage?verdict=none&d.page=1#decisions"
        assert read_decisions(room).labels == {wanted: verdict == "right"}
    found = site.json("/usage.json", verdict="wrong")["decisions"]
    assert [row["id"] for row in found["table"]["rows"]] == [wanted]
    assert (found["labelled"], found["right"]) == (1, 0)


def test_decisions_are_filtered_apart_from_other_tables(
    site: Inspected, workspace: Workspace
) -> None:
    made = [injecting(0), *[decision(number) for number in range(1, 8)]]
    room_of(workspace).write(DECISIONS, text_of(made))
    page = site.page("/usage", verdict="none")
    form = page[: page.index('name="d.filter"')].rpartition("<form")[2]
    assert 'name="verdict" value="none"' in form
    asked: dict[str, Any] = {"d.filter": "billing"}
    found = site.json("/usage.json", **asked)["decisions"]["table"]
    assert [row["injected"] for row in found["rows"]] == ["billing"]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"id": "19a2f3c40001-3f2a", "verdict": "maybe"}, 400),
        ({"verdict": "right"}, 400),
        ({"id": "nothing", "verdict": "right"}, 404),
        ({"id": "19a2f3c40001-3f2a", "verdict": "right", "csrf": "wrong"}, 403),
    ],
)
def test_a_wrong_verdict_changes_nothing(
    site: Inspected, workspace: Workspace, fields: dict[str, str], status: int
) -> None:
    room = room_of(workspace)
    room.write(DECISIONS, text_of([decision(1)]))
    assert site.post("/do/label", **fields).status_code == status
    assert not read_decisions(room).labels


@pytest.mark.parametrize(
    "back", ["https://evil.example/", "//evil.example", "\r\nX: y", "a=%0d%0a"]
)
def test_a_form_leads_back_to_this_page_only(
    site: Inspected, workspace: Workspace, back: str
) -> None:
    room_of(workspace).write(DECISIONS, text_of([decision(1)]))
    answer = site.post("/do/label", id=decision(1)["id"], verdict="right", back=back)
    to = urlsplit(answer.headers["location"])
    assert (to.netloc, to.path) == ("", "/usage")
    assert "X" not in answer.headers


# Evaluations and providers


def remembered(number: int, digest: str = "d", **figures: float) -> Remembered:
    return Remembered(NOW + number, f"{number:07x}abc", None, "", 10, digest, 1, 0.3, figures)


def test_where_no_session_is_counted_the_page_says_so(site: Inspected) -> None:
    page = site.page("/usage")
    assert "No session of a host is counted yet" in page
    assert "Firings a day" not in page


def test_evaluations_are_drawn_over_commits_and_told_in_a_table(
    site: Inspected, workspace: Workspace
) -> None:
    room = room_of(workspace)
    for one in (
        remembered(1, recall=0.5, hit1=0.4),
        remembered(2, recall=0.75, hit1=0.5),
        remembered(3, "other", recall=1.0),
    ):
        keep(room, one)
    found = site.json("/usage.json")["evals"]
    assert found["picture"]["series"] == {"recall": [0.5, 0.75, 1.0], "hit@1": [0.4, 0.5, None]}
    assert found["picture"]["breaks"] == [2]
    assert [row["note"] for row in found["table"]["rows"]] == ["other cases than before", "", ""]
    page = site.page("/usage")
    assert "recall from 50% to 100%" in page
    assert '<td class="share" data-of="hit@1">40%</td>' in page
    assert "0000003" in page
    assert "metier eval history" in page


def test_a_single_evaluation_and_none_are_drawn() -> None:
    one = LinePicture(label="f", series={"recall": [0.5]}, moments=["abc day"])
    assert one.__html__().count("<circle") == 1
    none = LinePicture(label="f", series={}, moments=[])
    assert "none" in none.__html__()


def test_labels_of_lines_do_not_cover_each_other() -> None:
    series = {f"s{number}": [0.5, 0.5] for number in range(4)}
    drawn = LinePicture(label="f", series=series, moments=["a", "b"]).__html__()
    rows = [part.partition('y="')[2].partition('"')[0] for part in drawn.split('class="end"')[1:]]
    assert len(set(rows)) == 4


def test_outcomes_of_providers_are_shown_if_the_workspace_is_trusted(
    site: Inspected, workspace: Workspace
) -> None:
    store = Reliability(str(workspace.root))
    for success in (True, False, True):
        store.record("forms::skills", success=success)
    [row] = site.json("/usage.json")["reliability"]["table"]["rows"]
    assert row == {"candidate": "forms::skills", "rate": 0.67, "samples": 3, "outcomes": "✓✗✓"}
    untrusted = Config(host_folders=False)._replace(is_trusted=False)
    assert outcomes_of(str(workspace.root), untrusted, None) == {}


def test_a_document_shows_how_it_did_as_a_provider(workspace: Workspace) -> None:
    workspace.skill("forms")
    workspace.trust()
    store = Reliability(str(workspace.root))
    for success in (True, False, True):
        store.record("forms::skills/forms", success=success)
    with inspected(workspace.root) as made:
        shown = made.json("/document.json", kind="skill", id="forms")
        assert shown["outcomes"] == [True, False, True]
        assert "it succeeded 2 of the last 3 times" in made.page("/document", id="forms")


def test_everything_is_empty_without_a_workspace_or_history(site: Inspected) -> None:
    page = site.page("/usage")
    assert "No hook has asked yet" in page
    assert "No evaluation is stored yet" in page
    assert "No outcome is recorded yet" in page


def test_damaged_state_does_not_break_the_page(site: Inspected, workspace: Workspace) -> None:
    room = room_of(workspace)
    for name in ("usage.json", "evals.json", DECISIONS):
        room.write(name, b"\xff{]")
    workspace.write(".dci/state/reliability.v1.json", "[")
    assert site.json("/usage.json")["sessions"] == 0


def test_hostile_values_are_escaped(site: Inspected, workspace: Workspace) -> None:
    room = room_of(workspace)
    bad = [[HOSTILE, 0.5, 0.25, "injected", 1]]
    room.write(
        DECISIONS,
        text_of(
            [
                decision(1, id=f"bad-{HOSTILE}", host=HOSTILE, cards=bad, injected=True),
                decision(2, error=HOSTILE, skills=[[HOSTILE, HOSTILE, 0.1, HOSTILE]]),
            ]
        ),
    )
    keep(room, remembered(1, recall=0.5)._replace(commit=HOSTILE, host=HOSTILE))
    kept_with(room, [use("a", (HOSTILE, time.time() - 60))])
    page = site.page("/usage")
    assert "<script>alert" not in page
    assert "\u202e" not in page
