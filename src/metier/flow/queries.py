"""Questions about the documents in a catalog."""

import os
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from metier.config.consent import check_encoder
from metier.core.arguments import (
    check_known,
    check_optional_text,
    check_text,
    checked,
    choice,
    count,
    instance_with,
    texts,
)
from metier.discover.roots import roots_for
from metier.errors import UsageError
from metier.flow.evaluation_methods import EvaluationMethods
from metier.flow.examples import Examples
from metier.flow.host_methods import HostMethods
from metier.flow.reading import read_document, read_reference
from metier.index import documents
from metier.index.skills import SkillRepository
from metier.index.store import Store
from metier.storage.database import IN_MEMORY
from metier.values.files import KINDS, Kind, Root
from metier.values.outcomes import Exclusion, Issue
from metier.values.rows import Page, Row, shadowed

if TYPE_CHECKING:
    from metier.config import Config
    from metier.core.overlap import OnProgress
    from metier.core.ranking import Task
    from metier.flow.encoding import Encoding
    from metier.flow.reviews import Reviews
    from metier.flow.usage import Question as UsageQuestion
    from metier.flow.usage import Rank
    from metier.flow.usage import Usage as SkillUsage
    from metier.storage.room import Room
    from metier.values.agents import AgentMatch, AgentProfile
    from metier.values.browsing import Browse, Browsed, DocumentCount
    from metier.values.documents import Card, Document
    from metier.values.packages import Package
    from metier.values.trust import Trust


_A_KIND = choice(KINDS)
_A_ROW = instance_with("handle", "a Row, such as catalog.row('skill', NAME)")

NO_TEAMS = 'the settings name none; one is [teams."FOLDER"] with name and owner in metier.toml'


