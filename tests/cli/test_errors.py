"""What a user can do wrong: one clear line, a hint, the right exit code, no traceback."""

import io
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest

from cli.printed import Finished, looked_at, run_here
from cli.unprivileged import POSSIBLE, run_unprivileged
from conftest import Workspace, record_of
from metier.catalog import Catalog
from metier.cli import COMMANDS, group, run
from metier.cli.shared_options import usage_message
from metier.errors import DamagedError
from metier.values.files import LARGEST

pytestmark = pytest.mark.slow

BINARY = bytes(range(256)) * 8
INIT = pytest.param(("init",))


def metier(root: Path, *arguments: str, unprivileged: bool = False, **env: str) -> Finished:
    """Run `metier` in `root`, which its user has looked at; without root's rights if asked to."""
    looked_at(root)
    if not unprivileged or os.geteuid() != 0:
        return run_here(root, *arguments, **env)
    return run_unprivileged(root, *arguments, **env)


def assert_refused(finished: Finished, code: int, *lines: str) -> None:
    """Exit code, and an error with exactly these lines; nothing on standard output."""
    assert finished.stderr.splitlines() == list(lines)
    assert (finished.returncode, finished.stdout) == (code, "")


@pytest.fixture
def one(workspace: Workspace) -> Workspace:
    workspace.skill("one")
    return workspace


@pytest.fixture
def file_modes(workspace: Workspace, empty_home: Path) -> Iterator[Path]:
    """The workspace's folder; whatever a test does to modes there or of state is undone."""
    if not POSSIBLE:
        pytest.skip("root may do everything here")
    yield workspace.root
    for top in (workspace.root, empty_home):
        for folder, _, _ in os.walk(top):
            os.chmod(folder, 0o755)


def test_an_empty_folder_is_no_error(workspace: Workspace) -> None:
    root = os.path.realpath(workspace.root)
    listed = metier(workspace.root, "list")
    found, hint = listed.stderr.splitlines()[-2:]
    assert found == f"no skills found below {root}"
    assert hint == "hint: a skill is a folder with a SKILL.md: skills/NAME/SKILL.md"
    which = metier(workspace.root, "which", "review the tests")
    assert which.stderr.endswith("nothing fits\nhint: there is no skill here: metier list\n")
    overlap = metier(workspace.root, "overlap")
    assert overlap.stderr == "there are too few skills to compare: 0\n"
    assert (listed.returncode, listed.stdout) == (0, "")
    for command in ("refresh", "doctor", "lint", "init"):
        finished = metier(workspace.root, command)
        assert (finished.returncode, "Traceback" in finished.stderr) == (0, False)
    assert metier(workspace.root, "list", "--json").stdout == "[]\n"


def test_a_command_that_does_not_exist(workspace: Workspace) -> None:
    assert_refused(
        metier(workspace.root, "lits"),
        2,
        "error: no such command 'lits'; did you mean 'list'? (USAGE)",
        "hint: metier --help",
    )


