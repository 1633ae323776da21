"""What a host shows the model, from folders and settings of hosts that the tests build."""

import json
import time
from pathlib import Path

import pytest

from conftest import Workspace
from listing.generated_skills import generated, write
from metier.catalog import Catalog
from metier.errors import UsageError
from metier.flow.host_skills import Verdict
from metier.flow.listing import HostListing
from metier.flow.listing_plan import greedy_plan, needed_fraction, out_of_reach
from metier.listing.rules import RULES, Skill, listing_of


def opened(workspace: Workspace) -> Catalog:
    catalog = Catalog.open(workspace.root)
    catalog.refresh()
    return catalog


def listing(workspace: Workspace, host: str, context: int | None = None) -> HostListing:
    with opened(workspace) as catalog:
        return catalog.listing(host, context)


def states(found: HostListing) -> dict[str, str]:
    return {skill.path: skill.state for skill in found.skills}


def verdicts(workspace: Workspace, host: str) -> dict[str, Verdict]:
    with opened(workspace) as catalog:
        return {one.path: one for one in catalog.host_verdicts(host)}


def many(workspace: Workspace, home: Path, folder: str, count: int = 212) -> None:
    write(generated(count), workspace.root / folder, home / folder)


# The listing


def test_skills_beyond_the_budget_of_claude_code_keep_their_names_only(
    workspace: Workspace, empty_home: Path
) -> None:
    many(workspace, empty_home, ".claude/skills")
    found = listing(workspace, "claude-code")
    assert found.counts == {"whole": 0, "cut": 0, "no-text": 212, "invisible": 0}
    assert found.needed > 8_000 == found.listing.budget
    assert {skill.why for skill in found.skills} == {"the listing is over its budget"}


def test_codex_cuts_all_texts_to_about_one_length(workspace: Workspace, empty_home: Path) -> None:
    many(workspace, empty_home, ".agents/skills")
    found = listing(workspace, "codex")
    cut = [skill for skill in found.skills if skill.state == "cut"]
    assert len(cut) > 150
    assert all(0 < skill.shown < skill.length for skill in cut)
    assert found.listing.used <= 5_440 < found.needed
    assert (found.context, found.context_from) == (272_000, "default")


def test_a_larger_context_shows_more(workspace: Workspace, empty_home: Path) -> None:
    many(workspace, empty_home, ".claude/skills", 50)
    small, large = (listing(workspace, "claude-code", size) for size in (200_000, 1_000_000))
    assert len(large.lost) < len(small.lost)
    assert large.context_from == "given"


def test_the_context_of_codexs_settings_is_the_default(
    workspace: Workspace, empty_home: Path
) -> None:
    workspace.skill("bell", folder=".agents/skills/bell")
    (empty_home / ".codex").mkdir()
    (empty_home / ".codex/config.toml").write_text("model_context_window = 50000\n")
    found = listing(workspace, "codex")
    assert (found.context, found.context_from, found.listing.budget) == (50_000, "settings", 1_000)


def test_skills_that_claude_code_used_most_keep_their_text(
    workspace: Workspace, empty_home: Path
) -> None:
    for number in range(40):
        workspace.skill(f"s{number:02}", "x" * 400, folder=f".claude/skills/s{number:02}")
    now = time.time() * 1000
    used = {"s30": {"usageCount": 9, "lastUsedAt": now}, "s31": {"usageCount": 1, "lastUsedAt": 0}}
    (empty_home / ".claude.json").write_text(json.dumps({"skillUsage": used}))
    found = listing(workspace, "claude-code")
    assert found.has_counts
    assert {"s30", "s31"} <= {skill.name for skill in found.skills if skill.state == "whole"}
    (empty_home / ".claude.json").write_text("{ not JSON")
    assert not listing(workspace, "claude-code").has_counts


def test_the_budget_follows_claude_codes_settings(workspace: Workspace) -> None:
    workspace.skill("bell", folder=".claude/skills/bell")
    workspace.write(".claude/settings.json", '{"skillListingBudgetFraction": 0.05}')
    assert listing(workspace, "claude-code").listing.budget == 40_000
    workspace.write(".claude/settings.local.json", '{"skillListingBudgetFraction": 0.02}')
    assert listing(workspace, "claude-code").listing.budget == 16_000


