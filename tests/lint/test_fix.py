"""Each repair on its own: what it writes, and what it leaves alone."""

import pytest

from lint.first_repairs import fix
from metier.flow.repairing import Naming, Repair, is_repairable, repair_text
from metier.lint.fix_description import whole_sentences
from metier.values.files import Found
from metier.values.outcomes import Issue

BODY = "\n# Charts\n\nRead the table, then draw one chart.\n"
SAID = "Draws a chart from a table. Use when numbers should be seen."


def found(folder: str = "charts") -> Found:
    path = f"skills/{folder}/SKILL.md"
    return Found("skill", path, 0, 0, 0, "", f"/w/{path}", "workspace", 0)


def repaired(
    text: str, *, folder: str = "charts", unsafe: bool = False, name: str = ""
) -> Repair | None:
    def may(issue: Issue) -> bool:
        return is_repairable(issue, unsafe=unsafe) and issue.code != "FM112"

    return repair_text(found(folder), text.encode(), may, Naming(name))


def text_after(text: str, **how: object) -> str:
    repair = repaired(text, **how)  # type: ignore[arg-type]  # the arguments of `repaired`
    return repair.after.decode() if repair is not None else text


def skill(*front: str, body: str = BODY) -> str:
    return "\n".join(["---", *front, "---", body])


# Values that are not YAML


@pytest.mark.parametrize(
    ("written", "quoted"),
    [
        ("Do this: that, and it's done.", "'Do this: that, and it''s done.'"),
        ("**Draws** charts from tables.", "'**Draws** charts from tables.'"),
        ("@charts draws one chart.", "'@charts draws one chart.'"),
        ("`chart` draws one chart.", "'`chart` draws one chart.'"),
        ('"Draw" one chart, not two.', "'\"Draw\" one chart, not two.'"),
        ("'It's a chart of numbers.'", "'It''s a chart of numbers.'"),
        ('"Draws \\d charts from it."', "'Draws \\d charts from it.'"),
        ("[table] [chart] as you like", "'[table] [chart] as you like'"),
    ],
)
def test_a_value_that_is_not_yaml_is_quoted(written: str, quoted: str) -> None:
    text = skill("name: charts", f"description: {written}", "license: MIT")
    assert text_after(text) == text.replace(written, quoted)


def test_a_value_of_several_lines_becomes_a_block() -> None:
    text = skill(
        "name: charts", "description: **Draws** charts:", "- bars  ", "", "  - of numbers",
        "license: MIT",
    )  # fmt: skip
    assert text_after(text) == skill(
        "name: charts", "description: |-", "  **Draws** charts:", "  - bars  ", "",
        "    - of numbers", "license: MIT",
    )  # fmt: skip


def test_a_block_that_is_not_indented_is_indented() -> None:
    text = skill("name: charts", "description: |", "Draws a chart of it.", "Use it for numbers.")
    assert text_after(text) == skill(
        "name: charts", "description: |-", "  Draws a chart of it.", "  Use it for numbers."
    )


def test_a_value_below_another_key_is_quoted_alone() -> None:
    text = skill("name: charts", f"description: {SAID}", "metadata:", "  note: a: b # why")
    assert text_after(text) == text.replace("a: b # why", "'a: b' # why")


@pytest.mark.parametrize(
    "front",
    [
        'metadata: {"emoji": "\\ud83d\\udce7"}',
        "metadata: {a: [}",
        "metadata:\n  - {a: [}",
    ],
)
def test_what_is_no_text_is_not_made_one(front: str) -> None:
    assert repaired(skill("name: charts", f"description: {SAID}", front), unsafe=True) is None


def test_a_line_without_a_key_is_left_alone() -> None:
    assert repaired(skill("- charts", "name: charts", f"description: {SAID}"), unsafe=True) is None


def test_values_stay_alone_while_the_front_matter_is_not_yaml() -> None:
    text = skill("**charts**: draws them", body=f"\n# Charts\n\n{SAID}\n")
    assert repaired(text, unsafe=True) is None


# Fences


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (f"---\nname: charts\ndescription: {SAID}\n---# Charts\n", "---\n# Charts\n"),
        (f"---\nname: charts\ndescription: {SAID}\n\n# Charts\n", "---\n\n# Charts\n"),
        (f"---\nname: charts\ndescription: {SAID}\n# Charts\n\nDo.\n", "---\n# Charts\n\nDo.\n"),
    ],
)
def test_front_matter_is_closed(text: str, after: str) -> None:
    repair = text_after(text, unsafe=True)
    assert repair == f"---\nname: charts\ndescription: {SAID}\n{after}"
    assert repaired(text) is None, "only with --unsafe"


def test_keys_without_fences_get_them() -> None:
    text = f"name: charts\ndescription: {SAID}\n\n# Charts\n\nDraw one.\n"
    fenced = f"---\nname: charts\ndescription: {SAID}\n---\n\n# Charts\n\nDraw one.\n"
    assert text_after(text, unsafe=True) == fenced


