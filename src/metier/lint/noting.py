"""What rules add their findings to: one file, and the positions of its values."""

from metier.values.files import KeyPath, Matter
from metier.values.outcomes import Issue


class Findings:
    """The findings in one file."""

    def __init__(self, path: str, matter: Matter) -> None:
        self.issues: list[Issue] = []
        self._path = path
        self._matter = matter

    @property
    def body_line(self) -> int:
        return self._matter.body_line

    def add(
        self, code: str, message: str, at: KeyPath, hint: str, hosts: tuple[str, ...] = ()
    ) -> None:
        """Add a finding at a value of the front matter."""
        line, column = self._matter.position(at)
        self.issues.append(Issue(code, message, self._path, line, column, hint, hosts=hosts))

    def add_at(self, code: str, message: str, line: int, hint: str, column: int = 1) -> None:
        self.issues.append(Issue(code, message, self._path, line, column, hint))

    def add_in_body(self, code: str, message: str, at: int, hint: str) -> None:
        """Add a finding at a position of the body."""
        body = self._matter.body
        start = body.rfind("\n", 0, at) + 1
        line = self._matter.body_line + body.count("\n", 0, start)
        self.add_at(code, message, line, hint, at - start + 1)
