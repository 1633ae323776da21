"""Types that the public methods of metier take and return, for annotations.

`metier` itself has what programs make or catch. Names are loaded when they are first used.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metier.config.database_url import DatabaseUrl as DatabaseUrl
    from metier.core.budget import CountTokens as CountTokens
    from metier.core.overlap import OnProgress as OnProgress
    from metier.evals.drafts import Draft as Draft
    from metier.findings import Finding as Finding
    from metier.findings import Severity as Severity
    from metier.flow.eval_drafts import Drafts as Drafts
    from metier.flow.host_skills import HostChecker as HostChecker
    from metier.flow.host_skills import HostView as HostView
    from metier.flow.host_skills import Verdict as Verdict
    from metier.flow.listing import HostListing as HostListing
    from metier.flow.listing import ListedSkill as ListedSkill
    from metier.flow.measuring import Measured as Measured
    from metier.flow.overlap_map import Edge as Edge
    from metier.flow.overlap_map import OverlapMap as OverlapMap
    from metier.flow.overlap_map import Point as Point
    from metier.flow.reading import Refreshed as Refreshed
    from metier.flow.reviews import Reviews as Reviews
    from metier.flow.run_stream import RunStream as RunStream
    from metier.flow.shown_skills import ShownTexts as ShownTexts
    from metier.flow.usage import Question as UsageQuestion
    from metier.flow.usage import Rank as Rank
    from metier.flow.usage import Usage as SkillUsage
    from metier.flow.usage_sessions import SkillUse as SkillUse
    from metier.resolve.aliases import AliasTables as AliasTables
    from metier.resolve.choice import Dependency as Dependency
    from metier.resolve.choice import OptionalMatch as OptionalMatch
    from metier.resolve.choice import Refused as Refused
    from metier.resolve.reliability import History as History
    from metier.resolve.reliability import HistoryState as HistoryState
    from metier.resolve.report import Resolution as Resolution
    from metier.resolve.report import RunFacts as RunFacts
    from metier.resolve.report import SourceCount as SourceCount
    from metier.resolve.scores import Question as Question
    from metier.run.tool import Function as Function
    from metier.run.tool import Tool as Tool
    from metier.select.abilities import SharedWords as SharedWords
    from metier.values.agents import AgentMatch as AgentMatch
    from metier.values.agents import Execution as Execution
    from metier.values.agents import RetryPolicy as RetryPolicy
    from metier.values.agents import StepType as StepType
    from metier.values.agents import WorkflowStep as WorkflowStep
    from metier.values.browsing import Browse as Browse
    from metier.values.browsing import Browsed as Browsed
    from metier.values.browsing import DocumentCount as DocumentCount
    from metier.values.browsing import FacetValue as FacetValue
    from metier.values.candidates import Candidate as Candidate
    from metier.values.capabilities import SessionType as SessionType
    from metier.values.contracts import Doubt as Doubt
    from metier.values.contracts import Mode as Mode
    from metier.values.documents import Document as Document
    from metier.values.evals import CaseProblem as CaseProblem
    from metier.values.evals import CaseResult as CaseResult
    from metier.values.evals import Confusion as Confusion
    from metier.values.evals import EvalCase as EvalCase
    from metier.values.evals import Evaluation as Evaluation
    from metier.values.evals import Figure as Figure
    from metier.values.evals import SkillFigures as SkillFigures
    from metier.values.files import KeyPath as KeyPath
    from metier.values.files import Kind as Kind
    from metier.values.files import Origin as Origin
    from metier.values.files import Root as Root
    from metier.values.files import SourceGroup as SourceGroup
    from metier.values.files import Team as Team
    from metier.values.loads import Changes as Changes
    from metier.values.loads import Loaded as Loaded
    from metier.values.models import Message as Message
    from metier.values.models import Role as Role
    from metier.values.models import ToolCall as ToolCall
    from metier.values.models import ToolSpec as ToolSpec
    from metier.values.outcomes import Exclusion as Exclusion
    from metier.values.overlap import Cluster as Cluster
    from metier.values.overlap import Collision as Collision
    from metier.values.overlap import Edit as Edit
    from metier.values.overlap import Overlap as Overlap
    from metier.values.overlap import OverlapPair as OverlapPair
    from metier.values.overlap import SameText as SameText
    from metier.values.own_rules import RuleSetting as RuleSetting
    from metier.values.packages import Package as Package
    from metier.values.policy import OnMissing as OnMissing
    from metier.values.policy import Policy as Policy
    from metier.values.policy import SelectionMode as SelectionMode
    from metier.values.resolution import Decide as Decide
    from metier.values.resolution import Decision as Decision
    from metier.values.resolution import MayProbe as MayProbe
    from metier.values.resolution import Outcome as Outcome
    from metier.values.resolution import OutcomeName as OutcomeName
    from metier.values.resolution import ProbeResult as ProbeResult
    from metier.values.resolution import Report as Report
    from metier.values.rows import Page as Page
    from metier.values.rows import Row as Row
    from metier.values.run_settings import ModelOptions as ModelOptions
    from metier.values.run_settings import ProviderSettings as ProviderSettings
    from metier.values.run_settings import ServerSetting as ServerSetting
    from metier.values.runs import Failure as Failure
    from metier.values.runs import OnEvent as OnEvent
    from metier.values.runs import RunRecord as RunRecord
    from metier.values.runs import RunRow as RunRow
    from metier.values.runs import RunState as RunState
    from metier.values.runs import StepRecord as StepRecord
    from metier.values.runs import StepState as StepState
    from metier.values.runs import Usage as Usage
    from metier.values.selection import AbilityInjection as AbilityInjection
    from metier.values.selection import AbilitySelection as AbilitySelection
    from metier.values.selection import Injection as Injection
    from metier.values.selection import Scored as Scored
    from metier.values.selection import Skipped as Skipped
    from metier.values.settings import EncoderSettings as EncoderSettings
    from metier.values.settings import Mount as Mount
    from metier.values.settings import ProbeSetting as ProbeSetting
    from metier.values.settings import QueueSetting as QueueSetting
    from metier.values.settings_tables import CapabilitiesConfig as CapabilitiesConfig
    from metier.values.settings_tables import LintSettings as LintSettings
    from metier.values.settings_tables import LogLevel as LogLevel
    from metier.values.settings_tables import ModelSettings as ModelSettings
    from metier.values.settings_tables import RolloutMode as RolloutMode
    from metier.values.settings_tables import ToolSettings as ToolSettings
    from metier.values.which import Chosen as Chosen
    from metier.values.which import Expectation as Expectation
    from metier.values.which import RankedDocument as RankedDocument
    from metier.values.which import ShownText as ShownText
    from metier.values.which import Which as Which

HOMES = {
    "AbilityInjection": "values.selection",
    "AbilitySelection": "values.selection",
    "AgentMatch": "values.agents",
    "AliasTables": "resolve.aliases",
    "Browse": "values.browsing",
    "Browsed": "values.browsing",
    "Candidate": "values.candidates",
    "CapabilitiesConfig": "values.settings_tables",
    "CaseProblem": "values.evals",
    "CaseResult": "values.evals",
    "Changes": "values.loads",
    "Chosen": "values.which",
    "Cluster": "values.overlap",
    "Collision": "values.overlap",
    "Confusion": "values.evals",
    "CountTokens": "core.budget",
    "DatabaseUrl": "config.database_url",
    "Decide": "values.resolution",
    "Decision": "values.resolution",
    "Dependency": "resolve.choice",
    "Document": "values.documents",
    "DocumentCount": "values.browsing",
    "Doubt": "values.contracts",
    "Draft": "evals.drafts",
    "Drafts": "flow.eval_drafts",
    "Edge": "flow.overlap_map",
    "Edit": "values.overlap",
    "EncoderSettings": "values.settings",
    "EvalCase": "values.evals",
    "Evaluation": "values.evals",
    "Exclusion": "values.outcomes",
    "Execution": "values.agents",
    "Expectation": "values.which",
    "FacetValue": "values.browsing",
    "Failure": "values.runs",
    "Figure": "values.evals",
    "Finding": "findings",
    "Function": "run.tool",
    "History": "resolve.reliability",
    "HistoryState": "resolve.reliability",
    "HostListing": "flow.listing",
    "HostChecker": "flow.host_skills",
    "HostView": "flow.host_skills",
    "Injection": "values.selection",
    "KeyPath": "values.files",
    "Kind": "values.files",
    "LintSettings": "values.settings_tables",
    "ListedSkill": "flow.listing",
    "Loaded": "values.loads",
    "LogLevel": "values.settings_tables",
    "MayProbe": "values.resolution",
    "Measured": "flow.measuring",
    "Message": "values.models",
    "Mode": "values.contracts",
    "ModelOptions": "values.run_settings",
    "ModelSettings": "values.settings_tables",
    "Mount": "values.settings",
    "OnEvent": "values.runs",
    "OnMissing": "values.policy",
    "OnProgress": "core.overlap",
    "OptionalMatch": "resolve.choice",
    "Origin": "values.files",
    "Outcome": "values.resolution",
    "OutcomeName": "values.resolution",
    "Overlap": "values.overlap",
    "OverlapMap": "flow.overlap_map",
    "OverlapPair": "values.overlap",
    "Package": "values.packages",
    "Page": "values.rows",
    "Point": "flow.overlap_map",
    "Policy": "values.policy",
    "ProbeResult": "values.resolution",
    "ProbeSetting": "values.settings",
    "ProviderSettings": "values.run_settings",
    "Question": "resolve.scores",
    "QueueSetting": "values.settings",
    "Rank": "flow.usage",
    "RankedDocument": "values.which",
    "Refreshed": "flow.reading",
    "Refused": "resolve.choice",
    "Report": "values.resolution",
    "Resolution": "resolve.report",
    "RetryPolicy": "values.agents",
    "Reviews": "flow.reviews",
    "Role": "values.models",
    "RolloutMode": "values.settings_tables",
    "Root": "values.files",
    "Row": "values.rows",
    "RuleSetting": "values.own_rules",
    "RunFacts": "resolve.report",
    "RunRecord": "values.runs",
    "RunRow": "values.runs",
    "RunState": "values.runs",
    "RunStream": "flow.run_stream",
    "SameText": "values.overlap",
    "Scored": "values.selection",
    "SelectionMode": "values.policy",
    "ServerSetting": "values.run_settings",
    "SessionType": "values.capabilities",
    "Severity": "findings",
    "SharedWords": "select.abilities",
    "ShownText": "values.which",
    "ShownTexts": "flow.shown_skills",
    "SkillFigures": "values.evals",
    "SkillUsage": "flow.usage",
    "SkillUse": "flow.usage_sessions",
    "Skipped": "values.selection",
    "SourceCount": "resolve.report",
    "SourceGroup": "values.files",
    "StepRecord": "values.runs",
    "StepState": "values.runs",
    "StepType": "values.agents",
    "Team": "values.files",
    "Tool": "run.tool",
    "ToolCall": "values.models",
    "ToolSettings": "values.settings_tables",
    "ToolSpec": "values.models",
    "Usage": "values.runs",
    "UsageQuestion": "flow.usage",
    "Verdict": "flow.host_skills",
    "Which": "values.which",
    "WorkflowStep": "values.agents",
}
_OWN_NAMES = {"SkillUsage": "Usage", "UsageQuestion": "Question"}
"""What a name is called at home, where that is another."""

__all__ = [
    "AbilityInjection",
    "AbilitySelection",
    "AgentMatch",
    "AliasTables",
    "Browse",
    "Browsed",
    "Candidate",
    "CapabilitiesConfig",
    "CaseProblem",
    "CaseResult",
    "Changes",
    "Chosen",
    "Cluster",
    "Collision",
    "Confusion",
    "CountTokens",
    "DatabaseUrl",
    "Decide",
    "Decision",
    "Dependency",
    "Document",
    "DocumentCount",
    "Doubt",
    "Draft",
    "Drafts",
    "Edge",
    "Edit",
    "EncoderSettings",
    "EvalCase",
    "Evaluation",
    "Exclusion",
    "Execution",
    "Expectation",
    "FacetValue",
    "Failure",
    "Figure",
    "Finding",
    "Function",
    "History",
    "HistoryState",
    "HostChecker",
    "HostListing",
    "HostView",
    "Injection",
    "KeyPath",
    "Kind",
    "LintSettings",
    "ListedSkill",
    "Loaded",
    "LogLevel",
    "MayProbe",
    "Measured",
    "Message",
    "Mode",
    "ModelOptions",
    "ModelSettings",
    "Mount",
    "OnEvent",
    "OnMissing",
    "OnProgress",
    "OptionalMatch",
    "Origin",
    "Outcome",
    "OutcomeName",
    "Overlap",
    "OverlapMap",
    "OverlapPair",
    "Package",
    "Page",
    "Point",
    "Policy",
    "ProbeResult",
    "ProbeSetting",
    "ProviderSettings",
    "Question",
    "QueueSetting",
    "Rank",
    "RankedDocument",
    "Refreshed",
    "Refused",
    "Report",
    "Resolution",
    "RetryPolicy",
    "Reviews",
    "Role",
    "RolloutMode",
    "Root",
    "Row",
    "RuleSetting",
    "RunFacts",
    "RunRecord",
    "RunRow",
    "RunState",
    "RunStream",
    "SameText",
    "Scored",
    "SelectionMode",
    "ServerSetting",
    "SessionType",
    "Severity",
    "SharedWords",
    "ShownText",
    "ShownTexts",
    "SkillFigures",
    "SkillUsage",
    "SkillUse",
    "Skipped",
    "SourceCount",
    "SourceGroup",
    "StepRecord",
    "StepState",
    "StepType",
    "Team",
    "Tool",
    "ToolCall",
    "ToolSettings",
    "ToolSpec",
    "Usage",
    "UsageQuestion",
    "Verdict",
    "Which",
    "WorkflowStep",
]


if not TYPE_CHECKING:  # so that a type checker finds names that do not exist

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in HOMES:
            raise AttributeError(f"module 'metier.types' has no attribute '{name}'")
        value: object = getattr(import_module(f"metier.{HOMES[name]}"), name_at_home(name))
        globals()[name] = value
        return value


def name_at_home(name: str) -> str:
    return _OWN_NAMES.get(name, name)


def __dir__() -> list[str]:
    return __all__