@pytest.mark.parametrize("host", list(RULES))
def test_each_host_lists_a_skill_in_its_own_folder(host: str, workspace: Workspace) -> None:
    folder = ".claude/skills" if host in ("claude-code", "copilot") else ".agents/skills"
    workspace.skill("mend-kettle", "Mends a kettle.", folder=f"{folder}/mend-kettle")
    found = listing(workspace, host)
    assert states(found) == {f"{folder}/mend-kettle/SKILL.md": "whole"}
    assert "Mends a kettle." in found.listing.rendered()


def test_a_switch_takes_a_skill_out_of_the_listing(workspace: Workspace) -> None:
    off = "disable-model-invocation: true"
    workspace.skill("mine", folder=".claude/skills/mine", extra=off)
    found = listing(workspace, "claude-code")
    assert found.skills == []
    assert found.hidden == ((".claude/skills/mine/SKILL.md", "disable-model-invocation"),)
    assert found.lost == []


def test_an_exact_copy_that_metier_leaves_out_is_listed(
    workspace: Workspace, empty_home: Path
) -> None:
    for root in (workspace.root, empty_home):
        folder = root / ".agents/skills/bell"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text("---\nname: bell\ndescription: Rings.\n---\nRing.\n")
    assert len(listing(workspace, "codex").skills) == 2


def test_a_skill_that_is_linked_into_another_hosts_folder_is_listed_there(
    workspace: Workspace,
) -> None:
    workspace.skill("bell", folder=".claude/skills/bell")
    assert listing(workspace, "codex").skills == []
    (workspace.root / ".agents").mkdir()
    (workspace.root / ".agents/skills").symlink_to("../.claude/skills")
    assert [skill.state for skill in listing(workspace, "codex").skills] == ["whole"]
    assert [skill.state for skill in listing(workspace, "claude-code").skills] == ["whole"]


def test_a_host_without_a_known_rule_is_an_error(workspace: Workspace) -> None:
    with opened(workspace) as catalog:
        with pytest.raises(UsageError, match="not know what Cursor shows"):
            catalog.listing("cursor")
        with pytest.raises(UsageError, match="no host that loads skills is called 'nobody'"):
            catalog.listing("nobody")


# The plan


@pytest.mark.parametrize(
    ("host", "folder", "count"),
    [
        ("claude-code", ".claude/skills", 50),
        ("claude-code", ".claude/skills", 212),
        ("codex", ".agents/skills", 212),
        ("codex", ".agents/skills", 500),
        ("copilot", ".claude/skills", 212),
    ],
)
def test_all_fit_after_the_plan(
    host: str, folder: str, count: int, workspace: Workspace, empty_home: Path
) -> None:
    many(workspace, empty_home, folder, count)
    found = listing(workspace, host)
    plan = {edit.path: edit for edit in greedy_plan(found)}
    assert plan
    kept = {one.file: plan.get(one.path) for one in found.skills}
    after = [
        skill if (edit := kept.get(skill.path)) is None else _shortened(skill, edit.to)
        for skill in found.offered
        if (edit := kept.get(skill.path)) is None or edit.action == "shorten"
    ]
    listed = listing_of(host, after, found.context)
    assert [entry.name for entry in listed.lost if entry.skill.scope != "own"] == []


def test_a_plan_is_made_where_codex_leaves_most_skills_out(
    workspace: Workspace, empty_home: Path
) -> None:
    many(workspace, empty_home, ".agents/skills", 400)
    found = listing(workspace, "codex", 5_000)
    assert found.counts["invisible"] > 300
    off = [edit for edit in greedy_plan(found) if edit.action == "switch-off"]
    assert 300 < len(off) < len(found.skills)


