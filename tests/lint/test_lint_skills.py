"""The rules for SKILL.md, each at its limit and beyond it."""

import pytest

from lint.first_repairs import fix
from metier.lint import lint_document
from metier.lint.host_limits import ROUTING_TEXT_SHOWN
from metier.lint.skills import LONGEST_DESCRIPTION
from metier.parse.kinds import parse_document
from metier.values.documents import Skill
from metier.values.outcomes import Issue

ABOUT = "description: Draws a chart from a table. Use when numbers should be seen."
PATH = "skills/charts/SKILL.md"


def text_of(*front: str, body: str = "Read the table.") -> str:
    return "\n".join(("---", *front, "---", body, ""))


def lint(*front: str, body: str = "Read the table.", path: str = PATH) -> list[Issue]:
    parsed = parse_document("skill", text_of(*front, body=body).encode(), path)
    return [*parsed.issues, *lint_document(parsed)]


def codes(*front: str, body: str = "Read the table.", path: str = PATH) -> list[str]:
    return [issue.code for issue in lint(*front, body=body, path=path)]


def skill_of(*front: str) -> Skill:
    document = parse_document("skill", text_of(*front).encode(), PATH).document
    assert isinstance(document, Skill)
    return document


def test_a_clean_skill_has_no_findings() -> None:
    assert lint("name: charts", ABOUT, "license: MIT", "metadata: {owner: docs}") == []


@pytest.mark.parametrize("name", ["a", "a1", "1a", "a-b-c", "a" * 64])
def test_a_name_of_lower_case_words_and_single_hyphens_is_fine(name: str) -> None:
    assert codes(f"name: {name}", ABOUT, path=f"skills/{name}/SKILL.md") == []


@pytest.mark.parametrize("name", ["Charts", "a b", "a_b", "-a", "a-", "a--b", "é", "a" * 65])
def test_any_other_name_breaks_the_rule(name: str) -> None:
    assert codes(f"name: {name}", ABOUT, path=f"skills/{name}/SKILL.md") == ["SK302"]


def test_a_name_that_is_too_long_is_told_its_length() -> None:
    (issue,) = lint(f"name: {'a' * 65}", ABOUT, path=f"skills/{'a' * 65}/SKILL.md")
    assert "65 characters, the limit is 64" in issue.message


def test_a_number_as_name_reads_as_text() -> None:
    assert codes("name: 42", ABOUT, path="skills/42/SKILL.md") == []


@pytest.mark.parametrize("front", [(ABOUT,), ("name:", ABOUT), ('name: ""', ABOUT)])
def test_a_skill_without_a_name_takes_its_folders_name(front: tuple[str, ...]) -> None:
    assert codes(*front) == ["SK301"]
    assert skill_of(*front).name == "charts"


def test_a_name_other_than_the_folders_is_found_with_its_line() -> None:
    (issue,) = lint(ABOUT, "name: graphs")
    assert (issue.code, issue.line, issue.column) == ("SK303", 3, 1)


def test_a_skill_in_the_root_has_no_folder_to_differ_from() -> None:
    assert codes("name: charts", ABOUT, path="SKILL.md") == []


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("license: MIT", "is missing"),
        ("description:", "is empty"),
        ('description: ""', "is empty"),
        ("description: [a, b]", "is not text"),
    ],
)
def test_a_skill_with_neither_description_nor_paragraph_is_no_skill(line: str, word: str) -> None:
    source = text_of("name: charts", line, body="# Charts")
    parsed = parse_document("skill", source.encode(), PATH)
    assert parsed.document is None
    assert [issue.code for issue in parsed.issues] == ["SK304"]
    assert parsed.issues[0].message.endswith(word)
    assert lint_document(parsed) == []


@pytest.mark.parametrize("line", ["license: MIT", "description:", "description: [a, b]"])
def test_a_skill_without_a_description_takes_its_first_paragraph(line: str) -> None:
    front = ("name: charts", line)
    (issue,) = lint(*front, body="# Charts\n\nA <b>.\n\nMore.")
    assert (issue.code, issue.is_error) == ("SK304", True)
    assert issue.message.endswith("the first paragraph of the text is used")
    assert "Codex" in issue.hint
    assert "Gemini CLI" in issue.hint
    assert skill_of(*front).description == "Read the table."


