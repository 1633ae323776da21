"""What people see of `metier resolve`: blocks on a terminal, reasons, trees, hints, questions."""

import fcntl
import json
import os
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from cli.printed import Printed, looked_at
from conftest import Workspace
from metier.cli import run

pytestmark = pytest.mark.slow


class Result(Printed):
    __slots__ = ()

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Resolve = Callable[..., Result]


@pytest.fixture
def resolve(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> Resolve:
    """Run the command with its output in a pipe, where the user has looked at the workspace."""

    def call(*arguments: str) -> Result:
        looked_at(workspace.root)
        code = run(["resolve", *arguments, "--root", str(workspace.root)])
        return Result(code, *capsys.readouterr())

    return call


@pytest.fixture
def on_terminal(resolve: Resolve, monkeypatch: pytest.MonkeyPatch) -> Resolve:
    """Run the command with its output on a terminal of 80 columns; nobody can be asked."""

    def call(*arguments: str, columns: int = 80) -> Result:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(columns))
        code, out, err = resolve(*arguments)
        return Result(code, click.unstyle(out), err)

    return call


def contract(text: str) -> str:
    return f"metadata:\n  contract: '{text}'"


def provider(workspace: Workspace, name: str, *names: str, words: str = "") -> None:
    """A skill that declares these and describes them, too."""
    text = " ".join(names) + f" {words}"
    workspace.skill(
        name, f"Does {text}. Use it for {text}.", extra=f"capabilities: [{', '.join(names)}]"
    )


# Blocks


def test_a_block_says_who_where_how_good_and_why(
    workspace: Workspace, on_terminal: Resolve
) -> None:
    provider(workspace, "best", "one", words="one one")
    provider(workspace, "next", "one", words="much more that has nothing to do with it")
    seen = on_terminal("-r", "one")
    assert seen.lines[:2] == ["one: best (exact)", ""]
    assert re.fullmatch(r"1  best  0\.\d{3}  selected", seen.lines[2])
    assert seen.lines[3] == "   skills/best"
    assert seen.lines[4].startswith("   contract 1.00 ███  desc 1.00 ███  namepath 0.00  runtime")
    assert seen.lines[5].startswith("   why: ranks above next by S_total_final 0.")
    assert seen.lines[7].startswith("2  next  0.")
    assert seen.lines[10].startswith("   why not: best ranks above by S_total_final 0.")


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_no_folder_is_cut_and_only_it_is_wider_than_the_terminal(
    workspace: Workspace, on_terminal: Resolve, columns: int
) -> None:
    folder = "skills/" + "-".join(["long"] * 30)
    workspace.skill("two", folder=folder, extra="capabilities: [two, three]")
    seen = on_terminal("-r", "two", "-r", "x", "-r", "y", columns=columns)
    assert f"   {folder}" in seen.lines
    assert all(len(line) <= columns for line in seen.lines if folder not in line)
    text = " ".join(seen.out.split())
    assert "why not: covers 1 of 3, 0.33 is below min-required-coverage 0.60" in text


def test_a_table_in_a_pipe_has_the_same_reasons(workspace: Workspace, resolve: Resolve) -> None:
    workspace.skill("prosy", "Draws a bar chart. Use it for a bar chart.")
    row = resolve("-r", "bar-chart").lines[-1].split("\t")
    assert (row[0], len(row)) == ("prosy::skills/prosy", 9)
    assert row[-1] == "S_contract 0.25 is below min-contract-score 0.30"


def test_history_penalties_and_the_figures_of_cover_are_shown(
    workspace: Workspace, on_terminal: Resolve
) -> None:
    workspace.skill("best", extra=contract("DCI/1 P(one,Not_A_Name)"))
    for _ in range(5):
        looked_at(workspace.root)
        run(["history", "record", "best", "failure", "--root", str(workspace.root), "-q"])
    seen = on_terminal("-r", "one", "-r", "two", "--policy", "selection-mode=cover")
    assert "   penalties 0.02: invalid token 0.02" in seen.lines
    assert any(re.match(r"   history: times 0\.\d\d after 5 outcomes", one) for one in seen.lines)
    assert any(one.startswith("   of what it covers: S_contract 1.00, ") for one in seen.lines)


