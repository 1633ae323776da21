"""A real browser for the inspector, and what checks its pages for accessibility.

Both are optional: without Chromium, Playwright or npm the tests that need them are skipped.
"""

import fcntl
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import REPOSITORY
from mcp_served import ENOUGH, METIER, environment
from metier.web.open_browser import way_in

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

NODE = REPOSITORY / "tests" / "web" / "node"
INSTALL = "npm install --no-audit --no-fund --no-package-lock --ignore-scripts --fetch-retries=0"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
MILLISECONDS = ENOUGH * 1_000
HOSTILE = (
    '<script>alert(1)</script><img src=x onerror="alert(2)"><svg onload=alert(3)></svg>'
    " \u202etxet\u200b <iframe src=javascript:alert(4)></iframe> {{ 7 * 7 }}"
)
_LISTEN = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(event.violatedDirective + " " + event.blockedURI));
"""


@contextmanager
def chromium() -> Iterator["Browser"]:
    """Chromium of the system; the test is skipped where there is none."""
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.skip("no browser: chromium is not installed")
    if find_spec("playwright") is None:
        pytest.skip("no browser: the package playwright is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def program(root: Path, *options: str) -> Iterator[dict[str, str]]:
    """`metier web` in a process of its own; its addresses."""
    command = [METIER, "web", "--json", "--port", "0", "--root", str(root), *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment()
    ) as process:
        limit = threading.Timer(ENOUGH * 5, process.kill)
        limit.start()
        try:
            assert process.stdout is not None
            said = "".join(iter(process.stdout.readline, "}\n")) + "}"
            yield json.loads(said)
        finally:
            limit.cancel()
            process.terminate()
            process.wait(ENOUGH)


class Opened:
    """A browser that has come in, as a person would: through the file."""

    def __init__(self, browser: "Browser", told: dict[str, str]) -> None:
        self.browser = browser
        self.url = told["url"].rstrip("/")
        context = self.stranger()
        page = context.new_page()
        with way_in(told["open"]) as file:
            page.goto(file.as_uri())
            page.wait_for_url("**/overview")
        self.state: Any = context.storage_state()
        context.close()

    def context(self, **options: Any) -> "BrowserContext":
        return self.stranger(storage_state=self.state, **options)

    def stranger(self, **options: Any) -> "BrowserContext":
        """A context that has not come in. It waits long: a busy machine is slow, not wrong."""
        context = self.browser.new_context(**options)
        context.set_default_timeout(MILLISECONDS)
        return context


class Watched:
    """A tab in which everything that a page must not do is noted."""

    def __init__(self, page: "Page") -> None:
        self.page = page
        self.problems: list[str] = []
        page.add_init_script(_LISTEN)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.problems.append(f"dialog: {dialog.message}"))

    def _console(self, message: "ConsoleMessage") -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"console: {message.text}")

    def check(self) -> None:
        """Nothing was noted, and nothing is wider than the window."""
        wide = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wide <= 0, f"{self.page.url} is {wide} px too wide"
        assert self.page.evaluate("window.violations") == []
        assert self.problems == [], self.page.url


def axe_script() -> str:
    """The source of axe-core, installed once; the test is skipped without npm."""
    file = NODE / "node_modules" / "axe-core" / "axe.min.js"
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed: no axe-core")
    with (NODE / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            try:
                subprocess.run(
                    INSTALL.split(), cwd=NODE, timeout=300, capture_output=True, check=True
                )
            except (subprocess.SubprocessError, OSError) as error:
                pytest.skip(f"axe-core cannot be installed: {type(error).__name__}")
            (NODE / "node_modules" / ".gitignore").write_text("*\n")
    return file.read_text()


def serious(found: Any) -> list[str]:
    """The serious findings of axe-core, one line each."""
    return [
        f"{one['id']}: {node['target']} {node.get('failureSummary', '')[:300]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
