"""The stems of skills in the catalog: what a refresh forgets, what is added when asked for."""

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from conftest import Workspace
from metier import Catalog
from metier.config import Config
from metier.core.stems import label_stems, prose_stems
from metier.index.columns import catch_up
from metier.index.postings import LABEL, PROSE, stem_postings
from soak import examples


def stored(catalog: Catalog) -> dict[tuple[str, str], dict[str, tuple[int, int]]]:
    """Field and stem → how often each skill, by name, has it, and how many stems it has."""
    names = dict(catalog.store.rows("SELECT key, name FROM document"))
    found: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
    for field, stem in catalog.store.rows(
        "SELECT field, term FROM posting WHERE field IN (?, ?)", (PROSE, LABEL)
    ):
        postings = stem_postings(catalog.store, field, stem)
        assert postings
        assert list(postings[0::3]) == sorted(postings[0::3])
        entries = zip(postings[0::3], postings[1::3], postings[2::3], strict=True)
        found[field, stem] = {names[key]: (count, size) for key, count, size in entries}
    return found


def expected(catalog: Catalog) -> dict[tuple[str, str], dict[str, tuple[int, int]]]:
    """The same, from the rows of the skills alone."""
    found: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
    for row in catalog.skills(shadowed=True):
        prose = prose_stems(row.name, row.description)
        for stem, count in Counter(prose).items():
            found.setdefault((PROSE, stem), {})[row.name] = (count, len(prose))
        labels = set(label_stems(row.name, row.path.rpartition("/")[0]))
        for stem in labels:
            found.setdefault((LABEL, stem), {})[row.name] = (1, len(labels))
    return found


def open_catalog(workspace: Workspace) -> Catalog:
    return Catalog.open(workspace.root, config=Config(host_folders=False))


def test_stems_are_added_when_they_are_asked_for_and_once(workspace: Workspace) -> None:
    workspace.skill("charts", "Draws charts, many charts.")
    with open_catalog(workspace) as catalog:
        catalog.refresh()
        assert stored(catalog) == {}
        assert catch_up(catalog.store) == 1
        assert catch_up(catalog.store) == 0
        assert stored(catalog)[PROSE, "chart"] == {"charts": (3, 5)}


def test_a_file_without_a_skill_has_no_stems(workspace: Workspace) -> None:
    workspace.write("skills/odd/SKILL.md", "no front matter\n")
    with open_catalog(workspace) as catalog:
        catalog.refresh()
        assert catch_up(catalog.store) == 0


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["write", "delete", "ask"]),
        st.sampled_from(["one", "two", "three"]),
        st.sampled_from(["Draws charts.", "Reads tables and charts.", "Größe und 表."]),
    ),
    max_size=8,
)


@examples(25)
@given(changes=CHANGES)
def test_whatever_came_before_the_stems_are_those_of_the_skills(
    changes: list[tuple[str, str, str]], tmp_path_factory: Any
) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("stems"))
    with open_catalog(workspace) as catalog:
        for action, name, description in changes:
            file = workspace.root / "skills" / name / "SKILL.md"
            if action == "write":
                workspace.skill(name, description)
            elif action == "delete":
                file.unlink(missing_ok=True)
            else:
                catch_up(catalog.store)
            catalog.refresh()
        catch_up(catalog.store)
        assert stored(catalog) == expected(catalog)