def test_figures_that_look_alike_get_more_digits(workspace: Workspace, resolve: Resolve) -> None:
    provider(workspace, "best", "one")
    limit = ("--policy", "min-contract-score=0.334")
    assert (
        "S_contract 0.333 is below min-contract-score 0.334"
        in resolve("-r", "one", "-r", "two", "-r", "three", *limit).out
    )


def test_a_limit_that_a_provider_sets_itself_is_told_as_its_own(
    workspace: Workspace, resolve: Resolve
) -> None:
    workspace.skill("proud", extra=contract("DCI/1 P(one) Pol(min-total-score=0.99)"))
    assert "is below the min-total-score 0.99 that it sets itself" in resolve("-r", "one").out


def test_a_rank_that_a_provider_asks_for_is_told_with_its_figure(
    workspace: Workspace, resolve: Resolve
) -> None:
    provider(workspace, "best", "one", words="one one")
    workspace.skill("proud", extra=contract("DCI/1 P(one,two) Pol(max-candidates=1)"))
    assert "ranks below the max-candidates 1 that it sets itself" in resolve("-r", "one").out


def test_who_is_cut_is_told_the_limit(workspace: Workspace, resolve: Resolve) -> None:
    provider(workspace, "best", "one", words="one one")
    provider(workspace, "next", "one", words="more words")
    made = resolve("-r", "one", "--policy", "max-candidates=1")
    assert "ranks below the 1 that max-candidates keeps" in made.out


def test_a_table_in_a_pipe_has_the_history_factor(workspace: Workspace, resolve: Resolve) -> None:
    provider(workspace, "tried", "one")
    provider(workspace, "new", "one", words="more words")
    looked_at(workspace.root)
    run(["history", "record", "tried", "failure", "--root", str(workspace.root), "-q"])
    heading, *rows = [line.split("\t") for line in resolve("-r", "one").lines[-3:]]
    at = heading.index("history")
    assert {row[0].partition("::")[0]: row[at] for row in rows} == {"tried": "0.70", "new": ""}


def test_an_optional_match_names_its_kind(workspace: Workspace, resolve: Resolve) -> None:
    workspace.skill("asker", extra=contract("DCI/1 R(one) O(web-search,bar-chart)"))
    provider(workspace, "a", "one")
    workspace.skill("fetch", "Web searching. Use it.", extra="capabilities: [web-searching]")
    made = resolve("--for", "asker", "--policy", "min-total-score=0.2")
    assert "web-search (optional): fetch (fuzzy: web-searching)" in made.lines
    assert "bar-chart (optional): not provided" in made.lines


def test_a_name_with_a_line_end_forges_no_line(workspace: Workspace, on_terminal: Resolve) -> None:
    name = '"evil\\none: trusted (exact)"'
    workspace.skill(name, folder="skills/evil", extra="capabilities: [one]")
    seen = on_terminal("-r", "one")
    assert "one: trusted (exact)" not in seen.lines
    assert seen.lines[0] == "one: evil one: trusted (exact) (exact)"


def test_a_terminal_shows_the_best_and_counts_the_others(
    workspace: Workspace, on_terminal: Resolve, resolve: Resolve
) -> None:
    for number in range(30):
        provider(workspace, f"s{number}", "one")
    workspace.skill("stranger", "Sings. Use it to sing.")
    seen = on_terminal("-r", "one")
    shown = sum(1 for line in seen.lines if line.startswith("   skills/"))
    counts = [int(one) for one in re.findall(r"^(\d+) other candidate", seen.err, re.MULTILINE)]
    assert (shown, shown + sum(counts)) == (20, 31)
    everyone = on_terminal("-r", "one", "--full-report")
    assert sum(1 for line in everyone.lines if line.startswith("   skills/")) == 31


# The answer for each capability


def test_a_fuzzy_answer_names_what_matched(workspace: Workspace, resolve: Resolve) -> None:
    provider(workspace, "web-cache", "web-searching")
    assert resolve("-r", "web-search").lines[0] == "web-search: web-cache (fuzzy: web-searching)"