@pytest.mark.parametrize("command", [(), ("hook",)], ids=["metier", "hook"])
def test_usage_that_nobody_asked_for_goes_to_standard_error(
    workspace: Workspace, command: tuple[str, ...]
) -> None:
    asked = metier(workspace.root, *command, "--help")
    bare = metier(workspace.root, *command)
    assert (asked.returncode, asked.stderr) == (0, "")
    assert (bare.returncode, bare.stdout, bare.stderr) == (2, "", asked.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("list", "--jsn"), "no such option --jsn; did you mean --json?"),
        (("list", "--json=1"), "option --json does not take a value"),
        (("list", "wibble"), "'wibble' is not a kind of document: skill, ability, "),
        (("list", "skills", "more"), "unexpected argument (more)"),
        (("show",), "missing argument KIND: one of skill, skills, ability, "),
        (("show", "skill"), "missing argument ID"),
        (("show", "skill", "x", "--page", "x"), "invalid value for --page: 'x' is not a whole"),
        (("show", "skill", "x", "--page", "0"), "invalid value for --page: 0 is less than 1"),
        (("lint", "--format"), "option --format requires an argument"),
        (("lint", "--format", "xml"), "invalid value for --format: 'xml' is not"),
        (("lint", "--kind", "card"), "--kind needs a PATH"),
        (("web", "--port", "65536"), "invalid value for --port: 65536 is not from 0 to 65535"),
        (("list", "cards", "--capability", "x"), "only skills provide capabilities"),
        (("mcp", "install", "nope"), "invalid value for HOST: 'nope' is not one of "),
        (("mcp", "stall", "codex"), "no such command 'mcp stall'; did you mean 'install'?"),
        (
            ("history", "record", "x", "maybe"),
            "invalid value for OUTCOME: 'maybe' is not one of 'success', ",
        ),
        (("completion",), "missing argument SHELL: one of bash, zsh, fish"),
    ],
)
def test_wrong_usage_is_two_lines_and_exit_2(
    workspace: Workspace, arguments: tuple[str, ...], message: str
) -> None:
    finished = metier(workspace.root, *arguments)
    error, hint = finished.stderr.splitlines()
    assert error.startswith(f"error: {message}")
    assert error.endswith(" (USAGE)")
    assert not error.endswith(". (USAGE)")
    assert hint.startswith(("hint: metier list", f"hint: metier {arguments[0]} "))
    assert (finished.returncode, finished.stdout) == (2, "")


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("list wibble", "metier list --search wibble"),
        ("show wibble", "metier show skill wibble"),
        ("show skil x", "did you mean 'skill'?"),
        ("show skill skills/one/SKILL.md", "did you mean 'one'?"),
        ("show skill ONE", "did you mean 'one'?"),
        ("lint {}/skils/one/SKILL.md", "did you mean '{}/skills'?"),
        ("lint {}/skills/none/SKILL.md", "did you mean '{}/skills/one'?"),
        ("lint {}/x", "check the spelling"),
        ("listing codex", "metier listing --host codex; metier listing --help"),
        ("inject cook", "metier inject --task TEXT; metier inject --help"),
        ("run", "metier run AGENT TASK; metier run --help"),
        ("state", "metier state show|copy|prune|adopt; metier state --help"),
        ("state clean", "metier state show|copy|prune|adopt; metier state --help"),
    ],
)
def test_the_hint_for_wrong_usage_is_the_command_that_was_meant(
    one: Workspace, typed: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    looked_at(one.root)
    assert run(["--root", str(one.root), *typed.format(one.root).split()]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"hint: {hint.format(one.root)}"


ARGUMENTS = [
    (name, parameter)
    for name in COMMANDS
    for parameter in group.get_command(click.Context(group), name).params  # type: ignore[union-attr]
    if isinstance(parameter, click.Argument)
]


@pytest.mark.parametrize(("name", "parameter"), ARGUMENTS, ids=str)
def test_an_argument_is_named_in_one_plain_word(name: str, parameter: click.Argument) -> None:
    wrong = click.BadParameter("'x' will not do.", param=parameter)
    said = usage_message(wrong)
    assert re.fullmatch(r"invalid value for [A-Z]+: 'x' will not do", said)
    assert re.match(
        r"missing argument [A-Z]+", usage_message(click.MissingParameter(param=parameter))
    )


@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("lint",),
        ("refresh",),
        ("list", "--capability", "x"),
        ("show", "skill", "x"),
        INIT,
    ],
)
def test_a_root_that_does_not_exist(workspace: Workspace, command: tuple[str, ...]) -> None:
    assert_refused(
        metier(workspace.root, *command, "--root", "nowhere"),
        2,
        "error: the workspace is not a folder (USAGE)",
        "  nowhere",
        "hint: give an existing folder",
    )


DIGITS = "9" * 5_000
TOO_LONG = "a number with more digits than metier reads"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"\ntokenizer = {DIGITS}", f"{TOO_LONG} (at line 2)"),
        (f"\ntokenizer = 0x{DIGITS}", f"{TOO_LONG} (at line 2)"),
        ("a" + ".a" * 20_000 + " = 1", "a key of more than 50 parts (at line 1)"),
        ("a = " + "[" * 20_000, "nested deeper than 50 levels (at line 1)"),
    ],
    ids=["digits", "hexadecimal", "long key", "deep"],
)
def test_settings_that_would_take_too_long(one: Workspace, text: str, message: str) -> None:
    file = one.write("metier.toml", text)
    assert_refused(
        metier(one.root, "list"),
        2,
        f"error: not valid TOML: {message} (CONFIG_INVALID)",
        f"  {os.path.realpath(file)}",
        "hint: correct that line of the file",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'{{"version":\n{DIGITS}}}', f"{TOO_LONG}: line 2 column 1"),
        ("[" * 100_000, "it is nested too deeply"),
    ],
    ids=["digits", "deep"],
)
def test_a_trust_record_that_cannot_be_read(
    one: Workspace, empty_home: Path, text: str, message: str
) -> None:
    name = record_of(one.root).relative_to(empty_home)
    record = Workspace(empty_home).write(str(name), text)
    record.parent.chmod(0o700)
    record.chmod(0o600)
    assert_refused(
        run_here(one.root, "trust"),
        2,
        f"error: the trust record cannot be read: not valid JSON: {message} (TRUST_RECORD_INVALID)",
        f"  {record}",
        "hint: move it away, and trust the workspace again: metier trust",
    )