@pytest.mark.parametrize("host", ["claude-code", "copilot"])
@pytest.mark.parametrize("long_ones", [0, 1, 3])
def test_a_plan_switches_off_no_more_than_must_be(
    long_ones: int, host: str, workspace: Workspace, empty_home: Path
) -> None:
    many(workspace, empty_home, ".claude/skills", 290)
    for number in range(long_ones):
        workspace.skill(f"long{number}", "x" * 2_000, folder=f".claude/skills/long{number}")
        workspace.skill("twin", f"Twin {number}", folder=f".claude/skills/twin{number}")
        workspace.skill(f"blank{number}", '""', folder=f".claude/skills/blank{number}")
    found = listing(workspace, host)
    off = {edit.path for edit in greedy_plan(found) if edit.action == "switch-off"}
    files = {one.file for one in found.skills if one.path in off}
    kept = [skill for skill in found.offered if skill.path not in files]
    after = listing_of(host, kept, found.context)
    assert off
    assert after.budget is not None
    assert after.needed > 0.9 * after.budget


def test_what_no_plan_helps_is_left_out_and_said_with_the_reason(
    workspace: Workspace, empty_home: Path
) -> None:
    many(workspace, empty_home, ".claude/skills", 212)
    workspace.skill("n" * 70, "x" * 50, folder=".claude/skills/long")
    for folder in (".agents/skills", ".claude/skills"):
        workspace.skill("bell", f"Rings in {folder}.", folder=f"{folder}/bell")
    found = listing(workspace, "copilot")
    left_out = {why: [one.name[:4] for one in some] for why, some in out_of_reach(found).items()}
    assert left_out == {
        "its name is longer than 64 characters": ["nnnn"],
        "another skill has its name": ["bell"],
    }
    planned = {edit.path for edit in greedy_plan(found)}
    assert not planned & {one.path for some in out_of_reach(found).values() for one in some}


def _shortened(skill: Skill, length: int) -> Skill:
    return skill._replace(description="y" * length, when_to_use="")


def test_there_is_no_plan_if_all_fit(workspace: Workspace) -> None:
    workspace.skill("bell", folder=".claude/skills/bell")
    found = listing(workspace, "claude-code")
    assert (greedy_plan(found), needed_fraction(found)) == ([], None)


def test_the_fraction_that_is_named_is_enough(workspace: Workspace, empty_home: Path) -> None:
    many(workspace, empty_home, ".claude/skills")
    fraction = needed_fraction(listing(workspace, "claude-code"))
    settings = json.dumps({"skillListingBudgetFraction": fraction})
    workspace.write(".claude/settings.json", settings)
    assert [one.why for one in listing(workspace, "claude-code").lost if one.state != "cut"] == []


def test_no_fraction_is_named_that_is_more_than_the_context(
    workspace: Workspace, empty_home: Path
) -> None:
    many(workspace, empty_home, ".claude/skills")
    assert needed_fraction(listing(workspace, "claude-code")) is not None
    assert needed_fraction(listing(workspace, "claude-code", context=2_000)) is None


# Each skill: `metier doctor --host`


def test_a_skill_one_level_too_deep_does_not_load_and_the_hint_says_where_to(
    workspace: Workspace,
) -> None:
    workspace.skill("deep", folder=".claude/skills/group/deep")
    [verdict] = verdicts(workspace, "claude-code").values()
    assert verdict.state == "does-not-load"
    assert "1 level too deep" in verdict.message
    assert verdict.hint == "move it to .claude/skills/deep/SKILL.md"


@pytest.mark.parametrize(
    ("host", "folder", "file", "text", "state", "message"),
    [
        (
            "claude-code", ".claude/skills/bell", ".claude/settings.json",
            '{"skillOverrides": {"bell": "off"}}', "off", "switched off by skillOverrides",
        ),
        (
            "claude-code", ".claude/skills/bell", ".claude/settings.local.json",
            '{"skillOverrides": {"bell": "user-invocable-only"}}', "never-shown", "skillOverrides",
        ),
        (
            "claude-code", ".claude/skills/bell", ".claude/settings.json",
            '{"skillOverrides": {"bell": "name-only"}}', "loads", "loads as bell",
        ),
        (
            "codex", ".agents/skills/bell", ".agents/skills/bell/agents/openai.yaml",
            "policy:\n  allow_implicit_invocation: false\n", "never-shown",
            "policy.allow_implicit_invocation",
        ),
        (
            "gemini", ".gemini/skills/bell", ".gemini/settings.json",
            '{"skills": {"disabled": ["bell"]}}', "off", "switched off by skills.disabled",
        ),
        (
            "opencode", ".agents/skills/bell", "opencode.json",
            '{"permission": {"skill": {"b*": "deny"}}}', "off", "permission.skill",
        ),
    ],
)  # fmt: skip
def test_switches_in_settings_are_read_as_data(
    workspace: Workspace, host: str, folder: str, file: str, text: str, state: str, message: str
) -> None:
    workspace.skill("bell", folder=folder)
    assert [one.state for one in verdicts(workspace, host).values()] == ["loads"]
    workspace.write(file, text)
    [verdict] = verdicts(workspace, host).values()
    assert verdict.state == state
    assert message in verdict.message


