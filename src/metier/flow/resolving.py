"""The resolver over a catalogue: candidates, aliases, history, probes → a resolution."""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, get_args

from metier.config import ALIAS_FILE, Config
from metier.core.names import canonical_id
from metier.core.nearest import nearest, nearest_name
from metier.core.process import without_garbage_collection
from metier.core.timestamps import new_id, now_iso
from metier.errors import NotFoundError, UsageError
from metier.hosts.switches import honours_the_switch
from metier.index.documents import find_documents, folder_of, manual_providers, names_of
from metier.index.stems import LABEL, PROSE, catch_up, is_caught_up, stem_postings
from metier.index.store import Store
from metier.parse.candidates import candidate_of
from metier.resolve import AliasTable, AliasTables, Pool, Resolution, resolve
from metier.resolve.aliases import read_alias_table
from metier.resolve.builtin import builtin_aliases, only_builtin
from metier.resolve.missing import Decision, settle_missing
from metier.resolve.pool import Candidates, PoolWords
from metier.resolve.reliability import History, Reliability
from metier.resolve.report import RunFacts, SourceCount, on_missing_action
from metier.resolve.results import Decide, MayProbe, Probe
from metier.resolve.words import WordsOnDemand
from metier.safety.escapes import escaped_json
from metier.storage.room import Room
from metier.values.candidates import Candidate
from metier.values.contracts import Mode
from metier.values.outcomes import Issue

REPORTS = "reports"
MOST_REPORTS = 100
REPORT_NAME = re.compile(r"[0-9]{8}T[0-9]{6}\.[0-9]{6}-[0-9a-f]{4}\.json\Z")
"""The names of reports; nothing else in their folder is read or deleted."""
_TELLS = " OR ".join(
    f"instr(data, '\"{key}\"')" for key in ("capabilities", "contract", "compatibility")
)
"""Whether front matter says more than name and description do: so the catalogue has an index."""
SOURCE_GROUPS = ("workspace-local", "runtime-installed", "external-mounts")


CheckFiles = Callable[[Sequence[str], str], None]


def _nothing_to_check(_argv: Sequence[str], _folder: str) -> None:
    """For probes that are all the user's own."""


class _Row(NamedTuple):
    """What the catalogue knows of one skill."""

    name: str
    folder: str
    source: str
    data: str | None
    """Its front matter, if that says more than name and description do."""
    is_manual: bool
    """Whether only the user starts it."""
    sizes: Sequence[int]
    """Its key, and how many stems it has."""

    @property
    def canonical_id(self) -> str:
        return canonical_id(self.name, self.folder)


