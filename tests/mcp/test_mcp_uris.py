"""Every address that is listed can be read, and belongs to one file."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError
from mcp.types import INVALID_PARAMS

from conftest import Workspace
from mcp_sep2640 import (
    GetSkill,
    OfUri,
    ReadFolder,
    bytes_of,
    listed,
    refused,
    sent,
)
from mcp_served import asked, called, data_of, refreshed, server_over
from metier.errors import NotFoundError
from metier.index.documents import list_documents
from metier.mcp.answers import protocol_error
from metier.mcp.skill_files import SkillFolder
from metier.mcp.uris import LONGEST, find_skill, segments_of, skill_uri, uri_of
from soak import examples

pytestmark = pytest.mark.slow

ODD = [
    "/",
    ".",
    "..",
    "%",
    "%2e",
    "=",
    "=.",
    "#",
    "?",
    " ",
    "a/b",
    "a\u00a0b",
    "\u200b",
    "\x7f",
    "\t",
]
"""Texts that mean something in an uri_of, or that cannot be seen."""
SEGMENTS = st.one_of(st.sampled_from(["", *ODD]), st.text(max_size=8))
NAMES = st.one_of(st.sampled_from(ODD), st.text(st.characters(codec="utf-8"), max_size=8))
FOLDERS = st.one_of(
    st.sampled_from(["skills", "%2e", "=", "#", "?", " ", "a\u00a0b", "a\u200db", "x"]),
    st.text(
        st.characters(codec="utf-8", exclude_characters="/\0.", exclude_categories=["Cs"]),
        min_size=1,
        max_size=6,
    ),
)


@given(st.lists(SEGMENTS, min_size=1, max_size=5))
def test_what_was_made_an_address_is_found_in_it_again(segments: list[str]) -> None:
    assert segments_of(uri_of(segments)) == segments


@given(st.lists(SEGMENTS, min_size=1, max_size=3), st.lists(SEGMENTS, min_size=1, max_size=3))
def test_different_places_have_different_addresses(one: list[str], other: list[str]) -> None:
    assert (uri_of(one) == uri_of(other)) == (one == other)


@given(st.lists(SEGMENTS, min_size=1, max_size=5))
def test_an_address_holds_only_what_every_client_leaves_as_it_is(segments: list[str]) -> None:
    uri = uri_of(segments)
    assert uri.isascii()
    assert uri.isprintable()
    assert not set(uri) & set(" #?\\")
    assert not {"", ".", ".."} & set(uri.removeprefix("skill://").split("/"))


@pytest.mark.parametrize("dots", ["", ".", "..", "%2e", "%2E%2e", ".%2E"])
def test_dots_and_nothing_are_no_segment_however_they_are_written(dots: str) -> None:
    with pytest.raises(NotFoundError):
        segments_of(f"skill://skills/{dots}/SKILL.md")


def test_an_address_of_more_than_the_bound_is_not_looked_at() -> None:
    longest = "skill://" + "a" * (LONGEST - len("skill://"))
    assert segments_of(longest) == [longest.removeprefix("skill://")]
    for uri in (f"{longest}a", "skill://" + "a/" * 5_000 + "a"):
        with pytest.raises(NotFoundError):
            segments_of(uri)


@examples(40)
@given(st.lists(st.tuples(NAMES, st.lists(FOLDERS, min_size=1, max_size=3)), max_size=4))
def test_whatever_skills_there_are_each_has_an_address_of_its_own(
    skills: list[tuple[str, list[str]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, folders in skills:
            write_skill(Path(folder), name, folders)
        with refreshed(Path(folder)) as catalog:
            rows = list_documents(catalog.store, "skill")
            addresses = {skill_uri(row): row for row in rows}
            assert len(addresses) == len(rows)
            for uri, row in addresses.items():
                owner, way = find_skill(catalog, uri)
                assert (owner, way) == (row, ["SKILL.md"])
                assert SkillFolder.of(owner).read(way) == Path(row.file).read_bytes()


def write_skill(root: Path, name: str, folders: list[str]) -> None:
    place = root.joinpath(*folders)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        return
    quoted = json.dumps(name, ensure_ascii=False)
    (place / "SKILL.md").write_text(f"---\nname: {quoted}\ndescription: Does it.\n---\n\nDo.\n")


def test_every_address_of_every_list_can_be_read(workspace: Workspace) -> None:
    for number, name in enumerate(ODD):
        write_skill(workspace.root, name, ["skills", str(number)])
        write_skill(workspace.root, f"in-{number}", ["a\u00a0b", "x\u200dy #?%", str(number)])
    with server_over(workspace.root) as server:

        async def talk(client: Client) -> list[str]:
            return [one.uri for one in (await client.list_resources()).resources]

        addresses = asked(server, talk)
        rows = data_of(called(server, "skill_list"))["skills"]
        assert sorted(addresses) == sorted(row["uri"] for row in rows)
        assert len(set(addresses)) == len(addresses) > 1.5 * len(ODD)
        for row in rows:
            assert bytes_of(server, row["uri"]) == (workspace.root / row["path"]).read_bytes()
        entries = listed(server)
        names = {entry["frontmatter"]["name"] for entry in entries}
        assert names == {f"in-{number}" for number, _ in enumerate(ODD)}
        for entry in entries:
            assert [bytes_of(server, file["uri"]) for file in entry["resources"]]


def test_a_skill_that_another_one_hides_has_no_address(workspace: Workspace) -> None:
    workspace.skill("twin", folder="a/twin")
    workspace.skill("twin", folder="b/twin", body="Do it otherwise.")
    with server_over(workspace.root) as server:
        assert b"Do it.\n" in bytes_of(server, "skill://a/twin/SKILL.md")
        assert refused(server, "skill://b/twin/SKILL.md").data["code"] == "NOT_FOUND"


# Addresses that two skills could claim


@pytest.fixture
def crossed(workspace: Workspace) -> Workspace:
    """`y` lies in a folder `x` and has files in `sub`, where the address of `sub` begins."""
    workspace.skill("y", folder="odd/x")
    workspace.write("odd/x/sub/note.md", "of y")
    workspace.skill("z", folder="odd/y")
    workspace.skill("sub", folder="odd/y/sub")
    workspace.write("odd/y/sub/note.md", "of sub")
    return workspace


def test_an_address_belongs_to_the_innermost_skill(crossed: Workspace) -> None:
    with server_over(crossed.root) as server:
        assert bytes_of(server, "skill://odd/y/sub/note.md") == b"of sub"
        for name, folder in (("y", "x"), ("z", "y"), ("y/sub", "y/sub")):
            text = (crossed.root / "odd" / folder / "SKILL.md").read_bytes()
            assert bytes_of(server, f"skill://odd/{name}/SKILL.md") == text


def test_a_skill_with_a_file_whose_address_is_anothers_has_no_entry(crossed: Workspace) -> None:
    with server_over(crossed.root) as server:
        entries = listed(server)
        assert [one["frontmatter"]["name"] for one in entries] == ["sub", "z"]
        error = refused_entry(server, "skill://odd/y/SKILL.md")
        assert "the URI of 'sub/note.md' belongs to another skill" in error
        digests: dict[str, str] = {}
        for entry in entries:
            for file in entry["resources"]:
                assert digests.setdefault(file["uri"], file["digest"]) == file["digest"]
        assert len(digests) == 5


def refused_entry(server: Any, uri: str) -> str:
    with pytest.raises(MCPError, match="has no entry") as caught:
        sent(server, GetSkill(params=OfUri(uri=uri)))
    return str(caught.value)


def test_every_file_of_every_folder_that_is_listed_can_be_read(crossed: Workspace) -> None:
    crossed.skill("SKILL.md", folder="odd/y/trap")
    crossed.write("odd/y/plain", "a file where a skill's address begins")
    crossed.skill("plain", folder="odd/y/other")

    def read(server: Any, uri: str) -> int:
        found = 0
        for one in sent(server, ReadFolder(params=OfUri(uri=uri)))["resources"]:
            if one["mimeType"] == "inode/directory":
                found += read(server, one["uri"])
            else:
                assert bytes_of(server, one["uri"])
                found += 1
        return found

    with server_over(crossed.root) as server:
        assert read(server, "skill://odd/y") == 3
        assert read(server, "skill://odd/z") == 6
        assert bytes_of(server, "skill://odd/y/SKILL.md").startswith(b"---\nname: y")


def test_a_nested_skill_in_small_letters_leaves_the_outer_one_without_an_entry(
    workspace: Workspace,
) -> None:
    workspace.skill("outer")
    inner = workspace.skill("inner", folder="skills/outer/inner")
    os.rename(inner, inner.with_name("skill.md"))
    with server_over(workspace.root) as server:
        assert [one["uri"] for one in listed(server)] == ["skill://skills/outer/inner/SKILL.md"]


def test_half_of_a_surrogate_pair_is_refused_in_words_that_can_be_sent() -> None:
    uri = "skill://skills/\ud800"
    with pytest.raises(NotFoundError) as caught:
        segments_of(uri)
    error = protocol_error(caught.value, uri=uri)
    assert error.code == INVALID_PARAMS
    assert error.data == {
        "uri": "skill://skills/?",
        "code": "NOT_FOUND",
        "message": "no resource 'skill://skills/?'",
        "where": "",
        "hint": "see resources/list",
    }