@pytest.mark.parametrize(
    ("size", "expected"),
    [(1, ["SK306"]), (19, ["SK306"]), (20, []), (1024, []), (1025, ["SK305"])],
)
def test_a_description_has_20_to_1024_characters(size: int, expected: list[str]) -> None:
    assert codes("name: charts", f"description: {'d' * size}") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("画图", ["SK306"]), ("根据数字表格绘制图表。", []), ("表からグラフを描く", ["SK306"])],
)
def test_a_character_of_chinese_japanese_or_korean_says_as_much_as_two(
    text: str, expected: list[str]
) -> None:
    assert codes("name: charts", f"description: {text}") == expected


def test_the_limit_of_hosts_counts_each_character_once() -> None:
    assert codes("name: charts", f"description: {'图' * 1024}") == []
    assert codes("name: charts", f"description: {'图' * 1025}") == ["SK305"]


def test_when_to_use_makes_up_for_a_short_description() -> None:
    front = ("name: charts", "description: Charts.", "when_to_use: Numbers are to be drawn.")
    assert codes(*front) == []


@pytest.mark.parametrize(("size", "expected"), [(515, []), (516, ["SK305"])])
def test_description_and_when_to_use_together_fit_the_listing_of_claude_code(
    size: int, expected: list[str]
) -> None:
    front = ("name: charts", f"description: {'d' * 1018}", f"when_to_use: {'w' * size}")
    assert codes(*front) == expected


@pytest.mark.parametrize("tag", ["<chart>", "</chart>", "<br/>", '<a href="x">', "<my-tag>"])
def test_a_tag_in_the_description_is_found(tag: str) -> None:
    front = ("name: charts", f"description: 'Draws a {tag} from a table.'")
    assert codes(*front) == ["SK314"]


@pytest.mark.parametrize(
    "text", ["fewer than 3 < 4 numbers", "a -> b -> c and back", "x <3 charts"]
)
def test_an_angle_bracket_alone_is_no_tag(text: str) -> None:
    assert codes("name: charts", f"description: 'Draws charts from {text}.'") == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("metadata: [a]", ["SK307"]),
        ("metadata: text", ["SK307"]),
        ("metadata:", []),
        ("license: [MIT]", ["SK307"]),
        ("license: 2.0", []),
        ("license: true", ["SK307"]),
        ("entrypoint: {a: b}", ["SK307"]),
        ("enabled: 'no'", ["SK307"]),
        ("enabled: false", []),
        ("disable-model-invocation: 1", ["SK307"]),
        ("disable-model-invocation: true", []),
        ("allowed-tools: [Read, Bash]", []),
        ("allowed-tools: Read Bash", []),
    ],
)
def test_a_value_of_the_wrong_type_is_found(line: str, expected: list[str]) -> None:
    assert codes("name: charts", ABOUT, line) == expected


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ("metadata:\n\tauthor: me", ["FM116"]),
        ("metadata:\n  a:\n\tb: c", ["FM103"]),
        ("metadata:\n  author: @me", ["FM103"]),
    ],
)
def test_nothing_is_said_of_the_type_of_what_is_no_yaml(metadata: str, expected: list[str]) -> None:
    assert codes("name: charts", ABOUT, metadata) == expected


def test_a_wrong_type_is_found_where_it_stands() -> None:
    (issue,) = lint("name: charts", ABOUT, "license: MIT", "metadata: [a]")
    assert (issue.line, issue.column, issue.path) == (5, 1, PATH)


@pytest.mark.parametrize("size", [500, 501])
def test_compatibility_has_at_most_500_characters(size: int) -> None:
    expected = [] if size == 500 else ["SK308"]
    assert codes("name: charts", ABOUT, f"compatibility: {'c' * size}") == expected


def test_unknown_keys_are_one_finding_that_names_five_of_them() -> None:
    unknown = [f"key{number}: 1" for number in range(7)]
    (issue,) = lint("name: charts", ABOUT, *unknown)
    assert (issue.code, issue.line) == ("SK309", 4)
    assert "'key0', 'key1', 'key2', 'key3', 'key4' and 2 more" in issue.message


def test_another_spelling_of_a_known_key_is_not_unknown() -> None:
    assert codes("Name: charts", ABOUT, "allowed_tools: Read") == ["SK318", "SK318"]