def test_who_does_it_and_was_not_chosen_is_named_with_what_helps(
    workspace: Workspace, resolve: Resolve
) -> None:
    provider(workspace, "big", "one", "two")
    provider(workspace, "small", "three", "two")
    asked = ("-r", "one", "-r", "two", "-r", "three")
    single = resolve(*asked)
    answers = " ".join(single.lines[:3])
    assert "does, but was not chosen: try --policy selection-mode=cover" in answers
    cover = resolve(*asked, "--policy", "selection-mode=cover", "--policy", "max-providers=1")
    assert "not chosen: try --policy max-providers=2" in " ".join(cover.lines[:3])
    assert "not chosen: max-providers 1 is reached" in cover.out


def test_who_would_and_does_not_pass_is_named_with_the_gate(
    workspace: Workspace, resolve: Resolve
) -> None:
    provider(workspace, "best", "one")
    high = resolve("-r", "one", "--policy", "min-total-score=1")
    too_weak = (
        r"one: no skill qualifies: best matches too weakly \(S_total_final 0\.\d+ is below min"
    )
    assert re.match(too_weak, high.lines[0])
    half = resolve("-r", "one", "-r", "nowhere")
    assert half.lines[0].endswith("min-required-coverage 0.60: try --policy selection-mode=cover)")
    assert half.lines[1] == "nowhere: no skill provides it"


def test_each_that_would_is_named_with_its_own_reason(
    workspace: Workspace, resolve: Resolve
) -> None:
    for name in ("half-a", "half-b"):
        workspace.skill(name, "Does one.", extra=contract("DCI/1 P(one)"))
    workspace.skill("lacking", "Does one, two.", extra=contract("DCI/1 P(one,two) R(nowhere)"))
    found = resolve("-r", "one", "-r", "two", "--mode", "strict").lines[0]
    first, second = sorted(found.removeprefix("one: no skill qualifies: ").split("; "))
    assert re.match(r"half-\w and 1 other provide too little \(.* is below min-req", first)
    assert second.startswith("lacking is rejected (dependency-unresolved")


def test_what_is_no_name_is_told_so(workspace: Workspace, resolve: Resolve) -> None:
    provider(workspace, "best", "one")
    told = resolve("-r", "Not Valid").lines[0]
    assert told.startswith("Not Valid: this is not a capability name")
    assert told.endswith("; did you mean 'not-valid'?")


def test_a_degraded_run_says_so(workspace: Workspace, resolve: Resolve) -> None:
    run_ = resolve("-r", "one", "--policy", "on-missing-required=auto-emulate")
    assert (run_.code, "degraded mode: emulates one" in run_.lines) == (0, True)
    partial = resolve("-r", "one", "--decision", "continue-with-partial")
    assert "degraded mode: continues without one" in partial.lines


# Dependencies


def test_what_the_chosen_require_is_shown_as_a_tree(
    workspace: Workspace, on_terminal: Resolve
) -> None:
    workspace.skill("top", extra=contract("DCI/1 P(one) R(mid)"))
    workspace.skill("mid", extra=contract("DCI/1 P(mid) R(low)"))
    workspace.skill("low", extra=contract("DCI/1 P(low) R(one,unobtainium)"))
    seen = on_terminal("-r", "one", "--no-divergence", "--depth", "4")
    tree = seen.lines[seen.lines.index("top requires mid") :]
    assert tree[1:5] == [
        "├ mid ← mid",
        "└ mid requires low",
        "  ├ low ← low",
        "  └ low requires one, unobtainium",
    ]
    assert "    ├ unobtainium is open" in [one.replace("└", "├") for one in tree]
    assert "warning: 'top' is selected, but what it requires is unresolved: " in seen.err
    short = on_terminal("-r", "one", "--no-divergence", "--depth", "1")
    assert "  └ not followed any further (--depth)" in short.lines


def test_a_circle_is_named(workspace: Workspace, resolve: Resolve) -> None:
    workspace.skill("hen", extra=contract("DCI/1 P(hen) R(egg)"))
    workspace.skill("egg", extra=contract("DCI/1 P(egg) R(hen)"))
    assert "cycle: hen → egg → hen" in resolve("-r", "hen", "--no-divergence").err


# Hints and warnings


