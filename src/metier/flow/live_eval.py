"""Live evaluations: models get a host's listing and the tasks of cases, in a run."""

import re
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from metier.core.budget import CountTokens
from metier.errors import MetierError, NotFoundError, UsageError
from metier.evals.host_tools import HOST_TOOLS
from metier.evals.verdicts import CaseResult, LiveCase, LiveReport
from metier.flow.listing import HostListing
from metier.flow.live_tries import TRY
from metier.listing.rules import Shown
from metier.run.models import Price, ProviderModel
from metier.run.store import RunStore
from metier.values.agents import AgentProfile, Limits
from metier.values.documents import Document
from metier.values.evals import EvalCase
from metier.values.rows import Row
from metier.values.runs import OnEvent, RunRecord, RunResult, StepRecord, Usage
from metier.values.which import Which

if TYPE_CHECKING:
    from metier.flow.running import Agency

AGENT = "metier eval"
"""The agent of these runs; no profile in a file can have this id."""
ATTEMPTS = 3
_TRY_MS = 300_000
_MOST_OUTPUT = 4_096
"""Tokens of one answer."""
_SAMPLED = 20
"""Skills of which an estimate looks at the text."""
_REQUESTS = 2
_OUTPUT = 300
"""What an estimate assumes: two requests a try, and so many tokens in each answer."""
_ALIAS = re.compile(r"- `(r\d+)` = `(.+)`")


class LiveCatalog(Protocol):
    """The parts of a catalog that live evaluations use."""

    @property
    def agency(self) -> "Agency": ...
    @property
    def count_tokens(self) -> CountTokens: ...
    def require_trust(self, what: str) -> None: ...
    def listing(self, host: str, context: int | None = None) -> HostListing: ...
    def skill_meant(self, wanted: str) -> Row: ...
    def document(self, row: Row) -> Document: ...
    def which(self, task: str, *, host: str | None, everything: bool) -> Which: ...


class LiveSettings(NamedTuple):
    """How cases are asked."""

    model: str
    host: str
    tries: int = 3
    concurrency: int = 5
    max_cost: float | None = None
    context: int | None = None
    """Tokens of the model's context, for hosts whose listing depends on it."""
    backoff_ms: int = 1_000
    """Before the second attempt at a try; doubled before the third."""


class Estimate(NamedTuple):
    """About what an evaluation will take."""

    cases: int
    tries: int
    requests: int
    usage: Usage
    price: Price | None

    @property
    def cost(self) -> float | None:
        """In US dollars; None if no price is known."""
        return self.price.cost(self.usage) if self.price is not None else None

    def to_json(self) -> dict[str, Any]:
        return {
            "cases": self.cases,
            "tries": self.tries,
            "requests": self.requests,
            "inputTokens": self.usage.input_tokens,
            "outputTokens": self.usage.output_tokens,
            "cost": self.cost,
        }


class LivePlan(NamedTuple):
    """An evaluation that is ready to start."""

    profile: AgentProfile
    input: Mapping[str, Any]
    settings: LiveSettings
    estimate: Estimate
    notes: Sequence[str]

    @property
    def task(self) -> str:
        count, settings = len(self.input["cases"]), self.settings
        return f"{count} cases, {settings.tries} tries each, listed as in {settings.host}"


def planned(catalog: LiveCatalog, cases: Sequence[EvalCase], settings: LiveSettings) -> LivePlan:
    """Everything that an evaluation needs, and what it will cost. Raises `UsageError`.

    Cases that say nothing about skills, and cases that teach, are left out.
    """
    catalog.require_trust("asking a model")
    check_model(catalog.agency, settings.model)
    price = _price(catalog.agency, settings)
    listing = catalog.listing(settings.host, settings.context)
    wanted = [one for one in cases if _is_about_skills(one) and not one.training]
    if not wanted:
        raise UsageError("no case expects or forbids a skill", hint="metier eval --help")
    skills = _Skills(catalog, settings.host)
    asked = [skills.case(one) for one in wanted]
    given = _input(listing, settings, asked, skills.shown)
    profile = _profile(listing.listing.rendered(), settings, len(asked))
    notes = _notes(len(cases) - len(wanted), skills.unknown, given, asked)
    estimate = _estimate(catalog, profile, given, settings, price)
    return LivePlan(profile, given, settings, estimate, notes)


def check_model(agency: "Agency", name: str) -> None:
    """Raise `UsageError` or `ModelError` for a model that cannot be asked."""
    model = agency.model(name)
    if isinstance(model, ProviderModel):
        model.ready()


