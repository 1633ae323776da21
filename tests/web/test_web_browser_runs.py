"""Runs in a real browser: a live run, resume after a crash, forks, without scripts."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.run_workspace import SETTINGS, Agents, eventually, prompt, tool
from conftest import trust
from web_browser import HOSTILE, Opened, Watched, axe_script, chromium, program, serious

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


_OPEN = "document.querySelectorAll('details').forEach(one => one.open = true)"


class Office(Agents):
    """Agents, and a browser that looks at them."""

    opened: Opened


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with chromium() as made:
        yield made


@pytest.fixture
def office(tmp_path: Path, browser: "Browser") -> Iterator[Office]:
    root = tmp_path / "workspace"
    root.mkdir()
    made = Office(root)
    made.write("metier.toml", f"host-folders = false\n{SETTINGS}")
    say = tool("say", "say", given={"text": "{{ task }}"})
    made.agent("three", say, tool("b", "hold"), prompt("c", "End {{ task }}"))
    trust(root)
    with program(root) as told:
        made.opened = Opened(browser, told)
        yield made


def test_a_run_is_followed_killed_resumed_and_forked(office: Office) -> None:
    context = office.opened.context(base_url=office.opened.url)
    watched = Watched(context.new_page())
    page = watched.page
    process = office.started("run", "three", HOSTILE)
    eventually(lambda: "b" in office.calls())
    page.goto("/runs")
    page.locator("tbody a").first.click()
    page.locator(".run-head .badge", has_text="running").wait_for()
    page.locator('.timeline svg[aria-label^="b: running"]').wait_for()
    page.evaluate("window.isSame = true")
    page.locator("details.step-detail summary").first.click()
    process.kill()
    process.communicate()
    page.locator(".run-head .badge", has_text="interrupted").wait_for()
    assert page.locator("details.step-detail").first.evaluate("one => one.open")
    assert page.evaluate("window.isSame")
    for address in ("/runs", "/overview"):
        page.goto(address)
        page.locator("tbody span.badge", has_text="interrupted").wait_for()
    page.go_back()
    page.go_back()
    page.get_by_role("button", name="Resume").click()
    page.locator(".run-head .badge", has_text="running").wait_for()
    office.release()
    page.locator(".run-head .badge", has_text="succeeded").wait_for()
    watched.check()
    page.get_by_label("Fork from").select_option(index=0)
    page.get_by_role("button", name="Fork").click()
    page.get_by_text("Forked from checkpoint").wait_for()
    page.locator(".run-head .badge", has_text="succeeded").wait_for()
    watched.check()
    context.close()


def test_without_scripts_a_live_run_is_reloaded_and_cancelled(office: Office) -> None:
    context = office.opened.context(base_url=office.opened.url, java_script_enabled=False)
    page = context.new_page()
    process = office.started("run", "three", "plain")
    eventually(lambda: "b" in office.calls())
    page.goto("/run?id=last")
    page.get_by_role("link", name="Reload").click()
    page.locator(".run-head .badge", has_text="running").wait_for()
    page.get_by_role("button", name="Cancel").click()
    process.communicate(timeout=300)
    page.goto("/run?id=last")
    page.locator(".run-head .badge", has_text="cancelled").wait_for()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_run_fits_narrow_windows_and_has_no_serious_finding(office: Office, scheme: str) -> None:
    script = axe_script()
    office.release()
    process = office.started("run", "three", HOSTILE * 20)
    process.communicate(timeout=300)
    assert process.returncode == 0
    context = office.opened.context(
        base_url=office.opened.url,
        color_scheme=scheme,
        viewport={"width": 360, "height": 800},
        bypass_csp=True,
    )
    watched = Watched(context.new_page())
    for address in ("/run?id=last", "/runs?delegated=1", "/agents?task=do+what+three+does"):
        watched.page.goto(address)
        watched.check()
        watched.page.evaluate(
            "document.querySelectorAll('details').forEach(one => one.open = true)"
        )
        watched.page.evaluate(script)
        found = serious(watched.page.evaluate("axe.run({resultTypes: ['violations']})"))
        assert found == [], address
    context.close()
