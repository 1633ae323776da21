"""Whoever writes a document, a setting or an answer cannot keep metier busy: work grows as text.

Each case is a text that grows; eight times the text may take at most 40 times as long. What is
worse than linear takes 64 times as long, or more.
"""

import re
from collections.abc import Callable
from time import thread_time
from typing import Any, NamedTuple

import pytest

from lint.first_repairs import fix
from metier.config import powers
from metier.core.clauses import split_clauses
from metier.core.indentation import with_spaces
from metier.core.keywords import KeywordFinder, _may_overlap
from metier.core.markdown import code_and_comments
from metier.core.nearest import Nearest, nearest
from metier.core.relevance import occurrences
from metier.core.templates import TemplateError, compiled_text, compiled_value
from metier.core.terms import searchable, terms
from metier.core.text import printable, words
from metier.discover.sources import remote
from metier.errors import ContractError
from metier.flow.references import References, Renames
from metier.inject.sanitize import sanitize_capability_content
from metier.install import js_plugins, splice, toml_edits
from metier.lint import skills
from metier.lint.agents import lint_agent, validate_agent
from metier.lint.fix_description import whole_sentences
from metier.lint.settings import SettingsFile, lint_capabilities
from metier.lint.skills import lint_skill
from metier.lint.tiers import lint_agents_file
from metier.mcp import stdio
from metier.parse import skills as parse_skills
from metier.parse import yaml as parse_yaml
from metier.parse import yaml12
from metier.parse.agents import parse_agent
from metier.parse.contract import parse_contract
from metier.parse.ordinary import ordinary_values
from metier.parse.skills import parse_skill
from metier.resolve.aliases import parse_alias_table
from metier.run import mcp_tools, tool
from metier.run.ledger import Ledger
from metier.run.models import connect
from metier.run.models.offline import arguments_of, value_of
from metier.run.sqlite_store import SqliteRunStore
from metier.safety.disguise import find_overrides
from metier.safety.markers import defused
from metier.serving import endpoint
from metier.values import checks, run_settings
from metier.values.agents import CheckpointSettings, Limits
from metier.values.outcomes import Issue
from metier.values.runs import Claim, StepRecord
from metier.values.settings_tables import CapabilitiesConfig

pytestmark = pytest.mark.slow

GROWTH = 8
MOST_TIMES_AS_LONG = 40
ALWAYS_FAST_ENOUGH = 0.4
"""Seconds below which the clock says little."""


class Case(NamedTuple):
    what: str
    call: Callable[[Any], object]
    make: Callable[[int], Any]
    size: int = 2_000

    def seconds(self, size: int) -> float:
        given = self.make(size)
        started = thread_time()
        self.call(given)
        return thread_time() - started


def check(case: Case) -> None:
    large = case.seconds(case.size * GROWTH)
    if large > ALWAYS_FAST_ENOUGH:
        small = max(case.seconds(case.size) for _ in range(3))
        for _ in range(4):  # a busy machine adds time now and then, never takes any away
            if large >= small * MOST_TIMES_AS_LONG:
                large = min(large, case.seconds(case.size * GROWTH))
        assert large < small * MOST_TIMES_AS_LONG, f"{small:.3f} s, then {large:.3f} s"


def named(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(one, id=one.what) for one in cases])


# Repairs


def fixed(code: str, line: int = 1) -> Callable[[str], object]:
    return lambda text: fix(text.encode(), [Issue(code, "", "SKILL.md", line, 1)], "folder")


