"""The tool that resolves, and asks for a decision when a capability is missing."""

import json
import os
from hashlib import sha256

from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from metier.catalog import Catalog
from metier.errors import UsageError
from metier.mcp.answers import result, sendable
from metier.mcp.tool_calls import Args, Call, Context
from metier.values.policy import PRESETS, Policy
from metier.values.resolution import DECISIONS, Decision, Report

POLICY = {
    "type": "object",
    "description": "Overrides of the policy, such as {'min-total-score': 0.5} or"
    " {'on-missing-required': 'hard-fail'}.",
    "properties": {
        key: {"type": ["string", "number"], "maxLength": 100} for key in Policy().to_json()
    },
    "additionalProperties": False,
}
_QUESTION = "decision"
_LONGEST_LIST = 300
_OVER_STDIO = os.urandom(8).hex()
"""A process that serves over standard input has one client."""
_MEANING = {
    "emulate": "emulate: do it without a skill, as well as you can",
    "continue-with-partial": "continue-with-partial: continue with what is resolved",
    "abort": "abort: stop here",
}


async def answer_resolve(call: Call) -> CallToolResult | InputRequiredResult:
    """The report; if it is pending and the client can be asked, a question."""
    state, given = call.params.request_state, _given(call.params)
    if state and given is not None:
        report = await call.catalog.ask(lambda catalog: catalog.decide(state, given))
    elif state:  # the user gave no decision
        report = await call.catalog.ask(lambda catalog: catalog.report(state))
    else:
        client = _client_of(call.context)
        report, is_kept = await call.catalog.ask(
            lambda catalog: _resolve(catalog, call.args, client)
        )
        if is_kept and report.is_pending and _can_ask(call.context):
            return InputRequiredResult(
                input_requests={_QUESTION: _question(report)}, request_state=report.id
            )
    return result(report)


def _client_of(context: Context) -> str:
    """A short digest of the client's address, program and version: a server has no sessions."""
    request, params = context.request, context.session.client_params
    if request is None:
        said: list[object] = [_OVER_STDIO]
    else:
        peer = request.client.host if request.client is not None else ""
        program = params.client_info if params is not None else None
        said = [
            peer,
            request.headers.get("user-agent", ""),
            [program.name, program.version] if program is not None else [],
        ]
    return sha256(json.dumps(said).encode()).hexdigest()[:8]


def _resolve(catalog: Catalog, args: Args, client: str) -> tuple[Report, bool]:
    if not args.get("requires") and not args.get("consumer"):
        raise UsageError("nothing is required", hint="give 'requires', 'consumer' or both")
    given = {
        key: value if isinstance(value, str) else f"{value:g}"
        for key, value in args.get("policy", {}).items()
    }
    policy = {**PRESETS.get(args.get("preset", ""), {}), **given}
    made = catalog.resolve(
        args.get("requires", ()),
        args.get("query", ""),
        consumer=args.get("consumer"),
        mode=args.get("mode"),
        policy=policy,
        host=args.get("host"),
        decide=lambda _: args.get("decision"),
    )
    report = (made.full_report() if args.get("fullReport") else made.report).for_client(client)
    return catalog.redactor.value(report), bool(catalog.report_store.keep(report))


def _can_ask(context: Context) -> bool:
    able = context.session.client_capabilities
    is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    return is_modern and able is not None and able.elicitation is not None


def _question(report: Report) -> ElicitRequest:
    open_ones = ", ".join(report["unresolved_required_capabilities"])
    named = sendable(" ".join(open_ones.split()))[:_LONGEST_LIST] or "too little is covered"
    choices = [{"const": one, "title": _MEANING[one]} for one in DECISIONS]
    return ElicitRequest(
        params=ElicitRequestFormParams(
            message=f"No skill here provides what is required: {named}. What now?",
            requested_schema={
                "type": "object",
                "properties": {
                    _QUESTION: {"type": "string", "title": "Decision", "oneOf": choices}
                },
                "required": [_QUESTION],
            },
        )
    )


def _given(params: CallToolRequestParams) -> Decision | None:
    """The user's decision, if any."""
    answer = (params.input_responses or {}).get(_QUESTION)
    if not isinstance(answer, ElicitResult) or answer.action != "accept":
        return None
    said = (answer.content or {}).get(_QUESTION)
    return next((one for one in DECISIONS if one == said), None)
