"""Templates that take too long, or cannot be compiled, in a run."""

from collections.abc import Iterator
from typing import Any

import pytest

from metier.errors import UsageError
from run.world import World, agent, choose, do, hurried, loop, parallel, prompt

pytestmark = pytest.mark.slow

ENDLESS = "{% for i in range(9999) %}" * 4 + "{{ i }}" + "{% endfor %}" * 4


@pytest.fixture
def endless_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metier.core.template_work.MOST_WORK", 10**15)


def slow_steps() -> Iterator[dict[str, Any]]:
    """A step for each place in which a template may take long."""
    over = f"range(9999)|map('string')|list if ({ENDLESS_EXPRESSION}) else []"
    yield prompt("s", ENDLESS, timeoutMs=1000)
    yield do("s", input={"a": [ENDLESS]}, timeoutMs=1000)
    yield choose("s", over, [do("i")], timeoutMs=1000)
    yield loop("s", over, do("i"), timeoutMs=1000)
    yield loop("s", None, do("i"), while_=over, timeoutMs=1000)
    yield parallel("s", prompt("i", ENDLESS), timeoutMs=1000)
    yield parallel("s", do("i", condition=over), timeoutMs=1000)


ENDLESS_EXPRESSION = " + ".join(["range(99999)|map('string')|map('length')|sum"] * 8)


@pytest.mark.usefixtures("endless_work")
def test_a_step_times_out_when_its_template_takes_too_long() -> None:
    for step in slow_steps():
        result = World().run(hurried(agent(step)))
        assert result.run.failure is not None
        failure = result.run.failure
        assert (failure.code, failure.step, failure.kind) == ("STEP_TIMEOUT", "s", "timeout"), step


@pytest.mark.usefixtures("endless_work")
def test_a_run_times_out_when_a_template_takes_too_long() -> None:
    for step in slow_steps():
        del step["timeoutMs"]
        profile = agent(do("a", compensate=do("u", input={"a": "{{ steps.a.state }}"})), step,
                        limits={"seconds": 0.1}, failureStrategy="rollback")  # fmt: skip
        world = World()
        result = world.run(profile)
        assert result.run.failure is not None
        assert (result.state, result.run.failure.code) == ("rolled_back", "RUN_TIMEOUT"), step
        assert world.kept(result.run).get("s", "cancelled") == "cancelled"


def test_a_template_that_cannot_be_compiled_raises_usage_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    profile = agent(prompt("s", "{{ task }} is not compiled yet"))
    monkeypatch.setattr("metier.core.templates.environment.from_string", _broken)
    with pytest.raises(UsageError, match="a template cannot be read: invalid syntax"):
        World().run(profile)


def _broken(_tree: Any) -> Any:
    raise SyntaxError("invalid syntax")
