"""The options of `metier lint`."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from metier.errors import UsageError
from metier.hosts.table import HOOKS
from metier.values.files import KINDS, Kind

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

FORMATS = ("text", "json", "sarif", "github", "gitlab", "html")
FAIL_ON = {"error": ("error",), "warning": ("error", "warning"),
           "note": ("error", "warning", "info"), "never": ()}  # fmt: skip
"""Which severities give exit code 1."""


HOSTS = (*HOOKS, "claude.ai")
"""The hosts that findings can be asked for."""


class LintOptions(NamedTuple):
    """What the options say."""

    paths: tuple[str, ...]
    repair: bool
    unsafe: bool
    dry_run: bool
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    notes: bool
    strict: bool
    host: str | None
    kind: Kind | None
    user: bool
    exclude: tuple[str, ...]
    owner: str | None
    changed: str | None
    """A commit or branch; None: not asked for."""
    files_from: str | None
    baseline: str | None
    write_baseline: bool
    fail_on: str | None
    exit_zero: bool
    statistics: bool
    show_all: bool
    format: str | None
    output_file: str | None
    watch: bool

    @property
    def shows_notes(self) -> bool:
        return self.notes or self.strict or self.fail_on == "note"

    @property
    def failing(self) -> tuple[str, ...]:
        """The severities that fail."""
        if self.exit_zero:
            return ()
        return FAIL_ON[self.fail_on or ("note" if self.strict else "warning")]

    def check(self, *, as_json: bool) -> str:
        """The format. Raises `UsageError` for options that exclude each other."""
        wrong = self._wrong(as_json=as_json)
        if wrong:
            message, hint = wrong
            raise UsageError(message, hint=hint)
        return "json" if as_json else self.format or "text"

    def _wrong(self, *, as_json: bool) -> tuple[str, str] | None:
        """What is wrong with the options together, and what to do about it."""
        is_other = (self.format or "text") not in ("text", "json")
        is_named = self.changed is not None or self.files_from is not None
        checks = [
            (as_json and is_other, "--json and --format ask for two formats", "give one of them"),
            (
                self.unsafe and not self.repair,
                "--unsafe is for --fix", "metier lint --fix --unsafe --dry-run",
            ),
            (
                self.dry_run and not self.repair,
                "--dry-run is for --fix", "metier lint --fix --dry-run",
            ),
            (
                self.dry_run and is_other,
                f"--dry-run prints a diff or JSON, not {self.format}", "remove --format",
            ),
            (
                self.statistics and is_other,
                f"--statistics prints text or JSON, not {self.format}", "remove --format",
            ),
            (
                self.kind is not None and not self.paths,
                "--kind needs a PATH", "metier lint PATH",
            ),
            (
                self.changed is not None and self.files_from is not None,
                "--changed and --files-from both name files", "give one of them",
            ),
            (
                is_named and bool(self.paths),
                "PATH and --changed or --files-from both name files", "give one of them",
            ),
            (
                self.write_baseline and self.baseline is None,
                "--write-baseline needs a file", "--baseline FILE --write-baseline",
            ),
            (
                self.exit_zero and self.fail_on not in (None, "never"),
                f"--exit-zero and --fail-on {self.fail_on} contradict each other",
                "give one of them",
            ),
            (
                self.watch and (self.repair or self.write_baseline or self.files_from is not None),
                "--watch only checks: it takes no --fix, --write-baseline or --files-from",
                "run them without --watch",
            ),
        ]  # fmt: skip
        return next(((message, hint) for is_wrong, message, hint in checks if is_wrong), None)


def _complete_code(
    _ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem  # only a shell asks for it

    from metier.findings import CODES

    return [
        CompletionItem(code, help=rule.title)
        for code, rule in CODES.items()
        if code.startswith(incomplete.upper())
    ]


def _renamed(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        message = "'--output-format' is now '--format'"
        raise UsageError(message, hint=f"metier lint --format {value}")


_CODES: Any = {"multiple": True, "metavar": "CODES", "shell_complete": _complete_code}
_OPTIONS = (
    click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path()),
    click.option("--fix", "repair", is_flag=True, help="Make safe repairs, then check."),
    click.option(
        "--unsafe", is_flag=True,
        help="With --fix: also repair what may change the meaning, such as names and folders.",
    ),
    click.option("--dry-run", is_flag=True, help="With --fix: print the diff, and write nothing."),
    click.option("--select", **_CODES, help="Only these codes or families."),
    click.option("--ignore", **_CODES, help="All but these."),
    click.option("--notes", is_flag=True, help="Also show notes, which never fail."),
    click.option("--strict", is_flag=True, help="Read files strictly; notes fail too."),
    click.option("--host", type=click.Choice(HOSTS), help="Only what matters to this host."),
    click.option("--kind", type=click.Choice(list(KINDS)), help="What the named files are."),
    click.option(
        "--user", is_flag=True, help="Also check the folders of your hosts and of your settings.",
    ),
    click.option(
        "--exclude", multiple=True, metavar="PATTERN",
        help="Leave out files or folders, by their paths in the workspace.",
    ),
    click.option("--owner", metavar="OWNER", help="Only files of this owner in CODEOWNERS."),
    click.option(
        "--changed", is_flag=False, flag_value="HEAD", metavar="[REF]",
        help="Only what differs from a branch or commit (default: the last commit), and new files.",
    ),
    click.option(
        "--files-from", type=click.Path(exists=True, dir_okay=False, allow_dash=True),
        metavar="FILE",
        help="Only the documents in a list of paths; - reads the list from standard input.",
    ),
    click.option("--baseline", metavar="FILE", help="Hide the findings that a file lists."),
    click.option(
        "--write-baseline", is_flag=True,
        help="With --baseline: write the current findings to it; fixed ones drop out.",
    ),
    click.option(
        "--fail-on", type=click.Choice(list(FAIL_ON)),
        help="The lowest severity that gives exit code 1 (default: warning).",
    ),
    click.option("--exit-zero", is_flag=True, help="Exit code 0 whatever is found."),
    click.option("--statistics", is_flag=True, help="Count findings by rule, worst rule first."),
    click.option(
        "--all", "show_all", is_flag=True, help="On a terminal: list every finding, even if many.",
    ),
    click.option("--format", type=click.Choice(FORMATS), help="Default: text."),
    click.option("--output-file", metavar="FILE", help="Write the findings to a file."),
    click.option("--watch", is_flag=True, help="Check again whenever a file changes."),
    click.option(
        "--output-format", hidden=True, expose_value=False, callback=_renamed, metavar="FORMAT",
    ),
)  # fmt: skip


def lint_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options; the function gets them as `options`."""

    @wraps(function)
    def wrapper(*args: Any, **given: Any) -> Any:
        own = {name: given.pop(name) for name in LintOptions._fields}
        return function(*args, options=LintOptions(**own), **given)

    made: Callable[..., Any] = wrapper
    for option in reversed(_OPTIONS):
        made = option(made)
    return made