def _price(agency: "Agency", settings: LiveSettings) -> Price | None:
    price = agency.price(settings.model)
    if price is None and settings.max_cost is not None:
        provider, _, model = settings.model.partition(":")
        raise UsageError(
            f"--max-cost needs the price of '{settings.model}', which is not known",
            hint=f'set [models.{provider}.prices] "{model}" = {{ input = …, output = … }}, '
            "in dollars per million tokens",
        )
    return price


def _is_about_skills(case: EvalCase) -> bool:
    return bool(case.skills or case.not_skills or case.nothing) or case.most is not None


class _Skills:
    """Finds the skills that cases name."""

    def __init__(self, catalog: LiveCatalog, host: str) -> None:
        self._catalog = catalog
        self._host = host
        self._known: dict[str, str] = {}
        self.shown: dict[str, str] = {}
        self.unknown: dict[str, None] = {}

    def case(self, case: EvalCase) -> LiveCase:
        found = self._catalog.which(case.task, host=self._host, everything=False)
        self.shown.update({one.path: one.name for one in found.named})
        return LiveCase(
            task=case.task,
            right=tuple(map(self._path, case.skills)),
            wrong=tuple(map(self._path, case.not_skills)),
            nothing=case.nothing,
            every=case.every,
            most=case.most,
            offline=tuple(one.path for one in found.named),
            file=case.file,
            number=case.number,
        )

    def _path(self, name: str) -> str:
        """The path of a skill; its name if there is none."""
        if name not in self._known:
            try:
                row = self._catalog.skill_meant(name)
                self._known[name] = row.path
                self.shown[row.path] = row.handle
            except NotFoundError:
                self._known[name] = name
                self.unknown[name] = None
        return self._known[name]


def _input(
    listing: HostListing, settings: LiveSettings, cases: Sequence[LiveCase], shown: dict[str, str]
) -> dict[str, Any]:
    """What the run stores: cases, and by which names and files skills are loaded."""
    entries = [
        (entry, listing.by_id[id(entry.skill)].row.path)
        for entry in listing.listing.entries
        if id(entry.skill) in listing.by_id and entry.state != "invisible"
    ]
    names = {**shown}
    for entry, path in entries:
        names.setdefault(path, entry.name)
    return {
        "host": settings.host,
        "tries": settings.tries,
        "cases": [one.to_json() for one in cases],
        "names": _names(entries),
        "files": _files(entries, listing.listing.lines),
        "shown": names,
    }


def _names(entries: Sequence[tuple[Shown, str]]) -> dict[str, str]:
    """As the listing shows it, then by its folder, then by its front matter."""
    found: dict[str, str] = {}
    pairs = [(entry.name, path) for entry, path in entries]
    pairs += [(entry.skill.folder, path) for entry, path in entries]
    pairs += [(entry.skill.name, path) for entry, path in entries]
    for name, path in pairs:
        found.setdefault(name.lower(), path)
    found.pop("", None)
    return found


def _files(entries: Sequence[tuple[Shown, str]], lines: Sequence[str]) -> dict[str, str]:
    """With short names for folders, where the listing has them."""
    found = {entry.skill.path.lower(): path for entry, path in entries}
    aliases = [match.groups() for line in lines if (match := _ALIAS.fullmatch(line))]
    for alias, root in aliases:
        for entry, path in entries:
            if entry.skill.path.startswith(f"{root}/"):
                short = entry.skill.path.removeprefix(f"{root}/")
                found.setdefault(f"{alias}/{short}".lower(), path)
    return found


def _profile(listing: str, settings: LiveSettings, cases: int) -> AgentProfile:
    """A profile with one step for each try; first tries come first."""
    retry = {"maxAttempts": ATTEMPTS, "backoffMs": settings.backoff_ms}
    limits = {} if settings.max_cost is None else {"cost": settings.max_cost}
    return AgentProfile.of(
        {
            "agentId": AGENT,
            "description": "Asks a model the tasks of evaluation cases.",
            "systemPrompt": listing,
            "maxTokens": _MOST_OUTPUT,
            "execution": "parallel",
            "maxConcurrency": settings.concurrency,
            "failureStrategy": "continueOnError",
            "checkpoint": {"enabled": False},
            "limits": limits,
            "workflow": [
                {
                    "stepId": step_id(case, number),
                    "type": TRY,
                    "config": {"case": case},
                    "timeoutMs": _TRY_MS,
                    "retryPolicy": retry,
                }
                for number in range(settings.tries)
                for case in range(cases)
            ],
        }
    )


