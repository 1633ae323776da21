"""Rules for AGENTS.md, the part that is always loaded (spec 5, three tiers)."""

from collections.abc import Sequence

from metier.values.outcomes import Issue

AGENTS_FILE = "AGENTS.md"
LONGEST_AGENTS_FILE = 500


def lint_agents_file(text: str, path: str, cards: Sequence[str]) -> list[Issue]:
    """Notes on an AGENTS.md; `cards` are the ids and paths of the workspace's cards."""
    issues = []
    size = len(text.strip())
    if size > LONGEST_AGENTS_FILE:
        message = f"AGENTS.md has {size} characters; it is loaded for every task"
        hint = f"keep {LONGEST_AGENTS_FILE}, and move the rest into capability cards"
        issues.append(Issue("CD608", message, path, 1, 1, hint))
    if cards and not _mentions(text, cards):
        message = "AGENTS.md names neither a capability card nor the folder of the cards"
        issues.append(Issue("CD609", message, path, 1, 1, f"name {_folder(cards)}, or a card"))
    return issues


def _mentions(text: str, cards: Sequence[str]) -> bool:
    """Whether `text` contains a name as a word: `web` is not in `web-search`."""
    from metier.core.keywords import KeywordFinder  # few workspaces have both

    folders = {folder for card in cards if (folder := card.rpartition("/")[0])}
    found = KeywordFinder({*cards, *folders}).everywhere(text)
    around = (text[start - 1 : start] + text[end : end + 1] for _, start, end in found)
    return any(not any(char.isalnum() or char in "_-" for char in chars) for chars in around)


def _folder(cards: Sequence[str]) -> str:
    return next((card.rpartition("/")[0] for card in cards if "/" in card), "their folder")
