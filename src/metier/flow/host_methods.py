"""The methods of a catalog that answer for one host."""

from typing import TYPE_CHECKING

from metier.core.arguments import checked, count, instance_with, optional
from metier.core.process import without_garbage_collection

if TYPE_CHECKING:
    from metier.flow.host_skills import HostChecker, HostView, Verdict
    from metier.flow.listing import HostListing
    from metier.flow.measuring import Measured
    from metier.flow.shown_skills import ShownTexts
    from metier.index.store import Store


class HostMethods:
    """What hosts make of the skills."""

    store: "Store"
    workspace: str
    _home: str

    @checked(context=optional(count(1)))
    def listing(self, host: str, context: int | None = None) -> "HostListing":
        """What a host shows the model of these skills, for a context of `context` tokens.

        Raises `UsageError` for a host whose rule is not known.
        """
        from metier.flow.listing import listing_in  # few commands need it

        with without_garbage_collection():
            return listing_in(self.host_view(host), context)

    def host_view(self, host: str) -> "HostView":
        """How a host treats every skill. Raises `UsageError` for an unknown host."""
        from metier.flow.listing import view_of  # few commands need it

        return view_of(self.store, host, self.workspace, self._home)

    def shown_texts(self, host: str) -> "ShownTexts":
        """What a host shows the model of each skill; cached until the catalog changes.

        Raises `UsageError` for an unknown host.
        """
        from metier.flow.shown_skills import shown_by  # few commands need it

        with without_garbage_collection():
            return self.store.cached(("shown", host), lambda: shown_by(self.host_view(host)))

    def host_verdicts(self, host: str) -> "list[Verdict]":
        """How a host treats every skill, those that need attention first. Raises `UsageError`."""
        from metier.flow.listing import verdicts_of  # few commands need it

        with without_garbage_collection():
            return verdicts_of(self.host_view(host))

    def host_checker(self) -> "HostChecker":
        """How each host treats single skills; reads the settings of all hosts."""
        from metier.flow.host_skills import HostChecker  # only pages need it

        return HostChecker(self.store, self.workspace, self._home)

    @checked(found=instance_with("offered", "what catalog.listing returned"))
    def measure_listing(self, found: "HostListing") -> "Measured":
        """Start the user's own host once, offline, on a copy of the skills. Raises `UsageError`."""
        from metier.flow.measuring import measure  # few commands need it

        return measure(found, self.workspace, self._home)
