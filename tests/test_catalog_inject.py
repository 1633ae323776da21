"""`Catalog.inject` and `Catalog.abilities`: what the catalog knows, what the files say."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import REPOSITORY, Workspace
from metier import Agent, Catalog, Config, ConfigError, UsageError
from metier.core.text import words
from metier.errors import REFRESH_HINT
from metier.inject.abilities import inject_abilities
from metier.load import load_abilities, load_folder
from metier.select.abilities import abilities_for_task
from metier.values.capabilities import DEFAULT_MAX_TOKENS
from metier.values.outcomes import Issue
from metier.values.selection import AbilitySelection, Injection
from soak import examples

EXAMPLE = REPOSITORY / "examples" / "workspace"
AGENT = "agentId: {id}\ndisplayName: The {id}\nversion: 1.0.0\ndescription: Does it.\n{extra}"
SEPARATOR = "\n\n---\n\n"
_CLOCK = count(1)


class Desk(Workspace):
    """A workspace whose files are edited while its catalog is open."""

    def __init__(self, root: Path, catalog: Catalog) -> None:
        super().__init__(root)
        self.catalog = catalog
        self.refresh, self.inject = catalog.refresh, catalog.inject

    def ability(self, id: str, content: str = "", *extra: str, file: str = "") -> Path:
        """Write an ability with a time long past that no file had before."""
        front = "".join(f"{line}\n" for line in extra)
        text = f"---\nabilityId: {id}\n{front}---\n{content or f'Text of {id}.'}\n"
        path = self.write(f"abilities/{file or id}.md", text)
        seconds = 1_000_000_000 + next(_CLOCK)
        os.utime(path, (seconds, seconds))
        return path

    def agent(self, id: str, *extra: str, file: str = "") -> Path:
        text = AGENT.format(id=id, extra="".join(f"{line}\n" for line in extra))
        return self.write(f"agents/{file or id}.yaml", text)

    def fill(self, *ids: str) -> list[Path]:
        """Plain abilities with these ids, and a catalog that knows them."""
        made = [self.ability(id) for id in ids]
        self.refresh()
        return made

    def ids(self, **filters: Any) -> list[str]:
        return [ability.id for ability in self.catalog.abilities(**filters)]


@pytest.fixture
def desk(workspace: Workspace) -> Iterator[Desk]:
    with Catalog.open(workspace.root) as catalog:
        yield Desk(workspace.root, catalog)


def codes(injection: Injection) -> list[str]:
    return [issue.code for issue in injection.issues]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    """The example workspace, refreshed."""
    root = tmp_path_factory.mktemp("example") / "workspace"
    shutil.copytree(EXAMPLE, root, ignore=shutil.ignore_patterns(".metier"))
    home = str(tmp_path_factory.mktemp("home"))
    with Catalog.open(root, config=Config(host_folders=False), home=home) as catalog:
        catalog.refresh()
        yield catalog


KNOWN = load_abilities(EXAMPLE / "abilities").items
PROFILES = {one.id: one.data for one in load_folder("agent", EXAMPLE / "agents").items}
WORDS = sorted({word for one in KNOWN for word in words(f"{one.content} {' '.join(one.tags)}")})
TASKS = st.lists(st.sampled_from([*WORDS, "zebra", "Review", "CI"]), max_size=12).map(" ".join)
OPTIONS = {
    "agent": st.sampled_from([None, "stranger", *PROFILES]),
    "limit": st.none() | st.integers(0, 8),
    "min_signal": st.sampled_from([None, 0.0, 2.0, 10.0]),
}
CORES = st.lists(st.sampled_from([*(one.id for one in KNOWN), "no-such"]), max_size=3)
BUDGETS = st.none() | st.integers(0, 2000)


@examples(150)
@given(TASKS, CORES, BUDGETS, st.booleans(), st.fixed_dictionaries(OPTIONS))
def test_inject_gives_what_the_pure_functions_give_for_the_loaded_files(
    example: Catalog,
    task: str,
    core: list[str],
    budget: int | None,
    headings: bool,
    options: dict[str, Any],
) -> None:
    own = PROFILES.get(options["agent"], {}).get("abilities", {})
    all_core = [*own.get("core", ()), *core]
    most = own.get("maxTokens", DEFAULT_MAX_TOKENS) if budget is None else budget
    selection = abilities_for_task(KNOWN, task, core=all_core, **options)
    wanted = inject_abilities(selection, most, all_core, headings)

    made = example.inject(task, core=core, budget=budget, include_metadata=headings, **options)
    assert (made.text, made.tokens) == (wanted.combined_content, wanted.token_count)
    assert made.tokens <= made.max_tokens == most
    assert made.injected_abilities == wanted.injected_abilities
    assert (made.truncated, made.skipped) == (wanted.truncated, wanted.skipped)
    notes = [one for one in made.issues if one.code == "AGENT_NO_PROFILE"]
    assert len(notes) == (options["agent"] == "stranger")
    assert told([one for one in made.issues if one not in notes]) == told(wanted.issues)
    assert scores(made.selection) == scores(selection)
    assert made.selection.required_by == selection.required_by
    assert made.selection.passed_over == selection.passed_over


def told(issues: Sequence[Issue]) -> list[tuple[str, str, str]]:
    """All but the paths: a loaded folder has others."""
    return [(issue.code, issue.message, issue.hint) for issue in issues]


def scores(selection: AbilitySelection) -> list[tuple[str, float, Mapping[str, float]]]:
    return [(one.item.id, one.score, one.parts) for one in selection.ranked]


def test_the_content_is_that_of_the_file_and_the_score_that_of_the_last_refresh(desk: Desk) -> None:
    desk.ability("one", "The old text.")
    desk.refresh()
    desk.ability("one", "A new one.")
    made = desk.inject("old text")
    assert made.text == "A new one."
    assert made.selection.ranked[0].parts["keywords"] == 4
    desk.refresh()
    assert desk.inject("old text").selection.ranked[0].parts["keywords"] == 0


def test_an_ability_whose_file_is_gone_is_left_out_and_as_core_fails_all(desk: Desk) -> None:
    desk.fill("gone", "here")[0].unlink()
    made = desk.inject("task")
    assert (made.text, made.injected_abilities) == ("Text of here.", ["here"])
    assert codes(made) == ["ABILITY_LOAD_FAILED"]
    assert (made.issues[0].path, made.issues[0].hint) == ("abilities/gone.md", REFRESH_HINT)
    assert not made.failed
    as_core = desk.inject("task", core=["gone"])
    assert (as_core.failed, as_core.text, as_core.injected_abilities) == (True, "", [])
    assert codes(as_core) == ["ABILITY_LOAD_FAILED", "ABILITY_NOT_FOUND"]


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("---\nabilityId: one\npriority: high\n---\nText.\n", "'priority' must be"),
        ("---\nabilityId: one\n", "never closed"),
        ("---\nabilityId: two\n---\nText.\n", "its id has changed"),
        ("", "the file is empty"),
    ],
)
def test_an_ability_whose_file_became_invalid_is_left_out_and_named(
    desk: Desk, text: str, detail: str
) -> None:
    desk.fill("one")
    desk.write("abilities/one.md", text)
    made = desk.inject("task")
    assert (made.text, codes(made)) == ("", ["ABILITY_VALIDATION_ERROR"])
    assert detail in made.issues[0].message
    assert (made.issues[0].path, made.issues[0].hint) == ("abilities/one.md", "metier lint")
    assert desk.inject("task", core=["one"]).failed


def test_a_link_in_the_place_of_a_file_is_not_followed(desk: Desk) -> None:
    [file] = desk.fill("one")
    file.rename(desk.root / "elsewhere.md")
    file.symlink_to(desk.root / "elsewhere.md")
    assert codes(desk.inject("task")) == ["ABILITY_LOAD_FAILED"]


def test_a_file_that_cannot_be_opened_any_more_has_failed_to_load(desk: Desk) -> None:
    [file] = desk.fill("one")
    file.unlink()
    file.mkdir()
    assert codes(desk.inject("task")) == ["ABILITY_LOAD_FAILED"]


def test_what_requires_an_unreadable_ability_is_left_out_too(desk: Desk) -> None:
    gone = desk.ability("base")
    desk.ability("middle", "", "requires: [base]")
    desk.ability("top", "", "requires: [middle]", "priority: 90")
    desk.ability("other")
    desk.refresh()
    gone.unlink()
    made = desk.inject("task")
    assert made.injected_abilities == ["other"]
    assert codes(made) == ["ABILITY_LOAD_FAILED", *["ABILITY_DEPENDENCY_MISSING"] * 2]
    assert sorted(one.id for one in made.skipped) == ["middle", "top"]
    assert {one.reason for one in made.skipped} == {"dependency-missing"}


def test_the_next_in_line_takes_the_place_of_an_unreadable_ability(desk: Desk) -> None:
    first = desk.ability("first", "", "priority: 90", "conflicts: [rival]")
    rival = desk.ability("rival", "", "priority: 80")
    desk.fill("third")
    assert desk.inject("task", limit=2).injected_abilities == ["first", "third"]
    first.unlink()
    assert desk.inject("task", limit=2).injected_abilities == ["rival", "third"]
    rival.unlink()
    made = desk.inject("task", limit=1)
    assert made.text == "Text of third."
    assert codes(made) == ["ABILITY_LOAD_FAILED"] * 2


def test_only_the_files_of_selected_abilities_are_read(desk: Desk) -> None:
    desk.fill("first", "second")[1].unlink()
    made = desk.inject("task", limit=1)
    assert (made.text, made.issues, made.selection.passed_over) == ("Text of first.", [], 1)


def test_a_profile_brings_its_core_abilities_first_and_its_token_limit(desk: Desk) -> None:
    desk.ability("low", "", "priority: 1")
    desk.agent("worker", "abilities: {core: [low], maxTokens: 33}")
    desk.fill("given", "ranked")
    made = desk.inject("task", agent="worker", core=["given", "low"])
    assert (made.injected_abilities, made.max_tokens) == (["low", "given", "ranked"], 33)
    assert [bool(one.parts["core"]) for one in made.selection.ranked] == [True, True, False]
    desk.agent("worker", "abilities: {core: [lov]}")
    desk.refresh()
    made = desk.inject("task", agent="worker")
    assert (made.failed, made.text, codes(made)) == (True, "", ["ABILITY_NOT_FOUND"])
    assert made.issues[0].hint == "did you mean 'low'?"


@pytest.mark.parametrize("budget", [0, 3, 4, 400])
def test_an_explicit_budget_wins_over_the_profile(desk: Desk, budget: int) -> None:
    desk.agent("worker", "abilities: {maxTokens: 200}")
    desk.fill("one")
    made = desk.inject("task", agent="worker", budget=budget)
    assert made.max_tokens == budget
    assert made.text == ("Text of one." if budget >= 3 else "")
    assert made.truncated is (budget < 3)


@pytest.mark.parametrize("agent", ["stranger", "The worker", "", None])
def test_an_agent_without_a_profile_of_that_id_brings_nothing(
    desk: Desk, agent: str | None
) -> None:
    desk.ability("open", "", "priority: 90")
    desk.ability("one", "", "applicableTo: [worker]")
    desk.agent("worker", "abilities: {core: [one], maxTokens: 33}")
    desk.refresh()
    made = desk.inject("task", agent=agent)
    assert made.max_tokens == DEFAULT_MAX_TOKENS
    assert made.injected_abilities == (["open", "one"] if agent is None else ["open"])
    assert (codes(made), made.failed) == ([] if agent is None else ["AGENT_NO_PROFILE"], False)


def test_an_agent_without_a_profile_is_noted_with_the_nearest_name(desk: Desk) -> None:
    desk.agent("worker")
    desk.refresh()
    (issue,) = desk.inject("task", agent="wroker").issues
    assert (issue.severity, issue.message) == ("info", "no agent here is called 'wroker'")
    assert issue.hint == "did you mean 'worker'?"
    assert desk.inject("task", agent="worker").issues == []


def test_an_agent_of_python_brings_its_core_abilities_and_its_limit(desk: Desk) -> None:
    desk.ability("low", "Text of low.")
    desk.refresh()
    desk.catalog.add(Agent("py", "Works.", more={"abilities": {"core": ["low"], "maxTokens": 33}}))
    made = desk.inject("task", agent="py")
    assert (made.injected_abilities, made.max_tokens, made.issues) == (["low"], 33, [])


@pytest.mark.parametrize("lines", [["priority: high"], ["zork: 1"], ["tags: [a"]])
def test_a_profile_with_errors_stops_the_injection(desk: Desk, lines: list[str]) -> None:
    desk.fill("one")
    desk.agent("broken", "abilities: {core: [one], maxTokens: 33}", *lines)
    desk.refresh()
    made = desk.inject("task", agent="broken")
    assert (made.text, made.failed, codes(made)) == ("", True, ["AGENT_INVALID"])
    assert (made.issues[0].path, made.issues[0].hint) == ("agents/broken.yaml", "metier lint")


def test_a_core_ability_whose_file_has_errors_is_told_with_its_file(desk: Desk) -> None:
    desk.ability("one", "", "priority: 1000")
    desk.refresh()
    made = desk.inject("task", core=["one"])
    assert codes(made) == ["ABILITY_NOT_FOUND"]
    assert "its file is excluded" in made.issues[0].message
    assert (made.issues[0].path, made.issues[0].hint) == ("abilities/one.md", "metier lint")


def test_of_two_profiles_with_one_id_the_first_counts(desk: Desk) -> None:
    for file, limit in (("b", 22), ("c", 22), ("a", 11)):
        desk.agent("worker", f"abilities: {{maxTokens: {limit}}}", file=file)
        desk.refresh()
        assert desk.inject("task", agent="worker").max_tokens == limit


@pytest.mark.parametrize("nothing", ["", " {core: }", " {maxTokens: }"])
def test_a_profile_with_an_empty_value_is_one_without_it(desk: Desk, nothing: str) -> None:
    desk.agent("worker", f"abilities:{nothing}")
    desk.fill("one")
    assert desk.catalog.issues() == []
    made = desk.inject("task", agent="worker")
    assert (made.text, made.max_tokens) == ("Text of one.", DEFAULT_MAX_TOKENS)


def test_messages_are_one_task_and_stay_apart(desk: Desk) -> None:
    desk.ability("one", "nothing", "tags: [pull request, database]")
    desk.refresh()

    def for_tags(messages: str | Sequence[str]) -> float:
        return desk.inject(messages).selection.ranked[0].parts["tags"]

    assert for_tags(["a pull", "or a request"]) == for_tags("request\npull") == 10
    assert for_tags(["data", "base"]) == for_tags([]) == for_tags("") == 0


def test_the_next_refresh_sees_new_edited_and_deleted_files(desk: Desk) -> None:
    assert desk.inject("task").text == ""
    desk.ability("one", "First.")
    desk.refresh()
    assert desk.inject("task").text == "First."
    desk.ability("one", "First, edited.", "priority: 1")
    second = desk.ability("two", "Second.")
    desk.refresh()
    assert desk.inject("task").text == f"Second.{SEPARATOR}First, edited."
    second.unlink()
    desk.refresh()
    made = desk.inject("task")
    assert (made.text, made.issues) == ("First, edited.", [])


def test_a_refresh_through_another_catalog_is_noticed(desk: Desk) -> None:
    desk.ability("one", "", "priority: 10")
    desk.refresh()
    assert desk.catalog.abilities()[0] is desk.catalog.abilities()[0]  # read once, until then
    desk.ability("two", "zebra")
    with Catalog.open(desk.root) as other:
        other.refresh()
        assert desk.ids() == ["two", "one"]
        made = desk.inject("zebra")
        assert made.injected_abilities == ["two", "one"]
        assert made.selection.ranked[0].parts["keywords"] == 2


def at_statement(catalog: Catalog, begins: str, act: Callable[[], object]) -> None:
    """Have `act` done right before the statements that begin so."""
    catalog.store.connection.set_trace_callback(
        lambda statement: act() if statement.startswith(begins) else None
    )


def test_a_refresh_amid_an_injection_is_seen_by_the_next_one_and_not_by_half(desk: Desk) -> None:
    desk.ability("one", "zebra")
    desk.refresh()
    with Catalog.open(desk.root) as other:
        desk.ability("one", "horse")
        at_statement(desk.catalog, "SELECT term", other.refresh)
        assert desk.inject("zebra").selection.ranked[0].parts["keywords"] == 2
        assert desk.inject("zebra").selection.ranked[0].parts["keywords"] == 0


def test_a_file_and_row_that_go_amid_an_injection_are_left_out(desk: Desk) -> None:
    gone, _ = desk.fill("gone", "here")
    with Catalog.open(desk.root) as other:
        gone.unlink()
        at_statement(desk.catalog, "COMMIT", other.refresh)
        assert desk.inject("task").text == "Text of here."


def test_abilities_come_by_falling_priority_then_by_folder_then_by_path(desk: Desk) -> None:
    desk.ability("late", "", "priority: 70", file="z")
    desk.ability("zoo", file="b")
    desk.ability("ant", file="c")
    desk.ability("ant", "Hidden.", "priority: 98", file="d")
    desk.ability("off", "", "priority: 99", "enabled: false")
    desk.ability("bad", "", "priority: 1000")
    desk.ability("more", file="../zzz/a")
    desk.catalog.config = Config(abilities=("zzz", "abilities"))
    desk.refresh()
    assert desk.ids() == ["off", "late", "more", "zoo", "ant"]
    assert {one.content for one in desk.catalog.abilities()} == {""}
    texts = [f"Text of {id}." for id in ("late", "more", "zoo", "ant")]
    assert desk.inject("task").text == SEPARATOR.join(texts)


def test_abilities_pass_every_filter_that_is_given(desk: Desk) -> None:
    desk.ability("a", "", "category: data", "tags: [sql, fast]", "description: About a.")
    desk.ability("b", "", "category: data", "tags: [slow]", "applicableTo: [worker]")
    desk.ability("c", "", "tags: [sql]", "excludeFrom: [worker]", "enabled: false")
    desk.refresh()
    assert (desk.ids(category="data"), desk.ids(category="none")) == (["a", "b"], [])
    assert (desk.ids(tags=["slow", "fast"]), desk.ids(tags=["SQL"])) == (["a", "b"], [])
    assert (desk.ids(enabled=False), desk.ids(agent="worker")) == (["c"], ["a", "b"])
    assert desk.ids(agent="other", tags=["sql", "slow"], enabled=True) == ["a"]
    assert desk.catalog.abilities()[0].description == "About a."


def test_tokens_are_those_of_the_text_that_is_handed_over(desk: Desk) -> None:
    desk.fill("one", "two", "three")
    whole = desk.inject("task", include_metadata=True)
    assert whole.text.startswith(f"## one\n\nText of one.{SEPARATOR}## three\n\n")
    assert whole.tokens == desk.catalog.count_tokens(whole.text) == -(-len(whole.text) // 4)
    exact = desk.inject("task", include_metadata=True, budget=whole.tokens)
    assert (exact.text, exact.truncated) == (whole.text, False)
    less = desk.inject("task", include_metadata=True, budget=whole.tokens - 1)
    assert (less.injected_abilities, less.truncated) == (["one", "three"], True)
    assert codes(less) == ["ABILITY_TRUNCATED"]
    assert [(one.id, one.reason) for one in less.skipped] == [("two", "over-budget")]


def test_a_limit_is_ten_unless_given_and_never_negative(desk: Desk) -> None:
    desk.fill(*(f"a{number}" for number in range(12)))
    assert len(desk.inject("task").injected_abilities) == 10
    assert len(desk.inject("task", limit=None).injected_abilities) == 12
    with pytest.raises(UsageError):
        desk.inject("task", limit=-1)
    with pytest.raises(UsageError):
        desk.inject("task", budget=-1)


def test_an_unknown_tokenizer_is_told_when_tokens_are_counted(desk: Desk) -> None:
    desk.fill("one")
    with Catalog.open(desk.root, config=Config(tokenizer="abacus")) as catalog:
        assert len(catalog.abilities()) == 1
        with pytest.raises(ConfigError) as caught:
            catalog.inject("task")
    assert caught.value.code == "TOKENIZER_UNAVAILABLE"
