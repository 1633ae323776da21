"""Events of runs for people: without the values of secrets."""

from metier.safety.redactor import Redactor
from metier.values.runs import Event, OnEvent

_TEXT = "model.text"


def redacted_events(redactor: Redactor, on_event: OnEvent) -> OnEvent:
    """A listener that gets every event redacted, if there is something to redact."""
    return RedactedEvents(redactor, on_event) if redactor else on_event


class RedactedEvents:
    """A listener that passes redacted events on.

    Texts of models come in pieces: the end of one waits while it may begin a value.
    """

    def __init__(self, redactor: Redactor, on_event: OnEvent) -> None:
        self._redactor = redactor
        self._on_event = on_event
        self._held: dict[tuple[str, str], Event] = {}

    def __call__(self, event: Event) -> None:
        key = event.run_id, event.step_id
        held = self._held.pop(key, None)
        if event.kind != _TEXT:
            if held is not None:
                self._on_event(held)
            self._on_event(self._redactor.value(event))
            return
        text = self._redactor.text((held.data["text"] if held else "") + event.data["text"])
        left = self._redactor.waiting(text)
        sent, waits = text[: len(text) - left], text[len(text) - left :]
        if waits:
            self._held[key] = event._replace(data={**event.data, "text": waits})
        if sent:
            self._on_event(event._replace(data={**event.data, "text": sent}))