def test_front_matter_below_a_text_moves_to_the_top() -> None:
    matter = f"---\nname: charts\ndescription: {SAID}\n---\n"
    text = f"<!-- ours -->\n{matter}\nDraw one.\n"
    assert text_after(text, unsafe=True) == f"{matter}<!-- ours -->\n\nDraw one.\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_text_without_front_matter_is_described_by_its_first_paragraph(end: str) -> None:
    text = "# Charts\n\nDraws it's chart. Use it\nfor numbers.\n\n## Usage\n".replace("\n", end)
    matter = "---\nname: charts\ndescription: 'Draws it''s chart. Use it for numbers.'\n---\n\n"
    assert text_after(text, unsafe=True) == matter.replace("\n", end) + text


@pytest.mark.parametrize(
    "text",
    [
        "test\n",
        "../../shared/charts/SKILL-OF-CHARTS.md\n",
        "# Charts\n\nUse the chart in one of these ways:\n\n- one\n",
        "# Charts\n\n**Version:** 1.0.0 of the skill that draws charts\n",
        "# Charts\n\n## Installation\n\nInstall it with the package manager of your system.\n",
        "# Charts\n\n- a list of charts is no description of it\n",
    ],
)
def test_a_text_without_a_description_is_left_alone(text: str) -> None:
    assert repaired(text, unsafe=True) is None


def test_a_section_that_describes_the_skill_is_its_description() -> None:
    text = f"# Charts\n\n## Overview\n\n{SAID}\n"
    assert f"\ndescription: '{SAID}'\n" in text_after(text, unsafe=True)


def test_text_after_the_first_fence_moves_below_the_second() -> None:
    text = f"---# Charts\nname: charts\ndescription: {SAID}\n---\n\nDraw one.\n"
    fixed = f"---\nname: charts\ndescription: {SAID}\n---\n# Charts\n\nDraw one.\n"
    assert text_after(text, unsafe=True) == fixed


# Descriptions


def test_a_missing_description_is_the_first_paragraph() -> None:
    text = skill("name: charts", "license: MIT", body=f"\n# Charts\n\n{SAID}\n")
    fixed = text.replace("name: charts\n", f"name: charts\ndescription: '{SAID}'\n")
    assert text_after(text, unsafe=True) == fixed
    empty = text.replace("license", 'description: ""\nlicense')
    assert text_after(empty, unsafe=True) == fixed


def long_description(separator: str = " ") -> tuple[str, str]:
    kept = separator.join(f"Draws chart number {number} of it." for number in range(35))
    return kept, separator.join(f"Use it for table {number}." for number in range(20))


def test_a_long_description_ends_at_a_sentence_and_goes_on_in_the_body() -> None:
    kept, rest = long_description()
    text = skill("name: charts", f"description: {kept} {rest}", "license: MIT")
    after = text_after(text, unsafe=True)
    matter, _, body = after.removeprefix("---\n").partition("\n---\n")
    description = matter.split("\n")[1]
    assert len(description) <= 1024 + len("description: ''")
    assert description.endswith(".'")
    assert body.endswith(BODY)
    moved = body.removesuffix(BODY).strip()
    assert f"{description[14:-1]} {moved}" == f"{kept} {rest}"


def test_a_long_block_keeps_its_lines() -> None:
    kept, rest = long_description("\n")
    block = "\n".join(f"    {line}" for line in f"{kept}\n{rest}".split("\n"))
    text = skill("name: charts", f"description: >\n{block}", "license: MIT")
    before, after = text.split("\n"), text_after(text, unsafe=True).split("\n")
    same = next(n for n, pair in enumerate(zip(before, after, strict=False)) if len(set(pair)) > 1)
    assert same > 30
    assert after[same] == "license: MIT"
    assert {line.strip() for line in before} <= {line.strip() for line in after}


@pytest.mark.parametrize(
    "description",
    [
        "word " * 300,
        "It draws charts, e.g. " + "bars and " * 150,
        "```\n" + "Draws one. " * 200,
    ],
    ids=["no sentence", "abbreviation", "inside code"],
)
def test_a_long_description_without_an_end_to_cut_at_is_left_alone(description: str) -> None:
    lines = "\n".join(f"  {line}" for line in description.split("\n"))
    assert repaired(skill("name: charts", f"description: |\n{lines}"), unsafe=True) is None


@pytest.mark.parametrize(
    ("text", "longest", "kept"),
    [
        ("One. Two.", 20, "One. Two."),
        ("One. Two. Three.", 10, "One. Two."),
        ("One (really!) Two.", 15, "One (really!)"),
        ("一。二。三", 4, "一。二。"),
        ("See e.g. this one.", 10, ""),
        ("Version 1.2.3 of it", 12, ""),
        ("A title\n\nand its text", 12, "A title"),
    ],
)
def test_whole_sentences_of_a_text(text: str, longest: int, kept: str) -> None:
    assert whole_sentences(text, longest) == kept