@pytest.mark.parametrize(
    ("line", "kept", "expected"),
    [
        ("capabilities: [draw, plot]", ("draw", "plot"), []),
        ("capabilities: draw", ("draw",), []),
        ("capabilities: [draw, draw]", ("draw",), []),
        ("capabilities: [{id: draw}, {name: plot}]", ("draw", "plot"), []),
        ("metadata: {capabilities: [draw]}", ("draw",), []),
        ("capabilities: [draw, 42, '', null]", ("draw",), ["SK310"] * 3),
        ("capabilities: [{title: draw}]", (), ["SK310"]),
        ("capabilities: [Draw It, plot]", ("Draw It", "plot"), ["SK311"]),
        ("capabilities:", (), []),
    ],
)
def test_capabilities_are_kept_as_written_unless_they_are_no_names(
    line: str, kept: tuple[str, ...], expected: list[str]
) -> None:
    assert skill_of("name: charts", ABOUT, line).capabilities == kept
    assert codes("name: charts", ABOUT, line) == expected


@pytest.mark.parametrize(
    ("contract", "kept", "expected"),
    [
        ("DCI/1 P(draw,plot) R(read)", ("draw", "plot"), []),
        ("P(draw)", (), ["DC401"]),
        ("DCI/1", (), ["DC401"]),
        ("DCI/2 P(draw)", (), ["DC401"]),
        ("[DCI/1]", (), ["DC401"]),
        ("DCI/1 P(draw) Cost(low)", ("draw",), ["DC402"]),
        ("DCI/1 P(draw) Cost(low) Mood(good)", ("draw",), ["DC402", "DC402"]),
        ("DCI/1^strict P(draw) Cost(low)", ("draw",), ["DC402"]),
        ("DCI/1 P(Draw It)", ("Draw It",), ["SK311"]),
    ],
)
def test_a_contract_adds_what_it_provides_or_says_why_not(
    contract: str, kept: tuple[str, ...], expected: list[str]
) -> None:
    front = ("name: charts", ABOUT, "metadata:", f"  contract: {contract}")
    assert skill_of(*front).capabilities == kept
    assert codes(*front) == expected


def test_a_contract_finding_gives_the_line_and_the_character() -> None:
    (issue,) = lint("name: charts", ABOUT, "metadata:", "  contract: DCI/1 P()")
    assert issue.line == 5
    assert "character 9" in issue.message


def test_a_skill_without_instructions_is_found() -> None:
    assert codes("name: charts", ABOUT, body="") == ["SK312"]


@pytest.mark.parametrize(("lines", "expected"), [(500, []), (501, ["SK313"])])
def test_instructions_have_at_most_500_lines(lines: int, expected: list[str]) -> None:
    assert codes("name: charts", ABOUT, body="line\n" * lines) == expected


@pytest.mark.parametrize("name", ["skill.md", "SKILL.MD"])
def test_a_file_called_skill_md_is_found(name: str) -> None:
    (issue,) = lint("name: charts", ABOUT, path=f"skills/charts/{name}")
    assert (issue.code, issue.message) == ("SK315", f"the file is called {name}")


def test_broken_yaml_keeps_the_skill_and_every_other_rule_still_runs() -> None:
    front = ("name: graphs", "description: Draws. Use when: asked.", "priority: 5")
    assert codes(*front) == ["FM104", "SK303", "SK309"]
    assert skill_of(*front).description == "Draws. Use when: asked."


HOST_KEYS = """\
when_to_use: When a table is open.
argument-hint: [file]
arguments: [table, colour]
user-invocable: false
disable-model-invocation: false
allowed-tools: [Read, Bash]
disallowed-tools: Write
model: opus
effort: xhigh
context: fork
agent: Explore
hooks: {PreToolUse: []}
paths: ["*.csv", "*.tsv"]
shell: bash
homepage: https://example.org
command-dispatch: tool
"""


