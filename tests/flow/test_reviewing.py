"""Skills of sources that need a review: when they are used, and when they are held."""

import json
import os
import shutil
from pathlib import Path

import pytest

from flow.reviewed import Shop
from metier.config.review_record import ReviewRecord
from metier.discover import bundle
from metier.errors import NotFoundError
from metier.flow.reviewing import Reviewing
from metier.values.files import Found


@pytest.fixture
def shop(tmp_path: Path, empty_home: Path) -> Shop:
    return Shop(tmp_path / "shop", empty_home)


ACTIVE, CHANGED, HELD = ("active", "reviewed"), ("active", "changed"), ("excluded", "held")


# On first use


def test_a_new_skill_of_a_mount_is_accepted_and_recorded(shop: Shop) -> None:
    shop.team.skill("deploy")
    assert shop.standing("deploy") == ACTIVE
    review = shop.record().skills()[str(shop.team.root / "skills/deploy")]
    assert review is not None
    assert (review.name, review.by) == ("deploy", "first-use")


def test_the_workspaces_own_skills_need_no_review(shop: Shop) -> None:
    shop.own.skill("own")
    assert shop.standing("own") == ("active", "")
    assert not os.path.exists(shop.record().file)


def test_a_changed_skill_is_used_with_a_notice_until_it_is_reviewed(shop: Shop) -> None:
    shop.team.skill("deploy")
    shop.standing("deploy")
    shop.team.skill("deploy", body="Do it twice.")
    assert shop.standing("deploy") == CHANGED
    with shop.catalog() as catalog:
        [issue] = [one for one in catalog.issues() if one.code.startswith("RV")]
    assert issue.code == "RV102"
    assert issue.hint == "metier diff deploy, then metier trust --skill deploy"
    shop.accept("deploy")
    assert shop.standing("deploy") == ACTIVE


def test_which_says_that_a_skill_changed_since_its_review(shop: Shop) -> None:
    shop.team.skill("deploy", "Deploy the blue kiosk to production.")
    shop.standing("deploy")
    shop.team.skill("deploy", "Deploy the blue kiosk to production.", body="Do it twice.")
    with shop.catalog() as catalog:
        found = catalog.which("deploy the blue kiosk to production")
        assert found.notes == ["changed since review: 'deploy': metier diff"]
        assert not catalog.which("something else entirely").notes
    shop.accept("deploy")
    with shop.catalog() as catalog:
        assert not catalog.which("deploy the blue kiosk to production").notes


GAINS = {
    "a script": lambda shop: shop.team.write("skills/deploy/run.sh", "echo\n"),
    "an executable": lambda shop: (shop.team.root / "skills/deploy/notes").chmod(0o755),
    "a tool": lambda shop: shop.team.skill("deploy", extra="allowed-tools: Bash"),
    "a capability": lambda shop: shop.team.skill("deploy", extra="capabilities: [web-search]"),
    "a command": lambda shop: shop.team.skill("deploy", body="Now: !`curl example.com`"),
    "a hook": lambda shop: shop.team.skill("deploy", extra="hooks: {Stop: [{command: x}]}"),
    "a link": lambda shop: (shop.team.root / "skills/deploy/l").symlink_to("/etc/passwd"),
    "a pipe": lambda shop: os.mkfifo(shop.team.root / "skills/deploy/p"),
}


@pytest.mark.parametrize("gain", GAINS.values(), ids=GAINS)
def test_a_skill_that_gained_something_is_held(gain: object, shop: Shop) -> None:
    shop.team.skill("deploy")
    shop.team.write("skills/deploy/notes", "x")
    assert shop.standing("deploy") == ACTIVE
    gain(shop)  # type: ignore[operator]  # one of the above
    assert shop.standing("deploy") == HELD


def test_what_a_skill_loses_does_not_hold_it(shop: Shop) -> None:
    shop.team.skill("deploy", extra="allowed-tools: Bash")
    script = shop.team.write("skills/deploy/run.sh", "echo\n")
    shop.standing("deploy")
    script.unlink()
    shop.team.skill("deploy")
    assert shop.standing("deploy") == CHANGED


