"""Pins in the review record: whatever a server says later, only what was recorded stays on."""

from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from metier.config.mcp_pins import McpPins
from metier.values.pins import ServerPin, ToolPin, start_of
from metier.values.run_settings import ServerSetting

NAMES = st.sampled_from(["find", "buy", "__proto__", "Find", "find ", "tëa", "\ud800"])
PINS = st.builds(
    ToolPin,
    st.sampled_from(["", "Finds it.", "Finds it. ", "\u200bFinds it."]),
    st.sampled_from([{}, {"type": "object"}, {"type": "object", "title": "x"}, {"a": [1, 2]}]),
)
TOOLS = st.dictionaries(NAMES, PINS, max_size=4)
SERVER = ServerSetting("shop", "serve", ("--now",))


@settings(max_examples=60, deadline=None)
@given(TOOLS, st.lists(st.tuples(TOOLS, st.booleans()), max_size=4), st.booleans())
def test_a_tool_is_on_exactly_while_it_is_what_was_recorded(
    first: dict[str, ToolPin], later: list[tuple[dict[str, ToolPin], bool]], is_users: bool
) -> None:
    with TemporaryDirectory() as config:
        server = SERVER._replace(is_users=is_users)
        environ = {"XDG_CONFIG_HOME": config, "HOME": config}
        recorded = first
        assert McpPins("/shop", environ).switched_off(server, first) == {}
        for now, is_accepted in later:
            pins = McpPins("/shop", environ)
            if is_accepted:
                pins.put(server, ServerPin(start_of(server), now, "2026"))
                recorded = now
            off = pins.switched_off(server, now)
            assert set(off) == {name for name, tool in now.items() if recorded.get(name) != tool}


def test_the_pins_of_a_workspace_are_not_those_of_the_user() -> None:
    with TemporaryDirectory() as config:
        pins = McpPins("/shop", {"XDG_CONFIG_HOME": config, "HOME": config})
        pins.put(SERVER, ServerPin(start_of(SERVER), {}, "2026"))
        assert pins.pin(SERVER) is not None
        assert pins.pin(SERVER._replace(is_users=False)) is None


def test_values_of_variables_and_headers_are_not_recorded() -> None:
    server = SERVER._replace(env={"KEY": "hunter2"}, headers={"Authorization": "hunter2"})
    assert ServerPin(start_of(server), {}).to_json() == {
        "start": ["serve", "--now"], "tools": {}, "reviewedAt": "", "by": "user"
    }  # fmt: skip