def test_a_plugin_that_is_switched_off_does_not_load(
    workspace: Workspace, empty_home: Path
) -> None:
    folder = empty_home / ".claude/plugins/cache/market/tools/1.0/skills/bell"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: bell\ndescription: Rings.\n---\nRing.\n")
    [verdict] = verdicts(workspace, "claude-code").values()
    assert verdict.message == "loads as tools:bell"
    assert [one.state for one in verdicts(workspace, "codex").values()] == ["elsewhere"]
    settings = empty_home / ".claude/settings.json"
    settings.write_text('{"enabledPlugins": {"tools@market": false}}')
    [verdict] = verdicts(workspace, "claude-code").values()
    assert (verdict.state, verdict.message) == ("off", "switched off by enabledPlugins")


def test_skills_of_one_name_are_loaded_twice_where_the_host_loads_both(
    workspace: Workspace,
) -> None:
    workspace.skill("bell", "Rings.", folder=".agents/skills/a")
    workspace.skill("bell", "Tolls.", folder=".agents/skills/b")
    assert {one.state for one in verdicts(workspace, "codex").values()} == {"twice"}
    found = {path: one.state for path, one in verdicts(workspace, "gemini").items()}
    assert sorted(found.values()) == ["never-shown", "twice"]


HEADLESS = "\nRings a bell.\nLoudly.\n"


@pytest.mark.parametrize(
    ("host", "state", "message"),
    [
        ("claude-code", "loads", "loads as bell"),
        ("copilot", "does-not-load", "drops a file without valid front matter"),
        ("opencode", "unknown", "not known: metier does not read this file: unparseable"),
        ("codex", "elsewhere", "Codex CLI does not read this folder"),
    ],
)
def test_a_file_without_front_matter_loads_in_some_hosts(
    host: str, state: str, message: str, workspace: Workspace
) -> None:
    workspace.write(".claude/skills/bell/SKILL.md", HEADLESS)
    [verdict] = verdicts(workspace, host).values()
    assert verdict.state == state
    assert message in verdict.message


def test_claude_code_sees_no_name_in_front_matter_that_it_cannot_parse(
    workspace: Workspace,
) -> None:
    workspace.write(".claude/skills/a/SKILL.md", "---\nname: bell\ndescription: *x*\n---\nR.\n")
    workspace.write(".claude/skills/b/SKILL.md", "---\nname: gong\ndescription: x\n---\nG.\n")
    shown = [one.name for one in listing(workspace, "claude-code").skills]
    assert shown == ["a", "b (gong)"]


def test_the_first_line_is_shown_of_a_file_without_front_matter(workspace: Workspace) -> None:
    workspace.write(".claude/skills/bell/SKILL.md", HEADLESS)
    workspace.write(".claude/skills/empty/SKILL.md", "")
    workspace.write(".claude/skills/gong/SKILL.md", "\ufeff# Gong\n\nRings.\n")
    workspace.write(".claude/skills/tag/SKILL.md", "\ufeff#tag\n")
    shown = {one.name: one.text for one in listing(workspace, "claude-code").skills}
    assert shown == {"bell": "Rings a bell.", "empty": "Skill", "gong": "Gong", "tag": "#tag"}


@pytest.mark.parametrize("host", ["claude-code", "copilot"])
def test_the_first_paragraph_is_listed_where_the_host_takes_it_for_the_description(
    host: str, workspace: Workspace
) -> None:
    folder = ".claude/skills/bell/SKILL.md"
    workspace.write(folder, "---\nname: bell\n---\n## Bell\n\nRings\nloudly.\n\nMore.\n")
    assert [(one.text, one.state) for one in listing(workspace, host).skills] == [
        ("Rings loudly.", "whole")
    ]