def test_an_update_of_a_plugin_is_a_change_and_no_new_skill(shop: Shop) -> None:
    shop.plugin_skill("1.0.0")
    assert shop.standing("acme:tool") == ACTIVE
    shutil.rmtree(shop.home / ".claude/plugins/cache/market/acme/1.0.0")
    shop.plugin_skill("1.1.0", body="Do it otherwise.")
    assert shop.standing("acme:tool") == CHANGED
    shop.plugin_skill("1.1.0", extra="allowed-tools: Bash")
    assert shop.standing("acme:tool") == HELD


def test_a_revoked_skill_is_held_and_not_accepted_again(shop: Shop) -> None:
    shop.team.skill("deploy")
    one = shop.review("deploy")
    with shop.catalog() as catalog:
        assert catalog.reviews.revoke(one)
    assert shop.standing("deploy") == HELD
    shop.accept("deploy")
    assert shop.standing("deploy") == ACTIVE


@pytest.mark.parametrize("content", ["", "{", '{"version": 1}', "[]"])
def test_a_broken_record_holds_everything(content: str, shop: Shop) -> None:
    shop.team.skill("deploy")
    shop.standing("deploy")
    Path(shop.record().file).write_text(content)
    assert shop.standing("deploy") == HELD
    shop.team.skill("new")
    assert shop.standing("new") == HELD
    assert Path(shop.record().file).read_text() == content


def test_an_incomplete_entry_holds_its_skill(shop: Shop) -> None:
    shop.team.skill("deploy")
    shop.standing("deploy")
    shop.record().change("skills", {str(shop.team.root / "skills/deploy"): {"name": "deploy"}})
    assert shop.standing("deploy") == HELD


def test_a_skill_that_cannot_be_hashed_is_held_with_a_finding(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "MOST_FILES", 2)
    shop.team.skill("deploy")
    for number in range(3):
        shop.team.write(f"skills/deploy/{number}", "x")
    assert shop.standing("deploy") == HELD
    with shop.catalog() as catalog:
        assert [one.code for one in catalog.issues() if one.code.startswith("RV")] == ["RV103"]


def test_a_skill_md_that_is_a_link_does_not_hide_the_other_files(shop: Shop) -> None:
    shop.team.write("real.md", "---\nname: deploy\ndescription: Deploys it. Use it then.\n---\nX\n")
    folder = shop.team.root / "skills/deploy"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").symlink_to("../../real.md")
    assert shop.standing("deploy") == ACTIVE
    shop.team.write("skills/deploy/run.sh", "echo\n")
    assert shop.standing("deploy") == HELD
    shop.accept("deploy")
    assert shop.standing("deploy") == ACTIVE
    with open(shop.team.root / "real.md", "a") as file:
        file.write("more\n")
    assert shop.standing("deploy") == CHANGED


# Ask and never


def test_under_ask_new_and_changed_skills_are_held_until_accepted(shop: Shop) -> None:
    shop.set(trust_mounts="ask", trust_workspace="ask")
    shop.team.skill("deploy")
    shop.own.skill("own")
    for name in ("deploy", "own"):
        assert shop.standing(name) == HELD
        shop.accept(name)
        assert shop.standing(name) == ACTIVE
    shop.team.skill("deploy", body="Do it twice.")
    assert shop.standing("deploy") == HELD
    shop.team.skill("deploy")
    assert shop.standing("deploy") == ACTIVE


def test_never_excludes_the_source(shop: Shop) -> None:
    shop.set(trust_sources={"team": "never"})
    shop.team.skill("deploy")
    with shop.catalog() as catalog:
        [row] = catalog.excluded_rows("skill")
        [exclusion] = catalog.excluded()
    assert (row.reason, row.review) == ("blocked", "blocked")
    assert "'team' is never trusted" in exclusion.detail


def test_a_held_skill_does_not_shadow_another(shop: Shop) -> None:
    shop.set(trust_workspace="ask")
    shop.own.skill("deploy", body="Mine.")
    shop.team.skill("deploy", body="Theirs.")
    with shop.catalog() as catalog:
        states = {row.path: row.state for row in catalog.find("skill", "deploy")}
    assert states == {
        "skills/deploy/SKILL.md": "excluded",
        "team/skills/deploy/SKILL.md": "active",
    }


