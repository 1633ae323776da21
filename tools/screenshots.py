"""`make screenshots`: pictures of the inspector for the README, from examples/workspace.

Needs Chromium and the package playwright. State and settings are in a temporary folder.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.folders import own_folders, trust
from playwright.sync_api import Browser, sync_playwright

REPOSITORY = Path(__file__).resolve().parents[1]
PICTURES = REPOSITORY / "docs" / "pictures"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT = 1200, 760
TASK = "a spreadsheet of the disputed invoices for the auditor"
PAGES = {
    "which": f"/which?task={TASK.replace(' ', '+')}&expect=Data_Export",
    "overview": "/",
}


@contextmanager
def served(root: Path) -> Iterator[dict[str, str]]:
    """The inspector of a workspace; its addresses."""
    command = [sys.executable, "-m", "metier", "web", "--json", "--port", "0", "--no-open"]
    with subprocess.Popen(
        [*command, "--root", str(root)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            said = "".join(iter(process.stdout.readline, "}\n")) + "}"
            yield json.loads(said)
        finally:
            process.terminate()
            process.wait()


def photograph(browser: Browser, addresses: dict[str, str], scheme: str) -> None:
    context = browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    page.goto(addresses["open"])
    for name, path in PAGES.items():
        page.goto(addresses["url"].rstrip("/") + path, wait_until="networkidle")
        file = PICTURES / f"{name}-{scheme}.png"
        page.screenshot(path=file)
        print(f"{file.relative_to(REPOSITORY)}  {file.stat().st_size // 1024} KB")
    context.close()


def main() -> None:
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        sys.exit("error: chromium is not installed")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        scratch = Path(name)
        root = scratch / "workspace"
        shutil.copytree(REPOSITORY / "examples" / "workspace", root)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        with own_folders(scratch):
            trust(root)
            for scheme in ("light", "dark"):
                with served(root) as addresses:
                    photograph(browser, addresses, scheme)
        browser.close()


if __name__ == "__main__":
    main()
