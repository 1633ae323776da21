"""Resolutions over a catalog: candidates, aliases, history and probes."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

from metier.config import ALIAS_FILE, Config
from metier.core.arguments import (
    check_choice,
    check_count,
    check_flag,
    check_optional_text,
    check_path,
    check_text,
    check_texts,
    wrong_argument,
)
from metier.core.arrays import Arrays, arrays_for, plain_arrays
from metier.core.nearest import did_you_mean, nearest_name, suggestion
from metier.core.timestamps import new_id, now_iso
from metier.errors import NotFoundError, UsageError
from metier.hosts import honours_the_switch
from metier.index.columns import NO_SKILLS, SkillReader, Skills, excluded_skills
from metier.index.documents import (
    find_documents,
    list_hint,
    manual_providers,
    names_of,
    unread_note,
)
from metier.index.postings import LABEL, PROSE, stem_postings
from metier.index.store import Store
from metier.resolve import AliasTable, AliasTables, Pool, Resolution
from metier.resolve.aliases import builtin_aliases, only_builtin, read_alias_table
from metier.resolve.engine import Inputs, run
from metier.resolve.pool import Candidates, StoredStems
from metier.resolve.reliability import History, OutcomeStore, Reliability
from metier.resolve.report import RunFacts, SourceCount
from metier.values.candidates import Candidate
from metier.values.contracts import MODES
from metier.values.outcomes import Issue
from metier.values.resolution import Probe, ResolveRequest

_SPEAKING = 8
"""The work for a skill with claims, compared with a skill without."""
SOURCE_GROUPS = ("workspace-local", "runtime-installed", "external-mounts")


class Resolver:
    """Resolves requests against one catalog."""

    def __init__(
        self,
        store: Store,
        workspace: str,
        config: Config,
        check_files: Callable[[Sequence[str], str], None] = lambda _argv, _folder: None,
        outcomes: OutcomeStore | None = None,
    ) -> None:
        """`check_files` is called before a probe of the workspace starts, with its argv.

        Without `outcomes` the history is the workspace's file.
        """
        self._check_files = check_files
        self._store = store
        self._workspace = workspace
        self._config = config
        self._reliability = outcomes or Reliability(workspace, is_kept=config.is_trusted)
        self._reader = SkillReader(store)
        self._skills = NO_SKILLS
        """All included skills, shadowed ones too."""
        self._chosen: dict[bool, Skills] = {}
        """The skills with and without the manual ones."""
        self._any_manual = False
        """Whether only the user starts any of them."""
        self._work = 0
        self._pools: dict[bool, Pool] = {}
        """The candidates, with and without the manual skills."""
        self._discovery: dict[bool, tuple[list[SourceCount], dict[str, int]]] = {}

    def resolve(self, request: ResolveRequest) -> Resolution:
        """Raises `UsageError` when nothing is required, `NotFoundError` for a consumer."""
        _check(request)
        aliases, issues = self._aliases(request.alias_file)
        history = self._reliability.history()

        def current() -> Resolution:
            only, wanted = request.only, request.consumer
            with_manual = (
                only is not None or not self._any_manual or not honours_the_switch(request.host)
            )
            arrays = self._arrays(len(request.requires) + len(request.query.split()))
            inputs = Inputs(
                pool=self._pool_for(with_manual, arrays)
                if only is None
                else self._among(only, arrays),
                consumer=self._consumer(wanted) if wanted is not None else None,
                aliases=aliases,
                history=history.rates,
                probes=self._probes(),
                facts=self._facts(history, issues, request.team, with_manual),
            )
            found = run(request, inputs)
            if with_manual:
                return found
            return found.with_disabled(partial(manual_providers, self._store))

        with self._reader.snapshot() as skills:
            self._use(skills)
            return current()

    def _facts(
        self, history: History, issues: Sequence[Issue], team: str, with_manual: bool
    ) -> RunFacts:
        moment = now_iso()
        if with_manual not in self._discovery:
            self._discovery[with_manual] = self._counts(self._skills_for(with_manual))
        sources, excluded = self._discovery[with_manual]
        warnings = [*self._misuse(team)]
        warnings += [f"{one.path}:{one.line}: {one.message}" for one in issues]
        return RunFacts(
            run_id=new_id(moment),
            generated_at=f"{moment[:19]}+00:00",
            sources=sources,
            excluded=excluded,
            history_state=history.state,
            samples=history.samples,
            warnings=[*warnings, *([history.warning] if history.warning else [])],
        )

    def _misuse(self, team: str) -> Iterator[str]:
        """A catalog that was never refreshed, and a team that does not exist."""
        if not self._skills.ids and (note := unread_note(self._store)):
            yield note
        elif team:
            known = {*self._skills.teams.values(), *(one.name for one in self._config.teams)}
            if team not in known:
                yield f"no team is called '{team}': {did_you_mean(team, known, 'docs/teams.md')}"

    def _use(self, skills: Skills) -> None:
        """Drop what was made of other skills."""
        if skills is not self._skills:
            self._skills = skills
            self._any_manual = any(skills.manual)
            self._chosen = {True: skills}
            self._pools = {}
            self._discovery = {}

    def _skills_for(self, with_manual: bool) -> Skills:
        if with_manual not in self._chosen:
            manual = self._skills.manual
            self._chosen[with_manual] = self._skills.where([not one for one in manual])
        return self._chosen[with_manual]

    def _pool_for(self, with_manual: bool, arrays: Arrays | None = None) -> Pool:
        pool = self._pools.get(with_manual)
        if pool is None:
            pool = self._pool_of(self._skills_for(with_manual), arrays or plain_arrays())
        elif arrays not in (None, pool.arrays):
            pool = pool.with_arrays(arrays)
        self._pools[with_manual] = pool
        return pool

    def _among(self, names: Collection[str], arrays: Arrays) -> Pool:
        """The candidates with one of these names or ids."""
        skills = self._skills
        wanted = [
            any(name in names for name in skills.names(number)) for number in range(len(skills.ids))
        ]
        return self._pool_of(skills.where(wanted), arrays)

    def _arrays(self, wanted: int) -> Arrays:
        """Plain arrays, until so much was asked that it pays to load numpy."""
        skills = self._skills
        self._work += wanted * (len(skills.keys) + _SPEAKING * len(skills.speaking))
        return arrays_for(self._work)

    def _pool_of(self, skills: Skills, arrays: Arrays) -> Pool:
        stems = StoredStems(
            skills.keys,
            skills.lengths,
            skills.distinct,
            skills.distinct_in_label,
            partial(stem_postings, self._store, PROSE),
            partial(stem_postings, self._store, LABEL),
        )
        return Pool(
            Candidates(
                ids=skills.ids,
                build=skills.candidate,
                speaking=skills.numbers_of(skills.speaking).keys(),
                teams=skills.numbers_of(skills.teams),
                stems=stems,
            ),
            arrays,
        )

    def record(self, candidate: str, *, success: bool) -> History:
        """Record an outcome of a candidate. Raises `NotFoundError` and `UsageError`."""
        check_text("candidate", candidate)
        check_flag("success", success)
        return self._reliability.record(self.candidate(candidate).id, success=success)

    def candidate(self, wanted: str) -> Candidate:
        """The candidate with that name or id. Raises `NotFoundError`."""
        with self._reader.snapshot() as skills:
            self._use(skills)
            return self._candidate(wanted)

    def _consumer(self, wanted: str) -> Candidate:
        """The consumer; an untrusted team does not come before the user's own skills."""
        found = self._candidate(wanted)
        return found if self._config.is_trusted else found._replace(team="")

    def _candidate(self, wanted: str) -> Candidate:
        pool = self._pool_for(True)
        for row in find_documents(self._store, "skill", wanted):
            if row.id in pool.places:
                return pool.candidates[pool.places[row.id]]
        near = nearest_name(wanted, names_of(self._store, "skill"))
        raise NotFoundError(
            f"no skill is called '{wanted}'",
            where=self._workspace,
            hint=suggestion(near, list_hint(self._store, "skill")),
        )

    def _counts(self, skills: Skills) -> tuple[list[SourceCount], dict[str, int]]:
        """How many skills each source has, and how many are excluded for each reason."""
        discovered = Counter(self._skills.sources)
        included = Counter(skills.sources) if skills is not self._skills else discovered.copy()
        reasons: Counter[str] = Counter()
        disabled = len(self._skills.keys) - len(skills.keys)
        if disabled:
            reasons["disabled"] = disabled
        for source, reason, count in excluded_skills(self._store):
            discovered[source] += count
            reasons[reason] += count
        groups = {group: SourceCount(group, 0, 0) for group in SOURCE_GROUPS}
        for source, count in discovered.items():
            group = self._group_of(source)
            _, before, among = groups[group]
            groups[group] = SourceCount(group, before + count, among + included[source])
        return list(groups.values()), dict(reasons)

    def _group_of(self, source: str) -> str:
        if source == "workspace":
            return "workspace-local"
        is_mount = any(mount.label == source for mount in self._config.mounts)
        return "external-mounts" if is_mount else "runtime-installed"

    def _aliases(self, runtime: str | os.PathLike[str] | None) -> tuple[AliasTables, list[Issue]]:
        """The tables in force; a broken table is reported and ignored."""
        if runtime is not None and not os.path.isfile(runtime):
            raise UsageError("no such alias table", where=os.fspath(runtime))
        files = [(os.fspath(runtime), "runtime", os.fspath(runtime))] if runtime is not None else []
        own = os.path.join(self._workspace, ALIAS_FILE)
        if self._config.is_trusted and os.access(own, os.F_OK):
            files.append((own, "workspace", ALIAS_FILE))
        tables: list[AliasTable] = []
        issues: list[Issue] = []
        for path, source, shown in files:
            table, problems = read_alias_table(path, source, shown)
            issues += problems
            tables += [table] if table is not None else []
        if not tables:
            return only_builtin(), issues
        return AliasTables([*tables, builtin_aliases()]), issues

    def _probes(self) -> dict[str, Probe]:
        if not self._config.probes:
            return {}
        from metier.resolve.probes import CommandProbe  # starting processes loads a lot

        return {
            probe.capability: CommandProbe(
                probe.argv,
                probe.timeout,
                self._workspace,
                None if probe.is_users else partial(self._check_files, probe.argv, ""),
            )
            for probe in self._config.probes
        }


