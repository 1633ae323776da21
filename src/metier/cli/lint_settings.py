"""What is wrong in the settings about cards, for the commands that check a workspace."""

import os
from collections.abc import Collection

from metier.config import Config
from metier.core.paths import is_inside
from metier.lint.settings import SettingsFile, lint_capabilities
from metier.values.outcomes import Issue


def settings_findings(config: Config, workspace: str, cards: Collection[str]) -> list[Issue]:
    """The findings in `[capabilities]`; `cards` are the ids of all cards, used or not."""
    files = [SettingsFile(_shown(file, workspace), _text(file)) for file in config.sources]
    return lint_capabilities(config.capabilities, cards, files)


def _shown(file: str, workspace: str) -> str:
    path = os.path.abspath(file)
    inside = is_inside(path, workspace)
    return os.path.relpath(path, workspace).replace(os.sep, "/") if inside else path


def _text(file: str) -> str:
    with open(file, encoding="utf-8", errors="replace") as opened:
        return opened.read()
