"""Rules against recordings of what real hosts sent."""

import pytest

from listing.recorded_listings import Recording, recordings
from metier.listing.rules import Listing, listing_of

RECORDINGS = recordings()
SHUFFLED = ("gemini",)
"""Hosts that read files side by side: their order differs from run to run."""


def computed(recording: Recording) -> Listing:
    return listing_of(recording.host, recording.skills(), recording.context, recording.budget)


def lengths(listing: Listing) -> list[tuple[str, int]]:
    shown = [entry for entry in listing.entries if entry.state != "invisible"]
    return [(entry.name, len(entry.text)) for entry in shown]


def name_of(recording: Recording) -> str:
    return f"{recording.host}-{recording.generated}-{recording.budget or recording.context}"


@pytest.mark.parametrize("recording", RECORDINGS, ids=name_of)
def test_a_rule_gives_what_the_host_sent(recording: Recording) -> None:
    given, sent = lengths(computed(recording)), [(name, size) for name, size in recording.shown]
    if recording.host in SHUFFLED:
        given, sent = sorted(given), sorted(sent)
    assert given == sent


def test_there_are_recordings_of_every_measured_host() -> None:
    hosts = {recording.host for recording in RECORDINGS}
    assert hosts == {"claude-code", "codex", "copilot", "gemini", "opencode"}
    for host in ("claude-code", "codex", "copilot"):
        counts = {recording.generated for recording in RECORDINGS if recording.host == host}
        assert counts == {3, 50, 212, 500}


@pytest.mark.parametrize("recording", RECORDINGS, ids=name_of)
def test_a_listing_keeps_to_its_budget_unless_names_alone_exceed_it(recording: Recording) -> None:
    listing = computed(recording)
    assert len(listing.entries) == len(recording.skills())
    if listing.budget is not None and listing.used > listing.budget:
        ours = [entry for entry in listing.entries if not entry.skill.is_fixed]
        assert {entry.state for entry in ours} == {"no-text"}
