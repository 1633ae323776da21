"""The documents of each agent: its profile, and the skills and abilities it is linked to."""

import json

from metier.core.coerce import mapping_of, texts_of
from metier.core.names import name_in_plugin
from metier.index.agents import stored_agents
from metier.index.store import Store

_ABILITIES = "SELECT key, data FROM document WHERE kind = 'ability' AND state = 'active'"
_NAMED = "SELECT key, kind, handle, name, plugin FROM document WHERE state = 'active'"


def keys_by_agent(store: Store) -> dict[str, frozenset[int]]:
    """Agent → the keys of its documents; cached until the catalog changes.

    These are its profile, the skills and core abilities that it names, and the abilities that
    name it. An ability for all agents names none.
    """
    return store.cached("keys by agent", lambda: _keys_by_agent(store))


def _keys_by_agent(store: Store) -> dict[str, frozenset[int]]:
    by_name, meant = _by_name(store), _intended_for(store)
    found = {}
    for agent in stored_agents(store):
        names = [("skill", one) for one in agent.skills or ()]
        names += [("ability", one) for one in agent.core_abilities]
        names.append(("agent", agent.agent_id))
        keys = {key for name in names for key in by_name.get(name, ())}
        keys.update(meant.get(agent.agent_id, ()))
        if agent.path:
            found[agent.agent_id] = frozenset(keys)
    return found


def _by_name(store: Store) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for key, kind, handle, name, plugin in store.rows(_NAMED):
        for one in {handle, name, name_in_plugin(name, plugin)}:
            found.setdefault((kind, one), []).append(key)
    return found


def _intended_for(store: Store) -> dict[str, list[int]]:
    """Agent → the abilities that say they are for it."""
    found: dict[str, list[int]] = {}
    with store.checked():
        for key, data in store.rows(_ABILITIES):
            for agent in texts_of(mapping_of(json.loads(data)).get("applicableTo")):
                found.setdefault(agent, []).append(key)
    return found
