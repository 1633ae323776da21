"""What a workspace may do: its settings, its powers, and the user's trust."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from metier.config import Config, Settings, find_workspace, read_settings
from metier.config.owners import foreign_owner, main_worktree
from metier.config.powers import Powers, encoder_host, key_host, named_files, power_settings
from metier.config.record import Entry, TrustRecord
from metier.core.arguments import check_text, wrong_argument
from metier.core.paths import is_utf8
from metier.discover.roots import roots_for
from metier.discover.skill_folders import links_out
from metier.errors import ConfigError, TrustError, UsageError
from metier.flow.reading import read_documents, require_folder
from metier.storage.places import user_home
from metier.storage.workspace import is_workspace
from metier.values.settings_tables import ModelSettings
from metier.values.trust import Trust

if TYPE_CHECKING:
    from metier.values.run_settings import ProviderSettings

RECORD, NONE = "record", "none"
"""Values of `trust` besides a digest: the user's record, or no trust."""
VARIABLE = "METIER_TRUST"
REVIEW_HINT = "metier trust shows what it may do, and asks"
_DIGEST = "sha256:"


class Boundary(NamedTuple):
    workspace: str
    trust: Trust
    config: Config


def read_boundary(
    workspace: str,
    *,
    file: str | None = None,
    trust: str = RECORD,
    environ: Mapping[str, str] = os.environ,
    for_host: bool = False,
    is_outside: bool = False,
) -> Boundary:
    """Read the settings of a workspace and decide which count. Raises `ConfigError`.

    With `is_outside` only the user's settings are read; with `for_host` only files give power.
    """
    folder = "" if is_outside else workspace
    settings = read_settings(folder, file=file, environ=environ, for_host=for_host)
    if is_outside:
        config = settings.config(is_trusted=False)._replace(is_workspace=False)
        return Boundary(workspace, Trust(), config)
    own = settings if settings.own or file is None else read_settings(workspace, environ=environ)
    decided = decide(own, trust, environ)
    config = settings.config(is_trusted=decided.is_trusted)._replace(links=decided.links)
    return Boundary(workspace, decided, _with_bound_keys(config, decided))


def check_boundary(given: object) -> None:
    """Raise `UsageError` for what else a catalog is made of, such as a path."""
    if not isinstance(given, Boundary):
        raise UsageError("a Catalog is not made by its class", hint="Catalog.open(FOLDER)")


def open_boundary(
    root: str | os.PathLike[str] | None, config: Config | None, trust: str
) -> Boundary:
    """The boundary around `root` or the current folder, with the given `config` if any."""
    if config is not None and not isinstance(config, Config):
        hint = "leave it out to read metier.toml"
        raise wrong_argument("config", "a metier.Config", config, hint)
    if config is not None:
        from metier.config.built import check_config  # loads every setting

        check_config(config)
    workspace = workspace_of(root)
    is_inside = root is not None or is_workspace()
    if config is None:
        return read_boundary(workspace, trust=trust, is_outside=not is_inside)
    decided = _trust_beside(workspace, trust) if is_inside else Trust()
    config = config._replace(
        is_trusted=decided.is_trusted, is_workspace=is_inside, links=decided.links
    )
    return Boundary(workspace, decided, config)


def workspace_of(root: str | os.PathLike[str] | None) -> str:
    """The workspace around `root` or the current folder. Raises `UsageError` if it is invalid."""
    if root is not None and not isinstance(root, str | os.PathLike):
        raise wrong_argument("root", "a path", root)
    start = os.fspath(root) if root is not None else None
    if start is not None:
        require_folder(start)
    workspace = find_workspace(start)
    if not is_utf8(workspace):
        raise UsageError(
            "the workspace's path is not UTF-8", where=ascii(workspace), hint="rename the folder"
        )
    return workspace


def _trust_beside(workspace: str, trust: str) -> Trust:
    """The trust in a workspace whose settings do not count; none if they cannot be read."""
    try:
        settings = read_settings(workspace)
    except ConfigError:
        return decide(Settings(workspace, ()), NONE, os.environ)
    return decide(settings, trust, os.environ)


def decide(settings: Settings, trust: str, environ: Mapping[str, str]) -> Trust:
    """The user's trust in a workspace with these settings."""
    check_text("trust", trust)
    wanted = "trust is 'record', 'none' or a digest such as sha256:…"
    digests = () if trust in (RECORD, NONE) else checked_digests(trust, wanted)
    workspace = settings.workspace
    foreign = foreign_owner(workspace, safe_directories(settings), environ)
    if foreign:
        return Trust("owner", detail=f"{foreign} belongs to another user of this system")
    if trust == NONE:
        return Trust("new")
    if digests:
        powers = power_set(settings, environ)
        if powers.digest not in digests:
            given = "trust" if environ.get(VARIABLE) != trust else VARIABLE
            detail = f"{given} is {' '.join(digests)}, this workspace has {powers.digest}"
            return Trust("changed", detail=detail)
        return trusted(powers, Entry.of(powers, speak=False))
    try:
        entry = recorded(workspace, environ)
    except ConfigError as error:
        return Trust("new", detail=f"{error.message} ({error.where})")
    if entry is None:
        return Trust("new")
    powers = power_set(settings, environ)
    return trusted(powers, entry) if powers.digest == entry.digest else Trust("changed")