@named([
    Case("name and spaces", fixed("SK301"), lambda n: f"---\nname:{' ' * n}x\n---\n"),
    Case("name and tabs", fixed("SK301"), lambda n: "---\nname" + "\t" * n + ":\t\tx\n---\n"),
    Case("value of spaces", fixed("FM104", 2), lambda n: f"---\nk:{' ' * n}\n---\n"),
    Case("value behind spaces", fixed("FM104", 2), lambda n: f"---\nk:{' ' * n}a\x0b\n---\n"),
    Case("tabs", fixed("FM116"), lambda n: "---\n" + "\ta:\n" * n + "---\n"),
    Case("dashes", fixed("FM116"), lambda n: "---\n\t" + "- " * n + "\n---\n", 20_000),
    Case("no closing fence", fixed("FM116"), lambda n: "---\n" + "--- x\n" * n),
    Case("line ends", fixed("FM112"), lambda n: "---\r\n" * n),
    Case("late fences", fixed("FM101"), lambda n: "x\n" + "---\nname: a\n" * n),
    Case("late front matter", fixed("FM101"), lambda n: "x\n---\nname: a\n" + "b: c\n" * n),
    Case("keys without fences", fixed("FM101"), lambda n: "name: a\n" * n),
    Case("headings", fixed("FM101"), lambda n: "# a\n" * n + "\nA text of some words.\n"),
    Case("words of a label", fixed("FM101"), lambda n: "a " * n + "\n"),
    Case("fences with text", fixed("FM102"), lambda n: "---\nname: a\n" + "----\n" * n),
    Case("keys without end", fixed("FM102"), lambda n: "---\n" + "name: a\n" * n),
    Case("spaces in a key", fixed("FM103", 2), lambda n: f"---\nk{' ' * n}\n---\n"),
    Case("keys", fixed("FM103", 2), lambda n: "---\n" + "k: *a\n" * n + "---\n"),
    Case("lines of a value", fixed("FM103", 3), lambda n: "---\nk: *a\n" + "- x\n" * n + "---\n"),
    Case("code", fixed("SK324", 1), lambda n: "```\n" + "\n" * n),
    Case("sections", fixed("SK304"), lambda n: "---\nname: a\n---\n" + "## a\n\n" * n),
])  # fmt: skip
def test_a_repair_of_a_long_text(case: Case) -> None:
    check(case)


@named([
    Case("dots", lambda text: whole_sentences(text, len(text) - 1), lambda n: "." * n),
    Case("closed", lambda text: whole_sentences(text, len(text) - 1), lambda n: ".)" * n),
    Case("blanks", lambda text: whole_sentences(text, len(text) - 1), lambda n: "\n \t" * n),
])  # fmt: skip
def test_the_sentences_of_a_long_text(case: Case) -> None:
    check(case)


def followed(text: str) -> str:
    renames = Renames({"/w/skills/old": "/w/skills/new"}, {"Old One": "new"})
    return References("/w", renames).followed(text, "/w/a.yaml", is_agent=True)


@named([
    Case("slashes", followed, lambda n: "old" + "/" * n),
    Case("folders", followed, lambda n: "old/" * n, 500),
    Case("paths", followed, lambda n: "skills/old/x " * n),
    Case("blank lines", followed, lambda n: "skills:\n" + "\n" * n + "x"),
    Case("entries", followed, lambda n: "skills:\n" + "- Old One\n" * n),
    Case("spaces", followed, lambda n: "skills:" + " " * n + "Old One"),
    Case("keys", followed, lambda n: '"skills":' * n + "Old One"),
])  # fmt: skip
def test_following_names_through_a_long_text(case: Case) -> None:
    check(case)


# Answers of models


@named([
    Case("line ends", value_of, lambda n: f"```{chr(10) * n}x", 400),
    Case("closed", value_of, lambda n: f"```json{chr(10) * n}x```", 400),
    Case("line ends and blanks", value_of, lambda n: f"```json\n{chr(10) * n} x {' ' * n}```"),
    Case("words", value_of, lambda n: "```json\n" + "a \n" * n + "\n```x"),
    Case("fences", value_of, lambda n: "```\n" * n),
    Case("brackets", value_of, lambda n: "[" * n),
    Case("arguments", arguments_of, lambda n: "{" * n + "\n" * n),
])  # fmt: skip
def test_a_long_answer(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    "text", ["```\n{}\n```", "```JSON \n\n{}```", " ```json\n\n {} \n\n``` \n"]
)
def test_a_fence_around_an_answer_is_taken_off(text: str) -> None:
    assert value_of(text) == {}


@pytest.mark.parametrize("text", ["```{}```", "```json{}```", "```\n{}", "```js\n{}\n```", "```"])
def test_what_is_no_fence_is_no_value(text: str) -> None:
    assert value_of(text) is None


# Profiles


def steps(n: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"stepId": f"s{one}", "type": "prompt", "config": {"prompt": "p"}, **more}
        for one in range(n)
    ]