def test_a_file_with_a_misspelt_name_does_not_load_where_case_counts(workspace: Workspace) -> None:
    text = "---\nname: bell\ndescription: Rings.\n---\n"
    file = workspace.write(".claude/skills/bell/skill.md", text)
    if (file.parent / "SKILL.md").exists():
        pytest.skip("case does not count here")
    for host in ("claude-code", "copilot"):
        [verdict] = verdicts(workspace, host).values()
        assert verdict.state == "does-not-load"
        assert "the file is called skill.md" in verdict.message
    (file.parent / "SKILL.md").symlink_to("skill.md")  # what a host finds where it does not count
    assert {one.state for one in verdicts(workspace, "claude-code").values()} == {"loads"}


def test_what_metier_does_not_read_says_nothing_about_the_host(workspace: Workspace) -> None:
    text = "---\nname: bell\ndescription: Rings.\n---\n" + "x" * (1 << 20)
    workspace.write(".claude/skills/bell/SKILL.md", text)
    [verdict] = verdicts(workspace, "claude-code").values()
    assert (verdict.state, verdict.message) == (
        "unknown",
        "not known: metier does not read files of more than 1,048,576 bytes",
    )
    assert listing(workspace, "claude-code").not_loaded == 0


@pytest.mark.parametrize(
    ("value", "dropping"),
    [("*Rings*", {"codex", "copilot", "opencode"}), ("Rings: loud", {"copilot"}), ("Rings", set())],
)
def test_hosts_that_drop_front_matter_which_metier_repairs(
    value: str, dropping: set[str], workspace: Workspace
) -> None:
    for folder in (".claude/skills", ".agents/skills"):
        text = f"---\nname: bell\ndescription: {value}\n---\nIn {folder}.\n"
        workspace.write(f"{folder}/bell/SKILL.md", text)
    hosts = ("claude-code", "codex", "copilot", "gemini", "opencode")
    found = {host: {one.state for one in verdicts(workspace, host).values()} for host in hosts}
    assert {host for host in hosts if "does-not-load" in found[host]} == dropping


def test_a_skill_that_is_switched_off_is_kept_from_the_model_and_not_lost(
    workspace: Workspace,
) -> None:
    workspace.skill("bell", folder=".claude/skills/bell")
    workspace.write(".claude/settings.json", '{"skillOverrides": {"bell": "off"}}')
    found = listing(workspace, "claude-code")
    assert found.hidden == ((".claude/skills/bell/SKILL.md", "skillOverrides"),)
    assert (found.not_loaded, found.lost_count) == (0, 0)


def test_a_plan_leaves_skills_alone_that_shorter_texts_do_not_help(
    workspace: Workspace, empty_home: Path
) -> None:
    workspace.skill("n" * 70, "x" * 50, folder=".agents/skills/long")
    workspace.skill("bell", "Rings.", folder=".agents/skills/bell")
    found = listing(workspace, "codex")
    assert [one.why for one in found.lost] == ["its name is longer than 64 characters"]
    assert greedy_plan(found) == []
    many(workspace, empty_home, ".agents/skills", 212)
    assert "n" * 70 not in {edit.name for edit in greedy_plan(listing(workspace, "codex"))}
    assert greedy_plan(listing(workspace, "codex"))


def test_copilot_drops_a_long_description_and_the_plan_shortens_it(workspace: Workspace) -> None:
    workspace.skill("bell", "x" * 1030, folder=".github/skills/bell")
    found = listing(workspace, "copilot")
    assert [(one.state, one.why) for one in found.skills] == [
        ("invisible", "its text is longer than 1,024 characters")
    ]
    assert [(edit.action, edit.to) for edit in greedy_plan(found)] == [("shorten", 1024)]


def test_broken_settings_say_nothing(workspace: Workspace) -> None:
    workspace.skill("bell", folder=".claude/skills/bell")
    for text in ("[1, 2]", '{"skillOverrides": [1], "enabledPlugins": 7}', "\0", "{"):
        workspace.write(".claude/settings.json", text)
        assert [one.state for one in verdicts(workspace, "claude-code").values()] == ["loads"]