def test_the_keys_that_hosts_document_are_known() -> None:
    assert lint("name: charts", ABOUT, *HOST_KEYS.splitlines()) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("when_to_use: [a]", "SK307"),
        ("user-invocable: 'no'", "SK307"),
        ("hooks: [PreToolUse]", "SK307"),
        ("arguments: [{name: a}]", "SK307"),
        ("paths: {a: b}", "SK307"),
        ("disallowed-tools: true", "SK307"),
        ("allowed-tools: {Read: true}", "SK307"),
        ("model: [opus]", "SK307"),
        ("model: 5", "SK307"),
        ("agent: 1.5", "SK307"),
        ("effort: 3", "SK307"),
        ("shell: 1", "SK307"),
        ("paths: 7", "SK307"),
        ("paths: ['src/**', 7]", "SK307"),
        ("arguments: [1]", "SK307"),
        ("allowed-tools: 7", "SK307"),
        ("effort: maximum", "SK316"),
        ("context: forked", "SK316"),
        ("shell: zsh", "SK316"),
    ],
)
def test_the_keys_of_hosts_are_checked(line: str, expected: str) -> None:
    assert codes("name: charts", ABOUT, line) == [expected]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("user-invokable", "user-invocable"),
        ("argument-hints", "argument-hint"),
        ("disable_model_invokation", "disable-model-invocation"),
        ("when_use", "when_to_use"),
        ("licence", "license"),
        ("when-to-us", "when_to_use"),
        ("whenToUs", "when_to_use"),
    ],
)
def test_a_near_miss_gets_a_hint_of_its_own(key: str, meant: str) -> None:
    issues = lint("name: charts", ABOUT, "priority: 5", f"{key}: x")
    assert [(issue.code, issue.line) for issue in issues] == [("SK309", 5), ("SK309", 4)]
    assert issues[0].hint == f"did you mean '{meant}'?"
    assert "did you mean" not in issues[1].hint


def test_every_near_miss_gets_a_hint_of_its_own() -> None:
    issues = lint("name: charts", ABOUT, "when-to-us: x", "argument-hnt: y", "other: z")
    assert [(issue.line, issue.hint.partition("?")[0]) for issue in issues] == [
        (4, "did you mean 'when_to_use'"),
        (5, "did you mean 'argument-hint'"),
        (6, "put your own keys under 'metadata'"),
    ]


@pytest.mark.parametrize("line", ["when_to_use: 5", "argument-hint: [5]", "license: 2.0"])
def test_a_number_may_stand_where_people_read_it(line: str) -> None:
    assert codes("name: charts", ABOUT, line) == []


@pytest.mark.parametrize("key", ["args", "priority", "category", "title", "trigger"])
def test_a_key_that_only_looks_a_little_alike_is_no_near_miss(key: str) -> None:
    (issue,) = lint("name: charts", ABOUT, f"{key}: x")
    assert "did you mean" not in issue.hint


@pytest.mark.parametrize(
    ("written", "documented"),
    [
        ("disable_model_invocation: true", "disable-model-invocation"),
        ("whentouse: On Mondays.", "when_to_use"),
        ("allowed_tools: Read", "allowed-tools"),
        ("argumenthint: file", "argument-hint"),
    ],
)
def test_a_spelling_that_hosts_do_not_read_is_a_warning_and_repaired(
    written: str, documented: str
) -> None:
    front = ("name: charts", ABOUT, written)
    (issue,) = lint(*front)
    assert (issue.code, issue.line, issue.severity) == ("SK318", 4, "warning")
    assert issue.message == f"hosts read '{documented}', not '{written.partition(':')[0]}'"
    assert issue.hint == f"write '{documented}'"
    repaired = fix(text_of(*front).encode(), [issue], "charts")
    value = written.partition(":")[2]
    assert repaired == text_of("name: charts", ABOUT, f"{documented}:{value}").encode()


def test_a_key_in_two_spellings_is_reported_once() -> None:
    assert codes("name: charts", ABOUT, "allowed-tools: Read", "allowed_tools: Read") == ["FM105"]


@pytest.mark.parametrize(
    ("extra", "typo", "meant"),
    [
        ("user-invocable: true", "user-invokable", "user-invocable"),
        ("license: MIT", "descriptions", "description"),
    ],
)
def test_a_typo_beside_the_right_key_says_which_counts(extra: str, typo: str, meant: str) -> None:
    (issue,) = lint("name: charts", ABOUT, extra, f"{typo}: false")
    assert (issue.code, issue.line) == ("SK309", 5)
    assert issue.message == f"unknown key '{typo}' beside '{meant}', which is used"
    assert issue.hint == f"keep only '{meant}'"


def test_no_host_shows_less_of_a_description_than_the_format_allows() -> None:
    assert min(host.shown for host in ROUTING_TEXT_SHOWN) > LONGEST_DESCRIPTION
