"""`make site`: build the documentation with zensical, strictly.

The navigation is the index, docs/README.md: `##` is a tab, `###` a section, each first link of a
list item a page. Links to files of the repository outside docs/ become text. A broken link or
anchor, or an address that pages would load from another server, ends it with an error.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
DOCS = REPOSITORY / "docs"
INDEX = DOCS / "README.md"
PAGES = REPOSITORY / "build" / "pages"
SETTINGS = REPOSITORY / "zensical.toml"
SITE = REPOSITORY / "build" / "site"
_SERVE = "to read it: python3 -m http.server --bind 127.0.0.1 --directory build/site"
_LINE = re.compile(r"(##|###) (.+)|- \[([^\]]+)\]\(([^)#]+\.md)\)")
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc(?:set)?=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|<link\b[^>]*\brel="?(?:stylesheet|preload|preconnect|icon)"?[^>]*\bhref="?(?:https?:)?//[^"\s>]+"""
)

Section = dict[str, list[tuple[str, str]]]
"""Title of a section, "" above the first → titles and paths of its pages."""


def navigation(index: str) -> dict[str, Section]:
    """Title of a tab → its sections."""
    tabs: dict[str, Section] = {}
    pages: list[tuple[str, str]] = []
    for level, title, page, path in _LINE.findall(index):
        if level == "##":
            tabs[title] = {"": (pages := [])}
        elif level == "###":
            tabs[list(tabs)[-1]][title] = (pages := [])
        elif page:
            pages.append((page.replace("`", ""), path))
    return tabs


def nav_text(tabs: dict[str, Section]) -> str:
    """The navigation as a value of zensical's settings."""
    parts = ["nav = [", '  { "Home" = "README.md" },']
    for tab, sections in tabs.items():
        inner = ", ".join(_section_text(title, pages) for title, pages in sections.items() if pages)
        parts.append(f'  {{ "{tab}" = [{inner}] }},')
    return "\n".join([*parts, "]"])


def _section_text(title: str, pages: list[tuple[str, str]]) -> str:
    text = ", ".join(f'{{ "{page}" = "{path}" }}' for page, path in pages)
    return f'{{ "{title}" = [{text}] }}' if title else text


def on_the_site(text: str, folder: Path) -> str:
    """A page of `folder` without links that leave docs/: their text, and the path as code."""

    def shown(match: re.Match[str]) -> str:
        target = (folder / match[2]).resolve()
        if target.is_relative_to(DOCS):
            return match[0]
        path = f"`{target.relative_to(REPOSITORY)}`"
        return match[1] if match[1].strip("`") in path else f"{match[1]} ({path})"

    return re.sub(r"\[([^\]\n]+)\]\((\.\./[^)#\s]+)(?:#[^)\s]*)?\)", shown, text)


def copy_pages() -> None:
    """Write docs/ to build/pages, as the site shows it."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(DOCS, PAGES)
    for file in PAGES.rglob("*.md"):
        folder = DOCS / file.parent.relative_to(PAGES)
        file.write_text(on_the_site(file.read_text(encoding="utf-8"), folder), encoding="utf-8")


def loaded_from_elsewhere(site: Path) -> Iterator[str]:
    """What the browser of a reader would load from another server."""
    for file in sorted(site.rglob("*.html")):
        for found in _LOADED.findall(file.read_text(encoding="utf-8")):
            yield f"{file.relative_to(site)}: {found}"


def main() -> int:
    copy_pages()
    settings = SETTINGS.read_text(encoding="utf-8")
    nav = nav_text(navigation(INDEX.read_text(encoding="utf-8")))
    written = REPOSITORY / ".zensical.toml"
    written.write_text(settings.replace("[project]\n", f"[project]\n{nav}\n", 1), encoding="utf-8")
    try:
        command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
        code = subprocess.run([*command, "-f", str(written)], cwd=REPOSITORY).returncode
    finally:
        written.unlink()
    if code:
        return code
    foreign = list(loaded_from_elsewhere(SITE))
    print("\n".join(foreign) if foreign else _SERVE)
    return 1 if foreign else 0


if __name__ == "__main__":
    sys.exit(main())