def profile(workflow: list[Any]) -> dict[str, Any]:
    return {"agentId": "a", "description": "d", "workflow": workflow}


def inside(nested: list[Any], kind: str = "loop") -> dict[str, Any]:
    config = {"over": "input", "steps": nested} if kind == "loop" else {"steps": nested}
    return profile([{"stepId": "all", "type": kind, "config": config}])


def asking(n: int) -> list[dict[str, Any]]:
    """Steps that speak of steps which are not there."""
    return [
        {**one, "config": {"prompt": f"{{{{ steps.x{place}.output }}}}"}}
        for place, one in enumerate(steps(n))
    ]


@named([
    Case("steps in a loop", validate_agent, lambda n: inside(steps(n)), 500),
    Case("unknown steps", validate_agent, lambda n: inside(asking(n)), 50),
    Case("parallel", validate_agent, lambda n: inside(asking(n), "parallel"), 50),
    Case(
        "dependencies",
        validate_agent,
        lambda n: inside(steps(1, dependencies=[f"s{one}" for one in range(n)]) + steps(n)),
    ),
    Case("too many", validate_agent, lambda n: profile(asking(n)), 400),
    Case("unknown keys", validate_agent, lambda n: {str(one): 1 for one in range(n)}),
    Case("a long key", validate_agent, lambda n: {"agentI" * n: 1}, 20_000),
])  # fmt: skip
def test_a_long_profile(case: Case) -> None:
    check(case)


def test_more_steps_than_allowed_are_one_flaw() -> None:
    [issue] = validate_agent(profile(asking(1_600)))
    assert issue.message == "'workflow' has 1600 entries, the limit is 100"


def lint_profile(text: str) -> object:
    parsed = parse_agent(text.encode(), "agents/a.yaml")
    assert parsed.document is not None
    assert parsed.matter is not None
    return lint_agent(parsed.document, parsed.matter)  # type: ignore[arg-type]  # it is a profile


def test_flaws_behind_many_keys_are_found_fast() -> None:
    def make(n: int) -> str:
        keys = "".join(f"  k{one}: 1\n" for one in range(n))
        return f"agentId: a\ndescription: b\nmetadata:\n{keys}tags: [{', '.join(['1'] * n)}]\n"

    def spread(n: int) -> str:
        return "".join(f"k{one}: 1\n" for one in range(n)) + make(n)

    check(Case("inside", lint_profile, make, 200))
    check(Case("beside", lint_profile, spread, 400))


# Templates


def filled(text: str) -> object:
    try:
        return compiled_text(text)({"task": "x"})
    except TemplateError:
        return None


def fill_value(text: str) -> object:
    try:
        return compiled_value(text)({"task": "x"})
    except TemplateError:
        return None


@named([
    Case("keys", filled, lambda n: "{{ '" + "%(" * n + "' % {} }}", 6_000),
    Case("made keys", filled, lambda n: f"{{{{ ('%(' * {n}) % {{}} }}}}", 100_000),
    Case("made places", filled, lambda n: f"{{{{ ('%s' * {n}) % () }}}}", 10_000),
    Case("made zeros", filled, lambda n: f"{{{{ ('%' ~ '0' * {n}) % () }}}}", 100_000),
    Case("filter", filled, lambda n: f"{{{{ ('%(a' * {n}) | format }}}}", 100_000),
    Case("percents", filled, lambda n: "{{ task }}" + "%(" * n, 6_000),
    Case("braces", filled, lambda n: "{{ task }}" + "{" * n, 12_000),
    Case("comments", filled, lambda n: "{{ task }}" + "{#" * n, 6_000),
    Case("spaces", filled, lambda n: "{{ task }}" + " \n" * n + "{%-", 6_000),
    Case("brackets", filled, lambda n: "{{ " + "(" * n, 12_000),
    Case("value", fill_value, lambda n: "{{ " + "- " * n + "}}", 6_000),
])  # fmt: skip
def test_a_long_template(case: Case) -> None:
    check(case)


# Texts for agents