# Names and keys


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ("Chart Tools", "name: chart-tools"),
        ("'Chart Tools'", "name: chart-tools"),
        ('"Chart Tools"  # ours', "name: chart-tools  # ours"),
        ("Chart Tools for You", "name: chart-tools\n# formerly: Chart Tools for You"),
        ("C#_Charts", "name: chart-tools\n# formerly: C#_Charts"),
    ],
)
def test_a_wrong_name_is_replaced_and_no_word_of_it_lost(written: str, line: str) -> None:
    text = skill(f"name: {written}", f"description: {SAID}")
    after = text_after(text, folder="chart-tools", unsafe=True, name="chart-tools")
    assert after == text.replace(f"name: {written}", line)


def test_a_name_stays_without_a_new_one() -> None:
    assert repaired(skill("name: Chart Tools", f"description: {SAID}"), unsafe=True) is None


@pytest.mark.parametrize("folder", ["2024-01-31", "123", "no", "1e3", "true"])
def test_a_name_that_yaml_reads_as_something_else_is_quoted(folder: str) -> None:
    after = text_after(skill(f"description: {SAID}"), folder=folder)
    assert f"\nname: '{folder}'\n" in after


def test_a_missing_name_is_not_taken_from_a_folder_with_a_wrong_one() -> None:
    assert repaired(skill(f"description: {SAID}"), folder="My Charts") is None


def test_a_key_with_a_typo_is_corrected_with_unsafe_only() -> None:
    text = skill("name: charts", f"description: {SAID}", "user-invokable: false")
    assert repaired(text) is None
    assert text_after(text, unsafe=True) == text.replace("invokable", "invocable")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("licence", "license"), ("lisense", "license"), ("licnese", "license"), ("autor", "author"),
        ("tagss", ""), ("authors", ""), ("invocable", ""), ("priority", ""),
    ],
)  # fmt: skip
def test_a_typo_is_one_slip(typed: str, meant: str) -> None:
    text = skill("name: charts", f"description: {SAID}", f"{typed}: MIT")
    after = text.replace(f"{typed}:", f"{meant}:") if meant else text
    assert text_after(text, unsafe=True) == after


@pytest.mark.parametrize("more", ["user-invocable: true", "license: MIT"])
def test_a_key_is_not_corrected_to_one_that_is_there_or_fits_less(more: str) -> None:
    text = skill("name: charts", f"description: {SAID}", "user-invokable: [1, 2]", more)
    assert repaired(text, unsafe=True) is None


# By itself


def at(code: str, line: int) -> Issue:
    return Issue(code, "", "SKILL.md", line)


def test_numbers_dates_and_flags_below_metadata_are_quoted() -> None:
    from metier.lint.fix import candidates
    from metier.lint.fix_lines import Context

    text = skill(
        "metadata:", "  version: 1.0 # ours", "  on: 2026-01-31", "  tags: [1]", "  a: '2'",
        "  beta: true",
    )  # fmt: skip
    data = {"metadata": {"version": 1.0, "on": "2026-01-31", "tags": [1], "beta": True}}
    context = Context("charts", data=data)
    [after] = candidates(text.encode(), [at("SK319", 3)], context)
    quoted = text.replace("1.0 #", "'1.0' #").replace("2026-01-31", "'2026-01-31'")
    assert after.decode() == quoted.replace("beta: true", "beta: 'true'")


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("```sh\nrun\n", "```sh\nrun\n```\n"),
        ("```sh\nrun", "```sh\nrun\n```\n"),
        ("  ~~~~\n  run\n\n\n", "  ~~~~\n  run\n  ~~~~\n\n\n"),
        ("```sh\nrun\n\n---\n", "```sh\nrun\n```\n\n---\n"),
        ("```sh\nrun\n\n## Then\n\nShow it.\n", "```sh\nrun\n```\n\n## Then\n\nShow it.\n"),
    ],
)
def test_code_is_closed_before_the_next_section_or_at_the_end(body: str, after: str) -> None:
    text = skill("name: charts", f"description: {SAID}", body=body)
    fixed = fix(text.encode(), [at("SK324", 5)], "charts").decode()
    assert fixed == skill("name: charts", f"description: {SAID}", body=after)


def test_code_with_other_fences_in_it_stays_open() -> None:
    text = skill("name: charts", f"description: {SAID}", body="```md\n```sh\nrun\n```\n").encode()
    assert fix(text, [at("SK324", 5)], "charts") == text


@pytest.mark.parametrize("code", ["SK319", "SK324", "FM104", "SK318", "SK309", "FM103"])
def test_a_repair_of_a_line_that_is_not_there_changes_nothing(code: str) -> None:
    assert fix(b"---\nname: a\n---\n", [at(code, 99)], "a") == b"---\nname: a\n---\n"