@pytest.mark.parametrize("command", [("list",), ("lint",), ("refresh",), ("init",)])
def test_settings_that_are_no_toml(one: Workspace, command: tuple[str, ...]) -> None:
    file = one.write("metier.toml", "[lint\nselect = 1")
    finished = metier(one.root, *command)
    first, where, hint = finished.stderr.splitlines()
    assert first.startswith("error: not valid TOML: ")
    assert hint == "hint: correct that line of the file"
    assert "line 1, column 6" in first
    assert where == f"  {os.path.realpath(file)}"
    assert (finished.returncode, finished.stdout) == (2, "")


@pytest.mark.parametrize(
    ("place", "text", "message", "hint"),
    [
        ("metier.toml:1", "wibble = 1", "unknown setting 'wibble'", "hint: known: disabled, "),
        ("metier.toml:2", "[lint]\nselct = []", "unknown setting 'lint.selct'", "hint: did you"),
        ("metier.toml:1", "disabled = 'x'", "'disabled' must be a list of strings", ""),
        ("metier.toml", b"\xff\xfe", "the file is not UTF-8", "hint: save it as UTF-8"),
        ("pyproject.toml", "[tool]\nmetier = 3", "[tool.metier] is not a table", ""),
        pytest.param(*("pyproject.toml", "tool = 3", "[tool.metier] is not a table", "")),
        pytest.param(
            *("metier.toml", "[lint]\nselect = ['QQ']", "unknown code 'QQ'", "hint: "),
        ),
    ],
)
def test_a_wrong_setting_is_named_with_its_file_and_line(
    one: Workspace, place: str, text: str | bytes, message: str, hint: str
) -> None:
    one.write(place.partition(":")[0], text)
    finished = metier(one.root, "lint")
    first, where, *rest = finished.stderr.splitlines()
    assert first == f"error: {message} (CONFIG_INVALID)"
    assert where == f"  {os.path.realpath(one.root)}/{place}"
    assert "".join(rest).startswith(hint)
    assert (finished.returncode, finished.stdout) == (2, "")


def test_a_wrong_environment_variable_is_named(one: Workspace) -> None:
    finished = metier(one.root, "list", METIER_HOST_FOLDERS="maybe")
    assert_refused(
        finished,
        2,
        "error: 'host-folders' must be true or false, not the string 'maybe' (CONFIG_INVALID)",
        "  METIER_HOST_FOLDERS",
    )


def test_a_document_that_does_not_exist_has_a_nearest_neighbour(one: Workspace) -> None:
    metier(one.root, "refresh")
    assert_refused(
        metier(one.root, "show", "skill", "ome"),
        2,
        "error: no skill is called 'ome' (NOT_FOUND)",
        f"  {os.path.realpath(one.root)}",
        "hint: did you mean 'one'?",
    )


def test_a_name_that_documents_of_one_kind_have_needs_no_kind(one: Workspace) -> None:
    assert metier(one.root, "show", "one").stdout == metier(one.root, "show", "skill", "one").stdout
    one.write("agents/one.yaml", "agentId: one\ndescription: Draws charts for people.\n")
    assert_refused(
        metier(one.root, "show", "one"),
        2,
        "error: the kind is missing before 'one': skill or agent (USAGE)",
        "hint: metier show skill one",
    )
    assert_refused(
        metier(one.root, "show", "zebra-tracker"),
        2,
        "error: 'zebra-tracker' is not a kind of document: skill, ability, card, agent (USAGE)",
        "hint: metier show skill zebra-tracker",
    )


