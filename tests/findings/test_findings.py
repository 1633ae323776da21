"""Every code has a page, and the examples on it are true."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

import metier.findings
from metier.errors import MetierError
from metier.findings import CODES, OUTCOMES, OUTSIDE, errors
from metier.hosts import HIDING_SWITCH
from metier.hosts.known import HOSTS
from metier.hosts.loading import SWITCH, honours
from metier.hosts.model import Loading
from metier.lint.tiers import lint_agents_file
from metier.load import load_folder
from metier.resolve.aliases import parse_alias_table
from metier.values.files import Kind
from metier.values.outcomes import ALL_HOSTS, Issue

PLACES: dict[str, tuple[Kind, str]] = {
    "FM": ("skill", "skills/example/SKILL.md"),
    "SK": ("skill", "skills/example/SKILL.md"),
    "DC": ("skill", "skills/example/SKILL.md"),
    "AB": ("ability", "abilities/x.md"),
    "CD": ("card", "docs/capabilities/x.md"),
    "SZ": ("card", "docs/capabilities/x.md"),
    "AG": ("agent", "agents/x.yaml"),
    "FM115": ("agent", "agents/x.json"),
    "SZ805": ("skill", "skills/example/SKILL.md"),
    "SZ806": ("skill", "skills/example/SKILL.md"),
}
"""Where a document of a family, or of one code, stands."""


def load_text(workspace: Path, code: str, raw: bytes) -> list[Issue]:
    """What loading says about a file in the place where documents of the code's family are."""
    kind, place = PLACES.get(code) or PLACES[code[:2]]
    file = workspace / place
    file.parent.mkdir(parents=True)
    file.write_bytes(raw)
    return load(kind, workspace if kind == "skill" else file.parent)


def load(kind: Kind, folder: Path) -> list[Issue]:
    return list(load_folder(kind, folder).issues)


def codes_of(issues: list[Issue]) -> set[str]:
    return {issue.code for issue in issues}


def skill(*front: str, body: str = "Read the table.") -> bytes:
    about = "description: Draws a chart from a table of numbers."
    lines = ("---", "name: example", *(front or (about,)), "---", body)
    return "\n".join(lines).encode() + b"\n"


def card(body: str) -> bytes:
    front = "id: x\nname: X\ndescription: Looks things up.\ntriggers: {keywords: [search]}"
    return f"---\n{front}\n---\n{body} {'It tells what is there. ' * 12}\n".encode()


ABOUT = "description: Draws a chart from a table of numbers."

SITUATIONS: dict[str, tuple[bytes, bytes]] = {
    "FM108": (skill(ABOUT, f"author: {'a' * 65_600}"), skill(ABOUT, f"author: {'a' * 65_000}")),
    "FM110": (skill("description: Draws a chart in a café.").replace("é".encode(), b"\xe9"),
              skill("description: Draws a chart in a café.")),
    "FM111": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", skill()),
    "FM112": (skill().replace(b"\n", b"\r\n"), skill()),
    "FM113": (b"\xef\xbb\xbf" + skill(), skill()),
    "FM114": (b" \n\n", skill()),
    "SK305": (skill(f"description: {'a' * 1025}"), skill(f"description: {'a' * 1024}")),
    "SK308": (skill(ABOUT, f"compatibility: {'a' * 501}"),
              skill(ABOUT, f"compatibility: {'a' * 500}")),
    "SK313": (skill(body="x\n" * 501), skill(body="x\n" * 500)),
    "AB504": (b"a" * 50_001, b"a" * 50_000),
    "SZ805": (skill(body="Read the ta\u200bble."), skill(body="Read the table.")),
    "SZ802": (card("The tool sea\u200brch finds pages."), card("The tool search finds pages.")),
}  # fmt: skip
"""Codes whose page describes a file that is too long, or no text, to be shown."""


def dangling_link(workspace: Path) -> Kind:
    (workspace / "a").mkdir()
    (workspace / "a/SKILL.md").symlink_to(workspace / "gone.md")
    return "skill"


