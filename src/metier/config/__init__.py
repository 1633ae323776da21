"""Settings: flags > environment > metier.toml > [tool.metier] > user file > defaults.

Until the user trusts a workspace, its settings apply only as far as their classes allow: see
`config.settings`.
"""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from metier.config.layers import Layer, layers_of, user_layer
from metier.config.layers import user_settings as user_settings
from metier.storage.workspace import SETTINGS_FILE
from metier.storage.workspace import find_workspace as find_workspace
from metier.values.files import Kind, Team
from metier.values.settings_tables import (
    DEFAULT_MIN_SIGNAL,
    CapabilitiesConfig,
    LintSettings,
    ModelSettings,
    ToolSettings,
)
from metier.values.trust import ALWAYS, NOTHING, ON_FIRST_USE

if TYPE_CHECKING:
    from metier.config.database_url import DatabaseUrl
    from metier.values.own_rules import RuleSetting
    from metier.values.run_settings import ServerSetting
    from metier.values.settings import EncoderSettings, Mount, ProbeSetting, QueueSetting

FILE_NAME = SETTINGS_FILE
ALIAS_FILE = os.path.join(".dci", "aliases.v1.json")


class Config(NamedTuple):
    """Every setting, with its default."""

    disabled: tuple[str, ...] = ()
    """Names or ids of skills that are never candidates."""
    host_folders: bool = True
    """Whether to read skills that hosts have installed for the user."""
    mounts: "tuple[Mount, ...]" = ()
    abilities: tuple[str, ...] = ("abilities",)
    cards: tuple[str, ...] = ("docs/capabilities",)
    agents: tuple[str, ...] = ("agents", ".claude/agents")
    ability_signal: float = DEFAULT_MIN_SIGNAL
    """The least signal of an ability that is injected into a step of a run."""
    agent_scorer: str = "spec"
    """`learned`: agents are selected by what their example tasks teach."""
    lint_select: tuple[str, ...] = ()
    lint_ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    lint_rules: "tuple[RuleSetting, ...]" = ()
    """User-defined rules, by `[lint.rules.CODE]`."""
    lint_plugins: tuple[str, ...] = ()
    """The entry points of installed packages whose rules are used."""
    eval_min_recall: float | None = None
    """Below this share `metier eval` fails."""
    eval_max_false_fires: float | None = None
    eval_min_hit1: float | None = None
    eval_min_ndcg: float | None = None
    eval_max_silent: float | None = None
    eval_max_speaks_wrongly: float | None = None
    teams: tuple[Team, ...] = ()
    """The folders of the workspace that belong to a team."""
    trust_workspace: str = ALWAYS
    """How far the skills of the workspace are trusted, and so on for other sources."""
    trust_user: str = ALWAYS
    trust_plugins: str = ON_FIRST_USE
    trust_mounts: str = ON_FIRST_USE
    trust_sources: Mapping[str, str] = MappingProxyType({})
    """By the label of a source, or the name of a plugin; stronger than the four above."""
    own_trust: Mapping[str, Any] = NOTHING
    """`trust.*` of the workspace: it can only tighten."""
    probes: "tuple[ProbeSetting, ...]" = ()
    tokenizer: str = "chars/4"
    """How tokens are counted: `chars/4`, or an encoding of tiktoken whose ranks are on disk."""
    capabilities: CapabilitiesConfig = CapabilitiesConfig()
    models: ModelSettings = ModelSettings()
    tools: ToolSettings = ToolSettings()
    servers: "tuple[ServerSetting, ...]" = ()
    encoder: "EncoderSettings | None" = None
    """What gives texts their vectors in place of the built-in word table."""
    state_folder: str = ""
    """The folder of all state, if set."""
    keep_days: int = 30
    """How long ended runs, reports and decisions of hooks are kept."""
    state_url: "DatabaseUrl | None" = None
    """The database of shared state, if set."""
    state_url_file: str = ""
    """A file with that address; stronger than `state_url`."""
    state_namespace: str = ""
    """Whose state it is: many teams share a database."""
    worker_documents: str = "any"
    """`same`: workers execute only runs that were started with their own documents."""
    worker_concurrency: int = 4
    """How many runs a worker executes at a time."""
    queues: "Mapping[str, QueueSetting]" = MappingProxyType({})
    safe_directories: tuple[str, ...] = ()
    """Workspaces that may belong to another user of the system."""
    sources: tuple[str, ...] = ()
    """The files that these settings came from, strongest first."""
    is_trusted: bool = True
    """Whether the user trusts the workspace."""
    is_workspace: bool = True
    """Without a workspace only skill folders are read."""
    links: Mapping[str, str] = NOTHING
    """Trusted links out of the workspace → target."""
    user_folders: tuple[tuple[Kind, str], ...] = ()
    """Folders of the user's own documents, outside every workspace."""
    own_disabled: tuple[str, ...] = ()
    """`disabled` of an untrusted workspace: its own skills only."""
    own_capabilities: CapabilitiesConfig | None = None
    """For the cards of an untrusted workspace."""
    users_lint: LintSettings | None = None
    """The user's own choice of findings."""
    ignored: tuple[str, ...] = ()
    """Powers of an untrusted workspace."""
    ignored_wrong: tuple[str, ...] = ()
    """What is wrong with them."""


class Settings(NamedTuple):
    """The settings of a workspace as they were read, before trust is decided."""

    workspace: str
    layers: tuple[Layer, ...]

    @property
    def own(self) -> list[Layer]:
        return [layer for layer in self.layers if layer.owner == "workspace"]

    def config(self, *, is_trusted: bool) -> Config:
        """The settings in force. Raises `ConfigError` at the first wrong setting."""
        files = tuple(layer.source for layer in self.layers if os.sep in layer.source)
        if not any(layer.values for layer in self.layers):
            lint = LintSettings() if self.own else None
            return Config(is_trusted=is_trusted, users_lint=lint, sources=files)
        from metier.config.merging import merged_values, narrowed_values  # checks every setting

        users = [layer for layer in self.layers if layer.owner == "user"]
        values = merged_values(self.layers if is_trusted else users, self.workspace)
        more = {} if is_trusted else narrowed_values(values, self.own, self.workspace)
        lint = _lint_of(merged_values(users, self.workspace)) if self.own else None
        fields = _by_attribute({**values, **more})
        return Config(**fields, is_trusted=is_trusted, users_lint=lint, sources=files)


def _by_attribute(values: Mapping[str, Any]) -> dict[str, Any]:
    from metier.config.settings import SETTINGS  # see above

    return {SETTINGS[key].attribute if key in SETTINGS else key: values[key] for key in values}


def _lint_of(values: Mapping[str, Any]) -> LintSettings:
    made = Config(**_by_attribute({key: values[key] for key in values if key.startswith("lint.")}))
    return LintSettings(made.lint_select, made.lint_ignore, tuple(made.per_file_ignores.items()))


def read_settings(
    workspace: str,
    *,
    file: str | None = None,
    environ: Mapping[str, str] = os.environ,
    for_host: bool = False,
) -> Settings:
    """Read every layer of settings; with `for_host` files only. Raises `ConfigError`."""
    layers = layers_of(workspace, file, environ, for_host=for_host)
    return Settings(workspace, tuple(layers))


def users_config(environ: Mapping[str, str] = os.environ) -> Config:
    """The user's own settings alone, whatever the workspace. Raises `ConfigError`."""
    layers = user_layer(user_settings(environ))
    return Settings("", tuple(layers)).config(is_trusted=False)