@pytest.mark.parametrize("wanted", ["huge", "huge::skills/huge"])
def test_a_skill_that_is_left_out_is_told_with_the_reason(one: Workspace, wanted: str) -> None:
    one.skill("hugo")
    os.truncate(one.write("skills/huge/SKILL.md", ""), 100_000_000)
    metier(one.root, "refresh")
    size, limit = 100_000_000, LARGEST["skill"]
    assert_refused(
        metier(one.root, "show", "skill", wanted),
        2,
        f"error: skill '{wanted}' is excluded: the file has {size} bytes, the limit is {limit}"
        " (NOT_FOUND)",
        f"  {one.root}/skills/huge/SKILL.md",
        "hint: metier lint says what to change",
    )


@pytest.mark.parametrize(
    ("kind", "wanted", "why"),
    [
        ("skill", "empty", "the file is empty"),
        ("skill", "unclosed", "the front matter opened on line 1 is never closed"),
        ("skill", "folder", "a folder where a file should be"),
        ("skill", "away", "leads out of its root, to /"),
        ("ability", "empty", "the file is empty"),
    ],
)
def test_every_document_that_is_left_out_is_told_with_the_reason(
    one: Workspace, kind: str, wanted: str, why: str
) -> None:
    one.write("skills/empty/SKILL.md", "")
    one.write("skills/unclosed/SKILL.md", "---\nname: unclosed\n")
    (one.root / "skills/folder/SKILL.md").mkdir(parents=True)
    (one.root / "skills/away").symlink_to("/")
    one.write("abilities/empty.md", "")
    metier(one.root, "refresh")
    finished = metier(one.root, "show", kind, wanted)
    assert finished.stderr.startswith(f"error: {kind} '{wanted}' is excluded: {why}")
    assert "did you mean" not in finished.stderr
    assert finished.returncode == 2


def test_a_code_that_does_not_exist(workspace: Workspace) -> None:
    finished = metier(workspace.root, "explain", "QQ999")
    lines = "error: unknown code 'QQ999' (NOT_FOUND)", "hint: metier explain lists all codes"
    assert_refused(finished, 2, *lines)


@pytest.mark.parametrize("command", ["list", "refresh", "init"])
def test_a_catalog_that_is_no_database_is_built_again(one: Workspace, command: str) -> None:
    file = one.state / "metier.db"
    file.parent.mkdir(parents=True)
    file.write_text("garbage " * 1000)
    assert metier(one.root, command).returncode == 0
    assert file.read_bytes().startswith(b"SQLite format 3")


def test_a_damaged_catalog_is_one_clear_line_and_then_right_again(one: Workspace) -> None:
    metier(one.root, "refresh")
    file = one.state / "metier.db"
    with closing(sqlite3.connect(file)) as connection:
        where = "SELECT rootpage FROM sqlite_schema WHERE name = 'document'"
        (page,) = connection.execute(where).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with file.open("r+b") as damaged:
        damaged.seek((page - 1) * size)
        damaged.write(b"A" * size)
    checked = metier(one.root, "doctor")
    assert checked.returncode == 1
    assert "hint: the next refresh builds it again" in checked.stdout
    assert "Traceback" not in checked.stderr
    listed = metier(one.root, "list")
    assert (listed.returncode, listed.stdout) == (0, metier(one.root, "list").stdout)


def make_meaningless(one: Workspace) -> None:
    """Damage that a refresh does not meet."""
    with closing(sqlite3.connect(one.state / "metier.db")) as connection:
        connection.execute("UPDATE document SET capabilities = '['")
        connection.commit()


def overwrite_pages(one: Workspace) -> None:
    with (one.state / "metier.db").open("r+b") as file:
        file.seek(4096)
        file.write(random.Random(0).randbytes(8 * 4096))


@pytest.mark.parametrize("damage", [make_meaningless, overwrite_pages])
@pytest.mark.parametrize("more", [(), ("--no-refresh",), ("--json",)])
def test_a_damaged_catalog_is_built_again_and_the_command_goes_on(
    one: Workspace, damage: Callable[[Workspace], None], more: tuple[str, ...]
) -> None:
    metier(one.root, "refresh")
    sound = metier(one.root, "list", *more)
    damage(one)
    listed = metier(one.root, "list", *more)
    assert (listed.returncode, listed.stdout) == (0, sound.stdout)
    root = os.path.realpath(one.root)
    assert listed.stderr == f"the catalog of {root} was damaged and has been rebuilt\n"
    again = metier(one.root, "list", *more)
    assert (again.returncode, again.stdout, again.stderr) == (0, sound.stdout, "")