def link_to_the_outside(workspace: Path) -> Kind:
    outside = workspace.parent / "outside.md"
    outside.write_bytes(skill())
    (workspace / "a").mkdir()
    (workspace / "a/SKILL.md").symlink_to(outside)
    return "skill"


def too_large(workspace: Path) -> Kind:
    (workspace / "card.md").write_bytes(b"a" * (50 * 1024 + 1))
    return "card"


def folder_named_as_a_skill(workspace: Path) -> Kind:
    (workspace / "a/SKILL.md").mkdir(parents=True)
    return "skill"


def name_in_latin_1(workspace: Path) -> Kind:
    try:
        with open(os.fsencode(workspace) + b"/caf\xe9.md", "wb") as file:
            file.write(b"Coffee.")
    except OSError:
        pytest.skip("this file system takes only names in UTF-8")
    return "ability"


def lower_case_name(workspace: Path) -> Kind:
    (workspace / "example").mkdir()
    (workspace / "example/skill.md").write_bytes(skill())
    return "skill"


def reserved_word(workspace: Path) -> Kind:
    (workspace / "claude-charts").mkdir()
    text = skill().replace(b"name: example", b"name: claude-charts")
    (workspace / "claude-charts/SKILL.md").write_bytes(text)
    return "skill"


def for_the_model_alone(workspace: Path) -> Kind:
    folder = workspace / ".agents/skills/example"
    folder.mkdir(parents=True)
    about = "description: Draws a chart from a table of numbers."
    (folder / "SKILL.md").write_bytes(skill(about, "user-invocable: false"))
    return "skill"


def left_to_the_user(workspace: Path) -> Kind:
    folder = workspace / ".agents/skills/example"
    folder.mkdir(parents=True)
    about = "description: Draws a chart from a table of numbers."
    (folder / "SKILL.md").write_bytes(skill(about, "disable-model-invocation: true"))
    return "skill"


FOLDERS: dict[str, Callable[[Path], Kind]] = {
    "IO201": dangling_link,
    "IO202": link_to_the_outside,
    "IO203": too_large,
    "IO204": folder_named_as_a_skill,
    "IO205": name_in_latin_1,
    "SK315": lower_case_name,
    "SK317": left_to_the_user,
    "SK322": reserved_word,
    "SK329": for_the_model_alone,
}
"""Codes that are about where a file is or what it is called."""

AROUND = {"SK327", "SK328", "SK330"}
"""Codes of files beside a skill, which only `metier lint` looks at: tests/lint has examples."""
ALIAS_TABLE = "DC403"
NO_DOCUMENT = {"CD608", "CD609", "CD610", "CD611", "CD612"}
"""Codes of AGENTS.md and of the settings."""
SHOWN = [
    code for code in CODES
    if code[:2] in PLACES
    and code not in {*SITUATIONS, *FOLDERS, *NO_DOCUMENT, *AROUND, ALIAS_TABLE}
]  # fmt: skip


ERRORS = errors()


def test_every_family_file_is_read_and_every_code_is_in_the_file_of_its_family() -> None:
    folder = Path(metier.findings.__file__).parent
    written = [re.findall(r"^## (\w+)", file.read_text(), re.M) for file in folder.glob("*.md")]
    assert sorted(code for codes in written for code in codes) == sorted({*CODES, *ERRORS})
    prefixes = [{code.rstrip("0123456789") for code in codes} for codes in written]
    assert [found for found in prefixes if len(found) > 1 and found & set(PLACES)] == []


def test_every_finding_has_a_severity_and_only_lint_findings_have_titles() -> None:
    found = {**CODES, **ERRORS}
    assert {one.severity for one in found.values()} == {"error", "warning", "info"}
    assert all(CODES[code].title for code in CODES)
    assert not any(ERRORS[code].title for code in ERRORS)


def test_every_error_code_has_a_page_and_no_page_is_unused() -> None:
    reported = {"SYSTEM", "INTERNAL"}  # by the command line, for what is not metier's own
    assert set(ERRORS) == {*raised_codes(), *OUTCOMES, *run_codes(), *reported}


