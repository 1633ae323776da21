"""What a hook loads: next to nothing, for every prompt waits for it; and its own JSON."""

import json
import math
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hook.hooks import (
    HOSTS,
    NEUTRAL,
    PROMPT,
    Hooks,
    as_bytes,
    card_ids,
    context_in,
    fill,
    skill_lines,
)
from hook.transcripts import claude_lines, codex_lines, gemini_text, transcript
from metier.hook.catalog_file import ReadOnlyCatalog
from metier.storage.lightjson import dump, parse, quoted_short
from metier.storage.places import user_room
from soak import examples

pytestmark = pytest.mark.slow

HEAVY = frozenset(
    [
        "argparse",
        "click",
        "dataclasses",
        "datetime",
        "enum",
        "hashlib",
        "inspect",
        "json",
        "logging",
        "numpy",
        "pathlib",
        "re",
        "rich",
        "shutil",
        "sqlite3",
        "subprocess",
        "tempfile",
        "tomllib",
        "typing",
        "yaml",
    ]
)
AFTER_SERVING = """
import sys
before = set(sys.modules)
sys.argv = ["metier", "hook", {host!r}]
from metier.__main__ import main
main()
sys.stderr.write(" ".join(sorted(set(sys.modules) - before)))
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Hooks:
    hooks = Hooks(tmp_path_factory.mktemp("hooks"))
    fill(hooks)
    return hooks


def loaded(hooks: Hooks, host: str, request: dict[str, Any], **env: str) -> tuple[str, list[str]]:
    """What a hook hands over, and the modules that it has loaded for that."""
    finished = subprocess.run(
        [sys.executable, "-c", AFTER_SERVING.format(host=host)],
        input=as_bytes(request),
        capture_output=True,
        cwd=hooks.home,
        env={**os.environ, **hooks.environ, **env},
        timeout=120,
        check=True,
    )
    return context_in(host, finished.stdout), finished.stderr.decode().split()


def assert_light(modules: list[str]) -> None:
    assert [one for one in modules if one.partition(".")[0] in HEAVY] == []
    others = ("metier.catalog", "metier.cli", "metier.config", "metier.select", "metier.values")
    assert [one for one in modules if one.startswith(others)] == []


# What is loaded


@pytest.mark.parametrize("host", HOSTS)
def test_a_prompt_with_cards_and_skills_loads_nothing_heavy(host: str, shared: Hooks) -> None:
    text, modules = loaded(shared, host, shared.asked(host))
    assert card_ids(text) != []
    assert len(skill_lines(text)) == (host != "cursor")
    assert_light(modules)
    assert "metier.hook.serve" in modules


PROMPTS = {
    "no prompt": "",
    "nothing fits": NEUTRAL,
    "other scripts": f"{PROMPT} – für Größe, 数字, ĞİŞ, e\u0301 and 😀",
    "long": f"{PROMPT} " * 500,
}


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
def test_no_prompt_loads_anything_heavy(prompt: str, shared: Hooks) -> None:
    _, modules = loaded(shared, "claude-code", shared.asked("claude-code", prompt))
    assert_light(modules)


LONG = ["x" * 500] * 300
TRANSCRIPTS = {
    "Claude Code, long": claude_lines([*LONG, "the invoice"]),
    "Codex, long": codex_lines([*LONG, "the invoice"]),
    "Gemini, short": gemini_text(["the invoice", "so"]),
}
REFUSED = {
    "Claude Code, short": claude_lines(["the invoice", "so"]),
    "Codex, short": codex_lines(["the invoice", "so"]),
    "Gemini, long": gemini_text([*LONG, "the invoice"]),
    "a last line that is being written": claude_lines([*LONG, "the invoice"]) + '{"type": "us',
}
"""Nothing of this is odd: each conversation of Claude Code and of Codex begins like this."""


@pytest.mark.parametrize(
    "content",
    [
        *(pytest.param(content, id=name) for name, content in TRANSCRIPTS.items()),
        *(pytest.param(content, id=name) for name, content in REFUSED.items()),
    ],
)
def test_no_transcript_loads_anything_heavy(content: str, shared: Hooks) -> None:
    path = transcript(shared, content)
    request = shared.asked("claude-code", PROMPT, transcript_path=path)
    text, modules = loaded(shared, "claude-code", request)
    assert card_ids(text) == ["billing"]
    assert_light(modules)


def test_the_kill_switch_loads_nothing_heavy(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path)
    hooks.settings("maxInjectionShare = 0.5")
    fill(hooks)
    for _ in range(21):
        _, modules = loaded(hooks, "codex", hooks.asked("codex"))
        assert_light(modules)
    assert (hooks.state / "monitor.flag").exists()


def test_the_kill_switch_loads_nothing_heavy_with_a_long_journal_either(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path)
    hooks.settings("maxInjectionShare = 0.5")
    fill(hooks)
    hooks.served("codex", hooks.asked("codex", NEUTRAL))
    file = hooks.state / "decisions.jsonl"
    file.write_text(file.read_text() * 1_000)
    _, modules = loaded(hooks, "codex", hooks.asked("codex"))
    assert_light(modules)


def test_the_refresh_that_is_asked_for_loads_nothing_heavy(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path)
    fill(hooks)
    (hooks.state / "hook.state").unlink()
    lock = hooks.state / "hook.lock"
    lock.mkdir()  # so that none begins
    _, modules = loaded(hooks, "codex", hooks.asked("codex"))
    assert_light(modules)
    assert "fcntl" in modules


def test_two_scorers_and_a_profile_load_nothing_heavy(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path)
    hooks.settings(
        'compare = ["spec", "saturating"]\n[capabilities.budgets]\n"0" = 900\n'
        '[capabilities.agents]\nreviewer = "full"'
    )
    fill(hooks)
    text, modules = loaded(hooks, "codex", hooks.asked("codex", agent="reviewer"))
    assert card_ids(text) == ["billing"]
    assert_light(modules)


@pytest.fixture
def of_user(tmp_path: Path) -> Hooks:
    """A workspace that nobody trusts, whose user has settings and a skill of their own."""
    hooks = Hooks(tmp_path)
    hooks.card("billing", "invoice", "refund")
    hooks.user_skill("pdf", "Extracts invoices from PDF files. Use it for every PDF.")
    hooks.user_settings("[capabilities]\nskillThreshold = 0.3\n")
    hooks.refresh()
    return hooks


def test_the_users_own_documents_load_nothing_heavy(of_user: Hooks) -> None:
    text, modules = loaded(of_user, "codex", of_user.asked("codex"))
    assert (card_ids(text), len(skill_lines(text))) == ([], 1)
    assert_light(modules)


def test_a_change_that_silences_a_workspace_loads_nothing_heavy(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path)
    fill(hooks)
    hooks.prepare_user()
    for room in (hooks.state, hooks.user_state):
        (room / "hook.lock").mkdir()  # so that no refresh begins
    hooks.settings("maxTokens = 700\n")
    text, modules = loaded(hooks, "codex", hooks.asked("codex"))
    assert text == ""
    assert_light(modules)


@pytest.mark.parametrize("place", ["state", "home", "state inside", "no home"])
def test_no_place_of_the_state_loads_anything_heavy(place: str, of_user: Hooks) -> None:
    env = {
        "state": {"METIER_STATE_DIR": str(of_user.home / "state" / "metier")},
        "home": {"XDG_STATE_HOME": "", "METIER_STATE_DIR": ""},
        "state inside": {"METIER_STATE_DIR": str(of_user.root / "state")},
        "no home": {"HOME": "relative"},
    }[place]
    room = user_room({"HOME": str(of_user.home), "XDG_CONFIG_HOME": str(of_user.home / "config")})
    lock = Path(room.path) / "hook.lock"
    lock.mkdir(parents=True)  # so that no refresh begins
    _, modules = loaded(of_user, "codex", of_user.asked("codex"), **env)
    assert_light(modules)


def test_settings_of_the_user_that_move_the_state_load_one_parser(of_user: Hooks) -> None:
    """Few users do; all else stays light for them too."""
    settings = (of_user.home / "config" / "metier" / "metier.toml").read_text()
    of_user.user_settings(f'{settings}[state]\nfolder = "{of_user.home}/moved"\n')
    of_user.refresh()
    text, modules = loaded(of_user, "codex", of_user.asked("codex"))
    assert len(skill_lines(text)) == 1
    assert "tomllib" in modules
    own = [one for one in modules if one.startswith("metier.")]
    assert_light(own)
    assert len(list((of_user.home / "moved").glob("user-*/metier.db"))) == 1


def test_the_command_itself_loads_nothing_else(shared: Hooks) -> None:
    finished = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "metier", "hook", "codex"],
        input=as_bytes(shared.asked("codex")),
        capture_output=True,
        cwd=shared.home,
        env={**os.environ, **shared.environ},
        timeout=120,
        check=True,
    )
    names = [line.rpartition("|")[2].strip() for line in finished.stderr.decode().splitlines()]
    own = names.index("metier.__main__") if "metier.__main__" in names else names.index("metier")
    assert "metier.hook.serve" in names[own:]
    assert_light(names[own:])


# What is read


@pytest.mark.parametrize("prompt", [PROMPT, NEUTRAL])
def test_no_question_to_the_catalog_goes_through_all_documents(
    prompt: str, shared: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, int] = {}
    rows = ReadOnlyCatalog.rows

    def noted(self: ReadOnlyCatalog, sql: str, parameters: Iterable[Any] = ()) -> list[Any]:
        given = tuple(parameters)
        asked[sql] = len(given)
        return rows(self, sql, given)

    monkeypatch.setattr(ReadOnlyCatalog, "rows", noted)
    shared.served("codex", shared.asked("codex", prompt))
    assert len(asked) > 3
    through = ("SCAN document", "SCAN posting", "SCAN skill_size", "SCAN card_keyword")
    with closing(sqlite3.connect(shared.state / "metier.db")) as connection:
        for sql, size in asked.items():
            if not sql.startswith("PRAGMA"):
                plan = connection.execute(f"EXPLAIN QUERY PLAN {sql}", [""] * size)
                assert not any(step[3].startswith(through) for step in plan), sql


# JSON

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(st.characters(), max_size=8), inner, max_size=5)
    ),
    max_leaves=25,
)
SPACES = st.text(" \t\n\r", max_size=3)


@given(JSON, st.booleans(), st.sampled_from([None, 0, 2]), SPACES, SPACES)
def test_what_json_writes_is_read_alike(
    value: Any, ascii_only: bool, indent: int | None, before: str, after: str
) -> None:
    text = before + json.dumps(value, ensure_ascii=ascii_only, indent=indent) + after
    assert parse(text) == json.loads(text) == value
    assert repr(parse(text)) == repr(json.loads(text))


@given(JSON)
def test_what_is_dumped_is_one_line_of_ascii_that_json_reads(value: Any) -> None:
    text = dump(value)
    assert repr(json.loads(text)) == repr(value)
    assert text.isascii()
    assert len(text.splitlines()) == 1


@given(JSON)
def test_what_is_printed_is_one_line_that_json_reads_and_no_longer(value: Any) -> None:
    text = dump(value, quoted_short)
    whole = json.dumps(value, ensure_ascii=False).encode(errors="replace").decode()
    assert repr(json.loads(text)) == repr(json.loads(whole))
    assert len(text.splitlines()) <= 1
    assert len(text) <= len(dump(value))


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_numbers_that_json_has_no_word_for_are_read_as_json_does(value: float) -> None:
    text = json.dumps([value])
    assert repr(parse(text)) == repr(json.loads(text))


def outcome(read: Any, text: str) -> str:
    try:
        return repr(read(text))
    except ValueError:
        return "ValueError"


def has_no_control_character(text: str) -> bool:
    """Inside of a text they make a difference: see the last test but one."""
    return all(char >= " " for char in text)


SMALL = st.text('{}[]",:\\ 0123456789eE+-.truefalsnlINy\n\t/bu\x00\ufeffé\u2028', max_size=25)


@examples(125)
@given(SMALL.filter(has_no_control_character))
def test_what_json_refuses_is_refused_and_nothing_else(text: str) -> None:
    assert outcome(parse, text) == outcome(json.loads, text)


@examples(75)
@given(JSON, st.integers(0, 200), st.integers(0, 5), SMALL.filter(has_no_control_character))
def test_damaged_json_is_refused_where_json_refuses_it(
    value: Any, at: int, gone: int, put: str
) -> None:
    text = json.dumps(value)
    damaged = text[:at] + put[:3] + text[at + gone :]
    assert outcome(parse, damaged) == outcome(json.loads, damaged)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_json_that_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse(text)
