"""The overlap map: skills by meaning, clusters that compete, pairs in words."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Workspace
from metier.catalog import Catalog
from metier.config import Config
from metier.flow.overlap_map import HEIGHT, WIDTH, Point
from metier.web import pictures_map
from metier.web.pictures_map import Box
from web_served import Inspected, inspected

ALIKE = "Rotate the TLS certificates of the payment gateway"
TEXTS = {
    "rotate-a": f"{ALIKE} before they expire.",
    "rotate-b": f"{ALIKE} when they expire.",
    "rotate-c": f"{ALIKE} after they expire.",
    "haiku": "Write a haiku about the sea in spring.",
    "budget": "Plan the monthly budget of a household.",
    "chess": "Explain openings of chess to a beginner.",
    "zzxqv": "zzxqv qqwyx",
}


def fill(workspace: Workspace) -> None:
    for name, text in TEXTS.items():
        workspace.skill(name, text)


@pytest.fixture
def site(workspace: Workspace) -> Iterator[Inspected]:
    fill(workspace)
    with inspected(workspace.root) as made:
        yield made


def test_the_map_says_what_the_command_says(site: Inspected, workspace: Workspace) -> None:
    found = site.json("/overlap.json")
    with Catalog.open(workspace.root, config=Config(host_folders=False)) as catalog:
        catalog.refresh()
        told = catalog.overlap(limit=100)
    pairs = {(one.first, one.second) for one in told.pairs}
    assert {(row["first"], row["second"]) for row in found["pairs"]["rows"]} == pairs
    assert found["competing"] == len(told.overlaps) == 3
    [cluster] = found["clusters"]["rows"]
    assert cluster["words"] == ", ".join(told.clusters[0].words)
    assert "metier overlap --at-least=0.6" in site.page("/overlap")


def test_those_that_compete_are_near_and_others_are_not(site: Inspected) -> None:
    found = site.json("/overlap.json")
    places = {one["name"]: (one["x"], one["y"]) for one in found["map"]["points"]}
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places.values())

    def apart(one: str, two: str) -> float:
        (x, y), (other_x, other_y) = places[one], places[two]
        return float(((x - other_x) ** 2 + (y - other_y) ** 2) ** 0.5)

    assert apart("rotate-a", "rotate-b") < apart("rotate-a", "haiku")
    assert apart("rotate-b", "rotate-c") < apart("rotate-b", "chess")
    assert found["unplaced"] == 1


def test_the_same_catalog_gives_the_same_map(site: Inspected, tmp_path: Path) -> None:
    other = Workspace(tmp_path / "other")
    fill(other)
    with inspected(other.root) as made:
        assert made.json("/overlap.json")["map"] == site.json("/overlap.json")["map"]


def test_a_cluster_is_zoomed_to_by_a_link(site: Inspected) -> None:
    page = site.page("/overlap")
    assert f'viewBox="0.0 0.0 {WIDTH} {HEIGHT}"' in page
    [link] = set(re.findall(r'<a href="(/overlap\?near=[^"]*)"><text', page))
    zoomed = site.page(link)
    assert f'viewBox="0.0 0.0 {WIDTH} {HEIGHT}"' not in zoomed
    assert "Pairs in this cluster" in zoomed
    assert ">rotate-b</text>" in zoomed
    assert 'href="/document?kind=skill&amp;id=rotate-a"' in zoomed


def test_a_skill_in_no_cluster_can_be_zoomed_to(site: Inspected) -> None:
    found = site.json("/overlap.json", near="haiku")
    assert found["cluster"] is None
    assert found["pairs"]["total"] == 0
    assert "which is in no cluster" in site.page("/overlap", near="haiku")
    assert site.json("/overlap.json", 404, near="nobody")["error"]["code"] == "NOT_FOUND"


def test_the_skill_that_was_asked_for_is_marked_on_the_map(site: Inspected) -> None:
    page = site.page("/overlap", near="haiku")
    assert re.findall(r'<circle class="asked"[^>]*><title>([^<]*)', page) == ["haiku"]
    assert re.findall(r'<text class="asked"[^>]*>([^<]*)', page) == ["haiku"]
    assert "it competes with none" in page
    assert 'class="asked"' not in site.page("/overlap")


def test_the_threshold_decides_who_competes(site: Inspected) -> None:
    assert site.json("/overlap.json", least="100")["competing"] == 0
    assert "no two skills compete" in site.page("/overlap", least="100")
    assert site.json("/overlap.json", 400, least="10")["error"]["code"] == "USAGE"
    assert site.json("/overlap.json", 400, host="nobody")["error"]["code"] == "USAGE"


def test_pairs_say_which_words_both_have(site: Inspected) -> None:
    [first, *_] = site.json("/overlap.json")["pairs"]["rows"]
    assert {"certificates", "gateway"} <= set(first["shared"].split(", "))
    assert site.json("/overlap.json", filter="rotate-a")["pairs"]["total"] == 2


def test_an_empty_catalog_has_an_empty_map(workspace: Workspace) -> None:
    with inspected(workspace.root) as made:
        assert "No skill can be named yet" in made.page("/overlap")


def test_hostile_names_are_escaped(workspace: Workspace) -> None:
    for number in range(3):
        workspace.skill(f"<i>x</i>{number}", f"{ALIKE} {number}", folder=f"skills/bad-{number}")
    workspace.skill("<script>alert(1)</script>\u202e", f"{ALIKE} 3", folder="skills/hidden")
    with inspected(workspace.root) as made:
        points = made.json("/overlap.json")["map"]["points"]
        assert [one["name"] for one in points] == ["<i>x</i>0", "<i>x</i>1", "<i>x</i>2"]
        for page in (made.page("/overlap"), made.page("/overlap", near="<i>x</i>0")):
            assert "&lt;i&gt;x&lt;/i&gt;0" in page
            assert "<i>x" not in page
            assert "<script>alert" not in page
            assert "\u202e" not in page


def test_among_very_many_only_those_in_clusters_have_names(
    site: Inspected, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "<title>haiku</title>" in site.page("/overlap")
    monkeypatch.setattr(pictures_map, "_MOST_POINTS", 3)
    page = site.page("/overlap")
    assert 'class="dots"' in page
    assert "<title>haiku</title>" not in page
    assert "<title>rotate-a</title>" in page


def test_the_strongest_pairs_have_names_on_a_map_of_many(
    site: Inspected, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures_map, "_MOST_NAMES", 3)
    workspace.skill("tea-a", "Brew green tea in a porcelain pot before breakfast.")
    workspace.skill("tea-b", "Brew green tea in a porcelain pot after breakfast.")
    with inspected(workspace.root) as made:
        page = made.page("/overlap")
        names = re.findall(r'<text class="name"[^>]*>([^<]*)', page)
        assert sorted(names) == ["tea-a", "tea-b"]
        assert made.json("/overlap.json")["names"] == sorted([*TEXTS, "tea-a", "tea-b"])
        assert '<a class="mono" href="/document?kind=skill&amp;id=haiku">haiku</a>' in page


def test_a_box_keeps_the_proportions_and_stays_on_the_map() -> None:
    for x, y in ((0.0, 0.0), (WIDTH, HEIGHT), (500.0, 300.0)):
        box = Box.around([Point("a", "a", x, y, 0), Point("b", "b", x, y, 0)])
        assert box.has(x, y)
        assert box.left >= 0
        assert box.left + box.width <= WIDTH
        assert box.top + box.height <= HEIGHT
        assert abs(box.width / box.height - WIDTH / HEIGHT) < 0.01
