"""The whole flow, written once: the object that users hold."""

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from metier.config import Config, users_config
from metier.config.consent import check_files
from metier.config.secret_values import redactor_for
from metier.discover.roots import roots_for
from metier.errors import DamagedError
from metier.flow.boundary import RECORD, Boundary, check_boundary, open_boundary, untrusted_error
from metier.flow.catalog_reading import CatalogReading
from metier.flow.queries import Queries
from metier.flow.reading import Refreshed as Refreshed
from metier.flow.reading import read_again, read_skills, user_roots, workspace_roots
from metier.flow.report_methods import ReportMethods
from metier.flow.run_methods import RunMethods
from metier.flow.state_settings import is_shared
from metier.index.refresh import OnProgress, refresh_documents
from metier.index.skills import SkillRepository
from metier.index.store import Store
from metier.safety.redactor import Redactor
from metier.storage.database import IN_MEMORY
from metier.storage.hook_files import allow, forbid
from metier.storage.places import state_room, user_home, user_room
from metier.storage.room import Room
from metier.storage.secret import workspace_secret
from metier.storage.workspace import CATALOG_FILE, RESTRICTED_FILE
from metier.values.capabilities import InjectRequest, messages_of
from metier.values.files import Reading, Root
from metier.values.outcomes import Issue
from metier.values.trust import Trust

if TYPE_CHECKING:
    from metier.core.budget import CountTokens
    from metier.flow.agent import Agent
    from metier.flow.prompts import Preparer
    from metier.flow.resolving import Resolver
    from metier.flow.running import Agency
    from metier.flow.shared import SharedState
    from metier.resolve.report import Resolution
    from metier.values.agents import Execution
    from metier.values.capabilities import SessionType
    from metier.values.contracts import Mode
    from metier.values.documents import Ability
    from metier.values.models import Model
    from metier.values.resolution import Decide, MayProbe
    from metier.values.runs import OnEvent, RunResult
    from metier.values.selection import Injection
    from metier.values.which import Which