UNITS = [
    " ", "\n", "\t", "-", "- ", "<", "< ", "<user ", "</", "<!--", "<!-- --> ", "<|", "<<", "[",
    "](", "[a](", "][", "(", "`", "` ", "~~~\n", "```\n", "> ", ">\n    x\n", "* a\n", "1. ", "\\",
    "&", "&amp;", "amp;", "&#0", "&#38;", "#", "user", "user:\n", "ignore ", "disregard", "d ",
    "all",
    "new ", ".\n", "\n\n    a", "\r", "\r\n", "\ufe0f", "é", "\u0301", "<sys<system>tem>", "---\n",
    "<reference ", "<s", "\0", "[/INST", "|", "a",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_a_long_card_is_looked_through(unit: str) -> None:
    for start in ("", "<a ", "```", "disregard", "- " * 50 + "\n"):

        def make(n: int, start: str = start) -> str:
            return start + unit * (n // len(unit)) + "x"

        check(Case(unit, sanitize_capability_content, make, 1_000))


FLOODS = {
    "disregard": "disregard ",
    "ignore": "ignore all ",
    "marks": "a" + "\u0301" * 9,
    "angles": "<",
    "tags": "<system>",
    "openers": "<sys",
    "comments": "<!--",
    "comments inside of lines": "x<!--",
    "backticks": "` `` ",
    "entities": "&#105;",
    "lines": "- x\n",
    "items": "- ",
    "indented": "- x\n\n      y\n",
    "ampersands": "&#38;#38;",
    "addresses": "](a(",
    "references": "<reference ",
    "boxes": "- [ ] ",
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS.keys())
def test_a_flood_of_160_000_characters_is_looked_through(flood: str) -> None:
    check(Case(flood, sanitize_capability_content, lambda n: (flood * n)[:n], 20_000))


@named([
    Case("markdown", code_and_comments, lambda n: "- " * n + "\n" + ">\n    x\n" * n, 1_000),
    Case("backticks", code_and_comments, lambda n: "".join("`" * one for one in range(n)), 50),
    Case("markers", defused, lambda n: "<user" + "\n" * n + "<user" + " " * n),
    Case("phrases", find_overrides, lambda n: "ignore" + "all the " * n),
    Case("words", words, lambda n: "a\u0301 " * n),
    Case("printable", printable, lambda n: "\x1b" * n),
    Case("words of the ranker", terms, lambda n: "aB_c'é表" * n),
    Case("words in ASCII", terms, lambda n: "aB_c'd" * n),
    Case("pairs", terms, lambda n: "表" * n),
    Case("parts", terms, lambda n: "aB" * n),
    Case("signs", terms, lambda n: "".join(map(chr, range(0x2190, 0x2190 + n))) + "é" * n),
    Case("a body", searchable, lambda n: "aB_c'é表—" * n),
    Case("keyword", _may_overlap, lambda n: "ab" * n + "a" * n + "c", 20_000),
])  # fmt: skip
def test_a_long_text(case: Case) -> None:
    check(case)


# Documents


def skill(text: str) -> object:
    parsed = parse_skill(f"---\nname: a\n{text}\n---\nbody".encode(), "a/SKILL.md")
    if parsed.document is None or parsed.matter is None:
        return parsed
    return lint_skill(parsed.document, parsed.matter)  # type: ignore[arg-type]  # it is a skill


@named([
    Case("spaces", skill, lambda n: f"description:{' ' * n}x: y"),
    Case("tags", skill, lambda n: "description: x" + "<a " * n),
    Case("keys", skill,
         lambda n: "description: x\n" + "".join(f"k{one}: 1\n" for one in range(n)), 500),
    Case("twice", skill, lambda n: "description: x\n" + "k: 1\n" * n, 1_000),
    Case("bad lines", skill, lambda n: "description: a: b\n" + "k: 1: 2\n" * n, 500),
    Case("tabs", skill, lambda n: "description: x\n" + "k:\n\t- a\n" * n, 500),
    Case("flow", skill, lambda n: "description: [" + "[]," * n, 1_000),
    Case("deep", skill, lambda n: "description: " + "[" * n),
    Case("dashes", skill, lambda n: "description:\n" + "- " * n),
    Case("questions", skill, lambda n: "? " * n),
    Case("capabilities", skill, lambda n: "description: x\ncapabilities: [" + "[]," * n + "]", 500),
    Case("fences", lambda text: parse_skill(text.encode(), "SKILL.md"),
         lambda n: "x\n" + "---\n" * n),
    Case("indentation", with_spaces, lambda n: "\t" + "- " * n, 20_000),
])  # fmt: skip
def test_a_long_document(case: Case) -> None:
    check(case)


def contract(text: str) -> object:
    try:
        return parse_contract(text)
    except ContractError:
        return None


@named([
    Case("escapes", contract, lambda n: "DCI/1 A(a=" + "\\ " * n + ")"),
    Case("equals", contract, lambda n: "DCI/1 A(" + "=" * n + ")"),
    Case("blanks", contract, lambda n: "DCI/1 A(" + " " * n + "a = " + " " * n + "b)"),
    Case("clauses", contract, lambda n: "DCI/1" + " X(a)" * n),
    Case("names", contract, lambda n: "DCI/1 P(" + "a," * n + "a)"),
    Case("spaces", contract, lambda n: "DCI/1" + " " * n),
])  # fmt: skip
def test_a_long_contract(case: Case) -> None:
    check(case)


# Settings, and files of hosts


def parsed(text: str) -> object:
    try:
        return splice.parse(text)
    except ValueError:
        return None


def excluded(n: int) -> tuple[CapabilitiesConfig, list[str], str]:
    names = [f"card-{one}" for one in range(n)]
    text = "[capabilities]\nexclude = [\n" + "".join(f'  "{one}",\n' for one in names) + "]\n"
    return CapabilitiesConfig(exclude=tuple(names)), [f"other-{one}" for one in range(n)], text


def aliases(text: str) -> object:
    return parse_alias_table(text, "workspace", "aliases.json")


@named([
    Case("cards", lambda given: lint_capabilities(
        given[0], given[1], [SettingsFile("metier.toml", given[2])]), excluded, 200),
    Case("keys", parsed,
         lambda n: "{" + ", ".join(f'"{one}": 1' for one in [*range(n), n - 1]) + "}"),
    Case("indentation", lambda text: splice.add(text, [], 1, key="k"),
         lambda n: "{" + "\n " * n + "\n" + " " * n + '"a": 1}'),
    Case("rows", lambda text: toml_edits.remove(text, ["t"]),
         lambda n: "a = [\n" + "[1],\n" * n + "]\n[t]\nb = 1\n", 200),
    Case("toml", lambda text: toml_edits.remove(text, ["t"]),
         lambda n: "[t]\na = 1\n" + "".join(f"[t.a{one}]\nb = 1\n" for one in range(n)), 200),
    Case("aliases", aliases, lambda n: '{"aliases": {' + ", ".join(
        f'"A{one}": []' for one in range(n)) + "}}", 500),
    Case("digits", lambda text: yaml12.difference(text.encode()),
         lambda n: f"---\nname: a\nk: {'1' * n}x\n---\n"),
    Case("lists", lambda text: yaml12.difference(text.encode()),
         lambda n: f"---\nname: a\nk: [{'{a: b}, ' * n}]\n---\n", 500),
    Case("no closing fence", lambda text: yaml12.difference(text.encode()),
         lambda n: "---\n" + "--- x\n" * n),
])  # fmt: skip
def test_a_long_file_of_a_host_or_of_settings(case: Case) -> None:
    check(case)


# Keywords and names in a text


def counted(keyword: str) -> object:
    """A keyword among so many that they are looked for together."""
    finder = KeywordFinder([*map(str, range(100, 140)), keyword])
    return finder.count(keyword * 2), finder.count_alone(keyword * 2)


def alone(text: str) -> object:
    return occurrences(text[: len(text) // 2], text, "word")


def named_cards(n: int) -> tuple[str, list[str]]:
    ids = [f"card-{one}" for one in range(n)]
    return "card x-card-1 docs " * n, [*ids, *(f"cards/{one}.md" for one in ids)]


@named([
    Case("learning a keyword", counted, lambda n: "a" * n),
    Case("learning another", counted, lambda n: "ab" * n + "c"),
    Case("a word", alone, lambda n: "a" * n, 5_000),
    Case("words", alone, lambda n: "-a" * n, 5_000),
    Case("the end of a word", alone, lambda n: "a" * n + "b" + "a" * n + "c", 5_000),
    Case("cards", lambda given: lint_agents_file(given[0], "AGENTS.md", given[1]),
         named_cards, 1_000),
    Case("a long name", lambda name: lint_agents_file(name[1:] * 2, "AGENTS.md", [name]),
         lambda n: "a" * n),
])  # fmt: skip
def test_a_long_keyword_or_many_names(case: Case) -> None:
    check(case)


# Runs


def turns(n: int) -> Ledger:
    known = [StepRecord(f"a[{one}]", "succeeded", seq=one + 1) for one in range(n)]
    return Ledger(
        SqliteRunStore.in_memory(), Claim(1, 1), [], CheckpointSettings(), Limits(), known
    )


def look_at_each_turn(ledger: Ledger) -> None:
    for key in ledger.records:
        assert len(ledger.seen_in_iteration(key)) == 1


def test_what_each_turn_of_a_long_loop_sees() -> None:
    check(Case("turns", look_at_each_turn, turns, 1_000))


# Every regular expression that searches what somebody else has written

SEARCHES: dict[str, Callable[[str], object]] = {
    "files in a command line": re.compile(powers._PARTS).findall,
    "command of a shim": js_plugins._COMMAND.search,
    "indentation of a host's file": splice._FIRST_INDENT.search,
    "space in a host's file": splice._SPACE.match,
    "tags": re.compile(skills._TAG).search,
    "places in a command": run_settings.PLACEHOLDER.findall,
    "Jinja in a command": run_settings._JINJA.search,
    "sections of a docstring": tool._SECTION.split,
    "parameters of a docstring": tool._PARAMETER.match,
    "names of a server's tools": lambda text: mcp_tools._ILLEGAL.sub("_", text),
    "packages in an error": connect._EXTRA.search,
    "keys in an error": lambda text: connect._LIKE_A_KEY.sub("***", text),
    "answers": stdio._ANSWER.match,
    "hosts": endpoint._NAME.fullmatch,
    "odd marks": yaml12._ODD_MARKS.search,
    "scalars": yaml12._NO_TEXT.fullmatch,
    "blocks": yaml12._BLOCK.match,
    "comments in lists": yaml12._COMMENT_IN_LIST.search,
    "late front matter": re.compile(parse_skills._LATE_FRONT_MATTER).search,
    "code fences": re.compile(parse_skills._CODE_FENCE).findall,
    "tags of YAML": parse_yaml._MAY_BE_TAG.search,
    "anchors": parse_yaml._MAY_BE_ANCHOR.findall,
    "ordinary front matter": lambda text: ordinary_values(f"a: {text}"),
    "versions": checks.FORMS["version"][0],
    "models": checks.FORMS["model"][0],
    "addresses": remote.shown_address,
    "what a skill is not for": split_clauses,
}
STARTS = (
    "", "\n", " ", "a", '"', "<a ", "\n---", "const COMMAND = [", "Bearer ", "sk-", "{", "[", "//",
    "not for ", "do not", '{"jsonrpc":"2.0","id":"', "pydantic-ai-slim[", " a(", "\n ", "1.",
)  # fmt: skip
MORE_UNITS = [
    "not ",
    "do not use ",
    "does not",
    "use when ",
    "\n ",
    "a.",
    "a:",
    "1",
    "0",
    "1.",
    "_",
    "'",
    '"',
    '\\"',
    "sk-",
    "Bearer ",
    "{a",
    "//a@",
]


@pytest.mark.parametrize("what", SEARCHES)
def test_a_search_in_a_long_text(what: str) -> None:
    for unit in (*UNITS, *MORE_UNITS):
        for start in STARTS:

            def make(n: int, start: str = start, unit: str = unit) -> str:
                return start + unit * (n // len(unit)) + "\n"

            check(Case(what, SEARCHES[what], make, 1_250))


def test_only_the_first_of_many_names_are_looked_for() -> None:
    known = Nearest(["search", "review"])
    assert [known.to("serch") for _ in range(21)] == ["search"] * 20 + [""]


def test_a_very_long_word_is_near_to_nothing() -> None:
    assert nearest("search" * 40, ["search" * 40]) == ""
