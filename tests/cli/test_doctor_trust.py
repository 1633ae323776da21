"""`metier doctor` on what a workspace may do, and on state that version 0.1 left behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Workspace
from metier.cli import run


def checks(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> str:
    run(["doctor", "--root", str(workspace.root)])
    return capsys.readouterr().out


def test_old_state_is_named_once_and_only_in_a_trusted_workspace(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.write(".metier/runs.db", "")
    assert "metier state adopt" not in checks(workspace, capsys)
    workspace.trust()
    assert "metier state adopt" in checks(workspace, capsys)
    assert "metier state adopt" not in checks(workspace, capsys)


def test_old_state_that_git_tracks_is_never_suggested(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.write(".metier/runs.db", "")
    for words in (["init", "-q"], ["add", "-f", ".metier"]):
        subprocess.run(["git", *words], cwd=workspace.root, check=True, capture_output=True)
    workspace.trust()
    assert "metier state adopt" not in checks(workspace, capsys)


def test_an_entry_that_a_folder_could_hijack_is_named(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "python3 -m metier hook claude-code"
    entry = f'{{"hooks": {{"UserPromptSubmit": [{{"hooks": [{{"command": "{command}"}}]}}]}}}}'
    workspace.write(".claude/settings.json", entry)
    assert f"'{command}' may run a metier.py" in checks(workspace, capsys)


def test_a_source_that_is_not_there_is_named(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Path(os.environ["HOME"])
    shared = home / "shared"
    (shared / "tables").mkdir(parents=True)
    (shared / "tables" / "SKILL.md").write_text(
        "---\nname: tables\ndescription: Makes tables.\n---\n"
    )
    settings = home / ".config" / "metier" / "metier.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    mount = f'mounts = [{{ path = "{shared}", label = "team" }}]'
    settings.write_text(f'{mount}\n[trust.sources]\nteam = "ask"\n')
    assert "[trust.sources]" not in checks(workspace, capsys)
    settings.write_text(f'{mount}\n[trust.sources]\nteem = "ask"\n')
    assert "[trust.sources] has 'teem'" in " ".join(checks(workspace, capsys).split())


def test_a_damaged_history_is_a_warning(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.trust()
    assert "move the file away" not in checks(workspace, capsys)
    workspace.write(".dci/state/reliability.v1.json", '{"schema_version": "1"}')
    shown = " ".join(checks(workspace, capsys).split())
    assert "is not a reliability file of version 1" in shown
    assert "move the file away" in shown


def test_settings_that_stop_lint_are_named(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.write("metier.toml", '[lint]\nignore = ["ZZ9"]\nplugins = ["nosuch"]\n')
    workspace.trust()
    assert run(["doctor", "--root", str(workspace.root), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    told = [
        one["detail"] for one in found if (one["name"], one["verdict"]) == ("settings", "error")
    ]
    assert [one.partition(" (")[0] for one in told] == [
        "unknown code 'ZZ9'",
        "no installed package has lint rules called 'nosuch'",
    ]


def test_wrong_powers_of_an_untrusted_workspace_are_named(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.write("metier.toml", 'mounts = ["../x"]\n[selection]\nscorer = "learnd"\n')
    told = checks(workspace, capsys)
    assert "'mounts' must be a list of tables" in told
    assert "'selection.scorer' must be one of spec, learned, not 'learnd'" in told
    assert run(["list", "--root", str(workspace.root)]) == 0
    note = capsys.readouterr().err
    assert "also wrong: 'mounts' must be a list of tables" in note
    assert ", and 1 more (metier doctor)" in note


def test_functions_are_imported_only_from_a_trusted_workspace(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    workspace.write("tool_prices.py", "print('PRICES')\n\ndef price() -> int:\n    return 3\n")
    workspace.write(
        "metier.toml",
        '[tools.price]\nfunction = "tool_prices:price"\n'
        '[tools.cost]\nfunction = "tool_prices:cost"\n',
    )
    run(["doctor", "--json", "--root", str(workspace.root)])
    told = capsys.readouterr()
    assert "PRICES" not in f"{told.out}{told.err}"
    assert "tool_prices" not in sys.modules
    workspace.trust()
    assert run(["doctor", "--json", "--root", str(workspace.root)]) == 1
    told = capsys.readouterr()
    monkeypatch.delitem(sys.modules, "tool_prices")
    assert told.err.count("PRICES") == 1
    found = [one for one in json.loads(told.out) if one["name"] == "tools"]
    assert [(one["verdict"], one["detail"]) for one in found] == [
        (
            "error",
            "tool 'cost': tool_prices:cost cannot be used: AttributeError: module 'tool_prices' "
            "has no attribute 'cost'",
        )
    ]


@pytest.mark.parametrize(("mode", "is_told"), [("loud", True), ("monitor", False), ("", False)])
def test_a_mode_of_the_environment_that_nobody_knows_is_named(
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    mode: str,
    is_told: bool,
) -> None:
    monkeypatch.setenv("METIER_CAPABILITIES", mode)
    told = "METIER_CAPABILITIES is 'loud', which hooks treat as monitor"
    assert (told in checks(workspace, capsys)) is is_told
