"""What hosts would read otherwise in a front matter is found, and only that."""

import pytest
from mcp import MCPError

from conftest import Workspace
from mcp_sep2640 import READ_OTHERWISE, SAME_TO_ALL, GetSkill, OfUri, bytes_of, listed, sent
from mcp_served import server_over
from metier.parse.frontmatter import read_matter
from metier.parse.yaml12 import difference


def fenced(yaml: str) -> bytes:
    return f"---\n{yaml}\n---\n\nDo.\n".encode()


@pytest.mark.parametrize("yaml", SAME_TO_ALL)
def test_front_matter_that_all_read_alike_has_no_difference(yaml: str) -> None:
    assert difference(fenced(yaml)) == ""


@pytest.mark.parametrize("yaml", READ_OTHERWISE)
def test_front_matter_that_others_read_otherwise_is_told(yaml: str) -> None:
    assert not [one for one in read_matter(fenced(yaml), "SKILL.md").issues if one.is_error]
    assert difference(fenced(yaml))


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        ('a: b\nc: "d\ne"', "line 4: a value goes on, but not deeper than its key"),
        ("a: b\nc: 0x1F", "line 3: '0x1F' without quotes is not text to other readers"),
        ("a:\n  1.0: b", "line 3: a key is not plain text"),
        ('a: "b"#c', "line 2: a comment needs a space before it"),
    ],
)
def test_the_difference_is_told_with_its_line(yaml: str, told: str) -> None:
    assert difference(fenced(yaml)) == told


def test_a_byte_order_mark_before_the_fence_makes_no_difference() -> None:
    assert difference(b"\xef\xbb\xbf" + fenced("a: b")) == ""


def test_fences_that_others_do_not_see_are_a_difference() -> None:
    assert difference(b"---\r\r\na: b\n---\n") == "other readers do not recognise its fences"


def test_a_skill_that_hosts_read_otherwise_has_no_entry_but_its_text_can_be_read(
    workspace: Workspace,
) -> None:
    text = '---\nname: bare\ndescription: "Does one thing.\n- Well.\nUse it."\n---\n\nDo.\n'
    indented = (
        text.replace("bare", "deep").replace("\n- Well", "\n  - Well").replace("\nUse", "\n Use")
    )
    workspace.write("skills/bare/SKILL.md", text)
    workspace.write("skills/deep/SKILL.md", indented)
    with server_over(workspace.root) as server:
        (entry,) = listed(server)
        assert entry["frontmatter"] == {
            "name": "deep",
            "description": "Does one thing. - Well. Use it.",
        }
        with pytest.raises(MCPError, match="hosts read its front matter differently: line 4"):
            sent(server, GetSkill(params=OfUri(uri="skill://skills/bare/SKILL.md")))
        assert bytes_of(server, "skill://skills/bare/SKILL.md").decode() == text