class Queries(HostMethods, EvaluationMethods):
    """Answers questions about documents."""

    store: Store
    workspace: str
    config: "Config"
    room: "Room | None"
    source_issues: list[Issue]
    trust: "Trust"
    _home: str
    _skills: SkillRepository

    @checked(kind=_A_KIND, search=check_optional_text)
    def documents(
        self, kind: Kind, *, search: str | None = None, shadowed: bool = False
    ) -> list[Row]:
        """Documents of any kind, by name."""
        return documents.list_documents(self.store, kind, search=search, shadowed=shadowed)

    @checked(kind=_A_KIND, text=check_text)
    def search(self, kind: Kind, text: str) -> list[Row]:
        """The documents that contain a text, best first, then those that fit its words."""
        from metier.index.search import search_documents  # few questions need it

        return search_documents(self.store, kind, self._searched(kind, text))

    def _searched(self, kind: Kind, text: str) -> "Task":
        """Skills are compared by the user's encoder, if there is one."""
        from metier.core.ranking import Task  # few questions need it

        return self.encoding.task(text) if kind == "skill" else Task(text)

    @checked(
        kind=_A_KIND,
        limit=count(1),
        after=check_text,
        search=check_optional_text,
        capability=check_optional_text,
    )
    def page(
        self,
        kind: Kind,
        *,
        limit: int,
        after: str = "",
        search: str | None = None,
        capability: str | None = None,
    ) -> Page:
        """The first `limit` active documents after the handle `after`.

        With `search` alone they are ranked, exact matches first; else they are in order.
        """
        if search and capability is None:
            from metier.index.search import page_of_search  # few questions need it

            task = self._searched(kind, search)
            return page_of_search(self.store, kind, task, after=after, limit=limit)
        return documents.page_of_documents(
            self.store, kind, limit=limit, after=after, search=search, capability=capability
        )

    @checked(query=instance_with("facets", "a metier.types.Browse"))
    def browse(self, query: "Browse") -> "Browsed":
        """Documents of all kinds by filters, in any order, with the values to filter by."""
        from metier.index.browse import browse  # only pages need it

        return browse(self.store, query)

    def counts(self) -> "list[DocumentCount]":
        """Counts of documents by kind, source and state, with the reasons for exclusions."""
        from metier.index.browse import counts  # only pages need it

        return counts(self.store)

    @checked(name=check_text)
    def skills_by_name(self, name: str) -> list[Row]:
        """The active skills with that name, with or without a team and a plugin before it."""
        return documents.skills_by_name(self.store, name)

    @checked(row=_A_ROW)
    def document(self, row: Row, *, even_held: bool = False) -> "Document":
        """The whole document behind a row, read from its file. Raises `NotFoundError`.

        A skill that waits for a review is returned only if `even_held`, for its review.
        """
        if row.is_held and not even_held:
            raise documents.no_such_document(self.store, row.kind, row.name, self.workspace)
        return read_document(row)

    @checked(row=_A_ROW)
    def file_digests(self, row: Row) -> dict[str, str]:
        """The sha256 of the files of a skill that was reviewed, by name; else empty."""
        from metier.index.review_contents import file_digests  # few skills are reviewed

        return file_digests(self.store, row.path) if row.review else {}

    @checked(row=_A_ROW)
    def package_of(self, row: Row) -> "Package":
        """Where a skill comes from and what came with it, as files beside it say."""
        from metier.discover.packages import package_of  # only `metier show` needs it

        return package_of(row, self.workspace, self._home)

    def skill_roots(self) -> list[Root]:
        """The folders in which skills are looked for."""
        roots = roots_for(self.workspace, self.config, self._home)
        return [root for root in roots if root.kind == "skill"]

    def skill_rows(self) -> list[Row]:
        """Every skill in the catalog, excluded skills too."""
        return documents.select_rows(self.store, "kind = 'skill' ORDER BY path", [])

    def review_counts(self) -> dict[str, int]:
        """How many skills are `reviewed`, `changed`, `held` and `blocked`."""
        sql = "SELECT review, count(*) FROM document WHERE review != '' GROUP BY review"
        return dict(self.store.rows(sql))

    @property
    def reviews(self) -> "Reviews":
        """What was reviewed of the skills, what they are now, and the lock of the workspace."""
        from metier.flow.reviews import Reviews  # few commands need it

        return Reviews(self)

    @checked(name=check_text)
    def reference(self, name: str) -> str:
        """A text that is only read on request. Raises `NotFoundError`."""
        return read_reference(self.workspace, name)

    @checked(search=check_optional_text, capability=check_optional_text)
    def skills(
        self, *, search: str | None = None, capability: str | None = None, shadowed: bool = False
    ) -> list[Row]:
        """Skills by name; `shadowed` adds those hidden by another of the same name."""
        return self._skills.list_skills(search=search, capability=capability, shadowed=shadowed)

    def cards(self) -> "list[Card]":
        """All cards, by id."""
        from metier.index.cards import stored_cards  # a refresh with nothing to do needs none

        return stored_cards(self.store)

    def agents(self) -> "list[AgentProfile]":
        """All agents, disabled agents included."""
        from metier.index.agents import stored_agents  # a refresh with nothing to do needs none

        return stored_agents(self.store)

    @checked(skill=_A_ROW)
    def agents_naming(self, skill: Row) -> list[str]:
        """The ids of the agents whose `skills` name a skill."""
        names = {skill.name, skill.own_name, skill.handle}
        return [one.id for one in self.agents() if not names.isdisjoint(one.skills or ())]

    @checked(kind=_A_KIND)
    def has(self, kind: Kind) -> bool:
        """Whether there is an active document of a kind."""
        sql = "SELECT 1 FROM document WHERE kind = ? AND state = 'active' LIMIT 1"
        return bool(self.store.rows(sql, (kind,)))

    def version(self) -> object:
        """Changes whenever anyone writes to the catalog."""
        return self.store.version()

    @checked(capability=check_text)
    def providers(self, capability: str) -> list[str]:
        """The names of the skills that declare `capability`."""
        return documents.providers(self.store, capability)

    @checked(capability=check_text)
    def consumers(self, capability: str) -> list[str]:
        """The skills whose contracts require `capability`, or use it if available."""
        from metier.index.browse import consumers  # only pages need it

        return consumers(self.store).get(capability, [])

    def capabilities(self) -> list[str]:
        """Every capability that an active skill declares, in ascending order."""
        return documents.capabilities(self.store)

    @checked(file=check_text)
    def rows_of_file(self, file: str) -> list[Row]:
        """The documents in a file, by its real path."""
        return documents.select_rows(self.store, "file = ?", [file])

    @checked(kind=_A_KIND, wanted=check_text)
    def find(self, kind: Kind, wanted: str) -> Sequence[Row]:
        """The documents with that id, or else that name; the active first."""
        return documents.find_documents(self.store, kind, wanted)

    @checked(kind=_A_KIND, wanted=check_text)
    def row(self, kind: Kind, wanted: str) -> Row:
        """The document with that id or name. Raises `NotFoundError`."""
        return documents.require_document(self.store, kind, wanted, self.workspace)

    def find_skill(self, wanted: str) -> Row:
        """The skill with that id, name, folder or path. Raises `NotFoundError`."""
        return self.find_skills(wanted)[0]

    def find_skills(self, wanted: str) -> Sequence[Row]:
        """The skills with that id, else name, else folder or path; the active first.

        Raises `NotFoundError`.
        """
        check_text("skill", wanted)
        rows = self.find("skill", wanted) or documents.skills_in(self.store, wanted)
        return rows or [self.row("skill", wanted)]

    def issues(self, shown: Callable[[str], str] = str) -> list[Issue]:
        """Every finding of the last refresh, by path; `shown` writes paths in messages."""
        issues = [*self.source_issues, *documents.stored_issues(self.store)]
        issues += [shadowed(row, shown) for row in documents.shadowed_documents(self.store)]
        return sorted(issues, key=lambda issue: (issue.path, issue.line, issue.column, issue.code))

    @checked(row=_A_ROW)
    def issues_of(self, row: Row, shown: Callable[[str], str] = str) -> list[Issue]:
        """The findings of one document; `shown` writes paths in messages."""
        own = documents.document_issues(self.store, row.kind, row.path)
        return [*own, shadowed(row, shown)] if row.shadowed_by else own

    def excluded(self, shown: Callable[[str], str] = str) -> list[Exclusion]:
        """Every excluded file, with the reason; `shown` formats paths."""
        return [
            Exclusion.of(
                shown(row.path), row.reason, self.issues_of(row), shown(row.shadowed_by), row.is_off
            )
            for row in documents.excluded_documents(self.store)
        ]

    @checked(kind=_A_KIND)
    def excluded_rows(self, kind: Kind) -> list[Row]:
        """The excluded documents of a kind, by path."""
        return [row for row in documents.excluded_documents(self.store) if row.kind == kind]

    def excluded_of_user(self) -> int:
        """How many excluded files are in the folders of the user's hosts and settings."""
        return documents.count_of_user(self.store, ["excluded"])

    def documents_digest(self) -> str:
        """Equal on machines whose workspaces have equal documents."""
        return documents.documents_digest(self.store)

    @checked(question=instance_with("keeps_prompts", "a metier.types.UsageQuestion"))
    def usage(
        self,
        question: "UsageQuestion",
        *,
        rank: "Rank | None" = None,
        on_progress: "OnProgress | None" = None,
    ) -> "SkillUsage":
        """How hosts used the skills, from their transcripts; counts are stored, prompts never.

        `rank` finds the skill that fits a prompt for which nothing fired.
        """
        from metier.flow.usage import SkillNames, read_usage, usage_of  # few commands need it

        names = SkillNames(self.documents("skill"))
        reading = read_usage(
            names, question, environ=os.environ, rank=rank, on_progress=on_progress
        )
        return usage_of(names, question, reading, self.room)

    def require_file(self) -> None:
        """Raise `UsageError` for a catalog in memory."""
        if self.store.path == IN_MEMORY:
            message = "a catalog in memory has only one connection"
            raise UsageError(message, hint="open a workspace: Catalog.open(FOLDER)")

    def prepare_for_reading(self) -> None:
        """Write what queries would write when first used, for read-only connections."""
        from metier.index.columns import catch_up  # few commands need it

        catch_up(self.store)

    @cached_property
    def examples(self) -> Examples:
        """The examples that teach which document a task is for."""
        return Examples(self.store, self.room, self.workspace, self.config)

    @cached_property
    def encoding(self) -> "Encoding":
        """The user's encoder, if the settings name one."""
        from metier.flow.encoding import Encoding  # a refresh with nothing to do needs none

        return Encoding(
            self.store, self.room, self.workspace, self.config, self.examples,
            lambda encoder: check_encoder(encoder, self.workspace, self.trust),
        )  # fmt: skip

    @checked(
        task=check_text,
        limit=count(1),
        team=check_optional_text,
        required_capabilities=texts("web-search"),
        exclude=texts("standard"),
    )
    def select_agents(
        self,
        task: str,
        limit: int = 3,
        *,
        team: str | None = None,
        required_capabilities: Sequence[str] = (),
        exclude: Collection[str] = (),
    ) -> "list[AgentMatch]":
        """The agents that fit a task, the best first, with the parts of each score.

        Before the first refresh, their `reasons` say that nothing was read yet. Raises
        `UsageError` for a team that neither an agent nor the settings name.
        """
        from metier.select.agents import select_agents  # a refresh with nothing to do needs none

        agents = self.agents()
        if team:
            teams = {one.team for one in agents} | {one.name for one in self.config.teams}
            check_known("team", team, teams - {""}, NO_TEAMS)
        found = select_agents(
            agents, task, limit, team=team,
            required_capabilities=required_capabilities, exclude=exclude,
            chances=self.examples.agent_chances(task),
        )  # fmt: skip
        note = "" if any(one.path for one in agents) else documents.unread_note(self.store)
        return [one._replace(reasons=[*one.reasons, note]) for one in found] if note else found

    def files(self) -> dict[str, str]:
        """The file of every path in documents and findings."""
        return documents.files_by_path(self.store)

    @checked(kind=_A_KIND, wanted=check_text)
    def excluded_path(self, kind: Kind, wanted: str) -> str:
        """The path of the excluded document whose id or name is `wanted`; else empty."""
        return documents.excluded_path(self.store, kind, wanted)

    @checked(kind=_A_KIND)
    def names(self, kind: Kind, *, excluded: bool = False) -> list[str]:
        """Names of skills, ids of other documents; with `excluded`, also of excluded ones."""
        others = documents.excluded_documents(self.store) if excluded else ()
        named = [row.handle for row in others if row.kind == kind]
        return [*documents.names_of(self.store, kind), *named]