def run_codes() -> set[str]:
    file = Path(metier.findings.__file__).parent / "runs.md"
    return set(re.findall(r"^## (\w+)", file.read_text(), re.M))


def test_every_code_that_a_run_can_end_with_is_listed() -> None:
    pattern = r'"((?:RUN|STEP|CHECKPOINT|DELEGATION|TOOL|MODEL|LOOP|EXPRESSION)_[A-Z_]+)"'
    sources = (Path(metier.__file__).parent / "run").rglob("*.py")
    found = {code for file in sources for code in re.findall(pattern, file.read_text())}
    assert "RUN_TIMEOUT" in found
    assert found <= run_codes()


def raised_codes() -> Iterator[str]:
    """The codes of the exceptions, and the codes that the sources give to one of them."""
    kinds = [MetierError]
    for kind in kinds:
        yield kind.default_code
        kinds.extend(kind.__subclasses__())
    for file in Path(metier.__file__).parent.rglob("*.py"):
        text = file.read_text()
        yield from re.findall(r'\bcode="([A-Z]+(?:_[A-Z]+)*)"', text)
        yield from re.findall(r'"(STORE_[A-Z_]+)"', text)


@pytest.mark.parametrize("code", CODES)
def test_a_page_is_short_and_shows_two_different_examples(code: str) -> None:
    page = CODES[code]
    assert 1 <= sentences(page.why) <= 3
    assert page.bad.strip()
    assert page.good.strip()
    assert page.bad != page.good


@pytest.mark.parametrize("code", CODES)
def test_the_lines_of_an_example_fit_an_indented_terminal_of_80_columns(code: str) -> None:
    lines = f"{CODES[code].bad}{CODES[code].good}".splitlines()
    assert max(map(len, lines)) <= 76


@pytest.mark.parametrize("code", CODES)
def test_a_page_says_which_hosts_it_matters_to_and_what_each_does(code: str) -> None:
    hosts = CODES[code].hosts
    assert hosts
    assert {*hosts} <= {*HOSTS, *OUTSIDE, ALL_HOSTS}
    assert all(re.fullmatch(r"[a-z].{5,}[^.]", effect) for effect in hosts.values())


@pytest.mark.parametrize("code", CODES)
def test_a_source_has_a_date(code: str) -> None:
    source = CODES[code].source
    assert not source or re.search(r", 2026-(0[1-9]|1[0-2])-[0-3][0-9]\.$", source)


@pytest.mark.parametrize(
    "code",
    [code for code in CODES if code.startswith("PL") or "SK316" <= code <= "SK330"]
    + ["SK305", "SZ805", "SZ806", "XF904", "XF906"],
)
def test_a_rule_about_hosts_and_bodies_names_its_source(code: str) -> None:
    assert CODES[code].source


DROPS: dict[str, Callable[[Loading], bool]] = {
    "FM101": lambda loading: loading.headless == "dropped",
    "FM102": lambda loading: loading.headless == "dropped",
    "FM103": lambda loading: loading.invalid in ("colons load", "dropped"),
    "FM104": lambda loading: loading.invalid == "dropped",
    "FM116": lambda loading: loading.invalid in ("colons load", "dropped"),
    "SK301": lambda loading: loading.unnamed == "dropped",
    "SK302": lambda loading: isinstance(loading.longest_name, int) or bool(loading.name_pattern),
    "SK304": lambda loading: loading.undescribed == "dropped",
    "SK305": lambda loading: isinstance(loading.longest_description, int),
}
"""Pages, and the fact about a host by which it drops the skill."""


@pytest.mark.parametrize("code", DROPS)
def test_the_hosts_that_drop_a_skill_are_those_whose_facts_say_so(code: str) -> None:
    known = {name: host.loading for name, host in HOSTS.items() if host.loading is not None}
    dropping = {name for name, loading in known.items() if DROPS[code](loading)}
    hosts = {name: effect for name, effect in CODES[code].hosts.items() if name in HOSTS}
    assert {name for name, effect in hosts.items() if effect.startswith("drop")} == dropping


