"""Which hosts let the model start a skill that says `disable-model-invocation: true`. Light."""

IGNORE_THE_SWITCH = {"codex": "Codex", "gemini": "Gemini CLI", "opencode": "opencode"}
"""Host → title; all others honour the key (sources, autumn 2026)."""
_READ_BY = {
    "/.agents/skills/": ("codex", "gemini", "opencode"),
    "/.codex/skills/": ("codex",),
    "/etc/codex/skills/": ("codex",),
    "/.gemini/skills/": ("gemini",),
    "/.opencode/skills/": ("opencode",),
    "/.config/opencode/skills/": ("opencode",),
}


def honours_the_switch(host: str | None) -> bool:
    """Also without a host."""
    return (host or "").strip().lower() not in IGNORE_THE_SWITCH


def hosts_that_ignore_the_switch(file: str) -> tuple[str, ...]:
    """The hosts that read the folder of a skill and ignore the key."""
    return next((hosts for folder, hosts in _READ_BY.items() if folder in file), ())
