"""What a lint found, before any of it is filtered."""

from collections.abc import Callable, Iterable

from metier.values.files import Named
from metier.values.outcomes import Exclusion, Issue

Wants = Callable[[Issue], bool]


class Linted:
    """Every finding in a set of files, before any of them is filtered."""

    def __init__(self, files: int = 0) -> None:
        self.files = files
        self.issues: list[Issue] = []
        self.excluded: list[Exclusion] = []
        """With exact copies."""
        self.causes: set[Issue] = set()
        """The findings that exclude their file."""
        self.documents: list[Named] = []
        """The names of all documents, excluded ones too."""

    def add(self, files: int, issues: Iterable[Issue]) -> None:
        """Add the findings in this many files that are not documents."""
        self.files += files
        self.issues += issues

    def keep(self, files: Iterable[str], wanted: Callable[[str], bool]) -> None:
        """Keep what is in the wanted paths, among the documents `files` and all with findings."""
        self.issues = [issue for issue in self.issues if wanted(issue.path)]
        self.excluded = [one for one in self.excluded if wanted(one.path)]
        self.files = len({*filter(wanted, files), *(issue.path for issue in self.issues)})

    def unreported(self, wants: Wants) -> list[Exclusion]:
        """The excluded files without a wanted finding that says so."""
        reported = {issue.path for issue in self.causes if wants(issue)}
        return [one for one in self.excluded if one.path not in reported]