class Resolver:
    """Resolves requirements against what one catalogue knows."""

    def __init__(
        self,
        store: Store,
        workspace: str,
        config: Config,
        room: Room | None = None,
        check_files: CheckFiles = _nothing_to_check,
    ) -> None:
        """`room` is where reports are kept; without one none is.

        `check_files` is called with the command line of a probe of the workspace before it starts.
        """
        self._check_files = check_files
        self._store = store
        self._workspace = workspace
        self._config = config
        self._reports = room.below(REPORTS) if room is not None else None
        self._reliability = Reliability(workspace, is_kept=config.is_trusted)
        self._rows: list[_Row] = []
        """All included skills, hidden ones too."""
        self._any_manual = False
        """Whether only the user starts any of them."""
        self._version: tuple[int, ...] | None = None
        self._pools: dict[bool, Pool] = {}
        """The candidates, with and without the skills that only the user starts."""
        self._discovery: dict[bool, tuple[list[SourceCount], dict[str, int]]] = {}
        """What was counted, with and without the skills that only the user starts."""

    def resolve(
        self,
        requires: Sequence[str],
        query: str,
        *,
        consumer: str | None,
        mode: Mode | None,
        policy: Mapping[str, str],
        alias_file: str | None,
        host: str | None,
        decide: Decide | None,
        may_probe: MayProbe | None,
        divergence: bool,
        depth: int,
        only: Collection[str] | None = None,
    ) -> Resolution:
        """Resolve. Raises `UsageError` when nothing is required, `NotFoundError` for a consumer."""
        tables, issues = self._aliases(alias_file)
        history = self._reliability.history()

        def run() -> Resolution:
            is_whole = only is not None or not honours_the_switch(host) or not self._any_manual
            made = resolve(
                self._among(only) if only is not None else self._pool_for(is_whole),
                requires,
                query,
                consumer=self._candidate(consumer) if consumer is not None else None,
                mode=mode,
                policy=policy,
                aliases=tables,
                history=history.rates,
                host=host,
                probes=self._probes(),
                may_probe=may_probe,
                decide=decide,
                divergence=divergence,
                depth=depth,
                facts=self._facts(history, issues, is_whole),
            )
            if is_whole:
                return made
            return made.with_disabled(partial(manual_providers, self._store))

        with self._store.snapshot():
            if self._version == self._store.version():
                return run()
        self._catch_up()
        with self._store.snapshot():
            self._read()
            return run()

    def _facts(self, history: History, issues: Sequence[Issue], is_whole: bool) -> RunFacts:
        moment = now_iso()
        if is_whole not in self._discovery:
            self._discovery[is_whole] = self._counts(self._rows_for(is_whole))
        sources, excluded = self._discovery[is_whole]
        warnings = [f"{one.path}:{one.line}: {one.message}" for one in issues]
        return RunFacts(
            run_id=new_id(moment),
            generated_at=f"{moment[:19]}+00:00",
            sources=sources,
            excluded=excluded,
            history_state=history.state,
            samples=history.samples,
            warnings=[*warnings, *([history.warning] if history.warning else [])],
        )

    def _catch_up(self) -> None:
        """See to it that the stems of all skills are known; nothing to do when nothing changed."""
        if self._version != self._store.version():
            catch_up(self._store)

    def _read(self) -> None:
        """Read the included skills again if anybody has written."""
        version = self._store.version()
        if self._version != version:
            with without_garbage_collection():
                self._rows = self._read_rows()
                self._any_manual = any(row.is_manual for row in self._rows)
            self._pools = {}
            self._discovery = {}
            is_complete = is_caught_up(self._store)  # else somebody has just added a skill
            self._version = version if is_complete else None

    def _read_rows(self) -> "list[_Row]":
        rows = self._store.rows(
            "SELECT name, path, source, manual, key, prose, prose_distinct, label_distinct"
            " FROM document JOIN skill_size USING (key)"
            " WHERE kind = 'skill' AND state IN ('active', 'shadowed')"
        )
        telling = dict(self._store.rows(f"SELECT key, data FROM document WHERE {_TELLS}"))
        with self._store.checked():
            return [
                _Row(name, folder_of(path), source, telling.get(sizes[0]), bool(manual), sizes)
                for name, path, source, manual, *sizes in rows
            ]

    def _pool_for(self, is_whole: bool) -> Pool:
        """The candidates, with those that only the user starts or without them."""
        if is_whole not in self._pools:
            with without_garbage_collection():
                self._pools[is_whole] = self._pool_of(self._rows_for(is_whole))
        return self._pools[is_whole]

    def _rows_for(self, is_whole: bool) -> "list[_Row]":
        return self._rows if is_whole else [row for row in self._rows if not row.is_manual]

    def _among(self, names: Collection[str]) -> Pool:
        """The candidates that have one of these names or ids."""
        return self._pool_of(
            [row for row in self._rows if row.name in names or row.canonical_id in names]
        )

    def _pool_of(self, rows: "Sequence[_Row]") -> Pool:
        def build(number: int) -> Candidate:
            name, folder, source, data, *_ = rows[number]
            with self._store.checked():
                return candidate_of(name, folder, source, json.loads(data) if data else {})

        with self._store.checked():
            candidates = Candidates(
                ids=[row.canonical_id for row in rows],
                build=build,
                speaking=frozenset(number for number, row in enumerate(rows) if row.data),
            )
        return Pool(candidates, lambda pool: self._words([rows[one].sizes for one in pool.given]))

    def _words(self, sizes: Sequence[Sequence[int]]) -> PoolWords:
        """The stems of the skills of these sizes, looked up in the catalogue when needed."""
        columns = zip(*sizes, strict=True) if sizes else [()] * 4
        keys, prose, prose_distinct, label_distinct = columns
        return PoolWords(
            WordsOnDemand(
                lambda stem: stem_postings(self._store, PROSE, stem), keys, prose, prose_distinct
            ),
            WordsOnDemand(
                lambda stem: stem_postings(self._store, LABEL, stem),
                keys,
                label_distinct,
                label_distinct,
            ),
        )

    def record(self, candidate: str, *, success: bool) -> History:
        """Add an outcome to the history of a candidate. Raises `NotFoundError`."""
        return self._reliability.record(self.candidate(candidate).id, success=success)

    def candidate(self, wanted: str) -> Candidate:
        """The candidate with that name or id. Raises `NotFoundError`."""
        self._catch_up()
        self._read()
        return self._candidate(wanted)

    def _candidate(self, wanted: str) -> Candidate:
        pool = self._pool_for(True)
        for row in find_documents(self._store, "skill", wanted):
            if row.id in pool.places:
                return pool.candidates[pool.places[row.id]]
        near = nearest_name(wanted, names_of(self._store, "skill"))
        raise NotFoundError(
            f"no skill is called '{wanted}'",
            where=self._workspace,
            hint=f"did you mean '{near}'?" if near else "metier list skills",
        )

    def _counts(self, rows: "Sequence[_Row]") -> tuple[list[SourceCount], dict[str, int]]:
        """How many skills were met where, and how many were left out for which reason."""
        included = Counter(row.source for row in rows)
        discovered = Counter(row.source for row in self._rows)
        reasons: Counter[str] = Counter()
        if len(rows) < len(self._rows):
            reasons["disabled"] = len(self._rows) - len(rows)
        for source, reason, count in self._store.rows(
            "SELECT source, reason, count(*) FROM document"
            " WHERE kind = 'skill' AND state = 'excluded' GROUP BY 1, 2"
        ):
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

    def _aliases(self, runtime: str | None) -> tuple[AliasTables, list[Issue]]:
        """The tables in force; one that is broken does not count, and the others do."""
        if runtime is not None and not os.path.isfile(runtime):
            raise UsageError("there is no such alias table", where=runtime)
        files = [(runtime, "runtime", runtime)] if runtime is not None else []
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

    # Reports

    def keep(self, resolution: Resolution, *, full: bool) -> str:
        """Write the report of a resolution; its file, or nothing where nothing can be written."""
        report = resolution.full_report() if full else resolution.report
        if self._reports is None:
            return ""
        name = f"{resolution.facts.run_id}.json"
        try:
            self._reports.write(name, _bytes(report.to_json()))
            for old in self.run_ids()[:-MOST_REPORTS]:
                self._reports.remove(f"{old}.json")
        except OSError:
            return ""
        return self._reports.file(name)

    def run_ids(self) -> list[str]:
        """The runs whose report is kept, the latest last."""
        try:
            names = self._reports.names() if self._reports is not None else []
        except OSError:
            return []
        return sorted(name.removesuffix(".json") for name in names if REPORT_NAME.match(name))

    def report(self, run_id: str) -> dict[str, Any]:
        """A report that was kept. Raises `NotFoundError`."""
        try:
            if self._reports is None or not REPORT_NAME.match(f"{run_id}.json"):
                raise ValueError(run_id)
            data: dict[str, Any] = json.loads(self._reports.read(f"{run_id}.json"))
            if data["run_id"] == run_id:
                return data
            raise ValueError(run_id)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            near = nearest(run_id, self.run_ids())
            hint = f"did you mean '{near}'?" if near else "metier report list"
            raise NotFoundError(f"no report '{run_id}'", hint=hint) from None

    def decide(self, run_id: str, decision: Decision) -> dict[str, Any]:
        """Complete a resolution that waits for a decision; `UsageError` when it does not wait."""
        if decision not in get_args(Decision):
            raise UsageError(f"'{decision}' is no decision", hint=", ".join(get_args(Decision)))
        report = self.report(run_id)
        action = report["on_missing_required_action"]
        if action["outcome"] != "pending-decision":
            outcome = action["outcome"]
            raise UsageError(f"report '{run_id}' does not wait for a decision: it is {outcome}")
        unresolved = report["unresolved_required_capabilities"]
        outcome = settle_missing("offer-emulation", unresolved, True, decision)
        report["on_missing_required_action"] = on_missing_action(outcome)
        report["degraded_mode"] = outcome.is_degraded
        report["emulated_capabilities"] = list(outcome.emulated)
        chosen = report["diagnostics"]["chosen"]
        report["selected"] = list(chosen) if outcome.keeps_selection else []
        for row in report["candidates"]:
            row["selected"] = row["id"] in report["selected"]
        text = escaped_json(json.dumps(report, indent=2, ensure_ascii=False))
        if self._reports is not None:
            self._reports.write(f"{run_id}.json", _bytes(text))
        return report


def _bytes(text: str) -> bytes:
    return f"{text}\n".encode(errors="backslashreplace")
