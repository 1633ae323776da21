"""Live evaluations: models get a host's listing and the tasks of cases, in a run."""

import re
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from metier.core.budget import CountTokens
from metier.errors import MetierError, UsageError
from metier.evals.host_tools import HOST_TOOLS
from metier.evals.verdicts import LiveCase
from metier.evals.verdicts import LiveReport as LiveReport
from metier.evals.verdicts import LiveResult as LiveResult
from metier.flow.listing import HostListing
from metier.flow.live_tries import TRY
from metier.listing.rules import Shown
from metier.run.models import Price, ProviderModel
from metier.run.models.prices import price_hint
from metier.run.store import RunStore
from metier.values.agents import AgentProfile, Limits
from metier.values.documents import Document
from metier.values.evals import LIVE_AGENT, CaseResult, Evaluation
from metier.values.files import Kind
from metier.values.rows import Row
from metier.values.runs import OnEvent, RunRecord, RunResult, StepRecord, Usage

if TYPE_CHECKING:
    from metier.flow.running import Agency

ATTEMPTS = 3
MOST_TRIES = 10_000
_TRY_MS = 300_000
_MOST_OUTPUT = 4_096
"""Tokens of one answer."""
_SAMPLED = 20
"""Skills of which an estimate looks at the text."""
_REQUESTS = 2
_OUTPUT = 300
"""What an estimate assumes: two requests a try, and this many tokens in each answer."""
_ALIAS = re.compile(r"- `(r\d+)` = `(.+)`")


class LiveCatalog(Protocol):
    """The parts of a catalog that live evaluations use."""

    @property
    def agency(self) -> "Agency": ...
    @property
    def count_tokens(self) -> CountTokens: ...
    def require_trust(self, what: str) -> None: ...
    def listing(self, host: str, context: int | None = None) -> HostListing: ...
    def find_skill(self, wanted: str) -> Row: ...
    def document(self, row: Row) -> Document: ...
    def documents(self, kind: Kind, *, shadowed: bool = False) -> list[Row]: ...


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


def planned(catalog: LiveCatalog, offline: Evaluation, settings: LiveSettings) -> LivePlan:
    """Everything that the live evaluation of the same cases needs, and what it will cost.

    Cases that are not scored, or say nothing about skills, are left out. Raises `UsageError`.
    """
    catalog.require_trust("asking a model")
    check_model(catalog.agency, settings.model)
    price = _price(catalog.agency, settings)
    cases = [_live(one) for one in offline.results if one.is_scored and _is_about_skills(one)]
    if not cases:
        raise UsageError("no case expects or forbids a skill", hint="metier eval --help")
    if len(cases) * settings.tries > MOST_TRIES:
        message = f"{len(cases):,} cases with {settings.tries} tries are over {MOST_TRIES:,} tries"
        raise UsageError(message, hint="name fewer files, or give a smaller --tries")
    listing = catalog.listing(settings.host, settings.context)
    handles = {row.path: row.handle for row in catalog.documents("skill", shadowed=True)}
    given = _input(listing, settings, cases, handles)
    profile = _profile(listing.listing.rendered(), settings, len(cases))
    notes = _notes(len(offline.results) - len(cases), given, cases)
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
        raise UsageError(
            f"--max-cost needs the price of '{settings.model}', which is not known",
            hint=price_hint(settings.model),
        )
    return price


def _is_about_skills(result: CaseResult) -> bool:
    case = result.case
    return bool(result.right or result.wrong or case.nothing) or case.most is not None


def _live(result: CaseResult) -> LiveCase:
    case = result.case
    return LiveCase(
        task=case.task,
        right=tuple(result.right),
        wrong=tuple(result.wrong),
        nothing=case.nothing,
        every=case.every,
        most=case.most,
        offline=tuple(result.named),
        file=case.file,
        number=case.number,
    )


def _input(
    listing: HostListing,
    settings: LiveSettings,
    cases: Sequence[LiveCase],
    handles: Mapping[str, str],
) -> dict[str, Any]:
    """What the run stores: cases, and by which names and files skills are loaded."""
    entries = []
    for entry in listing.listing.entries:
        if id(entry.skill) in listing.by_id and entry.state != "invisible":
            row = listing.by_id[id(entry.skill)].row
            entries.append((entry, handles.get(row.path, row.name)))
    return {
        "host": settings.host,
        "tries": settings.tries,
        "cases": [one.to_json() for one in cases],
        "names": _names(entries),
        "files": _files(entries, listing.listing.lines),
    }


def _names(entries: Sequence[tuple[Shown, str]]) -> dict[str, str]:
    """As the listing shows it, then by its folder, then by its front matter."""
    found: dict[str, str] = {}
    pairs = [(entry.name, handle) for entry, handle in entries]
    pairs += [(entry.skill.folder, handle) for entry, handle in entries]
    pairs += [(entry.skill.name, handle) for entry, handle in entries]
    for name, handle in pairs:
        found.setdefault(name.lower(), handle)
    found.pop("", None)
    return found


def _files(entries: Sequence[tuple[Shown, str]], lines: Sequence[str]) -> dict[str, str]:
    """With short names for folders, where the listing has them."""
    found = {entry.skill.path.lower(): handle for entry, handle in entries}
    aliases = [match.groups() for line in lines if (match := _ALIAS.fullmatch(line))]
    for alias, root in aliases:
        for entry, handle in entries:
            if entry.skill.path.startswith(f"{root}/"):
                short = entry.skill.path.removeprefix(f"{root}/")
                found.setdefault(f"{alias}/{short}".lower(), handle)
    return found


def _profile(listing: str, settings: LiveSettings, cases: int) -> AgentProfile:
    """A profile with one step for each try; first tries come first."""
    retry = {"maxAttempts": ATTEMPTS, "backoffMs": settings.backoff_ms}
    limits = {} if settings.max_cost is None else {"cost": settings.max_cost}
    return AgentProfile.of(
        {
            "agentId": LIVE_AGENT,
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


def _notes(skipped: int, given: Mapping[str, Any], cases: Sequence[LiveCase]) -> list[str]:
    notes = []
    if skipped:
        left_out = "1 case is" if skipped == 1 else f"{skipped} cases are"
        why = "it is for training, is not scored, or names no skill"
        why = why if skipped == 1 else "they are for training, are not scored, or name no skill"
        notes.append(f"{left_out} skipped: {why}")
    right = {name for one in cases for name in one.right}
    if unlisted := sorted(right.difference(given["names"].values())):
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


def _mean_tokens(catalog: LiveCatalog, names: Sequence[str]) -> int:
    """Of the texts of some skills."""
    step = max(1, len(names) // _SAMPLED)
    sizes = []
    for name in names[::step][:_SAMPLED]:
        try:
            row = catalog.find_skill(name)
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
        documents=agency.documents(), on_event=agency.redacted(on_event),
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
    agency = catalog.agency
    shown = agency.redacted(on_event)
    return await agency.runner.resume(run.run_id, limits=limits, on_event=shown)


def eval_run(store: RunStore, run_id: str) -> RunRecord:
    """The run of a live evaluation. Raises `NotFoundError`, or `UsageError` for another run."""
    run = store.run(run_id)
    if run.agent_id != LIVE_AGENT:
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
        results.append(LiveResult.of(LiveCase.of(data), loaded, errors, rest))
    return LiveReport(model=run.request["model"], host=given["host"], results=results)


def _is_error(step: StepRecord) -> bool:
    """Whether the model gave no answer; a limit of the run is not one of its errors."""
    limit = step.failure is not None and step.failure.code == "RUN_LIMIT_EXCEEDED"
    return step.state == "failed" and not limit
