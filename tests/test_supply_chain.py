"""What `make demo` and `make test` install is pinned and hashed; the wheel is reproducible."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from metier.catalog import Catalog
from metier.cli import run
from metier.errors import UsageError, install_hint
from metier.mcp import asgi_app

ROOT = Path(__file__).parent.parent
SETS = ("demo", "fuzz", "pip", "release", "site", "test")
_PIN = re.compile(r"([\w.-]+)==([^\s;\\]+)")
_HASHED = re.compile(r"[\w.-]+==\S+(?: ; .*)? \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+")


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _pins(file: Path) -> set[tuple[str, str]]:
    lines = file.read_text().splitlines()
    found = [match for line in lines if (match := _PIN.match(line))]
    return {(_plain(match[1]), match[2]) for match in found}


@pytest.mark.parametrize("name", SETS)
def test_every_requirement_has_a_version_and_a_hash(name: str) -> None:
    _header, _, text = (ROOT / f"requirements/{name}.txt").read_text().partition("\n")
    assert _PIN.match(text)
    assert _HASHED.sub("", text) == ""


@pytest.mark.parametrize("name", SETS)
def test_requirements_have_the_versions_of_the_constraints(name: str) -> None:
    pins = _pins(ROOT / f"requirements/{name}.txt")
    assert pins
    assert pins <= _pins(ROOT / "constraints.txt")


@pytest.mark.parametrize(("name", "extras"), [("demo", ("mcp", "web")), ("test", ("dev",))])
def test_requirements_have_every_dependency_of_the_project(
    name: str, extras: tuple[str, ...]
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    names = {_plain(re.split(r"[\[<>=;\s]", one, maxsplit=1)[0]) for one in wanted}
    assert len(names) > 10
    assert names <= {pinned for pinned, _ in _pins(ROOT / f"requirements/{name}.txt")}


def test_make_installs_nothing_without_a_hash_for_the_demo_and_the_tests() -> None:
    text = (ROOT / "Makefile").read_text()
    recipes = re.findall(r"^\$\(VENV\)/\.installed(?:-dev)?:.*\n((?:\t.*\n)+)", text, re.MULTILINE)
    installs = [
        line.strip() for recipe in recipes for line in recipe.splitlines() if "$(PIP)" in line
    ]
    assert len(installs) == 4
    assert [line for line in installs if "$(HASHED)" not in line] == [
        "$(PIP) install --no-deps --no-build-isolation --editable ."
    ]
    assert "HASHED := install --require-hashes --requirement\n" in text


def test_the_fuzzer_is_installed_by_its_hash_or_not_at_all() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("\nsoak:")[2].partition("\n\n")[0]
    install = next(line for line in recipe.splitlines() if "$(PIP)" in line)
    assert install.startswith("\t-$(PIP) $(HASHED) requirements/fuzz.txt")


@pytest.mark.slow
def test_the_wheel_is_the_same_bytes_wherever_and_whenever_it_is_built(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("needs git to know which files belong to the project")
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    files = [name for name in listed.split("\0") if name.startswith(_IN_THE_WHEEL)]
    assert len(files) > 300
    first = _wheel(tmp_path / "a", files, stamp=1_000_000_000)
    second = _wheel(tmp_path / "an" / "other", sorted(files, reverse=True), stamp=1_700_000_000)
    assert _digest(first) == _digest(second)
    _try(first, tmp_path / "installed")


_IN_THE_WHEEL = ("src/", "examples/", "conformance/", "pyproject.toml", "README.md", "LICENSE")


def _wheel(folder: Path, files: list[str], stamp: int) -> Path:
    """A wheel that is built from `files`, copied in that order."""
    for name in files:
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy)
        os.utime(copy, (stamp, stamp))
    command = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "--target",
        "wheel",
        "--directory",
        "out",
    ]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (wheel,) = (folder / "out").glob("*.whl")
    return wheel


def _digest(wheel: Path) -> str:
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def _try(wheel: Path, folder: Path) -> None:
    """Run the demo with the files of the wheel alone; dependencies come from this environment."""
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    command = [sys.executable, "-P", "-m", "metier", "demo"]
    env = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    shown = subprocess.check_output(
        [sys.executable, "-P", "-c", "import metier; print(metier.__file__)"], env=env, text=True
    )
    assert Path(shown.strip()).is_relative_to(folder)


def test_all_has_every_extra_but_those_for_development() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    (everything,) = extras["all"]
    named = everything.removeprefix("metier[").removesuffix("]").split(",")
    assert named == sorted(extras.keys() - {"all", "bench", "dev"})


def test_the_page_on_installing_lists_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    page = (ROOT / "docs" / "install.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == sorted(
        extras.keys() - {"bench", "dev"}
    )


def test_what_metrics_of_the_mcp_server_need_comes_with_the_extra_that_the_error_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    assert run(["mcp", "--http", "--metrics", "--root", str(tmp_path)]) == 2
    with Catalog.open(tmp_path) as catalog, pytest.raises(UsageError) as raised:
        asgi_app(catalog, token="", metrics=True)
    assert raised.value.hint == install_hint("mcp")
    assert f"hint: {install_hint('mcp')}" in capsys.readouterr().err
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = project["optional-dependencies"]["mcp"]
    assert any(one.startswith("prometheus-client") for one in extra)