@pytest.mark.parametrize(("code", "key"), [("SK317", SWITCH), ("SK329", HIDING_SWITCH)])
def test_the_hosts_that_ignore_a_switch_are_those_whose_facts_say_so(code: str, key: str) -> None:
    known = {name: host for name, host in HOSTS.items() if host.loading is not None}
    ignoring = {name for name, host in known.items() if not honours(host, key)}
    assert {*CODES[code].hosts} == ignoring


@pytest.mark.parametrize("code", ERRORS)
def test_an_error_page_is_short_and_its_first_sentence_can_stand_alone(code: str) -> None:
    text = ERRORS[code].why
    assert 1 <= sentences(text) <= 3
    assert text.split(".")[0] == text.split(". ")[0]


def sentences(text: str) -> int:
    assert text.endswith(".")
    return text.count(". ") + 1


def test_every_example_of_a_document_family_is_tried_out() -> None:
    families = {code for code in CODES if code[:2] in PLACES}
    assert families <= {*SHOWN, *SITUATIONS, *FOLDERS, *NO_DOCUMENT, *AROUND, ALIAS_TABLE}


@pytest.mark.parametrize("code", SHOWN)
def test_the_bad_example_gets_the_finding(code: str, tmp_path: Path) -> None:
    assert code in codes_of(load_text(tmp_path, code, CODES[code].bad.encode()))


@pytest.mark.parametrize("code", SHOWN)
def test_the_good_example_gets_no_finding_at_all(code: str, tmp_path: Path) -> None:
    assert load_text(tmp_path, code, CODES[code].good.encode()) == []


@pytest.mark.parametrize("code", SITUATIONS)
def test_a_file_as_the_page_describes_it_gets_the_finding(code: str, tmp_path: Path) -> None:
    assert codes_of(load_text(tmp_path, code, SITUATIONS[code][0])) == {code}


@pytest.mark.parametrize("code", SITUATIONS)
def test_a_file_put_right_gets_no_finding(code: str, tmp_path: Path) -> None:
    assert load_text(tmp_path, code, SITUATIONS[code][1]) == []


@pytest.mark.parametrize("code", FOLDERS)
def test_a_folder_as_the_page_describes_it_gets_the_finding(code: str, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    kind = FOLDERS[code](workspace)
    assert codes_of(load(kind, workspace)) == {code}


def test_every_finding_has_a_place_and_a_message(tmp_path: Path) -> None:
    for code in SHOWN:
        (tmp_path / code).mkdir()
        issues = load_text(tmp_path / code, code, CODES[code].bad.encode())
        assert code in {issue.code for issue in issues}
        for issue in issues:
            assert issue.line >= 1
            assert issue.column >= 1
            assert issue.message.strip()
            assert issue.path.endswith((".md", ".yaml", ".json"))


def test_the_page_of_alias_tables_shows_a_broken_and_a_sound_one() -> None:
    page = CODES[ALIAS_TABLE]
    table, issues = parse_alias_table(page.bad, "workspace", "aliases.json")
    assert table is None
    assert {issue.code for issue in issues} == {ALIAS_TABLE}
    assert parse_alias_table(page.good, "workspace", "aliases.json")[1] == []


def test_the_page_about_pointing_to_the_cards_shows_an_agents_file_with_and_without() -> None:
    cards = ["web-search", "docs/capabilities/web-search.md"]
    page = CODES["CD609"]
    assert codes_of(lint_agents_file(page.bad, "AGENTS.md", cards)) == {"CD609"}
    assert lint_agents_file(page.good, "AGENTS.md", cards) == []


def test_a_family_is_read_once_though_none_of_its_codes_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = Mock(wraps=metier.findings._read)
    monkeypatch.setattr(metier.findings, "_read", read)
    codes = metier.findings._Codes({"AB": "abilities"})
    assert [codes.get(code) for code in ("AB-UNKNOWN", "AB-OTHER")] == [None, None]
    assert codes["AB501"].severity == "error"
    read.assert_called_once_with("abilities")
