"""metier in a list of servers that is written in TOML: one table, and all else as it was."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.errors import UsageError
from metier.install import toml_edits
from metier.install.changes import Plan, apply
from metier.install.plans import make_plan

WAY = ["mcp_servers", "metier"]
TABLE = {"command": "/opt/bin/metier", "args": ["mcp"]}


class Codex:
    """The settings of Codex CLI in a workspace."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / ".codex" / "config.toml"
        self.file.parent.mkdir()

    def write(self, text: str) -> str:
        self.file.write_bytes(text.encode())
        return text

    def text(self) -> str:
        return self.file.read_bytes().decode()

    def servers(self) -> dict[str, Any]:
        found: dict[str, Any] = tomllib.loads(self.text())["mcp_servers"]
        return found

    def install(self, command: str = "/opt/bin/metier") -> Plan:
        plan = make_plan("mcp", "codex", "project", str(self.folder), "/", [command])
        apply(plan)
        return plan

    def uninstall(self) -> Plan:
        plan = make_plan("mcp", "codex", "project", str(self.folder), "/")
        apply(plan)
        return plan

    def refusal(self, command: str = "/opt/bin/metier") -> UsageError:
        before = self.text()
        with pytest.raises(UsageError) as caught:
            self.install(command)
        assert self.text() == before
        return caught.value


@pytest.fixture
def codex(tmp_path: Path) -> Codex:
    return Codex(tmp_path)


def test_a_table_is_put_at_the_end_of_toml_and_all_else_stays(codex: Codex) -> None:
    text = codex.write('# mine\nmodel = "x"  # why\n\n[mcp_servers.other]\ncommand = "y"\n')
    codex.install()
    assert codex.text().startswith(text)
    assert list(codex.servers()) == ["other", "metier"]
    codex.install("/elsewhere/metier")
    assert codex.servers()["metier"]["command"] == "/elsewhere/metier"
    codex.uninstall()
    assert codex.text() == text


# Other forms


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = {metier = {command = "/a/metier", args = ["mcp"]}}',
        '[mcp_servers]\nmetier = {command = "/a/metier", args = ["mcp"]}\n',
    ],
)
def test_a_table_that_is_written_in_another_form_is_not_touched(codex: Codex, text: str) -> None:
    codex.write(text)
    with pytest.raises(UsageError, match="not written as its own table"):
        codex.uninstall()
    error = codex.refusal()
    assert error.message == (
        "the entry of metier cannot be changed: it is not written as its own table"
    )
    value = error.hint.removeprefix("give it this value by hand: ")
    start = text.index('{command = "/a')
    codex.write(text.replace(text[start : text.index("}") + 1], value))
    assert codex.servers() == {"metier": TABLE}
    assert not codex.install().changed


@pytest.mark.parametrize("inner", ["", 'other = {command = "y"}'])
def test_servers_in_an_inline_table_are_told_with_what_to_put_into_it(
    codex: Codex, inner: str
) -> None:
    codex.write(f'model = "x"\nmcp_servers = {{ {inner} }}\n')
    error = codex.refusal()
    assert error.message == "the servers are in an inline table, mcp_servers = {…}"
    words, snippet = error.hint.split(": ", 1)
    assert words == "add this between its braces by hand"
    more = f", {snippet}" if inner else snippet
    codex.write(codex.text().replace(f"{inner} }}", f"{inner}{more} }}"))
    assert codex.servers()["metier"] == TABLE
    assert not codex.install().changed


@pytest.mark.parametrize("text", ["a = \n", "mcp_servers = 1\n"])
def test_what_is_to_be_pasted_is_toml(codex: Codex, text: str) -> None:
    codex.write(text)
    words, snippet = codex.refusal().hint.split("\n", 1)
    assert words == "add this by hand:"
    assert tomllib.loads(snippet) == {"mcp_servers": {"metier": TABLE}}


def test_where_the_name_is_taken_the_table_to_paste_has_another(codex: Codex) -> None:
    text = codex.write('[mcp_servers.metier]\ncommand = "something-else"\n')
    error = codex.refusal()
    assert error.message == "another server is called 'metier'"
    words, snippet = error.hint.split("\n", 1)
    assert words == "rename that server, or add this by hand:"
    codex.write(f"{text}\n{snippet}\n")
    assert codex.servers()["metier-mcp"] == TABLE
    assert not codex.install().changed
    codex.uninstall()
    assert codex.text() == text


def test_where_the_name_is_taken_in_an_inline_table_so_is_what_to_paste(codex: Codex) -> None:
    codex.write('mcp_servers = {metier = {command = "something-else"}}\n')
    hint = codex.refusal().hint
    entry = 'metier-mcp = {command = "/opt/bin/metier", args = ["mcp"]}'
    assert hint == f"rename that server, or add this between its braces by hand: {entry}"