def overwrite_rows(one: Workspace) -> None:
    """The second half of the file: what is there when it is opened stays as it was."""
    with closing(sqlite3.connect(one.state / "metier.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with (one.state / "metier.db").open("r+b") as file:
        half = file.seek(0, os.SEEK_END) // 2 // 4096 * 4096
        file.seek(half)
        file.write(random.Random(0).randbytes(half))


@pytest.mark.parametrize("damage", [make_meaningless, overwrite_rows])
@pytest.mark.parametrize(
    "words",
    [
        "run helper hello --model offline",
        "run helper hello --model offline --no-refresh",
        "runs fork last",
        "runs resume last",
        "reports show last",
        "history record one success",
        "doctor --host claude-code",
    ],
)
def test_a_command_that_acts_or_reads_records_goes_on_after_the_catalog_was_built_again(
    one: Workspace, damage: Callable[[Workspace], None], words: str
) -> None:
    one.write("agents/helper.yaml", "agentId: helper\ndescription: Helps with one thing.\n")
    for before in ("run helper hello --model offline", "resolve -r one"):
        assert "error" not in metier(one.root, *before.split()).stderr
    damage(one)
    finished = metier(one.root, *words.split())
    assert "error" not in finished.stderr
    assert finished.returncode == 0
    runs = json.loads(metier(one.root, "runs", "list", "--json").stdout)
    assert len(runs) == 1 + words.startswith(("run ", "runs fork"))


def test_a_run_that_has_begun_is_not_started_again_because_of_a_damaged_catalog(
    one: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def inject(*_: object, **__: object) -> object:
        raise DamagedError("the catalog is damaged")

    one.trust()
    monkeypatch.setattr(Catalog, "inject", inject)
    assert run(["run", "standard", "hello", "--model", "offline", "--root", str(one.root)]) == 1
    capsys.readouterr()
    assert run(["runs", "list", "--json", "--root", str(one.root)]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 1


def test_a_run_that_is_tried_again_has_its_input_from_standard_input(
    one: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.write("agents/helper.yaml", "agentId: helper\ndescription: Helps with one thing.\n")
    metier(one.root, "refresh")
    make_meaningless(one)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"given": 1}')))
    words = ("run", "helper", "hello", "--model", "offline", "--input", "-")
    assert run([*words, "--root", str(one.root)]) == 0
    (listed,) = json.loads(metier(one.root, "runs", "list", "--json").stdout)
    shown = json.loads(metier(one.root, "runs", "show", listed["runId"], "--json").stdout)
    assert shown["input"] == {"given": 1}


def test_a_command_that_runs_again_has_its_standard_input(
    one: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def inject(_: Catalog, task: str, **__: object) -> object:
        asked.append(task)
        raise DamagedError("the catalog is damaged")

    monkeypatch.setattr(Catalog, "inject", inject)
    monkeypatch.setattr("sys.stdin", io.StringIO("the task"))
    assert run(["inject", "--task", "-", "--root", str(one.root)]) == 1
    assert asked == ["the task", "the task"]
    told = capsys.readouterr().err
    assert told.count("error: the catalog is damaged (STORE_CORRUPT)\n") == 1
    assert told.endswith("hint: the next refresh builds it again\n")


def test_an_outcome_is_not_recorded_twice_because_of_a_damaged_catalog(
    one: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = []

    def record(*_: object, **__: object) -> object:
        times.append(1)
        raise DamagedError("the catalog is damaged")

    monkeypatch.setattr(Catalog, "record_outcome", record)
    assert run(["history", "record", "one", "success", "--root", str(one.root)]) == 1
    assert len(times) == 1


def test_a_catalog_of_a_newer_program(one: Workspace) -> None:
    metier(one.root, "refresh")
    database = sqlite3.connect(one.state / "metier.db")
    database.execute("PRAGMA user_version = 999")
    database.close()
    finished = metier(one.root, "list")
    assert "(STORE_NEWER)" in finished.stderr
    assert "hint: upgrade metier, or remove the file" in finished.stderr
    assert finished.returncode == 1


def test_verbose_shows_the_traceback(one: Workspace) -> None:
    one.write("metier.toml", "wibble = 1")
    finished = metier(one.root, "list", "-v")
    assert "Traceback (most recent call last)" in finished.stderr
    assert "unknown setting 'wibble'" in finished.stderr


def test_verbose_changes_neither_the_exit_code_nor_the_hint(one: Workspace) -> None:
    one.write("metier.toml", "wibble = 1")
    finished = metier(one.root, "list", "-v")
    assert "hint: known:" in finished.stderr
    assert finished.returncode == 2


def test_files_that_cannot_be_read_are_findings_and_stop_nothing(one: Workspace) -> None:
    one.write("skills/binary/SKILL.md", BINARY)
    one.write("skills/empty/SKILL.md", "")
    (one.root / "skills/folder/SKILL.md").mkdir(parents=True)
    (one.root / "skills/pipe").mkdir()
    os.mkfifo(one.root / "skills/pipe/SKILL.md")
    (one.root / "skills/gone").mkdir()
    (one.root / "skills/gone/SKILL.md").symlink_to("nowhere")
    linted, listed = metier(one.root, "lint"), metier(one.root, "list")
    assert [line.split()[:2] for line in linted.stdout.splitlines()[::2]] == [
        ["skills/binary/SKILL.md:1:1:", "FM111"],
        ["skills/empty/SKILL.md:1:1:", "FM114"],
        ["skills/folder/SKILL.md:1:1:", "IO204"],
        ["skills/gone/SKILL.md:1:1:", "IO201"],
        ["skills/pipe/SKILL.md:1:1:", "IO204"],
    ]
    assert linted.returncode == 1
    assert (listed.returncode, listed.stdout.split("\t")[0]) == (0, "one")


def test_a_file_without_permission_is_a_finding(one: Workspace, file_modes: Path) -> None:
    one.skill("secret").chmod(0)
    finished = metier(one.root, "lint", unprivileged=True)
    assert finished.stdout.startswith("skills/secret/SKILL.md:1:1: IO201 ")
    assert "Permission denied" in finished.stdout
    assert finished.returncode == 1


def test_a_workspace_that_cannot_be_written_is_like_any_other(
    one: Workspace, file_modes: Path
) -> None:
    one.root.chmod(0o555)
    refreshed = metier(one.root, "refresh", unprivileged=True)
    assert (refreshed.returncode, refreshed.stderr.startswith("built ")) == (0, True)
    listed = metier(one.root, "list", unprivileged=True)
    assert (listed.returncode, listed.stdout.split("\t")[0], listed.stderr) == (0, "one", "")


def test_where_no_state_can_be_written_documents_are_read_but_not_refreshed(
    one: Workspace, file_modes: Path
) -> None:
    folder = one.state.parents[2]
    folder.mkdir(parents=True)
    folder.chmod(0o555)
    listed = metier(one.root, "list", unprivileged=True)
    assert (listed.returncode, listed.stdout.split("\t")[0]) == (0, "one")
    assert listed.stderr.startswith("warning: the catalog cannot be written: Permission denied")
    refreshed = metier(one.root, "refresh", unprivileged=True)
    assert refreshed.stderr.startswith("error: the catalog cannot be written: Permission denied")
    assert "hint: check that you may write there" in refreshed.stderr
    assert refreshed.returncode == 1


def test_a_state_folder_that_cannot_be_written_is_named_with_its_variable(
    one: Workspace, tmp_path: Path
) -> None:
    (file := tmp_path / "state").write_text("")
    problem = f"the catalog cannot be written in {file} (METIER_STATE_DIR): a link or another file"
    listed = metier(one.root, "list", METIER_STATE_DIR=str(file))
    assert listed.returncode == 0
    assert listed.stderr.startswith(f"warning: {problem}")
    refreshed = metier(one.root, "refresh", METIER_STATE_DIR=str(file))
    assert refreshed.stderr.startswith(f"error: {problem}")


def test_state_that_cannot_be_written_shows_its_catalog_without_a_refresh(
    one: Workspace, file_modes: Path
) -> None:
    metier(one.root, "refresh")
    for path in (one.state, one.root):
        path.chmod(0o555)
    listed = metier(one.root, "list", "--no-refresh", unprivileged=True)
    assert (listed.returncode, listed.stdout.split("\t")[0]) == (0, "one")


def test_an_empty_catalog_file_is_filled_even_without_a_refresh(one: Workspace) -> None:
    """Whoever stops the first build leaves one."""
    one.state.mkdir(parents=True)
    (one.state / "metier.db").touch()
    assert metier(one.root, "list", "--no-refresh").stdout.startswith("one\t")


@pytest.mark.parametrize(
    "arguments",
    [
        ("inject", "--task", "x", "--agent", "\udcff"),
        ("show", "ability", "\udcff"),
        ("list", "abilities", "--search", "\udcff"),
    ],
)
def test_an_argument_that_is_not_utf8_is_wrong_usage(
    one: Workspace, arguments: tuple[str, ...]
) -> None:
    metier(one.root, "refresh")
    finished = metier(one.root, *arguments)
    expected = ("error: an argument is not UTF-8 (USAGE)", "hint: metier --help")
    assert_refused(finished, 2, *expected)


def test_an_error_stays_one_line_whatever_it_quotes(one: Workspace) -> None:
    finished = metier(one.root, "inject", "--task", "x", "--core", "two\nlines", "-q")
    assert finished.stderr.splitlines()[0].startswith("error: core ability 'two lines' does not")
    assert finished.returncode == 1


@pytest.mark.parametrize("more", [(), ("--search", "x")])
def test_an_empty_list_says_how_many_documents_are_excluded(
    workspace: Workspace, more: tuple[str, ...]
) -> None:
    workspace.write("abilities/x.md", "---\nabilityId: [\n---\n")
    for kind, expected in (("abilities", True), ("agents", False)):
        told = metier(workspace.root, "list", kind, *more).stderr.splitlines()
        assert ("1 excluded: metier list abilities --excluded" in told) == expected


@pytest.mark.parametrize(
    ("environment", "is_coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": ""}, False),
        ({"FORCE_COLOR": "0"}, False),
    ],
)
def test_force_color_colours_a_pipe_unless_no_color_is_set(
    workspace: Workspace, environment: dict[str, str], is_coloured: bool
) -> None:
    failed = run_here(workspace.root, "show", "skill", "missing", **environment)
    assert failed.returncode == 2
    assert ("\x1b[" in failed.stderr) is is_coloured


def test_force_color_colours_findings_and_keeps_each_on_one_line(workspace: Workspace) -> None:
    workspace.skill("Bad_Name", "Does one thing well. " * 20)
    plain = run_here(workspace.root, "lint")
    coloured = run_here(workspace.root, "lint", FORCE_COLOR="1")
    assert "\x1b[" in coloured.stdout
    assert click.unstyle(coloured.stdout) == plain.stdout != ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_output_that_cannot_be_written_is_named_and_is_no_finding(workspace: Workspace) -> None:
    workspace.skill("a", description="")
    finished = run_here(workspace.root, "lint", "--output-file", "/dev/full")
    full = "No space left on device (SYSTEM)"
    assert_refused(finished, 2, f"error: the findings cannot be written: {full}", "  /dev/full")
    command = [sys.executable, "-m", "metier", "list", "--root", str(workspace.root)]
    with open("/dev/full", "w") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"error: standard output: {full}")


def test_an_error_of_the_system_names_the_file(
    workspace: Workspace, empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = workspace.state
    state.mkdir(parents=True, exist_ok=True)
    os.mkfifo(state / "decisions.jsonl")
    finished = run_here(workspace.root, "hook", "stats")
    assert_refused(
        finished,
        1,
        "error: decisions.jsonl: it is not a regular file (SYSTEM)",
        f"  {state / 'decisions.jsonl'}",
    )


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("lint", "--host", "claude"), "claude-code"),
        (("import", "--from", "cursor"), "cursor-rules"),
        (("list", "skils"), "skills"),
    ],
)
def test_a_value_that_is_nearly_right_gets_the_right_one_as_hint(
    workspace: Workspace, arguments: tuple[str, ...], meant: str
) -> None:
    finished = metier(workspace.root, *arguments)
    assert finished.returncode == 2
    assert finished.stderr.splitlines()[-1] == f"hint: did you mean '{meant}'?"