def checked_digests(text: str, message: str) -> tuple[str, ...]:
    """One or more digests, separated by spaces or commas. Raises `UsageError`."""
    digests = tuple(text.replace(",", " ").split()) or (text,)
    for digest in digests:
        check_digest(digest, message)
    return digests


def check_digest(text: str, message: str, shown_by: str = "metier trust --show") -> None:
    """Raise `UsageError` unless `text` is the digest of powers."""
    digits = text.removeprefix(_DIGEST)
    is_digest = text.startswith(_DIGEST) and len(digits) == 64
    if not (is_digest and set(digits) <= set("0123456789abcdef")):
        count = f": it needs 64 hexadecimal digits and has {len(digits)}"
        why = count if text.startswith(_DIGEST) and len(digits) != 64 else ""
        raise UsageError(f"{message}{why}", hint=f"{shown_by} prints the digest")


def recorded(workspace: str, environ: Mapping[str, str] = os.environ) -> Entry | None:
    """The record of a workspace, or of its main worktree."""
    record = TrustRecord(environ, workspace)
    entry = record.entry(workspace)
    if entry is not None:
        return entry
    main = main_worktree(workspace)
    if not main or foreign_owner(main, environ=environ):
        return None
    return record.entry(main)


def trusted(powers: Powers, entry: Entry) -> Trust:
    """The trust that an entry of the record gives to these powers."""
    valid = (known for known in entry.consents if known.digest == powers.digest_of(known.tool))
    return Trust(
        "trusted",
        speak=entry.speak,
        consents=frozenset(valid),
        keys=entry.keys,
        digest=entry.digest,
        files=powers.files,
        agents=powers.agents,
        links=powers.links,
    )


def safe_directories(settings: Settings) -> list[str]:
    users = (layer.values for layer in settings.layers if layer.owner == "user")
    lists = [values.get("safe-directories") for values in users]
    paths = [path for found in lists if isinstance(found, list) for path in found]
    return [path for path in paths if isinstance(path, str)]


def power_set(settings: Settings, environ: Mapping[str, str] = os.environ) -> Powers:
    """The current powers of a workspace. Raises `ConfigError`."""
    workspace = settings.workspace
    try:
        own = power_settings(settings.own, workspace)
    except RecursionError:
        where = settings.own[0].source
        raise ConfigError("the settings are nested too deeply", where=where) from None
    agents = _agents(settings, environ)
    return Powers(own, named_files(own, workspace), agents, links_out(workspace))


def untrusted_error(workspace: str, trust: Trust, what: str) -> TrustError:
    """The error for `what`, which needs trust."""
    why = f": {trust.detail}" if trust.detail else ", and you have not given it"
    if trust.state == "changed" and not trust.detail:
        why = ": its settings, agents or commands have changed since you trusted it"
    hint = REVIEW_HINT
    if trust.detail.startswith(VARIABLE):
        hint = f"review it with metier trust --show, then add its digest to {VARIABLE}"
    if trust.state == "owner":
        hint = "list the workspace under safe-directories in your own settings"
    return TrustError(f"{what} needs trust{why}", where=workspace, hint=hint)


# Agents


def _agents(settings: Settings, environ: Mapping[str, str]) -> dict[str, Any]:
    """What each agent can do, by its file; only folders in the workspace are read."""
    config = settings.config(is_trusted=True)
    roots = roots_for(settings.workspace, config, user_home(environ))
    own = [root for root in roots if root.kind == "agent" and root.label == "workspace"]
    reading = read_documents(own)
    powers: dict[str, Any] = {}
    for found in reading.found:
        if found.excluded or found.origin != "workspace":
            continue
        entry = reading.read(found)
        if entry.document is not None and not entry.reason:
            from metier.flow.agent_powers import powers_of  # many workspaces have no agents

            powers[found.path] = powers_of(entry.document)
    return powers


# Keys


def _with_bound_keys(config: Config, trust: Trust) -> Config:
    """Bind the keys of the workspace's providers and encoder to the hosts the user agreed to."""
    providers = {
        name: _bound(name, provider, trust) for name, provider in config.models.providers.items()
    }
    encoder = config.encoder
    if encoder is not None and encoder.api_key_env and not encoder.is_users:
        agreed = trust.keys.get(encoder.api_key_env, ())
        host = encoder_host({"url": encoder.url})
        bound = host if host in agreed else ", ".join(agreed) or "no host"
        encoder = encoder._replace(key_host=bound)
    models = ModelSettings(config.models.default, providers)
    return config._replace(models=models, encoder=encoder)


def _bound(name: str, provider: "ProviderSettings", trust: Trust) -> "ProviderSettings":
    if provider.is_users or not provider.api_key_env:
        return provider
    host = key_host(name, {"base-url": provider.base_url})
    agreed = trust.keys.get(provider.api_key_env, ())
    if host not in agreed:
        return provider._replace(key_host=", ".join(agreed) or "no host")
    return provider._replace(key_host=host if provider.base_url else "")
