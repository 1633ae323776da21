"""`metier eval`: figures, bars, comparisons, formats, and what was measured before."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli.eval_shop import PDF, committed, data, evaluate, filled
from cli.printed import Finished, run_here
from cli.run_workspace import follows
from cli.terminals import at_terminal
from conftest import Workspace
from metier.evals.bars import BARS

pytestmark = pytest.mark.slow

EVIL = "<script>alert('x')</script> | `rm` ]]> & \x1b[31m \ufffe \u202e \"q\""


@pytest.fixture
def shop(workspace: Workspace) -> Workspace:
    """A trusted workspace with three skills, and cases for one of them."""
    return filled(workspace)


def rows(done: Finished, kind: str) -> list[list[str]]:
    lines = (line.split("\t") for line in done.stdout.splitlines())
    return [line[1:] for line in lines if line[0] == kind]


def test_figures_skills_and_failed_cases_are_rows_in_a_pipe(shop: Workspace) -> None:
    done = evaluate(shop)
    assert done.returncode == 0
    figures = {row[0]: row[1:] for row in rows(done, "figure")}
    assert figures["recall"][0] == "0.5000"
    assert figures["recall"][-2:] == ["1", "2"]
    assert figures["falseFires"][-2:] == ["0", "1"]
    assert "agents" not in figures
    assert rows(done, "skill") == [["papers", "1 of 2", "0 of 1", "2 of 2"]]
    ((place, task, why),) = rows(done, "failed")
    assert (place, task) == ("skills/papers/evals/trigger-eval.json#3", "bake a cake")
    assert why.startswith("'papers' is not named: ")
    assert "not what a model does" in done.stderr


def test_json_follows_its_schema(shop: Workspace) -> None:
    shop.write("evals/bad.json", '[{"task": "", "nothing": true}, {"task": "x", "skills": ["no"]}]')
    found = data(shop, "--against-setting", "skillThreshold=0", "--min-recall", "0.9")
    follows("eval", found)
    assert found["passed"] is False
    assert found["bars"] == [{"bar": "minRecall", "figure": "recall", "limit": 0.9, "value": 0.5}]
    assert found["comparison"]["against"] == "skillThreshold=0"
    assert (found["cases"], found["scored"], len(found["problems"])) == (4, 3, 1)


# Bars


def test_a_missed_bar_fails_the_build(shop: Workspace) -> None:
    done = evaluate(shop, "--min-recall", "0.8", "--max-false-fires", "0")
    assert done.returncode == 1
    assert "failed: recall is 50.0%, below minRecall = 0.8\n" in done.stderr
    assert "falseFires" not in done.stderr


def test_a_bar_that_is_reached_passes(shop: Workspace) -> None:
    assert evaluate(shop, "--min-recall", "0.5", "--max-silent", "0.5").returncode == 0


def test_bars_of_the_settings_count_and_flags_win(shop: Workspace) -> None:
    shop.write("metier.toml", "[eval]\nminRecall = 0.8\n")
    done = evaluate(shop)
    assert (done.returncode, "below minRecall = 0.8" in done.stderr) == (1, True)
    assert evaluate(shop, "--min-recall", "0.1").returncode == 0


def test_every_bar_of_the_settings_is_checked(workspace: Workspace) -> None:
    workspace.skill("sql", "Writes database queries in SQL.")
    workspace.write("evals/a.json", '[{"task": "bake a cake", "agents": ["standard"]}]')
    limits = {name: number / 10 for number, name in enumerate(BARS)}
    lines = "".join(f"{name} = {limit}\n" for name, limit in limits.items())
    workspace.write("metier.toml", f"[eval]\n{lines}")
    found = data(workspace)  # no case is about a skill, so none of them is reached
    assert {bar["bar"]: bar["limit"] for bar in found["bars"]} == limits


def test_bars_of_an_untrusted_workspace_count_too(workspace: Workspace) -> None:
    workspace.skill("sql", "Writes database queries in SQL.")
    workspace.write("evals/a.json", '[{"task": "bake a cake", "skills": ["sql"]}]')
    workspace.write("metier.toml", "[eval]\nmaxSilent = 0\n")
    done = evaluate(workspace)
    assert (done.returncode, "above maxSilent = 0" in done.stderr) == (1, True)


@pytest.mark.parametrize("bad", ["minRecall = 2", "minRecall = 'x'", "minRecal = 0.5"])
def test_a_wrong_bar_in_the_settings_is_said(shop: Workspace, bad: str) -> None:
    shop.write("metier.toml", f"[eval]\n{bad}\n")
    done = evaluate(shop)
    assert done.returncode == 2
    assert "eval.minRecal" in done.stderr


def test_a_bar_without_cases_fails(shop: Workspace) -> None:
    done = evaluate(shop, "--max-speaks-wrongly", "0.1")
    assert done.returncode == 1
    assert "speaks wrongly has no cases, and maxSpeaksWrongly is 0.1" in done.stderr


# What cannot be evaluated


def test_a_bad_file_and_a_bad_case_are_said_and_fail_the_build(shop: Workspace) -> None:
    shop.write("evals/a.json", "[{")
    shop.write("evals/b.json", '[{"task": "x", "skills": 7}, {"task": "y", "nothing": true}]')
    done = evaluate(shop)
    assert done.returncode == 1
    assert re.search(r"^error: evals/a\.json: not valid JSON: .*$", done.stderr, re.M)
    assert "error: evals/b.json#1: skills is not a name or a list of names\n" in done.stderr
    assert len(rows(done, "figure")) == 7


def test_an_unknown_skill_is_said_once_and_fails_the_build(shop: Workspace) -> None:
    shop.write("evals/a.json", json.dumps([{"task": one, "skills": ["sqll"]} for one in "xy"]))
    done = evaluate(shop)
    assert done.returncode == 1
    line = "error: evals/a.json#1: 'sqll': skill not in the catalog; did you mean 'sql'?"
    assert f"{line} (and 1 more)\n" in done.stderr
    assert "3 cases scored in 2 files; 2 cases not scored" in done.stderr


def test_quiet_keeps_what_is_wrong_with_cases_and_counts_all_of_them(shop: Workspace) -> None:
    cases = [{"task": "x", "skills": 7}, {"task": "y", "skills": ["sqll"]}]
    shop.write("evals/a.json", json.dumps(cases))
    done = evaluate(shop, "-q")
    bad, unknown = done.stderr.splitlines()
    assert bad == "error: evals/a.json#1: skills is not a name or a list of names"
    assert unknown.startswith("error: evals/a.json#2: 'sqll': skill not in the catalog")
    assert done.returncode == 1
    assert "3 cases scored in 2 files; 2 cases not scored" in evaluate(shop).stderr


def test_no_cases_fail_the_build(workspace: Workspace) -> None:
    done = evaluate(workspace)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no evaluation cases found" in done.stderr


def test_cases_that_teach_are_counted(shop: Workspace) -> None:
    shop.write("evals/a.yaml", "cases:\n- {task: x, skills: [sql], training: true}\n")
    done = evaluate(shop)
    assert done.returncode == 0
    assert "1 training case not scored\n" in done.stderr


def test_outside_of_a_workspace_files_must_be_named(
    tmp_path: Path,
    no_mark_above: None,
) -> None:
    done = run_here(tmp_path, "eval")
    assert done.returncode == 2
    assert "name the files" in done.stderr


def test_two_formats_are_wrong_usage(shop: Workspace) -> None:
    assert evaluate(shop, "--json", "--format", "html").returncode == 2


# Files and commands


def test_files_and_options_go_in_any_order(shop: Workspace) -> None:
    shop.write("other/cases.yaml", f"cases:\n- task: {PDF}\n  skills: [papers]\n")
    for arguments in (
        ("other/cases.yaml", "--min-recall", "0.9"),
        ("--min-recall", "0.9", "other/cases.yaml"),
        ("--limit", "3", "other", "other/cases.yaml"),
    ):
        done = evaluate(shop, *arguments)
        assert (done.returncode, rows(done, "failed")) == (0, []), done.stderr


def test_a_file_that_is_called_like_a_command_can_be_given(shop: Workspace) -> None:
    shop.write("history", json.dumps([{"task": PDF, "skills": ["papers"]}]))
    assert data(shop, "./history")["files"] == ["history"]


def test_a_host_limits_what_is_asked(shop: Workspace) -> None:
    shop.skill("claude", "Reviews contracts.", folder=".claude/skills/claude")
    shop.write("evals/a.json", '[{"task": "review the contracts", "skills": ["claude"]}]')
    assert data(shop, "evals/a.json", "--host", "claude-code")["figures"]["recall"]["value"] == 1
    assert data(shop, "evals/a.json", "--host", "gemini")["figures"]["recall"]["value"] == 0


# Comparisons


def test_another_setting_is_compared_on_the_same_cases(shop: Workspace) -> None:
    done = evaluate(shop, "--against-setting", "skillThreshold=1000")
    changes = {row[0]: row[1:] for row in rows(done, "change")}
    assert changes["recall"][:3] == ["0.0000", "0.5000", "0.5000"]
    assert changes["hit1"][2] == "0.0000"
    assert [row[1] for row in rows(done, "better")] == [PDF]


def test_a_case_that_teaches_is_not_compared_since_it_is_not_scored(shop: Workspace) -> None:
    case = {"task": PDF, "skills": ["papers"], "training": True}
    shop.write("one/cases.json", json.dumps([case, {"task": "draw", "skills": ["charts"]}]))
    done = evaluate(shop, "one/cases.json", "--against-setting", "skillThreshold=1000")
    assert "1 case not compared: not scored here or in skillThreshold=1000\n" in done.stderr


@pytest.mark.parametrize("bad", ["skillThreshold", "nothing=1", "skillThreshold=x", "=1"])
def test_a_wrong_setting_to_compare_with_is_said(shop: Workspace, bad: str) -> None:
    done = evaluate(shop, "--against-setting", bad)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_another_folder_is_compared(shop: Workspace, tmp_path: Path) -> None:
    other = Workspace(tmp_path / "other")
    other.skill("papers", "Does something else.")
    other.skill("charts", "Draws charts of numbers.")
    done = evaluate(shop, "--against", str(other.root))
    assert [row[1] for row in rows(done, "better")] == [PDF]


@pytest.fixture
def repository(shop: Workspace) -> Workspace:
    """The shop with a commit in which a description was worse."""
    return committed(shop)


def test_a_commit_is_compared_and_the_files_stay_as_they_are(repository: Workspace) -> None:
    done = evaluate(repository, "--against", "HEAD")
    assert done.returncode == 0, done.stderr
    assert [row[1] for row in rows(done, "better")] == [PDF]
    assert rows(done, "worse") == []
    assert "Extracts" in (repository.root / "skills/papers/SKILL.md").read_text()


def test_what_is_no_commit_is_said(repository: Workspace) -> None:
    done = evaluate(repository, "--against", "nowhere")
    assert done.returncode == 2
    assert "'nowhere' is neither a folder nor a commit here" in done.stderr


def test_git_is_not_run_in_an_untrusted_workspace(workspace: Workspace) -> None:
    workspace.skill("sql", "Writes database queries in SQL.")
    workspace.write("evals/a.json", '[{"task": "write a query", "skills": ["sql"]}]')
    done = evaluate(workspace, "--against", "HEAD")
    assert done.returncode == 3
    assert "needs trust" in done.stderr


# Formats


@pytest.fixture
def evil(shop: Workspace) -> Workspace:
    """With a case whose task and name could break a format."""
    shop.write(
        "evals/evil.json",
        json.dumps([{"task": EVIL, "skills": ["sql"]}, {"task": "x", "skills": [EVIL]}]),
    )
    return shop


def test_junit_is_well_formed_and_has_a_test_for_each_case(evil: Workspace) -> None:
    done = evaluate(evil, "--format", "junit", "--min-recall", "1")
    tree = ElementTree.fromstring(done.stdout)
    assert tree.tag == "testsuites"
    suites = {suite.get("name"): suite for suite in tree}
    own = suites["skills/papers/evals/trigger-eval.json"]
    assert (own.get("tests"), own.get("failures")) == ("3", "1")
    assert [len(test) for test in own] == [0, 0, 1]
    assert len(suites["evals/evil.json"].findall(".//failure")) == 2
    assert suites["bars"][0].get("name") == "minRecall"
    assert done.returncode == 1


class Tags(HTMLParser):
    """Notes the tags of a page, and checks that they are closed."""

    VOID = ("meta", "!doctype")

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") for name, _ in attrs)
        self.seen.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_one_page_without_scripts_and_all_is_escaped(evil: Workspace) -> None:
    page = evaluate(evil, "--format", "html").stdout
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert set(tags.seen).isdisjoint({"script", "link", "img", "iframe", "a"})
    assert "&lt;script&gt;" in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "src=" not in page


def test_markdown_has_no_html_and_no_broken_tables(evil: Workspace) -> None:
    page = evaluate(evil, "--format", "markdown").stdout
    assert re.search(r"(?<!\\)<", page) is None
    for line in page.splitlines():
        if line.startswith("| "):
            assert len(re.findall(r"(?<!\\)\|", line)) in (4, 5, 7)
    assert "| recall |" in page
    assert "## Failed cases" in page


def test_a_comparison_is_in_every_format(shop: Workspace) -> None:
    for form in ("junit", "markdown", "html"):
        done = evaluate(shop, "--format", form, "--against-setting", "skillThreshold=1000")
        assert done.returncode == 0
        assert form == "junit" or "skillThreshold" in done.stdout


def test_a_terminal_shows_tables(evil: Workspace) -> None:
    seen = at_terminal(evil, "eval", "--against-setting", "skillThreshold=1000", columns=100)
    text = "\n".join(seen.plain)
    assert seen.code == 1
    assert re.search(r"^recall +33\.3% +\S+ to \S+ +1 of 3$", text, re.M)
    assert re.search(r"^speaks wrongly +- +no cases$", text, re.M)
    assert "against skillThreshold=1000" in text
    assert "2 failed" in text
    tables = seen.plain[seen.plain.index("") :]
    assert max(len(line) for line in tables if not line.startswith("error: ")) <= 100
    assert "\x1b[31m \\" not in seen.screen


def test_quiet_prints_data_only(shop: Workspace) -> None:
    done = evaluate(shop, "-q", "--min-recall", "1")
    assert (done.returncode, done.stderr) == (1, "")


# History


def test_what_was_measured_is_remembered_without_tasks(shop: Workspace) -> None:
    evaluate(shop)
    evaluate(shop, "--against-setting", "skillThreshold=0")
    shop.write("evals/a.json", '[{"task": "write SQL queries", "skills": ["sql"]}]')
    evaluate(shop)
    done = evaluate(shop, "history")
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert [line[3] for line in lines] == ["3", "3", "4*"]
    assert [line[5] for line in lines] == ["50.0%", "50.0%", "66.7%"]
    assert PDF not in (shop.state / "evals.json").read_text()


def test_the_history_follows_its_schema_and_is_limited(shop: Workspace) -> None:
    for _ in range(3):
        evaluate(shop)
    found = data(shop, "history", "--limit", "2")
    follows("eval-history", found)
    assert len(found) == 2
    assert json.loads(evaluate(shop, "--json", "history").stdout)[1:] == found


def test_the_commit_is_remembered(repository: Workspace) -> None:
    evaluate(repository)
    (one,) = data(repository, "history")
    assert re.fullmatch("[0-9a-f]{40}", one["commit"])


def test_without_evaluations_the_history_says_so(workspace: Workspace) -> None:
    done = evaluate(workspace, "history")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no evaluation is stored" in done.stderr


def test_a_place_for_state_that_cannot_be_written_is_a_warning(shop: Workspace) -> None:
    evaluate(shop)
    (shop.state / "evals.json").unlink()
    (shop.state / "evals.json").mkdir()
    done = evaluate(shop)
    assert done.returncode == 0
    assert "warning: the result is not stored" in done.stderr
