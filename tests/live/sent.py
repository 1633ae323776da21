"""The listing in a request that a host sent: see `metier.listing.sent`."""

from metier.listing.sent import Sent, listing_text, sent_skills, strings

__all__ = ["Sent", "listing_text", "sent_skills", "strings"]
