"""What hooks need of all hosts. Made by tools/make_host_table.py; edit the files in known/."""
# fmt: off
# ruff: noqa: E501  # as long as it gets

HOOKS: dict[str, tuple[tuple[str, ...], str, bool]] = {
    "claude-code": (("UserPromptSubmit", "SessionStart", "SubagentStart"), "hookSpecificOutput", True),
    "codex": (("UserPromptSubmit", "SessionStart", "SubagentStart"), "hookSpecificOutput", True),
    "gemini": (("BeforeAgent", "SessionStart"), "hookSpecificOutput", True),
    "copilot": (("userPromptSubmitted", "sessionStart"), "additionalContext", True),
    "cursor": (("sessionStart",), "additional_context", False),
    "opencode": (("chat.message",), "additionalContext", True),
    "openclaw": (("before_prompt_build",), "additionalContext", True),
}
"""Host → its events, the usual first; the key of an answer; if it has a prompt."""
IGNORE_THE_SWITCH = frozenset(("codex", "gemini", "opencode"))
"""Hosts that let the model start a skill with `disable-model-invocation: true`."""
NAME_BY_FOLDER = frozenset(("claude-code",))
"""Hosts that call a skill by its folder, whatever name its front matter has."""
NAMES = ("claude-code", "codex", "gemini", "copilot", "cursor", "opencode", "openclaw", "vscode")
FOLDERS: tuple[tuple[str, str], ...] = (
    ("claude", ".claude/skills"),
    ("agents", ".agents/skills"),
    ("copilot", ".github/skills"),
    ("gemini", ".gemini/skills"),
    ("cursor", ".cursor/skills"),
    ("opencode", ".opencode/skills"),
    ("opencode-old", ".opencode/skill"),
    ("codex", ".codex/skills"),
    ("claude-user", "~/.claude/skills"),
    ("claude-plugins", "~/.claude/plugins/cache"),
    ("agents-user", "~/.agents/skills"),
    ("codex-user", "~/.codex/skills"),
    ("codex-system", "/etc/codex/skills"),
    ("copilot-user", "~/.copilot/skills"),
    ("gemini-user", "~/.gemini/skills"),
    ("cursor-user", "~/.cursor/skills"),
    ("opencode-user", "~/.config/opencode/skills"),
    ("opencode-old-user", "~/.config/opencode/skill"),
    ("openclaw-user", "~/.openclaw/skills"),
)
"""The label and the folder of skills of all hosts, by metier's precedence."""
MARKS: tuple[tuple[str, str, str], ...] = (
    ("\"name\":\"Skill\"", "\"skill\":\"", "\""),
    ("\"name\": \"Skill\"", "\"skill\": \"", "\""),
    ("\"name\":\"Read\"", "\"file_path\":\"", "/SKILL.md\""),
    ("<skill>\\n<name>", "", "</name>"),
    ("\"name\":\"activate_skill\"", "\"args\":{\"name\":\"", "\""),
    ("\"name\": \"activate_skill\"", "\"name\": \"", "\""),
    ("\"skill.invoked\"", "\"name\":\"", "\""),
)
"""What shows that a skill was used, what the name follows, what ends it."""
