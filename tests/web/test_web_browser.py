"""The inspector in a real browser: every page, both colour schemes, keyboard, hostile documents."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import metier
from conftest import Workspace
from mcp_served import example, own_home
from metier.catalog import Catalog
from metier.web.app import all_pages
from metier.web.exporting import Exporter, write_export
from web_browser import HOSTILE, Opened, Watched, axe_script, chromium, program, serious

if TYPE_CHECKING:
    pass

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

QUERIES = {
    "agents": ["", "?task=prepare+a+release", "?task=alert"],
    "competing": ["?id=release-notes", "?id=hostile"],
    "document": [
        "?kind=skill&id=hostile",
        "?kind=skill&id=release-notes",
        "?kind=agent&id=reviewer",
        "?kind=skill&id=huge",
        "?kind=skill&id=drawn",
        "?kind=ability&id=hostile",
        "?kind=card&id=hostile-card",
        "?kind=agent&id=hostile-agent",
    ],
    "inject": ["", "?task=review+this+report&budget=700", "?task=hostile+alert&core=hostile"],
    "recompute": ["?require=web-search&require=summarization", "?require=alerting"],
    "resolve": [
        "",
        "?require=web-search&selection-mode=cover&full=1&was=require%3Dsummarization",
        "?require=alerting&query=%3Cscript%3E",
    ],
    "run": ["?id=last"],
    "runs": ["", "?state=succeeded&sort=-cost"],
    "listing": ["", "?host=claude-code&context=9000&plan=show", "?host=codex&plan=try"],
    "overlap": ["", "?least=40", "?near=release-notes"],
    "usage": ["", "?read=1&prompts=1&used=never"],
    "which": [
        "",
        "?task=write+release+notes&expect=changelog",
        "?task=write+notes&expect=rel",
        "?task=hostile+alert+script",
    ],
    "catalog": ["", "?search=release&kind=skill", "?size=5&page=2", "?search=alert"],
}
"""What to ask of pages that show little without a query."""
ADDRESSES = [
    f"/{page.name}{query}" for page in all_pages() for query in QUERIES.get(page.name, [""])
]


_RUN = {
    "light": "axe.run({resultTypes: ['violations']})",
    "dark": "axe.run({resultTypes: ['violations'], runOnly: ['color-contrast']})",
}
"""Only colours differ in the dark."""


STYLE = Path(metier.__file__).parent / "web" / "static" / "style.css"
_CONTRAST = """(selector) => {
    const style = getComputedStyle(document.querySelector(selector), "::before");
    const painted = (colours) => {
        const context = document.createElement("canvas").getContext("2d");
        for (const one of colours) {
            context.fillStyle = one;
            context.fillRect(0, 0, 1, 1);
        }
        const parts = [...context.getImageData(0, 0, 1, 1).data].slice(0, 3).map((one) => {
            const part = one / 255;
            return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2] + 0.05;
    };
    const ground = getComputedStyle(document.body).backgroundColor;
    const edge = parseFloat(style.borderTopWidth) ? style.borderTopColor : style.backgroundColor;
    const both = [painted([ground]), painted([ground, edge])];
    return Math.max(...both) / Math.min(...both);
}"""
"""The contrast of the edge of a swatch, or of a swatch without one, to the page (WCAG 2)."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    with own_home(tmp_path_factory.mktemp("home")), chromium() as browser:
        root = example(tmp_path_factory.mktemp("browser"))
        Workspace(root).write(
            "skills/hostile/SKILL.md",
            f"---\nname: hostile\ndescription: |\n  Alert on {HOSTILE}\nlicense: {HOSTILE!r}\n---\n"
            f"# {HOSTILE}\n\n{HOSTILE}\n\n[a](javascript:alert(5)) {'x' * 5_000}\n\n"
            f"```\n{HOSTILE}\n```\n",
        )
        _write_hostile(Workspace(root))
        with program(root) as told:
            yield Opened(browser, told)


def _write_hostile(workspace: Workspace) -> None:
    """Names that no one sees or that read backwards, a huge description, every kind."""
    for name, times in (("huge", 12_000), ("too-huge", 200_000)):  # the second is excluded
        text = f"Huge {HOSTILE} " + "wide " * times
        front = f"name: {name}\ndescription: |\n  {text}"
        workspace.write(f"skills/{name}/SKILL.md", f"---\n{front}\n---\nDo.\n")
    for folder in ("skills/long", ".claude/skills/long"):  # a word that no line can hold
        long = f"{'long' * 70}-{folder[0]}"
        workspace.skill(long, f"Alert {'n' * 1_000}", folder=folder)
    name = "bi\u202edi\u200b-name"
    workspace.skill(name, f"Alert with {name} and {'w' * 900}", folder="skills/bidi")
    picture = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(6)"><script>alert(7)</script>'
    workspace.skill(
        "drawn", f"Draw {picture}", body=f"{picture}\n\n![x](data:image/svg+xml,{picture})"
    )
    workspace.write("abilities/hostile.md", f"---\ntags: [alert]\n---\n{HOSTILE} alert\n")
    card = f"id: hostile-card\nname: {HOSTILE!r}\ndescription: {HOSTILE!r}"
    triggers = "triggers:\n  keywords: [alert]\n  confidenceThreshold: 0.1"
    workspace.write("docs/capabilities/h.md", f"---\n{card}\n{triggers}\n---\n{HOSTILE}\n")
    agent = {"agentId": "hostile-agent", "version": "1.0.0", "systemPrompt": HOSTILE}
    more = {"description": f"Alerts {HOSTILE}", "selectionMetadata": {"keywords": ["alert"]}}
    workspace.write("agents/hostile.json", json.dumps({**agent, **more}))


@pytest.fixture
def watched(opened: Opened) -> Iterator[Watched]:
    context = opened.context(base_url=opened.url)
    made = Watched(context.new_page())
    yield made
    made.check()
    context.close()


@pytest.mark.parametrize("width", [1440, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_clean_and_fits_the_window(opened: Opened, scheme: Any, width: int) -> None:
    size = {"width": width, "height": 900}
    context = opened.context(base_url=opened.url, color_scheme=scheme, viewport=size)
    seen = Watched(context.new_page())
    for address in ADDRESSES:
        answer = seen.page.goto(address)
        assert answer is not None
        assert answer.status == 200, address
        seen.check()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_accessibility_finding(opened: Opened, scheme: Any) -> None:
    script = axe_script()
    context = opened.context(base_url=opened.url, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    found = []
    for address in ADDRESSES:
        page.goto(address)
        page.evaluate(script)
        found += [f"{address} {one}" for one in serious(page.evaluate(_RUN[scheme]))]
    context.close()
    assert found == []


def test_an_answer_appears_while_one_types(watched: Watched) -> None:
    page = watched.page
    page.goto("/which")
    page.get_by_label("Prompt").press_sequentially("write release notes")
    page.locator("#answer .verdict strong", has_text="release-notes").wait_for()
    page.wait_for_url("**/which?task=write+release+notes*")
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    page.get_by_label("Prompt").blur()  # asks nothing again: the answer would undo a click
    page.get_by_label("Host").select_option("codex")
    page.wait_for_url("**host=codex*")
    assert len([one for one in asked if "/which?" in one]) == 1
    page.get_by_label("Host").select_option("")
    page.get_by_role("link", name="make this one win").first.click()
    page.get_by_role("heading", name="How to make").wait_for()


def test_a_click_on_a_link_goes_on_although_it_leaves_a_changed_field(watched: Watched) -> None:
    page = watched.page
    page.goto("/resolve?require=web-search")
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    page.get_by_label("Capability 2").fill("summarization")
    page.get_by_role("link", name="Recompute the figures").click(delay=600)
    page.wait_for_url("**/recompute?*")
    assert [one for one in asked if "/resolve?" in one] == []


def test_an_unknown_name_is_told_beside_the_form_and_can_be_corrected(opened: Opened) -> None:
    context = opened.context(base_url=opened.url)
    page = context.new_page()
    page.goto("/resolve?require=web-search")
    page.get_by_label("For this skill").fill("nobody")
    page.get_by_label("For this skill").press("Tab")
    page.locator("#answer .banner", has_text="no skill is called 'nobody'").wait_for()
    page.get_by_label("For this skill").fill("release-notes")
    page.get_by_label("For this skill").press("Tab")
    page.locator("#answer .verdict").wait_for()
    context.close()


def test_an_unknown_skill_leaves_the_answer_and_a_link_fills_the_field(watched: Watched) -> None:
    page = watched.page
    page.goto("/which?task=write+release+notes")
    field = page.get_by_label("Make this one win")
    field.fill("rele")
    field.press("Tab")
    page.locator("#unknown", has_text="No skill is called 'rele'").wait_for()
    assert page.locator("#answer .ranking li").count() > 0
    page.locator("#unknown").get_by_role("link", name="release-notes").click()
    page.get_by_role("heading", name="How to make release-notes win").wait_for()
    assert field.input_value() == "release-notes"
    assert page.locator("#unknown").inner_text() == ""


def test_filters_are_folded_on_a_narrow_window(opened: Opened) -> None:
    context = opened.context(
        base_url=opened.url, viewport={"width": 360, "height": 800}, java_script_enabled=False
    )
    page = context.new_page()
    page.goto("/catalog?kind=skill")
    facet = page.locator(".facets details").first
    assert not facet.is_visible()
    page.get_by_label("Filters 1 chosen").press("Space")
    assert facet.is_visible()
    context.close()


def test_texts_and_tables_can_be_read_in_half_a_screen(opened: Opened) -> None:
    context = opened.context(base_url=opened.url, viewport={"width": 800, "height": 900})
    page = context.new_page()
    for address, part in (
        ("/document?kind=skill&id=release-notes", "article"),
        ("/catalog", "td.long"),
    ):
        page.goto(address)
        box = page.locator(part).first.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 800
        assert box["width"] > 400
    context.close()


def test_the_keyboard_reaches_every_page_in_the_narrow_list_of_pages(opened: Opened) -> None:
    context = opened.context(base_url=opened.url, viewport={"width": 360, "height": 800})
    page = context.new_page()
    page.goto("/overview")
    links = page.locator(".side nav a")
    assert links.count() == sum(bool(one.group) for one in all_pages())
    for number in range(links.count()):
        links.nth(number).focus()
        assert links.nth(number).evaluate(
            "one => { const box = one.getBoundingClientRect();"
            " return one.contains(document.elementFromPoint("
            "box.x + box.width / 2, box.y + box.height / 2)); }"
        )
    context.close()


def test_a_policy_is_tried_and_compared_with_before(watched: Watched) -> None:
    page = watched.page
    page.goto("/resolve?require=web-search&require=summarization")
    page.get_by_role("link", name="What if?").click()
    page.get_by_role("heading", name="Compared with before").wait_for()
    page.wait_for_load_state()  # before that, no script answers a change of the form
    page.evaluate("window.isSame = true")
    page.get_by_label("selection-mode").select_option("cover")
    page.locator("#answer .panel ins", has_text="cover").wait_for()
    slider = page.get_by_label("min-total-score as a slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**min-total-score=0.55*")
    page.locator("#answer .gate.failed").first.wait_for()
    assert page.locator("#p-min-total-score").input_value() == "0.55"
    page.locator("select[name=mode]").select_option("strict")
    page.locator('#p-min-required-coverage[placeholder="1.0"]').wait_for()
    assert page.evaluate("window.isSame")


def test_a_report_is_stored_decided_and_recomputed(watched: Watched) -> None:
    page = watched.page
    page.goto("/resolve")
    page.get_by_label("Capability 1").fill("web-search")
    page.get_by_label("Capability 2").fill("nothing-has-this")
    page.get_by_role("button", name="Resolve", exact=True).click()
    page.locator("#answer .badge", has_text="decision needed").wait_for()
    page.get_by_role("button", name="store the report").click()
    page.get_by_role("button", name="continue-with-partial").click()
    page.locator(".verdict .badge", has_text="continued with a part").wait_for()
    page.get_by_title("Recompute this number").first.click()
    page.locator("#S_total_final").wait_for()
    page.goto("/reports")
    page.locator("tbody tr", has_text="nothing-has-this").first.wait_for()


def test_a_long_conversation_is_injected(watched: Watched) -> None:
    page = watched.page
    page.goto("/inject")
    page.get_by_label("Conversation").fill("User: review this change\n" + "and more " * 400)
    page.get_by_label("Agent").fill("reviewer")
    page.get_by_role("button", name="Show the text").click()
    page.wait_for_url("**/inject?pasted=*")
    page.locator(".piece.ability", has_text="code-review").first.wait_for()


def test_a_table_is_sorted_filtered_and_paged_in_place(watched: Watched) -> None:
    page = watched.page
    page.goto("/catalog?size=5")
    page.evaluate("window.isSame = true")
    page.get_by_role("link", name="Next").click()
    page.get_by_text("page 2 of").wait_for()
    page.get_by_role("link", name="Name").click()
    page.locator('th[aria-sort="descending"]').wait_for()
    assert page.evaluate("window.isSame")
    page.get_by_label("Search").fill("release")
    page.locator("tbody tr", has_text="release-notes").first.wait_for()
    assert page.evaluate("window.isSame")


def test_pages_work_with_the_keyboard_alone(watched: Watched) -> None:
    page = watched.page
    page.goto("/catalog")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")
    page.locator("body").press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.type("release-notes")
    page.keyboard.press("Enter")
    link = page.locator("tbody").get_by_role("link", name="release-notes").first
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/document?**")
    page.get_by_role("heading", name="release-notes", level=1).wait_for()


def test_every_page_says_the_same_without_scripts(opened: Opened) -> None:
    context = opened.context(base_url=opened.url, java_script_enabled=False)
    page = context.new_page()
    for address in ADDRESSES:
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 200, address
        assert page.locator("main h1").is_visible(), address
    page.goto("/listing?host=claude-code")
    page.locator("#context").fill("9000")
    page.get_by_role("button", name="Compute", exact=True).click()
    page.wait_for_url("**context=9000*")
    page.goto("/overlap")
    page.get_by_role("button", name="Draw").click()
    page.wait_for_url("**/overlap?*least=60*")
    page.goto("/agents")
    page.locator("#task").fill("prepare a release")
    page.get_by_role("button", name="Select").click()
    page.locator(".verdict strong", has_text="release-manager").wait_for()
    context.close()


def test_the_page_that_is_open_is_in_sight_in_the_narrow_list_of_pages(opened: Opened) -> None:
    context = opened.context(base_url=opened.url, viewport={"width": 360, "height": 800})
    page = context.new_page()
    page.goto("/runs")
    page.wait_for_function(
        "() => { const one = document.querySelector('.side [aria-current]')"
        ".getBoundingClientRect(); return one.left >= 0 && one.right <= 360; }"
    )
    context.close()


def test_an_export_shows_its_whole_list_of_pages_in_a_narrow_window(
    opened: Opened, workspace: Workspace, tmp_path: Path
) -> None:
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        write_export(str(tmp_path / "out"), Exporter(catalog).files())
    context = opened.stranger(viewport={"width": 360, "height": 800})
    page = context.new_page()
    page.goto((tmp_path / "out" / "overview.html").as_uri())
    links = page.locator(".side nav a")
    boxes = [links.nth(number).bounding_box() for number in range(links.count())]
    assert len(boxes) > 5
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= 360 for box in boxes)
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colours_of_matches_can_be_told_from_the_page(opened: Opened, scheme: Any) -> None:
    context = opened.stranger(color_scheme=scheme)
    page = context.new_page()
    names = ["exact", "alias", "fuzzy", "provisional"]
    keys = "".join(f'<span class="k-{name}">{name}</span>' for name in names)
    page.set_content(f'<style>{STYLE.read_text()}</style><p class="key">{keys}</p>')
    found = [page.evaluate(_CONTRAST, f".k-{name}") for name in names]
    assert min(found) >= 3, dict(zip(names, found, strict=True))
    context.close()


def test_pages_work_without_scripts(opened: Opened) -> None:
    context = opened.context(base_url=opened.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/which")
    page.get_by_label("Prompt").fill("write release notes")
    page.get_by_role("button", name="Ask").click()
    page.locator(".verdict strong", has_text="release-notes").wait_for()
    page.goto("/resolve")
    page.get_by_label("Capability 1").fill("web-search")
    page.get_by_role("button", name="Resolve", exact=True).click()
    page.locator("#answer .badge", has_text="resolved").wait_for()
    page.goto("/inject")
    page.get_by_label("Conversation").fill("review this change")
    page.get_by_role("button", name="Show the text").click()
    page.locator(".piece.ability").first.wait_for()
    page.goto("/catalog?size=5")
    page.get_by_role("link", name="Next").click()
    page.get_by_text("page 2 of").wait_for()
    page.get_by_role("button", name="Refresh").click()
    page.wait_for_url("**/catalog?size=5&page=2")
    context.close()


def test_another_browser_does_not_get_in(opened: Opened) -> None:
    context = opened.stranger(base_url=opened.url, viewport={"width": 360, "height": 800})
    page = context.new_page()
    answer = page.goto("/overview")
    assert answer is not None
    assert answer.status == 401
    assert "no access" in page.title().lower()
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    context.close()


def test_a_page_of_another_site_cannot_frame_read_or_change_anything(
    opened: Opened, tmp_path: Path
) -> None:
    evil = tmp_path / "evil.html"
    evil.write_text(
        f"<iframe src='{opened.url}/overview'></iframe>"
        f"<form method=post action='{opened.url}/do/refresh'><button>go</button></form>"
    )
    context = opened.context()
    page = context.new_page()
    answers: list[tuple[str, int]] = []
    page.on("response", lambda found: answers.append((found.url, found.status)))
    page.goto(evil.as_uri())
    page.get_by_role("button").click()
    page.wait_for_url("**/do/refresh")
    assert {status for url, status in answers if url.startswith(opened.url)} <= {401, 403}
    context.close()