def test_prose_is_offered_only_where_it_helps(workspace: Workspace, resolve: Resolve) -> None:
    workspace.skill("prosy", "Draws a bar chart. Use it for a bar chart.")
    assert "hint: --policy prose lets skills pass" in resolve("-r", "bar-chart").err
    strict = resolve("-r", "bar-chart", "--mode", "strict")
    assert "strict takes only exact and alias matches" in strict.lines[0]
    assert "hint: strict needs contracts: let 'prosy' declare bar-chart" in strict.err
    assert "lets skills pass" not in strict.err
    high = ("--policy", "prose", "--policy", "min-total-score=0.9")
    assert "--policy prose" not in resolve("-r", "bar-chart", *high).err


@pytest.fixture
def boaster(workspace: Workspace) -> Workspace:
    provider(workspace, "honest", "one")
    workspace.skill("boaster", "Sings. Use it to sing.", extra="capabilities: [one]")
    return workspace


def test_the_probe_hint_has_figures_and_says_what_is_configured(
    boaster: Workspace, resolve: Resolve
) -> None:
    flagged = "hint: 'boaster' claims more than it describes (delta 1.00 is above 0.35); "
    without = resolve("-r", "one").err
    assert f"{flagged}no probe of one is configured that could clear it" in without
    assert "'honest'" not in without
    boaster.write("metier.toml", '[probes.one]\nargv = ["false"]\n')
    assert f"{flagged}the probe of one could clear it" in resolve("-r", "one").err
    strict = resolve("-r", "one", "--mode", "strict")
    assert "probe-failed: one, exit code 1" in strict.out
    assert "could clear it" not in strict.err


def test_a_slip_of_the_pen_is_told(workspace: Workspace, resolve: Resolve) -> None:
    provider(workspace, "best", "summarization")
    like = resolve("-r", "sumarisatin")
    weak = (
        "sumarisatin: no skill qualifies: best (fuzzy: summarization) matches too weakly (S_total"
    )
    assert like.lines[0].startswith(weak)
    assert "hint: 'sumarisatin': did you mean 'summarization'?" in like.err
    seen = resolve("-r", "sumarization-now")
    assert "hint: 'sumarization-now': did you mean 'summarization'?" in seen.err


@pytest.mark.parametrize(
    ("required", "declared"),
    [("pdf-extraction", "cgd-generation"), ("image-generation", "code-generation")],
)
def test_a_capability_that_shares_only_an_ending_is_not_suggested(
    workspace: Workspace, resolve: Resolve, required: str, declared: str
) -> None:
    provider(workspace, "best", declared)
    assert "did you mean" not in resolve("-r", required).err


def test_nothing_like_it_is_told_and_everybody_is_counted(
    workspace: Workspace, resolve: Resolve
) -> None:
    provider(workspace, "best", "summarization")
    seen = resolve("-r", "zebra")
    assert seen.lines[0] == "zebra: no skill provides it"
    assert "did you mean" not in seen.err
    assert "hint: no skill has these words or names" in seen.err
    assert "1 other candidate: below min-contract-score 0.30" in seen.err


def test_a_workspace_without_skills_says_what_to_do(resolve: Resolve) -> None:
    assert (
        "hint: there are no skills here: metier list skills, or metier init"
        in resolve("-r", "one").err
    )


def test_a_skill_that_requires_nothing_is_told_so(workspace: Workspace, resolve: Resolve) -> None:
    workspace.skill("plain")
    seen = resolve("--for", "plain")
    assert (seen.code, "error: 'plain' requires nothing (USAGE)" in seen.err) == (2, True)
    assert "--for SKILL" not in seen.err


# Runs that wait


def test_a_run_that_waits_says_how_to_go_on(workspace: Workspace, resolve: Resolve) -> None:
    seen = resolve("-r", "one", "--json")
    run_id = json.loads(seen.out)["run_id"]
    way = (
        f"to continue: metier resolve --continue {run_id} --decision emulate|continue-with-partial"
    )
    assert (seen.code, way in seen.err) == (3, True)
    done = resolve("--continue", run_id, "--decision", "emulate")
    assert (done.code, done.out) == (0, "emulated: one; selected: nothing\n")
    (workspace.state / "reports" / f"{run_id}.json").unlink()
    (workspace.state / "reports").rmdir()
    (workspace.state / "reports").write_text("in the way")
    lost = resolve("-r", "one")
    assert "to continue: the same command with --decision emulate|" in lost.err
    assert "metier reports show" not in lost.err