def _check(request: ResolveRequest) -> None:
    """Raise `UsageError` for an argument of another type, and for an empty name."""
    requires = request.requires
    if isinstance(requires, str) or not isinstance(requires, Collection):
        check_texts("requires", requires, "web-search")
    for one in requires:
        if not isinstance(one, str):
            check_texts("requires", requires, "web-search")
        elif not one.strip():
            message = "the name of a required capability is empty"
            raise UsageError(message, hint="write a name such as web-search")
    if not isinstance(request.query, str):
        raise wrong_argument("query", "a string", request.query)
    if request.mode not in (None, *MODES):
        check_choice("mode", request.mode, MODES)
    if not isinstance(request.policy, Mapping):
        raise wrong_argument("policy", "a mapping of strings", request.policy)
    if type(request.depth) is not int or request.depth < 0:
        check_count("depth", request.depth)
    if request.only is not None:
        check_texts("only", request.only, "pdf-tables")
    for name, given in (("consumer", request.consumer), ("host", request.host)):
        if given is not None and not isinstance(given, str):
            check_optional_text(name, given)
    if not isinstance(request.team, str):
        check_text("team", request.team)
    if request.alias_file is not None:
        check_path("alias_file", request.alias_file)
    for name, called in (("decide", request.decide), ("may_probe", request.may_probe)):
        if called is not None and not callable(called):
            raise wrong_argument(name, "a function", called)


def outcomes_problem(workspace: str) -> str:
    """Why outcomes of skills cannot be read or kept in a trusted workspace; empty if they can."""
    return Reliability(workspace).history().warning
