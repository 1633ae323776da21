"""What `--json` prints follows the schema of the command: on the example, on a mess, on nothing."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest

import metier
from cli.printed import looked_at, write_log
from conftest import REPOSITORY, Workspace
from flow.decisions import decision, injecting, verdict
from metier.cli import run
from metier.findings import CODES, errors
from metier.hosts.known import HOOKS, SERVERS
from metier.values.files import KINDS, PLURAL
from reference import SCHEMA_OF

pytestmark = pytest.mark.slow

SCHEMAS = Path(metier.__file__).parent / "schemas"
METIER = str(Path(sys.executable).with_name("metier"))
ABILITY = "---\ndescription: How it is done here.\n{}\n---\nWrite it plainly.\n"
CARD = (
    "---\nid: {0}\nname: {0}\ndescription: Figures.\ntriggers:\n  keywords: [sql]\n{1}---\nAsk.\n"
)
SETTINGS = "disabled = ['off']\n[capabilities]\nexclude = ['nobody', 'excluded']\n"
ENOUGH = 300.0


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.v1.schema.json").read_text())


def follows(data: Any, command: str) -> None:
    """`data` fits the schema of a command, and nothing fits that is a little different."""
    name = SCHEMA_OF[command]
    assert wrong(data, name) == []
    for other in altered(data, schema(name)):
        assert wrong(other, name) != [], other


def wrong(data: Any, name: str) -> list[str]:
    """What a schema says against `data`."""
    found = jsonschema.Draft202012Validator(schema(name)).iter_errors(data)
    return [f"{one.json_path}: {one.message}" for one in found]


def altered(data: Any, described: Any) -> Iterator[Any]:
    """`data`, or its first row, as something else, with one more field, without each of them."""
    yield from (None, {"data": data}, [[data]])
    if isinstance(data, list):
        yield from ([one] for row in data[:1] for one in altered(row, described["items"]))
    elif isinstance(data, dict):
        yield {**data, "unknown": 1}
        for key in required(described, data):
            yield {other: value for other, value in data.items() if other != key}
            yield {**data, key: [[data[key]]]}


def required(described: Any, data: dict[str, Any]) -> list[str]:
    if "oneOf" not in described:
        return list(described["required"])
    kind = "reference" if data["kind"] == "reference" else "document"
    return list(described["$defs"][kind]["required"])


class Result(NamedTuple):
    code: int
    data: Any


Metier = Callable[..., Result]


@pytest.fixture
def metier_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Metier:
    """Run a command on a workspace that was looked at, and read the JSON that it prints."""
    for host in (*HOOKS.values(), *SERVERS.values()):
        if host.moved_by[0]:
            monkeypatch.delenv(host.moved_by[0], raising=False)

    def call(root: Path, *arguments: str) -> Result:
        looked_at(root)
        code = run([*arguments, "--json", "--root", str(root)])
        out, err = capsys.readouterr()
        assert out, err
        return Result(code, json.loads(out))

    return call


# Places


def _example(root: Path) -> Path:
    return Path(shutil.copytree(REPOSITORY / "examples" / "workspace", root))


def _empty(root: Path) -> Path:
    root.mkdir()
    return root


def _mess(root: Path) -> Path:
    """Something wrong with nearly every file, and with the settings."""
    mess = Workspace(root)
    mess.write("metier.toml", SETTINGS)
    mess.skill("good", extra="capabilities: [web-search]\nweight: .nan\n1: x\nlist: [1, null]")
    mess.skill("good", folder="vendor/good", description="Another one. Use it never.")
    mess.skill("same")
    mess.skill("same", folder="vendor/same")
    mess.skill("off")
    mess.skill("schön — 名前", folder="skills/été")
    mess.write("skills/broken/SKILL.md", "---\nname: broken\n")
    mess.write("skills/binary/SKILL.md", b"\x00\xff")
    mess.write("skills/nameless/SKILL.md", "---\ndescription: Says a: b.\r\n---\n")
    os.truncate(mess.write("skills/huge/SKILL.md", ""), 100_000_000)
    mess.write("../outside.md", "---\nname: outside\ndescription: Is elsewhere.\n---\n")
    for name, target in {"outside": "../../../outside.md", "round": "SKILL.md"}.items():
        (root / "skills" / name).mkdir()
        (root / "skills" / name / "SKILL.md").symlink_to(target)
    for name, more in {
        "needy": "requires: [nobody]",
        "left": "conflicts: [right]\npriority: 60",
        "right": "tags: [sql]",
        "bad": "priority: many",
        "twice": "abilityId: right",
    }.items():
        mess.write(f"abilities/{name}.md", ABILITY.format(more))
    for name, more in {
        "plain": "  confidenceThreshold: 0.1\n",
        "excluded": "",
        "isolated": "  sessionTypes: [isolated]\n",
        "nightly": "  userTier: [gold]\n",
        "quiet": "  confidenceThreshold: 1\n",
        "broken": "priority: many\n",
    }.items():
        mess.write(f"docs/capabilities/{name}.md", CARD.format(name, more))
    mess.write("agents/a.yaml", "agentId: a\ndescription: Does it.\nabilities: [no]\n")
    mess.write("agents/bad.yaml", "agentId: bad\nbogus: 1\n")
    mess.write("docs/SYSTEM_ARCHITECTURE.md", "Layers.\n\nMore layers.\n")
    cards = [["billing", 0, 0.25, "below-threshold", 90]]
    skills = [["pdf", "skills/pdf", 2.5, "injected"]]
    late = decision(3, cards=cards, skills=skills, error="late", arm="B", event="", mode="soft")
    write_log(root, b"{", injecting(1), late, verdict(1, right=True), decision(4))
    write_log(root, b"too many errors", name="monitor.flag")
    write_log(root, b"{}", name="reports/20260101T000000Z-000000.json")
    return root


PLACES = {"example": _example, "mess": _mess, "empty": _empty}


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return PLACES[request.param](tmp_path / "workspace")


@pytest.fixture
def mess(tmp_path: Path) -> Path:
    return _mess(tmp_path / "workspace")


# Everywhere


EVERYWHERE = [
    *(("list", ("list", PLURAL[kind], *more)) for kind in KINDS for more in ((), ("--shadowed",))),
    ("import", ("import", "--dry-run")),
    ("init", ("init",)),
    ("refresh", ("refresh",)),
    ("list", ("list", "--capability", "web-search")),
    ("reports list", ("reports", "list")),
    ("inject", ("inject", "--task", "sql, python, release")),
    ("inject", ("inject", "--task", "sql", "--max-tokens", "40")),
    ("inject", ("inject", "--task", "sql", "--core", "nobody")),
    ("inject", ("inject", "--task", "sql", "--agent", "a", "--headings", "--session", "isolated")),
    ("inject", ("inject", "--task", "", "--agent", "bad")),
    ("hook stats decisions", ("hook", "stats", "decisions")),
    ("hook status", ("hook", "status")),
    ("hook try", ("hook", "try", "codex", "sql, python, release")),
    ("usage", ("usage",)),
    ("lint", ("lint",)),
    ("lint", ("lint", "--strict")),
    ("lint --statistics", ("lint", "--statistics", "--notes")),
    ("lint --fix --dry-run", ("lint", "--fix", "--dry-run", "--notes")),
    ("doctor", ("doctor",)),
    ("doctor --host", ("doctor", "--host", "claude-code")),
    ("listing", ("listing", "--host", "claude-code")),
    ("eval", ("eval",)),
    ("which", ("which", "sql, python, release")),
    ("which", ("which", "sql", "--host", "codex", "--limit", "1")),
    ("overlap", ("overlap", "--at-least", "0")),
    ("listing", ("listing", "--host", "codex", "--show")),
]


@pytest.mark.parametrize(("command", "arguments"), EVERYWHERE, ids=lambda one: " ".join(one))
def test_an_output_follows_its_schema(
    metier_json: Metier, place: Path, command: str, arguments: tuple[str, ...]
) -> None:
    for _ in range(2):  # what was there the first time may be counted otherwise
        result = metier_json(place, *arguments)
        assert result.code in (0, 1)
        follows(result.data, command)


@pytest.mark.parametrize("made", [_example, _mess])
def test_every_document_can_be_shown(
    metier_json: Metier, made: Callable[[Path], Path], tmp_path: Path
) -> None:
    place = made(tmp_path / "workspace")
    for kind in KINDS:
        rows = metier_json(place, "list", PLURAL[kind], "--shadowed").data
        assert rows, kind
        known = {row["path"]: row for row in rows}
        for row in rows:
            shown = metier_json(place, "show", kind, row["id"]).data
            follows(shown, "show")
            assert {**shown, **known[shown["path"]]} == shown
            assert len(shown["findings"]) == shown["issues"]
            page = metier_json(place, "show", kind, row["id"], "--page", "1").data
            follows(page, "show")


def test_an_injection_without_its_question_is_what_the_mcp_tool_gives_beside_skills(
    metier_json: Metier, place: Path
) -> None:
    data = metier_json(place, "inject", "--task", "sql, release").data
    answer = {key: value for key, value in data.items() if key not in ("task", "agent")}
    assert wrong(answer | {"skills": []}, "context-injection") == []


def test_the_mess_is_one(metier_json: Metier, mess: Path) -> None:
    """What the outputs above have to hold, or they prove little."""
    data = metier_json(mess, "refresh").data
    assert {one["reason"] for one in data["exclusions"]} == {
        "disabled", "unreadable", "unparseable", "outside-root", "too-large", "duplicate-content",
    }  # fmt: skip
    assert {one["severity"] for one in data["issues"]} == {"error", "warning", "info"}
    assert data["shadowed"] > 0
    given = metier_json(mess, "inject", "--task", "sql").data
    passed_over = {one["reason"] for one in given["capabilitiesPassedOver"]}
    assert passed_over == {"excluded", "session-type", "trigger", "below-threshold"}
    assert {one["reason"] for one in given["skipped"]} == {"dependency-missing", "conflict"}
    for command, arguments in EVERYWHERE:
        data = metier_json(mess, *arguments).data
        assert data != [] or command == "reports list"


# One by one


def test_what_is_left_out_or_only_read_on_request_can_be_shown(
    metier_json: Metier, mess: Path
) -> None:
    asked = [("skill", "off"), ("skill", "same::vendor/same"), ("ability", "bad")]
    for kind, wanted in asked:
        shown = metier_json(mess, "show", kind, wanted).data
        follows(shown, "show")
        assert shown["state"] == "excluded"
        assert len(shown["findings"]) == shown["issues"]
    for more in ((), ("--page", "2", "--max-tokens", "3")):
        shown = metier_json(mess, "show", "reference", "SYSTEM_ARCHITECTURE.md", *more).data
        follows(shown, "show")
        assert ("page" in shown) is bool(more)


def test_reports_that_differ_and_that_do_not(metier_json: Metier, tmp_path: Path) -> None:
    root = _example(tmp_path / "workspace")
    asked = ["web-search", "web-search", "no-such-thing"]
    ids = [metier_json(root, "resolve", "-r", one).data["run_id"] for one in asked]
    listed = metier_json(root, "reports", "list").data
    follows(listed, "reports list")
    assert [one["reportId"] for one in listed] == ids[::-1]
    for other, is_equal in ((ids[1], True), (ids[2], False)):
        found = metier_json(root, "reports", "diff", ids[0], other)
        follows(found.data, "reports diff")
        assert (found.data["equal"], found.code) == (is_equal, int(not is_equal))


def test_outcomes_that_are_kept_and_one_that_is_not(metier_json: Metier, mess: Path) -> None:
    for outcome, state in (("success", "persistent"), ("failure", "ephemeral")):
        result = metier_json(mess, "history", "record", "good", outcome)
        follows(result.data, "history record")
        assert result.data["historyState"] == state
        (mess / ".dci" / "state" / "reliability.v1.json").write_text("?")


def test_examples_are_listed_exported_and_removed(metier_json: Metier, mess: Path) -> None:
    for outcome in ("success", "failure"):
        metier_json(mess, "history", "record", "good", outcome, "--task", f"a {outcome}")
    follows(metier_json(mess, "examples", "list").data, "examples list")
    follows(metier_json(mess, "examples", "export").data, "examples export")
    removed = metier_json(mess, "examples", "remove", "--all").data
    follows(removed, "examples remove")
    assert removed == {"removed": 2}


def test_labels_and_the_kill_switch(metier_json: Metier, mess: Path) -> None:
    for word in ("right", "wrong"):
        labelled = metier_json(mess, "hook", "stats", "label", decision(3)["id"], word).data
        follows(labelled, "hook stats label")
    decisions = metier_json(mess, "hook", "stats", "decisions").data
    assert [one["right"] for one in decisions] == [True, False, None]
    for is_stopped in (True, False):
        resumed = metier_json(mess, "hook", "stats", "resume").data
        follows(resumed, "hook stats resume")
        assert resumed["resumed"] is is_stopped


INSTALLS = [("hook", host) for host in HOOKS.values()]
INSTALLS += [("mcp", host) for host in SERVERS.values()]


@pytest.mark.parametrize(
    ("command", "host"), INSTALLS, ids=[f"{command}-{host.name}" for command, host in INSTALLS]
)
def test_settings_of_hosts(
    metier_json: Metier, tmp_path: Path, empty_home: Path, command: str, host: Any
) -> None:
    root = _empty(tmp_path / "workspace")
    scope = "--project" if host.project else "--user"
    for given in ("install --dry-run", "install", "install", "uninstall", "uninstall"):
        action, *more = given.split()
        plan = metier_json(root, command, action, host.name, scope, *more).data
        follows(plan, f"{command} {action}")


def test_settings_that_were_there_before(metier_json: Metier, workspace: Workspace) -> None:
    workspace.write(".claude/settings.json", "{}\n")
    done = []
    for action in ("install", "uninstall"):
        plan = metier_json(workspace.root, "hook", action, "claude-code").data
        follows(plan, f"hook {action}")
        done += [one["action"] for one in plan["files"]]
    assert done == ["change", "restore"]


def test_the_schema_of_settings_names_every_host() -> None:
    named = schema("host-settings")["properties"]["host"]["enum"]
    assert sorted(named) == sorted({*HOOKS, *SERVERS})


def test_a_server_says_where_it_is(tmp_path: Path) -> None:
    command = [METIER, "mcp", "--http", "--port", "0", "--json", "--root", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        limit = threading.Timer(ENOUGH, process.kill)
        limit.start()
        assert process.stdout is not None
        said = "".join(iter(process.stdout.readline, "}\n")) + "}"
        process.send_signal(signal.SIGTERM)
        process.wait(ENOUGH)
        limit.cancel()
    follows(json.loads(said), "mcp --http")


def test_every_code(metier_json: Metier, tmp_path: Path) -> None:
    listed = metier_json(tmp_path, "explain").data
    follows(listed, "explain")
    severities = {one["code"]: one["severity"] for one in listed}
    assert severities.keys() == {*CODES, *errors()}
    for code, severity in severities.items():
        page = metier_json(tmp_path, "explain", code).data
        follows(page, "explain CODE")
        assert page["severity"] == severity


def test_a_suite_that_passes_and_one_that_fails(metier_json: Metier, tmp_path: Path) -> None:
    cases = sorted((REPOSITORY / "conformance" / "cases").glob("*.json"))[:2]
    (tmp_path / "cases").mkdir()
    for number, file in enumerate(cases):
        case = json.loads(file.read_text())
        case["expect"] |= {"mode": 1, "no-such-field": None} if number else {}
        (tmp_path / "cases" / file.name).write_text(json.dumps(case))
    result = metier_json(tmp_path, "dev", "conformance", str(tmp_path))
    follows(result.data, "dev conformance")
    assert (result.code, result.data["passed"], result.data["failed"]) == (1, 1, 1)


@pytest.mark.parametrize("damage", ["metier.toml", "metier.db"])
def test_doctor_on_something_that_does_not_work(
    metier_json: Metier, workspace: Workspace, damage: str
) -> None:
    workspace.skill("a")
    metier_json(workspace.root, "refresh")
    if damage == "metier.db":
        (workspace.state / damage).unlink()
        (workspace.state / damage).mkdir()
    else:
        workspace.write(damage, "?" * 5000)
    result = metier_json(workspace.root, "doctor")
    follows(result.data, "doctor")
    assert result.code == 1
