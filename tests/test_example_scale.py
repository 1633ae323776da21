"""The example of two workers fits the commands, settings and metrics that there are."""

import json
import re
import tomllib
from typing import Any

import click
import pytest
import yaml

from conftest import REPOSITORY
from metier.cli import group
from metier.config.layers import VARIABLES

EXAMPLE = REPOSITORY / "examples" / "scale"


def compose() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((EXAMPLE / "compose.yaml").read_text())
    return data


def test_both_workers_are_started_with_options_that_exist() -> None:
    services = compose()["services"]
    workers = [services["worker-1"], services["worker-2"]]
    assert workers[0]["command"] == workers[1]["command"]
    name, *options = workers[0]["command"]
    command = group.get_command(click.Context(group), name)
    assert command is not None
    known = {option for parameter in command.params for option in parameter.opts}
    given = [option for option in options if option.startswith("--")]
    assert given == ["--metrics", "--health"]
    assert known.issuperset(given)


def test_its_address_has_no_password_and_its_variables_are_settings() -> None:
    environment = compose()["services"]["worker-1"]["environment"]
    assert environment["METIER_STATE_URL"] == "postgresql://metier@db/metier?sslmode=disable"
    variables = set(VARIABLES.values())
    assert {"METIER_STATE_URL", "METIER_STATE_NAMESPACE"} <= variables


def test_the_image_is_built_from_the_checkout_with_all_that_the_package_consists_of() -> None:
    build = compose()["services"]["worker-1"]["build"]
    assert (EXAMPLE / build["context"]).resolve() == REPOSITORY
    lines = (REPOSITORY / build["dockerfile"]).read_text().splitlines()
    copies = [line.split()[1:] for line in lines if line.startswith("COPY ")]
    copied = {source for *sources, _ in copies for source in sources}
    assert all((REPOSITORY / source).exists() for source in copied)
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*(name.partition("/")[0] for name in wheel["packages"]), *wheel["force-include"]}
    needed |= {project["project"]["readme"], *project["project"]["license-files"]}
    assert copied == needed | {"pyproject.toml", "constraints.txt"}
    (install,) = [line for line in lines if "pip install" in line]
    assert "--constraint /metier/constraints.txt '/metier[workers]'" in install
    assert "workers" in project["project"]["optional-dependencies"]


def test_the_dashboard_shows_metrics_that_workers_have() -> None:
    pytest.importorskip("prometheus_client")
    text = (REPOSITORY / "src" / "metier" / "flow" / "metrics.py").read_text()
    known = set(re.findall(r'"(metier_[a-z_]+)"', text))
    panels = json.loads((EXAMPLE / "dashboard.json").read_text())["panels"]
    shown = {
        name
        for panel in panels
        for target in panel["targets"]
        for name in re.findall(r"metier_[a-z_]+", target["expr"])
    }
    assert len(panels) == 9
    assert {re.sub(r"_(total|bucket)\Z", "", name) for name in shown} <= known
