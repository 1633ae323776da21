"""Whatever the settings are: out comes what went in, and a second install is as good as one."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from metier.hosts.known import HOOKS
from metier.install import splice
from metier.install.changes import BACKUP, apply
from metier.install.plans import make_plan

pytestmark = pytest.mark.slow

COMMAND = ["/opt/tools/metier"]
FILES = {name: host.project or "" for name, host in HOOKS.items() if host.entry is not None}

text = st.text(max_size=8)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | text
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=12,
)
entries = st.fixed_dictionaries(
    {"type": st.just("command"), "command": st.sampled_from(["a", "b --c", "metier hook x"])}
)
groups = st.fixed_dictionaries({"hooks": st.lists(entries, max_size=2)}, optional={"matcher": text})
events = st.sampled_from(["UserPromptSubmit", "BeforeAgent", "sessionStart", "Stop"])
hooks = st.dictionaries(events, st.lists(groups | entries | scalars, max_size=3), max_size=3)


@st.composite
def settings(draw: st.DrawFn) -> str:
    """Settings of some host, in some layout."""
    data: dict[str, Any] = draw(st.dictionaries(text, values, max_size=4))
    data.pop("version", None)
    if draw(st.booleans()):
        data["hooks"] = draw(hooks)
    if draw(st.booleans()):
        data["version"] = 1
    keys = draw(st.permutations(list(data)))
    written = json.dumps(
        {key: data[key] for key in keys if key != "hooks" or isinstance(data[key], dict)},
        indent=draw(st.sampled_from([None, 0, 1, 2, 4, "\t"])),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", " :  ")])),
        ensure_ascii=draw(st.booleans()),
    )
    before, after = draw(st.sampled_from([("", ""), ("", "\n"), ("\n ", "\r\n"), ("\ufeff", " ")]))
    return before + written + after


few = profile(max_examples=50)
"""Each example writes files."""
documents = settings()
hosts = st.sampled_from(sorted(FILES))


def install(host: str, folder: str) -> None:
    apply(make_plan("hook", host, "project", folder, folder, COMMAND))


def uninstall(host: str, folder: str) -> None:
    apply(make_plan("hook", host, "project", folder, folder))


def written(folder: str, host: str, document: str) -> Path:
    file = Path(folder) / FILES[host]
    file.parent.mkdir(parents=True)
    file.write_bytes(document.encode())
    return file


@few
@given(hosts, documents)
def test_uninstalling_gives_back_the_very_bytes(host: str, document: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = written(folder, host, document)
        install(host, folder)
        assert file.read_bytes() != document.encode()
        uninstall(host, folder)
        assert file.read_bytes() == document.encode()
        assert [one.name for one in file.parent.iterdir()] == [file.name]


@few
@given(hosts, documents)
def test_a_second_install_changes_nothing(host: str, document: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = written(folder, host, document)
        install(host, folder)
        once = file.read_bytes()
        install(host, folder)
        assert file.read_bytes() == once
        assert file.with_name(file.name + BACKUP).read_bytes() == document.encode()


@few
@given(hosts, documents)
def test_every_other_value_survives_in_its_order(host: str, document: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = written(folder, host, document)
        install(host, folder)
        before, after = splice.parse(document), splice.parse(file.read_bytes().decode())
    entry = HOOKS[host].entry
    assert entry is not None
    for event in entry.events:
        *others, ours = after["hooks"][event]
        assert "metier hook" in json.dumps(ours)
        after["hooks"][event] = others
        if event not in before.get("hooks", {}):
            del after["hooks"][event]
    if "hooks" not in before:
        del after["hooks"]
    if "version" not in before:
        after.pop("version", None)
    assert json.dumps(after) == json.dumps(before)


@few
@given(hosts, documents)
def test_without_its_backup_the_content_comes_back(host: str, document: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = written(folder, host, document)
        before = splice.parse(document)
        install(host, folder)
        file.with_name(file.name + BACKUP).unlink()
        uninstall(host, folder)
        after = splice.parse(file.read_bytes().decode()) if file.exists() else {}
    for data in (before, after):
        data.pop("version", None)
        data["hooks"] = {key: value for key, value in data.get("hooks", {}).items() if value}
    assert after == before


@given(documents, text, values)
def test_what_is_added_to_a_text_can_be_taken_out_of_it(
    document: str, key: str, value: object
) -> None:
    data = splice.parse(document)
    if key in data:
        return
    longer = splice.add(document, (), value, key=key)
    assert json.dumps(splice.parse(longer)) == json.dumps({**data, key: value})
    assert splice.same(splice.remove(longer, (key,)), document)
    if data:
        assert splice.remove(longer, (key,)) == document


@given(documents, st.integers())
def test_each_member_can_be_replaced_or_removed_alone(document: str, value: int) -> None:
    data = splice.parse(document)
    for key in data:
        changed = splice.parse(splice.replace(document, (key,), value))
        assert json.dumps(changed) == json.dumps({**data, key: value})
        rest = splice.parse(splice.remove(document, (key,)))
        assert json.dumps(rest) == json.dumps({k: v for k, v in data.items() if k != key})
