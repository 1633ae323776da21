"""Tasks in the words of a description."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.triggers import LONGEST_TASK, MOST_TASKS, triggers_of

VERBS = {"create", "edit", "merge", "set", "write", "call", "add", "plan", "process", "copy", "run"}


def wanted(text: str, *examples: str) -> list[str]:
    return list(triggers_of(text, examples, VERBS.__contains__).wanted)


def unwanted(text: str) -> list[str]:
    return list(triggers_of(text, (), VERBS.__contains__).unwanted)


def test_examples_come_first_as_they_are() -> None:
    found = wanted("Draws charts. Use when plotting sales figures.", "Plot the sales, please.")
    assert found == ["Plot the sales, please", "plotting sales figures"]


@pytest.mark.parametrize("quote", ['"{}"', "'{}'", "“{}”", "‘{}’", "「{}」", "'{},'", '"{}."'])
def test_quoted_phrases_are_prompts(quote: str) -> None:
    text = quote.format("merge my files")
    assert wanted(f"Handles PDFs. Triggers: {text} and the like.") == ["merge my files"]


def test_an_apostrophe_quotes_nothing() -> None:
    assert wanted("Finds a competitor's ads that users haven't seen.") == [
        "Finds a competitor's ads that users haven't seen"
    ]


def test_each_item_of_a_list_is_a_task() -> None:
    text = "Handles PDFs. Use when merging PDF files, splitting pages, or filling in forms."
    assert wanted(text) == ["merge PDF files", "splitting pages", "filling in forms"]


def test_verbs_that_share_an_object_stay_together() -> None:
    text = "Use when the user wants to create, edit, or sign PDF files."
    assert wanted(text) == ["create, edit, or sign PDF files"]


def test_single_words_of_a_long_list_are_no_tasks() -> None:
    text = "Use when user mentions risk analysis, FMEA, fault trees, or risk control."
    assert wanted(text) == ["risk analysis", "fault trees", "risk control"]


@pytest.mark.parametrize(
    "start",
    [
        "Use when", "Use this skill when", "Use it for", "When to use:", "Trigger on",
        "Used when the user asks to", "Use proactively when you need to", "Use if they want to",
        "Use when the user explicitly asks for", "When the user wants to", "Call it when asked to",
    ],
)  # fmt: skip
def test_what_introduces_a_task_is_left_out(start: str) -> None:
    assert wanted(f"Handles files. {start} merge PDF files.")[0].endswith("merge PDF files")


@pytest.mark.parametrize(
    ("written", "task"),
    [
        ("Setting up a project", "set up a project"),
        ("writing release notes", "write release notes"),
        ("questions about files", "questions about files"),
        ("calling an API", "call an API"),
        ("adding a page", "add a page"),
        ("planning their trip", "plan my trip"),
        ("string handling here", "string handling here"),
    ],
)
def test_a_task_is_written_as_people_type_it(written: str, task: str) -> None:
    assert wanted(f"Use when {written}.") == [task]


@pytest.mark.parametrize(
    ("written", "task"),
    [
        ("Processes big files", "process big files"),
        ("Copies big files", "copy big files"),
        ("Writes big files", "write big files"),
        ("Writing big files", "write big files"),
        ("Windows on big files", "Windows on big files"),
    ],
)
def test_the_verb_of_a_first_sentence_is_in_its_base_form(written: str, task: str) -> None:
    assert wanted(f"{written}. Fast.") == [task]


def test_a_noun_alone_is_no_task() -> None:
    text = "Use when finance, a supplier or an auditor asks for data."
    assert wanted(text) == ["finance, a supplier or an auditor asks for data"]


def test_without_triggers_the_first_sentence_is_the_task() -> None:
    text = "This skill merges PDF files (any size). It is fast."
    assert wanted(text) == ["merge PDF files"]
    assert not triggers_of(text).names_tasks
    assert triggers_of(f"{text} Use when files are many.").names_tasks


def test_what_it_is_not_for_is_told_apart() -> None:
    text = "Merges PDF files. Not for scanned pages or Word documents (use word-files)."
    assert unwanted(text) == ["scanned pages", "Word documents"]
    assert wanted(text) == ["merge PDF files"]


def test_a_hint_at_another_skill_is_no_task() -> None:
    text = "Merges files. Do not use for drawing charts; use plotter instead."
    assert unwanted(text) == ["drawing charts"]


def test_chinese_text_gives_tasks() -> None:
    found = triggers_of("处理表格。适用于创建报表、合并文件。不适用于图片处理（请用别的）。")
    assert found.wanted == ["创建报表", "合并文件"]
    assert found.unwanted == ["图片处理"]


def test_a_description_without_words_has_no_tasks() -> None:
    assert triggers_of("").wanted == []
    assert triggers_of(" … ").wanted == []


@pytest.mark.parametrize(
    "part", [" ", "\n", " \n", "(", "'", '"', ",", "use when ", "the user is ", "not for a ", "\t-"]
)
def test_a_flood_is_read_in_passing(part: str) -> None:
    text = f"Use when joining PDF files. {part * 100_000} Not for {part * 100_000}"
    assert wanted(text)[0] == "joining PDF files"
    assert "joining PDF files" in wanted(text, text)


TEXTS = st.text("ab Nnotfr.,;()\"'“”—-\n用于。、0", max_size=300) | st.lists(
    st.sampled_from(
        ["Use when", "not for", "Do not use", "or", ",", ".", "merging files", '"do it now"', "(x)"]
    )
).map(" ".join)


@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_tasks_are_few_short_and_distinct(text: str, examples: list[str]) -> None:
    found = triggers_of(text, examples, bool)
    assert found == triggers_of(text, examples, bool)
    for tasks in (found.wanted, found.unwanted):
        assert len(tasks) <= MOST_TASKS
        assert all(0 < len(task) <= LONGEST_TASK for task in tasks)
        assert len({task.casefold() for task in tasks}) == len(tasks)
    known = {task.casefold() for task in found.wanted}
    assert known.isdisjoint(task.casefold() for task in found.unwanted)