class Catalog(Queries, RunMethods, ReportMethods):
    """The skills, abilities, cards and agents of one workspace.

    Until the user trusts the workspace, only its documents are used.
    """

    def __new__(cls, boundary: object = None, *_: object, **__: object) -> Self:
        """Raises `UsageError`, unless by a class method such as `open`."""
        check_boundary(boundary)
        return super().__new__(cls)

    def __init__(
        self, boundary: Boundary, store: Store, home: str = "", room: Room | None = None
    ) -> None:
        """`room` is the folder of its state, if it is kept."""
        self.workspace = boundary.workspace
        self.config = boundary.config
        self.trust: Trust = boundary.trust
        self.store = store
        self.room = room
        self._home = home or user_home(os.environ)
        self._is_users = False
        self._skills = SkillRepository(store, read_skills)
        self._reading = CatalogReading(self.workspace, store)
        self.source_issues: list[Issue] = []
        """What no refresh can read: sources of cards, patterns that no folder matches."""

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str] | None = None,
        *,
        config: Config | None = None,
        home: str | None = None,
        trust: str = RECORD,
    ) -> Self:
        """Open the catalog of the workspace around `root`, or one in memory outside a workspace.

        `trust` is `record` (see `metier trust`), `none`, or the digest of powers. A given `config`
        replaces all settings files. Raises `ConfigError` and `StoreError`.
        """
        return cls.within(open_boundary(root, config, trust), home=home or "")

    @classmethod
    def within(cls, boundary: Boundary, *, home: str = "", read_only: bool = False) -> Self:
        """The catalog of a workspace whose trust is decided; in memory outside a workspace."""
        if not boundary.config.is_workspace:
            return cls.in_memory(boundary, home=home)
        room, opened = state_room(boundary.workspace), Store.read_only if read_only else Store.open
        name = CATALOG_FILE if boundary.trust.is_trusted else RESTRICTED_FILE
        return cls(boundary, opened(room.file(name)), home, room)

    def new_connection(self, *, probes: bool = True) -> Self:
        """A catalog of the same file, for another thread, with the agents of this one.

        Raises `UsageError` in memory.
        """
        self.require_file()
        config = self.config if probes else self.config._replace(probes=())
        made = type(self).within(Boundary(self.workspace, self.trust, config), home=self._home)
        if "agency" in self.__dict__ and self.agency.added:
            made.agency.added.update(self.agency.added)
        return made

    @classmethod
    def in_memory(cls, boundary: Boundary, *, home: str = "", room: Room | None = None) -> Self:
        """A catalog that is kept nowhere; `room` has the state to use, if any."""
        return cls(boundary, Store.in_memory(), home, room)

    @classmethod
    def of_user(cls, config: Config | None = None, *, home: str = "") -> Self:
        """The user's own documents, in any workspace. Raises as `open`."""
        home, room = home or user_home(os.environ), user_room()
        boundary = Boundary(home, Trust(), config or users_config())
        made = cls(boundary, Store.open(room.file(CATALOG_FILE)), home, room)
        made._is_users = True
        return made

    @classmethod
    def for_hooks(cls, boundary: Boundary, *, home: str = "") -> Self:
        """The refreshed catalog for hooks: the workspace's if it may speak, else the user's."""
        from metier.flow.hook_refresh import stamps_to_speak  # few commands need it

        room, stamps = state_room(boundary.workspace), stamps_to_speak(boundary)
        if stamps is None:
            forbid(room)
            return cls.of_user(home=home)._prepared()
        if user_room().info(CATALOG_FILE) is None:
            cls.of_user(home=home)._prepared().close()  # for when the workspace may not speak
        catalog = cls.within(boundary, home=home)._prepared()
        allow(room, stamps, is_safe=bool(boundary.config.safe_directories))
        return catalog

    def _prepared(self) -> Self:
        """Ready for hooks; closed when that fails."""
        with ExitStack() as stack:
            stack.callback(self.close)
            self.prepare_for_hooks()
            stack.pop_all()
        return self

    def prepare_for_hooks(self) -> int:
        """Refresh, and write what hooks read; how many skills were read in words."""
        from metier.flow.hook_refresh import prepare  # few commands need it

        self.refresh(encode=False)
        return prepare(self.store, self.room, self.workspace, self.config, self.folders())

    def is_built(self) -> bool:
        """Whether a refresh has ever succeeded here; False if the file is damaged."""
        try:
            return self.store.setting("counts") != ""
        except DamagedError:
            return False

    @property
    def is_kept(self) -> bool:
        """Whether it is a file; a catalog in memory is lost when it is closed."""
        return self.store.path != IN_MEMORY

    def close(self) -> None:
        """Close the catalog. In another thread nothing is closed: raises `StoreError`."""
        if self.store.is_closed:
            return
        self.store.require_open()
        if "agency" in self.__dict__:
            self.agency.close()
        if "encoding" in self.__dict__:
            self.encoding.close()
        if self.__dict__.get("shared") is not None:
            self._close_shared()
        self.store.close()

    def _close_shared(self) -> None:
        """Send the decisions of hooks along while there is a connection."""
        assert self.shared is not None
        if self.shared.was_reached:
            self.ship_decisions()
        self.shared.close()

    def ship_decisions(self) -> None:
        """Send the decisions of hooks to shared state, if it is configured."""
        if self.shared is not None and self.room is not None:
            from metier.flow.shipping import ship_decisions

            ship_decisions(self.shared, self.room)

    def __enter__(self) -> Self:
        self.store.require_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def refresh(
        self,
        on_progress: OnProgress | None = None,
        *,
        on_encoded: OnProgress | None = None,
        encode: bool = True,
    ) -> Refreshed:
        """Bring the catalog up to date with the disk; a bad file never stops the rest.

        With an encoder in the settings, new texts are encoded, unless not `encode`.
        """
        changes = refresh_documents(self.store, self._read, on_progress=on_progress)
        self._reading.keep()
        self.examples.learn()
        if self.config.encoder is not None and encode:
            self.encoding.refresh(on_encoded)
        return Refreshed(changes, self.issues, self.excluded)

    def _read(self) -> Reading:
        roots, self.source_issues = self._roots()
        reading = self._reading.read(roots, self.config)
        self.source_issues += self._reading.issues
        return reading

    def _roots(self) -> tuple[list[Root], list[Issue]]:
        if self._is_users:
            return user_roots(self.config, self._home, self.room)
        return workspace_roots(self.workspace, self.config, self._home, self.room)

    def folders(self) -> list[str]:
        """Where documents are looked for, existing or not."""
        self.store.require_open()
        roots = roots_for(self.workspace, self.config, self._home)
        return [root.path for root in (self._roots()[0] if self._is_users else roots)]

    def require_trust(self, what: str) -> None:
        """Raise `TrustError` unless the user trusts the workspace, if any; `what` needs it."""
        if self.config.is_workspace and not self.config.is_trusted:
            raise untrusted_error(self.workspace, self.trust, what)

    def abilities(
        self,
        *,
        category: str | None = None,
        tags: Sequence[str] = (),
        enabled: bool | None = None,
        agent: str | None = None,
    ) -> "list[Ability]":
        """Abilities by descending priority, without their content; see `AbilityRegistry.list`."""
        registry = self._preparer.abilities()
        return registry.list(category=category, tags=tags, enabled=enabled, applicable_to=agent)

    def inject(
        self,
        messages: str | Sequence[str],
        *,
        agent: str | None = None,
        core: Sequence[str] = (),
        budget: int | None = None,
        limit: int | None = 10,
        min_signal: float | None = None,
        include_metadata: bool = False,
        session_type: "SessionType" = "main",
        include_untrusted: bool = True,
    ) -> "Injection":
        """The text for a prompt about `messages`: core abilities, cards, other abilities.

        Without `min_signal` the abilities that fit best are injected, however little they fit; runs
        use `config.ability_signal`. `budget` is for all together; without it abilities and cards
        each have their own. An agent's profile adds its core abilities and its own budget. If a
        core ability cannot be injected, `failed` is true and the text empty. An unknown agent,
        maybe another host's, is a note in `issues`.
        """
        request = InjectRequest(
            messages=messages_of(messages),
            agent=agent,
            core=core,
            budget=budget,
            limit=limit,
            min_signal=min_signal,
            include_metadata=include_metadata,
            session_type=session_type,
            include_untrusted=include_untrusted,
        )
        return self._preparer.inject(request)

    def resolve(
        self,
        requires: Sequence[str] = (),
        query: str = "",
        *,
        consumer: str | None = None,
        mode: "Mode | None" = None,
        policy: Mapping[str, str] | None = None,
        alias_file: str | os.PathLike[str] | None = None,
        host: str | None = None,
        decide: "Decide | None" = None,
        may_probe: "MayProbe | None" = None,
        divergence: bool = True,
        depth: int = 2,
        only: Collection[str] | None = None,
        team: str = "",
    ) -> "Resolution":
        """Choose providers for `requires`, for the contract of `consumer`, or for both.

        `policy` overrides the consumer's; `only` names the skills that may be chosen; the skills
        of `team`, by default the consumer's, come first. Raises `UsageError` when nothing is
        required or a name is empty, and `NotFoundError` for an unknown consumer.
        """
        from metier.values.resolution import ResolveRequest

        request = ResolveRequest(
            requires=requires,
            query=query,
            consumer=consumer,
            mode=mode,
            policy=policy or {},
            alias_file=alias_file,
            host=host,
            decide=decide,
            may_probe=may_probe,
            divergence=divergence,
            depth=depth,
            only=only,
            team=team,
        )
        return self._resolver.resolve(request)

    @cached_property
    def redactor(self) -> Redactor:
        """Removes the values of secrets from what is shown; what is stored keeps them."""
        return redactor_for(self.config)

    @cached_property
    def shared(self) -> "SharedState | None":
        """State on PostgreSQL, if the settings name it. Raises `ConfigError`."""
        if not self.config.is_workspace or not is_shared(self.config):
            return None
        from metier.flow.shared import SharedState

        return SharedState.of(self.config, self.workspace)

    def which(
        self,
        task: str,
        *,
        host: str | None = None,
        expect: str | None = None,
        limit: int = 10,
        everything: bool = True,
        include_untrusted: bool = True,
    ) -> "Which":
        """What fits a task: skills by the rule of hooks, cards, abilities and agents.

        `expect` names a skill, and the answer says why it is not first; `everything=False` is for
        skills only. Raises `NotFoundError` for an unknown skill, `UsageError` for a host.
        """
        from metier.flow import which  # few commands need it

        row = which.expected_skill(self, expect, host) if expect else None
        config = self.config
        question = which.SkillQuestion(task, host, limit, include_untrusted)
        encoding = self.encoding if config.encoder is not None else None
        found = which.which_comes(
            self.store, config.capabilities, question, row, self.shown_texts, encoding
        )
        if not everything:
            return found
        injection = None
        if self.has("card") or self.has("ability"):
            injection = self.inject(task, min_signal=config.ability_signal, include_untrusted=False)
        return which.with_others(found, injection, self.select_agents(task), self.agents())

    async def run(
        self,
        agent: "str | Agent",
        task: str,
        *,
        input: Any = None,
        model: "str | Model" = "",
        execution: "Execution | None" = None,
        on_event: "OnEvent | None" = None,
    ) -> "RunResult":
        """Run an agent on a task; `on_event` is called with every event.

        `agent` is the id of one, or an `Agent`, which is added; `model` replaces the agent's. A
        failed run is a result. Raises `NotFoundError` and `TrustError`.
        """
        return await self.agency.run(
            agent, task, input=input, model=model, execution=execution, on_event=on_event
        )

    async def resume(
        self, run_id: str, *, model: "str | Model" = "", on_event: "OnEvent | None" = None
    ) -> "RunResult":
        """Resume a run without repeating steps that succeeded; if all did, its stored result.

        `model` replaces that of the run and of its agents; a run that was started with an object
        needs it. Raises `NotFoundError`, `TrustError`, and `UsageError` for a run that
        cannot be resumed.
        """
        return await self.agency.resume(run_id, model=model, on_event=on_event)

    @cached_property
    def agency(self) -> "Agency":
        from metier.flow.running import Agency  # only who runs agents needs it

        open_store = self.shared.runs if self.shared is not None else None
        return Agency(self, lambda: workspace_secret(self.room), open_store)

    @cached_property
    def _resolver(self) -> "Resolver":
        from metier.flow.resolving import Resolver  # a refresh with nothing to do needs none of it

        outcomes = self.shared.outcomes if self.shared and self.config.is_trusted else None
        return Resolver(self.store, self.workspace, self.config, self.check_files, outcomes)

    def check_files(self, argv: Sequence[str], folder: str) -> None:
        """Raise `TrustError` if a file that a command names has changed since it was trusted."""
        check_files(argv, folder, self.workspace, self.trust)

    @property
    def count_tokens(self) -> "CountTokens":
        """The token counter of the settings. Raises `ConfigError` when it is unavailable."""
        return self._preparer.count_tokens

    @cached_property
    def _preparer(self) -> "Preparer":
        from metier.flow.prompts import Preparer  # a refresh with nothing to do needs none of it

        return Preparer(
            self.store,
            read_again,
            self.config.tokenizer,
            self.config.capabilities,
            lambda: workspace_secret(self.room),
            self.config.own_capabilities,
            self._added_profile,
        )