@pytest.mark.parametrize(
    ("typed", "code", "outcome"),
    [("emulate\n", 0, "emulated"), ("abort\n", 1, "aborted"), ("\x04", 3, "pending-decision"),
     ("\x03", 3, "pending-decision")],
    ids=["emulate", "abort", "Ctrl-D", "Ctrl-C"],
)  # fmt: skip
def test_the_question_comes_after_the_answer_and_may_stay_open(
    workspace: Workspace, typed: str, code: int, outcome: str
) -> None:
    provider(workspace, "half", "one")
    seen, screen = typed_at_terminal(workspace.root, typed, "--ask", "-r", "one", "-r", "two")
    assert seen == code
    assert screen.index("half") < screen.index("What now?")
    (file,) = (workspace.state / "reports").iterdir()
    report: dict[str, Any] = json.loads(file.read_text())
    assert report["on_missing_required_action"]["outcome"] == outcome
    assert (f"--continue {file.stem} --decision" in screen) == (code == 3)


def test_without_ask_nobody_is_asked_on_a_terminal_either(workspace: Workspace) -> None:
    provider(workspace, "half", "one")
    seen, screen = typed_at_terminal(workspace.root, "emulate\n", "-r", "one", "-r", "two")
    assert (seen, "What now?" in screen) == (3, False)
    (file,) = (workspace.state / "reports").iterdir()
    report: dict[str, Any] = json.loads(file.read_text())
    assert report["on_missing_required_action"]["outcome"] == "pending-decision"
    assert f"--continue {file.stem} --decision" in screen


def test_ask_without_a_terminal_says_so_and_waits(workspace: Workspace, resolve: Resolve) -> None:
    provider(workspace, "half", "one")
    seen = resolve("--ask", "-r", "one", "-r", "two")
    assert seen.code == 3
    assert "note: --ask needs a terminal" in seen.err


def test_a_probe_is_offered_with_ask_only(workspace: Workspace, resolve: Resolve) -> None:
    liar = "metadata:\n  contract: 'DCI/1 P(web-search)'"
    workspace.skill("liar", "Plain. Use it.", extra=liar)
    workspace.skill("web-search", "A web search. Use it.", extra="capabilities: [web-search]")
    workspace.write("metier.toml", "[probes.web-search]\nargv = ['true']\n")
    seen = resolve("-r", "web-search")
    assert "the probe of web-search could clear it: --ask offers it" in seen.err


def typed_at_terminal(root: Path, typed: str, *arguments: str) -> tuple[int, str]:
    """The exit code and the screen of a run on a terminal where this is typed when it asks."""
    keyboard, screen = os.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "metier", "resolve", *arguments],
        cwd=root,
        stdin=screen,
        stdout=screen,
        stderr=screen,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(screen)
    seen = b""
    silences = 0
    try:
        while silences < 60:
            if select.select([keyboard], [], [], 1.0)[0]:
                seen += os.read(keyboard, 65536)
                is_asked = seen.endswith(b"abort): ")
            else:
                silences += 1
                is_asked = b"abort): " in seen  # a key pressed too early may be lost: once more
            if is_asked:
                os.write(keyboard, typed.encode())
    except OSError:
        pass
    finally:
        os.close(keyboard)
        if silences == 60:
            process.kill()
    return process.wait(timeout=300), click.unstyle(seen.decode())


@pytest.mark.parametrize("mode", ["best-effort", "strict"])
def test_a_cover_that_falls_short_says_at_the_top_that_nothing_is_selected(
    mode: str, workspace: Workspace, resolve: Resolve
) -> None:
    provider(workspace, "web1", "web-search")
    asked = ("-r", "web-search", "-r", "sql-query", "--policy", "selection-mode=cover")
    seen = resolve(*asked, "--mode", mode)
    assert seen.code == {"best-effort": 3, "strict": 1}[mode]
    assert seen.lines[0] == "web-search: web1 (exact) provides it, but nothing is selected"
    if mode == "best-effort":
        decided = resolve(*asked, "--decision", "continue-with-partial")
        assert decided.lines[0] == "web-search: web1 (exact)"
