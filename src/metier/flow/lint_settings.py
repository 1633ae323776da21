"""Names in the settings that no document has."""

import os
from collections.abc import Collection

from metier.config import Config
from metier.core.paths import is_inside
from metier.lint.settings import SettingsFile, lint_capabilities, lint_disabled
from metier.values.files import Named
from metier.values.outcomes import Issue


def settings_findings(config: Config, workspace: str, documents: Collection[Named]) -> list[Issue]:
    """Names in the settings that none of `documents`, used or not, has."""
    files = []
    own = []
    for file in config.sources:
        path = os.path.abspath(file)
        if is_inside(path, workspace):
            path = os.path.relpath(path, workspace).replace(os.sep, "/")
        with open(file, encoding="utf-8", errors="replace") as opened:
            files.append(SettingsFile(path, opened.read()))
        own += files[-1:] if is_inside(file, workspace) else []
    cards = {one.names[0] for one in documents if one.kind == "card"}
    disabled = (*config.disabled, *config.own_disabled)
    return [
        *lint_capabilities(config.capabilities, cards, files),
        *lint_disabled(disabled, config.teams, documents, own),
    ]
