"""Which hosts let the model start a skill that says `disable-model-invocation: true`. Light."""

IGNORE_THE_SWITCH = frozenset({"codex", "gemini", "opencode"})
"""All other hosts honour the key."""


def honours_the_switch(host: str | None) -> bool:
    """Also without a host."""
    return (host or "").strip().lower() not in IGNORE_THE_SWITCH