def step_id(case: int, number: int) -> str:
    """Both from 0; shown from 1."""
    return f"case-{case + 1}-try-{number + 1}"


def _notes(
    skipped: int, unknown: Mapping[str, None], given: Mapping[str, Any], cases: Sequence[LiveCase]
) -> list[str]:
    notes = []
    if skipped:
        left_out = "1 case is" if skipped == 1 else f"{skipped} cases are"
        notes.append(f"{left_out} left out: about no skill, or there to teach")
    if unknown:
        notes.append(f"not in the catalog: {', '.join(unknown)}")
    listed = set(given["names"].values())
    right = {path for one in cases for path in one.right} - set(unknown)
    if unlisted := sorted(given["shown"][path] for path in right - listed):
        notes.append(f"{given['host']} does not show the model: {', '.join(unlisted)}")
    return notes


def _estimate(
    catalog: LiveCatalog,
    profile: AgentProfile,
    given: Mapping[str, Any],
    settings: LiveSettings,
    price: Price | None,
) -> Estimate:
    """Two requests a try, the second with the text of a skill."""
    count, cases = catalog.count_tokens, given["cases"]
    tools = "\n".join(map(str, HOST_TOOLS[settings.host].specs))
    base = count(profile.system_prompt) + count(tools)
    tasks = sum(count(one["task"]) for one in cases)
    body = _mean_tokens(catalog, sorted(set(given["names"].values())))
    tries = len(cases) * settings.tries
    asked = tries * (_REQUESTS * base + body) + _REQUESTS * tasks * settings.tries
    requests = tries * _REQUESTS
    return Estimate(len(cases), tries, requests, Usage(asked, requests * _OUTPUT), price)


def _mean_tokens(catalog: LiveCatalog, paths: Sequence[str]) -> int:
    """Of the texts of some skills."""
    step = max(1, len(paths) // _SAMPLED)
    sizes = []
    for path in paths[::step][:_SAMPLED]:
        try:
            row = catalog.skill_meant(path)
            sizes.append(catalog.count_tokens(catalog.document(row).body))
        except MetierError:  # it has changed since the refresh
            continue
    return round(mean(sizes)) if sizes else 0


# The run


async def start(catalog: LiveCatalog, plan: LivePlan, on_event: OnEvent | None = None) -> RunResult:
    """Ask everything. Every outcome but misuse is a result."""
    catalog.require_trust("asking a model")
    agency = catalog.agency
    return await agency.runner.run(
        plan.profile, plan.task, input=plan.input, model=plan.settings.model,
        documents=agency.documents(), on_event=on_event,
    )  # fmt: skip


async def resume(
    catalog: LiveCatalog,
    run_id: str,
    *,
    max_cost: float | None = None,
    on_event: OnEvent | None = None,
) -> RunResult:
    """Ask what has no answer yet; `max_cost` includes what earlier tries cost."""
    catalog.require_trust("asking a model")
    run = eval_run(catalog.agency.store, run_id)
    check_model(catalog.agency, run.request["model"])
    limits = Limits(cost=max_cost) if max_cost is not None else None
    return await catalog.agency.runner.resume(run.run_id, limits=limits, on_event=on_event)


def eval_run(store: RunStore, run_id: str) -> RunRecord:
    """The run of a live evaluation. Raises `NotFoundError`, or `UsageError` for another run."""
    run = store.run(run_id)
    if run.agent_id != AGENT:
        hint = f"metier runs resume {run.run_id}"
        raise UsageError(f"run '{run.run_id}' is not a live evaluation", hint=hint)
    return run


def report_of(run: RunRecord, steps: Sequence[StepRecord]) -> LiveReport:
    """What the tries of a run found, also of one that has not ended."""
    given, known = run.request["input"], {one.id: one for one in steps}
    results = []
    for number, data in enumerate(given["cases"]):
        ids = [step_id(number, one) for one in range(given["tries"])]
        tries = [known[one] for one in ids if one in known]
        loaded = [one.output["loaded"] for one in tries if one.state == "succeeded"]
        errors = sum(map(_is_error, tries))
        rest = given["tries"] - len(loaded) - errors
        results.append(CaseResult.of(LiveCase.of(data), loaded, errors, rest))
    return LiveReport(
        model=run.request["model"], host=given["host"], results=results, shown=given["shown"]
    )


def _is_error(step: StepRecord) -> bool:
    """Whether the model gave no answer; a limit of the run is none of its errors."""
    limit = step.failure is not None and step.failure.code == "RUN_LIMIT_EXCEEDED"
    return step.state == "failed" and not limit