def test_a_held_skill_is_not_listed_ranked_resolved_or_read(shop: Shop) -> None:
    shop.set(trust_mounts="ask")
    shop.team.skill("deploy", "Deploys the shop. Use it then.", extra="capabilities: [shop-deploy]")
    with shop.catalog() as catalog:
        assert catalog.row("skill", "deploy").is_held
        assert not catalog.which("deploy the shop", everything=False).skills
        assert catalog.names("skill") == []
        assert catalog.skills_by_name("deploy") == []
        assert catalog.capabilities() == []
        assert catalog.providers("shop-deploy") == []
        assert "deploy::" not in json.dumps(catalog.resolve(["shop-deploy"]).report)
        with pytest.raises(NotFoundError) as raised:
            catalog.document(catalog.row("skill", "deploy"))
    assert raised.value.hint == "metier diff deploy, then metier trust --skill deploy"
    shop.accept("deploy")
    with shop.catalog() as catalog:
        assert catalog.document(catalog.row("skill", "deploy")).body.strip() == "Do it."
        assert catalog.providers("shop-deploy") == ["deploy"]


# What is read, and when


def test_unchanged_files_are_not_read_again(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metier.flow.reviewing._FRESH_NS", -(10**15))
    shop.team.skill("deploy")
    shop.standing("deploy")
    folders: set[str] = set()

    def counting(listed: bundle.Listed, main: str, file: str = "") -> bundle.Bundle:
        folders.add(listed.folder)
        return bundle.read_bundle(listed, main, file)

    monkeypatch.setattr("metier.flow.skill_contents.read_bundle", counting)
    shop.team.skill("other")
    assert shop.standing("deploy") == ACTIVE
    assert folders == {str(shop.team.root / "skills/other")}


def test_a_file_that_just_changed_is_read_again(shop: Shop) -> None:
    shop.team.skill("deploy", extra="allowed-tools: Read")
    assert shop.standing("deploy") == ACTIVE
    file = shop.team.root / "skills/deploy/SKILL.md"
    info = file.stat()
    file.write_bytes(file.read_bytes().replace(b"Read", b"Bash"))
    os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert shop.standing("deploy") == HELD


def test_a_skill_that_changes_between_hash_and_read_is_held(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.team.skill("deploy")
    assert shop.standing("deploy") == ACTIVE
    file = shop.team.skill("deploy", body="Do it again.")
    shop.accept("deploy")
    original = Reviewing.apply

    def racing(self: Reviewing, found: list[Found], paths: list[str]) -> list[Found]:
        judged = original(self, found, paths)
        with open(file, "a") as same:
            same.write("Evil.\n")
        return judged

    with monkeypatch.context() as patch:
        patch.setattr(Reviewing, "apply", racing)
        assert shop.standing("deploy") == HELD
    assert shop.standing("deploy") == CHANGED


def test_a_reviewed_text_that_changed_since_the_refresh_is_not_served(shop: Shop) -> None:
    shop.team.skill("deploy")
    with shop.catalog() as catalog:
        row = catalog.row("skill", "deploy")
        assert catalog.document(row).body.strip() == "Do it."
        shop.team.skill("deploy", body="Evil.")
        with pytest.raises(NotFoundError, match="changed since the last refresh"):
            catalog.document(row)


def test_a_record_that_cannot_be_written_is_said(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(ReviewRecord, "put_skills", fail)
    shop.team.skill("deploy")
    with shop.catalog() as catalog:
        assert catalog.row("skill", "deploy").state == "active"
        assert [one.code for one in catalog.issues() if one.code.startswith("RV")] == ["RV104"]


def test_a_skill_that_another_process_recorded_otherwise_is_held(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.team.skill("deploy")
    monkeypatch.setattr(ReviewRecord, "put_skills", lambda *_, **__: set())
    assert shop.standing("deploy") == HELD


def test_a_mount_that_calls_itself_workspace_is_still_a_mount(shop: Shop) -> None:
    [mount] = shop.config.mounts
    shop.set(mounts=(mount._replace(label="workspace"),), trust_mounts="ask")
    shop.team.skill("deploy", folder=".claude/skills/deploy")
    assert shop.standing("deploy") == HELD
