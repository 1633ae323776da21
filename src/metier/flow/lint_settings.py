"""Findings in settings files: names and folders in them that are not there."""

import os
from collections.abc import Callable, Collection

from metier.config import Config
from metier.core.paths import is_inside
from metier.discover.roots import missing_folders
from metier.values.files import Named
from metier.values.outcomes import Issue


def findings_of_file(
    path: str, config: Config, workspace: str, documents: Callable[[], Collection[Named]]
) -> list[Issue]:
    """What is wrong in one settings file; `documents` reads all, if a name has to be known."""
    issues = settings_findings(config, workspace, ())
    if issues:
        issues = settings_findings(config, workspace, documents())
    file = os.path.abspath(path)
    return [
        issue._replace(path=path)
        for issue in (*missing_folders(workspace, config), *issues)
        if os.path.join(workspace, issue.path) == file
    ]


def settings_findings(config: Config, workspace: str, documents: Collection[Named]) -> list[Issue]:
    """Names in the settings that none of `documents`, used or not, has."""
    from metier.lint.settings import (  # not for named files
        SettingsFile,
        lint_capabilities,
        lint_disabled,
    )

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
