"""Help for tests of skills and agents: a workspace, models that answer by script, assertions.

The pytest plugin `metier.testing.plugin` is loaded by itself and has fixtures.
"""

from metier.run.models import ScriptedModel
from metier.run.models.offline import Scripted
from metier.testing.assertions import (
    assert_injected,
    assert_not_injected,
    assert_silent,
    assert_which,
)
from metier.testing.cassettes import CassetteError, RecordedModel
from metier.testing.workspace import Workspace
from metier.values.models import Message, ModelReply, ModelRequest, ToolCall

__all__ = [
    "CassetteError",
    "Message",
    "ModelReply",
    "ModelRequest",
    "RecordedModel",
    "Scripted",
    "ScriptedModel",
    "ToolCall",
    "Workspace",
    "assert_injected",
    "assert_not_injected",
    "assert_silent",
    "assert_which",
]