@pytest.mark.parametrize(
    "header",
    [
        '[mcp_servers."metier"]',
        "[ mcp_servers . metier ]  # mine",
        "\ufeff[mcp_servers.metier]",
    ],
)
def test_a_header_is_known_however_it_is_written(codex: Codex, header: str) -> None:
    codex.write(f'{header}\ncommand = "/old/metier"\nargs = ["mcp"]\n\n["a]b"]\nc = 1\n')
    codex.install()
    assert codex.servers() == {"metier": TABLE}
    codex.uninstall()
    assert tomllib.loads(codex.text()) == {"a]b": {"c": 1}}


def test_a_name_that_needs_quotes_keeps_them(codex: Codex) -> None:
    codex.write('[mcp_servers."my metier"]\ncommand = "/old/metier"\nargs = ["mcp"]\n')
    codex.install()
    assert codex.servers() == {"my metier": TABLE}


def test_a_path_with_any_character_is_written_as_toml(codex: Codex) -> None:
    path = '/a"b\\c\x7f\tü/metier'
    codex.install(path)
    assert codex.servers()["metier"]["command"] == path


# Texts of several lines, and comments


INSIDE = "\n[mcp_servers.metier]\ncommand = 1\n\n[other]\n"


@pytest.mark.parametrize(
    "text",
    [
        f'notes = """{INSIDE}"""\n',
        f"notes = '''{INSIDE}'''\n",
        f'[a]\nnotes = """{INSIDE}\\""" {INSIDE} """ # """\n',
        'lists = [\n[1],\n["""\n[mcp_servers.metier]\n"""],\n[\n2]]\n',
    ],
)
def test_a_header_inside_of_a_text_or_a_list_is_none(codex: Codex, text: str) -> None:
    codex.write(text)
    codex.install()
    assert codex.servers() == {"metier": TABLE}
    codex.install("/new/metier")
    codex.uninstall()
    assert codex.text() == text


def test_a_table_with_a_text_of_several_lines_goes_as_a_whole(codex: Codex) -> None:
    own = f"[mcp_servers.metier]\ncommand = 'metier'\nargs = ['mcp']\nnote = '''{INSIDE}# '''\n"
    codex.write(f"{own}[b]\nc = 1\n")
    codex.uninstall()
    assert codex.text() == "[b]\nc = 1\n"


def test_comments_after_the_table_stay(codex: Codex) -> None:
    codex.install()
    own = codex.text()
    codex.write(f"# first\n\n{own}\n# about b\n[b]\nc = 1\n")
    codex.uninstall()
    assert codex.text() == "# first\n\n# about b\n[b]\nc = 1\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_file_that_was_made_stays_when_it_has_a_comment(codex: Codex, newline: str) -> None:
    codex.install()
    codex.write(f"# mine\n{codex.text()}# end\n".replace("\n", newline))
    codex.install("/new/metier")
    codex.uninstall()
    assert codex.text() == f"# mine{newline}# end{newline}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a = 1", "a = true"),
        ("a = 1", "a = 1.0"),
        ("a = 1.0", "a = 1.00"),
        ("a = 1", "a = 1  # why"),
        ("# one\na = 1", "# two\na = 1"),
        ('a = """\n\n"""', 'a = """\n\n\n"""'),
    ],
)
def test_what_changed_since_stays_be_it_a_comment(codex: Codex, old: str, new: str) -> None:
    codex.write(f"{old}\n")
    codex.install()
    codex.write(codex.text().replace(old, new))
    assert codex.uninstall().changes[0].action == "change"
    assert codex.text() == f"{new}\n"


def test_blank_lines_are_no_change(codex: Codex) -> None:
    text = codex.write("a = nan\n\n\n[b]\n")
    codex.install()
    codex.write(codex.text().replace("\n\n", "\n"))
    codex.uninstall()
    assert codex.text() == text


def test_what_is_nested_too_deeply_is_left(codex: Codex) -> None:
    codex.write(f"a = {'[' * 100_000}")
    assert "not TOML" in codex.refusal().message


KEYS = st.sampled_from(["a", "b", "mcp_servers", "x-y", "table"])
LEAVES = st.one_of(st.integers(-5, 5), st.booleans(), st.sampled_from(["", "[x]", 'q"', "# no"]))


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    lines: list[str] = []
    for key in draw(st.lists(KEYS, unique=True, max_size=3)):
        kind = draw(st.sampled_from(["value", "table", "text"]))
        if kind == "value":
            lines.insert(0, f"{key} = {json.dumps(draw(LEAVES))}")
        elif kind == "text":
            lines.insert(0, f'{key} = """\n[mcp_servers.metier]\ncommand = 1\n"""')
        else:
            lines.append(f"[{key}.{draw(KEYS)}]\nvalue = {json.dumps(draw(LEAVES))}  # why")
    return "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n"]))


@given(toml_texts())
def test_toml_with_the_table_says_the_same_besides_or_nothing_is_done(text: str) -> None:
    before = toml_edits.parse(text)
    try:
        new = toml_edits.add(text, WAY, TABLE)
    except ValueError:
        return
    after = toml_edits.parse(new)
    assert after["mcp_servers"].pop("metier") == TABLE
    assert {**after, "mcp_servers": after["mcp_servers"] or None} == {
        **before,
        "mcp_servers": before.get("mcp_servers") or None,
    }
    assert toml_edits.same(toml_edits.remove(new, WAY), text)
